//! What a job is to write: checked before anything is forgotten, created or opened.

use std::path::{Path, PathBuf};

use super::sharded::{self, refuse_existing};
use crate::dedup::job::{Added, FileJob, GROUP_SIZE, Shards};
use crate::documents::internal::{ListFormat, check_rejects};
use crate::documents::{
    AddedField, DocumentWriter, InputFile, OutputFile, OutputShape, Reader, WriterOptions, check_outputs,
};
use crate::error::{OutputProblem, Result};

/// The fields of annotated documents.
const DUPLICATE_OF: &str = "duplicate_of";
const GROUP: &str = "group";
const SIMILARITY: &str = "similarity";
const COPY: &str = "copy";

/// The files that a job is to write. They are no inputs and not the program that reads these, and their folders exist.
pub(crate) struct OutputPlan {
    /// How an output is split into files, and their paths.
    pub(crate) shards: Option<(Shards, Vec<PathBuf>)>,
    pub(crate) options: WriterOptions,
}

impl OutputPlan {
    /// Checks the outputs of a job, which overwrite neither files nor databases that are compared with. `None` in a
    /// dry run.
    pub(crate) fn new(
        job: &FileJob,
        reader: &Reader,
        (files, databases): (&[InputFile], &[PathBuf]),
        is_resumable: bool,
    ) -> Result<Option<Self>> {
        let format = reader.format();
        if job.trim.is_some() && !format.has_fields() {
            return Err(OutputProblem::NoFields { format: format.name() }.into());
        }
        if job.dry_run {
            return Ok(None);
        }
        let databases: Vec<&Path> = job.database.iter().chain(databases).map(PathBuf::as_path).collect();
        let shards = job.shards.zip(job.shard_targets(reader)?);
        let targets = shards.as_ref().map(|(_, targets)| &**targets).unwrap_or_default();
        if shards.is_some() {
            sharded::make_folders(&job.output, targets, &job.inputs, &databases)?;
        }
        let all = job.named_outputs().skip(usize::from(shards.is_some()));
        let all = targets.iter().map(|path| ("output", &**path)).chain(all);
        let inputs = reader.inputs().iter().chain(files).map(|input| &*input.path);
        let inputs: Vec<&Path> = inputs.chain([&*job.reader.pre.program]).collect();
        check_outputs(all, &inputs, &databases)?;
        Ok(Some(Self { shards, options: writer_options(job, is_resumable) }))
    }

    /// Checks that all files can be created, and changes none: an unfinished file of an interrupted job stays as
    /// it is.
    pub(crate) fn check_files(&self, job: &FileJob, shape: &OutputShape) -> Result<()> {
        let check = |path: &Path| DocumentWriter::check_shaped(path, shape, &self.options);
        match &self.shards {
            Some((_, targets)) => {
                refuse_existing(targets)?;
                targets.iter().try_for_each(|path| check(path))?;
            }
            None => check(&job.output)?,
        }
        let lines = [&job.duplicates, &job.rejects].into_iter().flatten();
        lines.filter(|path| *path != Path::new("-")).try_for_each(|path| OutputFile::check(path))
    }
}

/// Checks that what is written [besides](FileJob::beside) replaces no other output and nothing that is read.
pub(crate) fn check_beside(job: &FileJob) -> Result<()> {
    if job.beside.is_empty() {
        return Ok(());
    }
    let read = job.inputs.iter().chain(&job.against).chain([&job.reader.pre.program]);
    let databases: Vec<&Path> = job.database.iter().map(PathBuf::as_path).collect();
    check_outputs(job.written(), &read.map(PathBuf::as_path).collect::<Vec<_>>(), &databases)
}

/// Checks that the names of outputs denote what is written to them, and that what is written [besides](FileJob::beside)
/// is no file of a folder. A dry run writes none. An output that is an input or another output has another error.
pub(crate) fn check_names(job: &FileJob, reader: &Reader) -> Result<()> {
    if job.dry_run {
        return Ok(());
    }
    if job.shards.is_none() && !reader.reads(&job.output) {
        job.output_format(reader)?;
    }
    if !job.beside.is_empty() {
        // Nothing is written to a folder that is not there yet.
        let targets = job.shard_targets(reader)?.unwrap_or_default();
        let there = targets.iter().filter(|path| path.parent().is_some_and(Path::is_dir));
        let beside = job.beside.iter().map(|(name, path)| (*name, &**path));
        check_outputs(beside.chain(there.map(|path| ("output", &**path))), &[], &[])?;
    }
    let is_other = |path: &&Path| !reader.reads(path) && *path != &*job.output;
    let duplicates = job.duplicates.as_deref().filter(is_other);
    duplicates.map_or(Ok(()), ListFormat::check)?;
    job.rejects.as_deref().filter(is_other).map_or(Ok(()), check_rejects)
}

/// How the output is written, before anything is opened or created: whether it can have all columns. A dry run, too,
/// counts records as bad that it could not have.
pub(crate) fn shape_of(job: &FileJob, reader: &mut Reader) -> Result<OutputShape> {
    OutputShape::new(reader, job.output_format(reader)?, &writer_options(job, false))
}

fn writer_options(job: &FileJob, is_resumable: bool) -> WriterOptions {
    let mut options = WriterOptions::default();
    options.fields.clone_from(&job.fields);
    options.nested = job.nested;
    let Added { fingerprint, key, text } = &job.added;
    options.added.extend([fingerprint, key, text].into_iter().flatten().map(AddedField::text));
    if job.annotate {
        options.added.extend([AddedField::text(DUPLICATE_OF), AddedField::text(GROUP)]);
        options.added.extend([AddedField::number(SIMILARITY), AddedField::flag(COPY)]);
    }
    options.added.extend(job.group_size.then(|| AddedField::count(GROUP_SIZE)));
    // Texts are compared with those of the output, unless a database keeps them.
    let compares_output = !is_resumable && job.dedup.similarity_of_texts(&job.dedup.recipe).is_some();
    options.keep_texts = compares_output && !job.reads_twice() && job.trim.is_none() && job.shards.is_none();
    options.nul_ended = job.nul_ended;
    options.resumable = is_resumable;
    options
}
