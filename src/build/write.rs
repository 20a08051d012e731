//! Writes a run of new rows, or of the rows of other runs.

use super::keys::{KeySource, write_keys_file};
use super::natural::NaturalTable;
use super::rows::{RowCounts, RowSource};
use super::tables::{TableSource, write_others};
use super::target::Target;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::RunRecord;
use crate::format::tombstones::TombstonesInfo;
use crate::layout::Layout;
use crate::run::{Keys, Tombstones, write_tombstones};
use crate::util::random::random_id;

/// The content of a run.
pub(crate) struct RunContent<'a, F> {
    pub(crate) layout: Layout,
    /// Counted in a first pass over the rows. Writing them is the second one.
    pub(crate) counts: RowCounts,
    pub(crate) rows: Box<dyn RowSource<F> + 'a>,
    pub(super) tables: TableSource<'a, F>,
    pub(super) deleted: Option<Deleted<'a>>,
    pub(crate) keys: &'a dyn KeySource<F>,
}

/// The ids that a run deletes from older runs: their counts, and a function that visits them,
/// ascending.
pub(super) struct Deleted<'a> {
    pub(super) info: TombstonesInfo,
    pub(super) visit_all: Box<EachId<'a>>,
}

/// Visits ids in ascending order, block by block.
type EachId<'a> = dyn Fn(&mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> + 'a;

impl<'a, F: Fingerprint> RunContent<'a, F> {
    /// New rows with their keys, and the ids that they delete from older runs, ascending.
    pub(crate) fn new(
        layout: Layout,
        (rows, counts): (Box<dyn RowSource<F> + 'a>, RowCounts),
        deleted: &'a [u64],
        keys: &'a dyn KeySource<F>,
    ) -> Self {
        let deleted = TombstonesInfo::of(deleted)
            .map(|info| Deleted { info, visit_all: Box::new(move |visit| visit(deleted)) });
        Self { layout, counts, rows, tables: TableSource::Sorting, deleted, keys }
    }
}

/// Writes a run. Removes its files after an error.
pub(crate) fn write_run<F: Fingerprint>(target: Target<'_>, content: RunContent<'_, F>) -> Result<RunRecord> {
    let RunContent { layout, counts, rows, tables, deleted, keys } = content;
    let Target { storage, owner, .. } = target;
    target.or_remove(layout.table_count(), || {
        let natural = NaturalTable::write(target, layout, &*rows, counts)?;
        // The other tables need the memory.
        drop(rows);
        let mut segments = vec![natural.segment_file];
        segments.extend(write_others(target, &natural, tables)?);
        let tombstones_file = deleted.as_ref().map(|Deleted { info, visit_all }| {
            write_tombstones(&**storage, &Tombstones::file_spec(owner), *info, visit_all)
        });
        let keys = write_keys_file(&**storage, &Keys::file_spec(owner), keys)?;
        Ok(RunRecord {
            run: owner.run,
            identity: random_id()?,
            salt: owner.salt,
            layout: natural.layout,
            entries: counts.entries,
            rows: counts.rows,
            fingerprint_sum: natural.fingerprint_sum,
            row_sum: natural.row_sum,
            tombstones: deleted.map_or(0, |deleted| deleted.info.count),
            segments,
            postings_file: natural.postings_file,
            tombstones_file: tombstones_file.transpose()?,
            keys,
            expires: owner.expires,
        })
    })
}
