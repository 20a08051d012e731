//! The lock of a folder: an exclusive lock on its file `LOCK`, which stores the holder's process
//! id.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use super::interface::Lock;
use super::names;
use crate::error::{Error, Result};

/// How often to try to read the process id of a holder that has just taken the lock.
const PID_TRIES: usize = 20;

/// A locked file. Dropping it releases the lock.
#[derive(Debug)]
pub(super) struct LockFile(File);

impl Lock for LockFile {}

impl LockFile {
    /// Takes the lock of a folder and writes the id of this process. `None` if the folder, or the
    /// locked file, no longer exists.
    pub(super) fn take(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(names::LOCK);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(Error::io("open", &path))?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked { path: folder.to_path_buf(), pid: holder(&path) });
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
        }
        let locked = file.metadata().map_err(Error::io("look at", &path))?;
        match fs::metadata(&path) {
            Ok(named) if (named.dev(), named.ino()) == (locked.dev(), locked.ino()) => {}
            _ => return Ok(None),
        }
        let lock = Self(file);
        // On a full disk the write fails. Other processes then cannot read the id, but this one can
        // still free space.
        let pid = std::process::id().to_string();
        let _ = lock.0.set_len(0).and_then(|()| FileExt::write_all_at(&lock.0, pid.as_bytes(), 0));
        Ok(Some(lock))
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Removes the id, which would otherwise name a process that has ended.
        let _ = self.0.set_len(0);
        // A child process that has just been forked has a copy of the file. Without this call it
        // would hold the lock until it executes its own program.
        let _ = self.0.unlock();
    }
}

/// The id of the process that holds a lock. The holder writes it right after taking the lock.
fn holder(path: &Path) -> Option<u32> {
    (0..PID_TRIES).find_map(|attempt| {
        if attempt > 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::read_to_string(path).ok()?.trim().parse().ok()
    })
}
