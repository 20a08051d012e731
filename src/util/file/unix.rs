//! The unix form: one system call each.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
use rustix::{
    fs::{CWD, RenameFlags},
    io::Errno,
};

use super::Identity;

/// Fills a buffer from an offset.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::UnexpectedEof`] behind the end.
pub fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(bytes, offset)
}

/// Writes bytes at an offset.
///
/// # Errors
/// Those of the system.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// The identity of an open file.
///
/// # Errors
/// Those of the system.
pub fn identity(file: &File) -> io::Result<Identity> {
    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// The identity of what a path leads to, which may be a folder. Follows links.
///
/// # Errors
/// Those of the system.
pub fn identity_of(path: &Path) -> io::Result<Identity> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Whether an open file has no name any more.
#[must_use]
pub fn is_removed(file: &File) -> bool {
    num_names(file).unwrap_or(0) == 0
}

/// The number of names that an open file has.
///
/// # Errors
/// Those of the system.
pub fn num_names(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.nlink())
}

/// Renames a file, and replaces any file with the new name.
///
/// # Errors
/// Those of the system.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Renames a file in one step, and replaces nothing.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::AlreadyExists`] if something has the new name,
/// [`io::ErrorKind::CrossesDevices`] where the new name is on another file system, and [`io::ErrorKind::Unsupported`]
/// if the file system has no such renames.
pub fn rename_at_once(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        other => return Ok(other?),
    }
    Err(io::ErrorKind::Unsupported.into())
}

/// Makes creations, renames and removals in a folder durable.
///
/// # Errors
/// Those of the system.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
