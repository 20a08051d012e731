//! Reads and writes at an offset, and the identity of a file, on every system.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{identity, identity_of, is_removed, read_exact_at, rename, sync_folder, write_all_at};
#[cfg(windows)]
pub(crate) use windows::{RENAME_TRIES, patiently};
#[cfg(windows)]
pub use windows::{identity, identity_of, is_removed, read_exact_at, rename, sync_folder, write_all_at};

/// What distinguishes a file from every other one that exists: the number of its file system, and its
/// own number there.
pub type Identity = (u64, u64);
