//! Merges neighbouring runs into one.
//!
//! Table 0 and the postings come first. They determine which fingerprints lose their last row.
//! Every other table is then merged from the same tables of the inputs, without those fingerprints.
//!
//! The other tables are sorted from table 0 if they are those of wide fingerprints ([`numbered`](super::numbered)), if
//! the inputs have different layouts, or if the removed fingerprints exceed the memory.

use super::ascending::Ascending;
use super::inputs::{MergeInputs, TaggedRow};
use super::omitted::Omitted;
use super::rows::{RowCounts, RowSource};
use super::tables::TableSource;
use super::target::{Target, remove_run};
use super::write::{Deleted, RunContent, write_run};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row, Stored};
use crate::format::manifest::RunRecord;
use crate::format::postings::row_hash;
use crate::layout::Layout;
use crate::run::Run;

/// Writes one run with the content of all inputs, which are neighbours in age, oldest first. `None`
/// if no row is left. It lacks the rows and keys that are omitted.
///
/// Tombstones apply to the older inputs, and those of `newer` runs to all. With `keeps_tombstones` the result keeps
/// those of the inputs, for runs that are older.
pub(crate) fn merge<F: Fingerprint>(
    target: Target<'_>,
    (runs, omitted, newer): (&[&Run<F>], &Omitted<F>, &[&Run<F>]),
    keeps_tombstones: bool,
    layout: &dyn Fn(u64) -> Result<Layout>,
) -> Result<Option<RunRecord>> {
    let inputs = MergeInputs { runs, omitted, newer };
    let mut ledger = Ledger::new(target.options.memory_bytes);
    let given = inputs.runs.iter().map(|run| run.record.rows).sum();
    let counts =
        RowCounts::of_visited(given, target.options, |visit| live_rows(inputs, Some(&mut ledger), visit))?;
    let deleted = if keeps_tombstones { inputs.count_deleted()? } else { None };
    if counts.rows == 0 && deleted.is_none() {
        return Ok(None);
    }
    let layout = layout(counts.entries)?;
    let is_mergeable = F::PAYLOAD.is_whole() && inputs.runs.iter().all(|run| run.record.layout == layout);
    let content = RunContent {
        layout,
        counts,
        rows: Box::new(inputs),
        tables: match &ledger.dropped {
            Some(dropped) if is_mergeable => TableSource::Merging { inputs, dropped },
            _ => TableSource::Sorting,
        },
        deleted: deleted
            .map(|info| Deleted { info, visit_all: Box::new(move |visit| inputs.each_deleted(visit)) }),
        keys: &inputs.keys(),
    };
    let record = write_run(target, content)?;
    ledger
        .check(inputs, record.row_sum)
        .inspect_err(|_| remove_run(&**target.storage, record.run, record.segments.len()))?;
    Ok(Some(record))
}

/// What the first pass over the merged rows leaves out.
struct Ledger<F> {
    /// Fingerprints without a row left, ascending; `None` if they exceed the memory.
    dropped: Option<Vec<F>>,
    max_dropped: usize,
    /// Sum over the rows left out.
    removed: u64,
}

impl<F: Fingerprint> Ledger<F> {
    fn new(memory_bytes: usize) -> Self {
        // Each table that is being written has a copy.
        let max_dropped = memory_bytes / 16 / size_of::<F>();
        Self { dropped: Some(Vec::new()), max_dropped, removed: 0 }
    }

    fn drop_fingerprint(&mut self, fingerprint: F) {
        self.dropped = self.dropped.take().filter(|dropped| dropped.len() < self.max_dropped);
        if let Some(dropped) = &mut self.dropped {
            dropped.push(fingerprint);
        }
    }

    fn remove_row(&mut self, row: Row<F>) {
        self.removed = self.removed.wrapping_add(row_hash(row.fingerprint.hash64(), row.id));
    }

    /// The sum of the written rows must be the sum of the inputs minus the sum of the removed rows.
    fn check(&self, inputs: MergeInputs<'_, F>, row_sum: u64) -> Result<()> {
        let given = inputs.runs.iter().fold(0u64, |sum, run| sum.wrapping_add(run.record.row_sum));
        inputs.runs[0].postings.file.check_equal("ids", given.wrapping_sub(self.removed), row_sum)
    }
}

/// The second pass over the rows.
impl<F: Fingerprint> RowSource<F> for MergeInputs<'_, F> {
    fn for_each_block(&self, visit: &mut dyn FnMut(&[Row<F>]) -> Result<()>) -> Result<()> {
        live_rows(*self, None, visit)
    }
}

/// Visits the live rows of all inputs, and records what it leaves out.
fn live_rows<F: Fingerprint>(
    inputs: MergeInputs<'_, F>,
    mut ledger: Option<&mut Ledger<F>>,
    visit: &mut dyn FnMut(&[Row<F>]) -> Result<()>,
) -> Result<()> {
    let mut last: Option<Row<F>> = None;
    // The current fingerprint, and whether a row of it is kept.
    let mut current: Option<(F, bool)> = None;
    let mut kept = Vec::new();
    Ascending::tree(inputs.rows()).for_each_block(|block| {
        kept.clear();
        for &TaggedRow { row, deleted } in block {
            let is_next = current.is_none_or(|(fingerprint, _)| fingerprint != row.fingerprint);
            if is_next
                && let Some((dropped, false)) = current.replace((row.fingerprint, false))
                && let Some(ledger) = &mut ledger
            {
                ledger.drop_fingerprint(dropped);
            }
            if !deleted && last != Some(row) {
                kept.push(row);
                last = Some(row);
                current = Some((row.fingerprint, true));
            } else if let Some(ledger) = &mut ledger {
                ledger.remove_row(row);
            }
        }
        visit(&kept)
    })?;
    if let (Some((dropped, false)), Some(ledger)) = (current, ledger) {
        ledger.drop_fingerprint(dropped);
    }
    Ok(())
}
