//! Tables 1 and up of a run: sorted from its table 0, or merged from the same tables of other runs.

use super::ascending::for_each_distinct;
use super::inputs::MergeInputs;
use super::natural::NaturalTable;
use super::numbered::NumberedTable;
use super::sort::{Sorter, SpillNames};
use super::target::Target;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Stored};
use crate::format::Flaw;
use crate::format::manifest::FileRecord;
use crate::layout::cost::directory_bits;
use crate::layout::{Layout, Table};
use crate::options::Sum;
use crate::progress::Stage;
use crate::run::{BlockRead, LeadingEntry, Segment, SegmentWriter};
use crate::util::parallel;

/// With less memory, a table is sorted in many small pieces.
const MEMORY_PER_TABLE: usize = 16 << 20;
/// Each table that is being merged has about thirty open files.
const MAX_AT_ONCE: usize = 16;

/// The source of the tables.
#[derive(Clone, Copy)]
pub(super) enum TableSource<'a, F> {
    /// Table 0 of the same run.
    Sorting,
    /// The same tables of other runs, without some fingerprints (in natural order, ascending).
    Merging { inputs: MergeInputs<'a, F>, dropped: &'a [F] },
}

/// Writes every table but the first, with as many tables at a time as there are threads.
pub(super) fn write_others<F: Fingerprint>(
    target: Target<'_>,
    natural: &NaturalTable,
    source: TableSource<'_, F>,
) -> Result<Vec<FileRecord>> {
    let options = target.options;
    let tables = natural.layout.tables::<F>();
    let others = tables.len() - 1;
    if others == 0 {
        return Ok(Vec::new());
    }
    let natural_table = natural.open(target)?;
    let at_once =
        options.threads.min(others).min(options.memory_bytes / MEMORY_PER_TABLE).clamp(1, MAX_AT_ONCE);
    let work = TableWork {
        target,
        source,
        natural: &natural_table,
        layout: &natural.layout,
        memory_bytes: options.memory_bytes / at_once,
        threads: options.threads.div_ceil(at_once),
        done: Sum::default(),
        total: others as u64 * natural.entries * 2,
    };
    let mut files = Vec::with_capacity(others);
    parallel::ordered(
        at_once,
        others,
        Vec::new,
        |item, entries, sink| {
            let _ = sink(work.write(item + 1, &tables[item + 1], entries)?);
            Ok(())
        },
        |file| {
            files.push(file);
            Ok::<(), Error>(())
        },
    )?;
    Ok(files)
}

/// Receives values in a table's order.
type Push<'a, F> = &'a mut dyn FnMut(&[F]) -> Result<()>;

/// The work on all tables.
struct TableWork<'a, F> {
    target: Target<'a>,
    source: TableSource<'a, F>,
    natural: &'a Segment<F>,
    layout: &'a Layout,
    memory_bytes: usize,
    threads: usize,
    done: Sum,
    total: u64,
}

impl<F: Fingerprint> TableWork<'_, F> {
    /// Writes a table. `numbered` has the memory of an earlier one of wide fingerprints.
    fn write(&self, index: usize, table: &Table<F>, numbered: &mut Vec<LeadingEntry>) -> Result<FileRecord> {
        let Target { storage, owner, .. } = self.target;
        let entries = self.natural.info.entries;
        let spec = Segment::<F>::file_spec(owner, self.layout, index);
        let path = storage.path(&spec.name);
        let bits = directory_bits(table.prefix_bits, entries);
        let mut writer = SegmentWriter::create(&**storage, &spec, table.clone(), entries, bits)?;
        if !F::PAYLOAD.is_whole() {
            let Self { target, natural, memory_bytes, threads, .. } = *self;
            let (directory_bits, report) = (bits, &|more| self.report(more));
            return NumberedTable {
                target,
                index,
                table,
                natural,
                directory_bits,
                memory_bytes,
                threads,
                report,
            }
            .write(writer, numbered);
        }
        let mut left = entries;
        let mut push = |values: &[F]| {
            // The count differs only if tables of the inputs disagree.
            left =
                left.checked_sub(values.len() as u64).ok_or_else(|| disagree(entries, "more").of(&path))?;
            writer.push(values)?;
            self.report(values.len())
        };
        match self.source {
            TableSource::Sorting => self.sort(index, table, &mut push)?,
            TableSource::Merging { inputs, dropped } => {
                self.merge(index, table, inputs, dropped, &mut push)?;
            }
        }
        if left > 0 {
            return Err(disagree(entries, "fewer").of(&path));
        }
        let (file, info) = writer.finish()?;
        Flaw::unless_equal("footer", 0, self.natural.info.fingerprint_sum, info.fingerprint_sum)
            .map_err(|flaw| flaw.of(&path))?;
        Ok(file)
    }

    /// Pushes the fingerprints of table 0 in the order of another table.
    fn sort(&self, index: usize, table: &Table<F>, push: Push<'_, F>) -> Result<()> {
        let names = SpillNames::new(self.target.owner.run, index);
        let mut sorter = Sorter::new(self.target.storage.clone(), names, self.memory_bytes, self.threads);
        let mut cursor = self.natural.cursor();
        let mut block = Vec::new();
        while cursor.next_block(self.natural, &mut block)? == BlockRead::Filled {
            for &natural in &block {
                sorter.push(table.permute(natural))?;
            }
            self.report(block.len())?;
        }
        sorter.finish()?.for_each_block(push)
    }

    /// Pushes the entries of the same table of all inputs, without the dropped fingerprints.
    fn merge(
        &self,
        index: usize,
        table: &Table<F>,
        inputs: MergeInputs<'_, F>,
        dropped: &[F],
        push: Push<'_, F>,
    ) -> Result<()> {
        let mut dropped: Vec<F> = dropped.iter().map(|&natural| table.permute(natural)).collect();
        dropped.sort_unstable();
        let mut dropped = dropped.into_iter().peekable();
        let mut kept = Vec::new();
        for_each_distinct(inputs.entries(index), |block| {
            kept.clear();
            for &value in block {
                while dropped.next_if(|&dropped| dropped < value).is_some() {}
                if dropped.peek() != Some(&value) {
                    kept.push(value);
                }
            }
            self.report(kept.len())?;
            push(&kept)
        })
    }

    fn report(&self, more: usize) -> Result<()> {
        let report = |done| self.target.options.report(Stage::Tables, done / 2, Some(self.total / 2));
        self.done.add(more as u64, report)
    }
}

fn disagree(entries: u64, found: &str) -> Flaw {
    Flaw::new("hi", 0, format!("{entries} entries, as table 0 has"), found)
}
