//! A tombstones file: the ids that a run deletes from older runs, strictly ascending.

use super::Flaw;
use super::paged::{ATTRIBUTES, Footer};

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPD\r\n\x1a\n";
/// Names of the sections, in order.
pub(crate) const SECTIONS: [&str; 1] = ["deleted"];
/// Index of the only section.
pub(crate) const DELETED: usize = 0;

/// The content of a tombstones file's footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TombstonesInfo {
    /// At least 1.
    pub(crate) count: u64,
    pub(crate) smallest_id: u64,
    pub(crate) largest_id: u64,
}

impl TombstonesInfo {
    pub(crate) fn attributes(&self) -> [u64; ATTRIBUTES] {
        [self.count, self.smallest_id, self.largest_id, 0, 0, 0, 0, 0]
    }

    /// The footer content for ascending ids. `None` for no ids.
    pub(crate) fn of(ids: &[u64]) -> Option<Self> {
        let (smallest_id, largest_id) = (*ids.first()?, *ids.last()?);
        Some(Self { count: ids.len() as u64, smallest_id, largest_id })
    }

    /// The lengths of the sections, in order.
    pub(crate) fn section_lens(count: u64) -> [u64; 1] {
        [count.saturating_mul(8)]
    }

    /// Reads the footer at `offset`, and checks its section against its count.
    pub(crate) fn from_footer(footer: &Footer, offset: u64) -> Result<Self, Flaw> {
        let [count, smallest_id, largest_id, zeros @ ..] = footer.attributes;
        if count == 0 || smallest_id > largest_id {
            let found = format!("{count} from {smallest_id} to {largest_id}");
            return Err(Flaw::new("footer", offset, "at least one id, and ids in order", found));
        }
        Flaw::unless_equal("footer", offset, [0; 5], zeros)?;
        let lens: Vec<u64> = footer.sections.iter().map(|section| section.len_bytes).collect();
        Flaw::unless_equal("footer", offset, &Self::section_lens(count)[..], &lens)?;
        Ok(Self { count, smallest_id, largest_id })
    }
}
