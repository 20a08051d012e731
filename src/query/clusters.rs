//! Clusters: connected components of the pairs within k.

use crate::cast::to_u32;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// A fingerprint of a cluster, with its cluster's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) cluster: u32,
    /// Index among the distinct fingerprints in ascending order.
    pub(crate) index: usize,
}

/// Disjoint sets over `0..n` (Galler and Fischer, 1964), with path halving. The root of a set is its
/// smallest element, so the sets do not depend on the order of unions. 4 bytes per element.
#[derive(Debug)]
pub(crate) struct UnionFind {
    parents: Vec<u32>,
}

impl UnionFind {
    /// `count` sets of one element each; at most 2^32.
    pub(crate) fn new(count: usize) -> Self {
        Self { parents: (0..=u32::MAX).take(count).collect() }
    }

    pub(crate) fn root(&mut self, element: u32) -> u32 {
        let mut at = element;
        while self.parents[at as usize] != at {
            let parent = self.parents[at as usize];
            self.parents[at as usize] = self.parents[parent as usize];
            at = self.parents[at as usize];
        }
        at
    }

    pub(crate) fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    /// The members of all sets that `count` as clusters, by (cluster, index); clusters are numbered
    /// by their smallest element. `counts(index)` tells whether an element is a cluster by itself.
    pub(crate) fn members(mut self, mut counts: impl FnMut(usize) -> Result<bool>) -> Result<Vec<Member>> {
        let len = self.parents.len();
        let mut joined = vec![false; len];
        for index in 0..to_u32(len) {
            let root = self.root(index);
            if root != index {
                joined[root as usize] = true;
            }
        }
        let mut numbers = std::collections::HashMap::new();
        let mut members = Vec::new();
        for index in 0..len {
            let root = self.root(to_u32(index));
            if joined[root as usize] || counts(index)? {
                let next = to_u32(numbers.len());
                let cluster = *numbers.entry(root).or_insert(next);
                members.push(Member { cluster, index });
            }
        }
        members.sort_by_key(|member| member.cluster);
        Ok(members)
    }
}

/// Groups neighbouring members of the same cluster.
pub(crate) fn by_cluster(members: &[Member]) -> impl Iterator<Item = &[Member]> {
    members.chunk_by(|a, b| a.cluster == b.cluster)
}

/// Where a fingerprint stands among ascending distinct ones that contain it.
pub(super) fn index_in<F: Fingerprint>(sorted: &[F], value: F) -> u32 {
    to_u32(sorted.partition_point(|&other| other < value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_do_not_depend_on_the_order_of_unions() {
        let pairs = [(5, 3), (9, 5), (1, 2), (3, 9), (7, 8), (8, 2)];
        let mut expected = None;
        for turn in 0..pairs.len() {
            let mut sets = UnionFind::new(10);
            pairs.iter().cycle().skip(turn).take(pairs.len()).for_each(|&(a, b)| sets.unite(a, b));
            let members = sets.members(|index| Ok(index == 6)).unwrap();
            let plain: Vec<(u32, usize)> =
                members.iter().map(|member| (member.cluster, member.index)).collect();
            assert_eq!(plain, [(0, 1), (0, 2), (0, 7), (0, 8), (1, 3), (1, 5), (1, 9), (2, 6)]);
            assert_eq!(*expected.get_or_insert(members.clone()), members);
        }
    }
}
