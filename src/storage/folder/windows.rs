//! A folder of a local file system of Windows.
//!
//! Windows has no calls relative to an open folder, but a folder that is open without the right to be
//! deleted cannot be renamed, moved or removed, nor can a folder above it. So a path means the same
//! folder as long as the folder is *pinned*: open in this way. Links are not followed.
//!
//! A lock is a file that is open without others being allowed to write to it. It can be read meanwhile,
//! so it can say who has it. A byte range that is locked (`LockFileEx`, as `File::try_lock` does it)
//! could not be read by anybody else.
//!
//! An open file can be removed, but keeps its name until it is closed, on older systems. Its name can
//! then neither be used nor opened. Virus scanners and indexers open files just when they were written.
//! So what fails for such a reason is tried again for a short while.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use winapi_util::sysinfo::{ComputerNameKind, get_computer_name};

use super::super::names;
use crate::error::{Error, Result};
use crate::util::file::{self, RENAME_PATIENCE, patiently};
use crate::util::process::Process;

/// Whether the system renames a folder that has open files. Where it does not, who removes one is
/// [alone](Folder::alone).
pub(in crate::storage) const MOVES_IN_USE: bool = false;

/// What others may do with an open file: read, write, remove and rename it.
const SHARE_READ: u32 = 1;
const SHARE_WRITE: u32 = 2;
const SHARE_DELETE: u32 = 4;
/// `FILE_FLAG_BACKUP_SEMANTICS`: opens a folder.
const FOLDER: u32 = 0x0200_0000;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: opens a link itself.
const NO_LINK: u32 = 0x0020_0000;

/// `FILE_FLAG_DELETE_ON_CLOSE`: removes the file when it is closed.
const REMOVE_ON_CLOSE: u32 = 0x0400_0000;

const SHARING_VIOLATION: i32 = 32;
/// What the system answers for a file that is open or mapped: `ERROR_ACCESS_DENIED`,
/// `ERROR_SHARING_VIOLATION` and `ERROR_USER_MAPPED_FILE`.
const IN_USE: [i32; 3] = [5, SHARING_VIOLATION, 1224];
/// How long a file is tried to be opened or made.
const PATIENCE: Duration = Duration::from_millis(128);
/// The same for a lock. A look at the lock has it for a moment.
const LOCK_PATIENCE: Duration = Duration::from_millis(4);

/// Files have the permissions that their folder hands down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permissions;

/// What keeps others from made folders: an open file.
#[derive(Debug)]
pub(in crate::storage) struct Alone(#[expect(dead_code, reason = "it is closed when this is dropped")] File);

/// Files in a folder of a local file system.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    /// As it was given; for messages.
    path: PathBuf,
    /// Does not depend on the working directory.
    absolute: PathBuf,
    /// The open folder, unless it was let go.
    pin: Arc<Mutex<Option<File>>>,
    process: Process,
}

impl Folder {
    /// Opens a folder. Follows links in its path.
    pub(crate) fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        // A path that is empty names no folder, and has no absolute form.
        let absolute = std::path::absolute(&path).map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
        let pin = Arc::new(Mutex::new(Some(pin(&absolute, FOLDER)?)));
        Ok(Self { path, absolute, pin, process: Process::current() })
    }

    /// Opens the folder of a database. [`Error::NotADatabase`] where there is none.
    pub(crate) fn of_database(path: &Path) -> Result<Self> {
        Self::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
                Error::NotADatabase { path: path.to_path_buf() }
            }
            _ => Error::io("open", path)(error),
        })
    }

    /// A folder in this one, which may not be a link. It is not pinned: a process that only looks at it
    /// is not in the way of the one that renames or removes it.
    pub(in crate::storage) fn open_own(&self, name: &OsStr) -> io::Result<Self> {
        let (path, absolute) = (self.path.join(name), self.absolute.join(name));
        if !fs::symlink_metadata(&absolute)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path, absolute, pin: Arc::default(), process: Process::current() })
    }

    /// Waits until no other process makes, renames or removes a made folder in this one, and keeps others
    /// from it. Markers do not suffice: one that is locked, and so open, is in the way of the rename and of
    /// the removal of its folder.
    ///
    /// The file that shows this has a name for that long only, also where its process is killed.
    pub(in crate::storage) fn alone(&self) -> io::Result<Alone> {
        let path = self.absolute.join(names::BUSY);
        let mut options = OpenOptions::new();
        options.write(true).create(true).share_mode(0).custom_flags(REMOVE_ON_CLOSE);
        patiently(RENAME_PATIENCE, || options.open(&path)).map(Alone)
    }

    /// Makes a folder in this one. Its permissions are those that this folder hands down.
    pub(in crate::storage) fn make_own_folder(&self, name: &OsStr) -> io::Result<()> {
        patiently(PATIENCE, || fs::create_dir(self.absolute.join(name)))
    }

    /// Removes an empty folder in this one.
    pub(in crate::storage) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        patiently(PATIENCE, || fs::remove_dir(self.absolute.join(name)))
    }

    /// Lets the folder go, which can then be renamed and removed.
    pub(in crate::storage) fn let_go(&self) {
        self.pin().take();
    }

    fn pin(&self) -> MutexGuard<'_, Option<File>> {
        self.pin.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the folder belongs to this user. Folders for temporary files have one user each.
    pub(in crate::storage) fn is_own(&self) -> io::Result<bool> {
        Ok(true)
    }

    /// The number of the folder in its file system.
    pub(in crate::storage) fn inode(&self) -> io::Result<u64> {
        Ok(self.identity()?.1)
    }

    fn identity(&self) -> io::Result<file::Identity> {
        match &*self.pin() {
            Some(pin) => file::identity(pin),
            None => file::identity_of(&self.absolute),
        }
    }

    /// Whether a name in another folder leads to this one.
    pub(in crate::storage) fn is_at(&self, parent: &Self, name: &OsStr) -> io::Result<bool> {
        match file::identity_of(&parent.absolute.join(name)) {
            Ok(found) => Ok(found == self.identity()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether a name in this folder is of a regular file, not of a link to one.
    pub(in crate::storage) fn is_file(&self, name: &str) -> io::Result<bool> {
        Ok(self.look_at_path(name)?.is_file())
    }

    /// Fails in any process but the one that opened the folder. Windows has no fork.
    pub(in crate::storage) fn check_process(&self) -> io::Result<()> {
        self.process.check(|| self.path.clone())
    }

    /// The permissions of the folder, and those that all of its database files have.
    pub(in crate::storage) fn permissions_of_database(&self) -> io::Result<Permissions> {
        Ok(Permissions)
    }

    /// Gives the folder and its files the permissions of a source: nothing, because they are handed down.
    pub(in crate::storage) fn set_permissions(&self, _: Option<Permissions>) -> io::Result<()> {
        Ok(())
    }

    /// Makes a file of another folder a file of this one, too: a hard link.
    pub(in crate::storage) fn link_copy(&self, other: &Self, name: &str, _: Permissions) -> io::Result<()> {
        check_regular(&other.look_at_path(name)?)?;
        fs::hard_link(other.absolute.join(name), self.absolute.join(name))
    }

    /// What a name in the folder of this path is now.
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
        fs::read_dir(&self.absolute)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// Removes a file, or a link to one.
    pub(in crate::storage) fn unlink(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.absolute.join(name))
    }

    /// Removes a file of a database, unless a reader has it open. It then stays, and the next writer removes
    /// it, as it removes what a crash leaves.
    pub(in crate::storage) fn unlink_or_leave(&self, name: &str) -> io::Result<()> {
        match self.unlink(name) {
            Err(error) if error.raw_os_error().is_some_and(|code| IN_USE.contains(&code)) => Ok(()),
            other => other,
        }
    }

    /// Renames a file or a folder, and replaces any file with the new name, or an empty folder.
    pub(in crate::storage) fn rename_to(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (from, to) = (self.absolute.join(from), self.absolute.join(to));
        let is_over_folder = fs::symlink_metadata(&to).is_ok_and(|found| found.is_dir());
        let is_folder = fs::symlink_metadata(&from)?.is_dir();
        debug_assert!(!is_folder || is_unused(&from)?, "an open file keeps Windows from renaming {from:?}");
        if is_over_folder && is_folder {
            fs::remove_dir(&to)?;
        }
        file::rename(&from, &to)
    }

    /// Renames a folder in this one, and replaces nothing.
    pub(in crate::storage) fn rename_to_free(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let target = self.absolute.join(to);
        debug_assert!(is_unused(&self.absolute.join(from)).unwrap_or(true), "a file in {from:?} is open");
        match fs::symlink_metadata(&target) {
            // A rename replaces no folder that comes up at the name just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                patiently(PATIENCE, || fs::rename(self.absolute.join(from), &target))
            }
            Err(error) => Err(error),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    /// The same folder, after it was renamed to a name in `parent`.
    pub(in crate::storage) fn moved_to(self, parent: &Self, name: &OsStr) -> Self {
        Self { path: parent.path.join(name), absolute: parent.absolute.join(name), ..self }
    }

    /// Pins the folder again, after it was renamed.
    fn pin_again(&self) -> io::Result<()> {
        *self.pin() = Some(pin(&self.absolute, FOLDER | NO_LINK)?);
        Ok(())
    }

    /// Makes creations, renames and removals durable, where the file system does that for folders.
    pub(in crate::storage) fn sync(&self) -> io::Result<()> {
        file::sync_folder(&self.absolute)
    }

    /// Creates a file for writing. Fails if it exists.
    pub(in crate::storage) fn create_file(&self, name: &str) -> io::Result<File> {
        patiently(PATIENCE, || OpenOptions::new().write(true).create_new(true).open(self.absolute.join(name)))
    }

    /// The folder that the path leads to now, which may be another one.
    pub(in crate::storage) fn open_again(&self) -> Result<Self> {
        let now = Self::of_database(&self.absolute)?;
        Ok(Self { path: self.path.clone(), ..now })
    }

    /// Opens a regular file for reading.
    pub(in crate::storage) fn open_regular(&self, name: &str) -> io::Result<File> {
        self.open_with(name, PATIENCE, OpenOptions::new().read(true))
    }

    fn open_with(&self, name: &str, patience: Duration, options: &mut OpenOptions) -> io::Result<File> {
        let path = self.absolute.join(name);
        options.custom_flags(NO_LINK);
        let file = patiently(patience, || {
            options.open(&path).map_err(|error| {
                // Opening a folder fails in a way that looks like a lack of permissions.
                let found = fs::symlink_metadata(&path);
                found.ok().and_then(|found| check_regular(&found).err()).unwrap_or(error)
            })
        })?;
        check_regular(&file.metadata()?)?;
        Ok(file)
    }

    /// Opens the file of a lock, which may be new, and takes the lock. `None` if another process has it.
    ///
    /// A look at the lock is in the way for as long as the system lets it run, and does not keep the lock: then
    /// this one tries again.
    pub(in crate::storage) fn open_lock(&self, name: &str) -> io::Result<Option<File>> {
        let started = Instant::now();
        loop {
            // Neither the file nor its folder can be moved or removed while it is open.
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).share_mode(SHARE_READ);
            let opened = held(self.open_with(name, LOCK_PATIENCE, &mut options))?;
            if opened.is_some() || self.has_holder(name)? || started.elapsed() > RENAME_PATIENCE {
                return Ok(opened);
            }
        }
    }

    /// Whether a process has the lock of a file. Looks share the file with each other, a holder with nobody.
    fn has_holder(&self, name: &str) -> io::Result<bool> {
        Ok(held(self.open_with(name, LOCK_PATIENCE, OpenOptions::new().write(true)))?.is_none())
    }

    /// Takes the lock of a file that [`open_lock`](Self::open_lock) has opened.
    pub(in crate::storage) fn try_lock(_: &File) -> io::Result<bool> {
        Ok(true)
    }

    /// Whether another process has the lock of a file.
    pub(in crate::storage) fn is_locked(&self, name: &str, _: &File) -> io::Result<bool> {
        self.has_holder(name)
    }

    /// Whether the path of the folder still leads to a locked file, which the lock ensures.
    pub(in crate::storage) fn leads_to(&self, _name: &str, _locked: &File) -> io::Result<bool> {
        Ok(true)
    }

    /// Locks a new marker. `None` if the folder has been removed meanwhile.
    pub(in crate::storage) fn lock_new(&self, marker: File) -> io::Result<Option<File>> {
        self.lock_marker(names::MARKER, marker)
    }

    /// Locks a marker that is open. `None` if another process has it, or it is gone.
    pub(in crate::storage) fn lock_marker(&self, name: &str, marker: File) -> io::Result<Option<File>> {
        drop(marker);
        // Whoever has the lock may remove the marker.
        let share = SHARE_READ | SHARE_DELETE;
        let mut options = OpenOptions::new();
        match held(self.open_with(name, LOCK_PATIENCE, options.read(true).write(true).share_mode(share))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other,
        }
    }
}

/// Closes what is in the way of renaming or removing a made folder: its marker, and the folder itself.
pub(in crate::storage) fn release(folder: &Folder, marker: &mut Option<File>) {
    marker.take();
    folder.let_go();
}

/// Opens a made folder and its marker again, after it was renamed. `None` if another process has removed
/// it meanwhile.
pub(in crate::storage) fn retake(folder: &Folder, _: Option<File>) -> io::Result<Option<File>> {
    let taken = folder.pin_again().and_then(|()| folder.open_regular(names::MARKER));
    match taken.and_then(|marker| folder.lock_marker(names::MARKER, marker)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other,
    }
}

/// Users have no numbers.
pub(in crate::storage) fn user() -> Option<u32> {
    None
}

/// The name of this computer.
pub(in crate::storage) fn host() -> String {
    get_computer_name(ComputerNameKind::DnsHostname).unwrap_or_default().to_string_lossy().into_owned()
}

/// The first offset that is not in a hole. Reads show none.
pub(in crate::storage) fn data_from(_: &File, offset: u64) -> u64 {
    offset
}

/// Opens a folder so that it can be neither moved nor removed.
fn pin(absolute: &Path, flags: u32) -> io::Result<File> {
    let share = SHARE_READ | SHARE_WRITE;
    let pin = patiently(PATIENCE, || {
        OpenOptions::new().read(true).share_mode(share).custom_flags(flags).open(absolute)
    })?;
    if pin.metadata()?.is_dir() { Ok(pin) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// A file that could be opened. `None` if another process has it open, and does not share it.
fn held(opened: io::Result<File>) -> io::Result<Option<File>> {
    match opened {
        Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
        other => other.map(Some),
    }
}

/// Whether no file of a folder is open. Wine renames such a folder, and Windows does not: so tests notice it.
fn is_unused(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        if held(OpenOptions::new().read(true).share_mode(0).open(entry?.path()))?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn check_regular(found: &Metadata) -> io::Result<()> {
    let kind = match found.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a folder",
        _ => "not a regular file",
    };
    Err(io::Error::new(io::ErrorKind::InvalidData, kind))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::mpsc;

    use super::*;

    /// How often a reader reads in a row.
    const READS: u32 = 20;

    #[test]
    fn a_folder_in_use_can_be_neither_moved_nor_removed() {
        let home = tempfile::tempdir().unwrap();
        let (path, moved) = (home.path().join("a"), home.path().join("b"));
        fs::create_dir(&path).unwrap();
        let folder = Folder::open(&path).unwrap();
        assert!(fs::rename(&path, &moved).is_err() && fs::remove_dir(&path).is_err());
        folder.clone().let_go();
        fs::rename(&path, &moved).unwrap();
    }

    #[test]
    fn a_lock_can_be_read_and_not_taken_or_removed() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let lock = folder.open_lock("LOCK").unwrap().unwrap();
        file::write_all_at(&lock, b"17", 0).unwrap();
        assert!(folder.open_lock("LOCK").unwrap().is_none());
        let mut reader = folder.open_regular("LOCK").unwrap();
        assert!(folder.is_locked("LOCK", &reader).unwrap());
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "17");
        assert!(folder.unlink("LOCK").is_err());
        drop(lock);
        assert!(!folder.is_locked("LOCK", &reader).unwrap());
        assert!(folder.open_lock("LOCK").unwrap().is_some(), "a reader is not in the way");
    }

    #[test]
    fn a_file_that_is_not_shared_stays_without_an_error() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        fs::write(home.path().join("rows"), "1").unwrap();
        let reader = OpenOptions::new().read(true).share_mode(SHARE_READ).open(home.path().join("rows"));
        assert!(folder.unlink("rows").is_err());
        folder.unlink_or_leave("rows").unwrap();
        assert!(home.path().join("rows").exists());
        drop(reader);
        folder.unlink_or_leave("rows").unwrap();
        assert!(!home.path().join("rows").exists());
    }

    #[test]
    fn a_file_is_replaced_while_others_read_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        fs::write(home.path().join("MANIFEST"), "0").unwrap();
        // The reader pauses now and then, as readers of manifests do: where no open file is replaced, as under wine,
        // one that always had it open would be in the way for good.
        let (announce, announced) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in announced.into_iter().flat_map(|()| 0..READS) {
                    let mut text = String::new();
                    folder.open_regular("MANIFEST").unwrap().read_to_string(&mut text).unwrap();
                    assert!(text.parse::<u32>().is_ok(), "{text:?}");
                }
            });
            let replaced = (1..6).try_for_each(|number| {
                announce.send(()).unwrap();
                fs::write(home.path().join("MANIFEST.tmp"), number.to_string())?;
                folder.rename_to("MANIFEST.tmp".as_ref(), "MANIFEST".as_ref())
            });
            drop(announce);
            replaced.unwrap();
        });
        assert_eq!(fs::read_to_string(home.path().join("MANIFEST")).unwrap(), "5");
    }

    #[test]
    fn whoever_makes_folders_is_alone_and_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        let busy = home.path().join(names::BUSY);
        let alone = folder.alone().unwrap();
        assert!(File::open(&busy).is_err());
        drop(alone);
        assert!(!busy.exists());
    }
}
