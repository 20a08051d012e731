//! The files of a run after table 0 and the postings, and its record.

use super::keys::{KeySource, write_keys_file};
use super::natural::NaturalTable;
use super::tables::{TableSource, write_others};
use super::target::Target;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{FileRecord, RunRecord};
use crate::format::tombstones::TombstonesInfo;
use crate::run::{Keys, Tombstones, write_tombstones};
use crate::util::random::random_id;

/// Writes the other tables, the tombstones and the keys of a run. Returns its record.
///
/// `deleted` are the counts of the ids that the run deletes from older runs, if any, and a function
/// that visits them.
pub(super) fn finish<F: Fingerprint>(
    target: Target<'_>,
    natural: NaturalTable<F>,
    source: TableSource<'_, F>,
    deleted: (Option<TombstonesInfo>, impl FnOnce(&mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>),
    keys: &(impl KeySource<F> + ?Sized),
) -> Result<RunRecord> {
    let others = write_others(target, &natural, source)?;
    let (tombstones, visit_deleted) = deleted;
    let tombstones_file = write_deleted(target, tombstones, visit_deleted)?;
    let keys_spec = Keys::file_spec(target.owner);
    let keys = write_keys_file(&**target.storage, &keys_spec, keys)?;
    let mut segments = vec![natural.segment_file];
    segments.extend(others);
    Ok(RunRecord {
        run: target.owner.run,
        identity: random_id()?,
        salt: target.owner.salt,
        layout: natural.layout,
        entries: natural.counts.entries,
        rows: natural.counts.rows,
        fingerprint_sum: natural.segment.info.fingerprint_sum,
        row_sum: natural.row_sum,
        tombstones: tombstones.map_or(0, |info| info.count),
        segments,
        postings_file: natural.postings_file,
        tombstones_file,
        keys,
    })
}

/// Writes the tombstones, if there are any.
fn write_deleted(
    target: Target<'_>,
    info: Option<TombstonesInfo>,
    visit_all: impl FnOnce(&mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>,
) -> Result<Option<FileRecord>> {
    let Some(info) = info else { return Ok(None) };
    let spec = Tombstones::file_spec(target.owner);
    write_tombstones(&**target.storage, &spec, info, visit_all).map(Some)
}
