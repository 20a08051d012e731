//! How an output is split into files of one folder, and what these files are called.

use std::collections::HashSet;
use std::io;
use std::path::{Component, Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::checkpoint::FileDigest;
use crate::documents::{Compression, Format, InputFile, Written, format_of_name};
use crate::error::{OutputProblem, Result};

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
    /// How an output is split: into a file for each input, if it is a folder or its name ends with `/`; otherwise it is
    /// one file.
    #[must_use]
    pub fn of(output: &Path) -> Option<Self> {
        let is_folder = output.as_os_str().as_encoded_bytes().ends_with(b"/") || output.is_dir();
        is_folder.then_some(Self::ByInput)
    }
}

/// The digest of files with one more.
pub(crate) fn with_file(before: Option<&FileDigest>, path: &Path, file: Written) -> FileDigest {
    let before = before.map(FileDigest::written).unwrap_or_default();
    let mut hash = Xxh3::new();
    hash.update(&before.digest.to_le_bytes());
    hash.update(path.file_name().unwrap_or_default().as_encoded_bytes());
    hash.update(&file.digest.to_le_bytes());
    Written { len_bytes: before.len_bytes + file.len_bytes, digest: hash.digest128() }.into()
}

/// The digest of the files as they are now.
pub(crate) fn digest_of_all(targets: &[PathBuf]) -> io::Result<Option<FileDigest>> {
    let mut all = None;
    for path in targets {
        all = Some(with_file(all.as_ref(), path, crate::documents::digest_of(path)?));
    }
    Ok(all)
}

/// The paths of all files below a folder; none without inputs.
///
/// # Errors
/// [`Error::Output`] if two of them would be the same, if an input has no name, or if records are whole files.
pub(crate) fn targets(
    folder: &Path,
    shards: Shards,
    inputs: &[InputFile],
    (format, written): (Format, Format),
) -> Result<Vec<PathBuf>> {
    if inputs.is_empty() {
        return Ok(Vec::new());
    }
    if format == Format::Text {
        return Err(OutputProblem::ShardsOfFiles { path: folder.to_path_buf() }.into());
    }
    if let Shards::Into(count) = shards {
        let first = inputs.first().map(|input| &*input.path).filter(|path| *path != Path::new("-"));
        let end = first.map_or(String::new(), |path| extensions(path, (format, written)).1);
        let end = if end.is_empty() { format!(".{}", written.extension()) } else { end };
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
            let name = match format == written {
                true => name.clone(),
                false => {
                    let (stem, end) = extensions(name, (format, written));
                    name.with_file_name(stem + &end)
                }
            };
            if !known.insert(name.clone()) {
                return Err(OutputProblem::ShardsOfOneName { input: input.path.clone() }.into());
            }
            Ok(folder.join(name))
        })
        .collect()
}

/// The name of a file without its extensions, and those of what is written: of the format, and of a compression that is
/// written. `format` is that of the file.
fn extensions(path: &Path, (format, written): (Format, Format)) -> (String, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let compression = Compression::of(path).filter(|compression| compression.is_written());
    let bare = Compression::strip(&name);
    let known = Path::new(bare).extension().filter(|_| format_of_name(Path::new(bare)) == format);
    let stem = known.and_then(|_| Some(bare.rsplit_once('.')?.0)).unwrap_or(bare);
    let own = match known {
        Some(extension) if written == format => extension.to_string_lossy().into_owned(),
        _ => written.extension().to_string(),
    };
    // Parquet compresses by itself.
    let is_compressed = compression.is_some() && written != Format::Parquet;
    let compressed = if is_compressed { name.strip_prefix(bare).unwrap_or_default() } else { "" };
    (stem.to_string(), format!(".{own}{compressed}"))
}
