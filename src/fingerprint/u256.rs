//! Fingerprints of 256 bits.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitXor, Not};
use std::str::FromStr;

use super::Fingerprint;
use super::bits::{Bits, mix64};
use super::text::ParseFingerprintError;

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
    /// The most significant word first, so that the derived order is the order of numbers.
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

impl Bits for U256 {
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

    fn print(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.words;
        write!(f, "0x{a:016x}{b:016x}{c:016x}{d:016x}")
    }
}

impl fmt::Display for U256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f)
    }
}

impl FromStr for U256 {
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Self, ParseFingerprintError> {
        Self::parse(text)
    }
}
