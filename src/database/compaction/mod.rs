//! Compaction: the choice of runs to merge, and merging them in the background.

mod policy;
mod worker;

use std::ops::Range;

use crate::format::manifest::{Manifest, RunRecord};
use crate::layout::cost::typical;
use policy::{OtherRuns, Queries, RunSize};
pub(crate) use worker::{Made, MergeJob, MergePlan, Merged, RunJob};

/// The next merge that the policy requests among the runs from `start` on. Only runs of one period
/// merge; the runs of a past period become one.
pub(crate) fn due_merge(manifest: &Manifest, start: usize) -> Option<Range<usize>> {
    let Manifest { runs, k, recipe, .. } = manifest;
    let queries = if recipe.is_some() { Queries::OF_TEXTS } else { Queries::OF_FINGERPRINTS };
    let size = |record: &RunRecord| RunSize {
        entries: record.entries,
        rows: record.rows,
        tombstones: record.tombstones,
    };
    let layout = &runs.iter().max_by_key(|record| record.entries)?.layout;
    let cost = |entries| typical(layout, entries, *k);
    periods(runs).find_map(|Range { start: first, end }| {
        let first = first.max(start);
        let sizes: Vec<RunSize> = runs.get(first..end)?.iter().map(size).collect();
        let due = match end == runs.len() {
            true => policy::pick(&sizes, first > 0, queries, (other_runs(&runs[..first], &cost), &cost)),
            false => policy::unite(&sizes),
        }?;
        Some(first + due.start..first + due.end)
    })
}

/// What queries of runs cost, and what they would with one run for each period.
fn other_runs(runs: &[RunRecord], cost: &dyn Fn(u64) -> f64) -> OtherRuns {
    let entries = |runs: &[RunRecord]| runs.iter().map(|run| run.entries).sum::<u64>();
    let sum = |each: &mut dyn Iterator<Item = u64>| each.filter(|&entries| entries > 0).map(cost).sum();
    OtherRuns {
        cost: sum(&mut runs.iter().map(|run| run.entries)),
        least: sum(&mut periods(runs).map(|period| entries(&runs[period]))),
    }
}

/// The runs of each period in which rows were inserted: all runs, where rows do not expire.
pub(crate) fn periods(runs: &[RunRecord]) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    let periods = runs.chunk_by(|older, newer| older.expires == newer.expires);
    periods.map(move |period| {
        end += period.len();
        end - period.len()..end
    })
}
