//! The integers as fingerprints of 64 and 128 bits.

use std::fmt;

use super::bits::{Bits, mix64};
use super::text::{ParseFingerprintError, Radix, digits_of};
use super::{Fingerprint, Width};

impl Fingerprint for u64 {
    const BITS: u32 = 64;
    const WIDTH: Width = Width::W64;

    fn parse_radix(text: &str, radix: Option<Radix>) -> Result<Self, ParseFingerprintError> {
        let (digits, radix) = digits_of(text, 64, radix)?;
        u64::from_str_radix(digits, radix).map_err(|_| ParseFingerprintError::TooWide { bits: 64 })
    }
}

impl Bits for u64 {
    #[inline]
    fn count_ones(self) -> u32 {
        u64::count_ones(self)
    }

    #[inline]
    fn rotate_left(self, bits: u32) -> Self {
        u64::rotate_left(self, bits)
    }

    #[inline]
    fn bits(self, start: u32, len: u32) -> u64 {
        debug_assert!(start + len <= 64);
        if len == 0 { 0 } else { (self << start) >> (64 - len) }
    }

    #[inline]
    fn from_bits(value: u64, start: u32, len: u32) -> Self {
        debug_assert!(start + len <= 64);
        if len == 0 { 0 } else { (value << (64 - len)) >> start }
    }

    #[inline]
    fn hash64(self) -> u64 {
        mix64(self ^ 0x9e37_79b9_7f4a_7c15)
    }

    #[inline]
    fn write_le(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    #[inline]
    fn read_le(bytes: &[u8]) -> Self {
        bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn print(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self, f)
    }
}

impl Fingerprint for u128 {
    const BITS: u32 = 128;
    const WIDTH: Width = Width::W128;

    fn parse_radix(text: &str, radix: Option<Radix>) -> Result<Self, ParseFingerprintError> {
        let (digits, radix) = digits_of(text, 128, radix)?;
        u128::from_str_radix(digits, radix).map_err(|_| ParseFingerprintError::TooWide { bits: 128 })
    }
}

impl Bits for u128 {
    #[inline]
    fn count_ones(self) -> u32 {
        u128::count_ones(self)
    }

    #[inline]
    fn rotate_left(self, bits: u32) -> Self {
        u128::rotate_left(self, bits)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most 64 bits are left after the shift")]
    fn bits(self, start: u32, len: u32) -> u64 {
        debug_assert!(start + len <= 128 && len <= 64);
        if len == 0 { 0 } else { ((self << start) >> (128 - len)) as u64 }
    }

    #[inline]
    fn from_bits(value: u64, start: u32, len: u32) -> Self {
        debug_assert!(start + len <= 128 && len <= 64);
        if len == 0 { 0 } else { (u128::from(value) << (128 - len)) >> start }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are hashed one by one")]
    fn hash64(self) -> u64 {
        mix64((self as u64) ^ ((self >> 64) as u64).hash64())
    }

    #[inline]
    fn write_le(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    #[inline]
    fn read_le(bytes: &[u8]) -> Self {
        bytes.first_chunk::<16>().map_or(0, |bytes| u128::from_le_bytes(*bytes))
    }

    fn print(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{self:032x}")
    }
}
