//! One table of a run, read in place.

use std::ops::Range;

use super::hi_words::{HiWords, NEAR, hi_word, likely_place};
use super::page_file::{FileSpec, PageFile};
use super::rest::{LoPlane, RestPlane};
use super::values::Values;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, HI_BITS, Printed, Stored};
use crate::format::header::{Header, Owner};
use crate::format::manifest::{FileRecord, RunRecord};
use crate::format::segment::{DIRECTORY, HI, MAGIC, SegmentInfo, sections};
use crate::kernel::Kernel;
use crate::layout::cost::TableShape;
use crate::layout::{Layout, Table};
use crate::storage::{Access, Storage, names};
use crate::util::cast::to_usize;

/// One table of one run, open.
#[derive(Debug)]
pub(crate) struct Segment<F> {
    pub(crate) file: PageFile,
    pub(crate) info: SegmentInfo,
    pub(crate) table: Table<F>,
    is_natural: bool,
    directory_base: usize,
    hi_base: usize,
    rest: RestPlane,
    known_bits: F,
}

impl<F: Fingerprint> Segment<F> {
    /// The expected name and header of the segment of a table.
    pub(crate) fn file_spec(owner: Owner, layout: &Layout, table: usize) -> FileSpec {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let header = Header {
            magic: MAGIC,
            owner,
            table: number(table),
            blocks: number(layout.block_count()),
            prefix: layout.prefixes().get(table).copied().unwrap_or_default(),
        };
        FileSpec { name: names::segment(owner.run, table), header, section_names: sections(F::BITS) }
    }

    /// Maps the file of a segment and checks it against the manifest's record of its run.
    pub(super) fn open_file(
        storage: &dyn Storage,
        spec: &FileSpec,
        record: FileRecord,
        run: &RunRecord,
    ) -> Result<(PageFile, SegmentInfo)> {
        let (file, info) = Self::map_file(storage, spec, record, Access::Random)?;
        let tag = |name: &str, number: u64| format!("{name} {number}");
        file.check_equal("footer", tag("entries", run.entries), tag("entries", info.entries))?;
        let sum = |sum| tag("fingerprint sum", sum);
        file.check_equal("footer", sum(run.fingerprint_sum), sum(info.fingerprint_sum))?;
        // Bits of other bands are no part of the sketch.
        let band = run.layout.prefix_bits(to_usize(u64::from(spec.header.table)));
        if run.layout.is_bands() && info.directory_bits > band {
            let expected = format!("at most {band} directory bits, as a band has");
            return Err(file.flaw(file.footer_offset(), expected, info.directory_bits));
        }
        Ok((file, info))
    }

    fn map_file(
        storage: &dyn Storage,
        spec: &FileSpec,
        record: FileRecord,
        access: Access,
    ) -> Result<(PageFile, SegmentInfo)> {
        let file = PageFile::open(storage, spec, access, record)?;
        let info = SegmentInfo::from_footer(&file.footer, file.footer_offset(), F::BITS, spec.header.table)
            .map_err(|flaw| flaw.of(file.path()))?;
        Ok((file, info))
    }

    /// Maps a segment that has just been written.
    pub(crate) fn map(
        storage: &dyn Storage,
        spec: &FileSpec,
        table: Table<F>,
        record: FileRecord,
        access: Access,
        values: Option<Values>,
    ) -> Result<Self> {
        let (file, info) = Self::map_file(storage, spec, record, access)?;
        Ok(Self::new(file, info, spec.header.table, table, values))
    }

    /// The segment in an open file, which holds table `number`. `values` are the fingerprints of
    /// the run; `None` if the tables hold whole fingerprints.
    pub(super) fn new(
        file: PageFile,
        info: SegmentInfo,
        number: u32,
        table: Table<F>,
        values: Option<Values>,
    ) -> Self {
        Self {
            info,
            is_natural: number == 0,
            known_bits: table.restore(F::ones(0, info.directory_bits + HI_BITS)),
            table,
            directory_base: file.base(DIRECTORY),
            hi_base: file.base(HI),
            rest: RestPlane::new::<F>(&file, &info, number, values),
            file,
        }
    }

    pub(crate) fn entries(&self) -> usize {
        to_usize(self.info.entries)
    }

    pub(crate) fn directory_bits(&self) -> u32 {
        self.info.directory_bits
    }

    /// Number of buckets of the directory.
    pub(crate) fn buckets(&self) -> usize {
        1 << self.info.directory_bits
    }

    /// The properties that the planner needs.
    pub(crate) fn shape(&self) -> TableShape {
        let uniform =
            TableShape::uniform(self.table.prefix_bits, self.info.directory_bits, self.info.entries);
        let buckets_per_prefix = f64::from(self.info.directory_bits - uniform.probe_bits()).exp2();
        let typical = self.info.bucket_squares as f64 / self.info.entries.max(1) as f64 * buckets_per_prefix;
        TableShape {
            typical_bucket: typical.clamp(uniform.mean_bucket, self.info.entries.max(1) as f64),
            ..uniform
        }
    }

    /// Prefetches the directory word of a bucket.
    #[inline]
    pub(crate) fn prefetch_bucket(&self, bucket: usize) {
        let start = self.directory_base + bucket * 4;
        self.file.prefetch(start..start + 8);
    }

    /// Prefetches the `hi` words of neighbouring entries.
    #[inline]
    pub(crate) fn prefetch_hi(&self, places: &Range<usize>) {
        self.file.prefetch(self.hi_place(places));
    }

    #[inline]
    fn hi_place(&self, places: &Range<usize>) -> Range<usize> {
        let bytes = 4 * F::PAYLOAD.hi_words();
        self.hi_base + places.start * bytes..self.hi_base + places.end * bytes
    }

    /// Prefetches the likely place of a value in its bucket: the `hi` words and the rest. Returns
    /// that place.
    pub(crate) fn prefetch_place_of(&self, permuted: F) -> Result<usize> {
        let range = self.entries_of(self.bucket_of(permuted))?;
        let place = range.start + likely_place(range.len(), self.hi_of(permuted));
        self.prefetch_hi(&(place.saturating_sub(NEAR).max(range.start)..(place + NEAR + 1).min(range.end)));
        self.prefetch_rest(place);
        Ok(place)
    }

    /// Prefetches what follows the `hi` words of an entry. For wide fingerprints that is the
    /// entry's number; [`prefetch_value`](Segment::prefetch_value) then prefetches the fingerprint.
    #[inline]
    pub(crate) fn prefetch_rest(&self, place: usize) {
        self.rest.prefetch::<F>(&self.file, place);
    }

    /// Prefetches the fingerprint of an entry if it is in the postings file.
    #[inline]
    pub(crate) fn prefetch_value(&self, place: usize) -> Result<()> {
        self.rest.prefetch_value::<F>(&self.file, place)
    }

    /// Prefetches the directory word of a value's bucket, if the known bits of the value determine
    /// the bucket.
    #[inline]
    pub(crate) fn prefetch_bucket_if_known(&self, permuted: F, known: F) {
        if F::ones(0, self.info.directory_bits) & !known == F::default() {
            self.prefetch_bucket(self.bucket_of(permuted));
        }
    }

    /// The bits, in natural order, that bucket and `hi` word determine.
    #[inline]
    pub(crate) fn known_bits(&self) -> F {
        self.known_bits
    }

    /// The difference between a value and an entry in its bucket and `hi` word, the only known
    /// bits; in this table's order.
    #[inline]
    pub(crate) fn leading_difference(&self, bucket: u32, hi: u32, permuted: F) -> F {
        let leading = F::ones(0, self.info.directory_bits + HI_BITS);
        self.leading(u64::from(bucket), hi) ^ (permuted & leading)
    }

    /// The entries of a bucket.
    #[inline(always)]
    pub(crate) fn entries_of(&self, bucket: usize) -> Result<Range<usize>> {
        let start = self.directory_base + bucket * 4;
        let bytes = self.file.bytes(start..start + 8)?;
        self.checked_range(bucket, bytes.first_chunk(), bytes.last_chunk())
    }

    /// The entries of the buckets `first..first + count`.
    pub(crate) fn entries_in(&self, first: usize, count: usize) -> Result<Range<usize>> {
        let word = |bucket: usize| {
            let start = self.directory_base + bucket * 4;
            Ok::<_, Error>(self.file.bytes(start..start + 4)?.first_chunk())
        };
        self.checked_range(first, word(first)?, word(first + count)?)
    }

    /// The range between two words of the directory, if it lies within the table.
    #[inline]
    fn checked_range(
        &self,
        bucket: usize,
        start: Option<&[u8; 4]>,
        end: Option<&[u8; 4]>,
    ) -> Result<Range<usize>> {
        let word = |word: Option<&[u8; 4]>| word.map_or(0, |word| u32::from_le_bytes(*word)) as usize;
        let range = word(start)..word(end);
        if range.start <= range.end && range.end <= self.entries() {
            Ok(range)
        } else {
            Err(self.bad_range(bucket, &range))
        }
    }

    #[cold]
    fn bad_range(&self, bucket: usize, range: &Range<usize>) -> Error {
        let offset = (self.directory_base + bucket * 4) as u64;
        let found = format!("{} to {}", range.start, range.end);
        self.file.flaw(offset, format!("a range of {} entries", self.entries()), found)
    }

    /// The `hi` words of neighbouring entries, which must exist.
    #[inline(always)]
    pub(crate) fn hi(&self, places: &Range<usize>) -> Result<HiWords<'_>> {
        let words = bytemuck::cast_slice(self.file.bytes(self.hi_place(places))?);
        Ok(HiWords { words, each: F::PAYLOAD.hi_words() })
    }

    /// Checks the bits of an entry that no other check covers. In a table of whole fingerprints
    /// these are the unused bits of `lo`. Otherwise bucket and `hi` words must match the
    /// fingerprint in the postings file.
    pub(super) fn check_place(&self, bucket: usize, place: usize, value: F) -> Result<()> {
        if let RestPlane::Lo(lo) = &self.rest {
            return lo.check(&self.file, place);
        }
        if self.bucket_of(value) != bucket {
            let offset = (self.directory_base + bucket * 4) as u64;
            let expected = format!("fingerprints of bucket {bucket}");
            return Err(self.file.flaw(offset, expected, Printed(value)));
        }
        let found = self.hi(&(place..place + 1))?.words;
        let words = 0..F::PAYLOAD.hi_words();
        let expected: Vec<u32> = words.map(|word| hi_word(value, self.info.directory_bits, word)).collect();
        if found != expected {
            let offset = self.hi_place(&(place..place + 1)).start as u64;
            return Err(self.file.flaw(offset, format!("{expected:08x?}"), format!("{found:08x?}")));
        }
        Ok(())
    }

    /// Whether [`entry_at`](Segment::entry_at) finds the entries of this table.
    #[inline]
    pub(crate) fn locates_entries(&self) -> bool {
        self.is_natural || !matches!(self.rest, RestPlane::Lo(_))
    }

    /// The entry of table 0 with the fingerprint at a place of this table, if this table stores it.
    #[inline]
    pub(crate) fn entry_at(&self, place: usize) -> Result<Option<usize>> {
        if self.is_natural { Ok(Some(place)) } else { self.rest.number(&self.file, place) }
    }

    /// The fingerprint at a place, in natural order.
    #[inline]
    pub(crate) fn natural_value(&self, bucket: usize, hi: u32, place: usize) -> Result<F> {
        self.rest.natural_value(&self.file, &self.table, self.leading(bucket as u64, hi), place)
    }

    /// The same in this table's order.
    #[inline]
    fn value(&self, bucket: usize, hi: u32, place: usize) -> Result<F> {
        self.rest.value(&self.file, &self.table, self.leading(bucket as u64, hi), place)
    }

    /// The bits that bucket and `hi` word determine, in this table's order.
    #[inline]
    fn leading(&self, bucket: u64, hi: u32) -> F {
        let directory_bits = self.info.directory_bits;
        F::from_bits(bucket, 0, directory_bits) | F::from_bits(u64::from(hi), directory_bits, HI_BITS)
    }

    /// The bucket of a value in this table's order.
    #[inline]
    pub(crate) fn bucket_of(&self, permuted: F) -> usize {
        to_usize(permuted.bits(0, self.info.directory_bits))
    }

    /// The first `hi` word of a value in this table's order.
    #[inline]
    pub(crate) fn hi_of(&self, permuted: F) -> u32 {
        hi_word(permuted, self.info.directory_bits, 0)
    }

    /// The indexes in a bucket whose `hi` words are within `radius` bits of a value's.
    #[inline]
    pub(crate) fn near(
        &self,
        kernel: Kernel,
        words: HiWords<'_>,
        permuted: F,
        radius: u32,
        passed: &mut Vec<u32>,
    ) {
        passed.clear();
        if F::PAYLOAD.hi_words() == 1 {
            return kernel.filter(words.words, self.hi_of(permuted), radius, passed);
        }
        let word = |word| hi_word(permuted, self.info.directory_bits, word);
        kernel.filter_triples(words.words.as_chunks().0, [word(0), word(1), word(2)], radius, passed);
    }

    /// The entry that holds a value. Searches the `hi` words of its bucket, starting at the likely
    /// place, then the entries with an equal `hi` word by bisection.
    pub(crate) fn find(&self, permuted: F) -> Result<Option<usize>> {
        let bucket = self.bucket_of(permuted);
        let range = self.entries_of(bucket)?;
        let wanted = self.hi_of(permuted);
        let words = self.hi(&range)?;
        let start = words.partition_near(likely_place(words.len(), wanted), |hi| hi < wanted);
        let equal = words.partition(start..words.len(), |hi| hi == wanted) - start;
        let (mut low, mut high) = (range.start + start, range.start + start + equal);
        while low < high {
            let middle = low.midpoint(high);
            let value = self.value(bucket, wanted, middle)?;
            if value == permuted {
                return Ok(Some(middle));
            }
            if value < permuted { low = middle + 1 } else { high = middle }
        }
        Ok(None)
    }

    /// Appends the values of the buckets `first..first + count`, in order.
    pub(crate) fn read_buckets(&self, first: usize, count: usize, out: &mut Vec<F>) -> Result<()> {
        match &self.rest {
            RestPlane::Lo(lo) => {
                (first..first + count).try_for_each(|bucket| self.read_bucket(lo, bucket, out))
            }
            RestPlane::Numbers(numbers) => {
                numbers.read(&self.file, &self.table, &self.entries_in(first, count)?, out)
            }
            RestPlane::Implied(values) => values.read(&self.entries_in(first, count)?, out),
        }
    }

    /// Appends the whole fingerprints of a bucket.
    fn read_bucket(&self, lo: &LoPlane, bucket: usize, out: &mut Vec<F>) -> Result<()> {
        let range = self.entries_of(bucket)?;
        let words = self.hi(&range)?.words;
        let lows = lo.iter::<F>(&self.file, &range)?;
        out.extend(words.iter().zip(lows).map(|(&hi, low)| self.leading(bucket as u64, hi) | low));
        Ok(())
    }

    /// Appends fingerprints by their numbers, in natural order. Only for table 0 of wide fingerprints.
    pub(super) fn read_numbered(&self, numbers: &Range<usize>, out: &mut Vec<F>) -> Result<()> {
        if let RestPlane::Implied(values) = &self.rest { values.read(numbers, out) } else { Ok(()) }
    }

    /// Starts read-ahead of these fingerprints.
    pub(super) fn will_need_numbered(&self, numbers: &Range<usize>) {
        if let RestPlane::Implied(values) = &self.rest {
            values.will_need::<F>(numbers);
        }
    }

    /// The fingerprint with a number, in natural order. Only for table 0 of wide fingerprints.
    pub(crate) fn numbered(&self, number: u32) -> Result<F> {
        self.rest.natural_value(&self.file, &self.table, F::default(), number as usize)
    }

    /// Starts read-ahead of the `hi` words of neighbouring buckets.
    pub(crate) fn will_need_hi(&self, buckets: Range<usize>) -> Result<()> {
        let places = self.entries_in(buckets.start, buckets.len())?;
        self.file.will_need(self.hi_place(&places));
        Ok(())
    }

    /// Starts read-ahead of the existing buckets in `first..first + count`.
    pub(crate) fn will_need_buckets(&self, first: usize, count: usize) -> Result<()> {
        let end = (first + count).min(self.buckets());
        if first < end {
            self.file.will_need(self.directory_base + first * 4..self.directory_base + end * 4);
            self.will_need_hi(first..end)?;
            let places = self.entries_in(first, end - first)?;
            self.rest.will_need::<F>(&self.file, &places);
        }
        Ok(())
    }
}
