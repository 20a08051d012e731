//! Tables 1 and up of wide fingerprints: the numbers of the fingerprints in table 0, in the order of the table.
//!
//! What such a table stores is sorted in memory: the leading bits of each fingerprint, and its number. One pass over
//! the fingerprints counts them by a few leading bits. Further ones distribute the entries to pieces that fit the
//! cache, for as large a part of the table at a time as the memory holds. Entries with equal leading bits are ordered by
//! their fingerprints, which are read at random places. Few have equal ones: near-duplicates, and fingerprints whose
//! bits are not random.

use super::ascending::BLOCK;
use super::sort::{Sortable, Sorter, SpillNames};
use super::target::Target;
use crate::error::Result;
use crate::fingerprint::{Bits, Fingerprint};
use crate::format::manifest::FileRecord;
use crate::layout::Table;
use crate::run::{Leading, LeadingEntry, Segment, SegmentWriter};
use crate::util::cast::to_usize;
use crate::util::parallel;

/// Entries of a piece, or up to twice as many, where leading bits are random: 192 KiB.
const PIECE: usize = 1 << 13;
const MAX_PIECE_BITS: u32 = 20;
/// The bits of a key that number the entries of a piece. The others are leading bits.
const INDEX_BITS: u32 = 16;

/// A table that is being written.
pub(super) struct NumberedTable<'a, F> {
    pub(super) target: Target<'a>,
    pub(super) index: usize,
    pub(super) table: &'a Table<F>,
    /// Table 0 of the same run.
    pub(super) natural: &'a Segment<F>,
    pub(super) directory_bits: u32,
    pub(super) memory_bytes: usize,
    pub(super) threads: usize,
    /// Receives the number of entries that were sorted or written.
    pub(super) report: &'a dyn Fn(usize) -> Result<()>,
}

impl<F: Fingerprint> NumberedTable<'_, F> {
    /// Writes the table. `entries` has the memory of an earlier one.
    pub(super) fn write(
        &self,
        writer: SegmentWriter<F>,
        entries: &mut Vec<LeadingEntry>,
    ) -> Result<FileRecord> {
        let bits = (self.natural.entries() / PIECE).max(1).ilog2().min(MAX_PIECE_BITS);
        let mut counts = vec![0; 1 << bits];
        self.each_entry(|entry| counts[entry.leading.piece(bits)] += 1)?;
        let most = self.memory_bytes / 2 / size_of::<LeadingEntry>();
        let mut output = Output { table: self, writer, leading: Vec::new(), numbers: Vec::new() };
        let mut end = 0;
        while end < counts.len() {
            let (start, mut held) = (end, counts[end]);
            end += 1;
            while let Some(more) = counts.get(end).filter(|&more| held + more <= most) {
                (held, end) = (held + more, end + 1);
            }
            if held <= most {
                self.sort(start, &counts[start..end], bits, entries)?;
                output.push_all(entries)?;
            } else {
                self.sort_by_values(|leading| leading.piece(bits) == start, &mut output)?;
            }
        }
        output.finish()
    }

    /// Visits all entries, in natural order.
    fn each_entry(&self, mut visit: impl FnMut(LeadingEntry)) -> Result<()> {
        self.natural.each_numbered(|first, values| {
            for (number, &value) in (first..).zip(values) {
                let leading = Leading::of(self.table.leading(value), self.directory_bits);
                visit(LeadingEntry { leading, number });
            }
            // Ends an interrupted merge.
            (self.report)(0)
        })
    }

    /// Sorts the entries of neighbouring pieces, from piece `first`, by their leading bits.
    fn sort(&self, first: usize, counts: &[usize], bits: u32, entries: &mut Vec<LeadingEntry>) -> Result<()> {
        let held = counts.iter().sum();
        if entries.capacity() < held {
            *entries = Vec::with_capacity(held);
        }
        entries.resize(held, LeadingEntry::default());
        let mut next: Vec<usize> = Vec::with_capacity(counts.len());
        counts.iter().fold(0, |start, count| {
            next.push(start);
            start + count
        });
        self.each_entry(|entry| {
            if let Some(next) = next.get_mut(entry.leading.piece(bits).wrapping_sub(first))
                && let Some(place) = entries.get_mut(*next)
            {
                *place = entry;
                *next += 1;
            }
        })?;
        let (mut pieces, mut rest, mut end) = (Vec::with_capacity(counts.len()), &mut entries[..], 0);
        for (count, next) in counts.iter().zip(next) {
            end += count;
            let (piece, others) = rest.split_at_mut(*count);
            pieces.push(piece);
            rest = others;
            // A file that changes while it is read.
            self.natural.file.check_equal("values", end, next)?;
        }
        parallel::for_each(self.threads, pieces.into_iter(), |piece| sort_piece(piece, bits));
        (self.report)(held)
    }

    /// Passes on the entries whose leading bits `is_wanted` takes, of which memory cannot hold all.
    fn sort_by_values(&self, is_wanted: impl Fn(Leading) -> bool, output: &mut Output<'_, F>) -> Result<()> {
        let mut sorter = self.sorter();
        let mut sorted = 0;
        self.natural.each_numbered(|first, values| {
            for (number, &value) in (first..).zip(values) {
                if is_wanted(Leading::of(self.table.leading(value), self.directory_bits)) {
                    sorter.push(NumberedValue { value: self.table.permute(value), number })?;
                    sorted += 1;
                }
            }
            (self.report)(0)
        })?;
        (self.report)(sorted)?;
        sorter.finish()?.for_each_block(|block| {
            block.iter().try_for_each(|&NumberedValue { value, number }| {
                output.push(LeadingEntry { leading: Leading::of(value, self.directory_bits), number })
            })
        })
    }

    fn sorter(&self) -> Sorter<NumberedValue<F>> {
        let names = SpillNames::new(self.target.owner.run, self.index);
        Sorter::new(self.target.storage.clone(), names, self.memory_bytes / 2, self.threads)
    }
}

/// Sorts entries with equal first `bits` bits. Nearly all order is in the next ones: keys of these and of a place in the
/// piece are sorted in three quarters of the time.
fn sort_piece(piece: &mut [LeadingEntry], bits: u32) {
    if piece.len() > 1 << INDEX_BITS {
        return piece.sort_unstable();
    }
    let key_bits = |entry: &LeadingEntry| entry.leading.after(bits, u64::BITS - INDEX_BITS);
    let mut keys: Vec<u64> =
        (0..).zip(&*piece).map(|(index, entry): (u64, _)| key_bits(entry) << INDEX_BITS | index).collect();
    keys.sort_unstable();
    let unsorted = piece.to_vec();
    for (entry, key) in piece.iter_mut().zip(keys) {
        *entry = unsorted[to_usize(key % (1 << INDEX_BITS))];
    }
    let tied = piece.chunk_by_mut(|a, b| key_bits(a) == key_bits(b));
    tied.filter(|tied| tied.len() > 1).for_each(<[LeadingEntry]>::sort_unstable);
}

/// Writes entries in order.
struct Output<'a, F> {
    table: &'a NumberedTable<'a, F>,
    writer: SegmentWriter<F>,
    /// The next ones.
    leading: Vec<Leading>,
    numbers: Vec<u32>,
}

impl<F: Fingerprint> Output<'_, F> {
    /// Takes entries in the order of their leading bits.
    fn push_all(&mut self, entries: &[LeadingEntry]) -> Result<()> {
        for tied in entries.chunk_by(|a, b| a.leading == b.leading) {
            match tied {
                &[entry] => self.push(entry)?,
                tied => self.push_tied(tied)?,
            }
        }
        Ok(())
    }

    /// Takes entries with equal leading bits.
    fn push_tied(&mut self, tied: &[LeadingEntry]) -> Result<()> {
        let of = self.table;
        let values = tied.iter().map(|&LeadingEntry { number, .. }| {
            Ok(NumberedValue { value: of.table.permute(of.natural.numbered(number)?), number })
        });
        let leading = tied[0].leading;
        let mut put = |values: &[NumberedValue<F>]| {
            values
                .iter()
                .try_for_each(|&NumberedValue { number, .. }| self.push(LeadingEntry { leading, number }))
        };
        if tied.len() <= BLOCK {
            let mut values = values.collect::<Result<Vec<_>>>()?;
            values.sort_unstable();
            return put(&values);
        }
        let mut sorter = of.sorter();
        { values }.try_for_each(|value| sorter.push(value?))?;
        sorter.finish()?.for_each_block(put)
    }

    fn push(&mut self, entry: LeadingEntry) -> Result<()> {
        self.leading.push(entry.leading);
        self.numbers.push(entry.number);
        if self.numbers.len() < BLOCK { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<()> {
        self.writer.push_leading(&self.leading)?;
        self.writer.push_numbers(&self.numbers)?;
        (self.table.report)(self.numbers.len())?;
        self.leading.clear();
        self.numbers.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<FileRecord> {
        self.write()?;
        self.writer.finish_with_sum(self.table.natural.info.fingerprint_sum)
    }
}

/// A fingerprint in a table's order, and its number in table 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NumberedValue<F> {
    value: F,
    number: u32,
}

impl<F: Fingerprint> Sortable for NumberedValue<F> {
    const LEN_BYTES: usize = <F as Fingerprint>::LEN_BYTES + 4;

    fn write_le(self, out: &mut Vec<u8>) {
        Bits::write_le(self.value, out);
        out.extend_from_slice(&self.number.to_le_bytes());
    }

    fn read_le(bytes: &[u8]) -> Self {
        let (value, number) = bytes.split_at(<F as Fingerprint>::LEN_BYTES);
        let number = number.first_chunk().map_or(0, |number| u32::from_le_bytes(*number));
        Self { value: Bits::read_le(value), number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::{U256, mix64};
    use crate::options::Options;
    use crate::{LayoutChoice, Row, Schema};

    /// 100,000 fingerprints, with the second word of all `tied` ones equal, and of some others near it.
    fn rows(tied: u64) -> Vec<Row<U256>> {
        let word = |id: u64, word: u64| match word {
            2 if id < tied => 7 << 56,
            2 if id < 2 * tied => 7 << 56 | mix64(id) >> 40,
            1 if id < tied => 0,
            _ => mix64(id << 2 | word),
        };
        let fingerprint = |id| U256::from_le_words(&[0, 1, 2, 3].map(|at| word(id, at)));
        (0..100_000).map(|id| Row { fingerprint: fingerprint(id), id }).collect()
    }

    fn check_tables(rows: &[Row<U256>], memory_bytes: usize, threads: usize) {
        let home = tempfile::tempdir().unwrap();
        let schema = Schema::new().k(3).layout("rotations:4".parse::<LayoutChoice>().unwrap());
        let options = Options::new().memory_bytes(memory_bytes).threads(threads);
        let mut builder = options.build::<U256>(home.path().join("db"), &schema).unwrap();
        rows.iter().for_each(|&row| assert!(builder.push(row).is_ok()));
        let database = builder.finish().unwrap();
        let snapshot = database.snapshot().unwrap();
        let segments = &snapshot.searchables()[0].run.segments;
        assert_eq!(segments.len(), 4);
        for (index, segment) in segments.iter().enumerate() {
            let mut expected: Vec<U256> =
                rows.iter().map(|row| segment.table.permute(row.fingerprint)).collect();
            expected.sort_unstable();
            let mut found = Vec::new();
            segment.read_buckets(0, segment.buckets(), &mut found).unwrap();
            assert!(found == expected, "table {index}, {memory_bytes} bytes");
        }
        assert_eq!(snapshot.verify().unwrap().damage, []);
    }

    #[test]
    fn tables_are_sorted_whatever_the_memory_and_the_leading_bits() {
        // No tied fingerprints; more than a block of them; and more than the memory holds.
        for tied in [0, 6000, 30_000] {
            let rows = rows(tied);
            for (memory_bytes, threads) in [(1 << 20, 1), (3 << 20, 1), (64 << 20, 1), (64 << 20, 3)] {
                check_tables(&rows, memory_bytes, threads);
            }
        }
    }

    #[test]
    fn pieces_of_any_length_are_sorted() {
        for (len, leading) in [(1, u128::MAX), (5000, u128::MAX), (5000, 0xff), (70_000, u128::MAX << 80)] {
            let entry = |number: u32| {
                let random = |half: u64| mix64(u64::from(number) << 1 | half);
                let all = (u128::from(random(0)) << 64 | u128::from(random(1))) & leading;
                LeadingEntry { leading: Leading::of(all, 32), number }
            };
            let mut piece: Vec<_> = (0..len).map(entry).collect();
            let mut expected = piece.clone();
            expected.sort_by_key(|entry| (entry.leading, entry.number));
            sort_piece(&mut piece, 0);
            assert!(piece == expected, "{len} entries");
        }
    }
}
