//! The last section of a table: the part of each entry after its `hi` words.
//!
//! It holds either the remaining bits of each fingerprint, or its number in natural order. In the
//! second case, the whole fingerprints are in the postings file.

use std::ops::Range;

use super::page_file::PageFile;
use super::values::Values;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, HI_BITS};
use crate::format::segment::{REST, Rest, SegmentInfo};
use crate::layout::Table;
use crate::util::cast::to_usize;

/// Wide fingerprints that are prefetched before they are read.
const VALUES_AHEAD: usize = 16;

/// The section of one table.
#[derive(Debug)]
pub(super) enum RestPlane {
    Lo(LoPlane),
    Numbers(NumberPlane),
    /// Table 0 needs no numbers: its entries are in natural order.
    Implied(Values),
}

/// The bits of each entry after its `hi` word.
#[derive(Debug)]
pub(super) struct LoPlane {
    base: usize,
    bytes: usize,
    /// The first of the bits in a fingerprint, and how many there are.
    start: u32,
    bits: u32,
}

/// The number of each entry in natural order, and the fingerprints by number.
#[derive(Debug)]
pub(super) struct NumberPlane {
    base: usize,
    entries: usize,
    values: Values,
}

impl RestPlane {
    /// The plane of table `table`. `values` are the fingerprints that its numbers refer to. Only
    /// tables of whole fingerprints can do without.
    pub(super) fn new<F: Fingerprint>(
        file: &PageFile,
        info: &SegmentInfo,
        table: u32,
        values: Option<Values>,
    ) -> Self {
        let base = file.base(REST);
        match (Rest::of(F::BITS, info.directory_bits, table), values) {
            (Rest::Lo { bits, bytes }, _) => {
                Self::Lo(LoPlane { base, bytes, start: info.directory_bits + HI_BITS, bits })
            }
            (Rest::Number, Some(values)) => {
                Self::Numbers(NumberPlane { base, entries: to_usize(info.entries), values })
            }
            (Rest::Implied, Some(values)) => Self::Implied(values),
            (_, None) => unreachable!("a table of numbers is opened with the fingerprints"),
        }
    }

    /// Prefetches the value of an entry, or its fingerprint if that is known without the value.
    #[inline]
    pub(super) fn prefetch<F: Fingerprint>(&self, file: &PageFile, place: usize) {
        match self {
            Self::Lo(lo) => file.prefetch(lo.place(&(place..place + 1))),
            Self::Numbers(numbers) => file.prefetch(numbers.place(&(place..place + 1))),
            Self::Implied(values) => values.prefetch::<F>(place),
        }
    }

    /// Prefetches the fingerprint of an entry, if it is in the postings file. Reads its number.
    #[inline]
    pub(super) fn prefetch_value<F: Fingerprint>(&self, file: &PageFile, place: usize) -> Result<()> {
        match self {
            Self::Lo(_) => {}
            Self::Numbers(numbers) => numbers.values.prefetch::<F>(numbers.number(file, place)?),
            Self::Implied(values) => values.prefetch::<F>(place),
        }
        Ok(())
    }

    /// The number of an entry in natural order, if this section holds or implies it.
    #[inline]
    pub(super) fn number(&self, file: &PageFile, place: usize) -> Result<Option<usize>> {
        match self {
            Self::Lo(_) => Ok(None),
            Self::Numbers(numbers) => numbers.number(file, place).map(Some),
            Self::Implied(_) => Ok(Some(place)),
        }
    }

    /// The fingerprint of an entry in natural order. `leading` are the bits of its bucket and `hi`
    /// word.
    #[inline]
    pub(super) fn natural_value<F: Fingerprint>(
        &self,
        file: &PageFile,
        table: &Table<F>,
        leading: F,
        place: usize,
    ) -> Result<F> {
        match self {
            Self::Lo(lo) => Ok(table.restore(leading | lo.get(file, place)?)),
            Self::Numbers(numbers) => numbers.get(file, place),
            Self::Implied(values) => values.get(place),
        }
    }

    /// The same in the order of the table.
    #[inline]
    pub(super) fn value<F: Fingerprint>(
        &self,
        file: &PageFile,
        table: &Table<F>,
        leading: F,
        place: usize,
    ) -> Result<F> {
        match self {
            Self::Lo(lo) => Ok(leading | lo.get(file, place)?),
            Self::Numbers(numbers) => Ok(table.permute(numbers.get(file, place)?)),
            Self::Implied(values) => values.get(place),
        }
    }

    /// Starts read-ahead of the values, and of the fingerprints if their places are known.
    pub(super) fn will_need<F: Fingerprint>(&self, file: &PageFile, places: &Range<usize>) {
        match self {
            Self::Lo(lo) => file.will_need(lo.place(places)),
            Self::Numbers(numbers) => file.will_need(numbers.place(places)),
            Self::Implied(values) => values.will_need::<F>(places),
        }
    }
}

impl LoPlane {
    fn place(&self, places: &Range<usize>) -> Range<usize> {
        self.base + places.start * self.bytes..self.base + places.end * self.bytes
    }

    #[inline]
    fn get<F: Fingerprint>(&self, file: &PageFile, place: usize) -> Result<F> {
        Ok(self.bits(little_endian(file.bytes(self.place(&(place..place + 1)))?)))
    }

    /// The bits of neighbouring entries.
    pub(super) fn iter<'a, F: Fingerprint>(
        &'a self,
        file: &'a PageFile,
        places: &Range<usize>,
    ) -> Result<impl Iterator<Item = F> + 'a> {
        let bytes = file.bytes(self.place(places))?;
        Ok(bytes.chunks_exact(self.bytes).map(|bytes| self.bits(little_endian(bytes))))
    }

    #[inline]
    fn bits<F: Fingerprint>(&self, lo: u64) -> F {
        F::from_bits(lo, self.start, self.bits)
    }

    /// Checks that the unused bits of an entry's value are zero.
    pub(super) fn check(&self, file: &PageFile, place: usize) -> Result<()> {
        let range = self.place(&(place..place + 1));
        let (offset, lo) = (range.start as u64, little_endian(file.bytes(range)?));
        if lo >> self.bits == 0 {
            return Ok(());
        }
        Err(file.flaw(offset, format!("a number of {} bits", self.bits), lo))
    }
}

impl NumberPlane {
    fn place(&self, places: &Range<usize>) -> Range<usize> {
        self.base + places.start * 4..self.base + places.end * 4
    }

    #[inline]
    fn number(&self, file: &PageFile, place: usize) -> Result<usize> {
        let bytes = file.bytes(self.place(&(place..place + 1)))?;
        let number = bytes.first_chunk().map_or(0, |number| u32::from_le_bytes(*number)) as usize;
        if number < self.entries { Ok(number) } else { Err(self.no_entry(file, place, number)) }
    }

    #[cold]
    fn no_entry(&self, file: &PageFile, place: usize, found: usize) -> Error {
        let offset = (self.base + place * 4) as u64;
        file.flaw(offset, format!("an entry below {}", self.entries), found)
    }

    #[inline]
    fn get<F: Fingerprint>(&self, file: &PageFile, place: usize) -> Result<F> {
        self.values.get(self.number(file, place)?)
    }

    /// Appends the fingerprints of neighbouring entries, in the order of the table.
    pub(super) fn read<F: Fingerprint>(
        &self,
        file: &PageFile,
        table: &Table<F>,
        places: &Range<usize>,
        out: &mut Vec<F>,
    ) -> Result<()> {
        // Neighbouring entries refer to fingerprints far apart: several are prefetched at a time.
        let mut ahead = places.clone();
        for place in places.clone() {
            while ahead.start < (place + VALUES_AHEAD).min(places.end) {
                self.values.prefetch::<F>(self.number(file, ahead.start)?);
                ahead.start += 1;
            }
            out.push(table.permute(self.get(file, place)?));
        }
        Ok(())
    }
}

/// The number in up to eight bytes.
#[inline]
fn little_endian(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_are_read() {
        for len in 0..=8 {
            let bytes: Vec<u8> = (1..=len).collect();
            let expected = (0..u32::from(len)).map(|at| u64::from(at + 1) << (8 * at)).sum::<u64>();
            assert_eq!(little_endian(&bytes), expected, "{len} bytes");
        }
    }
}
