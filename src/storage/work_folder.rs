//! Folders for temporary files.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::folder::Folder;
use super::names;
use super::own_folder::{Contents, OwnFolder, look_at};
use crate::error::{Error, Result};
use crate::util::random::random_bytes;

const PREFIX: &str = "nearprint-";
/// The random characters behind the prefix, one for each five bits.
const ALPHABET: [u8; 32] = *b"abcdefghijklmnopqrstuvwxyz234567";
const RANDOM_CHARACTERS: usize = 16;

/// A folder for temporary files that only this user can read.
///
/// It is removed when its value is dropped, or, after a kill, when this user makes the next one. It
/// stays where it holds anything that nearprint has not put there; see
/// [`take_occupants`](super::take_occupants).
#[derive(Debug)]
pub struct WorkFolder {
    pub(super) folder: OwnFolder,
}

impl WorkFolder {
    /// Makes a folder, and removes those that processes of this user have left. It may hold spilled
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
        loop {
            let random = random_bytes::<RANDOM_CHARACTERS>()?;
            let characters = random.map(|byte| ALPHABET[usize::from(byte) % ALPHABET.len()] as char);
            let name = PREFIX.chars().chain(characters).collect::<String>();
            if let Some(folder) = OwnFolder::make(&parent, name.as_ref(), contents)? {
                return Ok(Self { folder });
            }
        }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.folder().given_path()
    }
}

/// Removes the work folders of processes that have ended. Failures are left to the next call.
fn remove_abandoned(home: &Folder, contents: Contents) {
    for name in home.names().unwrap_or_default() {
        if is_name(name.as_bytes()) {
            let _ = look_at(home, &name, contents, None);
        }
    }
}

/// Whether a work folder can have this name.
fn is_name(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX.as_bytes()).is_some_and(|random| {
        random.len() == RANDOM_CHARACTERS && random.iter().all(|byte| ALPHABET.contains(byte))
    })
}
