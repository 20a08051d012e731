//! Disjoint sets.

use crate::kernel::prefetch;
use crate::util::cast::to_u32;

/// Disjoint sets over `0..n` (Galler and Fischer, 1964), with path halving. The root of a set is
/// its smallest element, so the sets do not depend on the order of unions. 4 bytes per element.
#[derive(Debug, Default)]
pub struct UnionFind {
    parents: Vec<u32>,
}

impl UnionFind {
    /// `count` sets of one element each; at most 2^32.
    pub fn new(count: usize) -> Self {
        Self { parents: (0..=u32::MAX).take(count).collect() }
    }

    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        self.parents.len()
    }

    /// Adds a set of one element, and returns it. `None` where there are 2^32 elements.
    pub fn push(&mut self) -> Option<u32> {
        let element = u32::try_from(self.parents.len()).ok()?;
        self.parents.push(element);
        Some(element)
    }

    /// Makes `count` sets of one element each again.
    pub(super) fn reset(&mut self, count: usize) {
        self.parents.clear();
        self.parents.extend(0..to_u32(count));
    }

    /// The smallest element of a set.
    pub fn root(&mut self, element: u32) -> u32 {
        let mut at = element;
        while self.parents[at as usize] != at {
            let parent = self.parents[at as usize];
            self.parents[at as usize] = self.parents[parent as usize];
            at = self.parents[at as usize];
        }
        at
    }

    /// Unites the sets of elements 0 and 1, 2 and 3, and so on.
    pub(super) fn unite_pairs(&mut self, ends: &[u32]) {
        ends.iter().for_each(|&end| prefetch(&self.parents, end as usize));
        ends.as_chunks().0.iter().for_each(|&[a, b]| {
            self.unite(a, b);
        });
    }

    /// Unites two sets. False if they are one set already.
    pub fn unite(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
        a != b
    }
}
