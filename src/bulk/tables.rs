//! Tables 1 and up, each made from table 0.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::sort::Sorter;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::Flaw;
use crate::format::manifest::FileRecord;
use crate::layout::Table;
use crate::layout::cost::directory_bits;
use crate::options::{Options, Stage};
use crate::parallel;
use crate::segment::{Segment, SegmentWriter};
use crate::storage::Folder;

/// A table that is given less sorts in many small pieces.
const MEMORY_PER_TABLE: usize = 16 << 20;
/// Each table being merged has some thirty files open.
const MOST_AT_ONCE: usize = 16;

/// Permutes, sorts and writes every table but the first, as many at a time as there are threads.
pub(super) fn write_others<F: Fingerprint>(
    folder: &Folder,
    options: &Options,
    database_id: [u8; 16],
    run: u64,
    source: &Segment<F>,
    tables: &[Table<F>],
) -> Result<Vec<FileRecord>> {
    let others = tables.len() - 1;
    let at_once =
        options.threads.min(others).min(options.memory_bytes / MEMORY_PER_TABLE).clamp(1, MOST_AT_ONCE);
    let work = TableWork {
        folder,
        options,
        database_id,
        run,
        source,
        memory_bytes: options.memory_bytes / at_once,
        threads: options.threads.div_ceil(at_once),
        done: AtomicU64::new(0),
        total: others as u64 * source.info.entries * 2,
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
            Ok(())
        },
    )?;
    Ok(files)
}

struct TableWork<'a, F> {
    folder: &'a Folder,
    options: &'a Options,
    database_id: [u8; 16],
    run: u64,
    source: &'a Segment<F>,
    memory_bytes: usize,
    threads: usize,
    done: AtomicU64,
    total: u64,
}

impl<F: Fingerprint> TableWork<'_, F> {
    fn write(&self, number: usize, table: &Table<F>) -> Result<FileRecord> {
        // Each table numbers its spilled parts in a range of its own.
        let first_spill = (number as u64) << 32;
        let mut sorter =
            Sorter::new(Arc::new(self.folder.clone()), first_spill, self.memory_bytes, self.threads);
        let mut cursor = self.source.cursor();
        let mut block = Vec::new();
        while cursor.next_block(&mut block)? {
            for &natural in &block {
                sorter.push(table.permute(natural))?;
            }
            self.report(block.len())?;
        }
        let sorted = sorter.finish()?;
        let entries = self.source.info.entries;
        let belongs = Segment::<F>::belongs(self.database_id, self.run, number);
        let bits = directory_bits(table.lead_bits, entries);
        let mut writer = SegmentWriter::create(self.folder, &belongs, table.clone(), entries, bits)?;
        sorted.for_each_block(|block| {
            writer.push(block)?;
            self.report(block.len())
        })?;
        let (file, info) = writer.finish()?;
        let path = self.source.file.path().with_file_name(&belongs.name);
        Flaw::unless_equal("footer", 0, self.source.info.fingerprint_sum, info.fingerprint_sum)
            .map_err(|flaw| flaw.of(&path))?;
        Ok(file)
    }

    fn report(&self, more: usize) -> Result<()> {
        let done = self.done.fetch_add(more as u64, Ordering::Relaxed) + more as u64;
        self.options.report(Stage::Tables, done / 2, Some(self.total / 2))
    }
}
