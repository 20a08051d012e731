//! The files that a job writes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::plan::OutputPlan;
use super::sharded::ShardedOutput;
use crate::dedup::decide::{Deduplicator, Original};
use crate::dedup::job::{Checkpoint, FileDigest, FileJob, GROUP_SIZE};
use crate::documents::internal::ListFormat;
use crate::documents::{
    DocumentWriter, FieldValue, Format, LineFile, OutputFile, OutputShape, Reader, Record, Span,
    WriterOptions, Written, have_same_bytes, listed_path, path_of_line,
};
use crate::error::{Error, Result, ResumeProblem};
use crate::recipe::AnyFingerprinter;
use nearprint::any::AnyFingerprint;

/// The columns of the file of duplicates.
const COLUMNS: &[&str] = &["key", "duplicate_of", "distance", "similarity", "group", "copy"];
/// Those of the file of removed units.
const COLUMNS_OF_REMOVED: &[&str] = &["key", "number", "first_seen_in", "first_number"];

/// The name of the spool in messages.
const SPOOL: &str = "a temporary file";

/// The output, the duplicates and the rejects of a job. A dry run has only a spool.
pub(crate) struct JobOutputs<'a> {
    job: &'a FileJob,
    documents: Option<DocumentWriter>,
    /// The documents of an output that is a folder.
    shards: Option<ShardedOutput>,
    duplicates: Option<LineFile>,
    list_format: ListFormat,
    /// See [`FileJob::spool`].
    spool: Option<BufWriter<Arc<File>>>,
    rejects: Option<LineFile>,
    /// Whether records are files, listed by path.
    pub(crate) lists_files: bool,
    unlisted_rejects: Vec<PathBuf>,
    /// The [fields](FileJob::fields) that no written document of JSON lines has; `None` before the first one.
    absent_fields: Option<Vec<String>>,
    /// Whether exact copies are recognized.
    counts_copies: bool,
    /// Cleans texts that are written.
    cleaner: AnyFingerprinter,
}

impl<'a> JobOutputs<'a> {
    /// Creates the files of a plan, or opens them where a checkpoint says that they were written to.
    pub(crate) fn open(
        (job, plan, shape): (&'a FileJob, Option<OutputPlan>, OutputShape),
        reader: &Reader,
        deduplicator: &Deduplicator,
        unfinished: Option<&Checkpoint>,
    ) -> Result<Self> {
        let mut outputs = Self {
            job,
            documents: None,
            shards: None,
            duplicates: None,
            list_format: job.duplicates.as_deref().map_or(ListFormat::Tsv, ListFormat::of),
            spool: job.spool.clone().map(BufWriter::new),
            rejects: None,
            lists_files: reader.format() == Format::Text,
            unlisted_rejects: Vec::new(),
            absent_fields: (reader.format() != Format::Jsonl).then(Vec::new),
            counts_copies: deduplicator.counts_copies(),
            cleaner: deduplicator.fingerprinter(),
        };
        let columns = if job.trim.is_some() { COLUMNS_OF_REMOVED } else { COLUMNS };
        let header: Vec<&str> = columns.iter().copied().chain(job.group_size.then_some(GROUP_SIZE)).collect();
        outputs.append_to_spool(&header)?;
        let Some(OutputPlan { shards, options }) = plan else { return Ok(outputs) };
        let written =
            |place: usize| unfinished.and_then(|from| from.files[place].as_ref()).map(FileDigest::written);
        let is_resumable = options.resumable;
        if let Some((kind, targets)) = shards {
            let state = unfinished.and_then(|from| from.shards.as_ref());
            if state.is_some_and(|state| !state.is_within(targets.len())) {
                return Err(ResumeProblem::OtherProgram.into());
            }
            let opened = ShardedOutput::open(kind, targets, (shape, options), state);
            outputs.shards =
                Some(if unfinished.is_some() { opened.map_err(cannot_resume)? } else { opened? });
        } else {
            outputs.documents = Some(open_documents(job, &shape, written(0), options)?);
        }
        outputs.duplicates = open_lines(job.duplicates.as_deref(), written(1), is_resumable)?;
        outputs.rejects = open_lines(job.rejects.as_deref(), written(2), is_resumable)?;
        if unfinished.is_none() {
            outputs.append_to_duplicates(&header)?;
        }
        Ok(outputs)
    }

    /// Whether the bytes of a file depend on when it is made durable.
    pub(crate) fn end_members(&self) -> bool {
        let lines = [&self.duplicates, &self.rejects].into_iter().flatten();
        self.documents.as_ref().is_some_and(DocumentWriter::ends_members)
            || self.shards.as_ref().is_some_and(ShardedOutput::ends_members)
            || lines.into_iter().any(LineFile::ends_members)
    }

    /// The files of an output that is a folder.
    pub(crate) fn shards(&mut self) -> Option<&mut ShardedOutput> {
        self.shards.as_mut()
    }

    /// See [`DocumentWriter::needs_its_end`].
    pub(crate) fn needs_its_end(&self) -> bool {
        self.documents.as_ref().is_some_and(DocumentWriter::needs_its_end)
    }

    /// Whether the bytes of the output are known only at its end.
    pub(crate) fn is_made_at_the_end(&self) -> bool {
        self.documents.as_ref().is_some_and(DocumentWriter::is_made_at_the_end)
    }

    /// Makes the files durable. Standard output is flushed.
    pub(crate) fn sync(&mut self) -> Result<[Option<FileDigest>; 3]> {
        let of_lines = |file: &mut Option<LineFile>| file.as_mut().map(LineFile::flush_and_sync).transpose();
        let documents = self.documents.as_mut().map(DocumentWriter::flush_and_sync).transpose()?;
        let files = [documents, of_lines(&mut self.duplicates)?, of_lines(&mut self.rejects)?];
        Ok(files.map(|file| file.map(FileDigest::from)))
    }

    /// Writes the ends of the files, which are to get their names.
    pub(crate) fn end(mut self) -> Result<[Option<OutputFile>; 3]> {
        self.spool.as_mut().map_or(Ok(()), Write::flush).map_err(Error::io("write", SPOOL))?;
        let end = |file: Option<LineFile>| file.map_or(Ok(None), LineFile::end);
        let documents = self.documents.map_or(Ok(None), DocumentWriter::end)?;
        Ok([documents, end(self.duplicates)?, end(self.rejects)?])
    }

    /// Writes a document, with another text if there is one, and the size of its cluster if that is known.
    pub(crate) fn write(
        &mut self,
        record: &Record,
        text: Option<&str>,
        fingerprint: Option<AnyFingerprint>,
        of: Option<&Original>,
        group_size: Option<u64>,
    ) -> Result<Option<Span>> {
        record.remove_names(self.absent_fields.get_or_insert_with(|| self.job.fields.clone()));
        if self.documents.is_none() && self.shards.is_none() {
            return Ok(None);
        }
        let mut values =
            added_values((self.job, self.counts_copies), &mut self.cleaner, record, text, fingerprint, of);
        values.extend(group_size.map(FieldValue::Count));
        if let Some(shards) = &mut self.shards {
            return shards.write(record, text, &values).map(|()| None);
        }
        let Some(documents) = &mut self.documents else { return Ok(None) };
        let written = match text {
            Some(text) => documents.append_with_text(record, text, &values),
            None => documents.append(record, &values),
        };
        written.map(Some)
    }

    /// Reads the text of a written document. `None` in a dry run.
    pub(crate) fn read_back(&mut self, span: Span) -> Option<Result<String>> {
        self.documents.as_mut().map(|documents| documents.read_back(span))
    }

    /// Writes a line about a near-duplicate. A document and the kept one may be files; a key tells the path of the
    /// latter only if it is that of no other file.
    pub(crate) fn list_duplicate(
        &mut self,
        (record, key): (&Record, &str),
        (of, kept): (&Original, Option<&Path>),
        group_size: Option<u64>,
    ) -> Result<()> {
        if !self.lists_duplicates() {
            return Ok(());
        }
        let is_copy = match self.lists_files {
            true if of.is_copy => kept.map(|kept| {
                let path = path_of_line(record.raw());
                path != kept && have_same_bytes(path, kept).unwrap_or(false)
            }),
            is_known => (is_known || self.counts_copies).then_some(of.is_copy),
        };
        let copy = is_copy.map(|is_copy| is_copy.to_string()).unwrap_or_default();
        let (distance, similarity) = (of.distance.to_string(), format!("{:.4}", of.similarity));
        let size = group_size.map(|size| size.to_string());
        let columns = [key, &of.key, &distance, &similarity, &of.key, &copy];
        self.append_to_lists(&columns.into_iter().chain(size.as_deref()).collect::<Vec<_>>())
    }

    fn lists_duplicates(&self) -> bool {
        self.duplicates.is_some() || self.spool.is_some()
    }

    fn append_to_lists(&mut self, columns: &[&str]) -> Result<()> {
        self.append_to_spool(columns)?;
        self.append_to_duplicates(columns)
    }

    fn append_to_duplicates(&mut self, columns: &[&str]) -> Result<()> {
        let Some(file) = &mut self.duplicates else { return Ok(()) };
        file.append(&self.list_format.line(columns)).map(drop)
    }

    fn append_to_spool(&mut self, columns: &[&str]) -> Result<()> {
        let Some(spool) = &mut self.spool else { return Ok(()) };
        spool.write_all(&ListFormat::Tsv.line(columns)).map_err(Error::io("write", SPOOL))
    }

    /// Writes a line about a unit that is removed: the keys of its document and of the one that has it, each with a
    /// number there.
    pub(crate) fn list_removed(
        &mut self,
        (key, number): (&str, &str),
        (first, first_number): (&str, &str),
    ) -> Result<()> {
        if !self.lists_duplicates() {
            return Ok(());
        }
        self.append_to_lists(&[key, number, first, first_number])
    }

    /// Writes a record to the rejects, which may begin with a byte order mark.
    pub(crate) fn reject(&mut self, raw: &[u8], may_have_mark: bool) -> Result<()> {
        let Some(file) = &mut self.rejects else { return Ok(()) };
        if !self.lists_files {
            return file.append_record(raw, may_have_mark).map(drop);
        }
        match listed_path(raw, self.job.nul_ended) {
            Some(line) => file.append_path(&line).map(drop),
            None => {
                self.unlisted_rejects.push(path_of_line(raw).to_path_buf());
                Ok(())
            }
        }
    }

    /// The files whose paths no list of lines can hold.
    pub(crate) fn unlisted(&self) -> Vec<PathBuf> {
        let of_output = self.documents.as_ref().map(DocumentWriter::unlisted).unwrap_or_default();
        [of_output, &self.unlisted_rejects].concat()
    }

    /// A sentence about chosen fields that no document of this run had.
    pub(crate) fn absent_fields(&self) -> Option<String> {
        let absent = self.absent_fields.as_deref().filter(|absent| !absent.is_empty())?;
        Some(format!("fields: no written document has {}", absent.join(", ")))
    }
}

/// Creates the file of documents, or resumes one.
fn open_documents(
    job: &FileJob,
    shape: &OutputShape,
    written: Option<Written>,
    options: WriterOptions,
) -> Result<DocumentWriter> {
    match written.filter(|_| job.output != Path::new("-")) {
        Some(written) => {
            DocumentWriter::resume_shaped(&job.output, written, shape, options).map_err(cannot_resume)
        }
        None => DocumentWriter::create_shaped(&job.output, shape, options),
    }
}

/// Creates a file of lines, or resumes one.
fn open_lines(path: Option<&Path>, written: Option<Written>, is_resumable: bool) -> Result<Option<LineFile>> {
    let Some(path) = path else { return Ok(None) };
    let opened = match written.filter(|_| path != Path::new("-")) {
        Some(written) => LineFile::resume(path, written).map_err(cannot_resume),
        None if is_resumable => LineFile::create_resumable(path),
        None => LineFile::create(path),
    };
    opened.map(|file| Some(file.ignore_broken_pipes()))
}

/// What is to be added to a document.
fn added_values<'r>(
    (job, counts_copies): (&FileJob, bool),
    cleaner: &mut AnyFingerprinter,
    record: &'r Record,
    text: Option<&str>,
    fingerprint: Option<AnyFingerprint>,
    of: Option<&'r Original>,
) -> Vec<FieldValue<'r>> {
    let mut values = Vec::new();
    if let Some(fingerprint) = fingerprint.filter(|_| job.added.fingerprint.is_some()) {
        values.push(FieldValue::Text(fingerprint.to_string().into()));
    }
    if job.added.key.is_some() {
        values.push(FieldValue::Text(record.key.as_str().into()));
    }
    if job.added.text.is_some() {
        let text = text.unwrap_or(&record.text);
        values.push(FieldValue::Text(cleaner.cleaned(text).trim().to_string().into()));
    }
    if job.annotate {
        values.extend(match of {
            Some(Original { key, similarity, is_copy, .. }) => {
                let key = FieldValue::Text(key.into());
                let exact = if counts_copies { FieldValue::Flag(*is_copy) } else { FieldValue::Missing };
                [key.clone(), key, FieldValue::Number((similarity * 1e4).round() / 1e4), exact]
            }
            None => {
                let own = FieldValue::Text(record.key.as_str().into());
                [FieldValue::Missing, own, FieldValue::Missing, FieldValue::Missing]
            }
        });
    }
    values
}

/// An output of an unfinished run cannot be opened.
pub(crate) fn cannot_resume(error: Error) -> Error {
    ResumeProblem::Output(Box::new(error)).into()
}
