//! Bands and a sketch: a layout whose fingerprints are near if one band is equal.

use std::fmt;
use std::str::FromStr;

use super::block::Block;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, HI_BITS, Payload, Width};
use crate::util::cast::to_u32;

/// The most bands of a layout.
pub(crate) const MAX_BANDS: u32 = 32;
/// The bits that a band may have.
pub(crate) const BAND_BITS: std::ops::RangeInclusive<u32> = 8..=32;

/// How a fingerprint divides into bands and a sketch: `6x24` is 6 bands of 24 bits each. The other
/// bits of the fingerprint are the sketch, which follows the first band.
///
/// Two fingerprints are near if at least one band is equal, and their sketches differ in at most k
/// bits. A fingerprint of 0 stands for a text without content, and is near nothing, itself
/// included.
///
/// ```
/// use nearprint::{BandLayout, Width};
///
/// let bands: BandLayout = "6x24".parse()?;
/// assert_eq!((bands.count(), bands.bits(), bands.sketch_bits(Width::W256)), (6, 24, 112));
/// # Ok::<(), nearprint::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BandLayout {
    count: u32,
    bits: u32,
}

impl BandLayout {
    /// `count` bands, 1 to 32, of `bits` bits each, 8 to 32.
    ///
    /// # Errors
    /// [`Error::InvalidLayout`] if one of them is outside its range.
    pub fn new(count: u32, bits: u32) -> Result<Self> {
        if (1..=MAX_BANDS).contains(&count) && BAND_BITS.contains(&bits) {
            return Ok(Self { count, bits });
        }
        let reason = format!("1 to {MAX_BANDS} bands of {} to {} bits", BAND_BITS.start(), BAND_BITS.end());
        Err(Error::InvalidLayout { layout: format!("{count}x{bits}"), reason: format!("expected {reason}") })
    }

    /// The number of bands.
    #[must_use]
    pub fn count(self) -> u32 {
        self.count
    }

    /// The bits of each band.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// The bits of the sketch; 0 if the bands take all bits, or more.
    #[must_use]
    pub fn sketch_bits(self, width: Width) -> u32 {
        self.sketch_of(width.bits())
    }

    pub(crate) fn sketch_of(self, width: u32) -> u32 {
        width.saturating_sub(self.count * self.bits)
    }

    /// Refuses bands that leave no useful sketch: the filter of each table reads `hi` words behind the
    /// band, which must be sketch bits.
    ///
    /// # Errors
    /// [`Error::InvalidLayout`] for a sketch of less than 32 bits, at 256 and 320 bits of less than 96.
    pub fn check(self, width: Width) -> Result<()> {
        self.check_width(width.bits())
    }

    pub(crate) fn check_width(self, width: u32) -> Result<()> {
        let (left, least) = (self.sketch_of(width), HI_BITS * to_u32(Payload::of_width(width).hi_words()));
        if left >= least {
            return Ok(());
        }
        let reason = format!("leaves {left} of {width} bits for the sketch, which needs {least}");
        Err(Error::InvalidLayout { layout: format!("bands:{self}"), reason })
    }

    /// The first bit of a band.
    fn start(self, width: u32, band: u32) -> u32 {
        if band == 0 { 0 } else { band * self.bits + self.sketch_of(width) }
    }

    /// The blocks of a layout: the first band, the sketch, the other bands.
    pub(super) fn blocks(self, width: u32) -> Vec<Block> {
        let band = |band| Block { start: self.start(width, band), len: self.bits };
        let sketch = Block { start: self.bits, len: self.sketch_of(width) };
        [band(0), sketch].into_iter().chain((1..self.count).map(band)).collect()
    }

    /// A band of a fingerprint, from 0.
    ///
    /// # Panics
    /// If there are not as many bands.
    #[must_use]
    pub fn band<F: Fingerprint>(self, fingerprint: F, band: u32) -> u64 {
        assert!(band < self.count, "band {band} of {self}");
        fingerprint.bits(self.start(F::BITS, band), self.bits)
    }

    /// The fingerprint made of the bands and the bits of the sketch, in order. Missing ones are 0;
    /// higher bits than a band has are ignored.
    #[must_use]
    pub fn assemble<F: Fingerprint>(
        self,
        bands: impl IntoIterator<Item = u64>,
        sketch: impl IntoIterator<Item = bool>,
    ) -> F {
        let keep = u64::MAX >> (64 - self.bits);
        let bands = (0..self.count)
            .zip(bands)
            .map(|(band, value)| F::from_bits(value & keep, self.start(F::BITS, band), self.bits));
        let mut all = bands.fold(F::default(), |all, band| all | band);
        let (mut sketch, end) = (sketch.into_iter(), self.bits + self.sketch_of(F::BITS));
        for start in (self.bits..end).step_by(64) {
            let len = (end - start).min(64);
            let bits = (0..len).map(|_| u64::from(sketch.next() == Some(true)));
            all = all | F::from_bits(bits.fold(0, |word, bit| word << 1 | bit), start, len);
        }
        all
    }

    /// Whether at least one band of two fingerprints is equal.
    #[must_use]
    pub fn shares_band<F: Fingerprint>(self, a: F, b: F) -> bool {
        (0..self.count).any(|band| self.band(a, band) == self.band(b, band))
    }

    /// In how many bits the sketches of two fingerprints differ.
    #[must_use]
    pub fn sketch_distance<F: Fingerprint>(self, a: F, b: F) -> u32 {
        ((a ^ b) & self.sketch_mask()).count_ones()
    }

    /// Ones at the bits of the sketch.
    pub(crate) fn sketch_mask<F: Fingerprint>(self) -> F {
        F::ones(self.bits, self.sketch_of(F::BITS))
    }

    /// The distance of the sketches of two fingerprints that are near within `k` bits.
    #[must_use]
    pub fn near<F: Fingerprint>(self, a: F, b: F, k: u32) -> Option<u32> {
        let distance = self.sketch_distance(a, b);
        let zero = F::default();
        (distance <= k && a != zero && b != zero && self.shares_band(a, b)).then_some(distance)
    }

    /// The estimated Jaccard similarity for a distance of two sketches: 1 - 2 d / S for S bits,
    /// at least 0. Its standard error is 2 sqrt(S q (1 - q)) / S, with q = d / S.
    #[must_use]
    pub fn similarity(self, width: Width, distance: u32) -> f64 {
        (1.0 - 2.0 * f64::from(distance) / f64::from(self.sketch_bits(width))).max(0.0)
    }

    /// The largest distance of sketches for a minimum similarity of 0 to 1: 90% of the expected
    /// distance. This favours precision, because most texts have more neighbours a little below a
    /// similarity than above it.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to the bits of a sketch")]
    pub fn distance_of(self, width: Width, similarity: f64) -> u32 {
        let expected = f64::from(self.sketch_bits(width)) * (1.0 - similarity.clamp(0.0, 1.0)) / 2.0;
        (0.9 * expected + 1e-9) as u32
    }
}

impl fmt::Display for BandLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.count, self.bits)
    }
}

impl FromStr for BandLayout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let number = |text: &str| text.parse().ok().filter(|_| digits(text));
        let parsed = text.split_once('x').and_then(|(count, bits)| Some((number(count)?, number(bits)?)));
        let (count, bits) = parsed.ok_or_else(|| Error::InvalidLayout {
            layout: format!("bands {text:?}"),
            reason: "expected BANDSxBITS, such as 6x24".into(),
        })?;
        Self::new(count, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_and_sketch_are_where_the_format_has_them() {
        let bands = BandLayout::new(3, 8).unwrap();
        let value = bands.assemble::<u64>([0xab, 0x1cd, 0xef], [true, false, true, true]);
        assert_eq!(value, 0xabb0_0000_0000_cdef);
        assert_eq!([0, 1, 2].map(|band| bands.band(value, band)), [0xab, 0xcd, 0xef]);
        assert!(bands.shares_band(value, 0xef) && !bands.shares_band(value, 0));
        assert_eq!(bands.sketch_distance(value, 0), 3);
        assert_eq!(bands.near(value, 0xef, 3), Some(3));
        assert_eq!((bands.near(value, 0xef, 2), bands.near(value, 0, 40)), (None, None));
        assert_eq!(bands.near(0u64, 0, 40), None, "0 is near nothing");
    }

    #[test]
    fn texts_parse_as_they_print_and_others_are_refused() {
        assert_eq!("6x24".parse::<BandLayout>().unwrap().to_string(), "6x24");
        for text in ["", "6", "6x", "x24", "6x24x1", "6 x24", "+6x24", "0x24", "33x8", "6x7", "6x33"] {
            assert!(matches!(text.parse::<BandLayout>(), Err(Error::InvalidLayout { .. })), "{text}");
        }
        let check = |text: &str| text.parse::<BandLayout>().unwrap();
        assert!(check("8x20").check(Width::W256).is_ok() && check("9x18").check(Width::W256).is_err());
        assert!(check("6x16").check(Width::W128).is_ok() && check("5x20").check(Width::W128).is_err());
        assert!(check("2x16").check(Width::W64).is_ok() && check("3x16").check(Width::W64).is_err());
    }

    #[test]
    fn similarities_are_estimated_and_turned_into_distances() {
        let (bands, width): (BandLayout, _) = ("6x16".parse().unwrap(), Width::W256);
        assert_eq!([0, 40, 80, 160].map(|d| bands.similarity(width, d)), [1.0, 0.5, 0.0, 0.0]);
        assert_eq!([1.0, 0.9, 0.5, 0.0, -1.0].map(|s| bands.distance_of(width, s)), [0, 7, 36, 72, 72]);
    }
}
