//! The structure that all files of a run share: a header page, data pages, checksum pages and a
//! footer page, each of [`PAGE_BYTES`].
//!
//! In a page of 8 KiB, CRC-32 detects every error of up to three bits.

use super::{Decoder, Encoder, Flaw, Problem, VERSION, check_crc};
use crate::util::cast::to_usize;

/// The unit of checksums, and of the alignment of sections.
pub(crate) const PAGE_BYTES: usize = 8192;
/// Offset of the CRC-32 in a header, checksum or footer page: its last four bytes.
pub(crate) const PAGE_CRC_OFFSET: usize = PAGE_BYTES - 4;
/// CRCs of data pages in one checksum page.
pub(crate) const CRCS_PER_PAGE: usize = 2047;
/// The first bytes of every footer page.
pub(crate) const FOOTER_MAGIC: [u8; 8] = *b"\x89NPF\r\n\x1a\n";
/// Number of attributes in a footer. Their meaning depends on the kind of file.
pub(crate) const ATTRIBUTES: usize = 8;
/// The most sections of a file.
pub(crate) const MAX_SECTIONS: usize = 8;

/// The content of a header page: the database, run and table that a file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) magic: [u8; 8],
    pub(crate) database_id: [u8; 16],
    pub(crate) run: u64,
    /// Table number of a segment; 0 in other files.
    pub(crate) table: u32,
    pub(crate) width: u32,
}

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
    pub(crate) attributes: [u64; ATTRIBUTES],
    pub(crate) sections: Vec<Section>,
}

impl Header {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut page = Encoder::default();
        page.put(&self.magic).u32(VERSION).u32(self.table).put(&self.database_id);
        page.u64(self.run).u32(self.width);
        seal(page)
    }

    /// Decodes a header page of one kind of file. Checks only checksum and version.
    pub(crate) fn decode(magic: [u8; 8], page: &[u8]) -> Result<Self, Problem> {
        let mut fields = unseal("header", 0, page)?;
        Flaw::unless_equal("header", 0, hex(&magic), hex(&fields.array::<8>()?))?;
        let version = fields.u32()?;
        if version > VERSION {
            return Err(Problem::Newer(version));
        }
        Flaw::unless_equal("header", 8, VERSION, version)?;
        let (table, database_id) = (fields.u32()?, fields.array()?);
        let (run, width) = (fields.u64()?, fields.u32()?);
        fields.rest_is_zero()?;
        Ok(Self { magic, database_id, run, table, width })
    }

    /// Checks that a header page is sound and equal to `self`.
    pub(crate) fn check(&self, page: &[u8]) -> Result<(), Problem> {
        let found = Self::decode(self.magic, page)?;
        let same = |name: &str, expected: String, found: String, offset| {
            let tag = |value| format!("{name} {value}");
            if expected == found {
                Ok(())
            } else {
                Err(Flaw::new("header", offset, tag(expected), tag(found)))
            }
        };
        same("table", self.table.to_string(), found.table.to_string(), 12)?;
        same("database", hex(&self.database_id), hex(&found.database_id), 16)?;
        same("run", self.run.to_string(), found.run.to_string(), 32)?;
        Ok(same("width", self.width.to_string(), found.width.to_string(), 40)?)
    }
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
        Self { data_pages: page - 1, attributes: [0; ATTRIBUTES], sections }
    }

    /// The length of the whole file.
    pub(crate) fn file_len(&self) -> u64 {
        (self.data_pages + checksum_pages(self.data_pages) + 2) * PAGE_BYTES as u64
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut page = Encoder::default();
        page.put(&FOOTER_MAGIC).u64(self.data_pages).u64s(&self.attributes).u64(self.sections.len() as u64);
        for section in &self.sections {
            page.u64(section.offset).u64(section.len_bytes);
        }
        seal(page)
    }

    /// Decodes the footer page at `offset`, the end of a file of `file_len` bytes. Accepts only the
    /// one arrangement that follows from the section lengths, so every section is in bounds.
    pub(crate) fn decode(page: &[u8], offset: u64, file_len: u64) -> Result<Self, Flaw> {
        let mut fields = unseal("footer", offset, page)?;
        Flaw::unless_equal("footer", offset, hex(&FOOTER_MAGIC), hex(&fields.array::<8>()?))?;
        let data_pages = fields.u64()?;
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
        let found = Self { data_pages, attributes, sections };
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

/// Number of pages that hold the CRCs of `data_pages` data pages.
pub(crate) fn checksum_pages(data_pages: u64) -> u64 {
    data_pages.div_ceil(CRCS_PER_PAGE as u64)
}

/// The checksum pages for data pages with these CRCs.
pub(crate) fn encode_checksum_pages(crcs: &[u32]) -> Vec<u8> {
    let page = |chunk: &[u32]| {
        let mut page = Encoder::default();
        page.u32s(chunk);
        seal(page)
    };
    crcs.chunks(CRCS_PER_PAGE).map(page).collect::<Vec<_>>().concat()
}

/// The place of a data page's CRC: the number of a page in the file, and an offset within that
/// page. Page 0 is the header, so data pages are numbered from 1.
pub(crate) fn crc_place(data_page: u64, data_pages: u64) -> (u64, usize) {
    let index = data_page - 1;
    let slot = to_usize(index % CRCS_PER_PAGE as u64);
    (1 + data_pages + index / CRCS_PER_PAGE as u64, slot * 4)
}

/// Pads to a page and appends its CRC.
fn seal(mut page: Encoder) -> Vec<u8> {
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

/// The form of bytes in messages.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header =
        Header { magic: *b"\x89NPS\r\n\x1a\n", database_id: [7; 16], run: 3, table: 1, width: 64 };

    #[test]
    fn headers_are_accepted_only_in_their_own_file() {
        let page = HEADER.encode();
        assert_eq!(page.len(), PAGE_BYTES);
        assert_eq!(HEADER.check(&page), Ok(()));
        for other in [
            Header { magic: *b"\x89NPR\r\n\x1a\n", ..HEADER },
            Header { database_id: [8; 16], ..HEADER },
            Header { run: 4, ..HEADER },
            Header { table: 0, ..HEADER },
            Header { width: 128, ..HEADER },
        ] {
            assert!(matches!(other.check(&page), Err(Problem::Flaw(_))), "{other:?}");
        }
        let mut newer = Encoder { bytes: page[..PAGE_CRC_OFFSET].to_vec() };
        newer.bytes[8] = 2;
        assert_eq!(HEADER.check(&seal(newer)), Err(Problem::Newer(2)));
        assert!(HEADER.check(&page[..100]).is_err());
    }

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
    fn every_flipped_bit_of_a_sealed_page_is_detected() {
        let page = HEADER.encode();
        for bit in 0..page.len() * 8 {
            let mut flipped = page.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(HEADER.check(&flipped).is_err(), "bit {bit}");
        }
    }
}
