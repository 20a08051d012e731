//! The fingerprint: a value of 64, 128, 256 or 320 bits, compared by Hamming distance.
//!
//! All code above this room is generic over [`Fingerprint`].

pub(crate) mod bits;
mod distance;
mod integers;
mod payload;
mod text;
mod wide;
mod width;
mod width_visitor;
mod words;

use std::fmt;
use std::hash::Hash;

use crate::database::engine::Engine;

pub use bits::{Bits, mix64};
pub(crate) use distance::Distance;
pub(crate) use payload::{HI_BITS, Payload, Stored};
pub use text::{ParseFingerprintError, Printed, Radix};
pub use wide::{U256, U320, Wide};
pub use width::Width;
pub use width_visitor::WidthVisitor;
pub use words::{OfWords, fingerprints, words, words_of};

/// A fingerprint: `u64`, `u128`, [`U256`] or [`U320`].
///
/// Sealed: the file format defines the widths. Code that learns the width at run time starts from a
/// [`Width`].
///
/// ```
/// use nearprint::{Fingerprint, U256};
///
/// assert_eq!(0b1100_u64.distance(0b1010), 2);
/// let hash = U256::parse("0x0102")?;
/// assert_eq!((hash.le_word(0), U256::from_le_words(&[0x102])), (0x102, hash));
/// assert_eq!(u128::from_le_words(&[255]).display().to_string(), "0x000000000000000000000000000000ff");
/// # Ok::<(), nearprint::ParseFingerprintError>(())
/// ```
#[expect(private_bounds, reason = "the engine of each width is compiled in this crate")]
pub trait Fingerprint: Engine + Bits + Ord + Hash + fmt::Debug + Send + Sync + 'static {
    /// Width in bits.
    const BITS: u32;

    /// The width as a value.
    const WIDTH: Width;

    /// Length in bytes.
    const LEN_BYTES: usize = Self::BITS as usize / 8;

    /// The number of bits in which `self` and `other` differ: 0 to `BITS`.
    #[inline]
    fn distance(self, other: Self) -> u32 {
        (self ^ other).count_ones()
    }

    /// Reads a fingerprint from text, the most significant digit first.
    ///
    /// | width | accepted |
    /// |---|---|
    /// | 64 | decimal, hexadecimal behind `0x`, or binary behind `0b` |
    /// | 128 | exactly 32 hexadecimal digits, an even number up to 32 behind `0x`, or decimal; so 32 decimal digits count as hexadecimal |
    /// | 256 | exactly 64 hexadecimal digits, or an even number up to 64 behind `0x` |
    /// | 320 | exactly 80 hexadecimal digits, or an even number up to 80 behind `0x` |
    ///
    /// Fingerprints of 128 bits and more are also read from all their bits behind `0b`.
    ///
    /// # Errors
    /// [`ParseFingerprintError`] for an empty text, a character that is no digit, too few digits,
    /// or a number that exceeds the width.
    fn parse(text: &str) -> Result<Self, ParseFingerprintError> {
        Self::parse_radix(text, None)
    }

    /// Reads a fingerprint in a given base: 10 for up to 128 bits, 16 with or without `0x`, or 2 with or
    /// without `0b`. `None` is [`parse`](Fingerprint::parse).
    ///
    /// # Errors
    /// As [`parse`](Fingerprint::parse).
    fn parse_radix(text: &str, radix: Option<Radix>) -> Result<Self, ParseFingerprintError>;

    /// The text form of all outputs: decimal for 64 bits, `0x` and all hexadecimal digits for wider
    /// values.
    fn display(self) -> Printed<Self> {
        Printed(self)
    }

    /// The value made of 64-bit words, the least significant one first. Missing words count as 0;
    /// words beyond the width are ignored.
    #[must_use]
    #[inline]
    fn from_le_words(words: &[u64]) -> Self {
        let count = Self::BITS / 64;
        (0..count).zip(words).fold(Self::default(), |value, (index, &word)| {
            value | Self::from_bits(word, (count - 1 - index) * 64, 64)
        })
    }

    /// 64-bit word number `index`, 0 being the least significant one; 0 beyond the width.
    #[inline]
    fn le_word(self, index: u32) -> u64 {
        match (Self::BITS / 64).checked_sub(index + 1) {
            Some(from_top) => self.bits(from_top * 64, 64),
            None => 0,
        }
    }
}

/// A document's fingerprint and its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row<F> {
    /// The fingerprint.
    pub fingerprint: F,
    /// The user's number for the document.
    pub id: u64,
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
    fn bits_are_read() {
        let binary = Some(Radix::Binary);
        assert_eq!(u64::parse("0b1010"), Ok(10));
        assert_eq!(u64::parse(&format!("0B{:064b}", u64::MAX - 1)), Ok(u64::MAX - 1));
        assert_eq!(u64::parse(&format!("0b1{:064b}", 0)), Err(ParseFingerprintError::TooWide { bits: 64 }));
        assert_eq!(u64::parse("0b"), Err(ParseFingerprintError::Empty));
        assert_eq!(u64::parse("0b12"), Err(ParseFingerprintError::Digit { bits: 64 }));
        assert_eq!(u64::parse("1010"), Ok(1010));
        assert_eq!(u64::parse_radix("1010", binary), Ok(10));
        assert_eq!(u64::parse_radix("0b1010", Some(Radix::Hexadecimal)), Ok(0x0b_1010));
        let wide = U256::from_words([5, 0, 1 << 63, 3]);
        let bits = format!("{:064b}{:064b}{:064b}{:064b}", 3, 1_u64 << 63, 0, 5);
        assert_eq!(U256::parse(&format!("0b{bits}")), Ok(wide));
        assert_eq!(U256::parse_radix(&bits, binary), Ok(wide));
        assert_eq!(
            U256::parse_radix(&bits[1..], binary),
            Err(ParseFingerprintError::Bits { digits: 255, bits: 256 })
        );
        assert_eq!(u128::parse(&format!("0b{:0128b}", 7)), Ok(7));
        assert_eq!(u128::parse("0b101"), Err(ParseFingerprintError::Bits { digits: 3, bits: 128 }));
        // Hexadecimal digits may begin so, too.
        let digits = "0b101010101010101010101010101010";
        assert_eq!(u128::parse(digits), Ok(u128::from_str_radix(digits, 16).unwrap()));
        assert_eq!(U256::parse(&digits.repeat(2)), U256::parse(&format!("0x{}", digits.repeat(2))));
        assert!(U256::parse(&digits.repeat(2)).is_ok());
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
