//! The databases of a command, as they stand at one moment.

use std::path::{Path, PathBuf};

use crate::terminal::failure::Failure;
use nearprint::any::AnySnapshot;
use nearprint::{Error, Options};

/// A snapshot of each database. A command takes it once, so that all it prints is of one moment.
pub(crate) fn snapshots<P: AsRef<Path>>(options: &Options, folders: &[P]) -> Result<Vec<AnySnapshot>, Error> {
    folders.iter().map(|folder| options.open_any(folder)?.snapshot()).collect()
}

/// Fails unless all databases have fingerprints of one width.
pub(crate) fn check_one_width(folders: &[PathBuf], snapshots: &[AnySnapshot]) -> Result<(), Error> {
    let Some(width) = snapshots.first().map(AnySnapshot::width) else { return Ok(()) };
    match folders.iter().zip(snapshots).find(|(_, snapshot)| snapshot.width() != width) {
        None => Ok(()),
        Some((path, other)) => {
            let (database, requested) = (other.width().bits(), width.bits());
            Err(Error::Width { path: path.clone(), database, requested })
        }
    }
}

/// The error for an id that is not stored.
pub(crate) fn unknown_id(id: u64) -> Failure {
    Failure::Usage(format!("--id {id}: no row has this id"))
}

/// The ids of the rows with a key: a look-up where ids were made from keys, otherwise one walk over all keys.
pub(crate) fn ids_of_key(snapshot: &AnySnapshot, key: &str) -> Result<Vec<u64>, Error> {
    let found = snapshot.ids_of_key(key)?;
    Ok(if found.is_empty() { snapshot.ids_of_key_scan(key)? } else { found })
}
