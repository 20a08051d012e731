//! Distances of near sketches that depend on how many bands are equal.

use super::BandLayout;
use crate::fingerprint::Fingerprint;

/// The largest distance of near sketches for each number of equal bands: the fewer bands are equal, the fewer bits
/// may differ.
///
/// Texts that have one of ten bands in common are less similar than most that have nine. Where such a distance fits
/// both numbers, [`Writer::query_by_bands`](crate::Writer::query_by_bands) leaves out most of what
/// [`Writer::query`](crate::Writer::query) finds within the largest one.
///
/// ```
/// use nearprint::BandDistances;
///
/// // One equal band allows two bits, all others allow five.
/// let distances = BandDistances::new("3x8".parse()?, |equal| Some(if equal == 1 { 2 } else { 5 }));
/// assert_eq!((distances.largest(), distances.with(1), distances.with(3)), (5, Some(2), Some(5)));
/// assert!(distances.contain(0x0000_0700_0000_1111_u64, 0x0000_0000_0000_1111));
/// assert!(!distances.contain(0x0000_0700_0000_2222_u64, 0x0000_0000_0000_1111));
/// # Ok::<(), nearprint::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandDistances {
    bands: BandLayout,
    /// For each number of equal bands, from 1, the distance from which on sketches are not near.
    far: Vec<u32>,
}

impl BandDistances {
    /// `distance` has the largest distance for a number of equal bands, from 1. `None`: they are not near.
    /// Where more equal bands would allow fewer bits, they allow as many.
    pub fn new(bands: BandLayout, distance: impl Fn(u32) -> Option<u32>) -> Self {
        let mut most = 0;
        let far = (1..=bands.count()).map(|equal| {
            most = most.max(distance(equal).map_or(0, |distance| distance.saturating_add(1)));
            most
        });
        Self { bands, far: far.collect() }
    }

    /// How fingerprints divide into bands and a sketch.
    #[must_use]
    pub fn bands(&self) -> BandLayout {
        self.bands
    }

    /// The largest distance of near sketches, in bits.
    #[must_use]
    pub fn largest(&self) -> u32 {
        self.far.last().map_or(0, |far| far.saturating_sub(1))
    }

    /// The largest distance with a number of equal bands. `None` if such fingerprints are not near.
    #[must_use]
    pub fn with(&self, equal_bands: u32) -> Option<u32> {
        self.far.get(equal_bands.checked_sub(1)? as usize)?.checked_sub(1)
    }

    /// Whether two fingerprints are near.
    #[must_use]
    pub fn contain<F: Fingerprint>(&self, a: F, b: F) -> bool {
        let difference = a ^ b;
        let equal = (0..self.bands.count()).filter(|&band| self.bands.band(difference, band) == 0).count();
        equal > 0 && self.bands.sketch_distance(a, b) < self.far[equal - 1]
    }

    /// Whether fingerprints may be near that have at most so many equal bands, and sketches that differ in at
    /// least so many bits.
    pub(crate) fn may_contain(&self, equal_bands: usize, distance: u32) -> bool {
        self.far.get(equal_bands - 1).or(self.far.last()).is_some_and(|&far| distance < far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_equal_bands_never_allow_fewer_bits() {
        let of = |distances: [Option<u32>; 3]| {
            let made = BandDistances::new("3x8".parse().unwrap(), |equal| distances[equal as usize - 1]);
            ([1, 2, 3].map(|equal| made.with(equal)), made.largest())
        };
        assert_eq!(of([Some(2), Some(4), Some(5)]), ([Some(2), Some(4), Some(5)], 5));
        assert_eq!(of([None, Some(4), Some(1)]), ([None, Some(4), Some(4)], 4));
        assert_eq!(of([None, None, Some(0)]), ([None, None, Some(0)], 0));
        assert_eq!(of([None; 3]), ([None; 3], 0));
        let beyond = BandDistances::new("3x8".parse().unwrap(), |_| Some(u32::MAX));
        assert_eq!((beyond.with(0), beyond.with(4)), (None, None));
        assert!(beyond.contain(0u64, u64::MAX >> 8));
    }
}
