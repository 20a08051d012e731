//! Files that are open, in the state in which they were judged.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Error, Seek};
use std::ops::ControlFlow;
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use super::places::escaped;
use crate::documents::{FileStamp, have_same_content, open_regular};

/// Bytes that are read at once.
const BLOCK_BYTES: usize = 1 << 17;

/// Says whether an act goes on.
pub type KeepGoing<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// The error of an act that was stopped.
pub(super) fn go_on(keep_going: KeepGoing<'_>) -> io::Result<()> {
    if keep_going().is_break() { Err(Error::other("interrupted")) } else { Ok(()) }
}

/// An open file whose state is that in which it was judged.
pub(super) struct Judged {
    file: File,
    stamp: FileStamp,
}

impl Judged {
    /// Opens a file that was judged in a state. It is no link.
    pub(super) fn open(path: &Path, stamp: &FileStamp) -> io::Result<Self> {
        let opened = Self::open_now(path)?;
        match opened.stamp == *stamp {
            true => Ok(opened),
            false => Err(Error::other(format!("{} has changed since it was listed", escaped(path)))),
        }
    }

    /// Opens a file in its present state. It is no link.
    pub(super) fn open_now(path: &Path) -> io::Result<Self> {
        let named = |error: Error| Error::new(error.kind(), format!("{}: {error}", escaped(path)));
        let listed = path.symlink_metadata().map_err(named)?;
        if listed.is_symlink() {
            return Err(Error::other(format!("{} is a link", escaped(path))));
        }
        let file = open_regular(path).map_err(named)?;
        let opened = Self { stamp: FileStamp::of_open(&file)?, file };
        opened.check_at(path)?;
        Ok(opened)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn stamp(&self) -> &FileStamp {
        &self.stamp
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.stamp.id == other.stamp.id
    }

    /// Fails if the file has changed, whatever its name is now.
    pub(super) fn check(&self) -> io::Result<()> {
        match FileStamp::of_open(&self.file)? == self.stamp {
            true => Ok(()),
            false => Err(Error::other("has changed meanwhile")),
        }
    }

    /// Fails if another file has the name now, or none, or if the file has changed.
    pub(super) fn check_at(&self, path: &Path) -> io::Result<()> {
        let now = FileStamp::of(path)
            .map_err(|error| Error::new(error.kind(), format!("{}: {error}", escaped(path))))?;
        match now == self.stamp {
            true => Ok(()),
            false => Err(Error::other(format!("{} has changed meanwhile", escaped(path)))),
        }
    }

    /// Whether both have the same bytes. Neither has changed at the end.
    pub(super) fn has_bytes_of(&self, other: &Self, keep_going: KeepGoing<'_>) -> io::Result<bool> {
        let is_same = self.stamp.size_bytes == other.stamp.size_bytes
            && have_same_content(&self.file, &other.file, &mut || go_on(keep_going))?;
        self.check()?;
        other.check()?;
        Ok(is_same)
    }
}

fn begin(mut file: &File) -> io::Result<BufReader<&File>> {
    file.rewind()?;
    Ok(BufReader::with_capacity(BLOCK_BYTES, file))
}

/// XXH3 of the bytes of an open file.
pub(super) fn hash_of(file: &File) -> io::Result<u128> {
    let (mut hasher, mut file) = (Xxh3::new(), begin(file)?);
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            return Ok(hasher.digest128());
        }
        hasher.update(bytes);
        let len = bytes.len();
        file.consume(len);
    }
}
