//! The process that something belongs to.
//!
//! The child of a fork has copies of its parent's objects. The locks, the files and the folders
//! behind them are still the parent's: the child must neither change nor remove them.

use std::io;
use std::path::PathBuf;

use crate::error::Forked;

/// A process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process(u32);

impl Process {
    /// The process that runs this code. Costs a system call.
    pub(crate) fn current() -> Self {
        Self(std::process::id())
    }

    pub(crate) fn is_current(self) -> bool {
        self == Self::current()
    }

    /// Fails with [`Forked`] in every other process. `path` names what belongs to this one.
    pub(crate) fn check(self, path: impl FnOnce() -> PathBuf) -> io::Result<()> {
        if self.is_current() { Ok(()) } else { Err(io::Error::other(Forked { path: path() })) }
    }
}
