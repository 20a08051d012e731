//! Writes a postings file.

use super::page_file::FileSpec;
use super::page_writer::PageFileWriter;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Stored};
use crate::format::filter::{Filter, INSERTED_AT_ONCE};
use crate::format::manifest::FileRecord;
use crate::format::postings::{
    FILTER, IDS, PostingsInfo, RANK_ROWS, RANKS, SAMPLE_ENTRIES, SAMPLES, STARTS, VALUES, row_hash,
};
use crate::storage::Storage;
use crate::util::cast::{to_u32, to_usize};

/// Writes a postings file.
pub(crate) struct PostingsWriter {
    file: PageFileWriter,
    info: PostingsInfo,
    entries: u64,
    rows: u64,
    row_sum: u64,
    starts: u64,
    filter: Filter,
    /// Ids that will enter the filter.
    unfiltered: Vec<u64>,
    bytes: Vec<u8>,
}

impl PostingsWriter {
    /// Starts a postings file with the counts and id range of `info`. The writer computes the sum.
    pub(crate) fn create(storage: &dyn Storage, spec: &FileSpec, info: PostingsInfo) -> Result<Self> {
        let file = PageFileWriter::create(storage, spec, &info.section_lens(spec.header.owner.width))?;
        let filter = Filter::with_blocks(info.filter_blocks);
        let (entries, rows, row_sum, starts) = (0, 0, 0, 0);
        let (unfiltered, bytes) = (Vec::with_capacity(INSERTED_AT_ONCE), Vec::new());
        Ok(Self { file, info, entries, rows, row_sum, starts, filter, unfiltered, bytes })
    }

    /// Appends a row. `first` starts the next fingerprint; otherwise the id belongs to the previous
    /// one.
    pub(crate) fn push(&mut self, first: bool, fingerprint_hash: u64, id: u64) -> Result<()> {
        if !self.info.one_row_each() && self.rows.is_multiple_of(RANK_ROWS) {
            self.file.put(RANKS, &to_u32(to_usize(self.entries)).to_le_bytes())?;
        }
        if first {
            if !self.info.one_row_each() {
                if self.entries.is_multiple_of(SAMPLE_ENTRIES) {
                    self.file.put(SAMPLES, &self.rows.to_le_bytes())?;
                }
                self.starts |= 1 << (self.rows % 64);
            }
            self.entries += 1;
        }
        self.row_sum = self.row_sum.wrapping_add(row_hash(fingerprint_hash, id));
        self.unfiltered.push(id);
        if self.unfiltered.len() == INSERTED_AT_ONCE {
            self.fill_filter();
        }
        let stored = id.wrapping_sub(self.info.id_base()).to_le_bytes();
        self.file.put(IDS, stored.get(..to_usize(self.info.id_bytes())).unwrap_or_default())?;
        self.rows += 1;
        if self.rows.is_multiple_of(64) { self.put_starts() } else { Ok(()) }
    }

    /// Appends the next fingerprints themselves, unless the tables hold whole fingerprints.
    pub(crate) fn put_values<F: Fingerprint>(&mut self, values: &[F]) -> Result<()> {
        if F::PAYLOAD.is_whole() {
            return Ok(());
        }
        self.bytes.clear();
        values.iter().for_each(|&value| value.write_le(&mut self.bytes));
        self.file.put(VALUES, &self.bytes)
    }

    /// Closes the file. Returns its record for the manifest, and the sum over the rows.
    pub(crate) fn finish(mut self) -> Result<(FileRecord, u64)> {
        assert_eq!(
            (self.entries, self.rows),
            (self.info.entries, self.info.rows),
            "as many rows as announced"
        );
        if !self.rows.is_multiple_of(64) {
            self.put_starts()?;
        }
        self.fill_filter();
        self.file.put(FILTER, self.filter.as_bytes())?;
        self.info.row_sum = self.row_sum;
        Ok((self.file.finish(self.info.attributes())?, self.row_sum))
    }

    fn fill_filter(&mut self) {
        self.filter.insert_all(&self.unfiltered);
        self.unfiltered.clear();
    }

    fn put_starts(&mut self) -> Result<()> {
        let word = std::mem::take(&mut self.starts);
        if self.info.one_row_each() { Ok(()) } else { self.file.put(STARTS, &word.to_le_bytes()) }
    }
}
