//! Temporary files for data that is needed twice and does not fit in memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nearprint::internal;

use crate::documents::Recording;
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
        io::copy(&mut io::stdin().lock(), &mut file).map_err(Error::io("copy", "standard input"))?;
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

/// A list of strings in unnamed files.
pub(super) struct StringFile {
    bytes: BufWriter<File>,
    ends: BufWriter<File>,
    count: u64,
    end: u64,
}

impl StringFile {
    pub(super) fn new() -> Result<Self> {
        let file = || tempfile::tempfile().map(BufWriter::new).map_err(Error::io("create", FILE));
        Ok(Self { bytes: file()?, ends: file()?, count: 0, end: 0 })
    }

    /// Appends a string, and returns its index.
    pub(super) fn push(&mut self, text: &str) -> Result<u64> {
        self.end += text.len() as u64;
        let end = self.end.to_le_bytes();
        let written = self.bytes.write_all(text.as_bytes()).and_then(|()| self.ends.write_all(&end));
        written.map_err(Error::io("write", FILE))?;
        self.count += 1;
        Ok(self.count - 1)
    }

    /// Reads the string at an index.
    pub(super) fn get(&mut self, index: u64) -> Result<String> {
        self.read(index).map_err(Error::io("read", FILE))
    }

    fn read(&mut self, index: u64) -> io::Result<String> {
        self.bytes.flush()?;
        self.ends.flush()?;
        let mut ends = [0; 16];
        if index == 0 {
            self.ends.get_ref().read_exact_at(&mut ends[8..], 0)?;
        } else {
            self.ends.get_ref().read_exact_at(&mut ends, (index - 1) * 8)?;
        }
        let number = |at: usize| ends[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (start, end) = (number(0), number(8));
        let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?];
        self.bytes.get_ref().read_exact_at(&mut bytes, start)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
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
