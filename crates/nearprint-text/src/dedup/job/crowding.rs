//! How many kept documents share a band.

use nearprint::BandLayout;
use nearprint::any::AnyFingerprint;

/// Counters of one band: longer bands share counters by chance.
const COUNTERS: usize = 1 << 16;

/// How many documents share bands of their MinHash fingerprints.
///
/// Documents that share a band are compared with each other, which takes time in proportion to the
/// square of their number. A template that many pages have in common makes such a band.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Crowding {
    /// The most documents that share a band.
    pub largest: u64,
    /// The documents that share a band with a document, on average over all documents, less those that
    /// share one by chance.
    pub mean: f64,
}

/// Counts the bands of kept documents.
pub(crate) struct BandCounts {
    bands: BandLayout,
    counts: Vec<u32>,
    documents: u64,
}

impl BandCounts {
    pub(crate) fn new(bands: BandLayout) -> Self {
        Self { bands, counts: vec![0; bands.count() as usize * COUNTERS], documents: 0 }
    }

    pub(crate) fn push(&mut self, fingerprint: AnyFingerprint) {
        self.documents += 1;
        for band in 0..self.bands.count() {
            #[expect(clippy::cast_possible_truncation, reason = "takes the low bits")]
            let counter = fingerprint.band(self.bands, band) as usize % COUNTERS;
            let count = &mut self.counts[band as usize * COUNTERS + counter];
            *count = count.saturating_add(1);
        }
    }

    pub(crate) fn crowding(&self) -> Crowding {
        let square = |count: &u32| (f64::from(*count)).powi(2);
        let pairs: f64 = self.counts.iter().map(square).sum();
        let largest = self.counts.iter().max().copied().unwrap_or_default().into();
        // A band is a hash, so its values are equally frequent.
        let values = COUNTERS.min(1 << self.bands.bits()) as f64;
        let by_chance = self.documents as f64 * f64::from(self.bands.count()) / values;
        Crowding { largest, mean: (pairs / self.documents.max(1) as f64 - by_chance).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use nearprint::U256;
    use nearprint::internal::mix64;

    use super::*;

    #[test]
    fn shared_bands_are_counted() {
        let bands: BandLayout = "6x16".parse().unwrap();
        let mut counts = BandCounts::new(bands);
        assert_eq!(counts.crowding(), Crowding { largest: 0, mean: 0.0 });
        for number in 0..1000u64 {
            // Of ten documents, three share the first band.
            let first = if number % 10 < 3 { 7 } else { number + 10 };
            let band = |at: u32| if at == 0 { first } else { mix64(number * 6 + u64::from(at)) >> 48 };
            counts.push(bands.assemble::<U256>((0..6).map(band), std::iter::repeat(true)).into());
        }
        let Crowding { largest, mean } = counts.crowding();
        assert!((300..310).contains(&largest), "{largest}");
        // Three of ten meet 300, and each its own five bands and a few others.
        assert!((95.0..100.0).contains(&mean), "{mean}");
    }

    #[test]
    fn regression_many_documents_without_a_template_were_crowded() {
        for bands in ["2x16", "2x24", "2x8"] {
            let bands: BandLayout = bands.parse().unwrap();
            let mut counts = BandCounts::new(bands);
            for number in 0..200_000u64 {
                let band = |at: u32| mix64(number * 2 + u64::from(at)) >> (64 - bands.bits());
                counts.push(bands.assemble::<U256>((0..2).map(band), std::iter::repeat(true)).into());
            }
            // Each meets itself in both bands. By chance, it shares a band with six others, or with 1,563.
            let mean = counts.crowding().mean;
            assert!((1.0..3.0).contains(&mean), "{bands}: {mean}");
        }
    }
}
