//! A deduplication of files in progress: its deduplicator, its output files and its counts.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::candidates::{Candidate, Document, Verdict};
use super::checkpoint::{Checkpoint, DocumentCounts, FileDigest, Progress, RecordHash, Rows};
use super::crowding::{BandCounts, Crowding};
use super::deduplicator::Deduplicator;
use super::groups::{Group, GroupSizes};
use super::history::{FinishedJob, History};
use super::job::{FileJob, JobIdentity, Keep};
use super::stored::Stored;
use crate::documents::{
    AddedField, BadRecord, DocumentWriter, FieldValue, LineFile, OutputFile, Reader, Record, Span,
    WriterOptions, Written, check_outputs, escape,
};
use crate::error::{DatabaseProblem, Error, OutputProblem, Result, ResumeProblem};
use crate::recipe::{Comparable, Fingerprinter};
use nearprint::{Fingerprint, Printed};

/// The most records between two checkpoints.
const CHECKPOINT_RECORDS: u64 = 10_000;
/// The time between two checkpoints while records arrive slowly.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);

/// The first line of the file of duplicates.
const HEADER: &[u8] = b"key\tduplicate_of\tdistance\tsimilarity\tcluster\n";
/// The characters of a unit that name its group.
const GROUP_NAME_CHARS: usize = 80;
/// The fields of annotated documents.
const DUPLICATE_OF: &str = "duplicate_of";
const CLUSTER: &str = "cluster";
const SIMILARITY: &str = "similarity";

/// What a near-duplicate is a duplicate of.
pub(super) struct Original<'a> {
    /// The key of the kept document.
    pub(super) key: &'a str,
    pub(super) distance: u32,
    pub(super) similarity: f64,
    /// Whether both have the same tokens.
    pub(super) is_copy: bool,
}

/// A deduplication of files in progress.
pub(super) struct FileRun<'a, F: Fingerprint> {
    pub(super) job: &'a FileJob,
    pub(super) deduplicator: Deduplicator<F>,
    pub(super) counts: DocumentCounts,
    pub(super) identity: JobIdentity,
    /// The rows that the job stored before it was interrupted.
    earlier_rows: Rows,
    /// The sequence number of the first row of this run.
    start: u64,
    output: Option<DocumentWriter>,
    duplicates: Option<LineFile>,
    rejects: Option<LineFile>,
    /// Cleans texts that are written.
    cleaner: Fingerprinter<F>,
    /// Of the near-duplicates since the run was begun or resumed.
    groups: GroupSizes,
    /// Of the documents kept since then.
    bands: Option<BandCounts>,
    /// Of all records so far.
    hash: RecordHash,
    unfinished: Option<Checkpoint>,
    /// The jobs that the database has seen to their end.
    pub(super) history: History,
    /// Whether this run has completed the files of the job, which had written all before it was killed.
    pub(super) is_completed: bool,
    last_checkpoint: Instant,
    records_at_checkpoint: u64,
}

impl<'a, F: Fingerprint> FileRun<'a, F> {
    /// Opens the database. An unfinished run of the same job resumes.
    pub(super) fn open(job: &'a FileJob, reader: &Reader) -> Result<Self> {
        let mut deduplicator = open_deduplicator(job)?;
        let mut progress = deduplicator.unfinished().map(Progress::decode).transpose()?;
        if job.dry_run {
            // Documents that an unfinished run has kept will be decided again when it resumes.
            if let Some(Progress::Reading(checkpoint)) = progress.take() {
                deduplicator.ignore(checkpoint.rows.0);
            }
        } else if job.restart
            && let Some(progress) = progress.take()
        {
            deduplicator.forget(&progress.rows().0)?;
        }
        let identity = job.identity(reader, deduplicator.k(), deduplicator.recipe());
        if let Some(other) = progress.as_ref().filter(|progress| *progress.identity() != identity) {
            let path = job.database.clone().unwrap_or_default();
            return Err(ResumeProblem::OtherRun { path, records: other.records() }.into());
        }
        let mut history = history_of(job, &deduplicator)?;
        let (mut unfinished, mut is_completed) = (None, false);
        match progress {
            Some(Progress::Written(written)) => {
                written.complete_files(job).map_err(cannot_resume)?;
                history.jobs.push(written);
                deduplicator.set_history(&encoded(&history, job)?)?;
                deduplicator.checkpoint(b"")?;
                is_completed = true;
            }
            Some(Progress::Reading(checkpoint)) => unfinished = Some(checkpoint),
            None => {}
        }
        let (counts, value, earlier_rows) = match &unfinished {
            Some(Checkpoint { counts, digest, rows, .. }) => (*counts, *digest, rows.clone()),
            None => Default::default(),
        };
        let engine = &job.dedup.engine;
        let bands = deduplicator.recipe().bands().map(BandCounts::new);
        let cleaner = deduplicator.fingerprinter();
        let groups = GroupSizes::new(engine.get_memory_bytes() / 16, engine.get_threads())?;
        Ok(Self {
            job,
            counts,
            identity,
            earlier_rows,
            start: deduplicator.next_sequence(),
            history,
            is_completed,
            deduplicator,
            output: None,
            duplicates: None,
            rejects: None,
            cleaner,
            groups,
            bands,
            hash: RecordHash { value, ..RecordHash::default() },
            unfinished,
            last_checkpoint: Instant::now(),
            records_at_checkpoint: counts.records,
        })
    }

    /// Whether an unfinished run of the job resumes.
    pub(super) fn is_resumed(&self) -> bool {
        self.unfinished.is_some()
    }

    /// The sequence number of the first row that the job has stored, or will store.
    pub(super) fn first_sequence(&self) -> u64 {
        self.earlier_rows.0.first().map_or(self.start, |rows| rows.start)
    }

    /// Forgets the rows of finished jobs, given by their places in the history, and the jobs.
    pub(super) fn forget(&mut self, jobs: &[usize]) -> Result<()> {
        let forgotten = |place: &usize| self.history.jobs[*place].rows.0.clone();
        let rows: Vec<_> = jobs.iter().flat_map(forgotten).collect();
        let mut place = 0..;
        self.history.jobs.retain(|_| place.next().is_none_or(|place| !jobs.contains(&place)));
        self.deduplicator.set_history(&encoded(&self.history, self.job)?)?;
        self.deduplicator.forget(&rows)?;
        self.start = self.deduplicator.next_sequence();
        Ok(())
    }

    /// Creates the output files, or opens them at the lengths of a checkpoint. A dry run has none.
    pub(super) fn open_files(&mut self, reader: &Reader) -> Result<()> {
        let format = reader.format();
        if self.job.units.is_some() && !format.has_fields() {
            return Err(OutputProblem::NoFields { format: format.name() }.into());
        }
        if self.job.dry_run {
            return Ok(());
        }
        let FileJob { output, duplicates, rejects, .. } = self.job;
        let all =
            [("output", Some(output)), ("duplicates", duplicates.as_ref()), ("rejects", rejects.as_ref())];
        let all = all.into_iter().filter_map(|(name, path)| Some((name, path?.as_path())));
        let inputs: Vec<&Path> = reader.inputs().iter().map(|input| &*input.path).collect();
        let databases: Vec<&Path> = self.job.database.iter().map(PathBuf::as_path).collect();
        check_outputs(all, &inputs, &databases)?;
        let unfinished = self.unfinished.take().map(|checkpoint| checkpoint.files);
        let is_new = unfinished.is_none();
        let [of_output, of_duplicates, of_rejects] =
            unfinished.unwrap_or_default().map(|file| file.map(|file| file.written()));
        let options = self.writer_options();
        self.output = Some(match of_output.filter(|_| output != Path::new("-")) {
            Some(written) => {
                DocumentWriter::resume(output, written, reader, options).map_err(cannot_resume)?
            }
            None => DocumentWriter::create(output, reader, options)?,
        });
        self.duplicates = self.open_lines(duplicates, of_duplicates)?;
        self.rejects = self.open_lines(rejects, of_rejects)?;
        if is_new && self.job.duplicates_header {
            self.duplicates.as_mut().map_or(Ok(()), |file| file.append(HEADER).map(drop))?;
        }
        Ok(())
    }

    /// Creates a file of lines, or resumes one.
    fn open_lines(&self, path: &Option<PathBuf>, written: Option<Written>) -> Result<Option<LineFile>> {
        let Some(path) = path else { return Ok(None) };
        let opened = match written.filter(|_| path != Path::new("-")) {
            Some(written) => LineFile::resume(path, written).map_err(cannot_resume),
            None if self.deduplicator.is_temporary() => LineFile::create(path),
            None => LineFile::create_resumable(path),
        };
        opened.map(|file| Some(file.ignore_broken_pipes()))
    }

    fn writer_options(&self) -> WriterOptions {
        let mut options = WriterOptions::default();
        options.fields.clone_from(&self.job.keep_fields);
        let FileJob { add_fingerprint, old_id, cleaned, .. } = self.job;
        options.added.extend([add_fingerprint, old_id, cleaned].into_iter().flatten().map(AddedField::text));
        if self.job.annotate {
            let fields =
                [AddedField::text(DUPLICATE_OF), AddedField::text(CLUSTER), AddedField::number(SIMILARITY)];
            options.added.extend(fields);
        }
        // Confirmation compares with texts of the output, unless a database keeps them.
        options.keep_texts =
            self.confirms_by_output() && self.job.keep == Keep::First && self.job.units.is_none();
        options.resumable = !self.deduplicator.is_temporary();
        options
    }

    /// Whether the texts of kept documents are read back from the output.
    fn confirms_by_output(&self) -> bool {
        self.deduplicator.is_temporary() && self.job.dedup.confirm.is_some()
    }

    /// Makes a checkpoint if the last one is old enough.
    pub(super) fn checkpoint_if_due(&mut self) -> Result<()> {
        let is_due = self.counts.records - self.records_at_checkpoint >= CHECKPOINT_RECORDS
            || self.last_checkpoint.elapsed() >= CHECKPOINT_INTERVAL;
        if is_due && !self.deduplicator.is_temporary() { self.checkpoint() } else { Ok(()) }
    }

    /// Makes the files durable, then, by one commit, the kept documents and what was written to the
    /// files. Standard output has accepted its documents before they are stored: a run that is cut
    /// off in between delivers them again.
    fn checkpoint(&mut self) -> Result<()> {
        let progress = Progress::Reading(self.sync_files()?);
        self.deduplicator.checkpoint(&progress.encode()?)?;
        self.records_at_checkpoint = self.counts.records;
        self.last_checkpoint = Instant::now();
        Ok(())
    }

    /// Makes the files durable.
    fn sync_files(&mut self) -> Result<Checkpoint> {
        let of_lines = |file: &mut Option<LineFile>| file.as_mut().map(LineFile::flush_and_sync).transpose();
        let files = [
            self.output.as_mut().map(DocumentWriter::flush_and_sync).transpose()?,
            of_lines(&mut self.duplicates)?,
            of_lines(&mut self.rejects)?,
        ];
        Ok(Checkpoint {
            identity: self.identity.clone(),
            rows: self.earlier_rows.and(self.start, self.deduplicator.next_sequence()),
            counts: self.counts,
            digest: self.hash.value,
            files: files.map(|file| file.map(FileDigest::from)),
        })
    }

    /// Counts a record.
    pub(super) fn count(&mut self, digest: u64) {
        self.counts.records += 1;
        self.hash.push(digest);
    }

    /// Skips the records that an unfinished run has processed. They have to be the same.
    pub(super) fn skip(&mut self, reader: &mut Reader) -> Result<()> {
        let expected = std::mem::take(&mut self.hash).value;
        while self.hash.records < self.counts.records
            && let Some(item) = reader.next_item()?
        {
            self.hash.push(item.digest());
        }
        if self.hash.value == expected {
            return Ok(());
        }
        Err(ResumeProblem::OtherRecords { records: self.counts.records }.into())
    }

    /// Completes the files, and closes the database.
    ///
    /// First one commit says that all is written, then each file gets its name, then another commit
    /// replaces the progress by the record of the finished job. A job that is killed in between is
    /// completed from this record alone.
    ///
    /// Returns the counts and the largest groups.
    pub(super) fn finish(mut self) -> Result<(DocumentCounts, Vec<Group>)> {
        let is_temporary = self.deduplicator.is_temporary();
        let checkpoint = if is_temporary { None } else { Some(self.sync_files()?) };
        let Self {
            job,
            output,
            duplicates,
            rejects,
            groups,
            mut deduplicator,
            counts,
            hash,
            mut history,
            ..
        } = self;
        let end = |file: Option<LineFile>| file.map_or(Ok(None), LineFile::end);
        let output = output.map_or(Ok(None), DocumentWriter::end)?;
        let mut outputs = [output, end(duplicates)?, end(rejects)?];
        if let Some(checkpoint) = checkpoint {
            for output in outputs.iter_mut().flatten() {
                output.keep();
                output.sync()?;
            }
            let written = FinishedJob::new(job, checkpoint, &hash, &outputs)?;
            deduplicator.checkpoint(&Progress::Written(written.clone()).encode()?)?;
            history.jobs.push(written);
        }
        outputs.into_iter().flatten().try_for_each(OutputFile::complete)?;
        deduplicator.finish_with(Some(&encoded(&history, job)?))?;
        Ok((counts, groups.largest()?))
    }

    /// The nearest kept document.
    pub(super) fn nearest(&mut self, document: Document<'_, F>) -> Result<Verdict<Candidate>> {
        let output = &mut self.output;
        self.deduplicator.nearest(document, |candidate| match output.as_mut().zip(candidate.stored.span()) {
            Some((output, span)) => output.read_back(span),
            // A dry run has no output: the temporary database stores the texts.
            None => candidate.stored.decompress(&candidate.key),
        })
    }

    /// Writes a document, and remembers it.
    pub(super) fn keep(&mut self, document: Document<'_, F>, record: &Record) -> Result<()> {
        self.counts.kept += 1;
        self.count_bands(document);
        let values = self.added_values(Some(document.fingerprint), record, &record.text, None);
        let span = self.write_document(record, None, &values)?;
        let stored = match span.filter(|_| self.confirms_by_output()) {
            Some(span) => Stored::place(span, document.text_hash),
            None => self.deduplicator.stored(document)?,
        };
        self.deduplicator.remember(document, &stored)
    }

    /// Counts the bands of a kept document or unit. Without features it has none.
    fn count_bands(&mut self, document: Document<'_, F>) {
        if let Some(bands) = &mut self.bands
            && document.comparable == Comparable::Features
        {
            bands.push(document.fingerprint);
        }
    }

    /// How many of the documents kept by this run share a band.
    pub(super) fn crowding(&self) -> Option<Crowding> {
        self.bands.as_ref().map(BandCounts::crowding)
    }

    /// Counts a near-duplicate and writes a line about it, and the document if it is to be
    /// annotated.
    pub(super) fn leave_out(&mut self, fingerprint: F, record: &Record, of: &Original<'_>) -> Result<()> {
        self.counts.push_duplicate(of.similarity, of.is_copy);
        self.groups.push(of.key, of.key)?;
        if self.job.annotate {
            let values = self.added_values(Some(fingerprint), record, &record.text, Some(of));
            self.write_document(record, None, &values)?;
        }
        self.list_duplicate(&record.key, of)
    }

    /// Writes a line about a near-duplicate.
    fn list_duplicate(&mut self, key: &str, of: &Original<'_>) -> Result<()> {
        let Some(file) = &mut self.duplicates else { return Ok(()) };
        let (key, kept) = (escape(key), escape(of.key));
        let line = format!("{key}\t{kept}\t{}\t{:.4}\t{kept}\n", of.distance, of.similarity);
        file.append(line.as_bytes()).map(drop)
    }

    /// The nearest kept unit.
    pub(super) fn nearest_unit(&mut self, unit: Document<'_, F>) -> Result<Verdict<Candidate>> {
        // Whole documents are read back from the output; units are stored.
        self.deduplicator.nearest(unit, |candidate| candidate.stored.decompress(&candidate.key))
    }

    /// Remembers a unit.
    pub(super) fn keep_unit(&mut self, unit: Document<'_, F>) -> Result<()> {
        self.count_bands(unit);
        let stored = self.deduplicator.stored(unit)?;
        self.deduplicator.remember(unit, &stored)
    }

    /// Counts a unit that is removed, and writes a line about it.
    pub(super) fn remove_unit(&mut self, unit: Document<'_, F>, of: &Original<'_>) -> Result<()> {
        self.counts.units.removed += 1;
        self.counts.units.removed_bytes += unit.text.len() as u64;
        self.counts.push_similarity(of.similarity, of.is_copy);
        let shown = unit.text.char_indices().nth(GROUP_NAME_CHARS).map_or(unit.text.len(), |(end, _)| end);
        self.groups.push(of.key, &unit.text[..shown])?;
        self.list_duplicate(unit.key, of)
    }

    /// Writes a document of which units may have been removed, with the text that is left of it.
    pub(super) fn write_rest(&mut self, record: &Record, text: Option<&str>) -> Result<()> {
        self.counts.kept += 1;
        let values = self.added_values(None, record, text.unwrap_or(&record.text), None);
        self.write_document(record, text, &values).map(drop)
    }

    /// What is to be added to a document.
    fn added_values<'r>(
        &mut self,
        fingerprint: Option<F>,
        record: &'r Record,
        text: &str,
        of: Option<&Original<'r>>,
    ) -> Vec<FieldValue<'r>> {
        let mut values = Vec::new();
        if self.output.is_none() {
            return values;
        }
        if let Some(fingerprint) = fingerprint.filter(|_| self.job.add_fingerprint.is_some()) {
            values.push(FieldValue::Text(Printed(fingerprint).to_string().into()));
        }
        if self.job.old_id.is_some() {
            values.push(FieldValue::Text(record.key.as_str().into()));
        }
        if self.job.cleaned.is_some() {
            values.push(FieldValue::Text(self.cleaner.cleaned(text).trim().to_string().into()));
        }
        if self.job.annotate {
            values.extend(match of {
                Some(Original { key, similarity, .. }) => {
                    let (key, similarity) =
                        (FieldValue::Text((*key).into()), (similarity * 1e4).round() / 1e4);
                    [key.clone(), key, FieldValue::Number(similarity)]
                }
                None => {
                    [FieldValue::Missing, FieldValue::Text(record.key.as_str().into()), FieldValue::Missing]
                }
            });
        }
        values
    }

    /// Writes a document to the output, with another text if there is one.
    fn write_document(
        &mut self,
        record: &Record,
        text: Option<&str>,
        values: &[FieldValue<'_>],
    ) -> Result<Option<Span>> {
        let Some(output) = &mut self.output else { return Ok(None) };
        let written = match text {
            Some(text) => output.append_with_text(record, text, values),
            None => output.append(record, values),
        };
        written.map(Some)
    }

    /// Writes a malformed record to the rejects, or ends the run.
    pub(super) fn reject(&mut self, bad: &BadRecord) -> Result<()> {
        self.counts.bad += 1;
        match &mut self.rejects {
            Some(file) => file.append(&bad.raw).map(drop),
            None if self.job.rejects.is_some() => Ok(()),
            None => Err(bad_record(bad)),
        }
    }

    /// Writes a document with too few tokens or features to the rejects.
    pub(super) fn set_aside(&mut self, raw: &[u8]) -> Result<()> {
        self.counts.aside += 1;
        self.rejects.as_mut().map_or(Ok(()), |file| file.append(raw).map(drop))
    }
}

/// Ends a run at a malformed record.
pub(super) fn bad_record(bad: &BadRecord) -> Error {
    Error::input(bad.place.to_string(), bad.reason.clone())
}

/// Opens the deduplicator of a job. A dry run does not create its database.
fn open_deduplicator<F: Fingerprint>(job: &FileJob) -> Result<Deduplicator<F>> {
    let mut options = job.dedup.clone();
    options.cut_after.clone_from(&job.reader.cut_after);
    match &job.database {
        Some(path) if !job.dry_run => Deduplicator::open(path, options),
        Some(path) if path.exists() => Deduplicator::read_only(path, options),
        _ => Deduplicator::temporary(options),
    }
}

/// The jobs that the database of a job has seen to their end.
fn history_of<F: Fingerprint>(job: &FileJob, deduplicator: &Deduplicator<F>) -> Result<History> {
    let Some(bytes) = deduplicator.history() else { return Ok(History::default()) };
    History::decode(bytes).map_err(|error| unreadable_history(job, &error))
}

fn encoded(history: &History, job: &FileJob) -> Result<Vec<u8>> {
    history.encode().map_err(|error| unreadable_history(job, &error))
}

fn unreadable_history(job: &FileJob, error: &serde_json::Error) -> Error {
    let path = job.database.clone().unwrap_or_default();
    DatabaseProblem::UnknownHistory { path, why: error.to_string() }.into()
}

/// An output of an unfinished run cannot be opened.
fn cannot_resume(error: Error) -> Error {
    ResumeProblem::Output(Box::new(error)).into()
}
