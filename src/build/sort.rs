//! Sorts any number of records with bounded memory: pieces are sorted in memory, spilled to files
//! if necessary, and merged as they are read.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ascending::{Ascending, BLOCK, BlockReader, MAX_PIECES, for_each_distinct};
use crate::error::{Error, Result};
use crate::fingerprint::{Bits, Fingerprint, Row};
use crate::storage::{Folder, ReadFile, Storage, names};
use crate::util::cast::to_usize;
use crate::util::parallel;

/// A record that can be sorted and spilled.
pub trait Sortable: Copy + Ord + Send + Sync + Debug {
    /// Length of a spilled record.
    const LEN_BYTES: usize;
    /// Appends the record as bytes.
    fn write_le(self, out: &mut Vec<u8>);
    /// Reads `LEN_BYTES` bytes.
    fn read_le(bytes: &[u8]) -> Self;
}

impl<F: Fingerprint> Sortable for F {
    const LEN_BYTES: usize = <F as Fingerprint>::LEN_BYTES;

    fn write_le(self, out: &mut Vec<u8>) {
        Bits::write_le(self, out);
    }

    fn read_le(bytes: &[u8]) -> Self {
        Bits::read_le(bytes)
    }
}

impl<F: Fingerprint> Sortable for Row<F> {
    const LEN_BYTES: usize = <F as Fingerprint>::LEN_BYTES + 8;

    fn write_le(self, out: &mut Vec<u8>) {
        Bits::write_le(self.fingerprint, out);
        out.extend_from_slice(&self.id.to_le_bytes());
    }

    fn read_le(bytes: &[u8]) -> Self {
        let (fingerprint, id) = bytes.split_at(<F as Fingerprint>::LEN_BYTES);
        Self { fingerprint: Bits::read_le(fingerprint), id: Bits::read_le(id) }
    }
}

/// Bytes to write to a spilled piece at once, and the most to read at once.
const SPILL_BYTES: usize = 1 << 18;
/// The least to read at once.
const MIN_READ_BYTES: usize = 1 << 12;

/// Collects records. Sorts and spills them when the memory is full.
#[derive(Debug)]
pub struct Sorter<T> {
    storage: Arc<dyn Storage>,
    buffer: Vec<T>,
    capacity: usize,
    threads: usize,
    spills: Vec<Spill>,
    names: SpillNames,
}

/// Unique names for the spilled pieces of one sort.
#[derive(Debug)]
pub(crate) struct SpillNames {
    pub(crate) run: u64,
    pub(crate) table: usize,
    next: u64,
}

impl SpillNames {
    pub(crate) fn new(run: u64, table: usize) -> Self {
        Self { run, table, next: 0 }
    }

    fn next(&mut self) -> String {
        self.next += 1;
        names::spill(self.run, self.table, self.next)
    }
}

/// A sorted piece in a file. It is removed with the sort.
#[derive(Debug)]
struct Spill {
    name: String,
    len_bytes: u64,
}

impl<T: Sortable> Sorter<T> {
    /// A sorter that spills into `storage`. `memory_bytes` bounds its buffer of records.
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        names: SpillNames,
        memory_bytes: usize,
        threads: usize,
    ) -> Self {
        let capacity = (memory_bytes / size_of::<T>()).max(1);
        Self { storage, buffer: Vec::new(), capacity, threads, spills: Vec::new(), names }
    }

    /// A sorter that spills into a folder. `number` makes its file names unique.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder cannot be opened.
    pub fn in_folder(folder: &Path, number: usize, memory_bytes: usize, threads: usize) -> Result<Self> {
        let storage = Folder::open(folder).map_err(Error::io("open", folder))?;
        Ok(Self::new(Arc::new(storage), SpillNames::new(1, number), memory_bytes, threads))
    }

    /// Adds a record.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`] if a full buffer cannot be written.
    pub fn push(&mut self, record: T) -> Result<()> {
        if self.buffer.len() == self.buffer.capacity() {
            self.grow()?;
        }
        self.buffer.push(record);
        Ok(())
    }

    /// Makes room: grows the buffer within the memory limit, or spills it.
    #[cold]
    fn grow(&mut self) -> Result<()> {
        if self.buffer.len() < self.capacity {
            // Growth copies the content, so growth past half of the capacity would exceed it for a
            // moment. The last step therefore reserves the whole capacity, which costs only address
            // space.
            let wanted = (self.buffer.len() * 2).max(BLOCK);
            let wanted = if wanted > self.capacity / 4 { self.capacity } else { wanted };
            self.buffer.reserve_exact(wanted - self.buffer.len());
            return Ok(());
        }
        self.spill()
    }

    fn sort(&mut self) {
        sort(&mut self.buffer, self.threads);
        self.buffer.dedup();
    }

    fn spill(&mut self) -> Result<()> {
        self.sort();
        let sorted = Ascending::slice(&self.buffer);
        let spill = write_spill(&*self.storage, self.names.next(), sorted)?;
        self.spills.push(spill);
        self.buffer.clear();
        Ok(())
    }

    /// Sorts the rest, and merges spilled pieces until few enough remain to be read side by side.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DiskFull`] if a piece cannot be written.
    pub fn finish(mut self) -> Result<Sorted<T>> {
        if !self.spills.is_empty() && !self.buffer.is_empty() {
            self.spill()?;
            self.buffer = Vec::new();
        }
        // The read buffers of all pieces together take at most a quarter of the memory.
        let share = self.capacity * size_of::<T>() / 4 / MAX_PIECES;
        let read_bytes = share.clamp(MIN_READ_BYTES, SPILL_BYTES);
        while self.spills.len() > MAX_PIECES {
            let oldest: Vec<Spill> = self.spills.drain(..MAX_PIECES).collect();
            let streams = oldest.iter().map(|spill| read_spill::<T>(&*self.storage, spill, read_bytes));
            let merged = Ascending::tree(streams.collect::<Result<_>>()?);
            let spill = write_spill(&*self.storage, self.names.next(), merged)?;
            self.spills.push(spill);
            for spill in oldest {
                let path = self.storage.path(&spill.name);
                self.storage.remove(&spill.name).map_err(Error::io("remove", path))?;
            }
        }
        self.sort();
        Ok(Sorted { storage: self.storage, buffer: self.buffer, spills: self.spills, read_bytes })
    }
}

/// Sorts records with so many threads: each sorts a part of their order.
fn sort<T: Sortable>(records: &mut [T], threads: usize) {
    if threads <= 1 || records.len() <= BLOCK {
        return records.sort_unstable();
    }
    let (first, second) = (threads / 2, threads - threads / 2);
    let middle = records.len() / threads * first;
    records.select_nth_unstable(middle);
    let (smaller, larger) = records.split_at_mut(middle);
    parallel::for_each(2, [(smaller, first), (larger, second)].into_iter(), |(part, threads)| {
        sort(part, threads);
    });
}

/// Writes a sorted piece to a file of its own.
fn write_spill<T: Sortable>(storage: &dyn Storage, name: String, sorted: Ascending<'_, T>) -> Result<Spill> {
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
        Ok::<_, Error>(())
    })?;
    output.write_all_at(&bytes, len_bytes).map_err(Error::io("write", &path))?;
    len_bytes += bytes.len() as u64;
    Ok(Spill { name, len_bytes })
}

/// Sorted records, which can be read any number of times.
#[derive(Debug)]
pub struct Sorted<T> {
    storage: Arc<dyn Storage>,
    /// All records, distinct and ascending. Empty if some are spilled.
    buffer: Vec<T>,
    spills: Vec<Spill>,
    read_bytes: usize,
}

impl<T: Sortable> Sorted<T> {
    /// Visits the distinct records in ascending order, block by block.
    ///
    /// # Errors
    /// [`Error::Io`] if a spilled piece cannot be read, and any error of `visit`.
    pub fn for_each_block<E: From<Error>>(&self, visit: impl FnMut(&[T]) -> Result<(), E>) -> Result<(), E> {
        if self.spills.is_empty() {
            return self.buffer.chunks(BLOCK).try_for_each(visit);
        }
        let streams = self.spills.iter().map(|spill| read_spill(&*self.storage, spill, self.read_bytes));
        for_each_distinct(streams.collect::<Result<_>>()?, visit)
    }
}

impl<T> Drop for Sorted<T> {
    fn drop(&mut self) {
        for spill in &self.spills {
            // If this fails, the file is removed with the staging folder.
            let _ = self.storage.remove(&spill.name);
        }
    }
}

/// Reads a spilled piece from front to back.
struct SpillReader {
    file: Box<dyn ReadFile>,
    path: PathBuf,
    next: u64,
    len_bytes: u64,
    read_bytes: usize,
}

fn read_spill<'a, T: Sortable>(
    storage: &dyn Storage,
    spill: &Spill,
    read_bytes: usize,
) -> Result<Ascending<'a, T>> {
    let path = storage.path(&spill.name);
    let file = storage.open(&spill.name).map_err(Error::io("open", &path))?;
    let reader = SpillReader { file, path, next: 0, len_bytes: spill.len_bytes, read_bytes };
    Ok(Ascending::blocks(Box::new(reader), to_usize(spill.len_bytes) / T::LEN_BYTES))
}

impl<T: Sortable> BlockReader<T> for SpillReader {
    fn next_block(&mut self, out: &mut Vec<T>) -> Result<()> {
        let whole = self.read_bytes / T::LEN_BYTES * T::LEN_BYTES;
        let mut bytes = vec![0; whole.min(to_usize(self.len_bytes - self.next))];
        self.file.read_exact_at(&mut bytes, self.next).map_err(Error::io("read", &self.path))?;
        self.next += bytes.len() as u64;
        out.extend(bytes.chunks_exact(T::LEN_BYTES).map(T::read_le));
        Ok(())
    }
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
            let mut sorter = Sorter::new(Arc::new(Folder::open(home.path()).unwrap()), SpillNames::new(1, 0), memory.max(3000), threads);
            let mut expected: Vec<Row<u64>> = values.iter().map(|&(fingerprint, id)| Row { fingerprint, id }).collect();
            for &row in &expected {
                sorter.push(row).unwrap();
            }
            expected.sort_unstable();
            expected.dedup();
            let sorted = sorter.finish().unwrap();
            for _ in 0..2 {
                let mut found = Vec::new();
                sorted.for_each_block(|block| { found.extend_from_slice(block); Ok::<(), Error>(()) }).unwrap();
                prop_assert_eq!(&found, &expected);
            }
            drop(sorted);
            prop_assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        }
    }
}
