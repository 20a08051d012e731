//! An output of several files in one folder.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use nearprint::internal::file::refuse_device;
use xxhash_rust::xxh3::Xxh3;

use super::checkpoint::{FileDigest, ShardState};
use crate::documents::{
    Compression, DocumentWriter, FieldValue, Format, InputFile, OutputFile, OutputShape, Record,
    WriterOptions, Written,
};
use crate::error::{Error, OutputProblem, Result};

/// The most files that are ended and wait for a checkpoint to get their names.
const MAX_ENDED: usize = 64;

/// How an output is split into files of one folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shards {
    /// A file for each input, with its name, below the folder that was named as the input.
    ByInput,
    /// This many files of about the same number of documents, `part-00000-of-00004.jsonl` and so on: each
    /// document goes to the next one in turn. They are compressed as the first input is.
    Into(u32),
}

impl Shards {
    /// How an output is split: into so many files; without a number one for each input, if it is a folder or its
    /// name ends with `/`; otherwise it is one file.
    #[must_use]
    pub fn of(output: &Path, count: Option<u32>) -> Option<Self> {
        let is_folder = output.as_os_str().as_encoded_bytes().ends_with(b"/") || output.is_dir();
        count.map(Self::Into).or(is_folder.then_some(Self::ByInput))
    }
}

/// The files of an output.
pub(super) struct ShardedOutput {
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
    pub(super) fn open(
        shards: Shards,
        targets: Vec<PathBuf>,
        (shape, options): (OutputShape, WriterOptions),
        unfinished: Option<&ShardState>,
    ) -> Result<Self> {
        let state = unfinished.cloned().unwrap_or_default();
        let not_ours = if shards == Shards::ByInput { state.begun } else { 0 };
        refuse_existing(&targets[not_ours..])?;
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
        if let Shards::Into(count) = shards {
            while output.state.begun < count as usize {
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
    pub(super) fn step_to(&mut self, source: usize) -> Result<bool> {
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
    pub(super) fn step_to_end(&mut self) -> Result<bool> {
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
    pub(super) fn has_many_ended(&self) -> bool {
        self.ended.len() >= MAX_ENDED
    }

    /// Whether a checkpoint may be made now.
    pub(super) fn can_resume(&self) -> bool {
        self.open.is_empty() || self.resumes_inside()
    }

    /// Whether a run resumes inside of a file. Files of Parquet for each input are written again instead.
    fn resumes_inside(&self) -> bool {
        self.shards != Shards::ByInput || self.shape.format() != Format::Parquet
    }

    /// Whether the bytes of a file depend on when it is made durable.
    pub(super) fn ends_members(&self) -> bool {
        let is_compressed = |path: &PathBuf| Compression::of(path).is_some();
        self.options.resumable && self.targets.iter().any(is_compressed)
    }

    /// Writes a document of the input whose file is open.
    pub(super) fn write(
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
    pub(super) fn sync(&mut self) -> Result<ShardState> {
        self.ended.iter().try_for_each(OutputFile::sync)?;
        let written = self.open.iter_mut().map(DocumentWriter::flush_and_sync);
        let open = written.map(|written| written.map(FileDigest::from)).collect::<Result<_>>()?;
        Ok(ShardState { open, ..self.state.clone() })
    }

    /// Gives ended files their names, after a checkpoint that has them.
    pub(super) fn complete_ended(&mut self) -> Result<()> {
        self.state.ended.clear();
        self.ended.drain(..).try_for_each(OutputFile::complete)
    }
}

/// Checks that there are no files yet.
///
/// # Errors
/// [`Error::Output`] with [`ShardExists`](OutputProblem::ShardExists).
pub(super) fn refuse_existing(targets: &[PathBuf]) -> Result<()> {
    match targets.iter().find(|path| path.symlink_metadata().is_ok()) {
        Some(path) => Err(OutputProblem::ShardExists { path: path.clone() }.into()),
        None => Ok(()),
    }
}

/// The digest of files with one more.
fn with_file(before: Option<&FileDigest>, path: &Path, file: Written) -> FileDigest {
    let before = before.map(FileDigest::written).unwrap_or_default();
    let mut hash = Xxh3::new();
    hash.update(&before.digest.to_le_bytes());
    hash.update(path.file_name().unwrap_or_default().as_encoded_bytes());
    hash.update(&file.digest.to_le_bytes());
    Written { len_bytes: before.len_bytes + file.len_bytes, digest: hash.digest128() }.into()
}

/// The digest of the files as they are now.
pub(super) fn digest_of_all(targets: &[PathBuf]) -> io::Result<Option<FileDigest>> {
    let mut all = None;
    for path in targets {
        all = Some(with_file(all.as_ref(), path, crate::documents::digest_of(path)?));
    }
    Ok(all)
}

/// The paths of all files below a folder.
///
/// # Errors
/// [`Error::Output`] if two of them would be the same, if an input has no name, or if records are whole files.
pub(super) fn targets(
    folder: &Path,
    shards: Shards,
    inputs: &[InputFile],
    format: Format,
) -> Result<Vec<PathBuf>> {
    if format == Format::Text {
        return Err(OutputProblem::ShardsOfFiles { path: folder.to_path_buf() }.into());
    }
    if let Shards::Into(count) = shards {
        let first = inputs.first().map(|input| &*input.path).filter(|path| *path != Path::new("-"));
        let end = first.map_or(String::new(), |path| extensions(path, format));
        let end = if end.is_empty() { format!(".{}", format.extension()) } else { end };
        return Ok((0..count).map(|at| folder.join(format!("part-{at:05}-of-{count:05}{end}"))).collect());
    }
    let mut known = HashSet::new();
    inputs
        .iter()
        .map(|input| {
            let name = &input.name_in_folder;
            let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
            if input.path == Path::new("-") || name.as_os_str().is_empty() || !is_plain {
                return Err(OutputProblem::ShardWithoutName { input: input.path.clone() }.into());
            }
            if !known.insert(name.clone()) {
                return Err(OutputProblem::ShardsOfOneName { input: input.path.clone() }.into());
            }
            Ok(folder.join(name))
        })
        .collect()
}

/// The extensions of a file: of its format, and of a compression that is written.
fn extensions(path: &Path, format: Format) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let compression = Compression::of(path).filter(|compression| compression.is_written());
    let bare = Compression::strip(&name);
    let own = match Path::new(bare).extension() {
        Some(extension) if Format::of(Path::new(bare)) == format => extension.to_string_lossy().into_owned(),
        _ => format.extension().to_string(),
    };
    let compressed = compression.map_or("", |_| name.strip_prefix(bare).unwrap_or_default());
    format!(".{own}{compressed}")
}

/// Makes the folders of files. Files that are there stay.
///
/// # Errors
/// [`Error::Output`] if the folder is inside an input; [`Error::Engine`] with
/// [`DeviceName`](nearprint::Error::DeviceName) or an I/O error.
pub(super) fn make_folders(folder: &Path, targets: &[PathBuf], inputs: &[PathBuf]) -> Result<()> {
    refuse_device(folder)?;
    let whole = std::path::absolute(folder).map_err(Error::io("create", folder))?;
    let existing = whole.ancestors().find_map(|path| path.canonicalize().ok());
    let is_inside = |input: &PathBuf| {
        let input = input.is_dir().then(|| input.canonicalize().ok()).flatten();
        existing.as_ref().zip(input).is_some_and(|(existing, input)| existing.starts_with(input))
    };
    if inputs.iter().any(is_inside) {
        return Err(OutputProblem::IsInput { output: format!("output {}", folder.display()) }.into());
    }
    let parents: HashSet<&Path> = targets.iter().filter_map(|target| target.parent()).collect();
    let mut all = parents.into_iter().chain([folder]);
    all.try_for_each(|path| fs::create_dir_all(path).map_err(Error::io("create", path)))
}
