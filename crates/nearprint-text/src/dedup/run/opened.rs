//! A job whose database is open: what to do about its earlier runs.

use std::ops::Range;

use super::against::Against;
use super::fingerprinting::bad_record;
use super::input::JobInput;
use super::writing::WritingJob;
use crate::dedup::decide::{Deduplicator, is_there};
use crate::dedup::job::{
    Checkpoint, FileJob, FinishedJob, History, JobIdentity, Progress, Report, WHOLE_DOCUMENT, is_named,
};
use crate::dedup::output::{JobOutputs, OutputPlan, cannot_resume};
use crate::dedup::unit::Unit;
use crate::documents::{Item, OutputShape, Reader};
use crate::error::{DatabaseProblem, Result, ResumeProblem};

/// A job whose database is open, and that has written nothing yet.
pub(crate) struct OpenedJob<'a> {
    job: &'a FileJob,
    pub(crate) deduplicator: Deduplicator,
    pub(super) identity: JobIdentity,
    /// The jobs that the database has seen to their end.
    history: History,
    unfinished: Option<Checkpoint>,
    /// What is to be forgotten before the job begins, if it starts over.
    restart: Option<Restart>,
    /// Whether the latest job of the history had written all before it was killed. Its files have their names since
    /// now, or lack them in a dry run.
    was_killed: bool,
    /// Whether the database is not made yet: see [`Deduplicator::planned_by`].
    is_new: bool,
}

impl<'a> OpenedJob<'a> {
    /// Opens the database. An unfinished run of the same job is to be resumed, or is completed if it had
    /// written all.
    pub(crate) fn open(job: &'a FileJob, reader: &Reader) -> Result<Self> {
        let is_new = !job.dry_run && job.database.as_ref().is_some_and(|path| !is_there(path));
        let mut deduplicator = open_deduplicator(job)?;
        let mut restart = None;
        let mut progress = deduplicator.unfinished().map(Progress::decode).transpose()?;
        let is_begun = progress.is_some();
        // A dry run of passages continues where the unfinished run is.
        let is_apart = job.dry_run && !job.trims(Unit::Passage);
        let is_decided_again = |begun: &mut Progress| job.restart || matches!(begun, Progress::Reading(_));
        if is_apart {
            let again = progress.take_if(is_decided_again);
            deduplicator.ignore(again.map(|begun| begun.rows().0.clone()).unwrap_or_default());
        } else if job.restart && !job.dry_run {
            restart = Some(Restart {
                rows: progress.take().map(|old| old.rows().0.clone()).unwrap_or_default(),
                jobs: Vec::new(),
            });
        }
        let identity = job.identity(reader, deduplicator.measure());
        let is_other = |progress: &&Progress| !is_apart && *progress.identity() != identity;
        if let Some(other) = progress.as_ref().filter(is_other) {
            let path = job.database.clone().unwrap_or_default();
            return Err(ResumeProblem::OtherRun { path, records: other.records() }.into());
        }
        let by = job.trim.map(|rules| rules.by);
        let history = History::decode(deduplicator.history(), job.database_path(), by)?;
        if by.is_some() && history.jobs.is_empty() && !is_begun && deduplicator.least_rows()? > 0 {
            // Nothing but a job stores parts of documents.
            let path = job.database_path().to_path_buf();
            return Err(DatabaseProblem::OtherUnits { path, found: WHOLE_DOCUMENT }.into());
        }
        // The number of an unfinished job, which the next one gets.
        restart.iter_mut().for_each(|restart: &mut Restart| restart.jobs.push(history.next_number()));
        let mut opened = Self {
            job,
            deduplicator,
            identity,
            history,
            unfinished: None,
            restart,
            was_killed: false,
            is_new,
        };
        match progress {
            Some(Progress::Written(finished)) => opened.complete(finished)?,
            Some(Progress::Reading(checkpoint)) => opened.unfinished = Some(checkpoint),
            None => {}
        }
        Ok(opened)
    }

    /// Gives the files of a job that had written all their names. A dry run gives none.
    fn complete(&mut self, finished: FinishedJob) -> Result<()> {
        self.was_killed = true;
        if self.job.dry_run {
            self.history.jobs.push(finished);
            return Ok(());
        }
        finished.complete_files(self.job).map_err(cannot_resume)?;
        self.history.jobs.push(finished);
        self.deduplicator.set_history(&self.history.encode(self.job.database_path())?)?;
        self.deduplicator.checkpoint(b"")
    }

    /// The latest finished job that has read the same inputs, and that is this job or whose output this
    /// job would replace. `None` if the job is to run; an error if another job has read the same documents, and
    /// decided them, or if this one has other documents than the one that is complete since now. Where it is to
    /// start over, the rows of all jobs that have read the same inputs are to be forgotten. A dry run of that ignores
    /// them, and one without an output takes any job for its own.
    pub(crate) fn finished_before(
        &mut self,
        input: &mut JobInput,
        report: Report<'_>,
    ) -> Result<Option<FinishedJob>> {
        let Self { job, identity, history, .. } = self;
        if self.unfinished.is_some() || history.jobs.is_empty() {
            return Ok(None);
        }
        let mut same = history.same_inputs(identity, &mut input.reader, report)?;
        if !job.restart {
            let mut earlier = same.iter().rev().map(|&place| &history.jobs[place]);
            let is_any = job.dry_run && !is_named(&job.output);
            let is_own = |earlier: &&FinishedJob| is_any || earlier.is_or_has_output_of(job, identity);
            if let Some(latest) = earlier.clone().find(is_own) {
                return Ok(Some(latest.clone()));
            }
            if let Some(latest) = earlier.find(|earlier| earlier.counts.records > 0) {
                return Err(latest.already_run(&job.output));
            }
            // Nobody has been told yet that the outputs are complete.
            let replaces = self.was_killed && !job.dry_run && job.shards.is_none();
            let killed = history.jobs.last().filter(|_| replaces);
            let output = job.outputs().into_iter().flatten().find(|path| is_named(path));
            if let Some((killed, output)) = killed.zip(output) {
                let (output, records) = (output.to_path_buf(), killed.counts.records);
                return Err(ResumeProblem::Completed { output, records }.into());
            }
        } else {
            // Files may have changed since. Nothing but its content identifies a stream.
            let is_this = |place: &usize| !job.reads_stdin() && history.jobs[*place].identity == *identity;
            same.extend((0..history.jobs.len()).filter(is_this));
            match job.dry_run {
                true => {
                    let rows = same.iter().flat_map(|&place| history.jobs[place].rows.0.clone());
                    self.deduplicator.ignore(rows.collect());
                }
                false => self.forget_later(&same),
            }
        }
        input.rewind(self.job)?;
        Ok(None)
    }

    /// Checks the files of a finished job: see [`FinishedJob::check_files`]. In a dry run they may lack their names.
    pub(super) fn check_files(&self, finished: &FinishedJob, reader: &Reader) -> Result<()> {
        let lacks_names = self.job.dry_run && self.was_killed && self.history.jobs.last() == Some(finished);
        if lacks_names { Ok(()) } else { finished.check_files(self.job, reader) }
    }

    /// Tells that rows of finished jobs may be missing, which a repeated job does not store again.
    pub(super) fn missing_rows(&self) -> Result<Option<String>> {
        let kept: u64 = self.history.jobs.iter().map(|job| job.counts.kept).sum();
        let is_missing = self.job.trim.is_none() && self.deduplicator.least_rows()? < kept;
        let why =
            "rows may have been deleted since, or have expired; a restart stores those of this job again";
        Ok(is_missing.then(|| why.to_string()))
    }

    /// Marks finished jobs, given by their places in the history, and their rows as what is to be forgotten.
    fn forget_later(&mut self, jobs: &[usize]) {
        let Some(restart) = &mut self.restart else { return };
        restart.rows.extend(jobs.iter().flat_map(|&place| self.history.jobs[place].rows.0.clone()));
        restart.jobs.extend(jobs.iter().map(|&place| self.history.jobs[place].number));
        let mut place = 0..;
        self.history.jobs.retain(|_| place.next().is_none_or(|place| !jobs.contains(&place)));
    }

    /// Creates the files of the job, or opens them where an unfinished run has left them. A new database is made when
    /// everything else is known to work: one that is left of a job that was refused would have its recipe. So does a
    /// job that starts over forget its rows then, by one commit.
    pub(crate) fn write(
        mut self,
        reader: &mut Reader,
        shape: OutputShape,
        report: Report<'_>,
    ) -> Result<WritingJob<'a>> {
        let against = Against::open(self.job, self.deduplicator.measure(), report)?;
        let plan = OutputPlan::new(
            self.job,
            reader,
            (&against.files, &against.databases),
            self.job.database.is_some(),
        )?;
        let groups = WritingJob::groups(self.job)?;
        if let Some(plan) = plan.as_ref().filter(|_| self.is_new || self.restart.is_some()) {
            check_first(self.job, reader)?;
            plan.check_files(self.job, &shape)?;
        }
        if self.is_new {
            self.deduplicator = Deduplicator::create_by(self.job.database_path(), self.job.dedup.clone())?;
        }
        if let Some(Restart { rows, jobs }) = self.restart.take() {
            let history = self.history.encode(self.job.database_path())?;
            self.deduplicator.forget_with((&rows, &jobs), Some(&history))?;
        }
        let Self { job, mut deduplicator, identity, history, unfinished, .. } = self;
        deduplicator.compare_with(against.collections, !job.only_against);
        let outputs = JobOutputs::open((job, plan, shape), reader, &deduplicator, unfinished.as_ref())?;
        Ok(WritingJob::new(
            (job, groups),
            (deduplicator, against.files),
            (outputs, reader),
            (identity, history, unfinished),
        ))
    }
}

/// What a job that starts over forgets.
struct Restart {
    /// The rows of its unfinished run, and of finished jobs.
    rows: Vec<Range<u64>>,
    /// The numbers of these jobs.
    jobs: Vec<u64>,
}

/// Opens the deduplicator of a job. Makes no database.
fn open_deduplicator(job: &FileJob) -> Result<Deduplicator> {
    let options = job.dedup.clone();
    match &job.database {
        None => Deduplicator::temporary_by(options),
        Some(path) if !is_there(path) => Deduplicator::planned_by(path, options),
        Some(path) if job.dry_run => Deduplicator::read_only_by(path, options),
        Some(path) => Deduplicator::open_by(path, options),
    }
}

/// Reads the first record: a field that is misspelt is so in all of them.
fn check_first(job: &FileJob, reader: &mut Reader) -> Result<()> {
    match reader.peek_item()? {
        Some(Item::Bad(bad)) if !bad.is_dropped && job.rejects.is_none() => Err(bad_record(&bad)),
        _ => Ok(()),
    }
}
