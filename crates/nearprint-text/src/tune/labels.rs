//! Which documents are near-duplicates.

use std::collections::HashMap;

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

    /// Whether two documents of one cluster are near-duplicates.
    pub(super) fn contains(&self, a: usize, b: usize) -> bool {
        match self {
            Self::Pairs(pairs) => pairs.binary_search(&(a.min(b), a.max(b))).is_ok(),
            Self::Groups(_) => true,
        }
    }

    /// For each of `len` documents the number of its cluster. Near-duplicates of near-duplicates are
    /// in one cluster. Clusters have the numbers from 0 on, in the order of their first documents.
    ///
    /// # Panics
    /// If a label is the index of no document.
    pub(super) fn clusters(&self, len: usize) -> Vec<usize> {
        let mut parents: Vec<usize> = (0..len).collect();
        match self {
            Self::Pairs(pairs) => pairs.iter().for_each(|&(a, b)| unite(&mut parents, a, b)),
            Self::Groups(groups) => {
                for pair in groups.iter().flat_map(|group| group.windows(2)) {
                    unite(&mut parents, pair[0], pair[1]);
                }
            }
        }
        let mut numbers = HashMap::new();
        let mut number = |document| {
            let next = numbers.len();
            *numbers.entry(root(&mut parents, document)).or_insert(next)
        };
        (0..len).map(&mut number).collect()
    }
}

fn unite(parents: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(parents, a), root(parents, b));
    parents[a.max(b)] = a.min(b);
}

/// The representative of a document, with path halving.
fn root(parents: &mut [usize], mut document: usize) -> usize {
    while parents[document] != document {
        parents[document] = parents[parents[document]];
        document = parents[document];
    }
    document
}

/// The number of pairs in a list of `len` documents.
pub(super) fn all_pairs(len: usize) -> u64 {
    let len = len as u64;
    len * len.saturating_sub(1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_duplicates_of_near_duplicates_are_one_cluster() {
        let pairs = Labels::Pairs(vec![(0, 4), (1, 2), (3, 4)]);
        assert_eq!(pairs.clusters(6), [0, 1, 1, 0, 0, 2]);
        assert!(pairs.contains(4, 0) && !pairs.contains(0, 3));
        let groups = Labels::Groups(vec![vec![5, 1, 3], vec![0, 4]]);
        assert_eq!(groups.clusters(6), [0, 1, 2, 1, 0, 1]);
        assert_eq!((pairs.num_positives(), groups.num_positives()), (3, 4));
    }
}
