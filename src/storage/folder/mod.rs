//! A folder of a local file system, in one form for each system.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{Folder, Permissions};
#[cfg(unix)]
pub(super) use unix::{MOVES_IN_USE, data_from, host, release, retake, user};
#[cfg(windows)]
pub(crate) use windows::{Folder, Permissions};
#[cfg(windows)]
pub(super) use windows::{MOVES_IN_USE, data_from, host, release, retake, user};
