//! Runs a deduplication of files: opens its database, reads documents, has them decided, and writes them.
//!
//! Here live the passes over documents. Uses all other rooms; none uses it.

mod against;
mod by_passage;
mod by_unit;
mod fingerprinting;
mod in_order;
mod input;
mod opened;
mod ranked;
mod ranked_record;
mod recent;
mod writing;

use std::ops::ControlFlow;

use self::input::JobInput;
use self::opened::OpenedJob;
use crate::dedup::job::{DocumentCounts, FileJob, FileReport, Report};
use crate::dedup::order::Keep;
use crate::dedup::output::{check_beside, check_names, shape_of};
use crate::dedup::temporary::SpooledInput;
use crate::dedup::unit::Unit;
use crate::documents::{Position, StdinSource};
use crate::error::Result;

impl FileJob {
    /// Runs the job.
    ///
    /// With a database, a job that was interrupted resumes after its last checkpoint when an equal
    /// one is run. A checkpoint is made every 10,000 records, and every second while records arrive
    /// slowly, unless an output is compressed: a member of it ends at each checkpoint. A job that decides
    /// all before it writes resumes only if it decides as before. One that had written all is completed; an
    /// equal one with other records, which would replace an output, is refused then. A job that would
    /// replace the output of a finished job with the same inputs is not run, unless it is to [start
    /// over](Self::restart). `report` receives the counts and the position of
    /// the reader after each block of records; [`ControlFlow::Break`] cancels the run.
    ///
    /// To recognize a job again whose standard input is the same, as much of the stream as equals
    /// the former one is copied to a temporary file, at most twice as many records.
    ///
    /// Memory: what the engine takes, a few blocks of records per thread, and the longest record.
    ///
    /// # Errors
    /// [`Error::Input`] for damaged inputs, and for a malformed record without
    /// [`rejects`](Self::rejects); [`Error::InputSet`] and [`Error::Output`] if the files cannot be
    /// read or written; [`Error::Database`] and [`Error::Recipe`] as [`Deduplicator::open`];
    /// [`Error::Resume`] if the database has an unfinished run that this job cannot resume, or had one that is
    /// complete now; [`Error::Engine`] with [`Interrupted`](nearprint::Error::Interrupted) if `report`
    /// cancels, and with errors of the engine.
    ///
    /// [`Error::Input`]: crate::Error::Input
    /// [`Error::InputSet`]: crate::Error::InputSet
    /// [`Error::Output`]: crate::Error::Output
    /// [`Error::Database`]: crate::Error::Database
    /// [`Error::Recipe`]: crate::Error::Recipe
    /// [`Error::Resume`]: crate::Error::Resume
    /// [`Error::Engine`]: crate::Error::Engine
    /// [`Deduplicator::open`]: crate::dedup::Deduplicator::open
    pub fn run(
        self,
        mut report: impl FnMut(&DocumentCounts, Position) -> ControlFlow<()>,
    ) -> Result<FileReport> {
        self.run_reporting(&mut report)
    }

    /// Not generic, so that callers do not compile the job again.
    fn run_reporting(mut self, report: Report<'_>) -> Result<FileReport> {
        self.check()?;
        check_beside(&self)?;
        self.set_units()?;
        let spooled;
        if self.reads_twice() && self.reads_stdin() {
            spooled = SpooledInput::read()?;
            self.reader.stdin = StdinSource::Copy(spooled.path());
        }
        self.reader.fields.value = self.keep.as_ref().and_then(Keep::field).map(String::from);
        self.reader.rejects_files = self.rejects.is_some();
        self.read_once()?;
        self.choose_recipe()?;
        run_once(self, report)
    }
}

/// Runs a job whose recipe is chosen.
fn run_once(mut job: FileJob, report: Report<'_>) -> Result<FileReport> {
    if job.reads_twice() {
        ranked::check_inputs(&job.inputs)?;
    }
    let mut input = JobInput::open(&job)?;
    if job.against.is_empty() {
        input.reader.check_delimiter()?;
    }
    job.choose_kept(&input.reader)?;
    check_names(&job, &input.reader)?;
    let shape = shape_of(&job, &mut input.reader)?;
    let mut opened = OpenedJob::open(&job, &input.reader)?;
    job.check_units(opened.deduplicator.measure())?;
    if let Some(finished) = opened.finished_before(&mut input, report)? {
        opened.check_files(&finished, &input.reader)?;
        let deduplicator = &opened.deduplicator;
        let (measure, counts_copies) = (deduplicator.measure(), deduplicator.counts_copies());
        let mut done = finished.report(&opened.identity, measure, counts_copies);
        done.left_out.notes.extend(opened.missing_rows()?);
        return Ok(done);
    }
    input.stop_recording();
    let reader = &mut input.reader;
    let mut writing = opened.write(reader, shape, report)?;
    match job.trim {
        Some(rules) if rules.by == Unit::Passage => {
            by_passage::run(&mut writing, rules, reader, report)?;
        }
        Some(rules) => by_unit::run(&mut writing, rules, reader, report)?,
        None if job.reads_twice() => ranked::run(&mut writing, reader, report)?,
        None => in_order::run(&mut writing, reader, report)?,
    }
    writing.end(reader)?.complete()
}
