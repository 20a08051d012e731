//! A job that reads and writes, and one that has written all.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::fingerprinting::{Prepared, bad_record};
use crate::dedup::decide::{Candidate, Deduplicator, Document, Original, Stored};
use crate::dedup::job::{
    BandCounts, Checkpoint, DocumentCounts, DuplicateFile, DuplicateFiles, FileJob, FileReport, FinishedJob,
    GroupSizes, History, JobIdentity, Progress, RecordHash, Report, Rows, report_progress,
};
use crate::dedup::output::{JobOutputs, ShardedOutput};
use crate::dedup::unit::Unit;
use crate::documents::{BadRecord, Format, InputFile, OutputFile, Position, Reader, Record, path_of_line};
use crate::error::{Result, ResumeProblem};
use crate::recipe::Comparable;
use nearprint::any::AnyFingerprint;

/// The most records between two checkpoints.
const CHECKPOINT_RECORDS: u64 = 10_000;
/// The time between two checkpoints while records arrive slowly.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);
/// The characters of a unit that name its group.
const GROUP_NAME_CHARS: usize = 80;

/// A job that reads records, decides them, and writes what it keeps.
pub(crate) struct WritingJob<'a> {
    pub(crate) job: &'a FileJob,
    pub(crate) deduplicator: Deduplicator,
    /// The files that documents are compared with, besides the inputs.
    against: Vec<InputFile>,
    /// See [`paths_of_unclear_keys`].
    paths: HashMap<String, Option<PathBuf>>,
    /// The near-duplicates among files, if they are collected.
    duplicate_files: Vec<DuplicateFile>,
    pub(crate) counts: DocumentCounts,
    outputs: JobOutputs<'a>,
    /// The near-duplicates since the job was begun or resumed.
    groups: GroupSizes,
    /// The documents kept since then.
    bands: Option<BandCounts>,
    /// Covers all records so far.
    hash: RecordHash,
    state: JobState,
}

/// What is kept near a unit.
#[derive(Default)]
pub(crate) struct Repeats {
    /// What it repeats, if it is to be removed.
    pub(crate) original: Option<Original>,
    /// Whether its own document has it already, and it stays.
    pub(crate) is_kept: bool,
    /// Whether another document with the key of its own one has it.
    pub(crate) has_namesake: bool,
}

/// What a database stores about a job that writes.
struct JobState {
    identity: JobIdentity,
    /// The jobs that were finished before.
    history: History,
    /// The rows that the job stored before it was interrupted, and the records that it had read.
    earlier_rows: Rows,
    resumed_after: u64,
    /// The sequence number of the first row of this run.
    start: u64,
    /// See [`Checkpoint::decisions`].
    decisions: Option<u64>,
    /// The time of the last checkpoint, and the records before it.
    last_checkpoint: (Instant, u64),
}

impl<'a> WritingJob<'a> {
    /// The counts of near-duplicates, which are kept in temporary files.
    pub(crate) fn groups(job: &FileJob) -> Result<GroupSizes> {
        let engine = &job.dedup.engine;
        GroupSizes::new(engine.get_memory_bytes() / 16, engine.get_threads())
    }

    pub(crate) fn new(
        (job, groups): (&'a FileJob, GroupSizes),
        (deduplicator, against): (Deduplicator, Vec<InputFile>),
        (outputs, reader): (JobOutputs<'a>, &Reader),
        (identity, history, unfinished): (JobIdentity, History, Option<Checkpoint>),
    ) -> Self {
        let (counts, value, earlier_rows, decisions) = match unfinished {
            Some(Checkpoint { counts, digest, rows, decisions, .. }) => (counts, digest, rows, decisions),
            None => Default::default(),
        };
        let state = JobState {
            identity,
            history,
            earlier_rows,
            resumed_after: counts.records,
            start: deduplicator.next_sequence(),
            decisions,
            last_checkpoint: (Instant::now(), counts.records),
        };
        Self {
            job,
            counts,
            outputs,
            groups,
            bands: deduplicator.recipe().bands().map(BandCounts::new),
            deduplicator,
            paths: paths_of_unclear_keys(reader.inputs().iter().chain(&against)),
            against,
            duplicate_files: Vec::new(),
            hash: RecordHash { value, ..RecordHash::default() },
            state,
        }
    }

    /// The sequence number of the first row that the job has stored, or will store.
    pub(crate) fn first_sequence(&self) -> u64 {
        self.state.earlier_rows.0.first().map_or(self.state.start, |rows| rows.start)
    }

    /// Skips the records that an unfinished run has processed. They have to be the same.
    pub(crate) fn skip(&mut self, reader: &mut Reader) -> Result<()> {
        let expected = std::mem::take(&mut self.hash).value;
        while self.hash.records < self.counts.records
            && let Some(item) = reader.next_item()?
        {
            self.hash.push(item.digest());
        }
        if (self.hash.value, self.hash.records) == (expected, self.counts.records) {
            return Ok(());
        }
        Err(ResumeProblem::OtherRecords { records: self.counts.records }.into())
    }

    /// Takes the hash of what becomes of all records. An unfinished run has written some by its own decisions: with
    /// others, of two near-duplicates neither might be written.
    pub(crate) fn check_decisions(&mut self, decisions: u64) -> Result<()> {
        if self.counts.records > 0 && self.state.decisions != Some(decisions) {
            return Err(ResumeProblem::OtherDecisions.into());
        }
        self.state.decisions = Some(decisions);
        Ok(())
    }

    /// Takes a block of records: `take` decides all that are not bad.
    pub(crate) fn take<T>(
        &mut self,
        block: Vec<Prepared<T>>,
        at: Position,
        report: Report<'_>,
        take: impl Fn(&mut Self, &Record, T) -> Result<()>,
    ) -> Result<()> {
        for Prepared { digest, record } in block {
            if let Ok((record, _)) = &record {
                self.begin(record.source)?;
            }
            self.count(digest);
            match record {
                Ok((record, made)) => {
                    self.counts.invalid_utf8 += u64::from(record.invalid_utf8);
                    take(self, &record, made)?;
                }
                Err(bad) => self.reject(&bad)?,
            }
            if self.outputs.end_members() {
                self.checkpoint_if_due()?;
            }
        }
        self.checkpoint_if_due()?;
        report_progress(report, &self.counts, at)
    }

    /// Opens the file for documents of an input, where each input has one, and ends those before it. The records
    /// so far are of earlier inputs.
    pub(crate) fn begin(&mut self, source: usize) -> Result<()> {
        while let Some(shards) = self.outputs.shards()
            && shards.step_to(source)?
        {
            self.complete_shards()?;
        }
        Ok(())
    }

    /// Makes a checkpoint if it is due or many files wait for it to get their names.
    fn complete_shards(&mut self) -> Result<()> {
        let has_many = self.outputs.shards().is_some_and(|shards| shards.has_many_ended());
        if has_many && self.can_checkpoint() { self.make_checkpoint() } else { self.checkpoint_if_due() }
    }

    /// Whether a checkpoint may be made: there is a database, and no output that could not be resumed.
    fn can_checkpoint(&mut self) -> bool {
        !self.deduplicator.is_temporary()
            && !self.outputs.needs_its_end()
            && self.outputs.shards().is_none_or(|shards| shards.can_resume())
    }

    /// Counts a record.
    pub(crate) fn count(&mut self, digest: u64) {
        self.counts.records += 1;
        self.hash.push(digest);
    }

    /// Makes a checkpoint if the last one is old enough. It ends a member of each compressed file: so that their
    /// bytes depend on the records alone, it is then made at certain records, however long that takes.
    pub(crate) fn checkpoint_if_due(&mut self) -> Result<()> {
        let ((last, records), now) = (self.state.last_checkpoint, self.counts.records);
        let is_due = match self.outputs.end_members() {
            true => now > records && now.is_multiple_of(CHECKPOINT_RECORDS),
            false => now - records >= CHECKPOINT_RECORDS || last.elapsed() >= CHECKPOINT_INTERVAL,
        };
        if is_due && self.can_checkpoint() { self.make_checkpoint() } else { Ok(()) }
    }

    /// Makes the files durable, then, by one commit, the kept documents and what was written to the
    /// files. Standard output has accepted its documents before they are stored: a run that is cut
    /// off in between delivers them again.
    fn make_checkpoint(&mut self) -> Result<()> {
        let progress = Progress::Reading(self.sync()?);
        self.deduplicator.checkpoint(&progress.encode()?)?;
        self.state.last_checkpoint = (Instant::now(), self.counts.records);
        self.outputs.shards().map_or(Ok(()), ShardedOutput::complete_ended)
    }

    /// Makes the files durable.
    fn sync(&mut self) -> Result<Checkpoint> {
        Ok(Checkpoint {
            identity: self.state.identity.clone(),
            rows: self.state.earlier_rows.and(self.state.start, self.deduplicator.next_sequence()),
            counts: self.counts,
            digest: self.hash.value,
            files: self.outputs.sync()?,
            shards: self.outputs.shards().map(ShardedOutput::sync).transpose()?,
            decisions: self.state.decisions,
        })
    }

    /// What a document or a unit is a duplicate of. `None` if nothing kept is near it.
    pub(crate) fn original_of(&mut self, document: Document<'_>) -> Result<Option<Original>> {
        self.counts.push_comparable(document.comparable);
        let outputs = &mut self.outputs;
        // Where nothing is written, the temporary database stores the texts.
        let text_of = |candidate: &Candidate| {
            let written = candidate.stored.span().and_then(|span| outputs.read_back(span));
            written.unwrap_or_else(|| candidate.stored.decompress(&candidate.key))
        };
        let compared = self.deduplicator.compare(document, text_of)?;
        Ok(self.counts.push_compared(compared))
    }

    /// What a unit repeats: the first of its kept occurrences in other documents, if there are enough of them. Its own
    /// document stores its units from the sequence number `own` on.
    pub(crate) fn often_repeated(&mut self, unit: Document<'_>, own: u64, from: u64) -> Result<Repeats> {
        self.counts.push_comparable(unit.comparable);
        let near = self.deduplicator.all_near(unit)?;
        let is_own = |candidate: &Candidate| !candidate.is_known && candidate.sequence >= own;
        let (own, others): (Vec<_>, Vec<_>) = near.into_iter().partition(is_own);
        let parts = others.iter().map(|other| (other.is_known, Unit::parts_of(&other.key)));
        let documents: BTreeSet<_> =
            parts.map(|(is_known, (name, _, mark))| (is_known, name, mark)).collect();
        let is_often = documents.len() as u64 + 1 >= from;
        let has_namesake = documents.iter().any(|(_, name, _)| *name == Unit::parts_of(unit.key).0);
        let first = others.into_iter().next().filter(|_| is_often);
        let original = first.map(|first| self.deduplicator.original(first, unit)).transpose()?;
        Ok(Repeats { original, is_kept: !own.is_empty(), has_namesake })
    }

    /// Writes a document, and remembers it.
    pub(crate) fn keep(
        &mut self,
        document: Document<'_>,
        record: &Record,
        group_size: Option<u64>,
    ) -> Result<()> {
        self.counts.kept += 1;
        let span = self.outputs.write(record, None, Some(document.fingerprint), None, group_size)?;
        if !self.deduplicator.compares_own() {
            return Ok(());
        }
        // What decides is read there again: texts, not the features that are made of them.
        let compares_output =
            self.deduplicator.is_temporary() && self.deduplicator.measure().compares_texts();
        match span.filter(|_| compares_output) {
            Some(span) => self.remember(document, &Stored::place(span, document.text_hash)),
            None => self.keep_unit(document),
        }
    }

    /// Remembers a unit.
    pub(crate) fn keep_unit(&mut self, unit: Document<'_>) -> Result<()> {
        let stored = self.deduplicator.stored(unit)?;
        self.remember(unit, &stored)
    }

    /// Remembers a document or unit, and counts its bands. Without features it has none.
    fn remember(&mut self, document: Document<'_>, stored: &Stored) -> Result<()> {
        if let Some(bands) = &mut self.bands
            && document.comparable == Comparable::Features
        {
            bands.push(document.fingerprint);
        }
        self.deduplicator.remember(document, stored)
    }

    /// Counts a near-duplicate and writes a line about it, and the document if it is to be
    /// annotated.
    pub(crate) fn leave_out(
        &mut self,
        fingerprint: AnyFingerprint,
        record: &Record,
        of: &Original,
        group_size: Option<u64>,
    ) -> Result<()> {
        self.counts.push_duplicate(of.similarity, of.is_copy);
        let kept = match of.key.contains(char::REPLACEMENT_CHARACTER) {
            true => self.paths.get(&of.key).and_then(Option::as_deref),
            false => Some(Path::new(&of.key)),
        };
        if self.job.collects_files && self.outputs.lists_files {
            self.duplicate_files.push(DuplicateFile {
                path: path_of_line(record.raw()).to_path_buf(),
                kept: kept.filter(|_| of.is_read).unwrap_or(Path::new("")).to_path_buf(),
                similarity: of.similarity,
                is_copy: of.is_copy,
            });
        }
        self.groups.push((&of.key, of.sequence), &of.key)?;
        self.deduplicator.leave_out(&record.key, &of.key, of.similarity, self.state.history.next_number())?;
        if self.job.annotate {
            self.outputs.write(record, None, Some(fingerprint), Some(of), group_size)?;
        }
        // The file distinguishes two documents of one key.
        let key = match record.key == of.key {
            true => format!("{}#{}", record.key, record.number).into(),
            false => Cow::Borrowed(&*record.key),
        };
        self.outputs.list_duplicate((record, &key), (of, kept), group_size)
    }

    /// Counts a unit that is removed, and writes a line about it. Its own document stores its units from the sequence
    /// number `own` on.
    pub(crate) fn remove_unit(&mut self, unit: Document<'_>, of: &Original, own: u64) -> Result<()> {
        let ((document, number, _), (first, first_number, _)) =
            (Unit::parts_of(unit.key), Unit::parts_of(&of.key));
        self.counts.push_similarity(of.similarity, of.is_copy);
        let is_own = !of.is_known && of.sequence >= own;
        let group = (&*of.key, of.sequence);
        self.remove((unit.text, group), (document, number), (first, first_number), is_own)
    }

    /// Counts a unit or passage that is removed, with all of its group, and writes a line about it. `removed` and
    /// `first` are the keys of its document and of the one that has it, each with a number there.
    pub(crate) fn remove(
        &mut self,
        (text, group): (&str, (&str, u64)),
        removed: (&str, &str),
        first: (&str, &str),
        is_own: bool,
    ) -> Result<()> {
        self.counts.units.removed += 1;
        self.counts.units.removed_bytes += text.len() as u64;
        self.counts.units.within += u64::from(is_own);
        let shown = text.char_indices().nth(GROUP_NAME_CHARS).map_or(text.len(), |(end, _)| end);
        self.groups.push(group, &text[..shown])?;
        self.outputs.list_removed(removed, first)
    }

    /// Writes a document that may have lost units, with the text that is left of it.
    pub(crate) fn write_rest(&mut self, record: &Record, text: Option<&str>) -> Result<()> {
        self.counts.kept += 1;
        self.outputs.write(record, text, None, None, None).map(drop)
    }

    /// Writes a malformed record to the rejects, or ends the run. One without a text may be set aside.
    pub(crate) fn reject(&mut self, bad: &BadRecord) -> Result<()> {
        if bad.is_dropped {
            return self.set_aside(&bad.raw, bad.may_have_mark);
        }
        self.counts.bad += 1;
        if self.job.rejects.is_none() {
            return Err(bad_record(bad));
        }
        self.outputs.reject(&bad.raw, bad.may_have_mark)
    }

    /// Writes a document with too few words or features, or without a text, to the rejects.
    pub(crate) fn set_aside(&mut self, raw: &[u8], may_have_mark: bool) -> Result<()> {
        self.counts.aside += 1;
        self.outputs.reject(raw, may_have_mark)
    }

    /// Writes the ends of the files. With a database, one commit then says that all is written.
    pub(crate) fn end(mut self, reader: &Reader) -> Result<WrittenJob> {
        let is_temporary = self.deduplicator.is_temporary();
        while let Some(shards) = self.outputs.shards()
            && shards.step_to_end()?
        {
            self.complete_shards()?;
        }
        if self.outputs.shards().is_some() && !is_temporary {
            self.make_checkpoint()?;
        }
        let mut checkpoint = if is_temporary { None } else { Some(self.sync()?) };
        if self.outputs.is_made_at_the_end() {
            checkpoint.iter_mut().for_each(|checkpoint| checkpoint.files[0] = None);
        }
        let mut history = self.state.history;
        let unlisted = self.outputs.unlisted();
        let files = (self.job.collects_files && self.outputs.lists_files).then(|| {
            let all = reader.inputs().iter().chain(&self.against);
            let stamps = all.filter_map(|input| Some((input.path.clone(), input.stamp?))).collect();
            DuplicateFiles { duplicates: std::mem::take(&mut self.duplicate_files), stamps }
        });
        let mut left_out = reader.left_out().clone();
        left_out.notes.extend(history.replaced_by(self.job));
        let what = self.job.database.as_ref().map_or("the recipe".into(), |path| path.to_string_lossy());
        let misses = self.deduplicator.measure().misses();
        left_out.notes.extend(misses.map(|why| format!("{what}: {why}")));
        left_out.notes.extend(self.outputs.absent_fields());
        let mut outputs = self.outputs.end()?;
        if let Some(checkpoint) = checkpoint {
            for output in outputs.iter_mut().flatten() {
                output.keep();
                output.sync()?;
            }
            let written =
                FinishedJob::new((self.job, history.next_number()), checkpoint, &self.hash, &outputs)?;
            self.deduplicator.checkpoint(&Progress::Written(written.clone()).encode()?)?;
            history.jobs.push(written);
        }
        let (groups, mut largest) = self.groups.largest()?;
        if let Some(rules) = self.job.trim {
            // What was removed is counted with one that stays, but those before the first removed one stay, too.
            largest.iter_mut().for_each(|group| group.size += rules.from.saturating_sub(2));
        }
        let report = FileReport {
            counts: self.counts,
            resumed_after: self.state.resumed_after,
            completed: None,
            groups: Some(groups),
            largest,
            near: self.deduplicator.near(),
            recipe: self.deduplicator.recipe().clone(),
            counts_copies: self.deduplicator.counts_copies(),
            left_out,
            are_files: reader.format() == Format::Text,
            files,
            unlisted,
            crowding: self.bands.as_ref().map(BandCounts::crowding),
        };
        let history = history.encode(self.job.database_path())?;
        Ok(WrittenJob { deduplicator: self.deduplicator, outputs, history, report })
    }
}

/// The paths of the keys in which U+FFFD may stand for bytes that are no UTF-8. A key of two paths has none of both.
fn paths_of_unclear_keys<'a>(files: impl Iterator<Item = &'a InputFile>) -> HashMap<String, Option<PathBuf>> {
    let mut paths = HashMap::new();
    for path in files.map(|file| &file.path) {
        let key = path.to_string_lossy();
        if key.contains(char::REPLACEMENT_CHARACTER) {
            let known = paths.entry(key.into_owned()).or_insert(Some(path.clone()));
            *known = known.take().filter(|known| known == path);
        }
    }
    paths
}

/// A job that has written all. If it is killed now, the next run completes it.
pub(crate) struct WrittenJob {
    deduplicator: Deduplicator,
    /// The files, which are to get their names.
    outputs: [Option<OutputFile>; 3],
    /// All finished jobs, this one included.
    history: Vec<u8>,
    report: FileReport,
}

impl WrittenJob {
    /// Gives the files their names. Then one commit moves the record of the job to the history.
    pub(crate) fn complete(mut self) -> Result<FileReport> {
        self.outputs.into_iter().flatten().try_for_each(OutputFile::complete)?;
        self.deduplicator.finish_with(Some(&self.history))?;
        Ok(self.report)
    }
}
