//! A follower whose width is known only at run time.

use std::path::Path;

use super::{AnyDatabase, PerWidth};
use crate::database::follow::{Follower, Update};
use crate::error::Result;
use crate::fingerprint::{U256, U320};

/// A [`Follower`] of any width.
#[derive(Debug)]
pub struct AnyFollower(PerWidth<Follower<u64>, Follower<u128>, Follower<U256>, Follower<U320>>);

impl AnyDatabase {
    /// Makes a folder that follows the database, or goes on with one: see
    /// [`Database::follow`](crate::Database::follow).
    ///
    /// # Errors
    /// As [`Database::follow`](crate::Database::follow).
    pub fn follow(&self, dest: impl AsRef<Path>) -> Result<AnyFollower> {
        self.follow_to(dest.as_ref())
    }

    fn follow_to(&self, dest: &Path) -> Result<AnyFollower> {
        Ok(AnyFollower(try_map!(AnyDatabase: self, database => PerWidth: database.follow(dest))))
    }
}

impl AnyFollower {
    /// Brings the folder up to what the database has committed: see [`Follower::update`].
    ///
    /// # Errors
    /// As [`Follower::update`].
    pub fn update(&mut self) -> Result<Update> {
        typed!(PerWidth: &mut self.0, follower => follower.update())
    }
}
