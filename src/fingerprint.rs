//! The fingerprint: a `W`-bit value compared by Hamming distance.
//!
//! Everything above this module is generic over [`Fingerprint`]. Bits are counted from the most
//! significant one: bit 0 is the leading bit, which is the order in which tables sort.

use std::fmt;
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// A value of [`BITS`](Fingerprint::BITS) bits that can be permuted, compared and printed.
///
/// Implemented for `u64` and `u128`. The trait is sealed: the file format knows its widths.
pub trait Fingerprint:
    Copy
    + Ord
    + Hash
    + Default
    + fmt::Debug
    + Send
    + Sync
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + sealed::Sealed
    + 'static
{
    /// Width in bits.
    const BITS: u32;

    /// Length in bytes.
    const LEN_BYTES: usize = Self::BITS as usize / 8;

    /// The number of one bits.
    fn count_ones(self) -> u32;

    /// Rotates towards the most significant bit by `bits` (taken modulo the width).
    #[must_use]
    fn rotate_left(self, bits: u32) -> Self;

    /// The `len` bits that start at bit `start`, as a number.
    ///
    /// `start + len <= BITS` and `len <= 64`; both are the caller's promise, checked in debug builds.
    fn bits(self, start: u32, len: u32) -> u64;

    /// The value whose bits `start..start + len` are the low `len` bits of `value` and whose other
    /// bits are zero. The same bounds as [`bits`](Fingerprint::bits).
    fn from_bits(value: u64, start: u32, len: u32) -> Self;

    /// A well-mixed 64-bit hash, summed up by the format's order-independent checks.
    fn hash64(self) -> u64;

    /// Reads decimal, or hexadecimal behind `0x`.
    ///
    /// # Errors
    /// [`ParseFingerprintError`] when the text is empty, has another character than a digit, or
    /// does not fit the width.
    fn parse(text: &str) -> Result<Self, ParseFingerprintError>;

    /// Writes the form that users see: decimal for 64 bits, `0x` and all hexadecimal digits for
    /// wider values.
    ///
    /// # Errors
    /// Whatever the formatter reports.
    fn print(self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Appends the little-endian bytes.
    fn write_le(self, out: &mut Vec<u8>);

    /// Reads little-endian bytes, `LEN_BYTES` of them; fewer give zero.
    fn read_le(bytes: &[u8]) -> Self;

    /// The number of bits in which `self` and `other` differ: 0 to `BITS`.
    #[inline]
    fn distance(self, other: Self) -> u32 {
        (self ^ other).count_ones()
    }

    /// The value with ones at bits `start..start + len` and zeros elsewhere.
    #[must_use]
    fn ones(start: u32, len: u32) -> Self {
        let mut mask = Self::default();
        let mut done = 0;
        while done < len {
            let step = (len - done).min(64);
            mask = mask | Self::from_bits(u64::MAX, start + done, step);
            done += step;
        }
        mask
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u64 {}
    impl Sealed for u128 {}
}

/// A document's fingerprint and its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row<F> {
    /// The fingerprint.
    pub fingerprint: F,
    /// The user's number for the document.
    pub id: u64,
}

/// The number of bits in which two fingerprints differ.
///
/// ```
/// assert_eq!(nearprint::num_differing_bits(0b1100u64, 0b1010), 2);
/// ```
#[must_use]
pub fn num_differing_bits<F: Fingerprint>(a: F, b: F) -> u32 {
    a.distance(b)
}

/// Prints a fingerprint the way every output of nearprint does.
///
/// ```
/// use nearprint::Printed;
/// assert_eq!(Printed(255u64).to_string(), "255");
/// assert_eq!(Printed(255u128).to_string(), "0x000000000000000000000000000000ff");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Printed<F>(pub F);

impl<F: Fingerprint> fmt::Display for Printed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.print(f)
    }
}

/// Why a text is not a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseFingerprintError {
    /// Nothing there.
    Empty,
    /// A character that is no digit of the number's base.
    Digit,
    /// The number needs more bits than the width.
    TooWide {
        /// The width in bits.
        bits: u32,
    },
}

impl fmt::Display for ParseFingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "empty, where a fingerprint should stand"),
            Self::Digit => write!(f, "not a fingerprint (decimal digits, or 0x and hexadecimal digits)"),
            Self::TooWide { bits } => write!(f, "does not fit in {bits} bits"),
        }
    }
}

impl std::error::Error for ParseFingerprintError {}

/// Splits off `0x` and tells the base.
fn split_radix(text: &str) -> (&str, u32) {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    }
}

/// Checks what `from_str_radix` lets pass (a sign) and names what it does not.
fn check_digits(digits: &str, radix: u32) -> Result<(), ParseFingerprintError> {
    if digits.is_empty() {
        return Err(ParseFingerprintError::Empty);
    }
    if digits.chars().all(|c| c.is_digit(radix)) { Ok(()) } else { Err(ParseFingerprintError::Digit) }
}

/// The 64-bit finalizer of MurmurHash3 (Austin Appleby, public domain): every input bit changes
/// every output bit with a chance of about one half.
#[inline]
pub(crate) fn mix64(value: u64) -> u64 {
    let mut x = value;
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

impl Fingerprint for u64 {
    const BITS: u32 = 64;

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

    fn parse(text: &str) -> Result<Self, ParseFingerprintError> {
        let (digits, radix) = split_radix(text);
        check_digits(digits, radix)?;
        u64::from_str_radix(digits, radix).map_err(|_| ParseFingerprintError::TooWide { bits: 64 })
    }

    fn print(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self, f)
    }
}

impl Fingerprint for u128 {
    const BITS: u32 = 128;

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

    fn parse(text: &str) -> Result<Self, ParseFingerprintError> {
        let (digits, radix) = split_radix(text);
        check_digits(digits, radix)?;
        u128::from_str_radix(digits, radix).map_err(|_| ParseFingerprintError::TooWide { bits: 128 })
    }

    fn print(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{self:032x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parses_what_it_prints_and_names_what_it_refuses() {
        assert_eq!(u64::parse("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(u64::parse("0xfF"), Ok(255));
        assert_eq!(u64::parse("18446744073709551616"), Err(ParseFingerprintError::TooWide { bits: 64 }));
        assert_eq!(u64::parse("0x10000000000000000"), Err(ParseFingerprintError::TooWide { bits: 64 }));
        assert_eq!(u64::parse(""), Err(ParseFingerprintError::Empty));
        assert_eq!(u64::parse("0x"), Err(ParseFingerprintError::Empty));
        for bad in ["+1", "-1", "1_000", " 1", "1 ", "ff", "0x+1", "1.0", "٣"] {
            assert_eq!(u64::parse(bad), Err(ParseFingerprintError::Digit), "{bad}");
        }
        assert_eq!(u128::parse(&Printed(u128::MAX - 5).to_string()), Ok(u128::MAX - 5));
    }

    fn bits_hold<F: Fingerprint>(x: F, start: u32, len: u32) {
        let cut = x & F::ones(start, len);
        assert_eq!(F::from_bits(x.bits(start, len), start, len), cut);
        assert_eq!(cut.count_ones(), x.bits(start, len).count_ones());
        assert_eq!(F::ones(start, len).count_ones(), len);
    }

    proptest! {
        #[test]
        fn bits_and_from_bits_are_inverse(hi: u64, lo: u64, start in 0u32..=128, len in 0u32..=64) {
            let wide = u128::from(hi) << 64 | u128::from(lo);
            let start64 = start.min(64);
            bits_hold(lo, start64, len.min(64 - start64));
            bits_hold(wide, start, len.min(128 - start));
        }
    }
}
