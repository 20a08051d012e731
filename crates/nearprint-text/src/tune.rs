//! How well distances tell near-duplicates from other documents, where it is known which are which.
//!
//! Nothing is sampled: the pairs within k bits among all documents come from [`visit_all`], which is exact,
//! and each of them is a positive or not.

use std::cmp::Ordering;
use std::str::FromStr;

use crate::error::{Error, Result};
use nearprint::internal as parallel;
use nearprint::{Fingerprint, Options, visit_all};

/// The largest distance looked at: a quarter of the bits.
pub fn max_k<F: Fingerprint>() -> u32 {
    F::BITS / 4
}

/// How many pairs there are at each distance from 0 to [`max_k`].
pub type Counts = Vec<u64>;

/// Before anything is counted.
fn no_counts<F: Fingerprint>() -> Counts {
    vec![0; max_k::<F>() as usize + 1]
}

/// Shorter lists are compared pair by pair.
const FEW: usize = 64;

/// Counts the pairs in a list by distance; equal fingerprints are pairs as well.
///
/// # Errors
/// Whatever [`visit_all`] returns.
pub fn count_pairs<F: Fingerprint>(prints: &[F], threads: usize) -> Result<Counts> {
    let mut counts = no_counts::<F>();
    if prints.len() <= FEW {
        for (at, a) in prints.iter().enumerate() {
            prints[at + 1..].iter().for_each(|b| count(&mut counts, a.distance(*b), 1));
        }
        return Ok(counts);
    }
    let mut sorted = prints.to_vec();
    sorted.sort_unstable();
    let equal: Vec<&[F]> = sorted.chunk_by(|a, b| a == b).collect();
    let copies = |print: F| equal.binary_search_by_key(&print, |run| run[0]).map_or(0, |at| equal[at].len());
    for run in &equal {
        let len = run.len() as u64;
        count(&mut counts, 0, len * (len - 1) / 2);
    }
    visit_all(prints.to_vec(), max_k::<F>(), &Options::new().threads(threads), |block| {
        for pair in block {
            count(&mut counts, pair.distance, copies(pair.a) as u64 * copies(pair.b) as u64);
        }
        Ok::<(), Error>(())
    })?;
    Ok(counts)
}

fn count(counts: &mut [u64], distance: u32, pairs: u64) {
    if let Some(count) = counts.get_mut(distance as usize) {
        *count += pairs;
    }
}

/// Which documents are near-duplicates of which, by their numbers.
pub enum Labels {
    /// These pairs, in ascending order, each once with the smaller number first, and no others.
    Pairs(Vec<(usize, usize)>),
    /// All pairs within a group, and no others.
    Groups(Vec<Vec<usize>>),
}

impl Labels {
    /// How many pairs are near-duplicates.
    pub fn num_positives(&self) -> u64 {
        match self {
            Self::Pairs(pairs) => pairs.len() as u64,
            Self::Groups(groups) => groups.iter().map(|group| all_pairs(group.len())).sum(),
        }
    }

    /// For each document a number that only those of its group have.
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
    fn count<F: Fingerprint>(&self, prints: &[F], threads: usize) -> Result<Counts> {
        let mut counts = no_counts::<F>();
        match self {
            Self::Pairs(pairs) => {
                pairs.iter().for_each(|&(a, b)| count(&mut counts, prints[a].distance(prints[b]), 1));
            }
            Self::Groups(groups) => {
                for group in groups {
                    let members: Vec<F> = group.iter().map(|&at| prints[at]).collect();
                    let within = count_pairs(&members, threads)?;
                    counts.iter_mut().zip(within).for_each(|(count, more)| *count += more);
                }
            }
        }
        Ok(counts)
    }
}

/// A pair of documents, the smaller number first, and the distance of their fingerprints.
type Near = (usize, usize, u32);

/// All pairs of documents within [`max_k`].
fn near_pairs<F: Fingerprint>(prints: &[F], threads: usize) -> Result<Vec<Near>> {
    let mut sorted: Vec<(F, usize)> = prints.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let equal: Vec<&[(F, usize)]> = sorted.chunk_by(|a, b| a.0 == b.0).collect();
    let run = |print: F| equal.binary_search_by_key(&print, |run| run[0].0).map_or(&[][..], |at| equal[at]);
    let mut near = Vec::new();
    for run in &equal {
        for (at, a) in run.iter().enumerate() {
            near.extend(run[at + 1..].iter().map(|b| (a.1, b.1, 0)));
        }
    }
    visit_all(prints.to_vec(), max_k::<F>(), &Options::new().threads(threads), |block| {
        for pair in block {
            for (_, a) in run(pair.a) {
                near.extend(run(pair.b).iter().map(|(_, b)| (*a.min(b), *a.max(b), pair.distance)));
            }
        }
        Ok::<(), Error>(())
    })?;
    Ok(near)
}

/// The pairs in a list of so many.
pub fn all_pairs(len: usize) -> u64 {
    let len = len as u64;
    len * len.saturating_sub(1) / 2
}

/// How well one shingle size does with one k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The size of the shingles.
    pub shingle: usize,
    /// The largest distance, in bits.
    pub k: u32,
    /// Pairs within k bits.
    pub found: u64,
    /// Those of them that are near-duplicates.
    pub hits: u64,
    /// Near-duplicates in all.
    pub positives: u64,
}

impl Point {
    /// Of what is found, the share that is right; 1 where nothing is found.
    pub fn precision(&self) -> f64 {
        if self.found == 0 { 1.0 } else { self.hits as f64 / self.found as f64 }
    }

    /// Of the near-duplicates, the share that is found.
    pub fn recall(&self) -> f64 {
        self.hits as f64 / self.positives as f64
    }

    /// The harmonic mean of both.
    pub fn f1(&self) -> f64 {
        2.0 * self.hits as f64 / (self.found + self.positives) as f64
    }

    /// The smaller of both.
    fn balance(&self) -> f64 {
        self.precision().min(self.recall())
    }
}

/// One point for each k from 0 to [`max_k`].
///
/// # Errors
/// Whatever [`visit_all`] returns.
pub fn curve<F: Fingerprint>(
    shingle: usize,
    prints: &[F],
    labels: &Labels,
    threads: usize,
) -> Result<Vec<Point>> {
    let (found, hits) = (count_pairs(prints, threads)?, labels.count(prints, threads)?);
    Ok(points(shingle, labels, &found, &hits))
}

/// The same, where a pair is found only if it is also confirmed by its texts.
///
/// # Errors
/// Whatever [`visit_all`] returns.
pub fn confirmed_curve<F: Fingerprint>(
    shingle: usize,
    prints: &[F],
    labels: &Labels,
    confirms: impl Fn(usize, usize) -> bool + Sync,
    threads: usize,
) -> Result<Vec<Point>> {
    const PAIRS_AT_ONCE: usize = 256;
    let near = near_pairs(prints, threads)?;
    let chunks: Vec<&[Near]> = near.chunks(PAIRS_AT_ONCE).collect();
    let group = labels.group_numbers(prints.len());
    let is_positive = |pair: (usize, usize)| match labels {
        Labels::Pairs(pairs) => pairs.binary_search(&pair).is_ok(),
        Labels::Groups(_) => group[pair.0] == group[pair.1],
    };
    let work = |chunk: usize, _: &mut (), sink: parallel::Sink<'_, Vec<Near>>| {
        let confirmed = chunks[chunk].iter().filter(|(a, b, _)| confirms(*a, *b));
        // Whoever wants no more has got an error already.
        let _ = sink(confirmed.copied().collect());
        Ok(())
    };
    let (mut found, mut hits) = (no_counts::<F>(), no_counts::<F>());
    parallel::ordered(
        threads,
        chunks.len(),
        || (),
        work,
        |confirmed| {
            for (a, b, distance) in confirmed {
                count(&mut found, distance, 1);
                count(&mut hits, distance, u64::from(is_positive((a, b))));
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

/// What the best point is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// The one whose smaller number of precision and recall is largest.
    Balance,
    /// Of those with this precision, the one with the best recall.
    Precision(f64),
    /// Of those with this recall, the one with the best precision.
    Recall(f64),
}

impl Goal {
    /// Whether a point is as good as was asked for.
    pub fn is_reached(self, point: &Point) -> bool {
        match self {
            Self::Balance => true,
            Self::Precision(wanted) => point.precision() >= wanted,
            Self::Recall(wanted) => point.recall() >= wanted,
        }
    }

    /// Larger is better; the second number decides between equals in the first.
    fn score(self, point: &Point) -> (f64, f64) {
        match self {
            Self::Balance => (point.balance(), 0.0),
            Self::Precision(wanted) => (point.precision().min(wanted), point.recall()),
            Self::Recall(wanted) => (point.recall().min(wanted), point.precision()),
        }
    }

    /// The best of some points, or the nearest where none reaches the goal. Between equals the smallest k,
    /// then the first.
    pub fn best(self, points: &[Point]) -> Option<&Point> {
        points.iter().min_by(|a, b| {
            let (score_a, score_b) = (self.score(a), self.score(b));
            score_b.partial_cmp(&score_a).unwrap_or(Ordering::Equal).then(a.k.cmp(&b.k))
        })
    }
}

impl FromStr for Goal {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let share = |text: &str| text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        let goal = match text.split_once(':') {
            None if text == "balance" => Some(Self::Balance),
            Some(("precision", wanted)) => share(wanted).map(Self::Precision),
            Some(("recall", wanted)) => share(wanted).map(Self::Recall),
            _ => None,
        };
        goal.ok_or("expected balance, precision:X or recall:X, X from 0 to 1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(k: u32, found: u64, hits: u64) -> Point {
        Point { shingle: 1, k, found, hits, positives: 100 }
    }

    proptest! {
        #[test]
        fn counting_agrees_with_all_pairs(picks in prop::collection::vec(any::<u8>(), 0..200)) {
            let prints: Vec<u64> = picks.iter().map(|pick| u64::from(*pick) * 0x0101_0101).collect();
            let mut counts = no_counts::<u64>();
            for (at, a) in prints.iter().enumerate() {
                prints[..at].iter().for_each(|b| count(&mut counts, a.distance(*b), 1));
            }
            prop_assert_eq!(count_pairs(&prints, 2).unwrap(), counts);
        }

        #[test]
        fn what_is_always_confirmed_changes_nothing(picks in prop::collection::vec(any::<u8>(), 4..100)) {
            let prints: Vec<u64> = picks.iter().map(|pick| u64::from(*pick) * 0x0101_0101).collect();
            for labels in [Labels::Pairs(vec![(0, 2), (1, 3)]), Labels::Groups(vec![vec![0, 2, 3]])] {
                let plain = curve(1, &prints, &labels, 1).unwrap();
                prop_assert_eq!(&confirmed_curve(1, &prints, &labels, |a, b| a < b, 2).unwrap(), &plain);
                let none = confirmed_curve(1, &prints, &labels, |_, _| false, 2).unwrap();
                prop_assert!(none.iter().all(|point| point.found == 0));
            }
        }
    }

    #[test]
    fn curves_count_what_is_found_and_what_is_right() {
        let prints = [0u64, 0, 0b1, 0b1110, u64::MAX];
        let points = |labels: &Labels| curve(3, &prints, labels, 1).unwrap();
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
    fn a_quarter_of_the_bits_is_looked_at() {
        let wide = [0u128, (1 << 32) - 1, (1 << 33) - 1];
        let points = curve(1, &wide, &Labels::Pairs(vec![(0, 1)]), 1).unwrap();
        assert_eq!((points.len(), points[32].found, points[31].found), (33, 2, 1));
    }

    #[test]
    fn goals_choose() {
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
