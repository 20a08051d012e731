//! A folder of a local file system as a storage.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use super::bytes::{Access, Bytes};
use super::folder::{Folder, Permissions, data_from};
use super::interface::{Lock, ReadFile, Storage, WriteFile};
use super::lock::LockFile;
use super::names;
use crate::error::{Error, Result};
use crate::util::file;

impl Storage for Folder {
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        Ok(Box::new(self.create_file(name)?))
    }

    fn map(&self, name: &str, access: Access) -> io::Result<Bytes> {
        Bytes::map(&self.open_regular(name)?, access)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        Ok(Box::new(self.open_regular(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.rename_to(from.as_ref(), to.as_ref())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.unlink_or_leave(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.sync()
    }

    fn list(&self) -> io::Result<Vec<OsString>> {
        self.names()
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        // LOCK is never deleted, so the locked file keeps its name.
        match LockFile::take(self)? {
            Some(lock) => Ok(Box::new(lock)),
            None => Err(Error::NotADatabase { path: self.path_of("") }),
        }
    }

    fn reopen(&self) -> Result<Arc<dyn Storage>> {
        Ok(Arc::new(self.open_again()?))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.path_of(name)
    }

    fn last_written(&self) -> io::Result<Option<SystemTime>> {
        let mut newest = None;
        for name in self.names()? {
            let Some(name) = name.to_str().filter(|name| *name == names::MANIFEST || names::is_wal(name))
            else {
                continue;
            };
            match self.look_at_path(name).and_then(|metadata| metadata.modified()) {
                // The writer has just removed a log.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                time => newest = newest.max(Some(time?)),
            }
        }
        Ok(newest)
    }

    fn permissions(&self) -> io::Result<Option<Permissions>> {
        self.permissions_of_database().map(Some)
    }
}

impl WriteFile for File {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        file::write_all_at(self, bytes, offset)
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
        file::read_exact_at(self, bytes, offset)
    }

    fn data_from(&self, offset: u64) -> u64 {
        data_from(self, offset)
    }
}
