//! Who writes to a database, and when it was written to last.

use std::time::SystemTime;

use super::Database;
use crate::error::{Error, Holder, Result};
use crate::fingerprint::Fingerprint;
use crate::storage::{Folder, LockState, Storage};

/// Who writes to a database, and when it was written to last.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// Whether a writer has the database.
    pub is_locked: bool,
    /// That writer, if its lock file could be read.
    pub writer: Option<Holder>,
    /// When the manifest or the log was written last. In a copy it is the time of the copy, unless the
    /// program that made it kept the times.
    pub last_commit: SystemTime,
}

impl<F: Fingerprint> Database<F> {
    /// Who is writing to the database now, and when it was written to last.
    ///
    /// # Errors
    /// As [`open`](Database::open).
    pub fn activity(&self) -> Result<Activity> {
        activity_of(&Folder::of_database(&self.path)?)
    }
}

fn activity_of(folder: &Folder) -> Result<Activity> {
    let LockState { is_locked, holder } = LockState::of(folder)?;
    let path = folder.path_of("");
    let last_commit = folder.last_written().map_err(Error::io("look at", &path))?;
    Ok(Activity { is_locked, writer: holder, last_commit: last_commit.ok_or(Error::NotADatabase { path })? })
}
