//! The lock of a folder: an exclusive lock on its file `LOCK`, which stores the holder's process
//! id.
//!
//! The lock belongs to the open file, which the child of a fork shares with its parent. A child that
//! unlocked it would release the lock of its parent.

use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

use rustix::fs::OFlags;

use super::folder::Folder;
use super::interface::Lock;
use super::names;
use crate::error::{Error, Replaced, Result};
use crate::util::process::Process;

/// How often to try to read the process id of a holder that has just taken the lock.
const PID_TRIES: usize = 20;
/// Length of the longest process id.
const MAX_PID_BYTES: u64 = 20;

/// A locked file. Dropping it releases the lock, unless it belongs to the parent process.
#[derive(Debug)]
pub(super) struct LockFile {
    file: File,
    folder: Folder,
    /// Whether the file stores the id of this process.
    has_pid: bool,
    process: Process,
}

impl Lock for LockFile {
    fn check(&self) -> io::Result<()> {
        self.check_process()?;
        let locked = self.file.metadata()?;
        match self.folder.look_at_path(names::LOCK) {
            Ok(found) if (found.dev(), found.ino()) == (locked.dev(), locked.ino()) => Ok(()),
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Err(error)
            }
            _ => Err(io::Error::other(Replaced { path: self.folder.path_of("") })),
        }
    }

    fn check_process(&self) -> io::Result<()> {
        self.process.check(|| self.folder.path_of(""))
    }
}

impl LockFile {
    /// Takes the lock of a folder and writes the id of this process. `None` if the folder, or the
    /// locked file, no longer exists.
    pub(super) fn take(folder: &Folder) -> Result<Option<Self>> {
        let path = folder.path_of(names::LOCK);
        let file = match folder.open_regular(names::LOCK, OFlags::RDWR | OFlags::CREATE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                // It holds no data, so a repair would be the wrong advice.
                let why = format!("it is {error}; remove it, and the next writer makes a regular file");
                return Err(Error::io("lock", &path)(io::Error::new(error.kind(), why)));
            }
            other => other.map_err(Error::io("open", &path))?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked { path: folder.path_of(""), pid: holder(folder) });
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
        }
        let mut lock = Self { file, folder: folder.clone(), has_pid: false, process: Process::current() };
        if lock.check().is_err() {
            return Ok(None);
        }
        // Another name of this file may be somebody's data. Only a process id is overwritten.
        if read_pid(&lock.file).is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit())) {
            // On a full disk the write fails. Other processes then cannot read the id, but this one
            // can still free space.
            let pid = std::process::id().to_string();
            let written = lock.file.set_len(0).and_then(|()| lock.file.write_all_at(pid.as_bytes(), 0));
            lock.has_pid = written.is_ok();
        }
        Ok(Some(lock))
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if !self.process.is_current() {
            return;
        }
        if self.has_pid {
            // Removes the id, which would otherwise name a process that has ended.
            let _ = self.file.set_len(0);
        }
        // A child process that has just been forked has a copy of the file. Without this call it
        // would hold the lock until it executes its own program.
        let _ = self.file.unlock();
    }
}

/// The content of a short file of text.
fn read_pid(file: &File) -> Option<String> {
    let mut text = String::new();
    file.take(MAX_PID_BYTES + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= MAX_PID_BYTES).then_some(text)
}

/// The id of the process that holds a lock. The holder writes it right after taking the lock.
fn holder(folder: &Folder) -> Option<u32> {
    (0..PID_TRIES).find_map(|attempt| {
        if attempt > 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let file = folder.open_regular(names::LOCK, OFlags::RDONLY).ok()?;
        read_pid(&file)?.trim().parse().ok()
    })
}
