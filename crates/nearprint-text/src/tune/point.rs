//! The quality of one k.

use super::interval::{Interval, ShareOfPairs};
use super::neighbours::Counts;

/// The quality of one k.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Point {
    /// The largest distance of a found pair, in bits.
    pub k: u32,
    /// Pairs within k bits.
    pub found: u64,
    /// Found pairs that are near-duplicates.
    pub hits: u64,
    /// All pairs that are near-duplicates.
    pub positives: u64,
    /// The 95 % confidence interval of the precision.
    pub precision_interval: Interval,
    /// The 95 % confidence interval of the recall.
    pub recall_interval: Interval,
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
}

/// The near-duplicates of all clusters.
#[derive(Clone, Copy)]
pub(super) struct Positives {
    count: u64,
    /// The sum of their squares over clusters.
    squares: f64,
}

impl Positives {
    pub(super) fn of_clusters(counts: &[u64]) -> Self {
        let squares = counts.iter().map(|&count| (count as f64).powi(2)).sum();
        Self { count: counts.iter().sum(), squares }
    }
}

/// The sums over clusters that one point needs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PointSums {
    alone: u64,
    /// Pairs that two clusters count, twice.
    shared: u64,
    hits: u64,
    hits_hits: f64,
    hits_found: f64,
    found_found: f64,
    hits_positives: f64,
}

impl PointSums {
    /// Adds the pairs of a cluster by distance to the sums of the k from 0 on.
    pub(super) fn add_cluster(sums: &mut [Self], counts: &Counts, positives: u64) {
        let (mut alone, mut shared, mut hits) = (0, 0, 0);
        for (at, sums) in sums.iter_mut().enumerate() {
            alone += counts.alone[at];
            shared += counts.shared[at];
            hits += counts.hits[at];
            let (found, part) = ((alone + shared) as f64, hits as f64);
            *sums += Self {
                alone,
                shared,
                hits,
                hits_hits: part * part,
                hits_found: part * found,
                found_found: found * found,
                hits_positives: part * positives as f64,
            };
        }
    }

    pub(super) fn point(&self, k: u32, positives: Positives) -> Point {
        let between = self.shared / 2;
        let found = self.alone + between;
        let precision = ShareOfPairs {
            part: self.hits as f64,
            whole: found as f64,
            between: between as f64,
            part_part: self.hits_hits,
            part_whole: self.hits_found,
            whole_whole: self.found_found,
        };
        let recall = ShareOfPairs {
            whole: positives.count as f64,
            between: 0.0,
            part_whole: self.hits_positives,
            whole_whole: positives.squares,
            ..precision
        };
        Point {
            k,
            found,
            hits: self.hits,
            positives: positives.count,
            precision_interval: precision.interval(),
            recall_interval: recall.interval(),
        }
    }
}

impl std::ops::AddAssign for PointSums {
    fn add_assign(&mut self, other: Self) {
        self.alone += other.alone;
        self.shared += other.shared;
        self.hits += other.hits;
        self.hits_hits += other.hits_hits;
        self.hits_found += other.hits_found;
        self.found_found += other.found_found;
        self.hits_positives += other.hits_positives;
    }
}
