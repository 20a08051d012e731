//! Writes a run from its rows.

use super::finish::finish;
use super::keys::KeySource;
use super::natural::NaturalTable;
use super::rows::{RowCounts, RowSource};
use super::tables::TableSource;
use super::target::Target;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::RunRecord;
use crate::format::tombstones::TombstonesInfo;
use crate::layout::Layout;

/// Writes a run from its rows, their keys, and the ids that it deletes from older runs, ascending.
/// Removes the files of the run after an error.
pub(crate) fn write_run<F: Fingerprint>(
    target: Target<'_>,
    layout: Layout,
    rows: Box<dyn RowSource<F> + '_>,
    counts: RowCounts,
    deleted: &[u64],
    keys: &dyn KeySource<F>,
) -> Result<RunRecord> {
    let tables = layout.table_count();
    target.or_remove(tables, || {
        let natural = NaturalTable::write(target, layout, &*rows, counts)?;
        // The other tables need the memory.
        drop(rows);
        let deleted_ids = (TombstonesInfo::of(deleted), |visit: &mut dyn FnMut(&[u64]) -> _| visit(deleted));
        finish(target, natural, TableSource::Sorting, deleted_ids, keys)
    })
}
