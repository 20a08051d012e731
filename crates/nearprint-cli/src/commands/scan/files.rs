//! Lists files under folders, and computes the fingerprints of those that are texts.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nearprint::internal as parallel;
use nearprint::{Error, Result};
use nearprint::{Fingerprint, Options, Stage};
use nearprint_text::documents::looks_binary;
use nearprint_text::recipe::Fingerprinter;

/// Files per item of work.
const CHUNK_FILES: usize = 32;
/// Bytes that decide whether a file is binary.
const HEAD_BYTES: u64 = 8192;
/// Folders of version control. They hold old versions of files, mostly compressed.
const SKIPPED_FOLDERS: [&str; 3] = [".git", ".hg", ".svn"];

/// The texts among the files, and how many files are something else.
pub(super) struct ScannedFiles<F> {
    /// Sorted by path.
    pub(super) texts: Vec<TextFile<F>>,
    pub(super) num_binary: usize,
    pub(super) num_empty: usize,
    /// Texts with too few tokens.
    pub(super) num_short: usize,
    pub(super) num_large: usize,
    /// A message for each file and folder that cannot be read.
    pub(super) unreadable: Vec<String>,
    /// The total length of all texts, including short ones.
    pub(super) len_bytes: u64,
}

/// A text file with its fingerprint.
pub(super) struct TextFile<F> {
    pub(super) path: PathBuf,
    pub(super) fingerprint: F,
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
    reader: &FileReader<F>,
    options: &Options,
) -> Result<ScannedFiles<F>> {
    let (found, unreadable) = list_files(paths)?;
    let total = found.len() as u64;
    let chunks: Vec<&[PathBuf]> = found.chunks(CHUNK_FILES).collect();
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
        num_large: 0,
        unreadable,
        len_bytes: 0,
    };
    let mut paths = found.iter();
    parallel::ordered(
        options.num_threads(),
        chunks.len(),
        || reader.clone(),
        work,
        |kinds| {
            paths.by_ref().zip(kinds).for_each(|(path, kind)| scanned.add(path, kind));
            let done = total - paths.len() as u64;
            options.report(Stage::Fingerprinting, done, Some(total))
        },
    )?;
    Ok(scanned)
}

impl<F> ScannedFiles<F> {
    fn add(&mut self, path: &Path, kind: io::Result<FileKind<F>>) {
        match kind {
            Ok(FileKind::Text { fingerprint, len_bytes }) => {
                self.len_bytes += len_bytes;
                self.texts.push(TextFile { path: path.to_path_buf(), fingerprint });
            }
            Ok(FileKind::Short { len_bytes }) => {
                self.len_bytes += len_bytes;
                self.num_short += 1;
            }
            Ok(FileKind::Binary) => self.num_binary += 1,
            Ok(FileKind::Empty) => self.num_empty += 1,
            Ok(FileKind::Large) => self.num_large += 1,
            Err(source) => self.unreadable.push(io_message("read", path, source)),
        }
    }
}

fn io_message(action: &'static str, path: &Path, source: io::Error) -> String {
    Error::io(action, path)(source).to_string()
}

/// The kind of a file.
enum FileKind<F> {
    Text { fingerprint: F, len_bytes: u64 },
    Short { len_bytes: u64 },
    Binary,
    Empty,
    Large,
}

/// Reads files, and computes the fingerprints of texts.
#[derive(Clone)]
pub(super) struct FileReader<F> {
    fingerprinter: Fingerprinter<F>,
    min_tokens: usize,
    max_bytes: u64,
    /// The content of the current file.
    buffer: Vec<u8>,
}

impl<F: Fingerprint> FileReader<F> {
    pub(super) fn new(fingerprinter: Fingerprinter<F>, min_tokens: usize, max_bytes: usize) -> Self {
        Self { fingerprinter, min_tokens, max_bytes: max_bytes as u64, buffer: Vec::new() }
    }

    fn read(&mut self, path: &Path) -> io::Result<FileKind<F>> {
        let mut file = File::open(path)?;
        let bytes = &mut self.buffer;
        bytes.clear();
        (&mut file).take(HEAD_BYTES).read_to_end(bytes)?;
        if bytes.is_empty() {
            return Ok(FileKind::Empty);
        }
        if looks_binary(bytes) {
            return Ok(FileKind::Binary);
        }
        if file.metadata()?.len() > self.max_bytes {
            return Ok(FileKind::Large);
        }
        file.take(self.max_bytes.saturating_add(1).saturating_sub(bytes.len() as u64)).read_to_end(bytes)?;
        let len_bytes = bytes.len() as u64;
        if len_bytes > self.max_bytes {
            return Ok(FileKind::Large);
        }
        let found = self.fingerprinter.fingerprint(&String::from_utf8_lossy(bytes));
        Ok(match found.num_tokens >= self.min_tokens {
            true => FileKind::Text { fingerprint: found.value, len_bytes },
            false => FileKind::Short { len_bytes },
        })
    }
}

/// Lists the files under the paths, sorted and each file once. Also returns a message for each
/// folder that cannot be read. Follows a link only if it is one of the paths.
fn list_files(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<String>)> {
    let mut walk = Walk { may_overlap: paths.len() > 1, ..Walk::default() };
    for path in paths {
        let metadata = fs::metadata(path).map_err(Error::io("open", path))?;
        walk.visit(path.clone(), &metadata);
        while let Some(folder) = walk.folders.pop() {
            if let Err(source) = walk.list_folder(&folder) {
                walk.unreadable.push(io_message("list", &folder, source));
            }
        }
    }
    walk.files.sort_unstable();
    walk.unreadable.sort_unstable();
    Ok((walk.files, walk.unreadable))
}

/// A traversal of folders.
#[derive(Default)]
struct Walk {
    /// Folders that are not listed yet.
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    /// Whether one path may be inside another one.
    may_overlap: bool,
    /// Device and inode of the files so far, if paths may overlap.
    visited: HashSet<(u64, u64)>,
    unreadable: Vec<String>,
}

impl Walk {
    fn list_folder(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if SKIPPED_FOLDERS.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            match entry.metadata() {
                Ok(metadata) => self.visit(entry.path(), &metadata),
                Err(source) => self.unreadable.push(io_message("open", &entry.path(), source)),
            }
        }
        Ok(())
    }

    fn visit(&mut self, path: PathBuf, metadata: &fs::Metadata) {
        if metadata.is_dir() {
            self.folders.push(path);
        } else if metadata.is_file()
            && (!self.may_overlap || self.visited.insert((metadata.dev(), metadata.ino())))
        {
            self.files.push(path);
        }
    }
}
