//! Points for each k.

use std::convert::Infallible;

use super::neighbours::{Banded, Counts, Hamming, Listed, Neighbours};
use super::point::{Point, PointSums, Positives};
use super::study::Study;
use nearprint::internal as parallel;
use nearprint::{Fingerprint, Near, U256, U320, Width};

/// Whether two documents, the smaller index first, are near-duplicates by their texts.
pub type Confirms<'a> = &'a (dyn Fn(usize, usize) -> bool + Sync);

/// Clusters, documents or pairs that a thread works on at a time.
const CLUSTERS_AT_ONCE: usize = 64;
const DOCUMENTS_AT_ONCE: usize = 64;
const PAIRS_AT_ONCE: usize = 256;

/// Pairs for each document of the sample that are confirmed.
const CONFIRMED_PER_DOCUMENT: u64 = 20;
/// So many pairs are confirmed for any sample.
const ALWAYS_CONFIRMED: u64 = 10_000;

/// A counted pair of documents, the smaller index first, and its distance.
type FoundPair = (usize, usize, u32);

impl Study {
    /// One curve without confirmation, and one for each of `confirms`.
    ///
    /// A curve has a point for each k from 0 to the one in `near`, which is usually the
    /// [`widest`](super::widest), in this order. `prints` are the fingerprints of all documents. With
    /// confirmation a pair counts as found only if `confirms` returns true, and the curve ends at the
    /// largest k with at most [`most_confirmed`](Self::most_confirmed) pairs.
    ///
    /// Without bands it compares each document of the sample with all others. With bands it looks up
    /// those with an equal band. `confirms` runs on any of `threads` threads, once for each pair; all
    /// these pairs are in memory, in 24 bytes each.
    ///
    /// # Panics
    /// If there are not as many fingerprints as documents.
    #[must_use]
    pub fn curves<F: Fingerprint>(
        &self,
        prints: &[F],
        near: Near,
        confirms: &[Confirms<'_>],
        threads: usize,
    ) -> Vec<Vec<Point>> {
        assert_eq!(prints.len(), self.num_documents(), "a fingerprint for each document");
        let search = |k| neighbours(self, prints, Near { k, ..near });
        let plain = self.curve(&*search(near.k), near.k, threads);
        let mut curves = vec![plain];
        if !confirms.is_empty() {
            let is_few = |point: &&Point| point.found <= self.most_confirmed();
            // Always k = 0: the pairs of equal fingerprints are confirmed, however many there are.
            let k = curves[0].iter().take_while(is_few).last().map_or(0, |point| point.k);
            let pairs = self.found_pairs(&*search(k), threads);
            for confirms in confirms {
                let confirmed = confirmed(&pairs, *confirms, threads);
                let listed = pairs.iter().zip(confirmed).filter(|(_, confirmed)| *confirmed);
                let listed = Listed::new(self, listed.map(|(pair, _)| *pair), k);
                curves.push(self.curve(&listed, k, threads));
            }
        }
        curves
    }

    /// The same for words of fingerprints of a width.
    #[must_use]
    pub fn curves_of_words(
        &self,
        (width, words): (Width, &[u64]),
        near: Near,
        confirms: &[Confirms<'_>],
        threads: usize,
    ) -> Vec<Vec<Point>> {
        let prints = || words.chunks_exact(width.words());
        match width {
            Width::W64 => self.curves(words, near, confirms, threads),
            Width::W128 => {
                self.curves(&prints().map(u128::from_le_words).collect::<Vec<_>>(), near, confirms, threads)
            }
            Width::W256 => {
                self.curves(&prints().map(U256::from_le_words).collect::<Vec<_>>(), near, confirms, threads)
            }
            Width::W320 => {
                self.curves(&prints().map(U320::from_le_words).collect::<Vec<_>>(), near, confirms, threads)
            }
        }
    }

    /// The largest number of pairs that are confirmed: 20 for each document of the sample, at least
    /// 10,000. Pairs of equal fingerprints are always confirmed.
    #[must_use]
    pub fn most_confirmed(&self) -> u64 {
        (self.num_sampled() as u64 * CONFIRMED_PER_DOCUMENT).max(ALWAYS_CONFIRMED)
    }

    /// One point for each k up to the largest one.
    pub(super) fn curve(&self, neighbours: &dyn Neighbours, k: u32, threads: usize) -> Vec<Point> {
        let none = vec![PointSums::default(); k as usize + 1];
        let count = |item: usize, counts: &mut Counts, sink: parallel::Sink<'_, Vec<PointSums>>| {
            let first = item * CLUSTERS_AT_ONCE;
            let mut sums = none.clone();
            for cluster in first..self.num_clusters().min(first + CLUSTERS_AT_ONCE) {
                counts.clear();
                neighbours.count(self, cluster, counts);
                PointSums::add_cluster(&mut sums, counts, self.positives[cluster]);
            }
            // The consumer never stops.
            let _ = sink(sums);
            Ok(())
        };
        let mut total = none.clone();
        let add = |sums: Vec<PointSums>| {
            total.iter_mut().zip(sums).for_each(|(total, sums)| *total += sums);
            Ok::<(), Infallible>(())
        };
        let items = self.num_clusters().div_ceil(CLUSTERS_AT_ONCE);
        let Ok(()) = parallel::ordered(threads, items, || Counts::new(neighbours.most()), count, add);
        let positives = Positives::of_clusters(&self.positives);
        (0..).zip(&total).map(|(k, sums)| sums.point(k, positives)).collect()
    }

    /// All counted pairs that a search finds.
    fn found_pairs(&self, neighbours: &dyn Neighbours, threads: usize) -> Vec<FoundPair> {
        let find = |item: usize, (): &mut (), sink: parallel::Sink<'_, Vec<FoundPair>>| {
            let mut found = Vec::new();
            for &document in self.sampled.iter().skip(item * DOCUMENTS_AT_ONCE).take(DOCUMENTS_AT_ONCE) {
                neighbours.visit(document, &mut |other, distance| {
                    if document < other || !self.is_sampled[other] {
                        found.push((document.min(other), document.max(other), distance));
                    }
                });
            }
            let _ = sink(found);
            Ok(())
        };
        let mut pairs = Vec::new();
        let extend = |found: Vec<FoundPair>| {
            pairs.extend(found);
            Ok::<(), Infallible>(())
        };
        let items = self.sampled.len().div_ceil(DOCUMENTS_AT_ONCE);
        let Ok(()) = parallel::ordered(threads, items, || (), find, extend);
        pairs
    }
}

fn neighbours<'a, F: Fingerprint>(study: &Study, prints: &'a [F], near: Near) -> Box<dyn Neighbours + 'a> {
    match near.bands {
        None => Box::new(Hamming::new(study, prints, near.k)),
        Some(bands) => Box::new(Banded::new(prints, bands, near.k)),
    }
}

/// For each pair whether it is confirmed.
fn confirmed(pairs: &[FoundPair], confirms: Confirms<'_>, threads: usize) -> Vec<bool> {
    let chunks: Vec<&[FoundPair]> = pairs.chunks(PAIRS_AT_ONCE).collect();
    let compare = |item: usize, (): &mut (), sink: parallel::Sink<'_, Vec<bool>>| {
        let _ = sink(chunks[item].iter().map(|&(a, b, _)| confirms(a, b)).collect());
        Ok(())
    };
    let mut all = Vec::with_capacity(pairs.len());
    let extend = |confirmed: Vec<bool>| {
        all.extend(confirmed);
        Ok::<(), Infallible>(())
    };
    let Ok(()) = parallel::ordered(threads, chunks.len(), || (), compare, extend);
    all
}

#[cfg(test)]
mod tests {
    use super::super::labels::Labels;
    use super::super::widest;
    use super::*;
    use nearprint::Width;
    use proptest::prelude::*;

    fn plain() -> Near {
        widest(None, Width::W64)
    }

    /// Of the values in the tests, some share a band, and one is 0.
    fn banded() -> Near {
        widest(Some("3x8".parse().unwrap()), Width::W64)
    }

    fn labels() -> [Labels; 2] {
        [Labels::Pairs(vec![(0, 2), (1, 3), (2, 3)]), Labels::Groups(vec![vec![0, 2, 3]])]
    }

    /// Found pairs and hits within each k, by comparing all pairs.
    fn by_brute_force(prints: &[u64], near: Near, study: &Study) -> Vec<(u64, u64)> {
        let within = |k| {
            let (mut found, mut hits) = (0, 0);
            for b in 0..prints.len() {
                for a in (0..b).filter(|&a| study.is_sampled[a] || study.is_sampled[b]) {
                    let near = Near { k, ..near };
                    if near.distance(prints[a], prints[b]).is_some() {
                        found += 1;
                        let is_hit = match &study.labels {
                            Labels::Pairs(pairs) => pairs.contains(&(a, b)),
                            Labels::Groups(groups) => {
                                groups.iter().any(|group| group.contains(&a) && group.contains(&b))
                            }
                        };
                        hits += u64::from(is_hit);
                    }
                }
            }
            (found, hits)
        };
        (0..=near.k).map(within).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn curves_count_all_pairs_of_the_sample(
            picks in prop::collection::vec(any::<u8>(), 4..160), sample_size in 1usize..200,
        ) {
            let prints: Vec<u64> = picks.iter().map(|pick| u64::from(*pick) * 0x0101_0101_0101_0101).collect();
            for near in [plain(), banded()] {
                for labels in labels() {
                    let study = Study::new(labels, prints.len(), sample_size);
                    let curves = study.curves(&prints, near, &[&|_, _| true, &|_, _| false], 2);
                    let seen: Vec<_> = curves[0].iter().map(|point| (point.found, point.hits)).collect();
                    prop_assert_eq!(seen, by_brute_force(&prints, near, &study));
                    prop_assert_eq!(&curves[1][..], &curves[0][..curves[1].len()]);
                    prop_assert_eq!(&study.curves(&prints, near, &[], 1)[0], &curves[0]);
                    prop_assert!(curves[2].iter().all(|point| point.found == 0));
                }
            }
        }
    }

    #[test]
    fn curves_count_found_pairs_and_hits() {
        let prints = [0u64, 0, 0b1, 0b1110, u64::MAX];
        let points =
            |labels: Labels| Study::new(labels, 5, 5).curves(&prints, plain(), &[], 1).swap_remove(0);
        let pairs = Labels::Pairs(vec![(0, 1), (0, 4), (2, 3)]);
        let seen: Vec<_> = points(pairs).iter().map(|point| (point.k, point.found, point.hits)).collect();
        assert_eq!(seen[..5], [(0, 1, 1), (1, 3, 1), (2, 3, 1), (3, 5, 1), (4, 6, 2)]);
        assert_eq!(seen.len(), 33, "to half of the bits");
        let groups = Labels::Groups(vec![vec![0, 1, 2], vec![3, 4]]);
        let last = points(groups)[16];
        assert_eq!((last.found, last.hits, last.positives), (6, 3, 4));
        assert_eq!((last.precision(), last.recall(), last.f1()), (0.5, 0.75, 0.6));
    }

    #[test]
    fn without_a_found_pair_precision_is_1_and_unknown() {
        let study = Study::new(Labels::Pairs(vec![(0, 1)]), 2, 2);
        let point = study.curves(&[0u64, 1], plain(), &[], 1)[0][0];
        assert_eq!((point.precision(), point.recall()), (1.0, 0.0));
        assert_eq!((point.precision_interval.low, point.precision_interval.high), (0.0, 1.0));
    }

    #[test]
    fn confirmation_ends_where_there_are_too_many_pairs() {
        // Two values, each of them 150 times: 22,350 pairs at a distance of 0, and 22,500 at 4.
        let prints: Vec<u64> = (0..300).map(|at| at % 2 * 0b1111).collect();
        let study = Study::new(Labels::Pairs(vec![(0, 1)]), 300, 300);
        assert_eq!(study.most_confirmed(), 10_000);
        let curves = study.curves(&prints, plain(), &[&|_, _| true], 2);
        assert_eq!((curves[0].len(), curves[1].len()), (33, 1));
        assert_eq!(curves[1][0], curves[0][0]);
        assert_eq!((curves[0][4].found, curves[0][3].found), (44_850, 22_350));
    }

    /// Intervals of samples contain what all documents show. The documents are put into another
    /// order for each sample.
    #[test]
    fn intervals_of_samples_contain_the_precision_and_recall_of_all_documents() {
        use nearprint::internal::mix64;
        const DOCUMENTS: usize = 1500;
        // Groups of 1 to 6 versions. The later ones differ in more bits. One value in five
        // has 40 leading zeros, so that it is near others by accident.
        let (mut prints, mut groups) = (Vec::new(), Vec::new());
        for seed in 1.. {
            let value = if seed % 5 == 0 { mix64(seed) >> 40 } else { mix64(seed) };
            let versions = 1 + mix64(seed ^ 0x5eed) % 6;
            for version in 0..versions.min((DOCUMENTS - prints.len()) as u64) {
                let flipped = (0..version * 2).fold(0, |bits, at| bits | 1u64 << (mix64(value ^ at) % 64));
                prints.push(value ^ flipped);
                groups.push(seed);
            }
            if prints.len() == DOCUMENTS {
                break;
            }
        }
        let labelled = |order: &[usize]| {
            let mut members = std::collections::BTreeMap::<u64, Vec<usize>>::new();
            for (at, &document) in order.iter().enumerate() {
                members.entry(groups[document]).or_default().push(at);
            }
            Labels::Groups(members.into_values().filter(|group| group.len() > 1).collect())
        };
        let point = |order: &[usize], sample_size| {
            let study = Study::new(labelled(order), DOCUMENTS, sample_size);
            let prints: Vec<u64> = order.iter().map(|&document| prints[document]).collect();
            study.curves(&prints, Near::from(7), &[], 1)[0][7]
        };
        let mut order: Vec<usize> = (0..DOCUMENTS).collect();
        let all = point(&order, DOCUMENTS);
        assert!((0.3..0.97).contains(&all.precision()) && (0.3..0.97).contains(&all.recall()), "{all:?}");
        let (mut precise, mut recalled) = (0, 0);
        const SAMPLES: u32 = 200;
        for round in 0..SAMPLES {
            order.sort_by_key(|&document| mix64(document as u64 ^ u64::from(round + 1) << 32));
            let sampled = point(&order, 200);
            let (precision, recall) = (sampled.precision_interval, sampled.recall_interval);
            precise += u32::from((precision.low..=precision.high).contains(&all.precision()));
            recalled += u32::from((recall.low..=recall.high).contains(&all.recall()));
        }
        assert!(precise >= SAMPLES * 90 / 100 && recalled >= SAMPLES * 90 / 100, "{precise} {recalled}");
    }
}
