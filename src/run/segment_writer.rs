//! Writes one segment from fingerprints in ascending order of its table.

use super::hi_words::hi_word;
use super::leading::Leading;
use super::page_file::FileSpec;
use super::page_writer::PageFileWriter;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, HI_BITS, Stored};
use crate::format::manifest::FileRecord;
use crate::format::segment::{DIRECTORY, HI, REST, Rest, SegmentInfo};
use crate::layout::Table;
use crate::storage::Storage;
use crate::util::cast::{to_u32, to_usize};

/// Directory words to collect before a write. Sparse data has long runs of empty buckets.
const BUCKETS_AT_ONCE: u64 = 1 << 16;

/// Writes a segment block by block.
pub(crate) struct SegmentWriter<F> {
    file: PageFileWriter,
    table: Table<F>,
    info: SegmentInfo,
    rest: Rest,
    pushed: u64,
    /// Buckets with a written directory word.
    started_buckets: u64,
    bucket_start: u64,
    last: Option<F>,
    buckets: Vec<u32>,
    hi: Vec<u32>,
    lo: Vec<u8>,
}

impl<F: Fingerprint> SegmentWriter<F> {
    /// Starts a segment of exactly `entries` fingerprints.
    pub(crate) fn create(
        storage: &dyn Storage,
        spec: &FileSpec,
        table: Table<F>,
        entries: u64,
        directory_bits: u32,
    ) -> Result<Self> {
        let lens = SegmentInfo::section_lens(entries, directory_bits, F::BITS, spec.header.table);
        Ok(Self {
            file: PageFileWriter::create(storage, spec, &lens)?,
            table,
            info: SegmentInfo { entries, fingerprint_sum: 0, bucket_squares: 0, directory_bits },
            rest: Rest::of(F::BITS, directory_bits, spec.header.table),
            pushed: 0,
            started_buckets: 0,
            bucket_start: 0,
            last: None,
            buckets: Vec::new(),
            hi: Vec::new(),
            lo: Vec::new(),
        })
    }

    /// Appends fingerprints in this table's order, each larger than the previous one.
    pub(crate) fn push(&mut self, permuted: &[F]) -> Result<()> {
        let directory_bits = self.info.directory_bits;
        for &value in permuted {
            debug_assert!(self.last < Some(value), "ascending and distinct");
            self.last = Some(value);
            self.push_into(value.bits(0, directory_bits))?;
        }
        // A pass for each section takes half of the time of one for all.
        match F::PAYLOAD.hi_words() {
            1 => self.hi.extend(permuted.iter().map(|&value| hi_word(value, directory_bits, 0))),
            words => self.hi.extend(
                permuted
                    .iter()
                    .flat_map(|&value| (0..words).map(move |word| hi_word(value, directory_bits, word))),
            ),
        }
        if let Rest::Lo { bits, bytes } = self.rest {
            for &value in permuted {
                let lo = value.bits(directory_bits + HI_BITS, bits).to_le_bytes();
                self.lo.extend_from_slice(lo.get(..bytes).unwrap_or_default());
            }
        }
        let hashes = permuted.iter().map(|&value| self.table.restore(value).hash64());
        self.info.fingerprint_sum = hashes.fold(self.info.fingerprint_sum, u64::wrapping_add);
        self.drain()
    }

    /// Appends fingerprints by their leading bits, in a table that stores numbers. Their order is the
    /// order of their values in this table. [`finish_with_sum`](SegmentWriter::finish_with_sum) then
    /// closes the file.
    pub(crate) fn push_leading(&mut self, leading: &[Leading]) -> Result<()> {
        let directory_bits = self.info.directory_bits;
        for leading in leading {
            self.push_into(leading.bucket(directory_bits))?;
        }
        for leading in leading {
            let words = 0..to_u32(F::PAYLOAD.hi_words());
            self.hi.extend(words.map(|word| leading.hi_word(directory_bits, word)));
        }
        self.drain()
    }

    /// Counts an entry of a bucket.
    fn push_into(&mut self, bucket: u64) -> Result<()> {
        if bucket >= self.started_buckets {
            self.start_buckets_up_to(bucket)?;
        }
        self.pushed += 1;
        Ok(())
    }

    /// Appends the numbers of the pushed fingerprints, in a table that stores numbers.
    pub(crate) fn push_numbers(&mut self, numbers: &[u32]) -> Result<()> {
        self.file.put(REST, bytemuck::cast_slice(numbers))
    }

    /// Closes a file whose fingerprints were pushed by their leading bits, and have this sum.
    pub(crate) fn finish_with_sum(mut self, fingerprint_sum: u64) -> Result<FileRecord> {
        self.info.fingerprint_sum = fingerprint_sum;
        self.finish().map(|(file, _)| file)
    }

    /// Closes the file. Returns its record for the manifest, and the content of its footer.
    pub(crate) fn finish(mut self) -> Result<(FileRecord, SegmentInfo)> {
        assert_eq!(self.pushed, self.info.entries, "as many fingerprints as announced");
        self.start_buckets_up_to(1 << self.info.directory_bits)?;
        self.drain()?;
        Ok((self.file.finish(self.info.attributes())?, self.info))
    }

    /// Writes the directory words of all buckets up to and including `bucket`: the number of
    /// entries so far.
    fn start_buckets_up_to(&mut self, bucket: u64) -> Result<()> {
        let size = self.pushed - self.bucket_start;
        self.info.bucket_squares = self.info.bucket_squares.saturating_add(size.saturating_mul(size));
        self.bucket_start = self.pushed;
        while self.started_buckets <= bucket {
            let missing = (bucket + 1 - self.started_buckets).min(BUCKETS_AT_ONCE);
            self.buckets.resize(self.buckets.len() + to_usize(missing), to_u32(to_usize(self.pushed)));
            self.started_buckets += missing;
            if self.buckets.len() as u64 >= BUCKETS_AT_ONCE {
                self.file.put(DIRECTORY, bytemuck::cast_slice(&self.buckets))?;
                self.buckets.clear();
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<()> {
        self.file.put(DIRECTORY, bytemuck::cast_slice(&self.buckets))?;
        self.file.put(HI, bytemuck::cast_slice(&self.hi))?;
        self.file.put(REST, &self.lo)?;
        self.buckets.clear();
        self.hi.clear();
        self.lo.clear();
        Ok(())
    }
}
