//! An open input: its lines, and errors that name the place.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::rows::{LineError, RowSink};
use crate::terminal::STDIN;
use crate::terminal::failure::Failure;
use nearprint::Error;
use nearprint_text::documents::Compression;
use nearprint_text::internal::{RecordScan, Stdin, open_decompressed};

/// Longer lines are refused, because a line is held in memory.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// Bytes per read call.
const BUFFER_BYTES: usize = 1 << 18;

/// An open input, and the position in it.
pub(super) struct InputStream {
    /// The path in messages.
    pub(super) name: PathBuf,
    pub(super) reader: BufReader<Box<dyn Read>>,
    /// The current line, counted from 1.
    line: u64,
    /// A line that was looked at, with its end.
    peeked: Vec<u8>,
}

impl InputStream {
    /// Opens a file, or standard input for `-`, and decompresses what begins like compressed data.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let name = if path == Path::new("-") { STDIN.into() } else { path.to_path_buf() };
        Ok(Self::new(name, open_decompressed(path)?))
    }

    /// The same for raw numbers, which may begin with any bytes: the name alone says that a file is
    /// compressed.
    pub(super) fn open_raw(path: &Path) -> Result<Self, Failure> {
        if Compression::of(path).is_some() {
            return Self::open(path);
        }
        if path == Path::new("-") {
            return Ok(Self::new(STDIN.into(), Stdin::default()));
        }
        let failed = |source| Error::Io { action: "open", path: path.to_path_buf(), source };
        Ok(Self::new(path.to_path_buf(), File::open(path).map_err(failed)?))
    }

    fn new(name: PathBuf, reader: impl Read + 'static) -> Self {
        let reader: Box<dyn Read> = Box::new(reader);
        Self { name, reader: BufReader::with_capacity(BUFFER_BYTES, reader), line: 0, peeked: Vec::new() }
    }

    /// An input in memory.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self::new("input".into(), io::Cursor::new(bytes))
    }

    /// Visits the lines, without their ends. If `is_quoted`, they are records of CSV: a line end in a quoted cell
    /// belongs to the line.
    ///
    /// Blank lines are allowed only at the end. Elsewhere a blank line may stand for a missing
    /// fingerprint, and skipping it would shift the ids of all following rows.
    pub(super) fn for_each_line(
        &mut self,
        is_quoted: bool,
        sink: &mut dyn RowSink,
        mut visit: impl FnMut(&str, &mut dyn RowSink) -> Result<(), LineError>,
    ) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        let mut blank = None;
        let mut next_line = self.line + 1;
        loop {
            if self.peeked.is_empty() && !self.reader.buffer().contains(&b'\n') {
                sink.idle()?;
            }
            self.line = next_line;
            bytes.clear();
            if !self.read_line(&mut bytes)? {
                return Ok(());
            }
            next_line += 1;
            let mut scan = RecordScan::of_csv(b',');
            while is_quoted && scan.end(&bytes).is_none() && scan.is_open(&bytes) {
                if !self.read_line(&mut bytes)? {
                    let text = String::from_utf8_lossy(&bytes);
                    return Err(self.bad_line("a quotation mark that is never closed", &text));
                }
                next_line += 1;
            }
            let text = std::str::from_utf8(&bytes);
            let text = text.map_err(|_| self.bad_line("not UTF-8 text", &String::from_utf8_lossy(&bytes)))?;
            let text = if self.line == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
            let text = text.trim_end_matches(['\n', '\r']);
            if text.trim().is_empty() {
                blank = blank.or(Some(self.line));
                continue;
            }
            if let Some(line) = blank {
                return Err(Failure::at_line(
                    self.name.display(),
                    line,
                    "an empty line among the others",
                    "",
                ));
            }
            visit(text, sink).map_err(|failure| match failure {
                LineError::Malformed(why) => self.bad_line(why, text),
                LineError::Sink(Failure::Engine(Error::Limit(limit))) => self.bad_line(limit, text),
                LineError::Sink(failure) => failure,
            })?;
        }
    }

    /// Replaces `bytes` by the bytes up to the next `end`, inclusive. Returns false at the end of the
    /// input.
    pub(super) fn next_piece(&mut self, end: u8, bytes: &mut Vec<u8>) -> Result<bool, Failure> {
        self.line += 1;
        bytes.clear();
        self.read_until(end, bytes)
    }

    /// The next line without its end, which stays unread. Empty at the end of the input.
    pub(super) fn peek_line(&mut self) -> Result<String, Failure> {
        if self.peeked.is_empty() {
            let mut bytes = Vec::new();
            self.line += 1;
            self.read_until(b'\n', &mut bytes)?;
            self.line -= 1;
            self.peeked = bytes;
        }
        let line = String::from_utf8_lossy(&self.peeked);
        let line = if self.line == 0 { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        Ok(line.trim_end_matches(['\n', '\r']).to_string())
    }

    /// Passes over the line that was looked at.
    pub(super) fn skip_line(&mut self) {
        self.peeked.clear();
        self.line += 1;
    }

    /// Appends a line with its end. Returns false at the end of the input.
    fn read_line(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Failure> {
        if !self.peeked.is_empty() {
            bytes.append(&mut self.peeked);
            return Ok(true);
        }
        self.read_until(b'\n', bytes)
    }

    fn read_until(&mut self, end: u8, bytes: &mut Vec<u8>) -> Result<bool, Failure> {
        let room = MAX_LINE_BYTES - bytes.len() as u64;
        let read = (&mut self.reader).take(room).read_until(end, bytes);
        let len = read.map_err(|source| self.unreadable(source))?;
        if len as u64 == room && bytes.last() != Some(&end) {
            let why = format!("a line of more than {} MiB", MAX_LINE_BYTES >> 20);
            return Err(self.bad_line(why, &String::from_utf8_lossy(&bytes[..1000])));
        }
        Ok(len > 0)
    }

    /// A failure at the current line. `text` is the line.
    pub(super) fn bad_line(&self, why: impl std::fmt::Display, text: &str) -> Failure {
        Failure::at_line(self.name.display(), self.line, why, text)
    }

    /// A failure at a byte offset.
    pub(super) fn bad_byte(&self, offset: u64, why: String) -> Failure {
        Failure::Input { place: format!("{}:{offset}", self.name.display()), why }
    }

    /// A failed read: an error of the operating system or of the decompressor.
    pub(super) fn unreadable(&self, source: io::Error) -> Failure {
        match source.downcast::<nearprint_text::Error>() {
            Ok(error) => error.into(),
            Err(source) => Error::Io { action: "read", path: self.name.clone(), source }.into(),
        }
    }
}
