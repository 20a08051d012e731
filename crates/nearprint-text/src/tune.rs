//! Measures how well distances separate near-duplicates from other documents, on labelled
//! documents.
//!
//! [`curve`] counts for each k the pairs within k bits, and those of them that are near-duplicates.
//! All pairs of all documents are counted, without sampling: [`visit_all`] is exact. [`Goal`]
//! selects the best k.
//!
//! ```
//! use nearprint::Width;
//! use nearprint_text::tune::{Goal, Labels, curve, widest};
//!
//! // The fingerprints of four documents; the first two are versions of one article.
//! let prints = [0b0000_u64, 0b0001, 0b0111_0000, u64::MAX];
//! let labels = Labels::Groups(vec![vec![0, 1]]);
//! let points = curve(3, &prints, widest(None, Width::W64), &labels, 1)?;
//! let best = Goal::Balance.best(&points).expect("a point for each k");
//! assert_eq!((best.k, best.precision(), best.recall()), (1, 1.0, 1.0));
//! # Ok::<(), nearprint_text::Error>(())
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use nearprint::internal as parallel;
use nearprint::{BandLayout, Fingerprint, Near, Options, Width, visit_all};

/// The pairs that a [`curve`] counts: those within a quarter of the bits or, of fingerprints with
/// bands, those with an equal band and half of the bits of the sketch, a similarity of 0.
#[must_use]
pub fn widest(bands: Option<BandLayout>, width: Width) -> Near {
    let k = bands.map_or(width.bits() / 4, |bands| bands.sketch_bits(width) / 2);
    Near { k, bands }
}

/// The number of pairs at each distance from 0 to the widest.
type PairsByDistance = Vec<u64>;

fn no_pairs(near: Near) -> PairsByDistance {
    vec![0; near.k as usize + 1]
}

/// Lists of up to this length are compared pair by pair.
const FEW: usize = 64;

/// Counts the pairs in a list by distance, pairs of equal fingerprints included.
fn count_pairs<F: Fingerprint>(prints: &[F], near: Near, threads: usize) -> Result<PairsByDistance> {
    let mut counts = no_pairs(near);
    if prints.len() <= FEW {
        for (at, a) in prints.iter().enumerate() {
            prints[at + 1..].iter().for_each(|b| count(&mut counts, near.distance(*a, *b), 1));
        }
        return Ok(counts);
    }
    let mut sorted = prints.to_vec();
    sorted.sort_unstable();
    let equal: Vec<&[F]> = sorted.chunk_by(|a, b| a == b).collect();
    let copies = |print: F| equal.binary_search_by_key(&print, |run| run[0]).map_or(0, |at| equal[at].len());
    for run in &equal {
        let len = run.len() as u64;
        count(&mut counts, near.distance(run[0], run[0]), len * (len - 1) / 2);
    }
    visit_all(prints.to_vec(), near, &Options::new().threads(threads), |block| {
        for pair in block {
            count(&mut counts, Some(pair.distance), copies(pair.a) as u64 * copies(pair.b) as u64);
        }
        Ok::<(), Error>(())
    })?;
    Ok(counts)
}

/// Adds pairs at a distance; `None` if they are not near.
fn count(counts: &mut [u64], distance: Option<u32>, pairs: u64) {
    if let Some(count) = distance.and_then(|distance| counts.get_mut(distance as usize)) {
        *count += pairs;
    }
}

/// The known near-duplicates, by the indexes of their documents.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Labels {
    /// Exactly these pairs. They are in ascending order, without repetition, with the smaller index
    /// first.
    Pairs(Vec<(usize, usize)>),
    /// Exactly the pairs within a group. Groups have no document in common and none twice.
    Groups(Vec<Vec<usize>>),
}

impl Labels {
    /// The number of pairs that are near-duplicates.
    #[must_use]
    pub fn num_positives(&self) -> u64 {
        match self {
            Self::Pairs(pairs) => pairs.len() as u64,
            Self::Groups(groups) => groups.iter().map(|group| all_pairs(group.len())).sum(),
        }
    }

    /// For each of `len` documents a number that the documents of its group share.
    fn group_numbers(&self, len: usize) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..len).collect();
        if let Self::Groups(groups) = self {
            for group in groups {
                group.iter().for_each(|&member| numbers[member] = group[0]);
            }
        }
        numbers
    }

    /// Counts the near-duplicates by distance.
    fn count<F: Fingerprint>(&self, prints: &[F], near: Near, threads: usize) -> Result<PairsByDistance> {
        let mut counts = no_pairs(near);
        match self {
            Self::Pairs(pairs) => {
                pairs.iter().for_each(|&(a, b)| count(&mut counts, near.distance(prints[a], prints[b]), 1));
            }
            Self::Groups(groups) => {
                for group in groups {
                    let members: Vec<F> = group.iter().map(|&at| prints[at]).collect();
                    let within = count_pairs(&members, near, threads)?;
                    counts.iter_mut().zip(within).for_each(|(count, more)| *count += more);
                }
            }
        }
        Ok(counts)
    }
}

/// Two documents, the smaller index first, and the distance of their fingerprints.
type NearPair = (usize, usize, u32);

/// All near pairs of documents.
fn near_pairs<F: Fingerprint>(prints: &[F], widest: Near, threads: usize) -> Result<Vec<NearPair>> {
    let mut sorted: Vec<(F, usize)> = prints.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let equal: Vec<&[(F, usize)]> = sorted.chunk_by(|a, b| a.0 == b.0).collect();
    let run = |print: F| equal.binary_search_by_key(&print, |run| run[0].0).map_or(&[][..], |at| equal[at]);
    let mut near = Vec::new();
    for run in equal.iter().filter(|run| widest.distance(run[0].0, run[0].0).is_some()) {
        for (at, a) in run.iter().enumerate() {
            near.extend(run[at + 1..].iter().map(|b| (a.1, b.1, 0)));
        }
    }
    visit_all(prints.to_vec(), widest, &Options::new().threads(threads), |block| {
        for pair in block {
            for (_, a) in run(pair.a) {
                near.extend(run(pair.b).iter().map(|(_, b)| (*a.min(b), *a.max(b), pair.distance)));
            }
        }
        Ok::<(), Error>(())
    })?;
    Ok(near)
}

/// The number of pairs in a list of `len` documents.
#[must_use]
pub fn all_pairs(len: usize) -> u64 {
    let len = len as u64;
    len * len.saturating_sub(1) / 2
}

/// The quality of one shingle size with one k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Point {
    /// The tokens of a shingle.
    pub shingle: usize,
    /// The largest distance of a found pair, in bits.
    pub k: u32,
    /// Pairs within k bits.
    pub found: u64,
    /// Found pairs that are near-duplicates.
    pub hits: u64,
    /// All pairs that are near-duplicates.
    pub positives: u64,
}

impl Point {
    /// The share of found pairs that are near-duplicates, from 0 to 1; 1 if no pair is found.
    #[must_use]
    pub fn precision(&self) -> f64 {
        if self.found == 0 { 1.0 } else { self.hits as f64 / self.found as f64 }
    }

    /// The share of near-duplicates that are found, from 0 to 1; NaN without any near-duplicate.
    #[must_use]
    pub fn recall(&self) -> f64 {
        self.hits as f64 / self.positives as f64
    }

    /// The harmonic mean of precision and recall, from 0 to 1; NaN without any found pair and
    /// near-duplicate.
    #[must_use]
    pub fn f1(&self) -> f64 {
        2.0 * self.hits as f64 / (self.found + self.positives) as f64
    }

    /// The smaller one of precision and recall.
    fn balance(&self) -> f64 {
        self.precision().min(self.recall())
    }
}

/// One point for each k from 0 to that of `near`, which is usually the [`widest`], in this order.
///
/// `prints` are the fingerprints of all documents, made with shingles of `shingle` tokens. Takes
/// the time of [`visit_all`].
///
/// # Errors
/// Those of [`visit_all`].
///
/// # Panics
/// If a label is the index of no document.
pub fn curve<F: Fingerprint>(
    shingle: usize,
    prints: &[F],
    near: Near,
    labels: &Labels,
    threads: usize,
) -> Result<Vec<Point>> {
    let (found, hits) = (count_pairs(prints, near, threads)?, labels.count(prints, near, threads)?);
    Ok(points(shingle, labels, &found, &hits))
}

/// As [`curve`], but a pair counts as found only if `confirms` returns true for its documents.
///
/// `confirms` receives the indexes of two documents, the smaller one first, on any of `threads`
/// threads: once for each near pair. All these pairs are in memory.
///
/// # Errors
/// Those of [`visit_all`].
///
/// # Panics
/// If a group has the index of no document.
pub fn confirmed_curve<F: Fingerprint>(
    shingle: usize,
    prints: &[F],
    near: Near,
    labels: &Labels,
    confirms: impl Fn(usize, usize) -> bool + Sync,
    threads: usize,
) -> Result<Vec<Point>> {
    const PAIRS_AT_ONCE: usize = 256;
    let candidates = near_pairs(prints, near, threads)?;
    let chunks: Vec<&[NearPair]> = candidates.chunks(PAIRS_AT_ONCE).collect();
    let group = labels.group_numbers(prints.len());
    let is_positive = |pair: (usize, usize)| match labels {
        Labels::Pairs(pairs) => pairs.binary_search(&pair).is_ok(),
        Labels::Groups(_) => group[pair.0] == group[pair.1],
    };
    let work = |chunk: usize, _: &mut (), sink: parallel::Sink<'_, Vec<NearPair>>| {
        let confirmed = chunks[chunk].iter().filter(|(a, b, _)| confirms(*a, *b));
        // A closed channel means that an error has ended the call.
        let _ = sink(confirmed.copied().collect());
        Ok(())
    };
    let (mut found, mut hits) = (no_pairs(near), no_pairs(near));
    parallel::ordered(
        threads,
        chunks.len(),
        || (),
        work,
        |confirmed| {
            for (a, b, distance) in confirmed {
                count(&mut found, Some(distance), 1);
                count(&mut hits, Some(distance), u64::from(is_positive((a, b))));
            }
            Ok::<(), Error>(())
        },
    )?;
    Ok(points(shingle, labels, &found, &hits))
}

fn points(shingle: usize, labels: &Labels, found: &[u64], hits: &[u64]) -> Vec<Point> {
    let mut point = Point { shingle, k: 0, found: 0, hits: 0, positives: labels.num_positives() };
    let points = (0..).zip(found).zip(hits).map(|((k, found), hits)| {
        point = Point { k, found: point.found + found, hits: point.hits + hits, ..point };
        point
    });
    points.collect()
}

/// A criterion for the best [`Point`].
///
/// Parsed from `balance`, `precision:X` or `recall:X`, X from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Goal {
    /// The largest minimum of precision and recall.
    Balance,
    /// The largest recall among the points with at least this precision.
    Precision(f64),
    /// The largest precision among the points with at least this recall.
    Recall(f64),
}

/// The text is neither `balance` nor `precision:X` or `recall:X` with X from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseGoalError(());

impl fmt::Display for ParseGoalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected balance, precision:X or recall:X, X from 0 to 1")
    }
}

impl std::error::Error for ParseGoalError {}

impl Goal {
    /// Whether a point has the required precision or recall.
    #[must_use]
    pub fn is_reached(self, point: &Point) -> bool {
        match self {
            Self::Balance => true,
            Self::Precision(wanted) => point.precision() >= wanted,
            Self::Recall(wanted) => point.recall() >= wanted,
        }
    }

    /// Larger is better. The second number breaks ties of the first.
    fn score(self, point: &Point) -> (f64, f64) {
        match self {
            Self::Balance => (point.balance(), 0.0),
            Self::Precision(wanted) => (point.precision().min(wanted), point.recall()),
            Self::Recall(wanted) => (point.recall().min(wanted), point.precision()),
        }
    }

    /// The best point, or the closest one if none reaches the goal; `None` without any point. Ties
    /// go to the smallest k, then to the first point.
    #[must_use]
    pub fn best(self, points: &[Point]) -> Option<&Point> {
        points.iter().min_by(|a, b| {
            let (score_a, score_b) = (self.score(a), self.score(b));
            score_b.partial_cmp(&score_a).unwrap_or(Ordering::Equal).then(a.k.cmp(&b.k))
        })
    }
}

impl FromStr for Goal {
    type Err = ParseGoalError;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let share = |text: &str| text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        let goal = match text.split_once(':') {
            None if text == "balance" => Some(Self::Balance),
            Some(("precision", wanted)) => share(wanted).map(Self::Precision),
            Some(("recall", wanted)) => share(wanted).map(Self::Recall),
            _ => None,
        };
        goal.ok_or(ParseGoalError(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain() -> Near {
        widest(None, Width::W64)
    }

    /// Of the values in the tests, some share a band, and one is 0.
    fn banded() -> Near {
        widest(Some("3x8".parse().unwrap()), Width::W64)
    }

    fn point(k: u32, found: u64, hits: u64) -> Point {
        Point { shingle: 1, k, found, hits, positives: 100 }
    }

    proptest! {
        #[test]
        fn counting_agrees_with_all_pairs(picks in prop::collection::vec(any::<u8>(), 0..200)) {
            let prints: Vec<u64> = picks.iter().map(|pick| u64::from(*pick) * 0x0101_0101).collect();
            for near in [plain(), banded()] {
                let mut counts = no_pairs(near);
                for (at, a) in prints.iter().enumerate() {
                    prints[..at].iter().for_each(|b| count(&mut counts, near.distance(*a, *b), 1));
                }
                prop_assert_eq!(count_pairs(&prints, near, 2).unwrap(), counts);
            }
        }

        #[test]
        fn confirming_all_pairs_changes_nothing(picks in prop::collection::vec(any::<u8>(), 4..100)) {
            let prints: Vec<u64> = picks.iter().map(|pick| u64::from(*pick) * 0x0101_0101).collect();
            for near in [plain(), banded()] {
                for labels in [Labels::Pairs(vec![(0, 2), (1, 3)]), Labels::Groups(vec![vec![0, 2, 3]])] {
                    let all = curve(1, &prints, near, &labels, 1).unwrap();
                    let confirmed = confirmed_curve(1, &prints, near, &labels, |a, b| a < b, 2).unwrap();
                    prop_assert_eq!(&confirmed, &all);
                    let none = confirmed_curve(1, &prints, near, &labels, |_, _| false, 2).unwrap();
                    prop_assert!(none.iter().all(|point| point.found == 0));
                }
            }
        }
    }

    #[test]
    fn curves_count_found_pairs_and_hits() {
        let prints = [0u64, 0, 0b1, 0b1110, u64::MAX];
        let points = |labels: &Labels| curve(3, &prints, plain(), labels, 1).unwrap();
        let pairs = Labels::Pairs(vec![(0, 1), (2, 3), (0, 4)]);
        let seen: Vec<_> = points(&pairs).iter().map(|point| (point.k, point.found, point.hits)).collect();
        assert_eq!(seen[..5], [(0, 1, 1), (1, 3, 1), (2, 3, 1), (3, 5, 1), (4, 6, 2)]);
        assert_eq!(seen.len(), 17);
        let groups = Labels::Groups(vec![vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(groups.num_positives(), 4);
        let last = points(&groups)[16];
        assert_eq!(last, Point { shingle: 3, k: 16, found: 6, hits: 3, positives: 4 });
        assert_eq!((last.precision(), last.recall(), last.f1()), (0.5, 0.75, 0.6));
        assert_eq!(point(0, 0, 0).precision(), 1.0);
    }

    #[test]
    fn curves_end_at_a_quarter_of_the_bits() {
        let wide = [0u128, (1 << 32) - 1, (1 << 33) - 1];
        let points = curve(1, &wide, widest(None, Width::W128), &Labels::Pairs(vec![(0, 1)]), 1).unwrap();
        assert_eq!((points.len(), points[32].found, points[31].found), (33, 2, 1));
    }

    #[test]
    fn goals_select_the_best_point() {
        let points =
            [point(0, 10, 10), point(1, 60, 57), point(2, 90, 81), point(3, 90, 81), point(4, 300, 99)];
        let best = |goal: &str| goal.parse::<Goal>().unwrap().best(&points).unwrap().k;
        assert_eq!(best("balance"), 2);
        assert_eq!(best("precision:0.95"), 1);
        assert_eq!(best("precision:0.9"), 2);
        assert_eq!(best("recall:0.5"), 1);
        assert_eq!(best("recall:0.99"), 4);
        assert_eq!(best("recall:1"), 4);
        assert!(!Goal::Recall(1.0).is_reached(&points[4]));
        assert!(Goal::Precision(0.9).is_reached(&points[2]));
        for text in ["", "balance:1", "precision", "precision:1.1", "recall:-0.1", "recall:nan", "f1:1"] {
            assert!(text.parse::<Goal>().is_err(), "{text}");
        }
    }
}
