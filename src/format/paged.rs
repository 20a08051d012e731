//! The structure that all files of a run share: a header page, data pages, checksum pages and a
//! footer page, each of [`PAGE_BYTES`].
//!
//! In a page of 8 KiB, CRC-32 detects every error of up to three bits.
//!
//! Checksum pages form a tree: each holds the CRCs of data pages, or of the checksum pages of the
//! level below. The footer holds the CRC of the root, and the manifest holds the CRC of the footer.

use super::{Decoder, Encoder, Flaw, Hex, check_crc};
use crate::util::cast::to_usize;

/// The unit of checksums, and of the alignment of sections.
pub(crate) const PAGE_BYTES: usize = 8192;
/// Offset of the CRC-32 in a header, checksum or footer page: its last four bytes.
pub(crate) const PAGE_CRC_OFFSET: usize = PAGE_BYTES - 4;
/// CRCs in one checksum page.
pub(crate) const CRCS_PER_PAGE: usize = 2047;
/// The first bytes of every footer page.
pub(crate) const FOOTER_MAGIC: [u8; 8] = *b"\x89NPF\r\n\x1a\n";
/// Number of attributes in a footer. Their meaning depends on the kind of file.
pub(crate) const ATTRIBUTES: usize = 8;
/// The most sections of a file.
pub(crate) const MAX_SECTIONS: usize = 8;

/// A part of the data pages. Starts on a page boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Section {
    /// From the start of the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) len_bytes: u64,
}

/// The content of a footer page: the sections of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) data_pages: u64,
    /// The CRC of the root of the checksum pages; 0 without data pages.
    pub(crate) root_crc: u32,
    pub(crate) attributes: [u64; ATTRIBUTES],
    pub(crate) sections: Vec<Section>,
}

impl Footer {
    /// Arranges sections of the given lengths after the header page.
    pub(crate) fn plan(section_lens: &[u64]) -> Self {
        let mut page = 1;
        let sections = section_lens
            .iter()
            .map(|&len_bytes| {
                let section = Section { offset: page * PAGE_BYTES as u64, len_bytes };
                page += len_bytes.div_ceil(PAGE_BYTES as u64);
                section
            })
            .collect();
        Self { data_pages: page - 1, root_crc: 0, attributes: [0; ATTRIBUTES], sections }
    }

    /// The length of the whole file.
    pub(crate) fn file_len(&self) -> u64 {
        (self.data_pages + checksum_pages(self.data_pages) + 2) * PAGE_BYTES as u64
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut page = Encoder::default();
        page.put(&FOOTER_MAGIC).u64(self.data_pages).u32(self.root_crc).u32(0);
        page.u64s(&self.attributes).u64(self.sections.len() as u64);
        for section in &self.sections {
            page.u64(section.offset).u64(section.len_bytes);
        }
        seal(page)
    }

    /// Decodes the footer page at `offset`, the end of a file of `file_len` bytes. Accepts only the
    /// one arrangement that follows from the section lengths, so every section is in bounds.
    pub(crate) fn decode(page: &[u8], offset: u64, file_len: u64) -> Result<Self, Flaw> {
        let mut fields = unseal("footer", offset, page)?;
        Flaw::unless_equal("footer", offset, Hex(FOOTER_MAGIC), Hex(fields.array()?))?;
        let data_pages = fields.u64()?;
        let root_crc = fields.u32()?;
        match fields.u32()? {
            0 => {}
            other => return Err(fields.flaw("0 after the root's CRC", other)),
        }
        let mut attributes = [0; ATTRIBUTES];
        for value in &mut attributes {
            *value = fields.u64()?;
        }
        let count = fields.u64()?;
        if count > MAX_SECTIONS as u64 {
            return Err(fields.flaw(format!("at most {MAX_SECTIONS} sections"), count));
        }
        let mut sections = Vec::new();
        for _ in 0..count {
            sections.push(Section { offset: fields.u64()?, len_bytes: fields.u64()? });
        }
        fields.rest_is_zero()?;
        let found = Self { data_pages, root_crc, attributes, sections };
        found.check_arrangement(offset, file_len)?;
        Ok(found)
    }

    fn check_arrangement(&self, offset: u64, file_len: u64) -> Result<(), Flaw> {
        let lens: Vec<u64> = self.sections.iter().map(|section| section.len_bytes).collect();
        if let Some(len) = lens.iter().find(|&&len| len > file_len) {
            return Err(Flaw::new("footer", offset, format!("sections within {file_len} bytes"), len));
        }
        let planned = Self::plan(&lens);
        if planned.sections != self.sections {
            return Err(Flaw::new("footer", offset, "sections one after the other", "another arrangement"));
        }
        Flaw::unless_equal("footer", offset + 8, planned.data_pages, self.data_pages)?;
        Flaw::unless_equal("footer", offset, file_len, planned.file_len())
    }
}

/// The numbers of pages in each level of the checksum pages, the lowest first. Each level has a CRC
/// for each page of the level below; the last level is one page.
fn checksum_levels(data_pages: u64) -> impl Iterator<Item = u64> {
    let lowest = (data_pages > 0).then(|| data_pages.div_ceil(CRCS_PER_PAGE as u64));
    std::iter::successors(lowest, |&pages| (pages > 1).then(|| pages.div_ceil(CRCS_PER_PAGE as u64)))
}

/// The number of checksum pages for `data_pages` data pages.
pub(crate) fn checksum_pages(data_pages: u64) -> u64 {
    checksum_levels(data_pages).sum()
}

/// The number of data pages of a file with this length. `None` for an impossible length.
pub(crate) fn data_pages(len_bytes: u64) -> Option<u64> {
    let inner = (len_bytes / PAGE_BYTES as u64).checked_sub(2)?;
    // More data pages never have fewer checksum pages.
    let (mut least, mut most) = (0, inner);
    while least < most {
        let middle = least + (most - least) / 2;
        if middle + checksum_pages(middle) < inner {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    let fits = len_bytes.is_multiple_of(PAGE_BYTES as u64) && least + checksum_pages(least) == inner;
    fits.then_some(least)
}

/// The checksum pages for data pages with these CRCs, level by level, and the CRC of the root.
pub(crate) fn encode_checksum_pages(crcs: &[u32]) -> (Vec<u8>, u32) {
    let (mut bytes, mut crcs) = (Vec::new(), crcs.to_vec());
    let mut root = 0;
    while !crcs.is_empty() {
        let pages: Vec<Vec<u8>> = crcs.chunks(CRCS_PER_PAGE).map(encode_checksum_page).collect();
        crcs = pages.iter().map(|page| page_crc(page)).collect();
        pages.iter().for_each(|page| bytes.extend_from_slice(page));
        if let [only] = crcs[..] {
            root = only;
            break;
        }
    }
    (bytes, root)
}

fn encode_checksum_page(crcs: &[u32]) -> Vec<u8> {
    let mut page = Encoder::default();
    page.u32s(crcs);
    seal(page)
}

/// The place of a data or checksum page's CRC: the number of a page in the file, and an offset
/// within that page. `None` for the root, whose CRC stands in the footer. Page 0 is the header, so
/// data pages are numbered from 1, and checksum pages follow them.
pub(crate) fn crc_place(page: u64, data_pages: u64) -> Option<(u64, usize)> {
    let (mut first, mut pages) = (1, data_pages);
    for above in checksum_levels(data_pages) {
        if page < first + pages {
            let index = page - first;
            let slot = to_usize(index % CRCS_PER_PAGE as u64);
            return Some((first + pages + index / CRCS_PER_PAGE as u64, slot * 4));
        }
        (first, pages) = (first + pages, above);
    }
    None
}

/// The CRC at the end of a header, checksum or footer page.
pub(crate) fn page_crc(page: &[u8]) -> u32 {
    page.last_chunk().map_or(0, |crc| u32::from_le_bytes(*crc))
}

/// Pads to a page and appends its CRC.
pub(super) fn seal(mut page: Encoder) -> Vec<u8> {
    page.bytes.reserve_exact(PAGE_BYTES - page.bytes.len());
    page.zeros_up_to(PAGE_CRC_OFFSET);
    let crc = crc32fast::hash(&page.bytes);
    page.u32(crc);
    page.bytes
}

/// Checks the CRC at the end of a page and returns a decoder of the other bytes.
pub(crate) fn unseal<'a>(section: &'static str, offset: u64, page: &'a [u8]) -> Result<Decoder<'a>, Flaw> {
    let (body, stored) = page
        .split_last_chunk::<4>()
        .filter(|(body, _)| body.len() == PAGE_CRC_OFFSET)
        .ok_or_else(|| Flaw::new(section, offset, format!("a page of {PAGE_BYTES} bytes"), page.len()))?;
    check_crc(section, offset, u32::from_le_bytes(*stored), crc32fast::hash(body))?;
    Ok(Decoder::new(section, offset, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footers_survive_the_round_trip_and_other_arrangements_are_rejected() {
        let mut footer = Footer::plan(&[5000, 0, 8192, 1]);
        footer.attributes = [1, 2, 3, 4, 5, 6, 7, u64::MAX];
        assert_eq!(footer.data_pages, 3);
        let len = footer.file_len();
        assert_eq!(len, 6 * PAGE_BYTES as u64);
        let page = footer.encode();
        assert_eq!(Footer::decode(&page, 0, len), Ok(footer.clone()));
        assert!(Footer::decode(&page, 0, len + 1).is_err());
        for bad in [u64::MAX, 1 << 40, 8193] {
            let mut hostile = footer.clone();
            hostile.sections[0].len_bytes = bad;
            assert!(Footer::decode(&hostile.encode(), 0, len).is_err(), "{bad}");
        }
        let mut hostile = footer.clone();
        hostile.sections[1].offset = 8192;
        assert!(Footer::decode(&hostile.encode(), 0, len).is_err());
        hostile = Footer { data_pages: u64::MAX, ..footer };
        assert!(Footer::decode(&hostile.encode(), 0, len).is_err());
    }

    #[test]
    fn the_length_determines_the_number_of_data_pages() {
        let square = 2047 * 2047;
        for pages in [0, 1, 2, 2046, 2047, 2048, 4094, 4095, square, square + 1, 1 << 30, 1 << 40] {
            let planned = Footer::plan(&[pages * PAGE_BYTES as u64]);
            assert_eq!(data_pages(planned.file_len()), Some(pages), "{pages}");
        }
        // Two pages more than 2,047 data pages need: 2,048 data pages have three checksum pages.
        for len in [0, 8192, 8193, 3 * 8192, 16_385, 2051 * 8192, 2052 * 8192] {
            assert_eq!(data_pages(len), None, "{len}");
        }
    }

    #[test]
    fn checksum_pages_form_a_tree() {
        assert_eq!(encode_checksum_pages(&[]), (vec![], 0));
        for data_pages in [1, 2047, 2048, 5000] {
            let crcs: Vec<u32> = (0..data_pages).map(|page| page * 7 + 1).collect();
            let data_pages = u64::from(data_pages);
            let (bytes, root) = encode_checksum_pages(&crcs);
            assert_eq!(bytes.len() as u64, checksum_pages(data_pages) * PAGE_BYTES as u64);
            let page = |number: u64| &bytes[to_usize(number - 1 - data_pages) * PAGE_BYTES..][..PAGE_BYTES];
            for number in 1..=data_pages + checksum_pages(data_pages) {
                let own = match crcs.get(to_usize(number - 1)) {
                    Some(&crc) => crc,
                    None => page_crc(page(number)),
                };
                let held = match crc_place(number, data_pages) {
                    Some((above, at)) => page_crc(&page(above)[at..at + 4]),
                    None => root,
                };
                assert_eq!(held, own, "page {number} of {data_pages}");
            }
        }
    }
}
