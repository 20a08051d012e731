//! A file of pages that may be damaged.
//!
//! Pages are read one by one with ordinary reads, because a medium that cannot be read then costs a
//! page, where a mapped file would end the process. A page is believed when its checksum matches the
//! one stored for it; header, footer and the seals of checksum pages may be damaged and are made up for
//! as far as other parts of the database prove what stood there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

use super::findings::{Findings, Kind};
use crate::error::{Error, Result};
use crate::format::manifest::FileRecord;
use crate::format::paged;
use crate::format::paged::{CRCS_PER_PAGE, Footer, Header, PAGE_BYTES, PAGE_CRC_OFFSET, checksum_pages};
use crate::run::FileSpec;
use crate::storage::{ReadFile, Storage};
use crate::util::cast::to_usize;

/// An open file. Holds one page per section and 1/2048 of the file in checksums.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) name: String,
    input: Box<dyn ReadFile>,
    len_bytes: u64,
    data_pages: u64,
    pub(super) footer: Footer,
    section_names: &'static [&'static str],
    slots: Vec<Slot>,
    /// The stored CRCs of the data pages, by checksum page; none where that cannot be read.
    crcs: BTreeMap<u64, Vec<u32>>,
    /// Pages that were asked for and could not be had, by section.
    unreadable: Vec<BTreeSet<u64>>,
}

/// The page of a section that was used last.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// Its number in the file; 0 is none.
    page: u64,
    /// Nothing where it cannot be read.
    content: Option<Vec<u8>>,
}

/// What became of opening a file.
pub(super) enum Opened {
    Whole(Pages),
    /// The footer is damaged; [`Pages::arrange`] may find out what it said.
    WithoutFooter(Pages),
    /// Not there, or not the file that was written.
    Gone,
}

impl Pages {
    /// Opens a file that was `len_bytes` long when it was written and whose footer ends with a known
    /// CRC.
    ///
    /// Header or footer has to show that it is the right file; the other may be damaged.
    pub(super) fn open(
        storage: &dyn Storage,
        spec: &FileSpec,
        record: FileRecord,
        findings: &mut Findings,
    ) -> Result<Opened> {
        let name = &spec.name;
        let mut damaged = |what: &str| findings.add(Kind::Damaged, name, what.to_string());
        let input = match open_file(storage, name)? {
            Ok(input) => input,
            Err(what) => {
                damaged(&what);
                return Ok(Opened::Gone);
            }
        };
        let found_len = input.len_bytes().unwrap_or(0);
        let Some(data_pages) = data_pages(record.len_bytes) else { return Ok(Opened::Gone) };
        if found_len != record.len_bytes {
            damaged(&format!("{found_len} bytes long, and was {}", record.len_bytes));
        }
        // Checksums stand behind the data: without any, no page can be told from a damaged one. This also
        // keeps what a manifest says of lengths within what there is.
        if found_len <= (1 + data_pages) * PAGE_BYTES as u64 {
            return Ok(Opened::Gone);
        }
        let header = read_page(&*input, 0).unwrap_or_default();
        let known = spec.header.check(&header).is_ok();
        if !known && let Ok(foreign) = Header::decode(spec.header.magic, &header) {
            damaged(&format!("is of database {}, run {}", paged::hex(&foreign.database_id), foreign.run));
            return Ok(Opened::Gone);
        }
        let footer = read_footer(&*input, record);
        if !known {
            damaged("the header page cannot be read");
        }
        let opened = |footer: Footer| Self {
            name: name.clone(),
            input,
            len_bytes: record.len_bytes,
            data_pages,
            slots: vec![Slot::default(); footer.sections.len()],
            unreadable: vec![BTreeSet::new(); footer.sections.len()],
            footer,
            section_names: spec.section_names,
            crcs: BTreeMap::new(),
        };
        match footer {
            Some(footer) if footer.sections.len() == spec.section_names.len() => {
                Ok(Opened::Whole(opened(footer)))
            }
            _ if known => {
                damaged("the footer page cannot be read");
                Ok(Opened::WithoutFooter(opened(Footer::plan(&vec![0; spec.section_names.len()]))))
            }
            _ => {
                damaged("nothing shows that it is the right file");
                Ok(Opened::Gone)
            }
        }
    }

    /// Makes up for a footer: takes the one arrangement, of those that the footer may have told, that
    /// fits the file's length and content.
    pub(super) fn arrange(
        mut self,
        guesses: impl IntoIterator<Item = Footer>,
        mut fits: impl FnMut(&mut Self) -> bool,
    ) -> Option<Self> {
        let mut fitting = Vec::new();
        for guess in guesses {
            if guess.file_len() == self.len_bytes {
                self.footer = guess;
                if fits(&mut self) {
                    fitting.push(self.footer.clone());
                }
            }
        }
        self.unreadable.iter_mut().for_each(BTreeSet::clear);
        match <[Footer; 1]>::try_from(fitting) {
            Ok([footer]) => {
                self.footer = footer;
                Some(self)
            }
            Err(_) => None,
        }
    }

    /// Number `index` of a section of numbers of `width` bytes. `None` where its page cannot be read,
    /// or the section has no such number.
    pub(super) fn number(&mut self, section: usize, index: u64, width: u64) -> Option<u64> {
        let place = self.footer.sections.get(section)?;
        let at = index.checked_mul(width).filter(|at| at + width <= place.len_bytes)?;
        let content = self.page_of(section, (place.offset + at) / PAGE_BYTES as u64)?;
        let start = to_usize(at) % PAGE_BYTES;
        let bytes = content.get(start..start + to_usize(width))?;
        Some(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    }

    /// Bytes of a section. `None` where one of their pages cannot be read, or the section does not have them.
    pub(super) fn bytes(&mut self, section: usize, start: u64, len: u64) -> Option<Vec<u8>> {
        let place = *self.footer.sections.get(section)?;
        let end = start.checked_add(len).filter(|&end| end <= place.len_bytes)?;
        let mut bytes = Vec::new();
        let mut at = start;
        while at < end {
            let from = to_usize(at) % PAGE_BYTES;
            let content = self.page_of(section, (place.offset + at) / PAGE_BYTES as u64)?;
            let piece = content.get(from..(from + to_usize(end - at)).min(PAGE_BYTES))?;
            bytes.extend_from_slice(piece);
            at += piece.len() as u64;
        }
        Some(bytes)
    }

    /// A page of a section, which is remembered until the next one of that section.
    fn page_of(&mut self, section: usize, page: u64) -> Option<&[u8]> {
        if self.slots.get(section)?.page != page {
            let content = self.checked_page(page);
            if content.is_none() {
                self.unreadable.get_mut(section)?.insert(page);
            }
            *self.slots.get_mut(section)? = Slot { page, content };
        }
        self.slots.get(section)?.content.as_deref()
    }

    /// Tells which pages could not be read.
    pub(super) fn tell_unreadable(&self, findings: &mut Findings) {
        for ((pages, section), name) in
            self.unreadable.iter().zip(&self.footer.sections).zip(self.section_names)
        {
            if let Some(first) = pages.first() {
                let of = section.len_bytes.div_ceil(PAGE_BYTES as u64);
                let what = format!(
                    "{name}: {} of {of} pages cannot be read, the first at offset {}",
                    pages.len(),
                    first * PAGE_BYTES as u64
                );
                findings.add(Kind::Damaged, &self.name, what);
            }
        }
    }

    /// A data page, if its checksum is right.
    fn checked_page(&mut self, page: u64) -> Option<Vec<u8>> {
        let index = page.checked_sub(1).filter(|&index| index < self.data_pages)?;
        let holder = index / CRCS_PER_PAGE as u64;
        if !self.crcs.contains_key(&holder) {
            let crcs = self.read_crcs(holder).unwrap_or_default();
            self.crcs.insert(holder, crcs);
        }
        let stored = *self.crcs.get(&holder)?.get(to_usize(index) % CRCS_PER_PAGE)?;
        read_page(&*self.input, page).filter(|content| crc32fast::hash(content) == stored)
    }

    /// The CRCs of one checksum page.
    ///
    /// Where its seal is broken, the CRCs of the data pages are computed, and believed if they mend the
    /// seal. Else each stored CRC stands for itself: a page that matches is sound, whatever has
    /// happened beside it.
    fn read_crcs(&self, holder: u64) -> Option<Vec<u32>> {
        let page = read_page(&*self.input, 1 + self.data_pages + holder)?;
        let (body, seal) = page.split_last_chunk::<4>()?;
        let stored: Vec<u32> = body.as_chunks::<4>().0.iter().map(|crc| u32::from_le_bytes(*crc)).collect();
        if crc32fast::hash(body) == u32::from_le_bytes(*seal) {
            return Some(stored);
        }
        let first = 1 + holder * CRCS_PER_PAGE as u64;
        let pages = first..(first + CRCS_PER_PAGE as u64).min(self.data_pages + 1);
        let computed: Option<Vec<u32>> = pages
            .map(|page| read_page(&*self.input, page).map(|content| crc32fast::hash(&content)))
            .collect();
        let mended = computed.filter(|crcs| {
            let mut body: Vec<u8> = crcs.iter().flat_map(|crc| crc.to_le_bytes()).collect();
            body.resize(PAGE_CRC_OFFSET, 0);
            crc32fast::hash(&body) == u32::from_le_bytes(*seal)
        });
        mended.or(Some(stored))
    }
}

/// Opens a file for ordinary reads; or tells why it cannot be had, where that is damage.
pub(super) fn open_file(
    storage: &dyn Storage,
    name: &str,
) -> Result<std::result::Result<Box<dyn ReadFile>, String>> {
    match storage.open(name) {
        Ok(input) => Ok(Ok(input)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Err("missing".into())),
        Err(error) if error.kind() == ErrorKind::InvalidData || is_medium(&error) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(Error::io("open", storage.path(name))(error)),
    }
}

/// Whether the medium is at fault: EIO.
pub(super) fn is_medium(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(5)
}

pub(super) fn read_page(input: &dyn ReadFile, page: u64) -> Option<Vec<u8>> {
    let mut content = vec![0; PAGE_BYTES];
    input.read_exact_at(&mut content, page.checked_mul(PAGE_BYTES as u64)?).ok().map(|()| content)
}

/// The footer of a file that may be gone, if it is the one that a record tells of.
pub(super) fn footer_of(storage: &dyn Storage, name: &str, record: FileRecord) -> Result<Option<Footer>> {
    Ok(open_file(storage, name)?.ok().and_then(|input| read_footer(&*input, record)))
}

/// The footer of a file, if it is the one that a record tells of.
fn read_footer(input: &dyn ReadFile, record: FileRecord) -> Option<Footer> {
    let last = read_page(input, (record.len_bytes / PAGE_BYTES as u64).checked_sub(1)?)?;
    let offset = record.len_bytes - PAGE_BYTES as u64;
    let crc = u32::from_le_bytes(*last.last_chunk()?);
    Footer::decode(&last, offset, record.len_bytes).ok().filter(|_| crc == record.footer_crc)
}

/// How many data pages a file of a length has. `None` for a length that no file has.
fn data_pages(len_bytes: u64) -> Option<u64> {
    let pages = len_bytes / PAGE_BYTES as u64;
    let inner = pages.checked_sub(2)?;
    let data = inner - inner.div_ceil(CRCS_PER_PAGE as u64 + 1);
    (len_bytes.is_multiple_of(PAGE_BYTES as u64) && data + checksum_pages(data) == inner).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_tells_the_number_of_data_pages() {
        for pages in [0, 1, 2, 2046, 2047, 2048, 4094, 4095, 1 << 30] {
            let planned = Footer::plan(&[pages * PAGE_BYTES as u64]);
            assert_eq!(data_pages(planned.file_len()), Some(pages), "{pages}");
        }
        for len in [0, 8192, 8193, 3 * 8192, 16_385] {
            assert_eq!(data_pages(len), None, "{len}");
        }
    }
}
