//! The traits that a storage implements.

use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use super::bytes::{Access, Bytes};
use super::folder::Permissions;
use crate::error::Result;
use crate::util::cast::to_usize;
use crate::util::time::Time;

/// One folder of files. Clones refer to the same folder.
pub(crate) trait Storage: Debug + Send + Sync {
    /// Creates a file. Fails if it exists.
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>>;
    /// Maps a whole file. It must not change while it is mapped.
    fn map(&self, name: &str, access: Access) -> io::Result<Bytes>;
    /// Opens a file for ordinary reads.
    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>>;
    /// Renames a file, and replaces any file with the new name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file. Where the system keeps files that a reader has open, the next writer removes it.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Refuses to remove a file from now on: it is another program's.
    fn disown(&self, _name: &str) {}
    /// Makes creations, renames and removals durable.
    fn sync_folder(&self) -> io::Result<()>;
    /// The names of all files, in no particular order.
    fn list(&self) -> io::Result<Vec<OsString>>;
    /// Takes the lock that only one writer can hold. Dropping the value, or the end of the process,
    /// releases it.
    ///
    /// # Errors
    /// [`Error::Locked`](crate::Error::Locked) if another writer holds it,
    /// [`Error::Io`](crate::Error::Io).
    fn lock(&self) -> Result<Box<dyn Lock>>;
    /// The folder that this one's path leads to now, which may be another one.
    ///
    /// # Errors
    /// [`Error::NotADatabase`](crate::Error::NotADatabase) if there is none,
    /// [`Error::Io`](crate::Error::Io).
    fn reopen(&self) -> Result<Arc<dyn Storage>>;
    /// The path of a file, or of the folder for an empty name; for messages.
    fn path(&self, name: &str) -> PathBuf;
    /// The time of the clock by which rows expire.
    fn now(&self) -> Time {
        Time::now()
    }

    /// When the manifest or a log was written last. `None` if files have no times.
    fn last_written(&self) -> io::Result<Option<SystemTime>> {
        Ok(None)
    }

    /// The permissions of the folder and of its files. `None` if it has none.
    fn permissions(&self) -> io::Result<Option<Permissions>> {
        Ok(None)
    }
}

/// A held lock.
pub(crate) trait Lock: Debug + Send + Sync {
    /// Checks that the path of the folder still leads to the locked file. Fails with
    /// [`Replaced`](crate::error::Replaced) if the folder was moved, removed or replaced.
    fn check(&self) -> io::Result<()> {
        Ok(())
    }

    /// Checks that this process has taken the lock. Fails with [`Forked`](crate::error::Forked) in
    /// the child of a fork.
    fn check_process(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A file open for writing.
pub(crate) trait WriteFile: Debug + Send {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;
    fn truncate(&mut self, len_bytes: u64) -> io::Result<()>;
    /// Makes the content and the length durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file open for reading.
pub(crate) trait ReadFile: Debug + Send {
    fn len_bytes(&self) -> io::Result<u64>;
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
    /// The first offset from the given one on that is not in a hole of a sparse file. Holes read as
    /// zeros.
    fn data_from(&self, offset: u64) -> u64 {
        offset
    }
}

/// Reads a whole small file. `None` if it does not exist.
pub(crate) fn read_small(storage: &dyn Storage, name: &str, limit_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match storage.open(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let len = file.len_bytes()?;
    if len > limit_bytes {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("{len} bytes, more than {limit_bytes}"),
        ));
    }
    let mut bytes = vec![0; to_usize(len)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(Some(bytes))
}

/// Reads a part of a file piece by piece. Holes in it take neither time nor memory. `unreadable`
/// decides about a piece that cannot be read.
pub(crate) fn read_pieces(
    file: &dyn ReadFile,
    part: Range<u64>,
    piece_bytes: u64,
    unreadable: impl Fn(&mut [u8], io::Error) -> io::Result<()>,
) -> io::Result<Bytes> {
    let Range { start: first, end: last } = part;
    Bytes::zeros(last.saturating_sub(first), |content| {
        let mut offset = file.data_from(first);
        while offset < last {
            let start = first.max(offset - offset % piece_bytes);
            let end = last.min(start - start % piece_bytes + piece_bytes);
            let piece = &mut content[to_usize(start - first)..to_usize(end - first)];
            file.read_exact_at(piece, start).or_else(|error| unreadable(piece, error))?;
            offset = file.data_from(end);
        }
        Ok(())
    })
}

/// Bytes of a growing file that are read at once.
const PIECE_BYTES: u64 = 1 << 20;

/// Reads a file from an offset on, which may grow meanwhile, or lose its end.
///
/// Fails with [`io::ErrorKind::FileTooLarge`] if it is longer than `limit_bytes`.
pub(crate) fn read_growing(file: &dyn ReadFile, first: u64, limit_bytes: u64) -> io::Result<Bytes> {
    loop {
        let len_bytes = file.len_bytes()?;
        if len_bytes > limit_bytes {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("{len_bytes} bytes")));
        }
        match read_pieces(file, first..len_bytes, PIECE_BYTES, |_, error| Err(error)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::storage::Memory;

    /// A file that fails so many times.
    #[derive(Debug)]
    struct Failing(AtomicUsize, io::ErrorKind);

    impl ReadFile for Failing {
        fn len_bytes(&self) -> io::Result<u64> {
            Ok(8)
        }

        fn read_exact_at(&self, bytes: &mut [u8], _: u64) -> io::Result<()> {
            match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
                Ok(_) => Err(self.1.into()),
                Err(_) => {
                    bytes.fill(7);
                    Ok(())
                }
            }
        }
    }

    #[test]
    fn files_beyond_a_limit_are_not_read() {
        let storage = Memory::default();
        storage.create("file").unwrap().write_all_at(&[7; 8], 0).unwrap();
        let file = storage.open("file").unwrap();
        for (limit, is_read) in [(0, false), (6, false), (7, false), (8, true), (9, true)] {
            let whole = [
                read_small(&storage, "file", limit),
                read_growing(&*file, 0, limit).map(|all| Some(all.to_vec())),
            ];
            for read in whole {
                match read {
                    Ok(bytes) => assert!(is_read && bytes == Some(vec![7; 8]), "{limit}"),
                    Err(error) => {
                        assert!(!is_read && error.kind() == io::ErrorKind::FileTooLarge, "{limit}: {error}")
                    }
                }
            }
        }
        assert_eq!(read_small(&storage, "none", 8).unwrap(), None);
    }

    #[test]
    fn only_a_lost_end_is_read_again() {
        let lost = Failing(3.into(), io::ErrorKind::UnexpectedEof);
        assert_eq!(read_growing(&lost, 0, 8).unwrap()[..], [7; 8]);
        let failed = Failing(1.into(), io::ErrorKind::InvalidData);
        assert_eq!(read_growing(&failed, 0, 8).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
