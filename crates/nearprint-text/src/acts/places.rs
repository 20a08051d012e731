//! Where a path leads, by what is there: not by its spelling. And how it is shown.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use nearprint::internal::file::{identity_of, sync_folder};

use crate::documents::{escape_bytes, is_database, path_bytes};
use crate::error::Result;

/// A path as a cell of an undo list, and for messages: escaped as [a key](crate::documents::escape) is. A byte that is
/// not UTF-8 becomes `\xHH`, and so do those of U+0080 to U+009F.
#[must_use]
pub fn escaped(path: &Path) -> String {
    escape_bytes(&path_bytes(path)).into_owned()
}

/// The absolute form of a path that need not exist, without links and without `..`.
///
/// # Errors
/// Those of looking at what exists of it.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let parts: Vec<Component<'_>> = absolute.components().collect();
    for len in (1..=parts.len()).rev() {
        let (existing, rest) = parts.split_at(len);
        match existing.iter().collect::<PathBuf>().canonicalize() {
            Ok(found) => return Ok(joined(found, rest)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(absolute)
}

/// Adds what does not exist, where `..` can only mean the folder before.
fn joined(mut path: PathBuf, rest: &[Component<'_>]) -> PathBuf {
    for part in rest {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(AsRef::<OsStr>::as_ref(part)),
        }
    }
    path
}

/// Makes a folder whose path is absolute, and those that it is in, where they are missing. Their names are
/// durable: what is put into it may be the only copy of a file.
pub(super) fn make_folders(folder: &Path) -> io::Result<()> {
    let made: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.is_dir()).collect();
    fs::create_dir_all(folder)?;
    made.iter().filter_map(|folder| folder.parent()).try_for_each(sync_folder)
}

/// The first of some folders that a path is inside of, or that it leads to, under whatever name.
///
/// # Errors
/// Those of looking at the path.
pub fn folder_around<'a>(
    path: &Path,
    folders: impl IntoIterator<Item = &'a Path>,
) -> io::Result<Option<&'a Path>> {
    let path = resolved(path)?;
    let around: Vec<_> = path.ancestors().filter_map(|folder| identity_of(folder).ok()).collect();
    let mut folders = folders.into_iter();
    Ok(folders.find(|folder| folder.is_dir() && identity_of(folder).is_ok_and(|id| around.contains(&id))))
}

/// The database that a path is inside of.
///
/// # Errors
/// Those of looking at the path.
pub fn database_around(path: &Path) -> Result<Option<PathBuf>> {
    let path = resolved(path).map_err(nearprint::Error::io("look at", path))?;
    for folder in path.ancestors().skip(1).filter(|folder| folder.is_dir()) {
        if is_database(folder)? {
            return Ok(Some(folder.to_path_buf()));
        }
    }
    Ok(None)
}
