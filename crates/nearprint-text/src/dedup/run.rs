//! Runs a deduplication of files.

use std::ops::ControlFlow;
use std::path::Path;

use super::checkpoint::DocumentCounts;
use super::crowding::Crowding;
use super::file_run::FileRun;
use super::groups::Group;
use super::history::FinishedJob;
use super::job::{FileJob, Keep};
use super::report::Report;
use super::temporary::SpooledInput;
use super::{by_unit, in_order, ranked};
use crate::documents::{Position, Reader, Recording, StdinSource};
use crate::error::Result;
use crate::time::UtcTime;
use nearprint::{Fingerprint, WidthVisitor};

/// The result of a deduplication of files.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FileReport {
    /// All documents by outcome, those of the interrupted runs before included.
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

impl FileJob {
    /// Runs the job.
    ///
    /// With a database, a job that was interrupted resumes after its last checkpoint when an equal
    /// one is run. A checkpoint is made every 10,000 records, and every second while records arrive
    /// slowly. A job that would replace the output of a finished job with the same inputs is not run,
    /// unless it is to [start over](Self::restart) or to run [again](Self::again). `report` receives the counts and the position of the reader after each block of
    /// records; [`ControlFlow::Break`] cancels the run.
    ///
    /// To recognize a job again whose standard input is the same, as much of the stream as equals
    /// the former one is copied to a temporary file, at most twice as many records.
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
    pub fn run(
        mut self,
        mut report: impl FnMut(&DocumentCounts, Position) -> ControlFlow<()>,
    ) -> Result<FileReport> {
        self.check()?;
        let spooled;
        if self.keep != Keep::First && self.reads_stdin() {
            spooled = SpooledInput::read()?;
            self.reader.stdin = StdinSource::Copy(spooled.path());
        }
        if let Keep::Max(field) = &self.keep {
            self.reader.fields.value = Some(field.clone());
        }
        let width = self.dedup.recipe.width();
        width.visit(Run { job: self, report: &mut report })
    }

    fn reads_stdin(&self) -> bool {
        self.inputs.iter().any(|input| input == Path::new("-"))
    }
}

/// Runs a job with fingerprints of the width of its recipe.
struct Run<'a> {
    job: FileJob,
    report: Report<'a>,
}

impl WidthVisitor for Run<'_> {
    type Output = Result<FileReport>;

    fn visit<F: Fingerprint>(self) -> Result<FileReport> {
        let Self { job, report } = self;
        let mut input = JobInput::open(&job)?;
        let mut run = FileRun::<F>::open(&job, &input.reader)?;
        if let Some(finished) = earlier_job(&job, &mut run, &mut input, report)? {
            finished.check_files(&job)?;
            let counts_copies = run.deduplicator.counts_copies();
            return Ok(FileReport {
                counts: finished.counts,
                resumed_after: finished.counts.records,
                completed: Some(finished.completed),
                largest: Vec::new(),
                counts_copies,
                crowding: None,
            });
        }
        input.stop_recording();
        let reader = &mut input.reader;
        run.open_files(reader)?;
        let resumed_after = run.counts.records;
        match (job.units, &job.keep) {
            (Some(unit), _) => by_unit::run(&mut run, unit, reader, report)?,
            (None, Keep::First) => in_order::run(&mut run, reader, report)?,
            (None, _) => ranked::run(&mut run, reader, report)?,
        }
        let counts_copies = run.deduplicator.counts_copies();
        let crowding = run.crowding();
        let (counts, largest) = run.finish()?;
        Ok(FileReport { counts, resumed_after, completed: None, largest, counts_copies, crowding })
    }
}

/// The latest finished job that has read the same inputs, and that is this job or whose output this
/// job would replace. `None` if the job is to run. Where it is to start over, the rows of all jobs
/// that have read the same inputs are forgotten.
fn earlier_job<F: Fingerprint>(
    job: &FileJob,
    run: &mut FileRun<'_, F>,
    input: &mut JobInput,
    report: Report<'_>,
) -> Result<Option<FinishedJob>> {
    let runs_again = job.again && !run.is_completed;
    if job.dry_run || runs_again || run.is_resumed() || run.history.jobs.is_empty() {
        return Ok(None);
    }
    let mut same = run.history.same_inputs(&run.identity, &mut input.reader, report)?;
    if !job.restart {
        let earlier = same.iter().rev().map(|&place| &run.history.jobs[place]);
        let mut replaced = earlier.filter(|earlier| earlier.is_or_has_output_of(job, &run.identity));
        if let Some(latest) = replaced.next() {
            return Ok(Some(latest.clone()));
        }
    } else {
        // Files may have changed since. Nothing but its content identifies a stream.
        let is_this = |place: &usize| !job.reads_stdin() && run.history.jobs[*place].identity == run.identity;
        same.extend((0..run.history.jobs.len()).filter(is_this));
        run.forget(&same)?;
    }
    input.rewind(job)?;
    Ok(None)
}

/// The inputs of a job, which can be read again from the beginning.
struct JobInput {
    reader: Reader,
    /// The copy of a stream.
    recorded: Option<(SpooledInput, Recording)>,
}

impl JobInput {
    /// Opens the inputs. A stream is recorded if a database may know its records.
    fn open(job: &FileJob) -> Result<Self> {
        let mut options = job.reader.clone();
        let mut recorded = None;
        let is_stream = job.reads_stdin() && job.keep == Keep::First;
        if is_stream && job.database.as_ref().is_some_and(|path| path.exists()) {
            let (spooled, recording) = SpooledInput::record()?;
            options.stdin = StdinSource::Recorded(recording.clone());
            recorded = Some((spooled, recording));
        }
        Ok(Self { reader: Reader::open(&job.inputs, options)?, recorded })
    }

    /// Opens the inputs again.
    fn rewind(&mut self, job: &FileJob) -> Result<()> {
        let mut options = job.reader.clone();
        if let Some((spooled, _)) = &self.recorded {
            options.stdin = StdinSource::Replayed(spooled.path());
        }
        self.reader = self.reader.again(options)?;
        Ok(())
    }

    fn stop_recording(&self) {
        if let Some((_, recording)) = &self.recorded {
            recording.stop();
        }
    }
}
