//! A file of pages that may be damaged.
//!
//! Pages are read one by one with ordinary reads. A read error of the medium then costs one page;
//! with a mapped file it would end the process. A page is valid if its checksum matches the stored
//! one. Header, footer and the seals of checksum pages may be damaged. They are reconstructed as
//! far as other parts of the database prove their content.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

use super::report::{FindingKind, RepairReport};
use crate::error::{Error, Result};
use crate::format::Hex;
use crate::format::header::Header;
use crate::format::manifest::FileRecord;
use crate::format::paged::{CRCS_PER_PAGE, Footer, PAGE_BYTES, PAGE_CRC_OFFSET, data_pages, page_crc};
use crate::run::FileSpec;
use crate::storage::{ReadFile, Storage};
use crate::util::cast::to_usize;

/// An open file. Holds one page per section in memory, and the checksums: 1/2048 of the file.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) name: String,
    file: Box<dyn ReadFile>,
    len_bytes: u64,
    data_pages: u64,
    pub(super) footer: Footer,
    section_names: &'static [&'static str],
    cached: Vec<CachedPage>,
    /// The stored CRCs of the data pages, by checksum page. Empty if that page is unreadable.
    crcs: BTreeMap<u64, Vec<u32>>,
    /// Pages that could not be read, by section.
    unreadable: Vec<BTreeSet<u64>>,
}

/// The last used page of a section.
#[derive(Clone, Debug, Default)]
struct CachedPage {
    /// Its number in the file; 0 for no page.
    page: u64,
    /// `None` if it is unreadable.
    content: Option<Vec<u8>>,
}

/// The result of opening a file.
pub(super) enum Opened {
    Whole(Pages),
    /// The footer is damaged. [`Pages::arrange`] may reconstruct it.
    WithoutFooter(Pages),
    /// The file is missing, or is not the one that was written.
    Missing,
}

impl Opened {
    /// The pages, with the footer reconstructed if it is damaged. `None` if that is impossible.
    pub(super) fn or_arrange(
        self,
        guesses: impl IntoIterator<Item = Footer>,
        fits: impl FnMut(&mut Pages) -> bool,
    ) -> Option<Pages> {
        match self {
            Self::Whole(pages) => Some(pages),
            Self::WithoutFooter(pages) => pages.arrange(guesses, fits),
            Self::Missing => None,
        }
    }
}

impl Pages {
    /// Opens the file that `record` describes. Header or footer must prove that it is the right
    /// file; the other one may be damaged.
    pub(super) fn open(
        storage: &dyn Storage,
        spec: &FileSpec,
        record: FileRecord,
        report: &mut RepairReport,
    ) -> Result<Opened> {
        let name = &spec.name;
        let mut damaged = |what: &str| report.add(FindingKind::Damaged, name, what);
        let file = match open_file(storage, name)? {
            Ok(file) => file,
            Err(what) => {
                damaged(&what);
                return Ok(Opened::Missing);
            }
        };
        let found_len = file.len_bytes().unwrap_or(0);
        let Some(data_pages) = data_pages(record.len_bytes) else { return Ok(Opened::Missing) };
        if found_len != record.len_bytes {
            damaged(&format!("{found_len} bytes long, and was {}", record.len_bytes));
        }
        // Checksums follow the data. Without them, damaged pages cannot be recognized. The check
        // also bounds the lengths that a damaged manifest may claim.
        if found_len <= (1 + data_pages) * PAGE_BYTES as u64 {
            return Ok(Opened::Missing);
        }
        let header = read_page(&*file, 0).unwrap_or_default();
        let known = spec.header.check(&header).is_ok();
        if !known && let Ok(foreign) = Header::decode(spec.header.magic, &header) {
            let owner = foreign.owner;
            damaged(&format!("is of database {}, run {}", Hex(owner.database_id), owner.run));
            return Ok(Opened::Missing);
        }
        let footer = read_footer(&*file, record);
        if !known {
            damaged("the header page cannot be read");
        }
        let opened = |footer: Footer| Self {
            name: name.clone(),
            file,
            len_bytes: record.len_bytes,
            data_pages,
            cached: vec![CachedPage::default(); footer.sections.len()],
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
                Ok(Opened::Missing)
            }
        }
    }

    /// Reconstructs a footer: the only one of the guesses that fits the file's length and content.
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

    /// Number `index` of a section of numbers of `width` bytes. `None` if its page is unreadable,
    /// or the section has no such number.
    pub(super) fn number(&mut self, section: usize, index: u64, width: u64) -> Option<u64> {
        let place = self.footer.sections.get(section)?;
        let at = index.checked_mul(width).filter(|at| at + width <= place.len_bytes)?;
        let content = self.page_of(section, (place.offset + at) / PAGE_BYTES as u64)?;
        let start = to_usize(at) % PAGE_BYTES;
        let bytes = content.get(start..start + to_usize(width))?;
        Some(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    }

    /// Bytes of a section. `None` if one of their pages is unreadable, or the section is too short.
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

    /// A page of a section. The last page of each section stays in memory.
    fn page_of(&mut self, section: usize, page: u64) -> Option<&[u8]> {
        if self.cached.get(section)?.page != page {
            let content = self.checked_page(page);
            if content.is_none() {
                self.unreadable.get_mut(section)?.insert(page);
            }
            *self.cached.get_mut(section)? = CachedPage { page, content };
        }
        self.cached.get(section)?.content.as_deref()
    }

    /// Reports the pages that could not be read.
    pub(super) fn report_unreadable(&self, report: &mut RepairReport) {
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
                report.add(FindingKind::Damaged, &self.name, what);
            }
        }
    }

    /// A data page, if its checksum is correct.
    fn checked_page(&mut self, page: u64) -> Option<Vec<u8>> {
        let index = page.checked_sub(1).filter(|&index| index < self.data_pages)?;
        let holder = index / CRCS_PER_PAGE as u64;
        if !self.crcs.contains_key(&holder) {
            let crcs = self.read_crcs(holder).unwrap_or_default();
            self.crcs.insert(holder, crcs);
        }
        let stored = *self.crcs.get(&holder)?.get(to_usize(index) % CRCS_PER_PAGE)?;
        read_page(&*self.file, page).filter(|content| crc32fast::hash(content) == stored)
    }

    /// The CRCs of one checksum page.
    ///
    /// If its seal is broken, this computes the CRCs of the data pages, and uses them if they
    /// restore the seal. Otherwise each stored CRC is used on its own: a page that matches it is
    /// sound.
    fn read_crcs(&self, holder: u64) -> Option<Vec<u32>> {
        let page = read_page(&*self.file, 1 + self.data_pages + holder)?;
        let (body, seal) = page.split_last_chunk::<4>()?;
        let stored: Vec<u32> = body.as_chunks::<4>().0.iter().map(|crc| u32::from_le_bytes(*crc)).collect();
        if crc32fast::hash(body) == u32::from_le_bytes(*seal) {
            return Some(stored);
        }
        let first = 1 + holder * CRCS_PER_PAGE as u64;
        let pages = first..(first + CRCS_PER_PAGE as u64).min(self.data_pages + 1);
        let computed: Option<Vec<u32>> =
            pages.map(|page| read_page(&*self.file, page).map(|content| crc32fast::hash(&content))).collect();
        let restored = computed.filter(|crcs| {
            let mut body: Vec<u8> = crcs.iter().flat_map(|crc| crc.to_le_bytes()).collect();
            body.resize(PAGE_CRC_OFFSET, 0);
            crc32fast::hash(&body) == u32::from_le_bytes(*seal)
        });
        restored.or(Some(stored))
    }
}

/// Opens a file for ordinary reads. The inner error describes damage that prevents this.
pub(super) fn open_file(
    storage: &dyn Storage,
    name: &str,
) -> Result<std::result::Result<Box<dyn ReadFile>, String>> {
    match storage.open(name) {
        Ok(file) => Ok(Ok(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Err("missing".into())),
        Err(error) if error.kind() == ErrorKind::InvalidData || is_medium_error(&error) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(Error::io("open", storage.path(name))(error)),
    }
}

/// Whether the medium failed: EIO.
pub(super) fn is_medium_error(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(5)
}

pub(super) fn read_page(file: &dyn ReadFile, page: u64) -> Option<Vec<u8>> {
    let mut content = vec![0; PAGE_BYTES];
    file.read_exact_at(&mut content, page.checked_mul(PAGE_BYTES as u64)?).ok().map(|()| content)
}

/// The footer of a file that may be missing, if it is the one that a record describes.
pub(super) fn footer_of(storage: &dyn Storage, name: &str, record: FileRecord) -> Result<Option<Footer>> {
    Ok(open_file(storage, name)?.ok().and_then(|file| read_footer(&*file, record)))
}

/// The footer of a file, if it is the one that a record describes.
fn read_footer(file: &dyn ReadFile, record: FileRecord) -> Option<Footer> {
    let last = read_page(file, (record.len_bytes / PAGE_BYTES as u64).checked_sub(1)?)?;
    let offset = record.len_bytes - PAGE_BYTES as u64;
    Footer::decode(&last, offset, record.len_bytes).ok().filter(|_| page_crc(&last) == record.footer_crc)
}
