//! Writes a file of pages.

use std::io;
use std::path::PathBuf;

use super::page_file::FileSpec;
use crate::error::{Error, Result};
use crate::format::manifest::FileRecord;
use crate::format::paged::{
    CRCS_PER_PAGE, Footer, PAGE_BYTES, PAGE_CRC_OFFSET, Section, encode_checksum_pages, page_crc,
};
use crate::storage::{Storage, WriteFile};
use crate::util::cast::to_usize;
use crate::util::sabotage;

/// Bytes to collect before a write. Each write ends at a multiple of this in the file. A huge page
/// has the same size: Linux then caches the file in huge pages if its file system can, and a map of
/// it causes fewer TLB misses.
const BUFFER_BYTES: usize = 256 * PAGE_BYTES;

/// Writes a file of pages. The lengths of all sections are fixed at the start, so the sections can
/// be filled side by side, each from front to back.
#[derive(Debug)]
pub(super) struct PageFileWriter {
    path: PathBuf,
    file: Box<dyn WriteFile>,
    footer: Footer,
    sections: Vec<SectionWriter>,
}

/// A section and its unwritten end.
#[derive(Debug)]
struct SectionWriter {
    section: Section,
    written_bytes: u64,
    buffer: Vec<u8>,
    crcs: Vec<u32>,
}

impl PageFileWriter {
    pub(super) fn create(storage: &dyn Storage, spec: &FileSpec, section_lens: &[u64]) -> Result<Self> {
        let path = storage.path(&spec.name);
        let mut file = storage.create(&spec.name).map_err(Error::io("create", &path))?;
        file.write_all_at(&spec.header.encode(), 0).map_err(Error::io("write", &path))?;
        let footer = Footer::plan(section_lens);
        let sections = footer.sections.iter().copied().map(SectionWriter::new).collect();
        Ok(Self { path, file, footer, sections })
    }

    /// Appends to a section.
    pub(super) fn put(&mut self, section: usize, mut bytes: &[u8]) -> Result<()> {
        let Some(section) = self.sections.get_mut(section) else { return Ok(()) };
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(section.room()));
            section.buffer.extend_from_slice(now);
            bytes = later;
            if section.room() == 0 {
                section.write_out(&mut *self.file).map_err(Error::io("write", &self.path))?;
            }
        }
        Ok(())
    }

    /// Writes the remaining data, the checksums and the footer, and makes the file durable.
    ///
    /// A section that differs from its announced length is a bug in the caller. It panics before
    /// anything refers to the file.
    pub(super) fn finish(mut self, attributes: [u64; 8]) -> Result<FileRecord> {
        let mut crcs = Vec::new();
        for section in &mut self.sections {
            let total = section.written_bytes + section.buffer.len() as u64;
            assert_eq!(
                total,
                section.section.len_bytes,
                "a section of {} is as long as announced",
                self.path.display()
            );
            section.write_out(&mut *self.file).map_err(Error::io("write", &self.path))?;
            crcs.append(&mut section.crcs);
        }
        let (mut tail, root_crc) = encode_checksum_pages(&crcs);
        (self.footer.attributes, self.footer.root_crc) = (attributes, root_crc);
        let footer = self.footer.encode();
        tail.extend_from_slice(&footer);
        let at = (1 + self.footer.data_pages) * PAGE_BYTES as u64;
        self.file.write_all_at(&tail, at).map_err(Error::io("write", &self.path))?;
        if !sabotage::skips("run-sync") {
            self.file.sync().map_err(Error::io("sync", &self.path))?;
        }
        Ok(FileRecord { len_bytes: self.footer.file_len(), footer_crc: page_crc(&footer) })
    }
}

impl SectionWriter {
    fn new(section: Section) -> Self {
        let pages = to_usize(section.len_bytes).div_ceil(PAGE_BYTES);
        let buffer = Vec::with_capacity(BUFFER_BYTES.min(pages * PAGE_BYTES));
        Self { section, written_bytes: 0, buffer, crcs: Vec::with_capacity(pages) }
    }

    /// Bytes that still fit into the buffer.
    fn room(&self) -> usize {
        let begun = to_usize(self.section.offset + self.written_bytes) % BUFFER_BYTES;
        BUFFER_BYTES - begun - self.buffer.len()
    }

    /// Pads the buffer to whole pages, records their CRCs and writes them.
    fn write_out(&mut self, file: &mut dyn WriteFile) -> io::Result<()> {
        let len = self.buffer.len();
        self.buffer.resize(len.next_multiple_of(PAGE_BYTES), 0);
        self.crcs.extend(self.buffer.chunks(PAGE_BYTES).map(crc32fast::hash));
        file.write_all_at(&self.buffer, self.section.offset + self.written_bytes)?;
        self.written_bytes += len as u64;
        self.buffer.clear();
        Ok(())
    }
}

const _: () = assert!(CRCS_PER_PAGE * 4 == PAGE_CRC_OFFSET);
