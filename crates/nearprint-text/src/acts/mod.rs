//! Acts on files, and how they are undone: moves, links in the place of copies, deletions.
//!
//! A [`Step`] is planned of two files that were judged, one that goes and one that stays. The steps are written to an
//! [undo list](write_list), which is made durable. An [`Actor`] then does one after the other, and looks at both files
//! directly before it removes anything. An [`Undoer`] does the reverse, within the [`Bounds`] of a list.
//!
//! A file is a device and an inode, never a path. A file that is about to be removed and a copy that is being made have
//! temporary names in marked folders. [`recover`] cleans up what a killed process has left there.

mod attributes;
mod copy;
mod file_act;
mod judged;
mod list;
mod perform;
mod places;
#[cfg(test)]
mod tests;
mod undo;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use file_act::{ActKind, FileAct};
pub use judged::KeepGoing;
pub use list::{Bounds, read_list, write_list};
pub use perform::{Acted, Actor, Candidate, Rules, Step, Unplanned, sync_kept};
pub use places::{database_around, escaped, folder_around, resolved};
pub use undo::{Undoer, Undone};

use crate::aside::{self, Recovered};
use crate::documents::have_same_bytes;

/// What killed acts have left, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftovers {
    /// The files that have their names again.
    pub back: Vec<PathBuf>,
    /// What stays, with the reason.
    pub stays: Vec<String>,
}

/// Recovers what killed acts have left in temporary folders, which are removed: an unfinished copy is removed, and a
/// file gets its name back, or is removed if its bytes stand under that name. The folders of living processes stay, and
/// so do those that were made in another folder, as in a copy or a backup of it.
#[must_use]
pub fn recover<'a>(temporary_folders: impl IntoIterator<Item = &'a Path>) -> Leftovers {
    let mut leftovers = Leftovers::default();
    for folder in temporary_folders {
        match aside::recover(folder, have_same_bytes) {
            Ok(Some(Recovered::Back(path))) => leftovers.back.push(path),
            Ok(Some(Recovered::Stays(why))) => leftovers.stays.push(format!("{}: {why}", escaped(folder))),
            Ok(None) if aside::is_aside(folder) => {
                let why = "was set aside in another folder, of which this may be a copy; \
                           it stays until somebody moves it";
                let held = aside::held_in(folder).into_iter();
                leftovers.stays.extend(held.map(|file| format!("{}: {why}", escaped(&file))));
            }
            Ok(_) => {}
            Err(error) => leftovers.stays.push(format!("{}: {error}", escaped(folder))),
        }
    }
    leftovers
}

/// The temporary folders beside files.
#[must_use]
pub fn temporary_beside<'a>(files: impl IntoIterator<Item = &'a Path>) -> Vec<PathBuf> {
    let folders: BTreeSet<&Path> = files.into_iter().filter_map(Path::parent).collect();
    let listed = |folder: &Path| match folder.as_os_str().is_empty() {
        true => aside::asides_in(Path::new(".")),
        false => aside::asides_in(folder),
    };
    folders.into_iter().flat_map(|folder| listed(folder).unwrap_or_default()).collect()
}
