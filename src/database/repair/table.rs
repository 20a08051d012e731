//! The entries of a segment that may be damaged, in the order of its table.

use std::ops::Range;

use super::pages::{Opened, Pages};
use super::report::RepairReport;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, HI_BITS, Stored};
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::paged::{Footer, PAGE_BYTES};
use crate::format::segment::{DIRECTORY, HI, REST, Rest, SegmentInfo};
use crate::layout::Table;
use crate::layout::cost::{MAX_DIRECTORY_BITS, MIN_DIRECTORY_BITS};
use crate::run::Segment;
use crate::storage::Storage;

/// A segment, or its remains.
#[derive(Debug)]
pub(super) struct DamagedTable<F> {
    /// `None` if no page of the file is readable.
    file: Option<(Pages, SegmentInfo)>,
    entries: u64,
    rest: Rest,
    pub(super) table: Table<F>,
}

/// An entry as far as it is readable.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableEntry<F> {
    pub(super) value: Option<F>,
    /// Smallest and largest value that the directory allows.
    pub(super) bounds: (F, F),
}

/// The known bits of a fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KnownBits<F> {
    /// Zero outside of `mask`.
    pub(super) bits: F,
    pub(super) mask: F,
}

/// A position in the entries of a table.
#[derive(Clone, Debug)]
pub(super) struct Walk<F> {
    next_bucket: u64,
    /// The remaining entries of the current buckets.
    entries: Range<u64>,
    /// The current buckets: one, or several if the directory words between them are unreadable.
    buckets: Range<u64>,
    last: Option<F>,
}

impl<F> Default for Walk<F> {
    fn default() -> Self {
        Self { next_bucket: 0, entries: 0..0, buckets: 0..0, last: None }
    }
}

impl<F: Fingerprint> KnownBits<F> {
    pub(super) fn is_whole(&self) -> bool {
        self.mask == F::ones(0, F::BITS)
    }

    /// Adds the bits `start..start + len`.
    fn set(&mut self, value: u64, start: u32, len: u32) {
        self.bits = self.bits | F::from_bits(value, start, len);
        self.mask = self.mask | F::ones(start, len);
    }

    /// Adds the bits from another table. If the tables contradict each other, no bit is known.
    pub(super) fn combine(&mut self, other: Self) {
        if (self.bits ^ other.bits) & self.mask & other.mask == F::default() {
            *self = Self { bits: self.bits | other.bits, mask: self.mask | other.mask };
        } else {
            *self = Self::default();
        }
    }
}

impl<F: Fingerprint> DamagedTable<F> {
    /// Opens a segment of a run.
    pub(super) fn open(
        storage: &dyn Storage,
        manifest: &Manifest,
        record: &RunRecord,
        number: usize,
        report: &mut RepairReport,
    ) -> Result<Self> {
        let spec = Segment::<F>::file_spec(manifest.owner_of(record), &record.layout, number);
        let opened = match record.segments.get(number) {
            Some(&file) => Pages::open(storage, &spec, file, report)?,
            None => Opened::Missing,
        };
        let (entries, index) = (record.entries, spec.header.table);
        let pages = opened.or_arrange(footers::<F>(record, index), |pages| directory_ends(pages, entries));
        let info = |pages: &Pages| SegmentInfo::from_footer(&pages.footer, 0, F::BITS, index).ok();
        let file = pages.and_then(|pages| info(&pages).map(|info| (pages, info)));
        let file = file.filter(|(_, info)| info.entries == entries);
        let directory_bits = file.as_ref().map_or(MIN_DIRECTORY_BITS, |(_, info)| info.directory_bits);
        let rest = Rest::of(F::BITS, directory_bits, index);
        Ok(Self { file, entries, rest, table: record.layout.table(number) })
    }

    /// Whether no page of the file is readable.
    pub(super) fn is_missing(&self) -> bool {
        self.file.is_none()
    }

    /// The next entry of a table of whole fingerprints; `None` at the end. The number of entries
    /// always equals the run's.
    pub(super) fn next(&mut self, walk: &mut Walk<F>) -> Option<TableEntry<F>> {
        let entry = self.next_entry(walk)?;
        let Some((pages, info)) = &mut self.file else {
            return Some(TableEntry { value: None, bounds: (F::default(), F::ones(0, F::BITS)) });
        };
        let bits = info.directory_bits;
        let (first, last) = (walk.buckets.start, walk.buckets.end.saturating_sub(1));
        let low = F::from_bits(first, 0, bits);
        let high = F::from_bits(last, 0, bits) | F::ones(bits, F::BITS - bits);
        let value = if first == last { after_bucket::<F>(pages, bits, self.rest, entry) } else { None };
        // Damage does not change the order of values that pass their checksums. Values out of order
        // are forged, and not used.
        let value = value.map(|rest| low | rest).filter(|&value| walk.last < Some(value));
        walk.last = value.or(walk.last);
        Some(TableEntry { value, bounds: (low, high) })
    }

    /// The next entry of a table of numbers: its number, if that is readable, and the bits that the
    /// table has of the fingerprint, in natural order. `None` at the end.
    pub(super) fn next_numbered(&mut self, walk: &mut Walk<F>) -> Option<(Option<u64>, KnownBits<F>)> {
        let place = self.next_entry(walk)?;
        let (pages, info) = self.file.as_mut()?;
        let number = match self.rest {
            Rest::Implied => Some(place),
            _ => pages.number(REST, place, 4),
        };
        let mut known = KnownBits::default();
        if walk.buckets.end - walk.buckets.start == 1 {
            known.set(walk.buckets.start, 0, info.directory_bits);
        }
        let words = F::PAYLOAD.hi_words() as u64;
        for (word, start) in (place * words..(place + 1) * words).zip((info.directory_bits..).step_by(32)) {
            if let Some(word) = pages.number(HI, word, 4) {
                known.set(word, start, HI_BITS);
            }
        }
        let natural = |value| self.table.restore(value);
        Some((number, KnownBits { bits: natural(known.bits), mask: natural(known.mask) }))
    }

    /// The number of the next entry; `None` at the end.
    fn next_entry(&mut self, walk: &mut Walk<F>) -> Option<u64> {
        while walk.entries.is_empty() {
            self.next_buckets(walk)?;
        }
        walk.entries.next()
    }

    /// Advances to the next bucket, or to the next buckets with a readable end.
    fn next_buckets(&mut self, walk: &mut Walk<F>) -> Option<()> {
        let start = walk.entries.end;
        let Some((pages, info)) = &mut self.file else {
            // The walk has a single range of all entries.
            walk.entries = start..self.entries;
            return (start < self.entries).then_some(());
        };
        let buckets = 1u64 << info.directory_bits;
        let first = walk.next_bucket;
        let mut end = first;
        let found = loop {
            end += 1;
            if end >= buckets {
                break self.entries;
            }
            match pages.number(DIRECTORY, end, 4) {
                Some(found) if (start..=self.entries).contains(&found) => break found,
                _ => {}
            }
        };
        if first >= buckets {
            return None;
        }
        (walk.next_bucket, walk.buckets, walk.entries) = (end, first..end, start..found);
        Some(())
    }

    pub(super) fn report_unreadable(&self, report: &mut RepairReport) {
        if let Some((pages, _)) = &self.file {
            pages.report_unreadable(report);
        }
    }
}

/// The bits of an entry after its bucket, in a table of whole fingerprints.
fn after_bucket<F: Fingerprint>(pages: &mut Pages, directory_bits: u32, rest: Rest, entry: u64) -> Option<F> {
    let Rest::Lo { bits, bytes } = rest else { return None };
    let hi = pages.number(HI, entry, 4)?;
    let lo = pages.number(REST, entry, bytes as u64)?;
    let after_hi = directory_bits + HI_BITS;
    Some(F::from_bits(hi, directory_bits, HI_BITS) | F::from_bits(lo, after_hi, bits))
}

/// The footers that a segment may have had, one for each length of the directory.
fn footers<F: Fingerprint>(record: &RunRecord, table: u32) -> impl Iterator<Item = Footer> {
    let RunRecord { entries, fingerprint_sum, .. } = *record;
    (MIN_DIRECTORY_BITS..=MAX_DIRECTORY_BITS).map(move |directory_bits| {
        let info = SegmentInfo { entries, fingerprint_sum, bucket_squares: 0, directory_bits };
        let mut footer = Footer::plan(&SegmentInfo::section_lens(entries, directory_bits, F::BITS, table));
        footer.attributes = info.attributes();
        footer
    })
}

/// Whether the directory ends where the footer says: its last word is the number of entries, and
/// zeros follow up to the end of the page.
fn directory_ends(pages: &mut Pages, entries: u64) -> bool {
    let Some(directory) = pages.footer.sections.get_mut(DIRECTORY) else { return false };
    let words = directory.len_bytes / 4;
    // The padding is read as if it were part of the section.
    let padded = directory.len_bytes.next_multiple_of(PAGE_BYTES as u64);
    let len_bytes = std::mem::replace(&mut directory.len_bytes, padded);
    let ends = pages.number(DIRECTORY, words - 1, 4) == Some(entries)
        && (words..padded / 4).all(|word| pages.number(DIRECTORY, word, 4) == Some(0));
    if let Some(directory) = pages.footer.sections.get_mut(DIRECTORY) {
        directory.len_bytes = len_bytes;
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bits_add_up_unless_they_contradict_each_other() {
        let known = |bits: u128, mask: u128| KnownBits { bits, mask };
        let mut whole = known(0, 0);
        whole.combine(known(0xab << 120, 0xff << 120));
        whole.combine(known(0xb7 << 116, 0xff << 116));
        assert_eq!(whole, known(0xab7 << 116, 0xfff << 116));
        assert!(!whole.is_whole());
        whole.combine(known(5, u128::MAX >> 12));
        assert!(whole.is_whole() && whole.bits == 0xab7 << 116 | 5);
        whole.combine(known(0, 1));
        assert_eq!(whole, known(0, 0));
    }
}
