//! Confidence intervals of shares of pairs that depend on each other.

/// The 97.5th percentile of the normal distribution: 95 of 100 values are within.
const Z: f64 = 1.96;

/// A 95 % confidence interval of a share.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Interval {
    /// The lower limit, from 0 to 1.
    pub low: f64,
    /// The upper limit, from `low` to 1.
    pub high: f64,
}

impl Interval {
    /// What nothing is known about.
    const ALL: Self = Self { low: 0.0, high: 1.0 };

    /// The score interval of a share that was seen in a number of independent cases (Wilson 1927).
    fn wilson(share: f64, cases: f64) -> Self {
        let square = Z * Z / cases;
        let centre = (share + square / 2.0) / (1.0 + square);
        let half = Z / (1.0 + square) * (share * (1.0 - share) / cases + square / cases / 4.0).sqrt();
        // A share of 0 or 1 is a limit itself, whatever the rounding.
        Self { low: (centre - half).clamp(0.0, share), high: (centre + half).clamp(share, 1.0) }
    }
}

/// The sums over clusters that the variance of a share of pairs needs.
///
/// The pairs of one cluster of documents depend on each other; clusters do not. A pair between two
/// clusters belongs to both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ShareOfPairs {
    /// Pairs that count for the share.
    pub(super) part: f64,
    /// All pairs.
    pub(super) whole: f64,
    /// Those between two clusters. None of them counts for the share.
    pub(super) between: f64,
    /// The sum over clusters of the square of `part`, of `part` times `whole`, and of the square of
    /// `whole`.
    pub(super) part_part: f64,
    pub(super) part_whole: f64,
    pub(super) whole_whole: f64,
}

impl ShareOfPairs {
    /// The interval of `part / whole`.
    ///
    /// This is the variance of a ratio of sums over clusters, linearized (Cochran, "Sampling
    /// Techniques", 1977, section 6.5). With pairs between clusters it is the variance of dyadic data
    /// (Aronow, Samii and Assenova, "Cluster-Robust Variance Estimation for Dyadic Data", Political
    /// Analysis 2015): the squares of the clusters' residuals count each such pair twice, so its own
    /// square is subtracted once. The number of independent pairs with this variance goes into the
    /// interval of Wilson, which stays within 0 and 1.
    ///
    /// One cluster that counts in whole and one that does not, both of typical size, are added for
    /// the variance. It would otherwise be 0 where all clusters agree.
    pub(super) fn interval(&self) -> Interval {
        if self.whole == 0.0 {
            return Interval::ALL;
        }
        let typical = self.whole_whole / (self.whole + self.between);
        let whole = self.whole + 2.0 * typical;
        let share = (self.part + typical) / whole;
        let residuals = self.part_part - 2.0 * share * self.part_whole
            + share * share * (self.whole_whole - self.between);
        let added = typical * typical * (share * share + (1.0 - share) * (1.0 - share));
        let variance = ((residuals + added) / (whole * whole)).max(f64::MIN_POSITIVE);
        let cases = (share * (1.0 - share) / variance).min(self.whole);
        Interval::wilson(self.part / self.whole, cases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearprint::internal::mix64;

    /// Reproducible random numbers from 0 to 1.
    struct Random(u64);

    impl Random {
        fn share(&mut self) -> f64 {
            self.0 += 1;
            (mix64(self.0) >> 11) as f64 / (1u64 << 53) as f64
        }

        #[expect(clippy::cast_possible_truncation, reason = "a share of a small number")]
        fn below(&mut self, limit: usize) -> usize {
            (self.share() * limit as f64) as usize
        }
    }

    /// Adds a cluster without pairs to others.
    fn add(sums: &mut ShareOfPairs, part: f64, whole: f64) {
        sums.part += part;
        sums.whole += whole;
        sums.part_part += part * part;
        sums.part_whole += part * whole;
        sums.whole_whole += whole * whole;
    }

    /// How often intervals of `draw` contain the true share.
    fn coverage(share: f64, mut draw: impl FnMut(&mut Random) -> ShareOfPairs) -> f64 {
        const DRAWS: u32 = 2000;
        let mut random = Random(7);
        let contains = |interval: Interval| interval.low <= share && share <= interval.high;
        f64::from((0..DRAWS).map(|_| u32::from(contains(draw(&mut random).interval()))).sum::<u32>())
            / f64::from(DRAWS)
    }

    #[test]
    fn intervals_of_independent_pairs_are_those_of_wilson() {
        let mut sums = ShareOfPairs::default();
        (0..200).for_each(|at| add(&mut sums, f64::from(u32::from(at < 150)), 1.0));
        let (interval, wilson) = (sums.interval(), Interval::wilson(0.75, 200.0));
        assert!((interval.low - wilson.low).abs() < 0.005 && (interval.high - wilson.high).abs() < 0.005);
    }

    #[test]
    fn limits_stay_within_0_and_1() {
        assert_eq!(ShareOfPairs::default().interval(), Interval::ALL);
        for (part, whole) in [(0.0, 1.0), (1.0, 1.0), (0.0, 45.0), (45.0, 45.0)] {
            for clusters in [1, 30] {
                let mut sums = ShareOfPairs::default();
                (0..clusters).for_each(|_| add(&mut sums, part, whole));
                let Interval { low, high } = sums.interval();
                let share = part / whole;
                assert!(0.0 <= low && low <= share && share <= high && high <= 1.0, "{low} {share} {high}");
                assert!(high - low > 0.1, "30 equal clusters are not certain: {low} {high}");
            }
        }
    }

    /// Clusters of 1 to 40 pairs. The share of pairs that count differs by cluster.
    #[test]
    fn intervals_of_clusters_contain_the_share_95_times_of_100() {
        for (clusters, low, high) in [(400, 0.93, 0.97), (60, 0.93, 0.98)] {
            // The share of a cluster is even from 0.5 to 1.
            let contained = coverage(0.75, |random| {
                let mut sums = ShareOfPairs::default();
                for _ in 0..clusters {
                    let (whole, share) = (1 + random.below(40), 0.5 + random.share() / 2.0);
                    let part = (0..whole).filter(|_| random.share() < share).count();
                    add(&mut sums, part as f64, whole as f64);
                }
                sums
            });
            assert!((low..=high).contains(&contained), "{clusters} clusters: {contained}");
        }
    }

    /// Few pairs are wrong, and all of a cluster are if one is.
    #[test]
    fn intervals_near_1_contain_the_share() {
        let contained = coverage(0.98, |random| {
            let mut sums = ShareOfPairs::default();
            for _ in 0..200 {
                let whole = (1 + random.below(10)) as f64;
                add(&mut sums, if random.share() < 0.98 { whole } else { 0.0 }, whole);
            }
            sums
        });
        assert!((0.92..=0.99).contains(&contained), "{contained}");
    }

    /// Each cluster has pairs of its own that count, and some clusters have pairs with many others
    /// that do not. Half of the squares, or squares of halves, would contain the share too rarely.
    #[test]
    fn intervals_with_pairs_between_clusters_contain_the_share() {
        const CLUSTERS: usize = 150;
        // An attractive cluster, one in ten, has a pair with each other one in ten times. The mean of
        // pairs between two clusters: 0.1 times (1 - 0.9 ^ 2).
        let between = 0.1 * (1.0 - 0.81) * (CLUSTERS * (CLUSTERS - 1) / 2) as f64;
        let part = CLUSTERS as f64 * 3.0;
        let contained = coverage(part / (part + between), |random| {
            let is_attractive: Vec<bool> = (0..CLUSTERS).map(|_| random.share() < 0.1).collect();
            let parts: Vec<f64> = (0..CLUSTERS).map(|_| (1 + random.below(5)) as f64).collect();
            let (mut wholes, mut pairs) = (parts.clone(), 0.0);
            for a in 0..CLUSTERS {
                for b in a + 1..CLUSTERS {
                    if (is_attractive[a] || is_attractive[b]) && random.share() < 0.1 {
                        wholes[a] += 1.0;
                        wholes[b] += 1.0;
                        pairs += 1.0;
                    }
                }
            }
            let mut sums = ShareOfPairs::default();
            parts.iter().zip(&wholes).for_each(|(&part, &whole)| add(&mut sums, part, whole));
            ShareOfPairs { whole: sums.whole - pairs, between: pairs, ..sums }
        });
        assert!((0.92..=0.98).contains(&contained), "{contained}");
    }
}
