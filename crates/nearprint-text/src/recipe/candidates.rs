//! Which pairs of documents an exact search compares.

use super::parts::HashFunction;
use nearprint::{BandDistances, Fingerprint, U256, U320, Width};

/// A pair is not compared if among pairs of the least similarity fewer than this share have as few equal bands, and
/// sketches as distant.
const RARE: f64 = 0.00005;

/// Which pairs of documents an exact search for a least similarity compares, by their MinHash fingerprints.
///
/// They have an equal band, and sketches that differ in few bits: in fewer, the fewer bands are equal. At a similarity
/// *s*, the number of equal bands, of B of R values each, is binomially distributed with a probability of s^R, and the
/// number of bits in which the sketches differ with (1 - s) / 2. A pair with *e* equal bands and *d* other bits is
/// not compared if P(at most e) P(at least d) is less than 0.00005 at the least similarity; of more similar pairs, more
/// are compared.
///
/// ```
/// # use nearprint_text::Recipe;
/// let recipe: Recipe = "minhash".parse()?;
/// let candidates = recipe.candidates(0.7).expect("MinHash has bands");
/// assert_eq!(candidates.distance(), 29);
/// assert_eq!(candidates.distance_with(1), Some(24));
/// assert!(candidates.share(0.7) > 0.998 && candidates.share(0.3) < 0.05);
/// # Ok::<(), nearprint_text::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Candidates {
    rows: u32,
    sketch_bits: u32,
    least: f64,
    distances: BandDistances,
}

impl Candidates {
    /// `None` without bands.
    pub(super) fn new(hash: HashFunction, width: Width, least: f64) -> Option<Self> {
        let HashFunction::MinHash { bands, rows } = hash else { return None };
        let (sketch_bits, least) = (bands.sketch_bits(width), least.clamp(0.0, 1.0));
        let mut differ = binomial(sketch_bits, differing(least));
        // Sums of tails: the probabilities of at least so many bits.
        for at in (1..differ.len()).rev() {
            differ[at - 1] += differ[at];
        }
        let equal = binomial(bands.count(), equal(least, rows));
        let distances = BandDistances::new(bands, |number| {
            let at_most: f64 = equal[..=number as usize].iter().sum();
            let found = (0..).zip(&differ).find(|(_, share)| at_most * **share < RARE);
            found.map_or(sketch_bits + 1, |(bits, _)| bits).checked_sub(1)
        });
        Some(Self { rows, sketch_bits, least, distances })
    }

    /// The least similarity, from 0 to 1.
    #[must_use]
    pub fn least(&self) -> f64 {
        self.least
    }

    /// The largest distance of the sketches of candidates, in bits.
    #[must_use]
    pub fn distance(&self) -> u32 {
        self.distances.largest()
    }

    /// The same of candidates with a number of equal bands. `None` if these are no candidates.
    #[must_use]
    pub fn distance_with(&self, equal_bands: u32) -> Option<u32> {
        self.distances.with(equal_bands)
    }

    /// The distances for all numbers of equal bands.
    #[must_use]
    pub fn distances(&self) -> &BandDistances {
        &self.distances
    }

    /// Whether two fingerprints make a pair of documents a candidate.
    #[must_use]
    pub fn contain<F: Fingerprint>(&self, a: F, b: F) -> bool {
        self.distances.contain(a, b)
    }

    /// [`contain`](Self::contain) for fingerprints as words, the least significant first.
    #[must_use]
    pub fn contain_words(&self, a: &[u64], b: &[u64]) -> bool {
        match a.len() {
            1 => self.contain(u64::from_le_words(a), u64::from_le_words(b)),
            2 => self.contain(u128::from_le_words(a), u128::from_le_words(b)),
            3..=4 => self.contain(U256::from_le_words(a), U256::from_le_words(b)),
            _ => self.contain(U320::from_le_words(a), U320::from_le_words(b)),
        }
    }

    /// The share of pairs with a Jaccard similarity of 0 to 1 that are candidates.
    #[must_use]
    pub fn share(&self, similarity: f64) -> f64 {
        let differ = binomial(self.sketch_bits, differing(similarity));
        let within = |number| {
            self.distance_with(number).map_or(0.0, |bits| differ.iter().take(bits as usize + 1).sum::<f64>())
        };
        let equal = binomial(self.distances.bands().count(), equal(similarity, self.rows));
        (0..).zip(&equal).skip(1).map(|(number, equal)| equal * within(number)).sum()
    }
}

/// The probability that the values of a band are equal at a similarity.
fn equal(similarity: f64, rows: u32) -> f64 {
    similarity.powi(rows.cast_signed())
}

/// The probability that a bit of two sketches differs at a similarity.
fn differing(similarity: f64) -> f64 {
    (1.0 - similarity) / 2.0
}

/// The binomial distribution: the probability of each number of successes of `count` attempts.
fn binomial(count: u32, probability: f64) -> Vec<f64> {
    let mut ways = 1.0;
    let mut of_number = |number: u32| {
        let [successes, failures] = [number, count - number].map(u32::cast_signed);
        let all = ways * probability.powi(successes) * (1.0 - probability).powi(failures);
        ways *= f64::from(count - number) / f64::from(number + 1);
        all
    };
    (0..=count).map(&mut of_number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;

    fn candidates(recipe: &str, least: f64) -> Candidates {
        recipe.parse::<Recipe>().unwrap().candidates(least).unwrap()
    }

    #[test]
    fn distributions_are_binomial() {
        let expected = [0.421875, 0.421875, 0.140625, 0.015625];
        assert!(binomial(3, 0.25).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!((binomial(2, 0.0), binomial(2, 1.0)), (vec![1.0, 0.0, 0.0], vec![0.0, 0.0, 1.0]));
        assert!((binomial(224, 0.15).iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn fewer_equal_bands_allow_fewer_other_bits() {
        let recipe = "minhash hash=minhash:10x16,2";
        let distances =
            |least| (1..=10).map(|equal| candidates(recipe, least).distance_with(equal)).collect();
        let at = |distances: &[u32]| distances.iter().map(|&bits| Some(bits)).collect::<Vec<_>>();
        let found: Vec<Option<u32>> = distances(0.7);
        assert_eq!(found, at(&[24, 26, 28, 28, 29, 29, 29, 29, 29, 29]));
        // Of two pairs with a similarity of 0.9, none has a single equal band of ten.
        let found: Vec<Option<u32>> = distances(0.9);
        assert_eq!((found[0], found[9]), (None, Some(15)));
        let found: Vec<Option<u32>> = distances(1.0);
        assert_eq!(found, [&[None; 9][..], &[Some(0)]].concat());
        assert_eq!(
            (candidates(recipe, 0.7).distance_with(0), candidates(recipe, 0.7).distance_with(11)),
            (None, None)
        );
    }

    #[test]
    fn shares_of_candidates_are_probabilities() {
        let own = candidates("minhash hash=minhash:10x16,2", 0.7);
        assert_eq!((own.share(0.0), own.share(1.0)), (0.0, 1.0));
        // 0.9988 have an equal band.
        assert!((0.9986..0.9988).contains(&own.share(0.7)), "{}", own.share(0.7));
        assert!(own.share(0.75) > 0.9995 && own.share(0.8) > 0.9999);
        for (recipe, near) in [
            ("minhash near=0.5", 0.5),
            ("minhash near=0.9", 0.9),
            ("minhash hash=minhash:4x16,2 width=128", 0.7),
        ] {
            let shares: Vec<f64> =
                (0..=20).map(|at| candidates(recipe, near).share(f64::from(at) / 20.0)).collect();
            assert!(shares.is_sorted() && shares[20] == 1.0, "{recipe}: {shares:?}");
        }
        assert_eq!("simhash".parse::<Recipe>().unwrap().candidates(0.7), None);
    }

    #[test]
    fn equal_bands_and_sketches_decide() {
        let own = candidates("minhash hash=minhash:10x16,2", 0.7);
        let print = |changed_bands: u64, changed_bits: usize| {
            let bands = (0..10).map(|band| 100 + band + u64::from(band < changed_bands));
            own.distances.bands().assemble::<U256>(bands, (0..96).map(|bit| bit < changed_bits))
        };
        let first = print(0, 0);
        for (changed, bits, is_candidate) in [
            (0, 29, true),
            (0, 30, false),
            (9, 24, true),
            (9, 25, false),
            (8, 26, true),
            (8, 27, false),
            (10, 0, false),
        ] {
            let other = print(changed, bits);
            assert_eq!(own.contain(first, other), is_candidate, "{changed} {bits}");
            let words = |print: U256| nearprint::internal::words(print).collect::<Vec<_>>();
            assert_eq!(own.contain_words(&words(first), &words(other)), is_candidate);
        }
    }
}
