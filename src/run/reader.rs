//! Reads one segment in place.

use std::ops::Range;

use super::page_file::{FileSpec, PageFile};
use super::values::Values;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::Flaw;
use crate::format::manifest::{FileRecord, RunRecord};
use crate::format::paged::Header;
use crate::format::segment::{DIRECTORY, HI, MAGIC, REST, SegmentInfo, sections};
use crate::kernel::Kernel;
use crate::layout::cost::TableShape;
use crate::layout::{HI_BITS, Table, hi_words, is_wide};
use crate::storage::{Access, Storage, names};
use crate::util::cast::{to_u32, to_usize};

/// One table of one run, open.
#[derive(Debug)]
pub(crate) struct Segment<F> {
    pub(crate) file: PageFile,
    pub(crate) info: SegmentInfo,
    pub(crate) table: Table<F>,
    /// The fingerprints themselves, where they are wider than 64 bits.
    values: Option<Values>,
    directory_base: usize,
    hi_base: usize,
    /// The `lo` plane, or that of entries.
    rest_base: usize,
    rest_bytes: usize,
    lo_bits: u32,
    known_bits: F,
}

impl<F: Fingerprint> Segment<F> {
    /// What the segment of a table must look like.
    pub(crate) fn file_spec(database_id: [u8; 16], run: u64, table: usize) -> FileSpec {
        let header = Header {
            magic: MAGIC,
            database_id,
            run,
            table: u32::try_from(table).unwrap_or(u32::MAX),
            width: F::BITS,
        };
        FileSpec { name: names::segment(run, table), header, section_names: sections(F::BITS) }
    }

    /// Maps a segment and checks it against what the manifest says of its run, whose fingerprints stand in
    /// `values` where they are wide.
    pub(crate) fn open(
        storage: &dyn Storage,
        spec: &FileSpec,
        table: Table<F>,
        record: FileRecord,
        run: &RunRecord,
        values: Option<Values>,
    ) -> Result<Self> {
        let segment = Self::map(storage, spec, table, record, Access::Random, values)?;
        let footer = |expected: u64, found: u64, what: &str| {
            let what = |number| format!("{what} {number}");
            Flaw::unless_equal("footer", segment.file.footer_offset(), what(expected), what(found))
                .map_err(|flaw| flaw.of(segment.file.path()))
        };
        footer(run.entries, segment.info.entries, "entries")?;
        footer(run.fingerprint_sum, segment.info.fingerprint_sum, "fingerprint sum")?;
        Ok(segment)
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
        let path = storage.path(&spec.name);
        let bytes = super::run::map(storage, &spec.name, access)?;
        let file = PageFile::open(spec, path, bytes, record)?;
        let number = spec.header.table;
        let info = SegmentInfo::from_footer(&file.footer, file.footer_offset(), F::BITS, number)
            .map_err(|flaw| flaw.of(file.path()))?;
        let base = |section| to_usize(file.section(section).offset);
        let known_bits = table.restore(F::ones(0, info.directory_bits + HI_BITS));
        Ok(Self {
            info,
            table,
            known_bits,
            directory_base: base(DIRECTORY),
            values,
            hi_base: base(HI),
            rest_base: base(REST),
            rest_bytes: match (is_wide(F::BITS), number) {
                (false, _) => to_usize(SegmentInfo::lo_bytes(info.directory_bits, F::BITS)),
                (true, 0) => 0,
                (true, _) => 4,
            },
            lo_bits: SegmentInfo::lo_bits(info.directory_bits, F::BITS),
            file,
        })
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

    /// What the planner wants to know.
    pub(crate) fn shape(&self) -> TableShape {
        let uniform =
            TableShape::uniform(self.table.prefix_bits, self.info.directory_bits, self.info.entries);
        let buckets_per_prefix = f64::from(self.info.directory_bits - uniform.probe_bits()).exp2();
        let met = self.info.bucket_squares as f64 / self.info.entries.max(1) as f64 * buckets_per_prefix;
        TableShape {
            typical_bucket: met.clamp(uniform.mean_bucket, self.info.entries.max(1) as f64),
            ..uniform
        }
    }

    /// Asks for the directory word of a bucket.
    #[inline]
    pub(crate) fn prefetch_bucket(&self, bucket: usize) {
        let start = self.directory_base + bucket * 4;
        self.file.prefetch(start..start + 8);
    }

    /// Asks for the `hi` words at some places.
    #[inline]
    pub(crate) fn prefetch_hi(&self, places: &Range<usize>) {
        self.file.prefetch(self.hi_place(places));
    }

    #[inline]
    fn hi_place(&self, places: &Range<usize>) -> Range<usize> {
        let bytes = 4 * hi_words(F::BITS);
        self.hi_base + places.start * bytes..self.hi_base + places.end * bytes
    }

    /// Asks for the `hi` words and the rest about where a value stands in its bucket: fingerprints in a
    /// bucket are spread evenly, more or less. Returns that place.
    pub(crate) fn prefetch_place_of(&self, permuted: F) -> Result<usize> {
        let range = self.entries_in(self.bucket_of(permuted), 1)?;
        let place = range.start + likely_place(range.len(), self.hi_of(permuted));
        self.prefetch_hi(&(place..place + 1));
        self.prefetch_rest(place);
        Ok(place)
    }

    /// Asks for what stands behind the `hi` words at a place: of wide fingerprints, the number of the entry
    /// first, and with [`prefetch_value`](Segment::prefetch_value) the fingerprint then.
    #[inline]
    pub(crate) fn prefetch_rest(&self, place: usize) {
        let start = self.rest_base + place * self.rest_bytes;
        if self.rest_bytes > 0 {
            self.file.prefetch(start..start + self.rest_bytes);
        } else {
            self.prefetch_value(place);
        }
    }

    /// Asks for a wide fingerprint by its number.
    #[inline]
    pub(crate) fn prefetch_value(&self, entry: usize) {
        if let Some(values) = &self.values {
            values.prefetch::<F>(entry);
        }
    }

    /// Asks for the directory word of the natural order's bucket, if what is known of a value tells which.
    #[inline]
    pub(crate) fn prefetch_bucket_if_known(&self, natural: F, known: F) {
        if F::ones(0, self.info.directory_bits) & !known == F::default() {
            self.prefetch_bucket(self.bucket_of(natural));
        }
    }

    /// The bits, in natural order, that bucket and `hi` word tell.
    #[inline]
    pub(crate) fn known_bits(&self) -> F {
        self.known_bits
    }

    /// Where an entry of which bucket and `hi` word are known differs from a value, as far as known;
    /// in this table's order.
    #[inline]
    pub(crate) fn leading_difference(&self, bucket: u32, hi: u32, permuted: F) -> F {
        let leading = F::ones(0, self.info.directory_bits + HI_BITS);
        self.leading(u64::from(bucket), hi) ^ (permuted & leading)
    }

    /// The entries of the buckets `first..first + count`.
    #[inline]
    pub(crate) fn entries_in(&self, first: usize, count: usize) -> Result<Range<usize>> {
        let at = |bucket: usize| self.directory_base + bucket * 4;
        let word = |word: Option<&[u8; 4]>| word.map_or(0, |word| u32::from_le_bytes(*word)) as usize;
        let range = if count == 1 {
            let bytes = self.file.bytes(at(first)..at(first + 2))?;
            word(bytes.first_chunk())..word(bytes.last_chunk())
        } else {
            let alone = |bucket: usize| {
                Ok::<_, Error>(word(self.file.bytes(at(bucket)..at(bucket + 1))?.first_chunk()))
            };
            alone(first)?..alone(first + count)?
        };
        if range.start <= range.end && range.end <= self.entries() {
            Ok(range)
        } else {
            let found = format!("{} to {}", range.start, range.end);
            Err(self.file.flaw(at(first) as u64, format!("a range of {} entries", self.entries()), found))
        }
    }

    /// The `hi` words at some places. The range is within the entries.
    #[inline]
    pub(crate) fn hi(&self, places: &Range<usize>) -> Result<HiWords<'_>> {
        let words = bytemuck::cast_slice(self.file.bytes(self.hi_place(places))?);
        Ok(HiWords { words, each: hi_words(F::BITS) })
    }

    /// The bits behind the `hi` word at a place, where they are in the `lo` plane.
    #[inline]
    fn lo(&self, place: usize) -> Result<u64> {
        let start = self.rest_base + place * self.rest_bytes;
        Ok(little_endian(self.file.bytes(start..start + self.rest_bytes)?))
    }

    /// Checks what nothing else looks at: the bits of the `lo` plane above those that an entry needs are zero;
    /// of wide fingerprints, bucket and `hi` words are those of the value that stands in the postings file.
    pub(super) fn check_place(&self, bucket: usize, place: usize, value: F) -> Result<()> {
        if is_wide(F::BITS) {
            if self.bucket_of(value) != bucket {
                let offset = (self.directory_base + bucket * 4) as u64;
                return Err(self.file.flaw(
                    offset,
                    format!("fingerprints of bucket {bucket}"),
                    format!("{value:?}"),
                ));
            }
            let found = self.hi(&(place..place + 1))?.words;
            let expected: Vec<u32> =
                (0..hi_words(F::BITS)).map(|word| hi_word(value, self.info.directory_bits, word)).collect();
            if found != expected {
                let offset = self.hi_place(&(place..place + 1)).start as u64;
                return Err(self.file.flaw(offset, format!("{expected:08x?}"), format!("{found:08x?}")));
            }
            return Ok(());
        }
        let (bits, lo) = (self.lo_bits, self.lo(place)?);
        if lo >> bits == 0 {
            return Ok(());
        }
        let offset = (self.rest_base + place * self.rest_bytes) as u64;
        Err(self.file.flaw(offset, format!("a number of {bits} bits"), lo))
    }

    /// Which entry of table 0 a wide fingerprint is that stands at a place.
    #[inline]
    pub(crate) fn entry_at(&self, place: usize) -> Result<usize> {
        if self.rest_bytes == 0 {
            return Ok(place);
        }
        let entry = to_usize(self.lo(place)?);
        if entry < self.entries() { Ok(entry) } else { Err(self.no_entry(place, entry)) }
    }

    #[cold]
    fn no_entry(&self, place: usize, found: usize) -> Error {
        let offset = (self.rest_base + place * self.rest_bytes) as u64;
        self.file.flaw(offset, format!("an entry below {}", self.entries()), found)
    }

    /// The fingerprint at a place, in natural order.
    #[inline]
    pub(crate) fn natural_value(&self, bucket: usize, hi: u32, place: usize) -> Result<F> {
        match &self.values {
            None => Ok(self.table.restore(self.assemble(bucket as u64, hi, self.lo(place)?))),
            Some(values) => values.get(self.entry_at(place)?),
        }
    }

    /// The same in this table's order.
    #[inline]
    fn value(&self, bucket: usize, hi: u32, place: usize) -> Result<F> {
        match &self.values {
            None => Ok(self.assemble(bucket as u64, hi, self.lo(place)?)),
            Some(values) => Ok(self.table.permute(values.get(self.entry_at(place)?)?)),
        }
    }

    /// The bits that bucket and `hi` word tell, in this table's order.
    #[inline]
    fn leading(&self, bucket: u64, hi: u32) -> F {
        let directory_bits = self.info.directory_bits;
        F::from_bits(bucket, 0, directory_bits) | F::from_bits(u64::from(hi), directory_bits, HI_BITS)
    }

    #[inline]
    fn assemble(&self, bucket: u64, hi: u32, lo: u64) -> F {
        self.leading(bucket, hi) | F::from_bits(lo, self.info.directory_bits + HI_BITS, self.lo_bits)
    }

    /// The bucket that a value of this table belongs to.
    #[inline]
    pub(crate) fn bucket_of(&self, permuted: F) -> usize {
        to_usize(permuted.bits(0, self.info.directory_bits))
    }

    /// The `hi` word of a value of this table.
    #[inline]
    pub(crate) fn hi_of(&self, permuted: F) -> u32 {
        hi_word(permuted, self.info.directory_bits, 0)
    }

    /// The places in a bucket whose `hi` words differ from those of a value in at most `radius` bits.
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
        if hi_words(F::BITS) == 1 {
            return kernel.filter(words.words, self.hi_of(permuted), radius, passed);
        }
        let word = |word| hi_word(permuted, self.info.directory_bits, word);
        kernel.filter_triples(words.words.as_chunks().0, [word(0), word(1), word(2)], radius, passed);
    }

    /// The entry that holds a value: first by a search over the `hi` words of its bucket that starts where the
    /// value would stand if they were spread evenly, then by a binary one over `lo` among the entries that
    /// share the `hi` word.
    pub(crate) fn find(&self, permuted: F) -> Result<Option<usize>> {
        let bucket = self.bucket_of(permuted);
        let range = self.entries_in(bucket, 1)?;
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
        if let Some(values) = &self.values {
            return self.read_wide(values, &self.entries_in(first, count)?, out);
        }
        for bucket in first..first + count {
            let range = self.entries_in(bucket, 1)?;
            let HiWords { words, .. } = self.hi(&range)?;
            let start = self.rest_base + range.start * self.rest_bytes;
            let lo = self.file.bytes(start..start + range.len() * self.rest_bytes)?;
            let lows = lo.chunks_exact(self.rest_bytes);
            out.extend(
                words.iter().zip(lows).map(|(&hi, low)| self.assemble(bucket as u64, hi, little_endian(low))),
            );
        }
        Ok(())
    }

    /// Appends wide fingerprints at neighbouring places.
    fn read_wide(&self, values: &Values, places: &Range<usize>, out: &mut Vec<F>) -> Result<()> {
        if self.rest_bytes == 0 {
            return values.read(places, out);
        }
        // Their numbers lead all over the place: some are under way while others are read.
        let mut ahead = places.clone();
        for place in places.clone() {
            while ahead.start < (place + VALUES_AHEAD).min(places.end) {
                values.prefetch::<F>(self.entry_at(ahead.start)?);
                ahead.start += 1;
            }
            out.push(self.table.permute(values.get(self.entry_at(place)?)?));
        }
        Ok(())
    }

    /// Asks the system to read the `hi` words of some buckets soon.
    pub(crate) fn will_need_hi(&self, buckets: Range<usize>) -> Result<()> {
        let places = self.entries_in(buckets.start, buckets.len())?;
        self.file.will_need(self.hi_place(&places));
        Ok(())
    }

    /// Asks the system to read the buckets `first..first + count` soon, as far as there are so many.
    pub(crate) fn will_need_buckets(&self, first: usize, count: usize) -> Result<()> {
        let end = (first + count).min(self.buckets());
        if first < end {
            self.file.will_need(self.directory_base + first * 4..self.directory_base + end * 4);
            self.will_need_hi(first..end)?;
            let places = self.entries_in(first, end - first)?;
            match &self.values {
                Some(values) if self.rest_bytes == 0 => values.will_need::<F>(&places),
                _ => {
                    let rest = |place: usize| self.rest_base + place * self.rest_bytes;
                    self.file.will_need(rest(places.start)..rest(places.end));
                }
            }
        }
        Ok(())
    }

    /// Reads all values in order.
    pub(crate) fn cursor(&self) -> Cursor<'_, F> {
        let window = (self.buckets() * AHEAD_ENTRIES / self.entries().max(1)).max(1);
        Cursor { segment: self, bucket: 0, asked: 0, window }
    }
}

/// A word of the `hi` plane for a value.
#[inline]
pub(super) fn hi_word<F: Fingerprint>(permuted: F, directory_bits: u32, word: usize) -> u32 {
    to_u32(to_usize(permuted.bits(directory_bits + HI_BITS * to_u32(word), HI_BITS)))
}

/// The `hi` words of neighbouring entries.
#[derive(Clone, Copy)]
pub(crate) struct HiWords<'a> {
    words: &'a [u32],
    /// How many belong to an entry.
    each: usize,
}

impl HiWords<'_> {
    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.words.len() / self.each
    }

    /// The first word of an entry.
    #[inline]
    pub(crate) fn first(&self, index: usize) -> u32 {
        self.words.get(index * self.each).copied().unwrap_or_default()
    }

    /// The first of some entries for whose first word `before` does not hold, or the end: of entries of which
    /// those come first for which it does.
    pub(crate) fn partition(&self, range: Range<usize>, before: impl Fn(u32) -> bool) -> usize {
        let Range { start: mut low, end: mut high } = range;
        while low < high {
            let middle = low.midpoint(high);
            if before(self.first(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The same over all entries, looking first about a place where that is likely to be.
    fn partition_near(&self, likely: usize, before: impl Fn(u32) -> bool) -> usize {
        let is_before = |at: usize| at < self.len() && before(self.first(at));
        let (mut low, mut high, mut step) = (likely, likely, NEAR);
        while low > 0 && !is_before(low - 1) {
            (high, low) = (low - 1, low.saturating_sub(step));
            step *= 2;
        }
        while is_before(high) {
            (low, high) = (high + 1, (high + step).min(self.len()));
            step *= 2;
        }
        self.partition(low..high, before)
    }
}

/// Wide fingerprints asked for before they are read.
const VALUES_AHEAD: usize = 16;

/// The number in up to eight bytes.
#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
    }
}

/// Where a `hi` word stands in a bucket of so many that are spread evenly.
#[inline]
fn likely_place(len: usize, hi: u32) -> usize {
    to_usize((len as u64 * u64::from(hi)) >> HI_BITS)
}

/// How far from the likely place a search looks first: half a line of a cache.
const NEAR: usize = 8;

/// Walks a segment from its first value to its last.
pub(crate) struct Cursor<'a, F> {
    segment: &'a Segment<F>,
    bucket: usize,
    /// Buckets that the system has been asked for.
    asked: usize,
    /// Buckets that it is asked for at once.
    window: usize,
}

/// Entries that a walk asks the system for before it needs them.
const AHEAD_ENTRIES: usize = 1 << 17;

/// Values that a cursor hands out at once, or the content of one bucket where that is more.
const BLOCK: usize = 4096;

impl<F: Fingerprint> Cursor<'_, F> {
    /// Replaces `out` by the next values. False at the end.
    pub(crate) fn next_block(&mut self, out: &mut Vec<F>) -> Result<bool> {
        out.clear();
        while self.asked < (self.bucket + self.window).min(self.segment.buckets()) {
            self.segment.will_need_buckets(self.asked, self.window)?;
            self.asked += self.window;
        }
        while out.len() < BLOCK && self.bucket < self.segment.buckets() {
            self.segment.read_buckets(self.bucket, 1, out)?;
            self.bucket += 1;
        }
        Ok(!out.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_likely_place_only_helps(mut words in prop::collection::vec(0u32..60, 0..80), wanted in 0u32..60, likely: usize) {
            words.sort_unstable();
            let likely = likely % (words.len() + 1);
            for each in [1, 3] {
                let spread: Vec<u32> = words.iter().flat_map(|&word| [word, 0, 99].into_iter().take(each)).collect();
                let found = HiWords { words: &spread, each }.partition_near(likely, |word| word < wanted);
                prop_assert_eq!(found, words.partition_point(|&word| word < wanted));
            }
        }

        #[test]
        fn damaged_words_give_some_place(words in prop::collection::vec(0u32..9, 0..40), wanted in 0u32..9, likely: usize) {
            let likely = likely % (words.len() + 1);
            let found = HiWords { words: &words, each: 1 }.partition_near(likely, |word| word < wanted);
            prop_assert!(found <= words.len());
        }
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        for len in 0..=8 {
            let bytes: Vec<u8> = (1..=len).collect();
            let expected = (0..u32::from(len)).map(|at| u64::from(at + 1) << (8 * at)).sum::<u64>();
            assert_eq!(little_endian(&bytes), expected, "{len} bytes");
        }
    }
}
