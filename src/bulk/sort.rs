//! Sorts any number of records with bounded memory: sorted pieces in memory or spilled to files, and
//! a tree of two-way merges over them.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cast::to_usize;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::segment::Row;
use crate::storage::{Input, Storage, names};

/// What can be sorted and spilled.
pub(super) trait Record: Copy + Ord + Send + Sync + Debug {
    /// Bytes of a spilled record.
    const LEN_BYTES: usize;
    fn write_le(self, out: &mut Vec<u8>);
    fn read_le(bytes: &[u8]) -> Self;
}

impl<F: Fingerprint> Record for F {
    const LEN_BYTES: usize = <F as Fingerprint>::LEN_BYTES;

    fn write_le(self, out: &mut Vec<u8>) {
        Fingerprint::write_le(self, out);
    }

    fn read_le(bytes: &[u8]) -> Self {
        Fingerprint::read_le(bytes)
    }
}

impl<F: Fingerprint> Record for Row<F> {
    const LEN_BYTES: usize = <F as Fingerprint>::LEN_BYTES + 8;

    fn write_le(self, out: &mut Vec<u8>) {
        Fingerprint::write_le(self.fingerprint, out);
        out.extend_from_slice(&self.id.to_le_bytes());
    }

    fn read_le(bytes: &[u8]) -> Self {
        let (fingerprint, id) = bytes.split_at(<F as Fingerprint>::LEN_BYTES);
        Self { fingerprint: Fingerprint::read_le(fingerprint), id: Fingerprint::read_le(id) }
    }
}

/// Records merged at once.
const BLOCK: usize = 4096;
/// Bytes written to a spilled piece at once, and read at most.
const SPILL_BYTES: usize = 1 << 18;
/// Spilled pieces that are merged at once; more are merged in rounds.
const MAX_PIECES: usize = 32;
/// Bytes read at least.
const LEAST_READ_BYTES: usize = 1 << 12;

/// Collects records; sorts and spills whenever the memory is full.
#[derive(Debug)]
pub(super) struct Sorter<T> {
    storage: Arc<dyn Storage>,
    buffer: Vec<T>,
    capacity: usize,
    threads: usize,
    spills: Vec<Spill>,
    next_spill: u64,
}

/// A sorted piece in a file, which goes when the sort does.
#[derive(Debug)]
struct Spill {
    name: String,
    len_bytes: u64,
}

impl<T: Record> Sorter<T> {
    /// `memory_bytes` bounds the buffer of records; spilled pieces are numbered from `first_spill`.
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        first_spill: u64,
        memory_bytes: usize,
        threads: usize,
    ) -> Self {
        let capacity = (memory_bytes / size_of::<T>()).max(1);
        Self { storage, buffer: Vec::new(), capacity, threads, spills: Vec::new(), next_spill: first_spill }
    }

    pub(super) fn push(&mut self, record: T) -> Result<()> {
        if self.buffer.len() == self.buffer.capacity() {
            self.grow()?;
        }
        self.buffer.push(record);
        Ok(())
    }

    /// Makes room: a larger buffer as long as the memory allows, then by spilling.
    #[cold]
    fn grow(&mut self) -> Result<()> {
        if self.buffer.len() < self.capacity {
            // Growing past half would hold more than the capacity while the content is moved, so the
            // last step takes what a fresh reservation of the whole costs: address space only.
            let wanted = (self.buffer.len() * 2).max(BLOCK);
            let wanted = if wanted > self.capacity / 4 { self.capacity } else { wanted };
            self.buffer.reserve_exact(wanted - self.buffer.len());
            return Ok(());
        }
        self.spill()
    }

    /// Sorts the buffer, in parallel pieces, and tells the length of a piece.
    fn sort(&mut self) -> usize {
        let piece = self.buffer.len().div_ceil(self.threads).max(BLOCK);
        std::thread::scope(|scope| {
            for part in self.buffer.chunks_mut(piece) {
                scope.spawn(move || part.sort_unstable());
            }
        });
        piece
    }

    fn spill(&mut self) -> Result<()> {
        let piece = self.sort();
        let sorted = Stream::tree(self.buffer.chunks(piece).map(Stream::slice).collect());
        let spill = write_spill(&*self.storage, names::spill(self.next_spill), sorted)?;
        self.next_spill += 1;
        self.spills.push(spill);
        self.buffer.clear();
        Ok(())
    }

    /// Sorts what is left, and merges spilled pieces until few enough are left to be read side by side.
    pub(super) fn finish(mut self) -> Result<Sorted<T>> {
        if !self.spills.is_empty() && !self.buffer.is_empty() {
            self.spill()?;
            self.buffer = Vec::new();
        }
        // The windows of all pieces together stay within a quarter of the memory.
        let share = self.capacity * size_of::<T>() / 4 / MAX_PIECES;
        let read_bytes = share.clamp(LEAST_READ_BYTES, SPILL_BYTES);
        while self.spills.len() > MAX_PIECES {
            let oldest: Vec<Spill> = self.spills.drain(..MAX_PIECES).collect();
            let streams = oldest.iter().map(|spill| Stream::<T>::spill(&*self.storage, spill, read_bytes));
            let merged = Stream::tree(streams.collect::<Result<_>>()?);
            let spill = write_spill(&*self.storage, names::spill(self.next_spill), merged)?;
            self.next_spill += 1;
            self.spills.push(spill);
            for spill in oldest {
                let path = self.storage.path(&spill.name);
                self.storage.remove(&spill.name).map_err(Error::io("remove", path))?;
            }
        }
        let piece = self.sort();
        let buffer = std::mem::take(&mut self.buffer);
        let spills = std::mem::take(&mut self.spills);
        Ok(Sorted { storage: self.storage, buffer, piece, spills, read_bytes })
    }
}

/// Writes a sorted piece to a file of its own.
fn write_spill<T: Record>(storage: &dyn Storage, name: String, sorted: Stream<'_, T>) -> Result<Spill> {
    let path = storage.path(&name);
    let mut output = storage.create(&name).map_err(Error::io("create", &path))?;
    let mut bytes = Vec::with_capacity(SPILL_BYTES + BLOCK * T::LEN_BYTES);
    let mut len_bytes = 0;
    sorted.for_each_block(|block| {
        block.iter().for_each(|&record| record.write_le(&mut bytes));
        if bytes.len() >= SPILL_BYTES {
            output.write_all_at(&bytes, len_bytes).map_err(Error::io("write", &path))?;
            len_bytes += bytes.len() as u64;
            bytes.clear();
        }
        Ok(())
    })?;
    output.write_all_at(&bytes, len_bytes).map_err(Error::io("write", &path))?;
    len_bytes += bytes.len() as u64;
    Ok(Spill { name, len_bytes })
}

/// Sorted records, to be walked over any number of times.
#[derive(Debug)]
pub(super) struct Sorted<T> {
    storage: Arc<dyn Storage>,
    buffer: Vec<T>,
    piece: usize,
    spills: Vec<Spill>,
    read_bytes: usize,
}

impl<T: Record> Sorted<T> {
    /// Hands out the distinct records in ascending order, block by block.
    pub(super) fn for_each_block(&self, mut visit: impl FnMut(&[T]) -> Result<()>) -> Result<()> {
        let mut streams: Vec<Stream<'_, T>> = self.buffer.chunks(self.piece).map(Stream::slice).collect();
        for spill in &self.spills {
            streams.push(Stream::spill(&*self.storage, spill, self.read_bytes)?);
        }
        let mut last = None;
        let mut distinct = Vec::with_capacity(BLOCK);
        Stream::tree(streams).for_each_block(|block| {
            distinct.clear();
            for &record in block {
                if last != Some(record) {
                    distinct.push(record);
                    last = Some(record);
                }
            }
            visit(&distinct)
        })
    }
}

impl<T> Drop for Sorted<T> {
    fn drop(&mut self) {
        for spill in &self.spills {
            // Whatever stays is removed with the staging folder.
            let _ = self.storage.remove(&spill.name);
        }
    }
}

/// An ascending sequence of records with a window onto what comes next.
struct Stream<'a, T> {
    source: Source<'a, T>,
    block: Vec<T>,
    at: usize,
}

enum Source<'a, T> {
    Empty,
    Slice(&'a [T]),
    Spill { input: Box<dyn Input>, path: PathBuf, next: u64, len_bytes: u64, read_bytes: usize },
    Merge(Box<(Stream<'a, T>, Stream<'a, T>)>),
}

impl<'a, T: Record> Stream<'a, T> {
    fn new(source: Source<'a, T>) -> Self {
        Self { source, block: Vec::new(), at: 0 }
    }

    fn slice(slice: &'a [T]) -> Self {
        Self::new(Source::Slice(slice))
    }

    fn spill(storage: &dyn Storage, spill: &Spill, read_bytes: usize) -> Result<Self> {
        let path = storage.path(&spill.name);
        let input = storage.open(&spill.name).map_err(Error::io("open", &path))?;
        Ok(Self::new(Source::Spill { input, path, next: 0, len_bytes: spill.len_bytes, read_bytes }))
    }

    /// One stream over all, by merging two and two.
    fn tree(mut streams: Vec<Self>) -> Self {
        while streams.len() > 1 {
            let mut paired = Vec::with_capacity(streams.len().div_ceil(2));
            let mut rest = streams.into_iter();
            while let Some(first) = rest.next() {
                paired.push(match rest.next() {
                    Some(second) => Self::new(Source::Merge(Box::new((first, second)))),
                    None => first,
                });
            }
            streams = paired;
        }
        streams.pop().unwrap_or_else(|| Self::new(Source::Empty))
    }

    fn for_each_block(mut self, mut visit: impl FnMut(&[T]) -> Result<()>) -> Result<()> {
        while self.refill()? {
            visit(self.window())?;
            self.at = self.block.len();
        }
        Ok(())
    }

    /// What can be taken without refilling.
    #[inline]
    fn window(&self) -> &[T] {
        &self.block[self.at..]
    }

    /// Makes sure that the window is not empty. False at the end.
    fn refill(&mut self) -> Result<bool> {
        if self.at < self.block.len() {
            return Ok(true);
        }
        self.at = 0;
        self.block.clear();
        match &mut self.source {
            Source::Empty => {}
            Source::Slice(slice) => {
                let (now, later) = slice.split_at(slice.len().min(BLOCK));
                self.block.extend_from_slice(now);
                *slice = later;
            }
            Source::Spill { input, path, next, len_bytes, read_bytes } => {
                let whole = *read_bytes / T::LEN_BYTES * T::LEN_BYTES;
                let mut bytes = vec![0; whole.min(to_usize(*len_bytes - *next))];
                input.read_exact_at(&mut bytes, *next).map_err(Error::io("read", &*path))?;
                *next += bytes.len() as u64;
                self.block.extend(bytes.chunks_exact(T::LEN_BYTES).map(T::read_le));
            }
            Source::Merge(pair) => merge_block(&mut pair.0, &mut pair.1, &mut self.block)?,
        }
        Ok(!self.block.is_empty())
    }
}

/// Fills `out` with the next records of two streams. The inner loop has no branch that depends on
/// the data.
fn merge_block<T: Record>(a: &mut Stream<'_, T>, b: &mut Stream<'_, T>, out: &mut Vec<T>) -> Result<()> {
    while out.len() < BLOCK {
        let room = BLOCK - out.len();
        match (a.refill()?, b.refill()?) {
            (false, false) => return Ok(()),
            (true, false) => take(a, room, out),
            (false, true) => take(b, room, out),
            (true, true) => {
                let (left, right) = (a.window(), b.window());
                let safe = room.min(left.len()).min(right.len());
                let (mut i, mut j) = (0, 0);
                out.extend((0..safe).map(|_| {
                    let (x, y) = (left[i], right[j]);
                    let from_left = x <= y;
                    i += usize::from(from_left);
                    j += usize::from(!from_left);
                    if from_left { x } else { y }
                }));
                a.at += i;
                b.at += j;
            }
        }
    }
    Ok(())
}

fn take<T: Record>(stream: &mut Stream<'_, T>, room: usize, out: &mut Vec<T>) {
    let window = stream.window();
    let count = window.len().min(room);
    out.extend_from_slice(&window[..count]);
    stream.at += count;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Folder;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn sorts_like_the_standard_library_whatever_the_memory(
            values in prop::collection::vec((0u64..5000, 0u64..3), 0..20_000), memory in 16usize..400_000, threads in 1usize..5,
        ) {
            let home = tempfile::tempdir().unwrap();
            let mut sorter = Sorter::new(Arc::new(Folder::new(home.path())), 0, memory.max(3000), threads);
            let mut expected: Vec<Row<u64>> = values.iter().map(|&(fingerprint, id)| Row { fingerprint, id }).collect();
            for &row in &expected {
                sorter.push(row).unwrap();
            }
            expected.sort_unstable();
            expected.dedup();
            let sorted = sorter.finish().unwrap();
            for _ in 0..2 {
                let mut found = Vec::new();
                sorted.for_each_block(|block| { found.extend_from_slice(block); Ok(()) }).unwrap();
                prop_assert_eq!(&found, &expected);
            }
            drop(sorted);
            prop_assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        }
    }
}
