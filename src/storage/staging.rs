//! The staging folder, in which a new database is prepared.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::folder::{Folder, Permissions, user};
use super::interface::Storage;
use super::names;
use super::own_folder::{Contents, OF_ANOTHER_USER, OwnFolder};
use crate::error::{Error, Result};
use crate::format::manifest;
use crate::util::file;

/// Rejects a destination for a new database inside the folder of another database.
pub(crate) fn refuse_inside(dest: &Path, database: &Path) -> Result<()> {
    let inside = parent(dest).canonicalize().ok().zip(database.canonicalize().ok());
    if inside.is_some_and(|(parent, database)| parent.starts_with(database)) {
        return Err(Error::InsideDatabase { path: dest.to_path_buf() });
    }
    Ok(())
}

/// Rejects a destination for a new database inside any database, whose next writer might remove files of the new one.
fn refuse_inside_any(dest: &Path) -> Result<()> {
    // A parent that does not exist is an error of its own.
    let Ok(around) = parent(dest).canonicalize() else { return Ok(()) };
    match around.ancestors().any(has_manifest) {
        true => Err(Error::InsideDatabase { path: dest.to_path_buf() }),
        false => Ok(()),
    }
}

/// Whether a folder has the manifest of a database.
fn has_manifest(folder: &Path) -> bool {
    let file = folder.join(names::MANIFEST);
    let is_file = file.symlink_metadata().is_ok_and(|found| found.is_file());
    let mut begin = [0; manifest::MAGIC.len()];
    is_file
        && fs::File::open(file).is_ok_and(|mut file| file.read_exact(&mut begin).is_ok())
        && begin == manifest::MAGIC
}

/// What a staging folder may hold.
const CONTENTS: Contents = Contents {
    kind: "staging",
    is_file: names::is_ours,
    files: &[names::FOLLOWER],
    databases: &[names::LEFT_OUT],
};
/// The longest name of a folder in bytes, on all common file systems.
const MAX_NAME_BYTES: usize = 255;

/// A new database under construction, in the folder `NAME.building` beside its destination.
///
/// The folder is marked and locked while in use, removed when dropped, and renamed as a whole when
/// published. The destination therefore never holds an incomplete database. The next build of the
/// same name removes the files of a killed process. Until it is published, only the owner can read
/// it. So a folder of another user may be in use or not, and stays: the own one gets the user's
/// number, and of several complete ones the first gets the name.
#[derive(Debug)]
pub(crate) struct Staging {
    target: PathBuf,
    pub(super) folder: OwnFolder,
    /// The permissions of the source, if this is a copy.
    permissions: Option<Permissions>,
}

impl Staging {
    /// Starts a database for the destination `target`.
    pub(crate) fn begin(target: &Path) -> Result<Self> {
        // Without a trailing slash: `link/` would be the folder that the link points to.
        let target =
            &target.file_name().map_or_else(|| target.to_path_buf(), |name| parent(target).join(name));
        file::refuse_device(target)?;
        refuse_existing(target)?;
        refuse_inside_any(target)?;
        let name = target.file_name().ok_or_else(|| Error::Unnamed { path: target.clone() })?;
        let parent = Folder::open(parent(target)).map_err(Error::io("open", parent(target)))?;
        let make = |end: &str| OwnFolder::make(&parent, &staging_name(name, end), CONTENTS, Some(name));
        let made = match (make(names::BUILDING), user()) {
            (Err(Error::NotStaging { found: OF_ANOTHER_USER, .. }), Some(user)) => {
                make(&format!("{}-{user}", names::BUILDING))
            }
            (made, _) => made,
        };
        let folder = made.map_err(|error| match error {
            // Nobody has seen the name under which the folder is made.
            Error::Locked { holder, .. } => Error::Locked { path: target.clone(), holder },
            other => other,
        })?;
        Ok(Self { target: target.clone(), folder, permissions: None })
    }

    /// Gives the database the permissions of its source.
    pub(crate) fn copy_permissions(&mut self, source: &dyn Storage) -> Result<()> {
        self.permissions = source.permissions().map_err(Error::io("look at", source.path("")))?;
        Ok(())
    }

    /// Takes over files of another folder as hard links: all of them or none. Returns whether it has.
    pub(crate) fn link_all(&self, other: &Folder, names: &[String]) -> bool {
        let Some(source) = self.permissions else { return false };
        let link = |name: &String| self.folder().link_copy(other, name, source).is_ok();
        let linked = names.iter().take_while(|name| link(name)).count();
        if linked < names.len() {
            // What cannot be removed is in the way of a copy, which then fails.
            names[..linked].iter().for_each(|name| drop(self.folder().unlink(name)));
        }
        linked == names.len()
    }

    /// Fails in the child of a fork.
    pub(crate) fn check_process(&self) -> Result<()> {
        self.folder().check_process().map_err(Error::io("write to", self.path()))
    }

    pub(crate) fn folder(&self) -> &Folder {
        self.folder.folder()
    }

    /// The staging folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder().given_path()
    }

    /// The destination.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Makes the folder durable and renames it to its destination.
    pub(crate) fn publish(self) -> Result<()> {
        let (folder, path) = (self.folder(), self.path());
        // Every database has one, with the permissions of its other files.
        folder.create_file(names::LOCK).map_err(Error::io("create", folder.path_of(names::LOCK)))?;
        folder.set_permissions(self.permissions).map_err(Error::io("change the permissions of", path))?;
        let name = self.target.file_name().unwrap_or_default();
        self.folder.publish(name, || refuse_existing(&self.target))
    }
}

/// The name of the staging folder for a database of this name, with this end. If that would be too long, the end of
/// the name gives way to a hash of the whole name.
fn staging_name(name: &OsStr, end: &str) -> OsString {
    let bytes = name.as_encoded_bytes();
    if bytes.len() + end.len() <= MAX_NAME_BYTES {
        return [name, end.as_ref()].into_iter().collect();
    }
    let end = format!("-{:016x}{end}", xxh3_64(bytes));
    let mut start = start_of(name, MAX_NAME_BYTES - end.len());
    start.push(end);
    start
}

/// The first bytes of a name. A character stays whole, where the name is text.
fn start_of(name: &OsStr, most_bytes: usize) -> OsString {
    let Some(text) = name.to_str() else { return start_of_no_text(name, most_bytes) };
    let end = (0..=most_bytes).rev().find(|&end| text.is_char_boundary(end));
    text[..end.unwrap_or(0)].into()
}

#[cfg(unix)]
fn start_of_no_text(name: &OsStr, most_bytes: usize) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(&name.as_bytes()[..most_bytes]).into()
}

/// The half of a character cannot be recognized, so nothing stays. The hash distinguishes names.
#[cfg(windows)]
fn start_of_no_text(_: &OsStr, _: usize) -> OsString {
    OsString::new()
}

/// Rejects a destination that is neither free nor an empty folder.
fn refuse_existing(target: &Path) -> Result<()> {
    let exists = || Error::AlreadyExists { path: target.to_path_buf() };
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io("look at", target)(error)),
        Ok(metadata) if !metadata.is_dir() => Err(exists()),
        Ok(_) if is_mount_point(target).map_err(Error::io("look at", target))? => {
            Err(Error::MountPoint { path: target.to_path_buf() })
        }
        Ok(_) => match fs::read_dir(target).map_err(Error::io("read", target))?.next() {
            None => Ok(()),
            Some(_) => Err(exists()),
        },
    }
}

/// Whether a folder is in another file system than the folder that contains it, or is in none.
fn is_mount_point(target: &Path) -> io::Result<bool> {
    let is_root = target.has_root() && target.parent().is_none();
    Ok(is_root || file::identity_of(target)?.0 != file::identity_of(parent(target))?.0)
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
    fn a_long_name_begins_the_name_of_its_staging_folder() {
        let name_of = |name: &str| staging_name(name.as_ref(), names::BUILDING).into_string().unwrap();
        assert_eq!(name_of("db"), "db.building");
        let longest = "x".repeat(MAX_NAME_BYTES - names::BUILDING.len());
        assert_eq!(name_of(&longest), format!("{longest}.building"));
        let longer = [format!("{longest}y"), format!("{longest}z"), "é".repeat(127) + "é"];
        let made = longer.each_ref().map(|name| name_of(name));
        for (name, made) in longer.iter().zip(&made) {
            let (start, _) = made.rsplit_once('-').unwrap();
            assert!(name.starts_with(start) && start.len() > 220, "{made}");
            assert!(made.len() <= MAX_NAME_BYTES && made.ends_with(names::BUILDING));
        }
        assert_ne!(made[0], made[1]);
    }

    #[cfg(unix)]
    #[test]
    fn a_long_name_that_is_no_text_does_too() {
        use std::os::unix::ffi::OsStrExt;
        let made = staging_name(OsStr::from_bytes(&[255; MAX_NAME_BYTES]), names::BUILDING);
        assert_eq!(made.as_bytes().iter().filter(|byte| **byte == 255).count(), 229);
        assert_eq!(made.len(), MAX_NAME_BYTES);
    }

    #[cfg(windows)]
    #[test]
    #[ignore = "such a name has no start there"]
    fn a_long_name_that_is_no_text_does_too() {}
}
