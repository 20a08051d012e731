//! Reading and replacing the manifest of a folder.

use crate::error::{Error, Result};
use crate::format::Flaw;
use crate::format::manifest::{FIRST_WAL, Manifest};
use crate::options::Options;
use crate::storage::{Storage, names, read_small};

/// A manifest of 64 runs with 64 tables stays far below this.
const MAX_BYTES: u64 = 1 << 20;

/// The manifest of a database without runs.
pub(crate) fn fresh(width: u32, options: &Options) -> Result<Manifest> {
    Ok(Manifest {
        generation: 1,
        database_id: random_id()?,
        width,
        k: options.k,
        layout: options.layout,
        next_run: 1,
        largest_id: None,
        first_live_wal: FIRST_WAL,
        runs: Vec::new(),
    })
}

/// Reads and decodes the manifest. `None` when there is none.
pub(crate) fn read(storage: &dyn Storage) -> Result<Option<Manifest>> {
    let path = storage.path(names::MANIFEST);
    match read_small(storage, names::MANIFEST, MAX_BYTES) {
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => Manifest::decode(&bytes).map(Some).map_err(|problem| problem.of(&path)),
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            Err(Flaw::new("length", 0, format!("at most {MAX_BYTES} bytes"), "more").of(&path))
        }
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Err(Flaw::new("file", 0, "a regular file", "something else").of(&path))
        }
        Err(error) => Err(Error::io("read", &path)(error)),
    }
}

/// Writes the first manifest of a folder that is not published yet.
pub(crate) fn write_new(storage: &dyn Storage, manifest: &Manifest) -> Result<()> {
    let path = storage.path(names::MANIFEST_NEW);
    let bytes = manifest.encode();
    // What could not be read again must not be written.
    Manifest::decode(&bytes).map_err(|problem| problem.of(&path))?;
    let mut output = storage.create(names::MANIFEST_NEW).map_err(Error::io("create", &path))?;
    output.write_all_at(&bytes, 0).map_err(Error::io("write", &path))?;
    output.sync().map_err(Error::io("sync", &path))?;
    storage.rename(names::MANIFEST_NEW, names::MANIFEST).map_err(Error::io("rename", &path))
}

/// 128 bits from the system's random number generator.
pub(crate) fn random_id() -> Result<[u8; 16]> {
    #[cfg(test)]
    if let Some(id) = tests::next_fixed_id() {
        return Ok(id);
    }
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| {
        Error::io("read", "the system's random numbers")(std::io::Error::other(error.to_string()))
    })?;
    Ok(id)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    thread_local! {
        static NEXT_ID: Cell<Option<u8>> = const { Cell::new(None) };
    }

    /// Makes the ids that this thread draws from now on known ones.
    pub(crate) fn fix_ids() {
        NEXT_ID.set(Some(0xa0));
    }

    pub(super) fn next_fixed_id() -> Option<[u8; 16]> {
        let first = NEXT_ID.get()?;
        NEXT_ID.set(Some(first + 1));
        Some([first; 16])
    }
}
