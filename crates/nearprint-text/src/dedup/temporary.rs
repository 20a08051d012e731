//! Temporary files for data that is needed twice and does not fit in memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use nearprint::internal::{self, Sortable, file};

use crate::documents::{Recording, Span, Stdin, read_span};
use crate::error::{Error, Result};

/// The name of temporary files in messages.
const FILE: &str = "a temporary file";

/// The copy of standard input.
const STDIN: &str = "stdin";
/// The database of the documents or fingerprints kept so far.
pub(super) const KEPT: &str = "kept.np";
/// The database of the documents that were decided in the order of their ranks.
pub(super) const DECIDED: &str = "decided.np";

/// A folder for temporary files that only this user can read. It is removed when its value is
/// dropped, or, after a kill, when this user makes the next one.
///
/// It may hold what the constants above name, and spilled pieces of sorts. With anything else in it,
/// it stays, and a warning of the caller can name it.
#[derive(Debug)]
pub(super) struct WorkFolder(internal::WorkFolder);

impl WorkFolder {
    pub(super) fn new() -> Result<Self> {
        Ok(Self(internal::WorkFolder::make(&std::env::temp_dir(), &[STDIN], &[KEPT, DECIDED])?))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A copy of standard input, which is removed when its value is dropped.
pub(super) struct SpooledInput {
    folder: WorkFolder,
}

impl SpooledInput {
    /// Reads standard input up to its end.
    pub(super) fn read() -> Result<Self> {
        let spooled = Self { folder: WorkFolder::new()? };
        let mut file = File::create_new(spooled.path()).map_err(Error::io("create", FILE))?;
        io::copy(&mut Stdin::default(), &mut file).map_err(Error::io("copy", "standard input"))?;
        Ok(spooled)
    }

    /// Copies standard input as it is read.
    pub(super) fn record() -> Result<(Self, Recording)> {
        let spooled = Self { folder: WorkFolder::new()? };
        let recording = Recording::create(&spooled.path()).map_err(Error::io("create", FILE))?;
        Ok((spooled, recording))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join(STDIN)
    }
}

/// Bytes in an unnamed file. The last ones are still in memory.
pub(super) struct TemporaryBytes {
    /// Made when the first bytes leave the memory.
    file: Option<File>,
    in_file: u64,
    last: Vec<u8>,
}

/// The bytes that are written at once.
const WRITE_BYTES: usize = 1 << 20;

impl TemporaryBytes {
    pub(super) fn new() -> Self {
        Self { file: None, in_file: 0, last: Vec::new() }
    }

    /// Appends bytes, and returns their place.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Span> {
        let span = Span { offset: self.in_file + self.last.len() as u64, len_bytes: bytes.len() as u64 };
        self.last.extend_from_slice(bytes);
        if self.last.len() >= WRITE_BYTES {
            if self.file.is_none() {
                self.file = Some(tempfile::tempfile().map_err(Error::io("create", FILE))?);
            }
            if let Some(file) = &mut self.file {
                file.write_all(&self.last).map_err(Error::io("write", FILE))?;
            }
            self.in_file += self.last.len() as u64;
            self.last.clear();
        }
        Ok(span)
    }

    /// The bytes at a place that [`push`](Self::push) returned.
    pub(super) fn get(&self, span: Span) -> Result<Vec<u8>> {
        let place = span.offset.checked_sub(self.in_file).map(index);
        match (place, &self.file) {
            (Some(at), _) => {
                let bytes = self.last.get(at..).and_then(|rest| rest.get(..index(span.len_bytes)));
                Ok(bytes.unwrap_or_default().to_vec())
            }
            (None, Some(file)) => read_span(file, span).map_err(Error::io("read", FILE)),
            (None, None) => Ok(Vec::new()),
        }
    }
}

/// A place in memory.
fn index(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

/// A list of strings in unnamed files.
pub(super) struct StringFile {
    bytes: TemporaryBytes,
    ends: RecordFile,
    end: u64,
}

impl StringFile {
    pub(super) fn new() -> Result<Self> {
        Ok(Self { bytes: TemporaryBytes::new(), ends: RecordFile::new(8)?, end: 0 })
    }

    /// Appends a string, and returns its index.
    pub(super) fn push(&mut self, text: &str) -> Result<u64> {
        self.push_bytes(text.as_bytes())
    }

    /// Appends bytes, and returns their index.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) -> Result<u64> {
        self.end += bytes.len() as u64;
        self.bytes.push(bytes)?;
        self.ends.push(&self.end.to_le_bytes())?;
        Ok(self.ends.count - 1)
    }

    /// Reads the string at an index.
    pub(super) fn get(&mut self, index: u64) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.get_bytes(index)?).into_owned())
    }

    /// Reads the bytes at an index.
    pub(super) fn get_bytes(&mut self, index: u64) -> Result<Vec<u8>> {
        let ends = self.ends.get(index.saturating_sub(1)..index + 1)?;
        let mut ends = ends.as_chunks::<8>().0.iter().rev().map(|end| u64::from_le_bytes(*end));
        let (end, start) = (ends.next().unwrap_or_default(), ends.next().unwrap_or_default());
        self.bytes.get(Span { offset: start, len_bytes: end.saturating_sub(start) })
    }
}

/// A list of records of one length in an unnamed file.
pub(super) struct RecordFile {
    records: BufWriter<File>,
    len_bytes: u64,
    pub(super) count: u64,
}

impl RecordFile {
    pub(super) fn new(len_bytes: u64) -> Result<Self> {
        Ok(Self { records: unnamed()?, len_bytes, count: 0 })
    }

    pub(super) fn push(&mut self, record: &[u8]) -> Result<()> {
        self.count += 1;
        self.records.write_all(record).map_err(Error::io("write", FILE))
    }

    /// Reads the records at some indices.
    pub(super) fn get(&mut self, indices: Range<u64>) -> Result<Vec<u8>> {
        self.records.flush().map_err(Error::io("write", FILE))?;
        let len_bytes = (indices.end - indices.start) * self.len_bytes;
        let span = Span { offset: indices.start * self.len_bytes, len_bytes };
        read_span(self.records.get_ref(), span).map_err(Error::io("read", FILE))
    }

    /// Replaces a record.
    pub(super) fn set(&mut self, index: u64, record: &[u8]) -> Result<()> {
        let written = self.records.flush();
        let written =
            written.and_then(|()| file::write_all_at(self.records.get_ref(), record, index * self.len_bytes));
        written.map_err(Error::io("write", FILE))
    }
}

/// Numbers to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SortRow<const N: usize>(pub(super) [u64; N]);

impl<const N: usize> Sortable for SortRow<N> {
    const LEN_BYTES: usize = 8 * N;

    fn write_le(self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    }

    fn read_le(bytes: &[u8]) -> Self {
        let mut numbers = bytes.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number));
        Self(std::array::from_fn(|_| numbers.next().unwrap_or_default()))
    }
}

fn unnamed() -> Result<BufWriter<File>> {
    tempfile::tempfile().map(BufWriter::new).map_err(Error::io("create", FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read_in_any_order() {
        let mut strings = StringFile::new().unwrap();
        let text = |i: u64| "ab".repeat((i * 7919 % 50) as usize);
        for i in 0..1000 {
            assert_eq!(strings.push(&text(i)).unwrap(), i);
            assert_eq!(strings.get(i * 31 % (i + 1)).unwrap(), text(i * 31 % (i + 1)));
        }
    }
}
