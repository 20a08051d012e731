//! A file of checked pages: opened by its first and last page, every other page checked when first
//! used.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::format::manifest::FileRecord;
use crate::format::paged::{
    CRCS_PER_PAGE, Footer, Header, PAGE_BYTES, PAGE_CRC_OFFSET, Section, crc_place, encode_checksum_pages,
    unseal,
};
use crate::format::{Flaw, check_crc};
use crate::kernel::prefetch;
use crate::storage::{Bytes, Output, Storage};
use crate::util::cast::to_usize;

/// Where a file stands and what its header must say.
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
    /// Pages whose checksum has been found right.
    checked: Pages,
    /// Pages that the system has been asked for.
    asked: Pages,
}

/// A set of pages of a file that many threads may add to at once.
#[derive(Debug)]
struct Pages(Box<[AtomicU64]>);

impl Pages {
    fn none(pages: usize) -> Self {
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

/// Bytes of a line of the processor's cache.
const LINE_BYTES: usize = 64;
/// Lines that the processor is asked for; those behind them it fetches ahead by itself.
const LINES_AHEAD: usize = 17;

impl PageFile {
    /// Checks length, header page and footer page; reads nothing else.
    pub(crate) fn open(spec: &FileSpec, path: PathBuf, bytes: Bytes, record: FileRecord) -> Result<Self> {
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
        let footer_crc = last.last_chunk().map_or(0, |crc| u32::from_le_bytes(*crc));
        check_crc("footer", footer_offset, record.footer_crc, footer_crc).map_err(flaw)?;
        Flaw::unless_equal("footer", footer_offset, spec.section_names.len(), footer.sections.len())
            .map_err(flaw)?;
        let pages = bytes.len() / PAGE_BYTES;
        let (checked, asked) = (Pages::none(pages), Pages::none(pages));
        Ok(Self { path, bytes, footer, section_names: spec.section_names, checked, asked })
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

    /// Where a section lies. The footer was checked to have it.
    pub(crate) fn section(&self, index: usize) -> Section {
        self.footer.sections.get(index).copied().unwrap_or_default()
    }

    /// An error about a place in this file.
    pub(crate) fn flaw(&self, offset: u64, expected: impl ToString, found: impl ToString) -> Error {
        Flaw::new(self.section_at(offset), offset, expected.to_string(), found.to_string()).of(&self.path)
    }

    /// Bytes of the file, every page of them checked.
    #[inline]
    pub(crate) fn bytes(&self, range: Range<usize>) -> Result<&[u8]> {
        if !range.is_empty() {
            for page in range.start / PAGE_BYTES..=(range.end - 1) / PAGE_BYTES {
                if !self.checked.contains(page) {
                    self.check_page(page)?;
                }
            }
        }
        self.bytes.get(range.clone()).ok_or_else(|| self.out_of_bounds(range))
    }

    /// Bytes of pages that [`bytes`](PageFile::bytes) has checked before.
    #[inline]
    pub(super) fn checked_bytes(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// Asks the system to read a range soon, unless it ends in a page that has been used or asked for before.
    pub(crate) fn will_need(&self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let (first, last) = (range.start / PAGE_BYTES, (range.end - 1) / PAGE_BYTES);
        if self.checked.contains(last) || self.asked.contains(last) {
            return;
        }
        (first..=last).for_each(|page| self.asked.insert(page));
        self.bytes.will_need(first * PAGE_BYTES..(last + 1) * PAGE_BYTES);
    }

    /// Asks for bytes that will be read soon: the processor for the first lines of its cache, or the system
    /// for all of them, and for their checksums, where their pages have not been used before.
    #[inline]
    pub(crate) fn prefetch(&self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let (first, last) = (range.start / PAGE_BYTES, (range.end - 1) / PAGE_BYTES);
        if !(first..=last).all(|page| self.checked.contains(page)) {
            return self.prefetch_pages(first, last);
        }
        let lines = range.start / LINE_BYTES..range.end.div_ceil(LINE_BYTES);
        lines.take(LINES_AHEAD).for_each(|line| prefetch(&self.bytes, line * LINE_BYTES));
    }

    #[cold]
    fn prefetch_pages(&self, first: usize, last: usize) {
        self.will_need(first * PAGE_BYTES..(last + 1) * PAGE_BYTES);
        let data_pages = self.footer.data_pages;
        for page in [first, last] {
            if (1..=data_pages).contains(&(page as u64)) {
                let crc_page = to_usize(crc_place(page as u64, data_pages).0);
                self.will_need(crc_page * PAGE_BYTES..(crc_page + 1) * PAGE_BYTES);
            }
        }
    }

    /// The bytes of a file without any check, for those who check all of them anew.
    pub(super) fn unchecked(&self) -> &[u8] {
        &self.bytes
    }

    #[cold]
    fn out_of_bounds(&self, range: Range<usize>) -> Error {
        self.flaw(range.start as u64, "data within the file", format!("{} to {}", range.start, range.end))
    }

    /// Checks one page against its CRC, and first the page that holds the CRC.
    #[cold]
    fn check_page(&self, page: usize) -> Result<()> {
        let start = page * PAGE_BYTES;
        let content = self
            .bytes
            .get(start..start + PAGE_BYTES)
            .ok_or_else(|| self.out_of_bounds(start..start + PAGE_BYTES))?;
        let number = page as u64;
        let data_pages = self.footer.data_pages;
        if crate::util::sabotage::skips("page-check") {
            return Ok(());
        }
        if (1..=data_pages).contains(&number) {
            let (crc_page, crc_at) = crc_place(number, data_pages);
            let crc_start = to_usize(crc_page) * PAGE_BYTES + crc_at;
            let stored =
                self.bytes(crc_start..crc_start + 4)?.first_chunk().map_or(0, |crc| u32::from_le_bytes(*crc));
            let section = self.section_at(start as u64);
            check_crc(section, start as u64, stored, crc32fast::hash(content))
                .map_err(|flaw| flaw.of(&self.path))?;
        } else {
            unseal(self.section_at(start as u64), start as u64, content)
                .map_err(|flaw| flaw.of(&self.path))?;
        }
        self.checked.insert(page);
        Ok(())
    }

    /// The name of the part of the file that an offset lies in.
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
}

/// Bytes gathered before a write, which ends at a multiple of as many in the file. So much is what a huge page
/// holds: Linux then keeps the file in huge pages where its file system can, and a map of it misses the
/// processor's table of pages less often.
const BUFFER_BYTES: usize = 256 * PAGE_BYTES;

/// Writes a file of pages. The lengths of all sections are known beforehand, so that sections can
/// be filled side by side, each from front to back.
#[derive(Debug)]
pub(super) struct PageFileWriter {
    path: PathBuf,
    output: Box<dyn Output>,
    footer: Footer,
    streams: Vec<Stream>,
}

/// The part of one section that is not written yet.
#[derive(Debug)]
struct Stream {
    section: Section,
    written_bytes: u64,
    buffer: Vec<u8>,
    crcs: Vec<u32>,
}

impl PageFileWriter {
    pub(super) fn create(storage: &dyn Storage, spec: &FileSpec, section_lens: &[u64]) -> Result<Self> {
        let path = storage.path(&spec.name);
        let mut output = storage.create(&spec.name).map_err(Error::io("create", &path))?;
        output.write_all_at(&spec.header.encode(), 0).map_err(Error::io("write", &path))?;
        let footer = Footer::plan(section_lens);
        let stream = |&section: &Section| {
            let pages = to_usize(section.len_bytes).div_ceil(PAGE_BYTES);
            Stream {
                section,
                written_bytes: 0,
                buffer: Vec::with_capacity(BUFFER_BYTES.min(pages * PAGE_BYTES)),
                crcs: Vec::with_capacity(pages),
            }
        };
        let streams = footer.sections.iter().map(stream).collect();
        Ok(Self { path, output, footer, streams })
    }

    /// Appends to a section.
    pub(super) fn put(&mut self, section: usize, mut bytes: &[u8]) -> Result<()> {
        let Some(stream) = self.streams.get_mut(section) else { return Ok(()) };
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(stream.room()));
            stream.buffer.extend_from_slice(now);
            bytes = later;
            if stream.room() == 0 {
                stream.write_out(&mut *self.output).map_err(Error::io("write", &self.path))?;
            }
        }
        Ok(())
    }

    /// Writes what is left, the checksums and the footer, and makes the file durable.
    ///
    /// A section that did not get the length it was announced with is a bug of the caller and
    /// reported as one, before anything refers to the file.
    pub(super) fn finish(mut self, attributes: [u64; 8]) -> Result<FileRecord> {
        let mut crcs = Vec::new();
        for stream in &mut self.streams {
            let total = stream.written_bytes + stream.buffer.len() as u64;
            assert_eq!(
                total,
                stream.section.len_bytes,
                "a section of {} is as long as announced",
                self.path.display()
            );
            stream.write_out(&mut *self.output).map_err(Error::io("write", &self.path))?;
            crcs.append(&mut stream.crcs);
        }
        self.footer.attributes = attributes;
        let footer = self.footer.encode();
        let mut tail = encode_checksum_pages(&crcs);
        tail.extend_from_slice(&footer);
        let at = (1 + self.footer.data_pages) * PAGE_BYTES as u64;
        self.output.write_all_at(&tail, at).map_err(Error::io("write", &self.path))?;
        if !crate::util::sabotage::skips("run-sync") {
            self.output.sync().map_err(Error::io("sync", &self.path))?;
        }
        let footer_crc = footer.last_chunk().map_or(0, |crc| u32::from_le_bytes(*crc));
        Ok(FileRecord { len_bytes: self.footer.file_len(), footer_crc })
    }
}

impl Stream {
    /// Bytes that the buffer takes before it is written.
    fn room(&self) -> usize {
        let begun = to_usize(self.section.offset + self.written_bytes) % BUFFER_BYTES;
        BUFFER_BYTES - begun - self.buffer.len()
    }

    /// Pads the buffer to whole pages, notes their CRCs and writes them.
    fn write_out(&mut self, output: &mut dyn Output) -> std::io::Result<()> {
        let len = self.buffer.len();
        self.buffer.resize(len.next_multiple_of(PAGE_BYTES), 0);
        self.crcs.extend(self.buffer.chunks(PAGE_BYTES).map(crc32fast::hash));
        output.write_all_at(&self.buffer, self.section.offset + self.written_bytes)?;
        self.written_bytes += len as u64;
        self.buffer.clear();
        Ok(())
    }
}

const _: () = assert!(CRCS_PER_PAGE * 4 == PAGE_CRC_OFFSET);
