//! Where files live: one small trait between the engine and the operating system.
//!
//! The engine writes each file once, front to back within each section, and never changes it
//! afterwards; it appends to one log, and replaces `MANIFEST` by rename. That is all the trait offers,
//! so that a simulated disk can stand in for the real one. Storage never knows a file's format.

mod bytes;
mod folder;
mod guarded;
mod memory;
pub(crate) mod names;

use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Result;
pub(crate) use bytes::Bytes;
pub(crate) use folder::{Folder, Staging, refuse_inside};
pub(crate) use guarded::Guarded;
pub(crate) use memory::Memory;

/// How a mapped file will be read, a hint for read-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Here and there: reading ahead would only cost.
    Random,
    /// From front to back.
    Sequential,
}

/// One folder of files. Clones are the same folder.
pub(crate) trait Storage: Debug + Send + Sync {
    /// Creates a file that must not exist yet.
    fn create(&self, name: &str) -> io::Result<Box<dyn Output>>;
    /// Maps a whole file. It must not change while it is mapped.
    fn map(&self, name: &str, access: Access) -> io::Result<Bytes>;
    /// Opens a file for ordinary reads.
    fn open(&self, name: &str) -> io::Result<Box<dyn Input>>;
    /// Renames over whatever has the new name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes creations, renames and removals durable.
    fn sync_folder(&self) -> io::Result<()>;
    /// The names of all files, in no particular order.
    fn list(&self) -> io::Result<Vec<OsString>>;
    /// Takes the lock that one writer at a time can have, until the value is dropped or the process
    /// ends.
    ///
    /// # Errors
    /// [`Error::Locked`](crate::Error::Locked) when somebody has it, [`Error::Io`](crate::Error::Io).
    fn lock(&self) -> Result<Box<dyn Lock>>;
    /// The path of a file, or of the folder for an empty name; for messages.
    fn path(&self, name: &str) -> PathBuf;
}

/// A lock that is held.
pub(crate) trait Lock: Debug + Send + Sync {}

/// A file being written.
pub(crate) trait Output: Debug + Send {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Cuts the file off.
    fn truncate(&mut self, len_bytes: u64) -> io::Result<()>;
    /// Makes the content and the length durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file being read.
pub(crate) trait Input: Debug + Send {
    fn len_bytes(&self) -> io::Result<u64>;
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
}

/// Reads a whole small file. `None` when it does not exist.
pub(crate) fn read_small(storage: &dyn Storage, name: &str, limit_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let input = match storage.open(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let len = input.len_bytes()?;
    if len > limit_bytes {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("{len} bytes, more than {limit_bytes}"),
        ));
    }
    let mut bytes = vec![0; crate::util::cast::to_usize(len)];
    input.read_exact_at(&mut bytes, 0)?;
    Ok(Some(bytes))
}

/// The folder that holds a path: `.` for a bare name.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
