//! Lists files under folders, and computes the fingerprints of those that are texts.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nearprint::Fingerprint;
use nearprint::internal as parallel;
use nearprint::{Error, Result};
use nearprint_text::dedup::Confirm;
use nearprint_text::documents::{looks_binary, looks_compressed, open_regular, text_of_file};
use nearprint_text::recipe::{Features, Fingerprinter};
use rustix::io::Errno;
use xxhash_rust::xxh3::xxh3_128;

use super::ignored::Ignored;
use crate::terminal::progress::Bars;

/// Files per item of work.
const CHUNK_FILES: usize = 32;
/// Bytes that decide whether a file is binary.
const HEAD_BYTES: u64 = 8192;

/// The texts among the files, and how many files are something else.
pub(super) struct ScannedFiles<F> {
    /// Sorted by path.
    pub(super) texts: Vec<TextFile<F>>,
    pub(super) num_binary: usize,
    pub(super) num_empty: usize,
    /// Texts with too few tokens or features, or without any token.
    pub(super) num_short: usize,
    /// Those of the texts that have no feature: only texts with the same tokens are near them.
    pub(super) num_featureless: usize,
    pub(super) num_large: usize,
    /// Files whose names are on the list.
    pub(super) num_ignored: usize,
    /// A message for each file and folder that cannot be read.
    pub(super) unreadable: Vec<String>,
    /// The total length of all texts, including short ones.
    pub(super) len_bytes: u64,
}

/// A text file with its fingerprint.
pub(super) struct TextFile<F> {
    pub(super) path: PathBuf,
    /// As a deduplication stores it.
    pub(super) fingerprint: F,
    /// Empty if they are not compared.
    pub(super) features: Features,
    pub(super) content: Content,
}

/// What a file has, as far as exact copies can be known by it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) len_bytes: u64,
    /// XXH3 of its bytes.
    pub(super) hash: u128,
}

impl<F> ScannedFiles<F> {
    /// The number of files that could be read.
    pub(super) fn num_files(&self) -> usize {
        self.texts.len() + self.num_binary + self.num_empty + self.num_short + self.num_large
    }
}

/// Reads all files under the paths, on all threads.
pub(super) fn scan_all<F: Fingerprint>(
    paths: &[PathBuf],
    ignored: &Ignored,
    reader: &FileReader<F>,
    threads: usize,
    bars: &Bars,
) -> Result<ScannedFiles<F>> {
    let found = list_files(paths, ignored)?;
    let total = found.files.len() as u64;
    let chunks: Vec<&[PathBuf]> = found.files.chunks(CHUNK_FILES).collect();
    let work = |chunk: usize, reader: &mut FileReader<F>, sink: parallel::Sink<'_, _>| {
        // The sink fails only after an interrupt, which `ordered` reports.
        let _ = sink(chunks[chunk].iter().map(|path| reader.read(path)).collect::<Vec<_>>());
        Ok(())
    };
    let mut scanned = ScannedFiles {
        texts: Vec::new(),
        num_binary: 0,
        num_empty: 0,
        num_short: 0,
        num_featureless: 0,
        num_large: 0,
        num_ignored: found.num_ignored,
        unreadable: found.unreadable,
        len_bytes: 0,
    };
    let mut paths = found.files.iter();
    parallel::ordered(
        threads,
        chunks.len(),
        || reader.clone(),
        work,
        |kinds| {
            kinds.into_iter().zip(paths.by_ref()).try_for_each(|(kind, path)| scanned.add(path, kind))?;
            let done = total - paths.len() as u64;
            bars.show(("reading", "files"), done, Some(total))
        },
    )?;
    Ok(scanned)
}

impl<F> ScannedFiles<F> {
    fn add(&mut self, path: &Path, kind: io::Result<FileKind<F>>) -> Result<()> {
        match kind {
            Ok(FileKind::Text { fingerprint, features, content, has_features }) => {
                self.num_featureless += usize::from(!has_features);
                self.len_bytes += content.len_bytes;
                self.texts.push(TextFile { path: path.to_path_buf(), fingerprint, features, content });
            }
            Ok(FileKind::Short { len_bytes }) => {
                self.len_bytes += len_bytes;
                self.num_short += 1;
            }
            Ok(FileKind::Binary) => self.num_binary += 1,
            Ok(FileKind::Empty) => self.num_empty += 1,
            Ok(FileKind::Large) => self.num_large += 1,
            Err(source) if is_shortage(&source) => return Err(Error::io("read", path)(source)),
            Err(source) => self.unreadable.push(io_message("read", path, source)),
        }
        Ok(())
    }
}

fn io_message(action: &'static str, path: &Path, source: io::Error) -> String {
    Error::io(action, path)(source).to_string()
}

/// The kind of a file.
enum FileKind<F> {
    Text { fingerprint: F, features: Features, content: Content, has_features: bool },
    Short { len_bytes: u64 },
    Binary,
    Empty,
    Large,
}

/// Which texts are left out.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) min_tokens: usize,
    pub(super) min_features: usize,
    pub(super) max_bytes: u64,
}

/// Reads files, and computes the fingerprints of texts.
#[derive(Clone)]
pub(super) struct FileReader<F> {
    fingerprinter: Fingerprinter<F>,
    limits: Limits,
    confirm: Option<Confirm>,
    /// The content of the current file.
    buffer: Vec<u8>,
}

impl<F: Fingerprint> FileReader<F> {
    /// A file is too large, too, if `confirm` cannot compare it.
    pub(super) fn new(fingerprinter: Fingerprinter<F>, limits: Limits, confirm: Option<Confirm>) -> Self {
        Self { fingerprinter, limits, confirm, buffer: Vec::new() }
    }

    fn read(&mut self, path: &Path) -> io::Result<FileKind<F>> {
        let mut file = open_regular(path)?;
        let bytes = &mut self.buffer;
        bytes.clear();
        (&mut file).take(HEAD_BYTES).read_to_end(bytes)?;
        if bytes.is_empty() {
            return Ok(FileKind::Empty);
        }
        if looks_binary(bytes) || looks_compressed(bytes) {
            return Ok(FileKind::Binary);
        }
        let Limits { min_tokens, min_features, max_bytes } = self.limits;
        if file.metadata()?.len() > max_bytes {
            return Ok(FileKind::Large);
        }
        file.take(max_bytes.saturating_add(1).saturating_sub(bytes.len() as u64)).read_to_end(bytes)?;
        let len_bytes = bytes.len() as u64;
        if len_bytes > max_bytes {
            return Ok(FileKind::Large);
        }
        let text = text_of_file(path, String::from_utf8_lossy(bytes));
        if self.confirm.is_some_and(|confirm| !confirm.accepts(&text)) {
            return Ok(FileKind::Large);
        }
        let found = self.fingerprinter.fingerprint(&text);
        // Nothing is near a text without tokens.
        if found.num_tokens < min_tokens.max(1) || found.num_features < min_features {
            return Ok(FileKind::Short { len_bytes });
        }
        let content = Content { len_bytes, hash: xxh3_128(bytes) };
        let (fingerprint, has_features) = (found.stored(""), found.num_features > 0);
        Ok(FileKind::Text { fingerprint, features: found.features, content, has_features })
    }
}

/// What is under the paths.
#[derive(Default)]
struct Found {
    /// Sorted, each file once.
    files: Vec<PathBuf>,
    num_ignored: usize,
    /// A message for each folder that cannot be read.
    unreadable: Vec<String>,
}

/// Lists the files under the paths. Follows a link only if it is one of the paths.
fn list_files(paths: &[PathBuf], ignored: &Ignored) -> Result<Found> {
    let mut found = Found::default();
    // Device and inode of the files so far, if one path may be inside another one.
    let mut visited = HashSet::new();
    for path in paths {
        let root = fs::metadata(path).map_err(Error::io("open", path))?;
        let mut add = |path: PathBuf, metadata: &fs::Metadata| {
            if metadata.is_file() && (paths.len() == 1 || visited.insert((metadata.dev(), metadata.ino()))) {
                found.files.push(path);
            }
        };
        if !root.is_dir() {
            // What is named is not ignored.
            add(path.clone(), &root);
            continue;
        }
        for entry in ignored.walk(path) {
            let read = entry.and_then(|entry| entry.metadata().map(|metadata| (entry.into_path(), metadata)));
            match read {
                Ok((path, metadata)) if metadata.is_file() && ignored.has(&path) => found.num_ignored += 1,
                Ok((path, metadata)) => add(path, &metadata),
                Err(error) if error.io_error().is_some_and(is_shortage) => {
                    return Err(listing_error(error, path));
                }
                Err(error) => found.unreadable.push(listing_message(error, path)),
            }
        }
    }
    found.files.sort_unstable();
    found.unreadable.sort_unstable();
    Ok(found)
}

/// Whether the process lacks something, so that other files cannot be read either.
fn is_shortage(error: &io::Error) -> bool {
    // A walk wraps the error of the system in one of its own.
    let wrapped = error.get_ref().and_then(|walk| walk.source()?.downcast_ref());
    let errno = Errno::from_io_error(wrapped.unwrap_or(error));
    errno.is_some_and(|errno| matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

fn listing_error(error: ignore::Error, path: &Path) -> Error {
    let source = error.into_io_error().unwrap_or_else(|| io::ErrorKind::Other.into());
    Error::io("list", path)(source)
}

/// The message of an error somewhere below `path`.
fn listing_message(error: ignore::Error, path: &Path) -> String {
    match error {
        ignore::Error::WithPath { path, err } => listing_message(*err, &path),
        ignore::Error::WithDepth { err, .. } => listing_message(*err, path),
        ignore::Error::Io(source) => io_message("list", path, source),
        other => other.to_string(),
    }
}
