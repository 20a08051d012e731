//! The directories of TIFFs, without a decoder.

use std::ops::Range;

/// Bytes of a value by the number of its type (TIFF 6.0, section 2; 13 is an offset of a directory). Decoders
/// skip others.
const SIZES: [u64; 14] = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4];
/// The directories of Exif and of places, which have no picture.
const EXIF: [u64; 2] = [34665, 34853];
/// Where the strips, the tiles or an old JPEG are, and how long each is.
const DATA: [(u64, u64); 3] = [(273, 279), (324, 325), (513, 514)];

/// A file of directories.
#[derive(Clone, Copy)]
pub(crate) struct Tiff<'a> {
    bytes: &'a [u8],
    is_little: bool,
}

/// An entry of a directory.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) tag: u64,
    /// Bytes of a value.
    size: u64,
    count: u64,
    /// Where its values are.
    at: usize,
}

impl<'a> Tiff<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, is_little: bytes.starts_with(b"II") }
    }

    /// A number of some bytes.
    fn number(&self, at: usize, len: usize) -> Option<u64> {
        let digits = self.bytes.get(at..at.checked_add(len)?)?;
        let joined = |number: u64, &digit: &u8| number << 8 | u64::from(digit);
        Some(match self.is_little {
            true => digits.iter().rev().fold(0, joined),
            false => digits.iter().fold(0, joined),
        })
    }

    fn place(&self, at: usize) -> Option<usize> {
        usize::try_from(self.number(at, 4)?).ok()
    }

    /// Where the first directory is.
    pub(crate) fn first(&self) -> Option<usize> {
        self.place(4)
    }

    /// Where the directory after one is; 0 after the last one.
    pub(crate) fn next(&self, directory: usize) -> Option<usize> {
        self.place(self.end_of(directory)?.checked_sub(4)?)
    }

    fn end_of(&self, directory: usize) -> Option<usize> {
        let entries = usize::try_from(self.number(directory, 2)?).ok()?;
        directory.checked_add(2 + 12 * entries + 4)
    }

    /// The entries of a directory, as many as the file has.
    pub(crate) fn entries(self, directory: usize) -> impl Iterator<Item = Entry> {
        let entries = usize::try_from(self.number(directory, 2).unwrap_or(0)).unwrap_or(0);
        (0..entries).map_while(move |entry| self.entry(directory.checked_add(2 + 12 * entry)?))
    }

    fn entry(&self, at: usize) -> Option<Entry> {
        let (tag, kind, count) = (self.number(at, 2)?, self.number(at + 2, 2)?, self.number(at + 4, 4)?);
        let size = usize::try_from(kind).ok().and_then(|kind| SIZES.get(kind).copied()).unwrap_or(0);
        let at = if size * count <= 4 { at + 8 } else { self.place(at + 8).unwrap_or(usize::MAX) };
        Some(Entry { tag, size, count, at })
    }

    /// The numbers of an entry, as many as the file has.
    pub(crate) fn values(self, entry: Entry) -> impl Iterator<Item = u64> {
        let size = usize::try_from(entry.size).unwrap_or(0);
        let place = move |value: u64| entry.at.checked_add(size.checked_mul(usize::try_from(value).ok()?)?);
        let numbers = (0..entry.count).map_while(move |value| self.number(place(value)?, size));
        numbers.take(if size == 0 { 0 } else { self.bytes.len() })
    }

    /// The bytes of an entry as numbers of four bytes.
    pub(crate) fn numbers(self, entry: Entry) -> impl Iterator<Item = u64> {
        self.values(Entry { size: 4, count: entry.size * entry.count / 4, ..entry })
    }

    /// What the first directory has and leads to: its picture, and what is about it.
    pub(crate) fn parts_of_first(&self) -> Option<Vec<Range<u64>>> {
        let first = self.first()?;
        let mut parts: Vec<_> = std::iter::once(0..8).collect();
        let mut directories = vec![first];
        let of_exif = self.entries(first).filter(|entry| EXIF.contains(&entry.tag));
        directories.extend(of_exif.filter_map(|entry| usize::try_from(self.values(entry).next()?).ok()));
        for directory in directories {
            let Some(end) = self.end_of(directory) else { continue };
            parts.push(directory as u64..end as u64);
            let apart = self.entries(directory).filter(|entry| entry.size * entry.count > 4);
            parts.extend(apart.map(|entry| {
                let from = entry.at as u64;
                from..from.saturating_add(entry.size * entry.count)
            }));
        }
        let entry_of = |tag: u64| self.entries(first).find(|entry| entry.tag == tag);
        for (place, len) in DATA {
            let (Some(place), Some(len)) = (entry_of(place), entry_of(len)) else { continue };
            parts.extend(
                self.values(place).zip(self.values(len)).map(|(from, len)| from..from.saturating_add(len)),
            );
        }
        Some(parts)
    }
}

/// Whether no entry of the first directory declares more bytes than the file has: the decoder reserves memory for as
/// many values as an entry declares, before it looks for them. What the file does not have to its end is found by it.
pub(crate) fn is_possible(bytes: &[u8]) -> bool {
    let file = Tiff::new(bytes);
    let Some(first) = file.first() else { return true };
    file.entries(first).all(|entry| entry.size * entry.count <= bytes.len() as u64)
}
