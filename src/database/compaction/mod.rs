//! Compaction: the choice of runs to merge, and merging them in the background.

mod policy;
mod worker;

use std::ops::Range;

use crate::format::manifest::RunRecord;
use crate::layout::cost::typical;
use policy::RunSize;
pub(crate) use worker::{MergeJob, MergePlan, Merged};

/// The next merge that the policy requests among the runs from `start` on.
pub(crate) fn due_merge(runs: &[RunRecord], start: usize, k: u32) -> Option<Range<usize>> {
    let size = |record: &RunRecord| RunSize {
        entries: record.entries,
        rows: record.rows,
        tombstones: record.tombstones,
    };
    let sizes: Vec<RunSize> = runs[start..].iter().map(size).collect();
    let layout = &runs.iter().max_by_key(|record| record.entries)?.layout;
    let due = policy::pick(&sizes, start > 0, &|entries| typical(layout, entries, k))?;
    Some(start + due.start..start + due.end)
}
