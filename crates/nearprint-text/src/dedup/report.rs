//! What a deduplication of files reports: its progress, and its result.

use std::ops::ControlFlow;

use super::checkpoint::DocumentCounts;
use super::crowding::Crowding;
use super::groups::Group;
use crate::documents::Position;
use crate::error::{Error, Result};
use crate::time::UtcTime;

/// Reports progress; may cancel the run.
pub(super) type Report<'a> = &'a mut dyn FnMut(&DocumentCounts, Position) -> ControlFlow<()>;

/// Reports progress; an error if the run is cancelled.
pub(super) fn report_progress(report: Report<'_>, counts: &DocumentCounts, position: Position) -> Result<()> {
    if report(counts, position).is_break() { Err(Error::INTERRUPTED) } else { Ok(()) }
}

/// The result of a deduplication of files.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FileReport {
    /// All documents by outcome, including the documents of earlier, interrupted runs.
    pub counts: DocumentCounts,
    /// The records that interrupted runs had processed before this one.
    pub resumed_after: u64,
    /// When a job that had read the same inputs was finished. Nothing was done now, and the counts
    /// are from that job. `None` if this run has done the job.
    pub completed: Option<UtcTime>,
    /// The largest groups of near-duplicates since the job was begun or resumed, at most five.
    pub largest: Vec<Group>,
    /// Whether [`copies`](DocumentCounts::copies) are counted.
    pub counts_copies: bool,
    /// How many of the documents kept since then share a band, if fingerprints have bands.
    pub crowding: Option<Crowding>,
}
