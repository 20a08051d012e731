//! A real folder, and the staging folder in which a new database is prepared.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{Access, Bytes, Input, Lock, Output, Storage, names, parent};
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
    fn create(&self, name: &str) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(OpenOptions::new().write(true).create_new(true).open(self.path(name))?))
    }

    fn map(&self, name: &str, access: Access) -> io::Result<Bytes> {
        Bytes::map(&open_regular(&self.path(name))?, access)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Input>> {
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
        // LOCK is never deleted, so the file that was locked is the one that has the name.
        match lock(&self.path)? {
            Some(lock) => Ok(Box::new(lock)),
            None => Err(Error::NotADatabase { path: self.path.clone() }),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        // Joining nothing would add a slash.
        if name.is_empty() { self.path.clone() } else { self.path.join(name) }
    }
}

/// Opens a file for reading. Looks first: opening a named pipe would wait for a writer.
fn open_regular(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file"))
    }
}

impl Output for File {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        self.set_len(len_bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        // The length is synced along, and nothing reads the times.
        self.sync_data()
    }
}

impl Input for File {
    fn len_bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, bytes, offset)
    }
}

/// Refuses a place for a new database in the folder of another one, which is not to be changed.
pub(crate) fn refuse_inside(dest: &Path, database: &Path) -> Result<()> {
    let inside = parent(dest).canonicalize().ok().zip(database.canonicalize().ok());
    if inside.is_some_and(|(parent, database)| parent.starts_with(database)) {
        return Err(Error::InsideDatabase { path: dest.to_path_buf() });
    }
    Ok(())
}

/// A new database in the making, in the folder `NAME.building` beside its final place.
///
/// It is locked while it is worked on, removed when dropped, and renamed as a whole when published,
/// so that the final name only ever stands for a complete database. What a killed process left
/// behind is removed by the next one that builds under the same name.
#[derive(Debug)]
pub(crate) struct Staging {
    target: PathBuf,
    folder: Folder,
    lock: Option<LockFile>,
}

impl Staging {
    /// Starts a database that will stand at `target`.
    pub(crate) fn begin(target: &Path) -> Result<Self> {
        // Without what a trailing slash would do: `link/` is what the link points to.
        let target =
            &target.file_name().map_or_else(|| target.to_path_buf(), |name| parent(target).join(name));
        refuse_existing(target)?;
        let mut name = target
            .file_name()
            .map(|name| name.to_os_string())
            .ok_or_else(|| Error::Unnamed { path: target.clone() })?;
        name.push(".building");
        let path = parent(target).join(name);
        let lock = loop {
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => other.map_err(Error::io("create", &path))?,
            }
            // A build that ends just now may take the folder away under the lock: try again.
            if let Some(lock) = lock(&path)? {
                break lock;
            }
        };
        clear(&path, false)?;
        Ok(Self { target: target.to_path_buf(), folder: Folder::new(path), lock: Some(lock) })
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Where the work is done.
    pub(crate) fn path(&self) -> &Path {
        &self.folder.path
    }

    /// Where the database will stand.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Makes the folder durable and gives it its final name.
    pub(crate) fn publish(mut self) -> Result<()> {
        let path = self.folder.path.clone();
        self.folder.sync_folder().map_err(Error::io("sync", &path))?;
        refuse_existing(&self.target)?;
        fs::rename(&path, &self.target).map_err(Error::io("rename", &path))?;
        self.lock = None;
        let parent = parent(&self.target);
        File::open(parent).and_then(|folder| folder.sync_all()).map_err(Error::io("sync", parent))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // A failure here leaves files that the next `begin` removes; there is nobody to tell.
            let _ = clear(&self.folder.path, true).and_then(|()| {
                fs::remove_dir(&self.folder.path).map_err(Error::io("remove", &self.folder.path))
            });
        }
    }
}

/// A database may replace an empty folder, and nothing else.
fn refuse_existing(target: &Path) -> Result<()> {
    let exists = || Error::AlreadyExists { path: target.to_path_buf() };
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io("look at", target)(error)),
        Ok(metadata) if !metadata.is_dir() => Err(exists()),
        Ok(metadata)
            if metadata.dev()
                != fs::metadata(parent(target)).map_err(Error::io("look at", target))?.dev() =>
        {
            Err(Error::MountPoint { path: target.to_path_buf() })
        }
        Ok(_) => match fs::read_dir(target).map_err(Error::io("read", target))?.next() {
            None => Ok(()),
            Some(_) => Err(exists()),
        },
    }
}

/// A locked file. The lock goes with the file.
#[derive(Debug)]
struct LockFile(File);

impl Lock for LockFile {}

impl Drop for LockFile {
    fn drop(&mut self) {
        // So that nobody is told of a process that has gone; it would be harmless.
        let _ = self.0.set_len(0);
        // A child process that has just been started has a copy of the file, and would keep the lock
        // until it runs its own program.
        let _ = self.0.unlock();
    }
}

/// How often the number of a process that has just taken the lock is looked for.
const PID_TRIES: usize = 20;

/// Takes the lock of a folder and writes this process's number into it. `None` when the folder, or
/// the file that was locked, is no longer there.
fn lock(folder: &Path) -> Result<Option<LockFile>> {
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
    let lock = LockFile(file);
    // A full disk keeps others from being told the number, and nobody from freeing space.
    let pid = std::process::id().to_string();
    let _ = lock.0.set_len(0).and_then(|()| FileExt::write_all_at(&lock.0, pid.as_bytes(), 0));
    Ok(Some(lock))
}

/// The number of the process that holds a lock. It writes it just after it has taken the lock.
fn holder(path: &Path) -> Option<u32> {
    (0..PID_TRIES).find_map(|attempt| {
        if attempt > 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        fs::read_to_string(path).ok()?.trim().parse().ok()
    })
}

/// Removes files that a database may have from a folder, LOCK only if asked. Refuses to touch
/// anything when something else lies there too.
fn clear(folder: &Path, with_lock: bool) -> Result<()> {
    let mut ours = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let path = entry.map_err(Error::io("read", folder))?.path();
        match path.file_name().and_then(|name| name.to_str()) {
            Some(names::LOCK) if !with_lock => {}
            Some(name) if names::is_ours(name) => ours.push(path),
            _ => return Err(Error::AlreadyExists { path }),
        }
    }
    ours.into_iter().try_for_each(|path| fs::remove_file(&path).map_err(Error::io("remove", path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staging_publishes_all_or_nothing() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("db");
        let building = home.path().join("db.building");

        let staging = Staging::begin(&target).unwrap();
        staging.folder().create(names::MANIFEST).unwrap();
        assert!(matches!(Staging::begin(&target), Err(Error::Locked { pid: Some(_), .. })));
        drop(staging);
        assert!(!building.exists() && !target.exists(), "dropped without a trace");

        let staging = Staging::begin(&target).unwrap();
        staging.folder().create(names::MANIFEST).unwrap();
        staging.publish().unwrap();
        assert!(target.join(names::MANIFEST).exists() && !building.exists());
        assert!(matches!(Staging::begin(&target), Err(Error::AlreadyExists { .. })));
    }

    #[test]
    fn what_a_killed_build_left_is_removed_and_foreign_files_are_kept() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("db");
        let building = home.path().join("db.building");
        fs::create_dir(&building).unwrap();
        fs::write(building.join("spill-00000001-0-1.tmp"), "old").unwrap();
        drop(Staging::begin(&target).unwrap());
        assert!(!building.exists());

        fs::create_dir(&building).unwrap();
        fs::write(building.join("thesis.txt"), "mine").unwrap();
        assert!(matches!(Staging::begin(&target), Err(Error::AlreadyExists { .. })));
        assert!(building.join("thesis.txt").exists());
    }

    #[test]
    fn an_empty_folder_may_become_a_database_and_a_file_may_not() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("db");
        fs::create_dir(&target).unwrap();
        Staging::begin(&target).unwrap().publish().unwrap();
        let file = home.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(matches!(Staging::begin(&file), Err(Error::AlreadyExists { .. })));
        assert!(matches!(Staging::begin(Path::new("/")), Err(Error::AlreadyExists { .. })));
    }
}
