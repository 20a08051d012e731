//! The content of a file in memory: mapped, or on the heap. Contains the only `unsafe` outside the
//! kernels.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

#[cfg(unix)]
use memmap2::Advice;
use memmap2::{Mmap, MmapMut, MmapOptions};

use crate::util::cast::to_usize;

/// How a mapped file will be read: a hint for read-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// In random order, without read-ahead.
    Random,
    /// From front to back.
    Sequential,
}

/// Immutable bytes whose start is aligned to 8.
pub(crate) struct Bytes(Inner);

enum Inner {
    Map(Mmap),
    Heap { words: Arc<Vec<u64>>, len_bytes: usize },
}

impl Bytes {
    /// Maps a whole file read-only.
    pub(crate) fn map(file: &File, access: Access) -> io::Result<Self> {
        let len_bytes = file.metadata()?.len();
        if len_bytes == 0 {
            return Ok(Self::from_slice(&[]));
        }
        // SAFETY: the slice stays valid as long as the file is neither changed nor truncated. Files
        // of a database are written once and synced. Later they are only unlinked, which leaves a
        // map intact: this crate never opens a published file for writing. Another program that
        // overwrites or truncates a file breaks the database in any case.
        let map = unsafe { MmapOptions::new().len(to_usize(len_bytes)).map(file)? };
        advise(&map, access)?;
        Ok(Self(Inner::Map(map)))
    }

    /// Zeros, which take no memory, and whatever `fill` puts among them.
    pub(crate) fn zeros(len_bytes: u64, fill: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<Self> {
        if len_bytes == 0 {
            return Ok(Self::from_slice(&[]));
        }
        let mut content = MmapMut::map_anon(to_usize(len_bytes))?;
        fill(&mut content)?;
        Ok(Self(Inner::Map(content.make_read_only()?)))
    }

    /// Starts read-ahead of a range.
    pub(crate) fn will_need(&self, range: Range<usize>) {
        if let Inner::Map(map) = &self.0
            && range.end <= map.len()
            && !range.is_empty()
        {
            start_reading(map, range);
        }
    }

    /// Copies bytes to the heap.
    pub(crate) fn from_slice(bytes: &[u8]) -> Self {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self::from_words(Arc::new(words), bytes.len())
    }

    /// The first bytes of words.
    pub(super) fn from_words(words: Arc<Vec<u64>>, len_bytes: usize) -> Self {
        Self(Inner::Heap { words, len_bytes })
    }
}

#[cfg(unix)]
fn advise(map: &Mmap, access: Access) -> io::Result<()> {
    map.advise(match access {
        Access::Random => Advice::Random,
        Access::Sequential => Advice::Sequential,
    })
}

#[cfg(unix)]
fn start_reading(map: &Mmap, range: Range<usize>) {
    // Only a hint. If it fails, the bytes are read page by page.
    let _ = map.advise_range(Advice::WillNeed, range.start, range.len());
}

/// Windows finds out by itself how a map is read.
#[cfg(windows)]
fn advise(_: &Mmap, _: Access) -> io::Result<()> {
    Ok(())
}

/// Bytes are read page by page.
#[cfg(windows)]
fn start_reading(_: &Mmap, _: Range<usize>) {}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Inner::Map(map) => map,
            Inner::Heap { words, len_bytes } => &bytemuck::cast_slice(&words[..])[..*len_bytes],
        }
    }
}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bytes({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn maps_and_copies_hold_the_same_bytes() {
        for len in [0, 1, 7, 8, 9, 10_000] {
            let content: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&content).unwrap();
            assert_eq!(&*Bytes::map(&file, Access::Random).unwrap(), &content[..]);
            assert_eq!(&*Bytes::from_slice(&content), &content[..]);
        }
    }
}
