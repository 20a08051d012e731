//! Outputs in a folder that is scanned: whatever stands there may be one of its files.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use nearprint_text::{Error, Result};

/// The bytes of an earlier output that show what it is.
const START_BYTES: u64 = 4096;

/// Refuses an output that would take the place of a file in one of these folders, unless the start of that
/// file shows that it is an output of an earlier scan.
pub(crate) fn refuse_scanned(
    (name, output): (&str, Option<&Path>),
    folders: &[PathBuf],
    is_ours: impl Fn(&[u8]) -> bool,
) -> Result<()> {
    let Some((path, place)) = output.and_then(|path| Some((path, path.canonicalize().ok()?))) else {
        return Ok(());
    };
    let is_in = |folder: &PathBuf| {
        folder.is_dir() && folder.canonicalize().is_ok_and(|folder| place.starts_with(folder))
    };
    if !place.is_file() || !folders.iter().any(is_in) {
        return Ok(());
    }
    let mut start = Vec::new();
    let read = File::open(&place).and_then(|file| file.take(START_BYTES).read_to_end(&mut start));
    if read.is_ok_and(|len| len == 0) || is_ours(&start) {
        return Ok(());
    }
    let why = format!("{} is a file of the scanned folder; choose another name", path.display());
    Err(Error::Setting { name: name.into(), why })
}
