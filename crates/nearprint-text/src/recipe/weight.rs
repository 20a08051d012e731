//! Weights of features, and the simhash of weighted hashes.

use std::fmt;
use std::ops::{AddAssign, Neg};
use std::str::FromStr;

use nearprint::any::AnyFingerprint;
use nearprint::{Fingerprint, Width};

use super::py::compute_any;

/// The weight of a feature, or a sum of weights.
///
/// A fixed-point number with nine decimal places. Sums are exact, in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(i128);

const BILLION: i128 = 1_000_000_000;
/// The largest weight. A sum of 2^63 such weights does not overflow.
const LARGEST: f64 = 1e15;

impl Weight {
    /// The weight of a feature that occurs once.
    pub const ONE: Self = Self(BILLION);

    /// The nearest weight; `None` for NaN and for numbers beyond ±10^15.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        if value.is_nan() || value.abs() > LARGEST {
            return None;
        }
        // Separately, because the product of a large number would be rounded.
        #[expect(clippy::cast_possible_truncation, reason = "at most 10^15, and 10^9")]
        let (whole, billionths) = (value.trunc() as i128, (value.fract() * 1e9).round() as i128);
        Some(Self(whole * BILLION + billionths))
    }

    /// Whether the weight is above zero.
    #[must_use]
    pub fn is_positive(self) -> bool {
        self.0 > 0
    }
}

impl From<i64> for Weight {
    fn from(value: i64) -> Self {
        Self(i128::from(value) * BILLION)
    }
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Neg for Weight {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// The text is not a number from -10^15 to 10^15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseWeightError(());

impl fmt::Display for ParseWeightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a weight (a number such as 3 or 0.25)")
    }
}

impl std::error::Error for ParseWeightError {}

impl FromStr for Weight {
    type Err = ParseWeightError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let value = text.parse().ok().and_then(Self::from_f64);
        value.ok_or(ParseWeightError(()))
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, part) = (self.0.unsigned_abs() / 1_000_000_000, self.0.unsigned_abs() % 1_000_000_000);
        if part == 0 {
            return write!(f, "{sign}{whole}");
        }
        let digits = format!("{part:09}");
        write!(f, "{sign}{whole}.{}", digits.trim_end_matches('0'))
    }
}

/// The simhash of weighted hashes: bit *i* is one iff the weights of the hashes with this bit set
/// exceed the weights of the others.
///
/// ```
/// use nearprint_text::recipe::weighted;
/// assert_eq!(weighted([(0b100101_u64, 3.into()), (0b101011, 5.into())]), 0b101011);
/// ```
#[must_use]
pub fn weighted<F: Fingerprint>(features: impl IntoIterator<Item = (F, Weight)>) -> F {
    let features = features.into_iter().map(|(hash, weight)| (hash.into(), weight));
    majority(F::WIDTH, &bit_sums(F::WIDTH, features)).typed()
}

/// The same for words of a width. Without weights, all hashes weigh the same.
#[must_use]
pub fn weighted_words(width: Width, hashes: &[u64], weights: Option<&[Weight]>) -> AnyFingerprint {
    let hashes = hashes.chunks_exact(width.words()).map(|words| AnyFingerprint::new(width, words));
    let Some(weights) = weights else { return compute_any(width, hashes) };
    majority(width, &bit_sums(width, hashes.zip(weights.iter().copied())))
}

/// For each bit, the most significant first: the weights of the hashes with it set, minus the other
/// weights.
pub(super) fn bit_sums(
    width: Width,
    features: impl IntoIterator<Item = (AnyFingerprint, Weight)>,
) -> Vec<Weight> {
    let mut sums = vec![Weight::default(); width.bits() as usize];
    for (hash, weight) in features {
        for (is_one, sum) in bits(&hash).zip(&mut sums) {
            *sum += if is_one { weight } else { -weight };
        }
    }
    sums
}

/// The bits of a fingerprint, the most significant first.
pub(super) fn bits(fingerprint: &AnyFingerprint) -> impl Iterator<Item = bool> {
    fingerprint.words().iter().rev().flat_map(|word| (0..64).rev().map(move |bit| word >> bit & 1 == 1))
}

/// The fingerprint with a one for each positive sum.
pub(super) fn majority(width: Width, sums: &[Weight]) -> AnyFingerprint {
    let word = |sums: &[Weight]| sums.iter().fold(0, |word, sum| word << 1 | u64::from(sum.is_positive()));
    let words: Vec<u64> = sums.chunks(64).rev().map(word).collect();
    AnyFingerprint::new(width, &words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_read_and_printed_exactly() {
        for text in ["0", "3", "-7", "0.25", "-0.000000001", "1000000000000000"] {
            assert_eq!(text.parse::<Weight>().unwrap().to_string(), text);
        }
        for text in ["", "x", "nan", "inf", "1e16", "-1e16", "1,5"] {
            assert!(text.parse::<Weight>().is_err(), "{text}");
        }
        assert_eq!(Weight::from(3), "3.0".parse().unwrap());
    }

    #[test]
    fn a_tie_is_a_zero_bit() {
        let tie = ["0.1", "0.2", "-0.3"].map(|weight| (1u64, weight.parse::<Weight>().unwrap()));
        assert_eq!(weighted(tie), 0);
        assert_eq!(weighted([(u128::MAX, 1.into()), (1, 2.into())]), 1);
    }
}
