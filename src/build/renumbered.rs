//! Tables 1 and up of a run of wide fingerprints, merged from the same tables of other runs.
//!
//! These tables hold numbers of fingerprints, in the order of the whole fingerprints. Nearly all of that order is
//! known from the bits that a table has itself. Only entries with equal leading bits need their fingerprints.

use super::ascending::{Ascending, BLOCK, BlockReader};
use super::inputs::MergeInputs;
use super::numbered::NumberedValue;
use super::sort::{Sorter, SpillNames};
use super::target::Target;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::Flaw;
use crate::format::manifest::FileRecord;
use crate::kernel::prefetch;
use crate::layout::cost::directory_bits;
use crate::layout::{Layout, Table};
use crate::run::{BlockRead, Cursor, Leading, LeadingEntry, Run, Segment, SegmentWriter};
use crate::storage::names;

/// The number of an entry whose fingerprint is not in the merged run.
const DROPPED: u32 = u32::MAX;
/// Numbers that are fetched ahead, as they are at random places.
const NUMBERS_AHEAD: usize = 16;

/// The part of the memory that new numbers may take.
const NUMBERS_SHARE: usize = 4;

/// The number that each entry of each input has in the merged run.
pub(super) struct Renumbering(Vec<Vec<u32>>);

/// Whether the tables of wide fingerprints can be merged with so much memory, into a run of so many entries.
pub(super) fn fits<F: Fingerprint>(
    inputs: MergeInputs<'_, F>,
    layout: &Layout,
    entries: u64,
    memory_bytes: usize,
) -> bool {
    let sum: usize = inputs.runs.iter().map(|run| run.segments[0].entries()).sum();
    // A shorter directory lacks bits of the merged one. They are read at random places of the fingerprints.
    let is_short = |(table, segment): (usize, &Segment<F>)| {
        segment.directory_bits() < directory_bits(layout.prefix_bits(table), entries)
    };
    let is_read = |run: &&&Run<F>| run.segments.iter().enumerate().any(is_short);
    let most_read = inputs.runs.iter().filter(is_read).map(|run| run.segments[0].entries()).max();
    sum * size_of::<u32>() <= memory_bytes / NUMBERS_SHARE
        && most_read.unwrap_or(0) * size_of::<F>() <= memory_bytes
}

impl Renumbering {
    /// Compares the fingerprints of each input with the fingerprints of the merged run.
    pub(super) fn new<F: Fingerprint>(inputs: MergeInputs<'_, F>, merged: &Segment<F>) -> Result<Self> {
        let of_input = |values| {
            let mut numbers = Vec::new();
            let (mut cursor, mut block, mut at, mut passed) = (merged.cursor(), Vec::new(), 0, 0u32);
            Ascending::for_each_block(values, |values: &[F]| {
                for &value in values {
                    while block.get(at).is_none_or(|&merged| merged < value) {
                        if at < block.len() {
                            (at, passed) = (at + 1, passed + 1);
                        } else if cursor.next_block(merged, &mut block)? == BlockRead::End {
                            break;
                        } else {
                            at = 0;
                        }
                    }
                    numbers.push(if block.get(at) == Some(&value) { passed } else { DROPPED });
                }
                Ok::<_, Error>(())
            })?;
            Ok(numbers)
        };
        inputs.entries(0).into_iter().map(of_input).collect::<Result<_>>().map(Self)
    }
}

/// A table of the merged run, while it is written.
pub(super) struct RenumberedTable<'a, F> {
    pub(super) target: Target<'a>,
    pub(super) index: usize,
    pub(super) table: &'a Table<F>,
    /// Table 0 of the merged run.
    pub(super) merged: &'a Segment<F>,
    pub(super) memory_bytes: usize,
    pub(super) report: &'a dyn Fn(usize) -> Result<()>,
}

impl<F: Fingerprint> RenumberedTable<'_, F> {
    /// Writes the table from the same tables of the inputs. It must have every number once, with the leading bits
    /// of its fingerprint.
    pub(super) fn write(
        &self,
        inputs: MergeInputs<'_, F>,
        renumbering: &Renumbering,
        (writer, directory_bits): (SegmentWriter<F>, u32),
    ) -> Result<FileRecord> {
        let readers = inputs.runs.iter().zip(&renumbering.0).map(|(run, numbers)| {
            let segment = &run.segments[self.index];
            let (cursor, block) = (segment.cursor(), Vec::new());
            let reader = NumberReader { segment, cursor, numbers, directory_bits, last: None, block };
            Ascending::blocks(Box::new(reader) as Box<dyn BlockReader<LeadingEntry>>, segment.entries())
        });
        let mut output =
            Output { table: self, writer, leading: Vec::new(), numbers: Vec::new(), pushed: 0, sum: 0 };
        let mut ties = Ties { table: self, held: Vec::new(), spilled: None };
        Ascending::tree(readers.collect()).for_each_block(|block| {
            for entries in block.chunk_by(|a, b| a.leading == b.leading) {
                if ties.held.first().is_some_and(|tied| tied.leading != entries[0].leading) {
                    ties.end(&mut output)?;
                }
                ties.push(entries)?;
            }
            Ok::<_, Error>(())
        })?;
        ties.end(&mut output)?;
        output.finish(self.sum(directory_bits)?)
    }

    /// The sum of the hashes of all entries, by the fingerprints.
    fn sum(&self, directory_bits: u32) -> Result<u64> {
        let (mut cursor, mut block, mut numbers, mut sum) = (self.merged.cursor(), Vec::new(), 0u32.., 0u64);
        while cursor.next_block(self.merged, &mut block)? == BlockRead::Filled {
            for (&value, number) in block.iter().zip(&mut numbers) {
                let leading = Leading::of(self.table.permute(value), directory_bits);
                sum = sum.wrapping_add(LeadingEntry { leading, number }.hash());
            }
        }
        Ok(sum)
    }

    /// The fingerprint of an entry in this table's order, and its number.
    fn value(&self, LeadingEntry { number, .. }: LeadingEntry) -> Result<NumberedValue<F>> {
        Ok(NumberedValue { value: self.table.permute(self.merged.numbered(number)?), number })
    }
}

/// Entries with equal leading bits, which are in the order of their fingerprints.
struct Ties<'a, F> {
    table: &'a RenumberedTable<'a, F>,
    /// The last of them, at least one.
    held: Vec<LeadingEntry>,
    /// The others, where there are many.
    spilled: Option<Sorter<NumberedValue<F>>>,
}

impl<F: Fingerprint> Ties<'_, F> {
    fn push(&mut self, entries: &[LeadingEntry]) -> Result<()> {
        if self.held.len() >= BLOCK {
            let RenumberedTable { target, index, memory_bytes, .. } = *self.table;
            let names = SpillNames::new(target.owner.run, index);
            let sorter = || Sorter::new(target.storage.clone(), names, memory_bytes, 1);
            let sorter = self.spilled.get_or_insert_with(sorter);
            self.held.drain(..).try_for_each(|entry| sorter.push(self.table.value(entry)?))?;
        }
        self.held.extend_from_slice(entries);
        Ok(())
    }

    /// Passes them on in the order of the table.
    fn end(&mut self, output: &mut Output<'_, F>) -> Result<()> {
        let Some(&LeadingEntry { leading, .. }) = self.held.first() else { return Ok(()) };
        let mut put = |values: &[NumberedValue<F>]| {
            values
                .iter()
                .try_for_each(|&NumberedValue { number, .. }| output.push(LeadingEntry { leading, number }))
        };
        if self.held.len() > 1 {
            // Several inputs may have a fingerprint.
            self.held.sort_unstable_by_key(|entry| entry.number);
            self.held.dedup_by_key(|entry| entry.number);
        }
        match (self.spilled.take(), &mut self.held[..]) {
            (None, &mut [entry]) => output.push(entry)?,
            (None, held) => {
                let values = held.iter().map(|&entry| self.table.value(entry));
                let mut values: Vec<_> = values.collect::<Result<_>>()?;
                values.sort_unstable();
                put(&values)?;
            }
            (Some(mut sorter), held) => {
                held.iter().try_for_each(|&entry| sorter.push(self.table.value(entry)?))?;
                sorter.finish()?.for_each_block(put)?;
            }
        }
        self.held.clear();
        Ok(())
    }
}

/// Writes entries in order.
struct Output<'a, F> {
    table: &'a RenumberedTable<'a, F>,
    writer: SegmentWriter<F>,
    /// The next ones.
    leading: Vec<Leading>,
    numbers: Vec<u32>,
    /// The entries so far, and the sum of their hashes.
    pushed: u64,
    sum: u64,
}

impl<F: Fingerprint> Output<'_, F> {
    fn push(&mut self, entry: LeadingEntry) -> Result<()> {
        self.leading.push(entry.leading);
        self.numbers.push(entry.number);
        self.sum = self.sum.wrapping_add(entry.hash());
        if self.numbers.len() < BLOCK { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<()> {
        self.pushed += self.numbers.len() as u64;
        let entries = self.table.merged.info.entries;
        if self.pushed > entries {
            return Err(self.disagree(self.pushed));
        }
        self.writer.push_leading(&self.leading)?;
        self.writer.push_numbers(&self.numbers)?;
        (self.table.report)(self.numbers.len())?;
        self.leading.clear();
        self.numbers.clear();
        Ok(())
    }

    fn finish(mut self, expected: u64) -> Result<FileRecord> {
        self.write()?;
        let info = self.table.merged.info;
        if (self.pushed, self.sum) != (info.entries, expected) {
            return Err(self.disagree(self.pushed));
        }
        self.writer.finish_with_sum(info.fingerprint_sum)
    }

    /// The tables of an input disagree.
    fn disagree(&self, found: u64) -> Error {
        let RenumberedTable { target, merged, .. } = self.table;
        let path = target.storage.path(&names::segment(target.owner.run, self.table.index));
        let expected =
            format!("each of {} entries once, with the bits that table 0 has", merged.info.entries);
        Flaw::new("numbers", 0, expected, format!("{found} entries of runs that disagree")).of(&path)
    }
}

/// Reads the entries of a table, with their numbers in the merged run, and checks their order.
struct NumberReader<'a, F> {
    segment: &'a Segment<F>,
    cursor: Cursor,
    numbers: &'a [u32],
    /// The length of the merged table's directory.
    directory_bits: u32,
    last: Option<Leading>,
    block: Vec<LeadingEntry>,
}

impl<F: Fingerprint> BlockReader<LeadingEntry> for NumberReader<'_, F> {
    fn next_block(&mut self, out: &mut Vec<LeadingEntry>) -> Result<()> {
        let Self { segment, directory_bits, .. } = *self;
        let flaw = |expected: String, found: String| {
            segment.file.flaw(segment.file.footer_offset(), expected, found)
        };
        while out.is_empty() {
            let read = |bucket, block: &mut Vec<_>| segment.read_leading(bucket, directory_bits, block);
            if self.cursor.next_buckets(segment, &mut self.block, read)? == BlockRead::End {
                break;
            }
            for (at, &LeadingEntry { leading, number }) in self.block.iter().enumerate() {
                if let Some(later) = self.block.get(at + NUMBERS_AHEAD) {
                    prefetch(self.numbers, later.number as usize);
                }
                if self.last.replace(leading) > Some(leading) {
                    return Err(flaw("ascending entries".into(), format!("{leading:x?}")));
                }
                match self.numbers.get(number as usize) {
                    Some(&DROPPED) => {}
                    Some(&number) => out.push(LeadingEntry { leading, number }),
                    None => {
                        return Err(flaw(
                            format!("a number below {}", self.numbers.len()),
                            number.to_string(),
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}
