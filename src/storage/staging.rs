//! The staging folder, in which a new database is prepared.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::folder::Folder;
use super::interface::{Lock, Storage};
use super::lock::LockFile;
use super::names;
use crate::error::{Error, Result};

/// Rejects a destination for a new database inside the folder of another database.
pub(crate) fn refuse_inside(dest: &Path, database: &Path) -> Result<()> {
    let inside = parent(dest).canonicalize().ok().zip(database.canonicalize().ok());
    if inside.is_some_and(|(parent, database)| parent.starts_with(database)) {
        return Err(Error::InsideDatabase { path: dest.to_path_buf() });
    }
    Ok(())
}

/// A new database under construction, in the folder `NAME.building` beside its destination.
///
/// The folder is locked while in use, removed when dropped, and renamed as a whole when published.
/// The destination therefore never holds an incomplete database. The next build of the same name
/// removes the files of a killed process. Until it is published, only the owner can read it.
#[derive(Debug)]
pub(crate) struct Staging {
    target: PathBuf,
    parent: Folder,
    name: PathBuf,
    folder: Folder,
    lock: Option<LockFile>,
}

impl Staging {
    /// Starts a database for the destination `target`.
    pub(crate) fn begin(target: &Path) -> Result<Self> {
        // Without a trailing slash: `link/` would be the folder that the link points to.
        let target =
            &target.file_name().map_or_else(|| target.to_path_buf(), |name| parent(target).join(name));
        refuse_existing(target)?;
        let mut name = target
            .file_name()
            .map(|name| name.to_os_string())
            .ok_or_else(|| Error::Unnamed { path: target.clone() })?;
        name.push(".building");
        let name = PathBuf::from(name);
        let parent = Folder::open(parent(target)).map_err(Error::io("open", parent(target)))?;
        loop {
            // Another build that ends at this moment may remove the folder. Then retry.
            let Some(folder) = make_own(&parent, &name)? else { continue };
            refuse_foreign(&folder)?;
            let Some(lock) = LockFile::take(&folder)? else { continue };
            clear(&folder, false)?;
            return Ok(Self { target: target.clone(), parent, name, folder, lock: Some(lock) });
        }
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The staging folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.given_path()
    }

    /// The destination.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Makes the folder durable and renames it to its destination.
    pub(crate) fn publish(mut self) -> Result<()> {
        let path = self.path().to_path_buf();
        self.folder.restore_modes().map_err(Error::io("change the permissions of", &path))?;
        self.folder.sync_folder().map_err(Error::io("sync", &path))?;
        refuse_existing(&self.target)?;
        self.lock.iter().try_for_each(Lock::check).map_err(Error::io("look at", &path))?;
        let name = self.target.file_name().unwrap_or_default();
        self.parent.rename_to(&self.name, name.as_ref()).map_err(Error::io("rename", &path))?;
        self.lock = None;
        self.parent.sync_folder().map_err(Error::io("sync", self.parent.path("")))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.lock.take().is_some_and(|lock| lock.check().is_ok() && clear(&self.folder, true).is_ok()) {
            // After a failure the next `begin` removes the remaining files.
            let _ = self.parent.remove_folder(&self.name);
        }
    }
}

/// Makes a folder that only its owner can read, or takes an existing one. `None` if it is removed
/// meanwhile.
fn make_own(parent: &Folder, name: &Path) -> Result<Option<Folder>> {
    let path = parent.path("").join(name);
    let refused = |found| Err(Error::NotStaging { path: path.clone(), found });
    match parent.make_own_folder(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => other.map_err(Error::io("create", &path))?,
    }
    let folder = match parent.open_own(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return refused("not a folder"),
        other => other.map_err(Error::io("open", &path))?,
    };
    if !folder.is_own().map_err(Error::io("look at", &path))? {
        return refused("belongs to another user");
    }
    Ok(Some(folder))
}

/// Rejects a destination that is neither free nor an empty folder.
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

/// Rejects a folder with a file that no build makes.
fn refuse_foreign(folder: &Folder) -> Result<()> {
    for name in folder.list().map_err(Error::io("read", folder.path("")))? {
        if !name.to_str().is_some_and(names::is_ours) {
            let path = folder.path("").join(name);
            return Err(Error::NotStaging { path, found: "not a file of a database" });
        }
    }
    Ok(())
}

/// Removes database files from a folder; `LOCK` only if `with_lock`. Removes nothing if the folder
/// contains any other file.
fn clear(folder: &Folder, with_lock: bool) -> Result<()> {
    refuse_foreign(folder)?;
    for name in folder.list().map_err(Error::io("read", folder.path("")))? {
        if let Some(name) = name.to_str()
            && (with_lock || name != names::LOCK)
        {
            folder.remove(name).map_err(Error::io("remove", folder.path(name)))?;
        }
    }
    Ok(())
}

/// The folder that contains a path: `.` for a bare name.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
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
    fn files_of_a_killed_build_are_removed_and_foreign_files_are_kept() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("db");
        let building = home.path().join("db.building");
        fs::create_dir(&building).unwrap();
        fs::write(building.join("spill-00000001-0-1.tmp"), "old").unwrap();
        drop(Staging::begin(&target).unwrap());
        assert!(!building.exists());

        fs::create_dir(&building).unwrap();
        fs::write(building.join("thesis.txt"), "mine").unwrap();
        assert!(matches!(Staging::begin(&target), Err(Error::NotStaging { .. })));
        assert!(building.join("thesis.txt").exists());
    }

    #[test]
    fn an_empty_folder_is_a_valid_destination_and_a_file_is_not() {
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
