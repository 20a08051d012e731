//! Limits of the exact similarity, which `dedup` decides by, and what a limit finds among documents that it was not
//! chosen by.

use super::goal::Goal;
use super::neighbours::Listed;
use super::point::Point;
use super::study::Study;
use nearprint::internal::mix64;

/// Two documents, the smaller index first, and their similarity, from 0 to 1.
pub type SimilarPair = (usize, usize, f64);

/// The limits that are tried are hundredths.
const LIMITS: f64 = 100.0;

/// The best limit of the similarity.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BestLimit {
    /// Which of the given sets of features it is a similarity of.
    pub sets: usize,
    /// The limit: pairs of this similarity or more are found.
    pub similarity: f64,
    /// What it finds. `k` is the distance in hundredths.
    pub point: Point,
    /// What each half of the documents shows of the limit that is best in the other half, added up: found pairs,
    /// found near-duplicates, and all near-duplicates.
    pub untuned: [u64; 3],
}

impl BestLimit {
    /// The precision among documents that a limit was not chosen by, from 0 to 1; 1 if no pair is found.
    #[must_use]
    pub fn untuned_precision(&self) -> f64 {
        let [found, hits, _] = self.untuned;
        if found == 0 { 1.0 } else { hits as f64 / found as f64 }
    }

    /// The recall there, from 0 to 1; NaN without any near-duplicate.
    #[must_use]
    pub fn untuned_recall(&self) -> f64 {
        let [_, hits, positives] = self.untuned;
        hits as f64 / positives as f64
    }
}

impl Study {
    /// The best limit, in hundredths from `least` to 1, of several kinds of sets. `pairs` has for each kind the
    /// counted pairs of documents with at least the similarity `least`, as
    /// [`similarities`](crate::jaccard::similarities) returns them. `None` without any kind.
    ///
    /// Of equal limits the highest one is best. For the halves, documents are divided by a hash of their cluster,
    /// so that near-duplicates are together.
    #[must_use]
    pub fn best_limit(
        &self,
        goal: Goal,
        pairs: &[Vec<SimilarPair>],
        least: f64,
        threads: usize,
    ) -> Option<BestLimit> {
        let (sets, point) = self.best_point(goal, pairs, least, threads)?;
        let mut untuned = [0; 3];
        for half in [0, 1] {
            let (tuned, other) = (self.half(half), self.half(1 - half));
            let (sets, chosen) = tuned.best_point(goal, &tuned.pairs_within(pairs, half), least, threads)?;
            let others = other.pairs_within(&pairs[sets..=sets], 1 - half).swap_remove(0);
            let Point { found, hits, positives, .. } =
                other.limits(&others, least, threads)[chosen.k as usize];
            for (sum, more) in untuned.iter_mut().zip([found, hits, positives]) {
                *sum += more;
            }
        }
        Some(BestLimit { sets, similarity: 1.0 - f64::from(point.k) / LIMITS, point, untuned })
    }

    /// Whether two documents are known as near-duplicates.
    #[must_use]
    pub fn is_labelled(&self, a: usize, b: usize) -> bool {
        self.cluster_of[a] == self.cluster_of[b] && self.labels.contains(a, b)
    }

    fn best_point(
        &self,
        goal: Goal,
        pairs: &[Vec<SimilarPair>],
        least: f64,
        threads: usize,
    ) -> Option<(usize, Point)> {
        let curves = pairs.iter().map(|pairs| self.limits(pairs, least, threads)).enumerate();
        let best = curves.filter_map(|(sets, curve)| Some((sets, *goal.best(&curve)?)));
        best.min_by(|(_, a), (_, b)| goal.compare(a, b).then(a.k.cmp(&b.k)))
    }

    /// A point for each limit from 1 down to `least`. The point of a limit s has a k of 100 (1 - s).
    fn limits(&self, pairs: &[SimilarPair], least: f64, threads: usize) -> Vec<Point> {
        let distance = |similarity: f64| hundredths(1.0 - similarity);
        let most = distance(least);
        let listed = pairs.iter().map(|&(a, b, similarity)| (a, b, distance(similarity)));
        let counted = listed.filter(|&(a, b, k)| k <= most && (self.is_sampled[a] || self.is_sampled[b]));
        self.curve(&Listed::new(self, counted, most), most, threads)
    }

    /// The study of one half of the clusters. The documents of the others have no near-duplicates.
    fn half(&self, half: u64) -> Self {
        let mut study = self.clone();
        let others = (0..).zip(&mut study.positives).filter(|(cluster, _)| half_of(*cluster) != half);
        others.for_each(|(_, positives)| *positives = 0);
        study
    }

    /// The pairs of documents of one half.
    fn pairs_within(&self, pairs: &[Vec<SimilarPair>], half: u64) -> Vec<Vec<SimilarPair>> {
        let is_within = |document: usize| half_of(self.cluster_of[document]) == half;
        let within = |pairs: &Vec<SimilarPair>| {
            pairs.iter().filter(|&&(a, b, _)| is_within(a) && is_within(b)).copied().collect()
        };
        pairs.iter().map(within).collect()
    }
}

fn half_of(cluster: usize) -> u64 {
    mix64(cluster as u64 + 1) % 2
}

/// The least number of hundredths that is not below a share.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
fn hundredths(share: f64) -> u32 {
    (share * LIMITS - 1e-9).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::super::labels::Labels;
    use super::*;

    /// Sixty groups of three documents: the first two have a similarity of 0.8, and of 0.65 with the third. Each
    /// group's third has one of 0.6 with the next group's first.
    fn study() -> (Study, Vec<SimilarPair>) {
        let groups = (0..60).map(|group| (3 * group..3 * group + 3).collect()).collect();
        let mut pairs = Vec::new();
        for first in (0..180).step_by(3) {
            pairs.extend([(first, first + 1, 0.8), (first, first + 2, 0.65), (first + 1, first + 2, 0.65)]);
            if first + 3 < 180 {
                pairs.push((first + 2, first + 3, 0.6));
            }
        }
        (Study::new(Labels::Groups(groups), 180, 180), pairs)
    }

    #[test]
    fn the_best_limit_is_the_highest_of_equal_ones() {
        let (study, pairs) = study();
        let best = study.best_limit(Goal::Balance, std::slice::from_ref(&pairs), 0.5, 2).unwrap();
        assert_eq!((best.similarity, best.sets, best.point.k), (0.65, 0, 35));
        assert_eq!((best.point.found, best.point.hits, best.point.positives), (180, 180, 180));
        // No pair is lost between the halves, as groups are not divided.
        assert_eq!(best.untuned, [180, 180, 180]);
        assert_eq!((best.untuned_precision(), best.untuned_recall()), (1.0, 1.0));
        let best = study.best_limit(Goal::Recall(0.3), &[pairs], 0.5, 1).unwrap();
        assert_eq!((best.similarity, best.untuned), (0.8, [60, 60, 180]));
    }

    #[test]
    fn of_several_kinds_of_sets_the_better_one_is_chosen() {
        let (study, pairs) = study();
        let worse: Vec<SimilarPair> = pairs.iter().map(|&(a, b, _)| (a, b, 0.7)).collect();
        let best = study.best_limit(Goal::Balance, &[worse, pairs], 0.5, 1).unwrap();
        assert_eq!((best.sets, best.similarity), (1, 0.65));
        assert_eq!(study.best_limit(Goal::Balance, &[], 0.5, 1), None);
    }

    /// Each half has its own best limit, which is bad in the other one.
    #[test]
    fn what_is_chosen_by_one_half_is_measured_on_the_other() {
        let (study, _) = study();
        let mut pairs = Vec::new();
        for first in (0..180).step_by(3) {
            let similarity = if half_of(study.cluster_of[first]) == 0 { 0.9 } else { 0.7 };
            pairs.extend(
                [(first, first + 1), (first, first + 2), (first + 1, first + 2)]
                    .map(|(a, b)| (a, b, similarity)),
            );
        }
        let firsts = pairs.iter().filter(|pair| pair.2 == 0.9).count() as u64;
        let best = study.best_limit(Goal::Balance, &[pairs], 0.5, 1).unwrap();
        assert_eq!(best.similarity, 0.7);
        assert_eq!(best.untuned, [firsts, firsts, 180], "a limit of 0.9 finds none of the second half");
    }

    #[test]
    fn labels_are_of_pairs() {
        let labels = Labels::Pairs(vec![(0, 1), (1, 2)]);
        let study = Study::new(labels, 4, 4);
        assert!(study.is_labelled(1, 0) && !study.is_labelled(0, 2) && !study.is_labelled(2, 3));
    }

    #[test]
    fn distances_are_not_below_their_limit() {
        let k = |similarity: f64| hundredths(1.0 - similarity);
        assert_eq!([1.0, 0.7, 0.65, 0.695, 0.6999].map(k), [0, 30, 35, 31, 31]);
        assert_eq!(k(2.0 / 3.0), 34);
    }
}
