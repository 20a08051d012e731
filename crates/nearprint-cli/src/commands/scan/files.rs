//! Which files are looked at, and what they are.

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

/// Files that a thread takes at once.
const FILES_AT_ONCE: usize = 32;
/// Bytes that tell whether a file is binary.
const HEAD_BYTES: u64 = 8192;
/// What version control keeps for itself: old versions of everything, mostly compressed.
const SKIPPED_FOLDERS: [&str; 3] = [".git", ".hg", ".svn"];

/// All files, by what they are.
pub(super) struct Looked<F> {
    /// By path.
    pub(super) texts: Vec<Text<F>>,
    pub(super) num_binary: usize,
    pub(super) num_empty: usize,
    /// Of too few tokens.
    pub(super) num_short: usize,
    pub(super) num_large: usize,
    /// What could not be read, and why.
    pub(super) unreadable: Vec<String>,
    /// Of the texts, the short ones included.
    pub(super) len_bytes: u64,
}

/// A file with a fingerprint.
pub(super) struct Text<F> {
    pub(super) path: PathBuf,
    pub(super) fingerprint: F,
}

impl<F> Looked<F> {
    /// All but those that could not be read.
    pub(super) fn num_files(&self) -> usize {
        self.texts.len() + self.num_binary + self.num_empty + self.num_short + self.num_large
    }
}

/// Looks at all files under paths, on all threads.
pub(super) fn look_at_all<F: Fingerprint>(
    paths: &[PathBuf],
    finder: &Finder<F>,
    options: &Options,
) -> Result<Looked<F>> {
    let (found, unreadable) = list(paths)?;
    let total = found.len() as u64;
    let chunks: Vec<&[PathBuf]> = found.chunks(FILES_AT_ONCE).collect();
    let work = |chunk: usize, finder: &mut Finder<F>, sink: parallel::Sink<'_, _>| {
        // Whoever wants no more has been interrupted.
        let _ = sink(chunks[chunk].iter().map(|path| finder.look(path)).collect::<Vec<_>>());
        Ok(())
    };
    let mut looked = Looked {
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
        || finder.clone(),
        work,
        |kinds| {
            paths.by_ref().zip(kinds).for_each(|(path, kind)| looked.add(path, kind));
            let done = total - paths.len() as u64;
            options.report(Stage::Fingerprinting, done, Some(total))
        },
    )?;
    Ok(looked)
}

impl<F> Looked<F> {
    fn add(&mut self, path: &Path, kind: io::Result<Kind<F>>) {
        match kind {
            Ok(Kind::Text { fingerprint, len_bytes }) => {
                self.len_bytes += len_bytes;
                self.texts.push(Text { path: path.to_path_buf(), fingerprint });
            }
            Ok(Kind::Short { len_bytes }) => {
                self.len_bytes += len_bytes;
                self.num_short += 1;
            }
            Ok(Kind::Binary) => self.num_binary += 1,
            Ok(Kind::Empty) => self.num_empty += 1,
            Ok(Kind::Large) => self.num_large += 1,
            Err(source) => self.unreadable.push(cannot("read", path, source)),
        }
    }
}

fn cannot(action: &'static str, path: &Path, source: io::Error) -> String {
    Error::io(action, path)(source).to_string()
}

/// What a file is.
enum Kind<F> {
    Text { fingerprint: F, len_bytes: u64 },
    Short { len_bytes: u64 },
    Binary,
    Empty,
    Large,
}

/// Finds out what files are.
#[derive(Clone)]
pub(super) struct Finder<F> {
    fingerprinter: Fingerprinter<F>,
    min_tokens: usize,
    max_bytes: u64,
    /// The file that is looked at.
    buffer: Vec<u8>,
}

impl<F: Fingerprint> Finder<F> {
    pub(super) fn new(fingerprinter: Fingerprinter<F>, min_tokens: usize, max_bytes: usize) -> Self {
        Self { fingerprinter, min_tokens, max_bytes: max_bytes as u64, buffer: Vec::new() }
    }

    fn look(&mut self, path: &Path) -> io::Result<Kind<F>> {
        let mut file = File::open(path)?;
        let bytes = &mut self.buffer;
        bytes.clear();
        (&mut file).take(HEAD_BYTES).read_to_end(bytes)?;
        if bytes.is_empty() {
            return Ok(Kind::Empty);
        }
        if looks_binary(bytes) {
            return Ok(Kind::Binary);
        }
        if file.metadata()?.len() > self.max_bytes {
            return Ok(Kind::Large);
        }
        file.take(self.max_bytes.saturating_add(1).saturating_sub(bytes.len() as u64)).read_to_end(bytes)?;
        let len_bytes = bytes.len() as u64;
        if len_bytes > self.max_bytes {
            return Ok(Kind::Large);
        }
        let found = self.fingerprinter.fingerprint(&String::from_utf8_lossy(bytes));
        Ok(match found.num_tokens >= self.min_tokens {
            true => Kind::Text { fingerprint: found.value, len_bytes },
            false => Kind::Short { len_bytes },
        })
    }
}

/// Lists the files under paths by path, each file once, and tells which folders cannot be read. Links are
/// followed only where they are one of the paths.
fn list(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<String>)> {
    let mut walk = Walk::default();
    for path in paths {
        let metadata = fs::metadata(path).map_err(Error::io("open", path))?;
        walk.visit(path.clone(), &metadata, paths.len() > 1);
        while let Some(folder) = walk.folders.pop() {
            if let Err(source) = walk.list_folder(&folder, paths.len() > 1) {
                walk.unreadable.push(cannot("list", &folder, source));
            }
        }
    }
    walk.files.sort_unstable();
    walk.unreadable.sort_unstable();
    Ok((walk.files, walk.unreadable))
}

#[derive(Default)]
struct Walk {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    /// Device and number of the files so far, where paths may lie within each other.
    known: HashSet<(u64, u64)>,
    unreadable: Vec<String>,
}

impl Walk {
    fn list_folder(&mut self, folder: &Path, may_meet_again: bool) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if SKIPPED_FOLDERS.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            match entry.metadata() {
                Ok(metadata) => self.visit(entry.path(), &metadata, may_meet_again),
                Err(source) => self.unreadable.push(cannot("open", &entry.path(), source)),
            }
        }
        Ok(())
    }

    fn visit(&mut self, path: PathBuf, metadata: &fs::Metadata, may_meet_again: bool) {
        if metadata.is_dir() {
            self.folders.push(path);
        } else if metadata.is_file()
            && (!may_meet_again || self.known.insert((metadata.dev(), metadata.ino())))
        {
            self.files.push(path);
        }
    }
}
