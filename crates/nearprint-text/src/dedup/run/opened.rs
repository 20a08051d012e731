//! A job whose database is open: what to do about its earlier runs.

use super::against::Against;
use super::fingerprinting::bad_record;
use super::input::JobInput;
use super::writing::WritingJob;
use crate::dedup::decide::{Deduplicator, KnownDocuments, is_there};
use crate::dedup::job::{
    Checkpoint, DocumentCounts, FileJob, FinishedJob, GroupSizes, History, JobIdentity, Progress, Replaced,
    Report, WHOLE_DOCUMENT, is_named,
};
use crate::dedup::output::{JobOutputs, OutputPlan, cannot_resume};
use crate::dedup::unit::Unit;
use crate::documents::{InputFile, Item, OutputShape, Reader, check_folder};
use crate::error::{DatabaseProblem, Result, ResumeProblem};

/// A job whose database is open, and that has written nothing yet.
pub(crate) struct OpenedJob<'a> {
    pub(super) job: &'a FileJob,
    pub(crate) deduplicator: Deduplicator,
    pub(super) identity: JobIdentity,
    /// The jobs that the database has seen to their end.
    history: History,
    unfinished: Option<Checkpoint>,
    /// What the job replaces, if it starts over or is decided again.
    replaced: Option<Replaced>,
    /// Whether that is an unfinished run, whose files it overwrites.
    overwrites: bool,
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
        let deduplicator = open_deduplicator(job)?;
        let mut progress = deduplicator.unfinished().map(Progress::decode).transpose()?;
        let is_begun = progress.is_some();
        // A dry run of passages continues where the unfinished run is.
        let is_apart = job.dry_run && !job.trims(Unit::Passage);
        let is_decided_again =
            |begun: &mut Progress| job.restart || is_apart && matches!(begun, Progress::Reading(_));
        let begun = progress.take_if(is_decided_again);
        let identity = job.identity(reader, deduplicator.measure());
        let is_other = |progress: &&Progress| !is_apart && *progress.identity() != identity;
        if let Some(other) = progress.as_ref().filter(is_other) {
            let path = job.database.clone().unwrap_or_default();
            return Err(ResumeProblem::OtherRun { path, records: other.records() }.into());
        }
        let by = job.trim.map(|rules| rules.by);
        let mut history = History::decode(deduplicator.history(), job.database_path(), by)?;
        if by.is_some() && history.jobs.is_empty() && !is_begun && deduplicator.least_rows()? > 0 {
            // Nothing but a job stores parts of documents.
            let path = job.database_path().to_path_buf();
            return Err(DatabaseProblem::OtherUnits { path, found: WHOLE_DOCUMENT }.into());
        }
        if let Some(old) = begun.as_ref().or(progress.as_ref()).and_then(Progress::replaced)
            && !job.restart
        {
            history.forget(&old.jobs);
        }
        let is_again = job.restart || begun.is_some();
        let overwrites = begun.is_some() && !job.dry_run;
        let replaced = match &progress {
            Some(unfinished) => unfinished.replaced().cloned(),
            None => is_again.then(|| Replaced::of(begun, &history)),
        };
        let mut opened = Self {
            job,
            deduplicator,
            identity,
            history,
            unfinished: None,
            replaced,
            overwrites,
            was_killed: false,
            is_new,
        };
        match progress {
            Some(Progress::Written(finished)) => opened.complete(finished)?,
            Some(Progress::Reading(begun)) if !begun.is_start() => opened.unfinished = Some(begun),
            _ => {}
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
    /// start over, it replaces all jobs that have read the same inputs. A dry run without an output takes any job for
    /// its own.
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
            self.replace(&same);
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

    /// Takes finished jobs, given by their places in the history, for what the job replaces.
    fn replace(&mut self, jobs: &[usize]) {
        let Some(replaced) = &mut self.replaced else { return };
        for job in jobs.iter().map(|&place| &self.history.jobs[place]) {
            replaced.rows.0.extend(job.rows.0.iter().cloned());
            replaced.jobs.push(job.number);
        }
        self.history.forget(&replaced.jobs);
    }

    /// Opens what documents are compared with, too, and checks the first record and the files that the job is to
    /// write: what refuses a job does so before it decides.
    pub(super) fn plan(
        &mut self,
        reader: &mut Reader,
        shape: &OutputShape,
        report: Report<'_>,
    ) -> Result<JobPlan> {
        let job = self.job;
        if self.is_new {
            check_folder(job.database_path())?;
        }
        let against = Against::open(job, self.deduplicator.measure(), report)?;
        let others = (&*against.files, &*against.databases);
        let outputs = OutputPlan::new(job, reader, others, job.database.is_some())?;
        let begins = self.is_new || self.replaced.is_some() || job.reads_twice();
        if let Some(outputs) = outputs.as_ref().filter(|_| begins && self.unfinished.is_none()) {
            check_first(job, reader)?;
            outputs.check_files(job, shape)?;
        }
        if let Some(replaced) = &self.replaced {
            self.deduplicator.ignore(&replaced.rows.0);
        }
        self.deduplicator.compare_with(against.collections, !job.only_against);
        Ok(JobPlan { outputs, against: against.files, groups: WritingJob::groups(job)? })
    }

    /// The counts so far, which are those of an unfinished run.
    pub(super) fn counts(&self) -> DocumentCounts {
        self.unfinished.as_ref().map_or_else(DocumentCounts::default, |unfinished| unfinished.counts)
    }

    /// The documents of earlier runs: neither those of an unfinished run, nor those that are replaced.
    pub(super) fn known(&self) -> Result<Option<KnownDocuments>> {
        let begun = self.unfinished.as_ref().and_then(|unfinished| unfinished.rows.0.first());
        self.deduplicator.known_before(begun.map_or(self.deduplicator.next_sequence(), |rows| rows.start))
    }

    /// Creates the files of the job, or opens them where an unfinished run has left them. A new database is made when
    /// everything else is known to work: one that is left of a job that was refused would have its recipe.
    pub(super) fn write(self, reader: &Reader, shape: OutputShape, plan: JobPlan) -> Result<WritingJob<'a>> {
        let Self {
            job, mut deduplicator, identity, history, unfinished, replaced, overwrites, is_new, ..
        } = self;
        if is_new {
            let mut made = Deduplicator::create_by(job.database_path(), job.dedup.clone())?;
            made.compare_with(deduplicator.take_others(), deduplicator.compares_own());
            deduplicator = made;
        }
        if let Some(replaced) = &replaced {
            deduplicator.forget_expiring(&replaced.jobs)?;
        }
        if overwrites {
            // A run that is killed from here on is not continued by the files of the one before.
            let start = Checkpoint::start(identity.clone(), replaced.clone());
            deduplicator.checkpoint(&Progress::Reading(start).encode()?)?;
        }
        let outputs =
            JobOutputs::open((job, plan.outputs, shape), reader, &deduplicator, unfinished.as_ref())?;
        let state = (identity, history, unfinished, replaced);
        Ok(WritingJob::new((job, plan.groups), (deduplicator, plan.against), (outputs, reader), state))
    }
}

/// What a job is to write, and what it is compared with.
pub(super) struct JobPlan {
    outputs: Option<OutputPlan>,
    against: Vec<InputFile>,
    groups: GroupSizes,
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
