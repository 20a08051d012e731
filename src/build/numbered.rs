//! Wide fingerprints with their numbers, to sort.

use super::sort::Sortable;
use crate::fingerprint::{Bits, Fingerprint};

/// A fingerprint in a table's order, and its number in table 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NumberedValue<F> {
    pub(super) value: F,
    pub(super) number: u32,
}

impl<F: Fingerprint> Sortable for NumberedValue<F> {
    const LEN_BYTES: usize = <F as Fingerprint>::LEN_BYTES + 4;

    fn write_le(self, out: &mut Vec<u8>) {
        Bits::write_le(self.value, out);
        out.extend_from_slice(&self.number.to_le_bytes());
    }

    fn read_le(bytes: &[u8]) -> Self {
        let (value, number) = bytes.split_at(<F as Fingerprint>::LEN_BYTES);
        let number = number.first_chunk().map_or(0, |number| u32::from_le_bytes(*number));
        Self { value: Bits::read_le(value), number }
    }
}
