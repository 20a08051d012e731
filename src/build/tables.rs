//! Tables 1 and up of a run: sorted from its table 0, or merged from the same tables of other runs.

use std::sync::atomic::{AtomicU64, Ordering};

use super::merge::{Inputs, table_streams};
use super::sort::{Record, Sorter, SpillNames};
use super::stream::for_each_distinct;
use super::write::{Begun, Target};
use crate::error::{Error, Result};
use crate::fingerprint::{Bits, Fingerprint};
use crate::format::Flaw;
use crate::format::manifest::FileRecord;
use crate::layout::cost::directory_bits;
use crate::layout::{Table, is_wide};
use crate::progress::Stage;
use crate::run::{Segment, SegmentWriter};
use crate::util::parallel;

/// A table that is given less sorts in many small pieces.
const MEMORY_PER_TABLE: usize = 16 << 20;
/// Each table being merged has some thirty files open.
const MOST_AT_ONCE: usize = 16;

/// What the tables are made from.
#[derive(Clone, Copy)]
pub(super) enum From<'a, F> {
    /// Table 0 of the run itself.
    Sorting,
    /// The same tables of other runs, less some fingerprints (in natural order, ascending): of 64 bits, which
    /// stand in every table.
    Merging { inputs: Inputs<'a, F>, dropped: &'a [F] },
}

/// Writes every table but the first, as many at a time as there are threads.
pub(super) fn write_others<F: Fingerprint>(
    target: Target<'_>,
    begun: &Begun<F>,
    from: From<'_, F>,
) -> Result<Vec<FileRecord>> {
    let options = target.options;
    let tables = begun.layout.tables::<F>();
    let others = tables.len() - 1;
    let at_once =
        options.threads.min(others).min(options.memory_bytes / MEMORY_PER_TABLE).clamp(1, MOST_AT_ONCE);
    let work = TableWork {
        target,
        from,
        source: &begun.natural,
        memory_bytes: options.memory_bytes / at_once,
        threads: options.threads.div_ceil(at_once),
        done: AtomicU64::new(0),
        total: others as u64 * begun.counts.entries * 2,
    };
    let mut files = Vec::with_capacity(others);
    parallel::ordered(
        at_once,
        others,
        || (),
        |item, (), sink| {
            let _ = sink(work.write(item + 1, &tables[item + 1])?);
            Ok(())
        },
        |file| {
            files.push(file);
            Ok::<(), Error>(())
        },
    )?;
    Ok(files)
}

/// A fingerprint in a table's order, and its number in table 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Numbered<F> {
    value: F,
    entry: u32,
}

impl<F: Fingerprint> Record for Numbered<F> {
    const LEN_BYTES: usize = <F as Fingerprint>::LEN_BYTES + 4;

    fn write_le(self, out: &mut Vec<u8>) {
        Bits::write_le(self.value, out);
        out.extend_from_slice(&self.entry.to_le_bytes());
    }

    fn read_le(bytes: &[u8]) -> Self {
        let (value, entry) = bytes.split_at(<F as Fingerprint>::LEN_BYTES);
        let entry = entry.first_chunk().map_or(0, |entry| u32::from_le_bytes(*entry));
        Self { value: Bits::read_le(value), entry }
    }
}

/// Takes values in a table's order and, of wide ones, their numbers in table 0.
type Push<'a, F> = &'a mut dyn FnMut(&[F], &[u32]) -> Result<()>;

struct TableWork<'a, F> {
    target: Target<'a>,
    from: From<'a, F>,
    source: &'a Segment<F>,
    memory_bytes: usize,
    threads: usize,
    done: AtomicU64,
    total: u64,
}

impl<F: Fingerprint> TableWork<'_, F> {
    fn write(&self, number: usize, table: &Table<F>) -> Result<FileRecord> {
        let Target { storage, database_id, run, .. } = self.target;
        let entries = self.source.info.entries;
        let spec = Segment::<F>::file_spec(database_id, run, number);
        let path = storage.path(&spec.name);
        let bits = directory_bits(table.prefix_bits, entries);
        let mut left = entries;
        let mut writer = SegmentWriter::create(&**storage, &spec, table.clone(), entries, bits)?;
        let mut push = |values: &[F], numbers: &[u32]| {
            // More or fewer only come from inputs whose tables disagree.
            left =
                left.checked_sub(values.len() as u64).ok_or_else(|| disagree(entries, "more").of(&path))?;
            writer.push(values)?;
            writer.push_entries(numbers)?;
            self.report(values.len())
        };
        match self.from {
            From::Sorting if is_wide(F::BITS) => self.sort_numbered(number, table, &mut push)?,
            From::Sorting => self.sort(number, table, &mut |values| push(values, &[]))?,
            From::Merging { inputs, dropped } => {
                self.merge(number, table, inputs, dropped, &mut |values| push(values, &[]))?;
            }
        }
        if left > 0 {
            return Err(disagree(entries, "fewer").of(&path));
        }
        let (file, info) = writer.finish()?;
        Flaw::unless_equal("footer", 0, self.source.info.fingerprint_sum, info.fingerprint_sum)
            .map_err(|flaw| flaw.of(&path))?;
        Ok(file)
    }

    /// Hands out the permuted entries of table 0 in order.
    fn sort(&self, number: usize, table: &Table<F>, push: &mut dyn FnMut(&[F]) -> Result<()>) -> Result<()> {
        let names = SpillNames::new(self.target.run, number);
        let mut sorter = Sorter::new(self.target.storage.clone(), names, self.memory_bytes, self.threads);
        let mut cursor = self.source.cursor();
        let mut block = Vec::new();
        while cursor.next_block(&mut block)? {
            for &natural in &block {
                sorter.push(table.permute(natural))?;
            }
            self.report(block.len())?;
        }
        sorter.finish()?.for_each_block(push)
    }

    /// The same of wide fingerprints, with the number of each in table 0.
    fn sort_numbered(&self, number: usize, table: &Table<F>, push: Push<'_, F>) -> Result<()> {
        let names = SpillNames::new(self.target.run, number);
        let mut sorter = Sorter::new(self.target.storage.clone(), names, self.memory_bytes, self.threads);
        let mut cursor = self.source.cursor();
        let (mut block, mut entry) = (Vec::new(), 0);
        while cursor.next_block(&mut block)? {
            for &natural in &block {
                sorter.push(Numbered { value: table.permute(natural), entry })?;
                entry += 1;
            }
            self.report(block.len())?;
        }
        let (mut values, mut numbers) = (Vec::new(), Vec::new());
        sorter.finish()?.for_each_block(|block: &[Numbered<F>]| {
            values.clear();
            values.extend(block.iter().map(|numbered| numbered.value));
            numbers.clear();
            numbers.extend(block.iter().map(|numbered| numbered.entry));
            push(&values, &numbers)
        })
    }

    /// Hands out the entries of the same table of all inputs, without those that were dropped.
    fn merge(
        &self,
        number: usize,
        table: &Table<F>,
        inputs: Inputs<'_, F>,
        dropped: &[F],
        push: &mut dyn FnMut(&[F]) -> Result<()>,
    ) -> Result<()> {
        let mut dropped: Vec<F> = dropped.iter().map(|&natural| table.permute(natural)).collect();
        dropped.sort_unstable();
        let mut dropped = dropped.into_iter().peekable();
        let mut kept = Vec::new();
        for_each_distinct(table_streams(inputs, number), |block| {
            kept.clear();
            for &value in block {
                while dropped.next_if(|&gone| gone < value).is_some() {}
                if dropped.peek() != Some(&value) {
                    kept.push(value);
                }
            }
            self.report(block.len())?;
            push(&kept)
        })
    }

    fn report(&self, more: usize) -> Result<()> {
        let done = self.done.fetch_add(more as u64, Ordering::Relaxed) + more as u64;
        self.target.options.report(Stage::Tables, done / 2, Some(self.total / 2))
    }
}

fn disagree(entries: u64, found: &str) -> Flaw {
    Flaw::new("hi", 0, format!("{entries} entries, as table 0 has"), found)
}
