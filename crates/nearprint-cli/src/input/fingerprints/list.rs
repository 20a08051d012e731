//! Lists of fingerprints that are held in memory.

use std::path::PathBuf;

use super::read_all;
use crate::args::FingerprintArgs;
use crate::terminal::failure::Failure;
use nearprint::{Error, Fingerprint, Row};

/// Reads the fingerprints of all inputs. Ids and keys are skipped.
pub(crate) fn read_fingerprints<F: Fingerprint>(
    args: &FingerprintArgs,
    inputs: &[PathBuf],
) -> Result<Vec<F>, Failure> {
    let mut fingerprints = Vec::new();
    read_all(args, inputs, &mut |fingerprint: F, _: Option<u64>| {
        fingerprints.push(fingerprint);
        Ok(())
    })?;
    Ok(fingerprints)
}

/// Reads the rows of all inputs, sorted and without repetitions. A row without an id gets the one
/// after the largest id so far.
pub(crate) fn read_rows<F: Fingerprint>(
    args: &FingerprintArgs,
    inputs: &[PathBuf],
) -> Result<Vec<Row<F>>, Failure> {
    let mut rows = Vec::new();
    let mut next = Some(0u64);
    read_all(args, inputs, &mut |fingerprint: F, id: Option<u64>| {
        let id = id.or(next).ok_or(Error::Limit("no automatic id is left above 2^64 - 1"))?;
        next = next.and_then(|next| if id >= next { id.checked_add(1) } else { Some(next) });
        rows.push(Row { fingerprint, id });
        Ok(())
    })?;
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}
