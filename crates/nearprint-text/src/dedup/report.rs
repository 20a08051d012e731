//! What a deduplication of files reports: its progress, and its result.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::checkpoint::DocumentCounts;
use super::confirm::Confirm;
use super::crowding::Crowding;
use super::groups::Group;
use crate::documents::{LeftOut, Position};
use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::time::UtcTime;

/// Reports progress; may cancel the run.
pub(super) type Report<'a> = &'a mut dyn FnMut(&DocumentCounts, Position) -> ControlFlow<()>;

/// Reports progress; an error if the run is cancelled.
pub(super) fn report_progress(report: Report<'_>, counts: &DocumentCounts, position: Position) -> Result<()> {
    if report(counts, position).is_break() { Err(Error::INTERRUPTED) } else { Ok(()) }
}

/// When documents are near-duplicates.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentsNear {
    /// From this Jaccard similarity on, which is computed of their sets of features.
    Exact {
        /// 0 to 1.
        similarity: f64,
    },
    /// Within this distance of their fingerprints, which estimates a similarity.
    Estimated {
        /// The recipe.
        recipe: Recipe,
        /// In bits.
        k: u32,
    },
    /// Where their texts confirm it.
    Confirmed {
        /// The measure.
        by: Confirm,
    },
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
    /// When documents are near-duplicates.
    pub near: DocumentsNear,
    /// Whether [`copies`](DocumentCounts::copies) are counted.
    pub counts_copies: bool,
    /// What was found in folders, and is no document.
    pub left_out: LeftOut,
    /// Files whose paths have a line feed, and which therefore are not in a list of paths.
    pub unlisted: Vec<PathBuf>,
    /// How many of the documents kept since then share a band, if fingerprints have bands.
    pub crowding: Option<Crowding>,
}
