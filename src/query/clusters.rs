//! Clusters: connected components of the pairs within k.

use super::join::Pair;
use super::union_find::UnionFind;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::kernel::prefetch;
use crate::util::cast::{to_u32, to_usize};

/// A fingerprint of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member<T> {
    /// Number of the cluster: the index of its smallest fingerprint.
    pub(crate) cluster: u32,
    /// Index among the distinct fingerprints in ascending order.
    pub(crate) index: usize,
    /// The caller's name for it.
    pub(crate) value: T,
}

/// The members of all clusters, by (cluster, index). A set of one element is a cluster if `alone`
/// says so. Calls `value` with ascending indices.
pub(crate) fn members<T>(
    mut sets: UnionFind,
    alone: Vec<bool>,
    mut value: impl FnMut(usize) -> Result<T>,
) -> Result<Vec<Member<T>>> {
    let mut counts = alone;
    counts.resize(sets.len(), false);
    for index in 0..to_u32(counts.len()) {
        let root = sets.root(index);
        if root != index {
            counts[root as usize] = true;
        }
    }
    let mut members = Vec::new();
    for index in 0..counts.len() {
        let cluster = sets.root(to_u32(index));
        if counts[cluster as usize] {
            members.push(Member { cluster, index, value: value(index)? });
        }
    }
    members.sort_by_key(|member| member.cluster);
    Ok(members)
}

/// Splits members into clusters.
pub(crate) fn by_cluster<T>(members: &[Member<T>]) -> impl Iterator<Item = &[Member<T>]> {
    members.chunk_by(|a, b| a.cluster == b.cluster)
}

/// Ascending distinct fingerprints with an index over their leading bits. A look-up reads two cache
/// lines instead of one for each step of a binary search.
pub(crate) struct SortedIndex<'a, F> {
    values: &'a [F],
    bits: u32,
    /// Start of each bucket, and the end of the last one.
    starts: Vec<u32>,
}

/// Pairs whose ends are looked up together.
pub(super) const LOOKED_UP_TOGETHER: usize = 64;

impl<'a, F: Fingerprint> SortedIndex<'a, F> {
    /// Indexes at most 2^32 - 1 values, with half a byte for each.
    pub(super) fn new(values: &'a [F]) -> Self {
        let bits = values.len().max(1).ilog2().saturating_sub(3).min(28);
        let mut starts = vec![0; (1 << bits) + 1];
        let (mut bucket, mut at) = (0, 0);
        for value in values {
            let own = to_usize(value.bits(0, bits));
            while bucket < own {
                bucket += 1;
                starts[bucket] = at;
            }
            at += 1;
        }
        starts[bucket + 1..].fill(at);
        Self { values, bits, starts }
    }

    fn bucket(&self, value: F) -> usize {
        to_usize(value.bits(0, self.bits))
    }

    /// The index of a value.
    pub(super) fn index_of(&self, value: F) -> Option<u32> {
        let bucket = self.bucket(value);
        let (start, end) = (self.starts[bucket], self.starts[bucket + 1]);
        let found = self.values[start as usize..end as usize].binary_search(&value).ok()?;
        Some(start + to_u32(found))
    }

    /// Prefetches what looking up the ends of pairs reads.
    pub(super) fn prefetch(&self, pairs: &[Pair<F>]) {
        let ends = || pairs.iter().flat_map(|pair| [pair.a, pair.b]);
        ends().for_each(|end| prefetch(&self.starts, self.bucket(end)));
        ends().for_each(|end| prefetch(self.values, self.starts[self.bucket(end)] as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::mix64;

    #[test]
    fn sorted_values_are_found_and_others_are_not() {
        for (len, shift) in [(0, 0), (1, 0), (7, 0), (5000, 0), (5000, 40), (5000, 63)] {
            let mut values: Vec<u64> = (0..len).map(|at| mix64(at) >> shift).collect();
            values.sort_unstable();
            values.dedup();
            let sorted = SortedIndex::new(&values);
            for (at, &value) in values.iter().enumerate() {
                assert_eq!(sorted.index_of(value), Some(to_u32(at)), "{len} >> {shift}");
            }
            for other in (0..100).map(|at| mix64(at + 10_000) >> shift).chain([0, u64::MAX]) {
                let expected = values.binary_search(&other).ok().map(to_u32);
                assert_eq!(sorted.index_of(other), expected);
            }
        }
    }

    #[test]
    fn sets_do_not_depend_on_the_order_of_unions() {
        let pairs = [(5, 3), (9, 5), (1, 2), (3, 9), (7, 8), (8, 2)];
        let mut expected = None;
        for turn in 0..pairs.len() {
            let mut sets = UnionFind::new(10);
            pairs.iter().cycle().skip(turn).take(pairs.len()).for_each(|&(a, b)| {
                sets.unite(a, b);
            });
            let alone = (0..10).map(|index| index == 6).collect();
            let members = members(sets, alone, |index| Ok(index * 10)).unwrap();
            let plain: Vec<(u32, usize)> =
                members.iter().map(|member| (member.cluster, member.index)).collect();
            assert_eq!(plain, [(1, 1), (1, 2), (1, 7), (1, 8), (3, 3), (3, 5), (3, 9), (6, 6)]);
            assert!(members.iter().all(|member| member.value == member.index * 10));
            assert_eq!(*expected.get_or_insert(members.clone()), members);
        }
    }
}
