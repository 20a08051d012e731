//! A folder of a local file system of unix.
//!
//! A folder is opened once. All work on its files goes through that handle and follows no links. It
//! therefore stays in this folder, even if another one takes its path. Only the process that opened
//! a folder changes it through the handle; the child of a fork opens it again.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
use rustix::fs::RenameFlags;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, SeekFrom, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::super::names;
use crate::error::{Error, Result};
use crate::util::file;
use crate::util::process::Process;

/// Whether the system renames a folder that has open files.
pub(in crate::storage) const MOVES_IN_USE: bool = true;

/// Permissions of a file, which the umask restricts.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
/// Permissions of a file for its owner only.
const OWN_FILE_MODE: Mode = Mode::from_raw_mode(0o600);
/// What a copy takes over of the permissions of its source. Its owner can always use it.
const OTHERS: Mode = Mode::RWXG.union(Mode::RWXO);
/// All permissions.
const ALL: Mode = Mode::RWXU.union(OTHERS);

/// The permissions of a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permissions {
    folder: Mode,
    /// Those that all files have.
    file: Mode,
}

/// What keeps others from made folders.
#[derive(Debug)]
pub(in crate::storage) struct Alone;

/// Files in a folder of a local file system.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    /// As it was given; for messages.
    path: PathBuf,
    /// Does not depend on the working directory.
    absolute: PathBuf,
    handle: Arc<OwnedFd>,
    /// Permissions of new files.
    mode: Mode,
    process: Process,
}

impl Folder {
    /// Opens a folder. Follows links in its path.
    pub(crate) fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        // A path that is empty names no folder, and has no absolute form.
        let absolute = std::path::absolute(&path).map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = retry_on_intr(|| rustix::fs::openat(CWD, &absolute, flags, Mode::empty()))?;
        Ok(Self { path, absolute, handle: Arc::new(handle), mode: FILE_MODE, process: Process::current() })
    }

    /// Opens the folder of a database. [`Error::NotADatabase`] where there is none.
    pub(crate) fn of_database(path: &Path) -> Result<Self> {
        Self::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Error::NotADatabase { path: path.to_path_buf() }
            }
            _ => Error::io("open", path)(error),
        })
    }

    /// Opens a folder in this one, which may not be a link, for files of the owner only.
    pub(in crate::storage) fn open_own(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = retry_on_intr(|| rustix::fs::openat(&self.handle, name, flags, Mode::empty()));
        // For a link, systems choose one of two errors.
        let handle = handle.map_err(|error| if error == Errno::LOOP { Errno::NOTDIR } else { error })?;
        let (path, absolute) = (self.path.join(name), self.absolute.join(name));
        let process = Process::current();
        Ok(Self { path, absolute, handle: Arc::new(handle), mode: OWN_FILE_MODE, process })
    }

    /// Nothing: whoever has the lock of a marker is alone with its folder.
    pub(in crate::storage) fn alone(&self) -> io::Result<Alone> {
        Ok(Alone)
    }

    /// Makes a folder in this one, for its owner only.
    pub(in crate::storage) fn make_own_folder(&self, name: &OsStr) -> io::Result<()> {
        self.check_process()?;
        Ok(rustix::fs::mkdirat(&self.handle, name, Mode::RWXU)?)
    }

    /// Removes an empty folder in this one.
    pub(in crate::storage) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        self.check_process()?;
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR)?)
    }

    /// Whether the folder belongs to this user.
    pub(in crate::storage) fn is_own(&self) -> io::Result<bool> {
        Ok(Some(rustix::fs::fstat(&self.handle)?.st_uid) == user())
    }

    /// The number of the folder in its file system.
    pub(in crate::storage) fn inode(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstat(&self.handle)?.st_ino)
    }

    /// Whether a name in another folder leads to this one.
    pub(in crate::storage) fn is_at(&self, parent: &Self, name: &OsStr) -> io::Result<bool> {
        let here = rustix::fs::fstat(&self.handle)?;
        match rustix::fs::lstat(parent.absolute.join(name)) {
            Ok(found) => Ok((found.st_dev, found.st_ino) == (here.st_dev, here.st_ino)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a name in this folder is of a regular file, not of a link to one.
    pub(in crate::storage) fn is_file(&self, name: &str) -> io::Result<bool> {
        let stat = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
    }

    /// Fails in any process but the one that opened the folder.
    pub(in crate::storage) fn check_process(&self) -> io::Result<()> {
        self.process.check(|| self.path.clone())
    }

    /// The permissions of the folder, and those that all of its database files have.
    pub(in crate::storage) fn permissions_of_database(&self) -> io::Result<Permissions> {
        let mut file = FILE_MODE;
        for name in self.names()? {
            let Some(name) = name.to_str().filter(|name| names::is_ours(name)) else { continue };
            match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => file &= Mode::from_raw_mode(stat.st_mode),
                // A writer has removed it.
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let folder = Mode::from_raw_mode(rustix::fs::fstat(&self.handle)?.st_mode);
        Ok(Permissions { folder: folder & ALL, file })
    }

    /// Gives the folder and its files the permissions of a source, which its owner has in any case.
    /// Without one, they get what the umask leaves to new ones. A database in the folder has its own.
    pub(in crate::storage) fn set_permissions(&self, source: Option<Permissions>) -> io::Result<()> {
        let (folder, file) = match source {
            Some(source) => (source.folder & OTHERS | Mode::RWXU, mode_of_copy(source)),
            None => {
                let all = self.mode_of_new_file()?;
                (all, all & FILE_MODE)
            }
        };
        for name in self.names()? {
            let stat = rustix::fs::statat(&self.handle, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                rustix::fs::chmodat(&self.handle, name, file, AtFlags::empty())?;
            }
        }
        Ok(rustix::fs::fchmod(&self.handle, folder)?)
    }

    /// Makes a file of another folder a file of this one, too: a hard link. Fails if the file has other
    /// permissions than a copy would get, because links share them.
    pub(in crate::storage) fn link_copy(
        &self,
        other: &Self,
        name: &str,
        source: Permissions,
    ) -> io::Result<()> {
        self.check_process()?;
        let stat = rustix::fs::statat(&other.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        check_regular(&stat)?;
        if Mode::from_raw_mode(stat.st_mode) & ALL != mode_of_copy(source) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(rustix::fs::linkat(&other.handle, name, &self.handle, name, AtFlags::empty())?)
    }

    /// What the umask leaves of all permissions.
    fn mode_of_new_file(&self) -> io::Result<Mode> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let probe = retry_on_intr(|| rustix::fs::openat(&self.handle, names::MANIFEST_NEW, flags, ALL))?;
        let mode = Mode::from_raw_mode(rustix::fs::fstat(&probe)?.st_mode) & ALL;
        self.unlink(names::MANIFEST_NEW)?;
        Ok(mode)
    }

    /// What a name in the folder of this path is now. The folder may be another one.
    pub(crate) fn look_at_path(&self, name: &str) -> io::Result<Metadata> {
        fs::symlink_metadata(self.absolute.join(name))
    }

    /// The path of the folder as it was given.
    pub(in crate::storage) fn given_path(&self) -> &Path {
        &self.path
    }

    /// The path of a file, or of the folder for an empty name; for messages.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        // Joining an empty name would add a slash.
        if name.is_empty() { self.path.clone() } else { self.path.join(name) }
    }

    /// The names of all files and folders in this one.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = Dir::read_from(&self.handle)?;
        let names = entries.map(|entry| Ok(OsString::from_vec(entry?.file_name().to_bytes().to_vec())));
        let special = |name: &OsString| name == "." || name == "..";
        names.filter(|name| !name.as_ref().is_ok_and(special)).collect()
    }

    /// Removes a file, or a link to one.
    pub(in crate::storage) fn unlink(&self, name: &str) -> io::Result<()> {
        self.check_process()?;
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Removes a file of a database, which readers may have open.
    pub(in crate::storage) fn unlink_or_leave(&self, name: &str) -> io::Result<()> {
        self.unlink(name)
    }

    /// Renames a file or a folder, and replaces any file with the new name.
    pub(in crate::storage) fn rename_to(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.check_process()?;
        Ok(rustix::fs::renameat(&self.handle, from, &self.handle, to)?)
    }

    /// Renames a folder in this one, and replaces nothing.
    pub(in crate::storage) fn rename_to_free(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.check_process()?;
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        match rustix::fs::renameat_with(&self.handle, from, &self.handle, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            other => return Ok(other?),
        }
        // The file system does not offer it. Of what comes up at the name just now, a rename replaces
        // nothing but an empty folder.
        match rustix::fs::statat(&self.handle, to, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => self.rename_to(from, to),
            Err(error) => Err(error.into()),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// The same folder, after it was renamed to a name in `parent`.
    pub(in crate::storage) fn moved_to(self, parent: &Self, name: &OsStr) -> Self {
        Self { path: parent.path.join(name), absolute: parent.absolute.join(name), ..self }
    }

    /// Makes creations, renames and removals durable.
    pub(in crate::storage) fn sync(&self) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::fsync(&self.handle))?)
    }

    /// Creates a file for writing. Fails if it exists.
    pub(in crate::storage) fn create_file(&self, name: &str) -> io::Result<File> {
        self.check_process()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(retry_on_intr(|| rustix::fs::openat(&self.handle, name, flags, self.mode))?.into())
    }

    /// The folder that the path leads to now, which may be another one.
    pub(in crate::storage) fn open_again(&self) -> Result<Self> {
        let now = Self::of_database(&self.absolute)?;
        Ok(Self { path: self.path.clone(), ..now })
    }

    /// Opens a regular file for reading.
    pub(in crate::storage) fn open_regular(&self, name: &str) -> io::Result<File> {
        self.open_with(name, OFlags::RDONLY)
    }

    /// Opens the file of a lock, which may be new. `None` if another process has it, where opening shows
    /// that.
    pub(in crate::storage) fn open_lock(&self, name: &str) -> io::Result<Option<File>> {
        self.open_with(name, OFlags::RDWR | OFlags::CREATE).map(Some)
    }

    /// Takes the lock of an open file. `false` if another process has it.
    pub(in crate::storage) fn try_lock(file: &File) -> io::Result<bool> {
        match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether another process has the lock of a file.
    pub(in crate::storage) fn is_locked(&self, _name: &str, file: &File) -> io::Result<bool> {
        match file.try_lock_shared() {
            // Children of other threads have copies of the file: closing it may release nothing.
            Ok(()) => file.unlock().map(|()| false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether the path of the folder still leads to a locked file.
    pub(in crate::storage) fn leads_to(&self, name: &str, locked: &File) -> io::Result<bool> {
        let locked = locked.metadata()?;
        match self.look_at_path(name) {
            Ok(found) => Ok((found.dev(), found.ino()) == (locked.dev(), locked.ino())),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Locks a new marker. `None` if the folder has been removed meanwhile.
    pub(in crate::storage) fn lock_new(&self, marker: File) -> io::Result<Option<File>> {
        marker.lock()?;
        Ok((!file::is_removed(&marker)).then_some(marker))
    }

    /// Locks a marker that is open for reading. `None` if another process has it.
    pub(in crate::storage) fn lock_marker(&self, _name: &str, marker: File) -> io::Result<Option<File>> {
        Ok(Self::try_lock(&marker)?.then_some(marker))
    }

    /// Opens a regular file. Looks at it first: opening a device or a named pipe has effects.
    fn open_with(&self, name: &str, flags: OFlags) -> io::Result<File> {
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => check_regular(&stat)?,
            Err(Errno::NOENT) if flags.contains(OFlags::CREATE) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file =
            retry_on_intr(|| rustix::fs::openat(&self.handle, name, flags, self.mode)).map_err(|error| {
                if error == Errno::LOOP { irregular(FileType::Symlink) } else { error.into() }
            })?;
        check_regular(&rustix::fs::fstat(&file)?)?;
        Ok(file.into())
    }
}

/// Nothing is in the way of renaming or removing a made folder.
pub(in crate::storage) fn release(_: &Folder, _: &mut Option<File>) {}

/// The marker of a made folder, after it was renamed.
pub(in crate::storage) fn retake(_: &Folder, marker: Option<File>) -> io::Result<Option<File>> {
    Ok(marker)
}

/// The number of the user of this process.
pub(in crate::storage) fn user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

/// The name of this computer.
pub(in crate::storage) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The first offset from the given one on that is not in a hole of a sparse file.
pub(in crate::storage) fn data_from(file: &File, offset: u64) -> u64 {
    match rustix::fs::seek(file, SeekFrom::Data(offset)) {
        Ok(found) => found,
        // There is none up to the end.
        Err(Errno::NXIO) => u64::MAX,
        Err(_) => offset,
    }
}

/// The permissions of the files of a copy.
fn mode_of_copy(source: Permissions) -> Mode {
    source.file & OTHERS & source.folder | OWN_FILE_MODE
}

fn check_regular(stat: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        other => Err(irregular(other)),
    }
}

fn irregular(kind: FileType) -> io::Error {
    let kind = match kind {
        FileType::Symlink => "a symbolic link",
        FileType::Directory => "a folder",
        _ => "not a regular file",
    };
    io::Error::new(io::ErrorKind::InvalidData, kind)
}
