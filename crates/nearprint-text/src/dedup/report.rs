//! The progress callback of a deduplication of files.

use std::ops::ControlFlow;

use super::checkpoint::DocumentCounts;
use crate::documents::Position;
use crate::error::{Error, Result};

/// Reports progress; may cancel the run.
pub(super) type Report<'a> = &'a mut dyn FnMut(&DocumentCounts, Position) -> ControlFlow<()>;

/// Reports progress; an error if the run is cancelled.
pub(super) fn report_progress(report: Report<'_>, counts: &DocumentCounts, position: Position) -> Result<()> {
    if report(counts, position).is_break() { Err(Error::INTERRUPTED) } else { Ok(()) }
}
