//! Fingerprints that no integer holds.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitXor, Not};
use std::str::FromStr;

use super::bits::{Bits, mix64};
use super::text::{ParseFingerprintError, Radix, digits_of};
use super::{Fingerprint, Width};

/// 256 bits: PDQ hashes, and simhashes of that width.
pub type U256 = Wide<4>;

/// 320 bits: MinHash fingerprints with wide bands.
pub type U320 = Wide<5>;

/// A fingerprint of several 64-bit words.
///
/// ```
/// use nearprint::{Fingerprint, Printed, U256};
/// let hash = U256::from_words([1, 0, 0, 0xf8 << 56]);
/// assert_eq!(Printed(hash).to_string(), format!("0xf8{}1", "0".repeat(61)));
/// assert_eq!(U256::parse(&Printed(hash).to_string()), Ok(hash));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wide<const WORDS: usize> {
    /// The most significant word first, so that the derived order is the order of numbers.
    words: [u64; WORDS],
}

impl<const WORDS: usize> Wide<WORDS> {
    /// From the words, the least significant one first.
    #[must_use]
    #[inline]
    pub const fn from_words(words: [u64; WORDS]) -> Self {
        Self { words: turned(words) }
    }

    /// The words, the least significant one first.
    #[must_use]
    #[inline]
    pub const fn to_words(self) -> [u64; WORDS] {
        turned(self.words)
    }

    /// The digits of a text, the most significant one first.
    pub(super) fn of_digits(digits: &str, radix: u32) -> Self {
        let digit = |c: char| u64::from(c.to_digit(radix).unwrap_or_default());
        let (len, shift) = if radix == 2 { (64, 1) } else { (16, 4) };
        Self::from_words(std::array::from_fn(|word| {
            let end = digits.len().saturating_sub(len * word);
            digits[end.saturating_sub(len)..end].chars().fold(0, |value, c| value << shift | digit(c))
        }))
    }

    #[inline]
    fn zip(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self { words: std::array::from_fn(|at| of(self.words[at], other.words[at])) }
    }
}

/// The words in the opposite order.
#[inline]
const fn turned<const WORDS: usize>(words: [u64; WORDS]) -> [u64; WORDS] {
    let (mut other, mut at) = ([0; WORDS], 0);
    while at < WORDS {
        other[at] = words[WORDS - 1 - at];
        at += 1;
    }
    other
}

/// Makes a number of words a width.
macro_rules! width {
    ($wide:ty, $width:expr) => {
        impl Fingerprint for $wide {
            const BITS: u32 = $width.bits();
            const WIDTH: Width = $width;

            fn parse_radix(text: &str, radix: Option<Radix>) -> Result<Self, ParseFingerprintError> {
                let (digits, radix) = digits_of(text, Self::BITS, radix)?;
                Ok(Self::of_digits(digits, radix))
            }
        }
    };
}

width!(U256, Width::W256);
width!(U320, Width::W320);

impl<const WORDS: usize> Default for Wide<WORDS> {
    #[inline]
    fn default() -> Self {
        Self { words: [0; WORDS] }
    }
}

impl<const WORDS: usize> BitAnd for Wide<WORDS> {
    type Output = Self;

    #[inline]
    fn bitand(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }
}

impl<const WORDS: usize> BitOr for Wide<WORDS> {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }
}

impl<const WORDS: usize> BitXor for Wide<WORDS> {
    type Output = Self;

    #[inline]
    fn bitxor(self, other: Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }
}

impl<const WORDS: usize> Not for Wide<WORDS> {
    type Output = Self;

    #[inline]
    fn not(self) -> Self {
        Self { words: self.words.map(|word| !word) }
    }
}

impl<const WORDS: usize> Bits for Wide<WORDS> {
    #[inline]
    fn count_ones(self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    #[inline]
    fn rotate_left(self, bits: u32) -> Self {
        let (skip, shift) = ((bits / 64) as usize, bits % 64);
        let word = |at: usize| self.words[(at + skip) % WORDS];
        // The lower half of the double word is shifted out.
        let turned = |at: usize| match shift {
            0 => word(at),
            _ => word(at) << shift | word(at + 1) >> (64 - shift),
        };
        Self { words: std::array::from_fn(turned) }
    }

    #[inline]
    fn bits(self, start: u32, len: u32) -> u64 {
        debug_assert!((start + len) as usize <= WORDS * 64 && len <= 64);
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
        debug_assert!((start + len) as usize <= WORDS * 64 && len <= 64);
        let mut words = [0; WORDS];
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
        self.words[1..].iter().fold(self.words[0].hash64(), |hash, word| mix64(word ^ hash))
    }

    #[inline]
    fn write_le(self, out: &mut Vec<u8>) {
        self.to_words().iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }

    #[inline]
    fn read_le(bytes: &[u8]) -> Self {
        let mut words = [0; WORDS];
        if bytes.len() >= WORDS * 8 {
            words.iter_mut().zip(bytes.as_chunks().0).for_each(|(word, le)| *word = u64::from_le_bytes(*le));
        }
        Self::from_words(words)
    }

    fn print(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.words.iter().try_for_each(|word| write!(f, "{word:016x}"))
    }
}

impl<const WORDS: usize> fmt::Display for Wide<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f)
    }
}

impl<const WORDS: usize> FromStr for Wide<WORDS>
where
    Self: Fingerprint,
{
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Self, ParseFingerprintError> {
        Self::parse(text)
    }
}
