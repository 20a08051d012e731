//! A fingerprint whose width is known only at run time.

use std::cmp::Ordering;
use std::fmt;

use crate::fingerprint::{Fingerprint, OfWords, ParseFingerprintError, Radix, Width};
use crate::layout::BandLayout;
use crate::query::Match;
use crate::util::cast::to_u32;

/// The words of the widest fingerprints.
const WORDS: usize = Width::W320.words();

/// A fingerprint of any width. Ordered by the width, then as numbers are.
///
/// ```
/// use nearprint::Width;
/// use nearprint::any::AnyFingerprint;
///
/// let one = AnyFingerprint::parse(Width::W128, "0xff", None)?;
/// assert_eq!((one.width(), one.words()), (Width::W128, &[255, 0][..]));
/// assert_eq!(one.distance(7_u128.into()), 5);
/// assert_eq!(one.to_string(), "0x000000000000000000000000000000ff");
/// # Ok::<(), nearprint::ParseFingerprintError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AnyFingerprint {
    width: Width,
    /// The least significant word first; 0 beyond the width.
    words: [u64; WORDS],
}

impl AnyFingerprint {
    /// The fingerprint of the words of a width, the least significant one first. Missing words count as
    /// 0; words beyond the width are ignored.
    #[must_use]
    #[inline]
    pub fn new(width: Width, words: &[u64]) -> Self {
        let mut own = [0; WORDS];
        own[..width.words()].iter_mut().zip(words).for_each(|(own, word)| *own = *word);
        Self { width, words: own }
    }

    /// Reads a fingerprint from text, as [`Fingerprint::parse_radix`] does.
    ///
    /// # Errors
    /// As [`Fingerprint::parse_radix`].
    pub fn parse(width: Width, text: &str, radix: Option<Radix>) -> Result<Self, ParseFingerprintError> {
        with_width!(width, F => F::parse_radix(text, radix).map(Self::from))
    }

    /// The width.
    #[must_use]
    pub fn width(&self) -> Width {
        self.width
    }

    /// The words, the least significant one first.
    #[must_use]
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words[..self.width.words()]
    }

    /// Whether all bits are 0: the fingerprint of a text without content.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.words == [0; WORDS]
    }

    /// The fingerprint as a type of its width.
    #[must_use]
    #[inline]
    pub fn typed<F: Fingerprint>(self) -> F {
        F::from_le_words(&self.words)
    }

    /// The number of bits in which two fingerprints of a width differ.
    #[must_use]
    #[inline]
    pub fn distance(self, other: Self) -> u32 {
        self.words.iter().zip(other.words).map(|(word, other)| (word ^ other).count_ones()).sum()
    }

    /// In how many bits the sketches of two fingerprints of a width differ: see
    /// [`BandLayout::sketch_distance`].
    #[must_use]
    pub fn sketch_distance(self, other: Self, bands: BandLayout) -> u32 {
        with_width!(self.width, F => bands.sketch_distance::<F>(self.typed(), other.typed()))
    }

    /// A band, from 0: see [`BandLayout::band`].
    ///
    /// # Panics
    /// If there are not as many bands.
    #[must_use]
    pub fn band(self, bands: BandLayout, band: u32) -> u64 {
        with_width!(self.width, F => bands.band::<F>(self.typed(), band))
    }

    /// Whether at least one band of two fingerprints of a width is equal.
    #[must_use]
    pub fn shares_band(self, other: Self, bands: BandLayout) -> bool {
        with_width!(self.width, F => bands.shares_band::<F>(self.typed(), other.typed()))
    }
}

impl<F: Fingerprint> From<F> for AnyFingerprint {
    #[inline]
    fn from(fingerprint: F) -> Self {
        Self { width: F::WIDTH, words: words(fingerprint) }
    }
}

/// The fingerprint of the width that has so many words, the least significant one first.
impl From<&[u64]> for AnyFingerprint {
    #[inline]
    fn from(words: &[u64]) -> Self {
        let width = Width::ALL.into_iter().find(|width| width.words() >= words.len()).unwrap_or(Width::W320);
        Self::new(width, words)
    }
}

impl OfWords for AnyFingerprint {
    fn of_words(self, words: &[u64]) -> Self {
        Self::new(self.width, words)
    }
}

impl Ord for AnyFingerprint {
    fn cmp(&self, other: &Self) -> Ordering {
        self.width.cmp(&other.width).then_with(|| self.words.iter().rev().cmp(other.words.iter().rev()))
    }
}

impl PartialOrd for AnyFingerprint {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// As [`Fingerprint::display`] writes it.
impl fmt::Display for AnyFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_width!(self.width, F => self.typed::<F>().display().fmt(f))
    }
}

/// Matches of any width.
pub(super) fn any_matches<F: Fingerprint>(matches: &[Match<F>]) -> Vec<Match<AnyFingerprint>> {
    let any = |&Match { distance, fingerprint, id }: &Match<F>| Match {
        distance,
        fingerprint: fingerprint.into(),
        id,
    };
    matches.iter().map(any).collect()
}

/// The words of a fingerprint.
#[inline]
pub(super) fn words<F: Fingerprint>(fingerprint: F) -> [u64; WORDS] {
    std::array::from_fn(|index| fingerprint.le_word(to_u32(index)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::{U256, mix64};

    fn agrees<F: Fingerprint>(a: F, b: F, bands: &str) {
        let (one, other, bands) = (AnyFingerprint::from(a), AnyFingerprint::from(b), bands.parse().unwrap());
        assert_eq!((one.width(), one.typed::<F>()), (F::WIDTH, a));
        assert_eq!(AnyFingerprint::new(F::WIDTH, one.words()), one);
        assert_eq!(AnyFingerprint::parse(F::WIDTH, &one.to_string(), None), Ok(one));
        assert_eq!((one.to_string(), one.cmp(&other)), (a.display().to_string(), a.cmp(&b)));
        assert_eq!(one.distance(other), a.distance(b));
        assert_eq!(one.sketch_distance(other, bands), bands.sketch_distance(a, b));
        assert_eq!(one.band(bands, 1), bands.band(a, 1));
        assert_eq!(one.shares_band(other, bands), bands.shares_band(a, b));
    }

    #[test]
    fn any_width_behaves_as_its_type() {
        for seed in 0..100 {
            let [a, b] = [0, 1].map(|at| {
                U256::from_words([0, 1, 2, 3].map(|word| mix64(seed * 8 + at * 4 + word) >> (seed % 64)))
            });
            let words = |of: U256| of.to_words();
            agrees(a, b, "4x8");
            agrees(u128::from_le_words(&words(a)), u128::from_le_words(&words(b)), "4x8");
            agrees(words(a)[0], words(b)[0], "4x8");
        }
    }
}
