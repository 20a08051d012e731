//! What a deduplication of files reports: its progress, and its result.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use super::checkpoint::DocumentCounts;
use super::crowding::Crowding;
use super::groups::Group;
use super::outcome::Outcome;
use crate::dedup::decide::DocumentsNear;
use crate::documents::{FileStamp, LeftOut, Position};
use crate::error::{Error, Result};
use crate::recipe::Recipe;
use crate::time::UtcTime;

/// Reports progress; may cancel the run.
pub(crate) type Report<'a> = &'a mut dyn FnMut(&DocumentCounts, Position) -> ControlFlow<()>;

/// Reports progress; an error if the run is cancelled.
pub(crate) fn report_progress(report: Report<'_>, counts: &DocumentCounts, position: Position) -> Result<()> {
    if report(counts, position).is_break() { Err(Error::INTERRUPTED) } else { Ok(()) }
}

/// Near-duplicates among files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DuplicateFiles {
    /// In input order.
    pub duplicates: Vec<DuplicateFile>,
    /// The states of all files when they were listed, by path.
    pub stamps: HashMap<PathBuf, FileStamp>,
}

/// A file that is a near-duplicate of a kept one.
#[derive(Clone, Debug, PartialEq)]
pub struct DuplicateFile {
    /// The file.
    pub path: PathBuf,
    /// The kept file; empty if this run has not read it, or another one has the same key.
    pub kept: PathBuf,
    /// The similarity of the two, from 0 to 1.
    pub similarity: f64,
    /// Whether both have the same words in the same order.
    pub is_copy: bool,
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
    /// How many kept documents or units have near-duplicates that were read since the job was begun or resumed. `None` if
    /// nothing was done.
    pub groups: Option<u64>,
    /// The largest groups of these, at most five.
    pub largest: Vec<Group>,
    /// When documents are near-duplicates.
    pub near: DocumentsNear,
    /// The recipe of the fingerprints.
    pub recipe: Recipe,
    /// Whether [`copies`](DocumentCounts::copies) are counted.
    pub counts_copies: bool,
    /// Files of folders that are not documents.
    pub left_out: LeftOut,
    /// Whether each document is a file, as those which were left out.
    pub are_files: bool,
    /// The near-duplicates among files of folders, if they are
    /// [collected](crate::dedup::FileJob::collects_files) and the documents are files.
    pub files: Option<DuplicateFiles>,
    /// Files whose paths have a line feed, and which therefore are not in a list of paths.
    pub unlisted: Vec<PathBuf>,
    /// How many of the documents kept since then share a band, if fingerprints have bands.
    pub crowding: Option<Crowding>,
}

impl FileReport {
    /// The outcome of everything that was read: records, and the skipped files of folders if each record is a
    /// file. A [trimming](super::FileJob::trim) job compares units, so its copies and groups are not records.
    #[must_use]
    pub fn outcome(&self, trims: bool) -> Outcome {
        let DocumentCounts { kept, duplicates, copies, bad, aside, .. } = self.counts;
        let files = self.left_out.files().iter().map(|(count, _)| count).sum::<u64>();
        Outcome {
            kept,
            duplicates,
            copies: (self.counts_copies && !trims).then_some(copies),
            groups: self.groups.filter(|_| !trims && self.resumed_after == 0),
            skipped: aside + if self.are_files { files } else { 0 },
            rejected: bad,
        }
    }
}
