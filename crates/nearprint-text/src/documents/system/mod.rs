//! What differs between systems: identities of files, paths as bytes, devices, and how outputs are opened.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::*;
#[cfg(unix)]
pub(crate) use unix::{bytes_of, path_of};
#[cfg(windows)]
pub(super) use windows::*;
#[cfg(windows)]
pub(crate) use windows::{bytes_of, path_of};
