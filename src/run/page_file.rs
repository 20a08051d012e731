//! A file of checked pages. Opening checks its first and last page; every other page is checked on
//! first use.

use std::fmt::Debug;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::format::header::Header;
use crate::format::manifest::FileRecord;
use crate::format::paged::{
    CRCS_PER_PAGE, Footer, PAGE_BYTES, Section, checksum_pages, crc_place, encode_checksum_pages, page_crc,
    unseal,
};
use crate::format::{Flaw, check_crc};
use crate::kernel::prefetch;
use crate::storage::{Access, Bytes, ReadFile, Storage};
use crate::util::cast::to_usize;

/// The name of a file and the expected content of its header.
#[derive(Clone, Debug)]
pub(crate) struct FileSpec {
    pub(crate) name: String,
    pub(crate) header: Header,
    pub(crate) section_names: &'static [&'static str],
}

/// An open file of pages.
#[derive(Debug)]
pub(crate) struct PageFile {
    path: PathBuf,
    bytes: Bytes,
    pub(crate) footer: Footer,
    section_names: &'static [&'static str],
    /// Pages with a verified checksum.
    checked: PageSet,
    /// Pages with a read-ahead.
    requested: PageSet,
}

/// A set of pages of a file, to which many threads can add at once.
#[derive(Debug)]
struct PageSet(Box<[AtomicU64]>);

impl PageSet {
    fn empty(pages: usize) -> Self {
        Self((0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    #[inline]
    fn contains(&self, page: usize) -> bool {
        self.0.get(page / 64).is_some_and(|word| word.load(Ordering::Relaxed) >> (page % 64) & 1 == 1)
    }

    fn insert(&self, page: usize) {
        if let Some(word) = self.0.get(page / 64) {
            word.fetch_or(1 << (page % 64), Ordering::Relaxed);
        }
    }
}

/// Bytes in a cache line of the processor.
const LINE_BYTES: usize = 64;
/// Lines to prefetch: one page. The processor fetches the lines after them by itself.
const LINES_AHEAD: usize = PAGE_BYTES / LINE_BYTES;

/// The pages that a range of bytes touches.
fn pages_of(range: &Range<usize>) -> Range<usize> {
    if range.is_empty() { 0..0 } else { range.start / PAGE_BYTES..(range.end - 1) / PAGE_BYTES + 1 }
}

impl PageFile {
    /// Maps a file that the manifest names. Checks length, header page and footer page, and reads
    /// nothing else.
    pub(crate) fn open(
        storage: &dyn Storage,
        spec: &FileSpec,
        access: Access,
        record: FileRecord,
    ) -> Result<Self> {
        let path = storage.path(&spec.name);
        let bytes = storage.map(&spec.name, access).map_err(|error| {
            let flaw = |found| Flaw::new("file", 0, "a file that the manifest names", found).of(&path);
            match error.kind() {
                ErrorKind::NotFound => flaw("no file"),
                ErrorKind::InvalidData => flaw("something that is no regular file"),
                _ => Error::io("map", &path)(error),
            }
        })?;
        Self::check(spec, path, bytes, record)
    }

    fn check(spec: &FileSpec, path: PathBuf, bytes: Bytes, record: FileRecord) -> Result<Self> {
        let flaw = |flaw: Flaw| flaw.of(&path);
        let found_len = bytes.len() as u64;
        bytes.will_need(0..PAGE_BYTES);
        bytes.will_need(bytes.len().saturating_sub(PAGE_BYTES)..bytes.len());
        Flaw::unless_equal("length", 0, record.len_bytes, found_len).map_err(flaw)?;
        let (first, last) = bytes
            .get(..PAGE_BYTES)
            .zip(bytes.len().checked_sub(PAGE_BYTES).and_then(|start| bytes.get(start..)))
            .ok_or_else(|| Flaw::new("length", 0, "a header and a footer page", found_len))
            .map_err(flaw)?;
        spec.header.check(first).map_err(|problem| problem.of(&path))?;
        let footer_offset = found_len - PAGE_BYTES as u64;
        let footer = Footer::decode(last, footer_offset, found_len).map_err(flaw)?;
        check_crc("footer", footer_offset, record.footer_crc, page_crc(last)).map_err(flaw)?;
        Flaw::unless_equal("footer", footer_offset, spec.section_names.len(), footer.sections.len())
            .map_err(flaw)?;
        let pages = bytes.len() / PAGE_BYTES;
        let (checked, requested) = (PageSet::empty(pages), PageSet::empty(pages));
        Ok(Self { path, bytes, footer, section_names: spec.section_names, checked, requested })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(crate) fn footer_offset(&self) -> u64 {
        self.len_bytes() - PAGE_BYTES as u64
    }

    /// The place of a section. [`open`](PageFile::open) has checked that the footer contains it.
    pub(crate) fn section(&self, index: usize) -> Section {
        self.footer.sections.get(index).copied().unwrap_or_default()
    }

    /// The offset of a section in the mapped bytes.
    pub(super) fn base(&self, section: usize) -> usize {
        to_usize(self.section(section).offset)
    }

    /// An error about a place in this file.
    pub(crate) fn flaw(&self, offset: u64, expected: impl ToString, found: impl ToString) -> Error {
        Flaw::new(self.section_at(offset), offset, expected.to_string(), found.to_string()).of(&self.path)
    }

    /// Returns an error about a section's part of the footer, unless `found` is `expected`.
    pub(crate) fn check_equal<T: PartialEq + Debug>(
        &self,
        section: &'static str,
        expected: T,
        found: T,
    ) -> Result<()> {
        Flaw::unless_equal(section, self.footer_offset(), expected, found).map_err(|flaw| flaw.of(&self.path))
    }

    /// Bytes of the file. Checks every page of the range.
    #[inline]
    pub(crate) fn bytes(&self, range: Range<usize>) -> Result<&[u8]> {
        if !self.is_in_checked_page(&range) {
            self.check_pages(&range)?;
        }
        self.bytes.get(range.start..range.end).ok_or_else(|| self.out_of_bounds(range))
    }

    /// Whether a range lies within one page that has been checked: the usual case.
    #[inline]
    fn is_in_checked_page(&self, range: &Range<usize>) -> bool {
        let page = range.start / PAGE_BYTES;
        range.end.wrapping_sub(1) / PAGE_BYTES == page && self.checked.contains(page)
    }

    /// Checks the pages of a range that have not been checked before.
    #[inline(never)]
    fn check_pages(&self, range: &Range<usize>) -> Result<()> {
        let mut pages = pages_of(range);
        pages.try_for_each(|page| if self.checked.contains(page) { Ok(()) } else { self.check_page(page) })
    }

    /// Bytes of pages that [`bytes`](PageFile::bytes) has already checked.
    #[inline]
    pub(super) fn checked_bytes(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// Starts read-ahead of a range, unless its last page has been used or requested before.
    pub(crate) fn will_need(&self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let (first, last) = (range.start / PAGE_BYTES, (range.end - 1) / PAGE_BYTES);
        if self.checked.contains(last) || self.requested.contains(last) {
            return;
        }
        (first..=last).for_each(|page| self.requested.insert(page));
        self.bytes.will_need(first * PAGE_BYTES..(last + 1) * PAGE_BYTES);
    }

    /// Prefetches a range. If all its pages have been used before, the processor fetches its first
    /// cache lines. Otherwise the system reads the pages and their checksums ahead.
    #[inline]
    pub(crate) fn prefetch(&self, range: Range<usize>) {
        if self.is_in_checked_page(&range) {
            self.prefetch_lines(&range);
        } else {
            self.prefetch_across_pages(&range);
        }
    }

    #[inline]
    fn prefetch_lines(&self, range: &Range<usize>) {
        let mut line = range.start / LINE_BYTES * LINE_BYTES;
        let end = range.end.min(line + LINES_AHEAD * LINE_BYTES);
        while line < end {
            prefetch(&self.bytes, line);
            line += LINE_BYTES;
        }
    }

    #[inline(never)]
    fn prefetch_across_pages(&self, range: &Range<usize>) {
        let mut pages = pages_of(range);
        if pages.all(|page| self.checked.contains(page)) {
            self.prefetch_lines(range);
        } else {
            self.prefetch_pages(range.start / PAGE_BYTES, (range.end - 1) / PAGE_BYTES);
        }
    }

    #[cold]
    fn prefetch_pages(&self, first: usize, last: usize) {
        self.will_need(first * PAGE_BYTES..(last + 1) * PAGE_BYTES);
        for page in [first, last] {
            let mut page = page as u64;
            while let Some((crc_page, _)) = crc_place(page, self.footer.data_pages) {
                let start = to_usize(crc_page) * PAGE_BYTES;
                self.will_need(start..start + PAGE_BYTES);
                page = crc_page;
            }
        }
    }

    /// The bytes of the file without any check, for callers that check all of them again.
    pub(super) fn unchecked(&self) -> &[u8] {
        &self.bytes
    }

    #[cold]
    fn out_of_bounds(&self, range: Range<usize>) -> Error {
        self.flaw(range.start as u64, "data within the file", format!("{} to {}", range.start, range.end))
    }

    /// Checks a page against its CRC, after checking the page that holds the CRC.
    #[cold]
    fn check_page(&self, page: usize) -> Result<()> {
        let start = page * PAGE_BYTES;
        let content = self
            .bytes
            .get(start..start + PAGE_BYTES)
            .ok_or_else(|| self.out_of_bounds(start..start + PAGE_BYTES))?;
        let (section, offset) = (self.section_at(start as u64), start as u64);
        let number = page as u64;
        let checked = if number == 0 || offset == self.footer_offset() {
            unseal(section, offset, content).map(drop)
        } else if number <= self.footer.data_pages {
            check_crc(section, offset, self.expected_crc(page)?, crc32fast::hash(content))
        } else {
            let expected = self.expected_crc(page)?;
            unseal(section, offset, content)
                .and_then(|_| check_crc(section, offset, expected, page_crc(content)))
        };
        checked.map_err(|flaw| flaw.of(&self.path))?;
        self.checked.insert(page);
        Ok(())
    }

    /// The name of the part of the file that contains an offset.
    fn section_at(&self, offset: u64) -> &'static str {
        let page = offset / PAGE_BYTES as u64;
        if page == 0 {
            return "header";
        }
        if page > self.footer.data_pages {
            return if offset >= self.footer_offset() { "footer" } else { "checksums" };
        }
        let holds = |section: &Section| {
            let pages = section.len_bytes.div_ceil(PAGE_BYTES as u64);
            (section.offset..section.offset + pages * PAGE_BYTES as u64).contains(&offset)
        };
        let index = self.footer.sections.iter().position(holds);
        index.and_then(|index| self.section_names.get(index)).copied().unwrap_or("data")
    }

    /// The CRC of a data or checksum page, from the checksum page or the footer that holds it.
    fn expected_crc(&self, page: usize) -> Result<u32> {
        let Some((crc_page, at)) = crc_place(page as u64, self.footer.data_pages) else {
            return Ok(self.footer.root_crc);
        };
        let start = to_usize(crc_page) * PAGE_BYTES + at;
        Ok(page_crc(self.bytes(start..start + 4)?))
    }

    /// Reads the CRCs of all data pages from the checksum pages, with the reads of `source`. Checks
    /// all checksum pages.
    pub(super) fn read_crcs(&self, source: &dyn ReadFile) -> Result<Vec<u32>> {
        let first = to_usize(1 + self.footer.data_pages);
        let mut bytes = vec![0; to_usize(checksum_pages(self.footer.data_pages)) * PAGE_BYTES];
        let offset = |index: usize| ((first + index) * PAGE_BYTES) as u64;
        source.read_exact_at(&mut bytes, offset(0)).map_err(Error::io("read", &self.path))?;
        for (index, page) in bytes.chunks(PAGE_BYTES).enumerate() {
            let expected = match crc_place((first + index) as u64, self.footer.data_pages) {
                None => self.footer.root_crc,
                Some((page, at)) => {
                    let start = (to_usize(page) - first) * PAGE_BYTES + at;
                    page_crc(bytes.get(start..start + 4).unwrap_or_default())
                }
            };
            unseal("checksums", offset(index), page)
                .and_then(|_| check_crc("checksums", offset(index), expected, page_crc(page)))
                .map_err(|flaw| flaw.of(&self.path))?;
        }
        let all =
            bytes.chunks(PAGE_BYTES).flat_map(|page| page.as_chunks::<4>().0.iter().take(CRCS_PER_PAGE));
        let crcs: Vec<u32> =
            all.take(to_usize(self.footer.data_pages)).map(|crc| u32::from_le_bytes(*crc)).collect();
        if encode_checksum_pages(&crcs).0 != bytes {
            return Err(self.flaw(offset(0), "zero padding", "another byte"));
        }
        Ok(crcs)
    }
}
