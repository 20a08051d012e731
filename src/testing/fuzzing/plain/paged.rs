//! Files of pages: header, data, checksums, footer.

use std::ops::Range;

use super::fields::{Bytes, Fields, Found, Place, ensure, ensure_version, find, words};
use super::manifest::{FileRecord, Manifest};
use crate::util::cast::to_usize;

const PAGE: usize = 8192;
const CRC_AT: usize = 8188;
const CRCS: usize = 2047;

/// What the header of a file has besides settings of the database.
pub(super) struct Header {
    /// The fourth byte of the magic.
    pub(super) letter: u8,
    pub(super) table: u32,
    pub(super) number: u64,
    pub(super) blocks: u32,
    pub(super) prefix: u64,
    pub(super) salt: u64,
    /// When the rows of the run expire.
    pub(super) expires: Option<u64>,
}

impl Header {
    pub(super) fn new(letter: u8, number: u64, salt: u64, expires: Option<u64>) -> Self {
        Self { letter, table: 0, number, blocks: 0, prefix: 0, salt, expires }
    }

    fn page(&self, manifest: &Manifest) -> Vec<u8> {
        let mut page = [&[0x89, b'N', b'P', self.letter], &b"\r\n\x1a\n"[..]].concat();
        page.extend([1, self.table].iter().flat_map(|number| number.to_le_bytes()));
        page.extend(manifest.database_id);
        page.extend(self.number.to_le_bytes());
        let layout = [&[manifest.width, manifest.k], &manifest.layout[..], &[self.blocks]].concat();
        page.extend(layout.iter().flat_map(|number| number.to_le_bytes()));
        page.extend([self.prefix, self.salt].iter().flat_map(|number| number.to_le_bytes()));
        let expires = u32::from(self.expires.is_some()) << 6;
        page.extend((manifest.flags & 0b11_1100 | expires).to_le_bytes());
        page.extend(self.expires.iter().flat_map(|expires| expires.to_le_bytes()));
        page.resize(CRC_AT, 0);
        page
    }
}

/// A file whose checksums hold.
pub(super) struct Paged<'a> {
    pub(super) attributes: [Place; 8],
    pub(super) sections: Vec<&'a [u8]>,
}

impl<'a> Paged<'a> {
    /// Reads a file. `lens` are the lengths of its sections, which follow from its attributes.
    pub(super) fn read(
        files: &'a Bytes,
        manifest: &Manifest,
        (name, record, header): (&str, &FileRecord, &Header),
        lens: impl Fn([u64; 8]) -> Vec<u128>,
    ) -> Found<Self> {
        let bytes = find(files, name)?;
        let is_whole = bytes.len() as u64 == record.len_bytes && bytes.len().is_multiple_of(PAGE);
        ensure(is_whole && bytes.len() >= 2 * PAGE, format!("length of {name}"))?;
        let pages = bytes.len() / PAGE;
        let page = |number: usize| &bytes[number * PAGE..(number + 1) * PAGE];
        check_header(page(0), name, &header.page(manifest))?;
        let footer = page(pages - 1);
        ensure(crc_of(footer) == record.footer_crc, format!("the footer of {name} is another one"))?;
        let (data_pages, root, attributes, sections) = read_footer(footer, name, (pages - 1) * PAGE)?;
        ensure(sections.len() <= 8, "number of sections")?;
        let asked: Vec<u128> = lens(attributes.each_ref().map(|place| place.value));
        ensure(
            sections.iter().map(|section| u128::from(section.1)).eq(asked),
            format!("sections of {name}"),
        )?;
        let mut end = 1;
        for &(offset, len) in &sections {
            let is_there = offset.is_multiple_of(PAGE as u64) && offset / PAGE as u64 == end;
            ensure(is_there, format!("place of a section of {name}"))?;
            end += len.div_ceil(PAGE as u64);
        }
        ensure(data_pages == end - 1 && data_pages < pages as u64, format!("data pages of {name}"))?;
        check_tree(&bytes[PAGE..bytes.len() - PAGE], to_usize(data_pages), root, name)?;
        let mut found = Vec::new();
        for (offset, len) in sections {
            let (from, to) = (to_usize(offset), to_usize(offset + len));
            found.push(&bytes[from..to]);
            Fields::new(name, &bytes[to..to.next_multiple_of(PAGE)], to).zeros()?;
        }
        Ok(Self { attributes, sections: found })
    }

    /// Checks that the attributes from one on are zero.
    pub(super) fn ensure_unused(&self, from: usize) -> Found<()> {
        ensure(self.attributes[from..].iter().all(|place| place.value == 0), "an unused attribute")
    }
}

fn crc_of(page: &[u8]) -> u32 {
    words(&page[CRC_AT..])[0]
}

fn check_page(page: &[u8], name: &str) -> Found<()> {
    ensure(crc32fast::hash(&page[..CRC_AT]) == crc_of(page), format!("CRC of a page of {name}"))
}

fn check_header(page: &[u8], name: &str, expected: &[u8]) -> Found<()> {
    check_page(page, name)?;
    ensure(page[..8] == expected[..8], format!("magic of {name}"))?;
    ensure_version(words(&page[8..12])[0], name)?;
    ensure(page[..CRC_AT] == *expected, format!("header of {name}"))
}

/// Data pages, the root's CRC, attributes, and the offset and length of each section.
type Footer = (u64, u32, [Place; 8], Vec<(u64, u64)>);

fn read_footer(page: &[u8], name: &str, at: usize) -> Found<Footer> {
    check_page(page, name)?;
    let mut fields = Fields::new(name, &page[..CRC_AT], at);
    fields.expect(b"\x89NPF\r\n\x1a\n", "magic")?;
    let (data_pages, root) = (fields.u64()?, fields.u32()?);
    fields.expect(&[0; 4], "padding")?;
    let attributes = (0..8).map(|_| fields.place()).collect::<Found<Vec<Place>>>()?;
    let count = fields.u64()?;
    ensure(count <= 8, format!("sections of {name}"))?;
    let sections = (0..count).map(|_| Ok((fields.u64()?, fields.u64()?))).collect::<Found<_>>()?;
    fields.zeros()?;
    let attributes = attributes.try_into().unwrap_or_else(|_| unreachable!("eight were read"));
    Ok((data_pages, root, attributes, sections))
}

/// Checks the tree of checksums over pages of data, which it follows.
fn check_tree(pages: &[u8], data_pages: usize, root: u32, name: &str) -> Found<()> {
    let mut rest = pages.chunks(PAGE);
    let mut crcs: Vec<u32> = rest.by_ref().take(data_pages).map(crc32fast::hash).collect();
    while !crcs.is_empty() {
        let mut level = Vec::new();
        for expected in crcs.chunks(CRCS) {
            let Some(page) = rest.next() else { return ensure(false, format!("checksum pages of {name}")) };
            check_page(page, name)?;
            let mut stored = expected.to_vec();
            stored.resize(CRCS, 0);
            ensure(words(&page[..CRC_AT]) == stored, format!("CRCs of pages of {name}"))?;
            level.push(crc_of(page));
        }
        if level.len() == 1 {
            ensure(rest.next().is_none() && level[0] == root, format!("root of {name}"))?;
            return Ok(());
        }
        crcs = level;
    }
    ensure(rest.next().is_none() && root == 0, format!("checksums without data in {name}"))
}

/// The parts of a sound file that have a meaning: fields of the header, sections, fields of the footer.
pub(crate) fn regions(name: &str, bytes: &[u8]) -> Vec<Range<usize>> {
    if name == "MANIFEST" || name.starts_with("wal-") || bytes.len() < 2 * PAGE {
        return std::iter::once(0..bytes.len()).collect();
    }
    let footer = bytes.len() - PAGE;
    let sections = words(&bytes[footer + 96..footer + 96 + 16 * 6]);
    let sections = sections.as_chunks::<4>().0.iter().filter(|section| section[2] > 0);
    let sections = sections.map(|section| section[0] as usize..(section[0] + section[2]) as usize);
    sections.chain([0..84, footer..footer + 192]).collect()
}
