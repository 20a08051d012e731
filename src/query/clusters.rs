//! Clusters: connected components of the pairs within k.

use crate::cast::to_u32;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::kernel::prefetch;

/// A fingerprint of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member<T> {
    /// Number of the cluster: the index of its smallest fingerprint.
    pub(crate) cluster: u32,
    /// Index among the distinct fingerprints in ascending order.
    pub(crate) index: usize,
    /// What the caller knows it by.
    pub(crate) value: T,
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

    /// Asks for what the next union with an element reads first.
    #[inline]
    pub(crate) fn prefetch(&self, element: u32) {
        prefetch(&self.parents, element as usize);
    }

    pub(crate) fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    /// The members of all clusters, by (cluster, index): of the sets of several elements, and of those of one
    /// that is `alone` enough for a cluster. `value` is asked in ascending order of the indices.
    pub(crate) fn members<T>(
        mut self,
        alone: Vec<bool>,
        mut value: impl FnMut(usize) -> Result<T>,
    ) -> Result<Vec<Member<T>>> {
        let mut counts = alone;
        counts.resize(self.parents.len(), false);
        for index in 0..to_u32(counts.len()) {
            let root = self.root(index);
            if root != index {
                counts[root as usize] = true;
            }
        }
        let mut members = Vec::new();
        for index in 0..counts.len() {
            let cluster = self.root(to_u32(index));
            if counts[cluster as usize] {
                members.push(Member { cluster, index, value: value(index)? });
            }
        }
        members.sort_by_key(|member| member.cluster);
        Ok(members)
    }
}

/// Groups neighbouring members of the same cluster.
pub(crate) fn by_cluster<T>(members: &[Member<T>]) -> impl Iterator<Item = &[Member<T>]> {
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
            let alone = (0..10).map(|index| index == 6).collect();
            let members = sets.members(alone, |index| Ok(index * 10)).unwrap();
            let plain: Vec<(u32, usize)> =
                members.iter().map(|member| (member.cluster, member.index)).collect();
            assert_eq!(plain, [(1, 1), (1, 2), (1, 7), (1, 8), (3, 3), (3, 5), (3, 9), (6, 6)]);
            assert!(members.iter().all(|member| member.value == member.index * 10));
            assert_eq!(*expected.get_or_insert(members.clone()), members);
        }
    }
}
