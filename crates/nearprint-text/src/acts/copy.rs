//! Copies of files, which get their names when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use nearprint::internal::file::{identity, identity_of, rename_from_own, sync_folder};

use super::judged::{Judged, KeepGoing, go_on};
use super::places::escaped;
use crate::aside::{Aside, COPY, Purpose};

/// Bytes that are copied between two looks at whether to go on.
const BLOCK_BYTES: u64 = 16 << 20;

/// A copy under a temporary name beside its place, which only its owner can read.
pub(super) struct Copy {
    pub(super) file: File,
    path: PathBuf,
    /// Whether it stays under its temporary name.
    stays: bool,
    _aside: Aside,
}

impl Drop for Copy {
    fn drop(&mut self) {
        if !self.stays {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Copy {
    /// Copies a file that does not change meanwhile.
    pub(super) fn of(from: &Judged, folder: &Path, keep_going: KeepGoing<'_>) -> io::Result<Self> {
        Self::made(folder, |path| {
            let file = create_private(path)?;
            copy_bytes(from.file(), &file, keep_going)?;
            from.check()?;
            Ok(file)
        })
    }

    /// A file that `make` makes at a path in `folder`.
    pub(super) fn made(folder: &Path, make: impl FnOnce(&Path) -> io::Result<File>) -> io::Result<Self> {
        let aside = Aside::make(folder, Purpose::New)?;
        let path = aside.path_of(COPY);
        match make(&path) {
            Ok(file) => Ok(Self { file, path, stays: false, _aside: aside }),
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }

    /// Gives the copy, which has all it shall have, a name that nothing has.
    pub(super) fn publish(mut self, path: &Path) -> io::Result<File> {
        self.file.sync_all()?;
        match rename_from_own(&self.path, path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(io::Error::new(error.kind(), format!("{} exists", escaped(path))));
            }
            Err(error) => {
                self.stays = true;
                let why = format!("{error}; the copy is {}", escaped(&self.path));
                return Err(io::Error::new(error.kind(), why));
            }
        }
        let synced = path.parent().map_or(Ok(()), sync_folder).and_then(|()| self.file.try_clone());
        synced.map_err(|error| match remove_own(&self.file, path) {
            Ok(()) => error,
            Err(other) => {
                io::Error::new(error.kind(), format!("{error}; {other}; the copy is {}", escaped(path)))
            }
        })
    }
}

/// Creates a file that only its owner can read and write.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn copy_bytes(mut from: &File, mut to: &File, keep_going: KeepGoing<'_>) -> io::Result<()> {
    from.rewind()?;
    while io::copy(&mut from.take(BLOCK_BYTES), &mut to)? > 0 {
        go_on(keep_going)?;
    }
    Ok(())
}

/// Removes a file by its name, if it is the open one.
pub(super) fn remove_own(file: &File, path: &Path) -> io::Result<()> {
    match path.symlink_metadata()?.is_file() && identity(file)? == identity_of(path)? {
        true => fs::remove_file(path),
        false => Err(io::Error::other(format!("{} is another file now", escaped(path)))),
    }
}
