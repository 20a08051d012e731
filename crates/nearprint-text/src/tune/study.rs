//! The documents of a measurement: which of them are compared with all others, and what depends on
//! what.

use super::labels::{Labels, all_pairs};
use nearprint::internal::mix64;

/// The indexes of a sample of `size` of `len` documents, ascending; all of them if there are no more.
///
/// The documents are chosen by a hash of their indexes, so a call returns the same ones each time.
#[must_use]
pub fn sample(len: usize, size: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = (0..len).collect();
    if size < len {
        chosen.sort_unstable_by_key(|&index| mix64(index as u64 + 1));
        chosen.truncate(size);
        chosen.sort_unstable();
    }
    chosen
}

/// Documents and their [`Labels`], ready to measure fingerprints of them.
///
/// All pairs with at least one document of a [`sample`] are counted. Documents that depend on each
/// other form a cluster: a group or, of labelled pairs, near-duplicates and the near-duplicates of
/// those. Takes about 40 bytes a document.
#[derive(Clone, Debug)]
pub struct Study {
    pub(super) labels: Labels,
    /// For each document, whether it is in the sample.
    pub(super) is_sampled: Vec<bool>,
    /// For each document the number of its cluster.
    pub(super) cluster_of: Vec<usize>,
    /// The documents of the first cluster, then the documents of the second one, and so on.
    members: Vec<usize>,
    /// Where each cluster begins in `members`; then the end.
    starts: Vec<usize>,
    /// The documents of the sample, and all the others.
    pub(super) sampled: Vec<usize>,
    pub(super) others: Vec<usize>,
    /// For each cluster the number of its counted near-duplicates.
    pub(super) positives: Vec<u64>,
}

impl Study {
    /// A study of `len` documents by a [`sample`] of `sample_size`.
    ///
    /// # Panics
    /// If a label is the index of no document.
    #[must_use]
    pub fn new(labels: Labels, len: usize, sample_size: usize) -> Self {
        let sampled = sample(len, sample_size);
        let mut is_sampled = vec![false; len];
        sampled.iter().for_each(|&index| is_sampled[index] = true);
        let cluster_of = labels.clusters(len);
        let mut members: Vec<usize> = (0..len).collect();
        members.sort_by_key(|&index| cluster_of[index]);
        let mut starts: Vec<usize> =
            members.chunk_by(|a, b| cluster_of[*a] == cluster_of[*b]).map(<[_]>::len).collect();
        let mut end = 0;
        for start in &mut starts {
            end += std::mem::replace(start, end);
        }
        starts.push(len);
        let others = (0..len).filter(|&index| !is_sampled[index]).collect();
        let mut study =
            Self { labels, is_sampled, cluster_of, members, starts, sampled, others, positives: Vec::new() };
        study.positives = study.counted_positives();
        study
    }

    fn counted_positives(&self) -> Vec<u64> {
        let mut positives = vec![0; self.num_clusters()];
        match &self.labels {
            Labels::Pairs(pairs) => {
                for &(a, b) in pairs.iter().filter(|(a, b)| self.is_sampled[*a] || self.is_sampled[*b]) {
                    debug_assert!(a < b, "the smaller index is the first");
                    positives[self.cluster_of[a]] += 1;
                }
            }
            Labels::Groups(_) => {
                for (cluster, positives) in positives.iter_mut().enumerate() {
                    let members = self.members(cluster);
                    let not_sampled = members.iter().filter(|&&index| !self.is_sampled[index]).count();
                    *positives = all_pairs(members.len()) - all_pairs(not_sampled);
                }
            }
        }
        positives
    }

    pub(super) fn num_clusters(&self) -> usize {
        self.starts.len() - 1
    }

    /// The documents of a cluster.
    pub(super) fn members(&self, cluster: usize) -> &[usize] {
        &self.members[self.starts[cluster]..self.starts[cluster + 1]]
    }

    /// The number of documents.
    #[must_use]
    pub fn num_documents(&self) -> usize {
        self.is_sampled.len()
    }

    /// The number of documents in the sample.
    #[must_use]
    pub fn num_sampled(&self) -> usize {
        self.sampled.len()
    }

    /// The number of pairs that are compared: those with a document of the sample.
    #[must_use]
    pub fn num_pairs(&self) -> u64 {
        all_pairs(self.num_documents()) - all_pairs(self.others.len())
    }

    /// How many of the compared pairs are near-duplicates.
    #[must_use]
    pub fn num_positives(&self) -> u64 {
        self.positives.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_the_same_each_time_and_of_all_parts() {
        assert_eq!(sample(3, 3), [0, 1, 2]);
        assert_eq!(sample(0, 3), [0usize; 0]);
        let some = sample(10_000, 1000);
        assert_eq!((some.len(), &some), (1000, &sample(10_000, 1000)));
        let first_half = some.iter().filter(|&&index| index < 5000).count();
        assert!((430..570).contains(&first_half), "{first_half}");
    }

    #[test]
    fn pairs_with_a_document_of_the_sample_count() {
        let groups = Labels::Groups(vec![(0..10).collect(), vec![12, 11]]);
        let pairs: Vec<(usize, usize)> = (0..10).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        let pairs = Labels::Pairs([&pairs[..], &[(11, 12)]].concat());
        let whole = Study::new(groups.clone(), 20, 20);
        assert_eq!((whole.num_pairs(), whole.num_positives()), (190, 46));
        let sampled = sample(20, 4);
        let is_counted = |(a, b): &(usize, usize)| sampled.contains(a) || sampled.contains(b);
        let Labels::Pairs(all) = &pairs else { unreachable!() };
        let positives = all.iter().filter(|pair| is_counted(pair)).count() as u64;
        for labels in [groups, pairs.clone()] {
            let study = Study::new(labels, 20, 4);
            assert_eq!((study.num_pairs(), study.num_positives()), (4 * 16 + 6, positives));
        }
    }
}
