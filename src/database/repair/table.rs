//! The entries of a segment that may be damaged, in the order of its table.

use std::ops::Range;

use super::findings::Findings;
use super::pages::{Opened, Pages};
use super::wide::Part;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Stored};
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::paged::{Footer, PAGE_BYTES};
use crate::format::segment::{DIRECTORY, HI, REST, Rest, SegmentInfo};
use crate::layout::cost::{MAX_DIRECTORY_BITS, MIN_DIRECTORY_BITS};
use crate::layout::{HI_BITS, Table};
use crate::run::Segment;
use crate::storage::Storage;

/// A segment, or what is left of it.
#[derive(Debug)]
pub(super) struct DamagedTable<F> {
    /// Nothing where no page of the file can be read.
    file: Option<(Pages, SegmentInfo)>,
    entries: u64,
    pub(super) table: Table<F>,
}

/// An entry as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<F> {
    pub(super) value: Option<F>,
    /// Smallest and largest value that the directory allows.
    pub(super) bounds: (F, F),
}

/// Where a walk over the entries stands.
#[derive(Clone, Debug)]
pub(super) struct Walk<F> {
    next_bucket: u64,
    /// What is left of the entries at hand.
    entries: Range<u64>,
    /// The buckets that they belong to: one, or several where the directory does not tell.
    buckets: Range<u64>,
    last: Option<F>,
}

impl<F> Default for Walk<F> {
    fn default() -> Self {
        Self { next_bucket: 0, entries: 0..0, buckets: 0..0, last: None }
    }
}

impl<F: Fingerprint> DamagedTable<F> {
    /// Opens a segment of a run.
    pub(super) fn open(
        storage: &dyn Storage,
        manifest: &Manifest,
        record: &RunRecord,
        number: usize,
        findings: &mut Findings,
    ) -> Result<Self> {
        let spec = Segment::<F>::file_spec(manifest.database_id, record.run, number);
        let opened = match record.segments.get(number) {
            Some(&file) => Pages::open(storage, &spec, file, findings)?,
            None => Opened::Gone,
        };
        let (entries, index) = (record.entries, spec.header.table);
        let pages = match opened {
            Opened::Whole(pages) => Some(pages),
            Opened::WithoutFooter(pages) => arrange::<F>(pages, record, index),
            Opened::Gone => None,
        };
        let info = |pages: &Pages| SegmentInfo::from_footer(&pages.footer, 0, F::BITS, index).ok();
        let file = pages.and_then(|pages| info(&pages).map(|info| (pages, info)));
        let file = file.filter(|(_, info)| info.entries == entries);
        Ok(Self { file, entries, table: record.layout.table(number) })
    }

    /// Whether not a page of it can be read.
    pub(super) fn is_gone(&self) -> bool {
        self.file.is_none()
    }

    /// The next entry; `None` at the end. There are exactly as many as the run has.
    pub(super) fn next(&mut self, walk: &mut Walk<F>) -> Option<Step<F>> {
        while walk.entries.is_empty() {
            self.next_buckets(walk)?;
        }
        let entry = walk.entries.next()?;
        let Some((pages, info)) = &mut self.file else {
            return Some(Step { value: None, bounds: (F::default(), F::ones(0, F::BITS)) });
        };
        let bits = info.directory_bits;
        let (first, last) = (walk.buckets.start, walk.buckets.end.saturating_sub(1));
        let low = F::from_bits(first, 0, bits);
        let high = F::from_bits(last, 0, bits) | F::ones(bits, F::BITS - bits);
        let value = if first == last { rest_of::<F>(pages, *info, entry) } else { None };
        // Values that do not ascend come from no damage, and are not to be believed.
        let value = value.map(|rest| low | rest).filter(|&value| walk.last < Some(value));
        walk.last = value.or(walk.last);
        Some(Step { value, bounds: (low, high) })
    }

    /// The number of the next wide fingerprint of table `number`, if it can be read, and what the table tells of
    /// the fingerprint; `None` at the end.
    pub(super) fn next_part(&mut self, walk: &mut Walk<F>, number: usize) -> Option<(Option<u64>, Part<F>)> {
        while walk.entries.is_empty() {
            self.next_buckets(walk)?;
        }
        let place = walk.entries.next()?;
        let (pages, info) = self.file.as_mut()?;
        let entry = if number == 0 { Some(place) } else { pages.number(REST, place, 4) };
        let mut part = Part { bits: F::default(), known: F::default() };
        let mut tell = |value: u64, start: u32, len: u32| {
            part.bits = part.bits | F::from_bits(value, start, len);
            part.known = part.known | F::ones(start, len);
        };
        if walk.buckets.end - walk.buckets.start == 1 {
            tell(walk.buckets.start, 0, info.directory_bits);
        }
        let words = F::PAYLOAD.hi_words() as u64;
        for (word, start) in (place * words..(place + 1) * words).zip((info.directory_bits..).step_by(32)) {
            if let Some(word) = pages.number(HI, word, 4) {
                tell(word, start, HI_BITS);
            }
        }
        let natural = |value| self.table.restore(value);
        Some((entry, Part { bits: natural(part.bits), known: natural(part.known) }))
    }

    /// Goes to the next bucket, or to the next buckets of which the directory tells the end.
    fn next_buckets(&mut self, walk: &mut Walk<F>) -> Option<()> {
        let start = walk.entries.end;
        let Some((pages, info)) = &mut self.file else {
            // The one walk over all entries, about which nothing is known.
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

    pub(super) fn tell_unreadable(&self, findings: &mut Findings) {
        if let Some((pages, _)) = &self.file {
            pages.tell_unreadable(findings);
        }
    }
}

/// The bits of an entry behind its bucket.
fn rest_of<F: Fingerprint>(pages: &mut Pages, info: SegmentInfo, entry: u64) -> Option<F> {
    let Rest::Lo { bits, bytes } = Rest::of(F::BITS, info.directory_bits, 0) else { return None };
    let hi = pages.number(HI, entry, 4)?;
    let lo = pages.number(REST, entry, bytes as u64)?;
    let after = info.directory_bits + HI_BITS;
    Some(F::from_bits(hi, info.directory_bits, HI_BITS) | F::from_bits(lo, after, bits))
}

/// Finds out how long the directory is: it ends with the number of entries, and zeros follow up to the
/// end of the page.
fn arrange<F: Fingerprint>(pages: Pages, record: &RunRecord, table: u32) -> Option<Pages> {
    let guess = |directory_bits| {
        let RunRecord { entries, fingerprint_sum, .. } = *record;
        let info = SegmentInfo { entries, fingerprint_sum, bucket_squares: 0, directory_bits };
        let mut footer = Footer::plan(&SegmentInfo::section_lens(entries, directory_bits, F::BITS, table));
        footer.attributes = info.attributes();
        footer
    };
    let ends_here = |pages: &mut Pages| {
        let Some(directory) = pages.footer.sections.get_mut(DIRECTORY) else { return false };
        let words = directory.len_bytes / 4;
        // The padding is looked at as if it were part of the section.
        let padded = directory.len_bytes.next_multiple_of(PAGE_BYTES as u64);
        let len_bytes = std::mem::replace(&mut directory.len_bytes, padded);
        let ends = pages.number(DIRECTORY, words - 1, 4) == Some(record.entries)
            && (words..padded / 4).all(|word| pages.number(DIRECTORY, word, 4) == Some(0));
        if let Some(directory) = pages.footer.sections.get_mut(DIRECTORY) {
            directory.len_bytes = len_bytes;
        }
        ends
    };
    pages.arrange((MIN_DIRECTORY_BITS..=MAX_DIRECTORY_BITS).map(guess), ends_here)
}
