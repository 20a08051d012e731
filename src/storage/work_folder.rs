//! Folders for temporary files.

use std::path::Path;

use super::folder::Folder;
use super::own_folder::{Contents, OwnFolder, look_at};
use super::{chosen_name, names};
use crate::error::{Error, Result};
use crate::util::random::random_bytes;

/// A folder for temporary files that only this user can read.
///
/// It is removed when its value is dropped, or, after a kill, when this user makes the next one. It
/// stays if it holds any foreign file; see [`take_occupants`](super::take_occupants).
#[derive(Debug)]
pub struct WorkFolder {
    pub(super) folder: OwnFolder,
}

impl WorkFolder {
    /// Makes a folder, and removes the folders of ended processes of this user. It may hold spilled
    /// pieces, files of the given names, and databases of the given names.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`].
    pub fn make(
        home: &Path,
        files: &'static [&'static str],
        databases: &'static [&'static str],
    ) -> Result<Self> {
        let contents = Contents { kind: "work", is_file: names::is_spill, files, databases };
        let parent = Folder::open(home).map_err(Error::io("open", home))?;
        remove_abandoned(&parent, contents);
        let number = u64::from_le_bytes(random_bytes()?);
        let name = chosen_name::random(&parent, number).map_err(Error::io("look at", home))?;
        Ok(Self { folder: OwnFolder::make(&parent, &name, contents, None)? })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.folder().given_path()
    }
}

/// Removes the work folders of processes that have ended. Failures are left to the next call.
fn remove_abandoned(home: &Folder, contents: Contents) {
    let Ok(_alone) = home.alone() else { return };
    for name in home.names().unwrap_or_default() {
        if chosen_name::is_chosen(home, &name).unwrap_or(false) {
            let _ = look_at(home, &name, contents, None);
        }
    }
}
