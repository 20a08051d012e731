//! The fingerprint: a `W`-bit value compared by Hamming distance.
//!
//! Everything above this module is generic over [`Fingerprint`]. Bits are counted from the most
//! significant one: bit 0 is the leading bit, which is the order in which tables sort.

mod payload;

use std::fmt;
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, BitXor, Not};

pub(crate) use payload::{HI_BITS, Payload, Stored};

/// A value of [`BITS`](Fingerprint::BITS) bits that can be permuted, compared and printed.
///
/// Implemented for `u64`, `u128` and [`U256`]. The trait is sealed: the file format knows its widths.
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

    /// Reads what people and programs write.
    ///
    /// At 64 bits: decimal, or hexadecimal behind `0x`. At 128 bits: exactly 32 hexadecimal digits, any even
    /// number of them up to that behind `0x`, or decimal; so 32 decimal digits are taken for hexadecimal ones. At
    /// 256 bits: exactly 64 hexadecimal digits, or an even number up to that behind `0x`. The most significant
    /// digit comes first, as in PDQ hashes and MD5 sums.
    ///
    /// # Errors
    /// [`ParseFingerprintError`] when the text is empty, has another character than a digit, too few digits, or
    /// does not fit the width.
    fn parse(text: &str) -> Result<Self, ParseFingerprintError> {
        Self::parse_radix(text, None)
    }

    /// The same for numbers of which the base is known: 10, which ends at 128 bits, or 16, with or without `0x`.
    ///
    /// # Errors
    /// As [`parse`](Fingerprint::parse).
    fn parse_radix(text: &str, radix: Option<Radix>) -> Result<Self, ParseFingerprintError>;

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
    impl Sealed for super::U256 {}
}

/// The base of a number in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radix {
    /// 10.
    Decimal,
    /// 16.
    Hexadecimal,
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
    Digit {
        /// The width in bits.
        bits: u32,
    },
    /// The number needs more bits than the width.
    TooWide {
        /// The width in bits.
        bits: u32,
    },
    /// A hexadecimal fingerprint that has lost digits, or has another width.
    Length {
        /// The digits that it has.
        digits: usize,
        /// The width in bits.
        bits: u32,
    },
    /// A decimal number for a width that is only written in hexadecimal.
    Decimal {
        /// The width in bits.
        bits: u32,
    },
}

impl fmt::Display for ParseFingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "empty, where a fingerprint should stand"),
            Self::Digit { bits: 64 } => {
                write!(f, "not a fingerprint (decimal digits, or 0x and hexadecimal digits)")
            }
            Self::Digit { bits } => write!(f, "not a fingerprint ({} hexadecimal digits)", bits / 4),
            Self::TooWide { bits } => write!(f, "does not fit in {bits} bits"),
            Self::Length { digits, bits } => {
                write!(f, "{digits} hexadecimal digits, where {bits} bits take {}", bits / 4)
            }
            Self::Decimal { bits } => {
                write!(f, "decimal fingerprints have up to 128 bits; {bits} bits are written in hexadecimal")
            }
        }
    }
}

impl std::error::Error for ParseFingerprintError {}

/// The digits of a fingerprint of `bits` bits, none of them anything else, and their base.
fn digits_of(text: &str, bits: u32, radix: Option<Radix>) -> Result<(&str, u32), ParseFingerprintError> {
    let behind = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let digits = behind.unwrap_or(text);
    let all = |radix: u32| digits.chars().all(|c| c.is_digit(radix));
    if digits.is_empty() {
        return Err(ParseFingerprintError::Empty);
    }
    let whole = bits as usize / 4;
    let decimal = match (radix, bits) {
        (Some(Radix::Decimal), _) => true,
        (None, 64) => behind.is_none(),
        (None, 128) => behind.is_none() && digits.len() != whole && all(10),
        _ => false,
    };
    if !all(if decimal { 10 } else { 16 }) || (decimal && behind.is_some()) {
        return Err(ParseFingerprintError::Digit { bits });
    }
    if decimal {
        return if bits <= 128 { Ok((digits, 10)) } else { Err(ParseFingerprintError::Decimal { bits }) };
    }
    // Wide fingerprints come out of hash functions with all their digits: a missing one is an accident.
    let complete = if behind.is_some() { digits.len().is_multiple_of(2) } else { digits.len() == whole };
    if bits > 64 && digits.len() > whole && behind.is_some() {
        return Err(ParseFingerprintError::TooWide { bits });
    }
    if bits > 64 && !complete {
        return Err(ParseFingerprintError::Length { digits: digits.len(), bits });
    }
    Ok((digits, 16))
}

/// The 64-bit finalizer of MurmurHash3 (Austin Appleby, public domain): every input bit changes
/// every output bit with a chance of about one half.
#[inline]
pub fn mix64(value: u64) -> u64 {
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

    fn parse_radix(text: &str, radix: Option<Radix>) -> Result<Self, ParseFingerprintError> {
        let (digits, radix) = digits_of(text, 64, radix)?;
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

    fn parse_radix(text: &str, radix: Option<Radix>) -> Result<Self, ParseFingerprintError> {
        let (digits, radix) = digits_of(text, 128, radix)?;
        u128::from_str_radix(digits, radix).map_err(|_| ParseFingerprintError::TooWide { bits: 128 })
    }

    fn print(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{self:032x}")
    }
}

/// 256 bits: PDQ hashes, and simhashes of that width.
///
/// ```
/// use nearprint::{Fingerprint, Printed, U256};
/// let hash = U256::from_words([1, 0, 0, 0xf8 << 56]);
/// assert_eq!(Printed(hash).to_string(), format!("0xf8{}1", "0".repeat(61)));
/// assert_eq!(U256::parse(&Printed(hash).to_string()), Ok(hash));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct U256 {
    /// The most significant word first, so that the derived order is that of numbers.
    words: [u64; 4],
}

impl U256 {
    /// From four words, the least significant one first.
    #[must_use]
    pub const fn from_words([a, b, c, d]: [u64; 4]) -> Self {
        Self { words: [d, c, b, a] }
    }

    /// Four words, the least significant one first.
    #[must_use]
    pub const fn to_words(self) -> [u64; 4] {
        let [d, c, b, a] = self.words;
        [a, b, c, d]
    }

    #[inline]
    fn zip(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.words, other.words);
        Self { words: [of(a, e), of(b, f), of(c, g), of(d, h)] }
    }
}

impl BitAnd for U256 {
    type Output = Self;

    #[inline]
    fn bitand(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }
}

impl BitOr for U256 {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }
}

impl BitXor for U256 {
    type Output = Self;

    #[inline]
    fn bitxor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }
}

impl Not for U256 {
    type Output = Self;

    #[inline]
    fn not(self) -> Self {
        Self { words: self.words.map(|word| !word) }
    }
}

impl Fingerprint for U256 {
    const BITS: u32 = 256;

    #[inline]
    fn count_ones(self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    #[inline]
    fn rotate_left(self, bits: u32) -> Self {
        let (skip, shift) = ((bits / 64) as usize, bits % 64);
        let word = |at: usize| self.words[(at + skip) % 4];
        // The lower half of the double word is shifted out.
        let turned = |at: usize| match shift {
            0 => word(at),
            _ => word(at) << shift | word(at + 1) >> (64 - shift),
        };
        Self { words: [turned(0), turned(1), turned(2), turned(3)] }
    }

    #[inline]
    fn bits(self, start: u32, len: u32) -> u64 {
        debug_assert!(start + len <= 256 && len <= 64);
        if len == 0 {
            return 0;
        }
        let (first, shift) = ((start / 64) as usize, start % 64);
        let mut word = self.words[first] << shift;
        if shift + len > 64 {
            word |= self.words[first + 1] >> (64 - shift);
        }
        word >> (64 - len)
    }

    #[inline]
    fn from_bits(value: u64, start: u32, len: u32) -> Self {
        debug_assert!(start + len <= 256 && len <= 64);
        let mut words = [0; 4];
        if len > 0 {
            let (first, shift) = ((start / 64) as usize, start % 64);
            let aligned = value << (64 - len);
            words[first] = aligned >> shift;
            if shift + len > 64 {
                words[first + 1] = aligned << (64 - shift);
            }
        }
        Self { words }
    }

    #[inline]
    fn hash64(self) -> u64 {
        let [first, rest @ ..] = self.words;
        rest.iter().fold(first.hash64(), |hash, word| mix64(word ^ hash))
    }

    #[inline]
    fn write_le(self, out: &mut Vec<u8>) {
        self.to_words().iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }

    #[inline]
    fn read_le(bytes: &[u8]) -> Self {
        let mut words = [0; 4];
        if let Some(bytes) = bytes.first_chunk::<32>() {
            words.iter_mut().zip(bytes.as_chunks().0).for_each(|(word, le)| *word = u64::from_le_bytes(*le));
        }
        Self::from_words(words)
    }

    fn parse_radix(text: &str, radix: Option<Radix>) -> Result<Self, ParseFingerprintError> {
        let (digits, _) = digits_of(text, 256, radix)?;
        let digit = |c: char| u64::from(c.to_digit(16).unwrap_or_default());
        let words = (0..4).map(|word| {
            let end = digits.len().saturating_sub(16 * word);
            digits[end.saturating_sub(16)..end].chars().fold(0, |value, c| value << 4 | digit(c))
        });
        let mut found = [0; 4];
        found.iter_mut().zip(words).for_each(|(word, value)| *word = value);
        Ok(Self::from_words(found))
    }

    fn print(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.words;
        write!(f, "0x{a:016x}{b:016x}{c:016x}{d:016x}")
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
            assert_eq!(u64::parse(bad), Err(ParseFingerprintError::Digit { bits: 64 }), "{bad}");
        }
        assert_eq!(u128::parse(&Printed(u128::MAX - 5).to_string()), Ok(u128::MAX - 5));
    }

    #[test]
    fn wide_fingerprints_have_all_their_digits() {
        let (hex, decimal) = (Some(Radix::Hexadecimal), Some(Radix::Decimal));
        let md5 = "d41d8cd98f00b204e9800998ecf8427e";
        let value = 0xd41d_8cd9_8f00_b204_e980_0998_ecf8_427e_u128;
        assert_eq!(u128::parse(md5), Ok(value));
        assert_eq!(u128::parse(&md5.to_uppercase()), Ok(value));
        assert_eq!(u128::parse(&value.to_string()), Ok(value));
        assert_eq!(u128::parse("0xff"), Ok(255));
        assert_eq!(u128::parse("42"), Ok(42));
        let thirty_two = "11111111111111111111111111111111";
        assert_eq!(u128::parse(thirty_two), Ok(u128::MAX / 15));
        assert_eq!(u128::parse_radix(thirty_two, decimal), Ok(thirty_two.parse().unwrap()));
        assert_eq!(u64::parse_radix("ff", hex), Ok(255));
        assert_eq!(u64::parse_radix("0xff", hex), Ok(255));
        assert_eq!(u64::parse_radix("0xff", decimal), Err(ParseFingerprintError::Digit { bits: 64 }));
        let length = |digits, bits| Err::<U256, _>(ParseFingerprintError::Length { digits, bits });
        assert_eq!(u128::parse(&md5[1..]), Err(ParseFingerprintError::Length { digits: 31, bits: 128 }));
        assert_eq!(u128::parse("0xfff"), Err(ParseFingerprintError::Length { digits: 3, bits: 128 }));
        assert_eq!(u128::parse_radix("42", hex), Err(ParseFingerprintError::Length { digits: 2, bits: 128 }));
        assert_eq!(u128::parse(&format!("0x{md5}00")), Err(ParseFingerprintError::TooWide { bits: 128 }));
        assert_eq!(u128::parse(&"9".repeat(39)), Err(ParseFingerprintError::TooWide { bits: 128 }));
        assert_eq!(u128::parse(&format!("{}g", &md5[1..])), Err(ParseFingerprintError::Digit { bits: 128 }));
        let pdq = "f8f8f0cee0f4a84f06370a22038f63f0b36e2ed596621e1d33e6b39c4e9c9b22";
        let wide = U256::parse(pdq).unwrap();
        assert_eq!(Printed(wide).to_string(), format!("0x{pdq}"));
        assert_eq!(wide.bits(0, 16), 0xf8f8);
        assert_eq!(
            wide.to_words(),
            [0x33e6_b39c_4e9c_9b22, 0xb36e_2ed5_9662_1e1d, 0x0637_0a22_038f_63f0, 0xf8f8_f0ce_e0f4_a84f]
        );
        assert_eq!(U256::parse("0x0102"), Ok(U256::from_words([0x102, 0, 0, 0])));
        assert_eq!(U256::parse(&pdq[2..]), length(62, 256));
        assert_eq!(U256::parse("12345"), length(5, 256));
        assert_eq!(U256::parse_radix("12345", decimal), Err(ParseFingerprintError::Decimal { bits: 256 }));
        assert_eq!(U256::parse("0x"), Err(ParseFingerprintError::Empty));
    }

    #[test]
    fn wide_numbers_behave_like_two_of_half_the_width() {
        let half = |x: U256| {
            let [a, b, c, d] = x.to_words();
            (u128::from(d) << 64 | u128::from(c), u128::from(b) << 64 | u128::from(a))
        };
        let random = |seed: u64| U256::from_words([0, 1, 2, 3].map(|at| mix64(seed * 4 + at)));
        for seed in 1..200 {
            let (x, y) = (random(seed), random(seed + 1000));
            assert_eq!(x.cmp(&y), half(x).cmp(&half(y)));
            assert_eq!(x.distance(y), half(x).0.distance(half(y).0) + half(x).1.distance(half(y).1));
            for turn in 0..256 {
                let turned = x.rotate_left(turn);
                assert_eq!((0..256).find(|&bit| turned.bits(bit, 1) != x.bits((bit + turn) % 256, 1)), None);
            }
            let mut bytes = Vec::new();
            x.write_le(&mut bytes);
            assert_eq!(U256::read_le(&bytes), x);
            assert_eq!(!x ^ x, U256::ones(0, 256));
        }
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
            let widest = U256::from_words([lo, hi, !lo, lo ^ hi.rotate_left(7)]);
            bits_hold(widest, start, len);
            bits_hold(widest, 256 - start - len.min(256 - start), len);
        }
    }
}
