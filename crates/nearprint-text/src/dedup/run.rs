//! Runs a deduplication of files.

use std::ops::ControlFlow;
use std::path::Path;

use super::checkpoint::DocumentCounts;
use super::file_run::FileRun;
use super::job::{FileJob, Keep};
use super::{in_order, ranked, temporary};
use crate::documents::{Position, Reader};
use crate::error::Result;
use nearprint::Fingerprint;

/// The result of a deduplication of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileReport {
    /// All documents by outcome, those of the interrupted runs before included.
    pub counts: DocumentCounts,
    /// The records that interrupted runs had processed before this one.
    pub resumed_after: u64,
}

impl FileJob {
    /// Runs the job with fingerprints of type `F`, which has the width of the recipe.
    ///
    /// With a database, a job that was interrupted resumes after its last checkpoint when an equal
    /// one is run. A checkpoint is made every 10,000 records, and every second while records arrive
    /// slowly. `report` receives the counts and the position of the reader after each block of
    /// records; [`ControlFlow::Break`] cancels the run.
    ///
    /// Memory: that of the engine, a few blocks of records per thread, and the longest record.
    ///
    /// # Errors
    /// [`Error::Input`] for damaged inputs, and for a malformed record without
    /// [`rejects`](Self::rejects); [`Error::InputSet`] and [`Error::Output`] if the files cannot be
    /// read or written; [`Error::Database`] and [`Error::Recipe`] as [`Deduplicator::open`];
    /// [`Error::Resume`] if the database has an unfinished run that this job cannot resume;
    /// [`Error::Engine`] with [`Interrupted`](nearprint::Error::Interrupted) if `report` cancels,
    /// and with errors of the engine.
    ///
    /// [`Error::Input`]: crate::Error::Input
    /// [`Error::InputSet`]: crate::Error::InputSet
    /// [`Error::Output`]: crate::Error::Output
    /// [`Error::Database`]: crate::Error::Database
    /// [`Error::Recipe`]: crate::Error::Recipe
    /// [`Error::Resume`]: crate::Error::Resume
    /// [`Error::Engine`]: crate::Error::Engine
    /// [`Deduplicator::open`]: super::Deduplicator::open
    pub fn run<F: Fingerprint>(
        mut self,
        mut report: impl FnMut(&DocumentCounts, Position) -> ControlFlow<()>,
    ) -> Result<FileReport> {
        let spooled;
        if self.keep != Keep::First && self.inputs.iter().any(|input| input == Path::new("-")) {
            spooled = temporary::stdin()?;
            self.reader.spooled_stdin = Some(spooled.path().to_path_buf());
        }
        if let Keep::Max(field) = &self.keep {
            self.reader.fields.value = Some(field.clone());
        }
        let mut reader = Reader::open(&self.inputs, self.reader.clone())?;
        let mut run = FileRun::<F>::open(&self, &reader)?;
        let resumed_after = run.counts.records;
        match self.keep {
            Keep::First => in_order::run(&mut run, &mut reader, &mut report)?,
            _ => ranked::run(&mut run, &mut reader, &mut report)?,
        }
        Ok(FileReport { counts: run.finish()?, resumed_after })
    }
}
