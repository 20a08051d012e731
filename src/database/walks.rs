//! Walks over a whole snapshot with visitors: rows, pairs, clusters.
//!
//! Visitors need no thread of their own and can fail with errors of the caller's. `streams` offers
//! the same as iterators.

use super::snapshot::Snapshot;
use super::streams::RowPair;
use crate::error::{Error, Result};
use crate::fingerprint::{Distance, Fingerprint, Row};
use crate::query::Pair;
use crate::query::clusters::{by_cluster, members};
use crate::query::join::Wanted;
use crate::query::union_find::UnionFind;
use crate::util::visitor::{InBlocks, visiting};

/// Number of cluster members ahead whose ids are prefetched.
const MEMBERS_AHEAD: usize = 32;

impl<F: Fingerprint> Snapshot<F> {
    /// Visits every row, by (fingerprint, id). An error of `visit` ends the walk and is returned.
    ///
    /// # Errors
    /// [`Error::Corrupt`], and errors of `visit`.
    pub fn visit_rows<E: From<Error>>(
        &self,
        mut visit: impl FnMut(Row<F>) -> Result<(), E>,
    ) -> Result<(), E> {
        let visit = |rows: &[Row<F>]| rows.iter().try_for_each(|&row| visit(row));
        visiting(visit, |visit| F::visit_rows(self, visit))
    }

    /// Visits all pairs of distinct fingerprints within `k` bits, in blocks, each pair once, in an
    /// order that depends only on the database and k. An error of `visit` ends the search and is
    /// returned.
    ///
    /// Memory does not grow with the number of pairs. If the plan for `k` is a scan, or runs have different
    /// layouts, all distinct fingerprints are held in memory twice.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Interrupted`], and errors of `visit`.
    pub fn visit_pairs<E: From<Error>>(
        &self,
        k: u32,
        visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        visiting(visit, |visit| F::visit_pairs(self, k, visit))
    }

    /// Visits all pairs of rows within `k` bits, equal fingerprints included, as `visit(a, b,
    /// distance)`. The row of the smaller fingerprint is first; of equal fingerprints the one of
    /// the smaller id.
    ///
    /// Rows of equal fingerprints come first, then the pairs in the order of
    /// [`visit_pairs`](Snapshot::visit_pairs).
    ///
    /// # Errors
    /// As [`visit_pairs`](Snapshot::visit_pairs).
    pub fn visit_row_pairs<E: From<Error>>(
        &self,
        k: u32,
        mut visit: impl FnMut(Row<F>, Row<F>, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        let visit = |pairs: &[RowPair<F>]| {
            pairs.iter().try_for_each(|&RowPair { a, b, distance }| visit(a, b, distance))
        };
        visiting(visit, |visit| F::visit_row_pairs(self, k, visit))
    }

    /// Visits the connected components of the pairs within `k` bits that have two rows or more.
    ///
    /// `visit` receives each cluster's rows by (fingerprint, id). Clusters are ordered by their
    /// smallest fingerprint. An error of `visit` ends the walk and is returned.
    ///
    /// Memory: 5 bytes per distinct fingerprint (14 where the database has several runs), 24 per
    /// fingerprint in a cluster, the rows of one cluster, and the memory of
    /// [`visit_pairs`](Snapshot::visit_pairs).
    ///
    /// # Errors
    /// As [`visit_pairs`](Snapshot::visit_pairs); [`Error::Limit`] for more than 2^32 - 1 distinct
    /// fingerprints.
    pub fn visit_clusters<E: From<Error>>(
        &self,
        k: u32,
        visit: impl FnMut(&[Row<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        visiting(visit, |visit| F::visit_clusters(self, k, visit))
    }
}

impl<F: Fingerprint> Snapshot<F> {
    /// The rows, in blocks. What comes before damage is visited.
    pub(super) fn row_blocks(&self, visit: &mut dyn FnMut(&[Row<F>]) -> Result<()>) -> Result<()> {
        let mut block = InBlocks::new(visit);
        let done = self.merged().rows()?.try_for_each(|row| block.push(row?));
        block.end(done)
    }

    pub(super) fn pair_blocks(&self, k: u32, visit: &mut dyn FnMut(&[Pair<F>]) -> Result<()>) -> Result<()> {
        self.merged().pairs(Distance::saturating::<F>(k), Wanted::All, visit)
    }

    pub(super) fn row_pair_blocks(
        &self,
        k: u32,
        visit: &mut dyn FnMut(&[RowPair<F>]) -> Result<()>,
    ) -> Result<()> {
        let mut block = InBlocks::new(visit);
        let done = self.each_row_pair(k, &mut |pair| block.push(pair));
        block.end(done)
    }

    fn each_row_pair(&self, k: u32, visit: &mut dyn FnMut(RowPair<F>) -> Result<()>) -> Result<()> {
        let mut group: Vec<Row<F>> = Vec::new();
        let metric = self.view().metric();
        for row in self
            .merged()
            .rows()?
            .filter(|row| row.as_ref().map_or(true, |row| metric.admits(row.fingerprint)))
        {
            let row = row?;
            if group.first().is_some_and(|first| first.fingerprint != row.fingerprint) {
                group.clear();
            }
            group.iter().try_for_each(|&a| visit(RowPair { a, b: row, distance: 0 }))?;
            group.push(row);
        }
        let (mut ids_a, mut ids_b) = (Vec::new(), Vec::new());
        self.pair_blocks(k, &mut |block| {
            for pair in block {
                self.view().ids_of(pair.a, &mut ids_a)?;
                self.view().ids_of(pair.b, &mut ids_b)?;
                for &id in &ids_a {
                    let a = Row { fingerprint: pair.a, id };
                    let row_b = |&id: &u64| Row { fingerprint: pair.b, id };
                    ids_b
                        .iter()
                        .map(row_b)
                        .try_for_each(|b| visit(RowPair { a, b, distance: pair.distance }))?;
                }
            }
            Ok(())
        })
    }

    pub(super) fn each_cluster(&self, k: u32, visit: &mut dyn FnMut(&[Row<F>]) -> Result<()>) -> Result<()> {
        let merged = self.merged();
        let order = merged.order()?;
        let mut sets = UnionFind::new(order.len());
        let numbers = order.numbers();
        let k = Distance::saturating::<F>(k);
        merged.pairs(k, Wanted::Forest, &mut |block| numbers.unite(block, &mut sets))?;
        drop(numbers);
        let mut values = order.ascending();
        let members = members(sets, order.with_several_ids(&merged)?, |index| values.at(index))?;
        let (mut rows, mut ids) = (Vec::new(), Vec::new());
        let mut ahead = members.iter().skip(MEMBERS_AHEAD);
        for cluster in by_cluster(&members) {
            rows.clear();
            for member in cluster {
                ahead.next().map_or(Ok(()), |member| order.prefetch_ids(member))?;
                order.ids_of(&merged, member, &mut ids)?;
                rows.extend(ids.iter().map(|&id| Row { fingerprint: member.value, id }));
            }
            visit(&rows)?;
        }
        Ok(())
    }
}
