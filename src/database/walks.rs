//! Walks over a whole snapshot with visitors: rows, pairs, clusters.
//!
//! Visitors need no thread of their own and can fail with errors of the caller's. `streams` offers
//! the same as iterators.

use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::fingerprint::{Distance, Fingerprint, Row};
use crate::query::Pair;
use crate::query::clusters::{by_cluster, members};
use crate::query::join::Wanted;
use crate::query::union_find::UnionFind;
use crate::util::visitor::CallerError;

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
        self.merged().rows()?.try_for_each(|row| visit(row?))
    }

    /// Visits all pairs of distinct fingerprints within `k` bits, in blocks, each pair once, in an
    /// order that depends only on the database and k. An error of `visit` ends the search and is
    /// returned.
    ///
    /// Memory does not grow with the number of pairs. Where the plan for `k` is a scan, or runs
    /// have different layouts, all distinct fingerprints are held in memory, twice.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Interrupted`], and errors of `visit`.
    pub fn visit_pairs<E: From<Error>>(
        &self,
        k: u32,
        mut visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut caller = CallerError::new();
        let k = Distance::saturating::<F>(k);
        let done = self.merged().pairs(k, Wanted::All, &mut |block| caller.keep(visit(block)));
        caller.or(done)
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
            group.iter().try_for_each(|&earlier| visit(earlier, row, 0))?;
            group.push(row);
        }
        let (mut ids_a, mut ids_b) = (Vec::new(), Vec::new());
        self.visit_pairs(k, |block| {
            for pair in block {
                self.view().ids_of(pair.a, &mut ids_a)?;
                self.view().ids_of(pair.b, &mut ids_b)?;
                for &id in &ids_a {
                    let a = Row { fingerprint: pair.a, id };
                    let row_b = |&id: &u64| Row { fingerprint: pair.b, id };
                    ids_b.iter().map(row_b).try_for_each(|b| visit(a, b, pair.distance))?;
                }
            }
            Ok(())
        })
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
        mut visit: impl FnMut(&[Row<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
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
