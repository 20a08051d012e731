//! A folder of a local file system.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::bytes::{Access, Bytes};
use super::interface::{Lock, ReadFile, Storage, WriteFile};
use super::lock::LockFile;
use crate::error::{Error, Result};

/// Files in a folder of a local file system.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl Storage for Folder {
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        Ok(Box::new(OpenOptions::new().write(true).create_new(true).open(self.path(name))?))
    }

    fn map(&self, name: &str, access: Access) -> io::Result<Bytes> {
        Bytes::map(&open_regular(&self.path(name))?, access)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        Ok(Box::new(open_regular(&self.path(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn list(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        // LOCK is never deleted, so the locked file keeps its name.
        match LockFile::take(&self.path)? {
            Some(lock) => Ok(Box::new(lock)),
            None => Err(Error::NotADatabase { path: self.path.clone() }),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        // Joining an empty name would add a slash.
        if name.is_empty() { self.path.clone() } else { self.path.join(name) }
    }
}

/// Opens a regular file for reading. Checks the kind first: opening a named pipe would block.
fn open_regular(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"))
    }
}

impl WriteFile for File {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        self.set_len(len_bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        // This also syncs the length. The engine reads no file times.
        self.sync_data()
    }
}

impl ReadFile for File {
    fn len_bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, bytes, offset)
    }
}
