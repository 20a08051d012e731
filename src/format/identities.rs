//! An identities file: the identities of ingested runs, strictly ascending.

use super::Flaw;
use super::paged::{ATTRIBUTES, Footer};

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPI\r\n\x1a\n";
/// Names of the sections, in order.
pub(crate) const SECTIONS: [&str; 1] = ["identities"];
/// Bytes of an identity.
pub(crate) const IDENTITY_BYTES: usize = 16;

/// The attributes of a footer for so many identities.
pub(crate) fn attributes(count: u64) -> [u64; ATTRIBUTES] {
    [count, 0, 0, 0, 0, 0, 0, 0]
}

/// The lengths of the sections, in order.
pub(crate) fn section_lens(count: u64) -> [u64; 1] {
    [count.saturating_mul(IDENTITY_BYTES as u64)]
}

/// Checks that the footer at `offset` belongs to a file of `count` identities.
pub(crate) fn check_footer(footer: &Footer, offset: u64, count: u64) -> Result<(), Flaw> {
    Flaw::unless_equal("footer", offset, attributes(count), footer.attributes)?;
    let lens: Vec<u64> = footer.sections.iter().map(|section| section.len_bytes).collect();
    Flaw::unless_equal("footer", offset, &section_lens(count)[..], &lens)
}
