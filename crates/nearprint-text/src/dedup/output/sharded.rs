//! Writes an output of several files in one folder.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nearprint::internal::file::refuse_device;

use crate::dedup::job::{FileDigest, ShardState, Shards, with_file};
use crate::documents::{
    Compression, DocumentWriter, FieldValue, Format, OutputFile, OutputShape, Record, WriterOptions, Written,
};
use crate::error::{Error, OutputProblem, Result};

/// The most files that are ended and wait for a checkpoint to get their names.
const MAX_ENDED: usize = 64;

/// The files of an output.
pub(crate) struct ShardedOutput {
    shards: Shards,
    targets: Vec<PathBuf>,
    shape: OutputShape,
    options: WriterOptions,
    /// The files that are not ended: one, or all of [`Shards::Into`].
    open: Vec<DocumentWriter>,
    /// The files that are ended and wait for a checkpoint.
    ended: Vec<OutputFile>,
    state: ShardState,
}

impl ShardedOutput {
    /// Opens the files where a checkpoint says that they were written to, or creates them.
    pub(crate) fn open(
        shards: Shards,
        targets: Vec<PathBuf>,
        (shape, options): (OutputShape, WriterOptions),
        unfinished: Option<&ShardState>,
    ) -> Result<Self> {
        let state = unfinished.cloned().unwrap_or_default();
        // Those that were ended before the checkpoint may have their names; the others have none yet.
        refuse_existing(&targets[state.begun - state.open.len()..])?;
        for (place, content) in &state.ended {
            if OutputFile::would_replace(&targets[*place], content.written()) {
                refuse_existing(std::slice::from_ref(&targets[*place]))?;
            }
        }
        for (place, content) in &state.ended {
            OutputFile::complete_written(&targets[*place], content.written())?;
        }
        let mut output = Self { shards, targets, shape, options, open: Vec::new(), ended: Vec::new(), state };
        output.state.ended.clear();
        let first = output.state.begun - output.state.open.len();
        for (place, content) in (first..).zip(std::mem::take(&mut output.state.open)) {
            let (path, options) = (&output.targets[place], output.options.clone());
            let writer = DocumentWriter::resume_shaped(path, content.written(), &output.shape, options);
            output.open.push(writer?);
        }
        if matches!(shards, Shards::Into(_)) {
            // Without inputs there are none.
            while output.state.begun < output.targets.len() {
                output.begin_next()?;
            }
        }
        Ok(output)
    }

    fn begin_next(&mut self) -> Result<()> {
        let path = &self.targets[self.state.begun];
        let resumable = self.options.resumable && self.resumes_inside();
        let options = WriterOptions { resumable, ..self.options.clone() };
        self.open.push(DocumentWriter::create_shaped(path, &self.shape, options)?);
        self.state.begun += 1;
        Ok(())
    }

    /// Takes one step towards the file of an input. False if it is open.
    pub(crate) fn step_to(&mut self, source: usize) -> Result<bool> {
        if self.shards != Shards::ByInput || self.state.begun > source {
            return Ok(false);
        }
        match self.open.is_empty() {
            true => self.begin_next()?,
            false => self.end_first()?,
        }
        Ok(true)
    }

    /// Takes one step towards the end of all files. False if they are ended.
    pub(crate) fn step_to_end(&mut self) -> Result<bool> {
        if !self.open.is_empty() {
            self.end_first()?;
            return Ok(true);
        }
        match self.state.begun < self.targets.len() {
            true => self.begin_next().map(|()| true),
            false => Ok(false),
        }
    }

    /// Ends the file that was begun first. With a database it gets its name after the next checkpoint.
    fn end_first(&mut self) -> Result<()> {
        let place = self.state.begun - self.open.len();
        let mut writer = self.open.remove(0);
        let known = self.options.resumable && !writer.is_made_at_the_end();
        let written = if known { writer.flush_and_sync()? } else { Written::default() };
        let Some(mut file) = writer.end()? else { return Ok(()) };
        if !self.options.resumable {
            return file.complete();
        }
        let content = FileDigest::from(written);
        let content = if content.has_digest() { content } else { FileDigest::from(file.written()?) };
        file.keep();
        self.state.all = Some(with_file(self.state.all.as_ref(), &self.targets[place], content.written()));
        self.state.ended.push((place, content));
        self.ended.push(file);
        Ok(())
    }

    /// Whether files wait for a checkpoint, and many do.
    pub(crate) fn has_many_ended(&self) -> bool {
        self.ended.len() >= MAX_ENDED
    }

    /// Whether a checkpoint may be made now.
    pub(crate) fn can_resume(&self) -> bool {
        self.open.is_empty() || self.resumes_inside()
    }

    /// Whether a run resumes inside of a file. Files of Parquet for each input are written again instead.
    fn resumes_inside(&self) -> bool {
        self.shards != Shards::ByInput || self.shape.format() != Format::Parquet
    }

    /// Whether the bytes of a file depend on when it is made durable.
    pub(crate) fn ends_members(&self) -> bool {
        let is_compressed = |path: &PathBuf| Compression::of(path).is_some();
        self.options.resumable && self.targets.iter().any(is_compressed)
    }

    /// Writes a document of the input whose file is open.
    pub(crate) fn write(
        &mut self,
        record: &Record,
        text: Option<&str>,
        values: &[FieldValue<'_>],
    ) -> Result<()> {
        let place = usize::try_from(self.state.documents % self.open.len().max(1) as u64).unwrap_or(0);
        self.state.documents += 1;
        let Some(writer) = self.open.get_mut(place) else { return Ok(()) };
        match text {
            Some(text) => writer.append_with_text(record, text, values),
            None => writer.append(record, values),
        }
        .map(drop)
    }

    /// Makes the files durable.
    pub(crate) fn sync(&mut self) -> Result<ShardState> {
        self.ended.iter().try_for_each(OutputFile::sync)?;
        let written = self.open.iter_mut().map(DocumentWriter::flush_and_sync);
        let open = written.map(|written| written.map(FileDigest::from)).collect::<Result<_>>()?;
        Ok(ShardState { open, ..self.state.clone() })
    }

    /// Gives ended files their names, after a checkpoint that has them.
    pub(crate) fn complete_ended(&mut self) -> Result<()> {
        self.state.ended.clear();
        self.ended.drain(..).try_for_each(OutputFile::complete)
    }
}

/// Checks that there are no files yet.
///
/// # Errors
/// [`Error::Output`] with [`ShardExists`](OutputProblem::ShardExists).
pub(crate) fn refuse_existing(targets: &[PathBuf]) -> Result<()> {
    match targets.iter().find(|path| path.symlink_metadata().is_ok()) {
        Some(path) => Err(OutputProblem::ShardExists { path: path.clone() }.into()),
        None => Ok(()),
    }
}

/// Makes the folders of files. Files that are there stay.
///
/// # Errors
/// [`Error::Output`] if the folder is inside an input; [`Error::Engine`] with
/// [`InsideDatabase`](nearprint::Error::InsideDatabase), [`DeviceName`](nearprint::Error::DeviceName) or an I/O error.
pub(crate) fn make_folders(
    folder: &Path,
    targets: &[PathBuf],
    inputs: &[PathBuf],
    databases: &[&Path],
) -> Result<()> {
    refuse_device(folder)?;
    let whole = place_of(folder).map_err(Error::io("create", folder))?;
    let is_inside = |input: &PathBuf| {
        let input = input.is_dir().then(|| input.canonicalize().ok()).flatten();
        input.is_some_and(|input| whole.starts_with(input))
    };
    if inputs.iter().any(is_inside) {
        return Err(OutputProblem::IsInput { output: format!("output {}", folder.display()) }.into());
    }
    for database in databases {
        if whole.starts_with(place_of(database).map_err(Error::io("open", database))?) {
            return Err(nearprint::Error::InsideDatabase { path: folder.to_path_buf() }.into());
        }
    }
    let parents: HashSet<&Path> = targets.iter().filter_map(|target| target.parent()).collect();
    let mut all = parents.into_iter().chain([folder]);
    all.try_for_each(|path| fs::create_dir_all(path).map_err(Error::io("create", path)))
}

/// The absolute form of a path, without links as far as it exists.
fn place_of(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let existing = path.ancestors().find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    Ok(existing.map_or_else(
        || path.clone(),
        |(folder, found)| path.strip_prefix(folder).map_or(found.clone(), |rest| found.join(rest)),
    ))
}
