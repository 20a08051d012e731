//! An open input: its lines, what is wrong with them, and where.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::RowSink;
use crate::failure::{Failure, STDIN};
use nearprint::Error;
use nearprint_text::documents::Compression;
use nearprint_text::internal::open_compressed;

/// A longer line is refused: it would be held in memory whole.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// Bytes read at once.
const BUFFER_BYTES: usize = 1 << 18;

/// Why a line was not taken: it is wrong, or the sink failed.
pub(super) enum LineFailure {
    Wrong(String),
    Sink(Failure),
}

impl From<String> for LineFailure {
    fn from(why: String) -> Self {
        Self::Wrong(why)
    }
}

impl From<Failure> for LineFailure {
    fn from(failure: Failure) -> Self {
        Self::Sink(failure)
    }
}

/// An open input and where in it we are.
pub(super) struct Input {
    pub(super) name: PathBuf,
    pub(super) reader: BufReader<Box<dyn Read>>,
    line: u64,
}

impl Input {
    /// Opens a file, or standard input for `-`. What is named as compressed is decompressed; a file of another
    /// name is not looked into for that, since raw numbers may begin with anything.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self::new(STDIN.into(), io::stdin()));
        }
        if Compression::of(path).is_some() {
            return Ok(Self::new(path.to_path_buf(), open_compressed(path)?));
        }
        let failed = |source| Error::Io { action: "open", path: path.to_path_buf(), source };
        Ok(Self::new(path.to_path_buf(), File::open(path).map_err(failed)?))
    }

    fn new(name: PathBuf, reader: impl Read + 'static) -> Self {
        let reader: Box<dyn Read> = Box::new(reader);
        Self { name, reader: BufReader::with_capacity(BUFFER_BYTES, reader), line: 0 }
    }

    /// Bytes that are no file.
    #[cfg(any(test, fuzzing))]
    pub(super) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self::new("input".into(), io::Cursor::new(bytes))
    }

    /// Visits the lines, without their ends. Where `quoted`, a line goes on behind its end as long as
    /// a quotation mark is open.
    ///
    /// Blank lines are allowed at the end only: elsewhere they may stand for a fingerprint that is
    /// missing, and leaving them out would shift the ids of all that follow.
    pub(super) fn lines<F>(
        &mut self,
        quoted: bool,
        sink: &mut dyn RowSink<F>,
        mut visit: impl FnMut(&str, &mut dyn RowSink<F>) -> Result<(), LineFailure>,
    ) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        let mut blank = None;
        let mut next_line = 1;
        loop {
            if !self.reader.buffer().contains(&b'\n') {
                sink.idle()?;
            }
            self.line = next_line;
            bytes.clear();
            if !self.read_line(&mut bytes)? {
                return Ok(());
            }
            next_line += 1;
            while quoted && bytes.iter().filter(|&&byte| byte == b'"').count() % 2 == 1 {
                if !self.read_line(&mut bytes)? {
                    return Err(
                        self.bad("a quotation mark that is never closed", &String::from_utf8_lossy(&bytes))
                    );
                }
                next_line += 1;
            }
            let text = std::str::from_utf8(&bytes);
            let text = text.map_err(|_| self.bad("not UTF-8 text", &String::from_utf8_lossy(&bytes)))?;
            let text = if self.line == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
            let text = text.trim_end_matches(['\n', '\r']);
            if text.trim().is_empty() {
                blank = blank.or(Some(self.line));
                continue;
            }
            if let Some(line) = blank {
                return Err(Failure::line(self.name.display(), line, "an empty line among the others", ""));
            }
            visit(text, sink).map_err(|failure| match failure {
                LineFailure::Wrong(why) => self.bad(why, text),
                LineFailure::Sink(Failure::Engine(Error::Limit(what))) => self.bad(what, text),
                LineFailure::Sink(failure) => failure,
            })?;
        }
    }

    /// Appends a line with its end; false where there is none.
    fn read_line(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Failure> {
        let room = MAX_LINE_BYTES - bytes.len() as u64;
        let read = (&mut self.reader).take(room).read_until(b'\n', bytes);
        let len = read.map_err(|source| self.unreadable(source))?;
        if len as u64 == room && bytes.last() != Some(&b'\n') {
            let why = format!("a line of more than {} MiB", MAX_LINE_BYTES >> 20);
            return Err(self.bad(why, &String::from_utf8_lossy(&bytes[..1000])));
        }
        Ok(len > 0)
    }

    pub(super) fn bad(&self, why: impl std::fmt::Display, text: &str) -> Failure {
        Failure::line(self.name.display(), self.line, why, text)
    }

    /// What kept bytes from being read: the system, or what a decompressor has to say.
    pub(super) fn unreadable(&self, source: io::Error) -> Failure {
        match source.downcast::<nearprint_text::Error>() {
            Ok(error) => error.into(),
            Err(source) => Error::Io { action: "read", path: self.name.clone(), source }.into(),
        }
    }
}
