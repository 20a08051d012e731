//! Pairs between two databases: the fingerprints of the smaller one are queries against the larger
//! one.
//!
//! Both may have different layouts, and the cost grows with the smaller one.

use crate::database::snapshot::Snapshot;
use crate::database::streams::RowPair;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::progress::{ProgressFn, Stage};
use crate::query::{Match, Pair, Query};
use crate::util::visitor::{InBlocks, visiting};

/// Queries of one batch: enough for a batch to be answered table by table.
const QUERIES_AT_ONCE: usize = 1 << 18;

impl<F: Fingerprint> Snapshot<F> {
    /// Visits all pairs of a fingerprint `a` of this database and a fingerprint `b` of another one
    /// within `k` bits, equal ones included, in blocks, each pair once. An error of `visit` ends
    /// the search and is returned.
    ///
    /// The order depends only on both databases and k: pairs are ordered by the fingerprint of the
    /// database that has fewer of them, then by (distance, fingerprint of the other one).
    ///
    /// Costs a walk over the smaller database, and a [query](Snapshot::query_batch) of the larger
    /// one for each of its fingerprints. Memory: 24 bytes for each row of 262,144 fingerprints, and
    /// the memory of the queries.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Interrupted`], and errors of `visit`; [`Error::Incomparable`]
    /// if only one database has bands, or they have different ones.
    ///
    /// ```
    /// use nearprint::{Database, Pair, Schema};
    ///
    /// # let home = tempfile::tempdir()?;
    /// let make = |name: &str, fingerprints: &[u64]| -> nearprint::Result<_> {
    ///     let mut builder = Database::<u64>::build(home.path().join(name), &Schema::new())?;
    ///     fingerprints.iter().try_for_each(|&fingerprint| builder.push(fingerprint).map(drop))?;
    ///     builder.finish()?.snapshot()
    /// };
    /// let (monday, tuesday) = (make("monday.np", &[0b1000, 0xffff])?, make("tuesday.np", &[0b1001, 0xffff])?);
    /// let mut found = Vec::new();
    /// monday.visit_cross(&tuesday, 3, |pairs| Ok::<_, nearprint::Error>(found.extend_from_slice(pairs)))?;
    /// let expected = [(0b1000, 0b1001, 1), (0xffff, 0xffff, 0)];
    /// assert_eq!(found, expected.map(|(a, b, distance)| Pair { a, b, distance }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn visit_cross<E: From<Error>>(
        &self,
        other: &Self,
        k: u32,
        visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        visiting(visit, |visit| F::visit_cross(self, other, k, visit))
    }

    /// Visits all pairs of a row of this database and a row of another one within `k` bits, as
    /// `visit(a, b, distance)`, in the order of [`visit_cross`](Snapshot::visit_cross). Pairs of
    /// the same two fingerprints are ordered by the ids of the smaller database, then by the ids of
    /// the other.
    ///
    /// # Errors
    /// As [`visit_cross`](Snapshot::visit_cross).
    pub fn visit_cross_rows<E: From<Error>>(
        &self,
        other: &Self,
        k: u32,
        mut visit: impl FnMut(Row<F>, Row<F>, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        let visit = |pairs: &[RowPair<F>]| {
            pairs.iter().try_for_each(|&RowPair { a, b, distance }| visit(a, b, distance))
        };
        visiting(visit, |visit| F::visit_cross_rows(self, other, k, visit))
    }
}

impl<F: Fingerprint> Snapshot<F> {
    pub(super) fn cross_blocks(
        &self,
        other: &Self,
        k: u32,
        visit: &mut dyn FnMut(&[Pair<F>]) -> Result<()>,
    ) -> Result<()> {
        let mut block = InBlocks::new(visit);
        let done = self.cross_groups(other, k, &mut |side, rows, matches| {
            let query = rows.first().map(|row| row.fingerprint).unwrap_or_default();
            for found in matches.chunk_by(|one, next| one.fingerprint == next.fingerprint) {
                let (a, b) = side.order(query, found[0].fingerprint);
                block.push(Pair { a, b, distance: found[0].distance })?;
            }
            Ok(())
        });
        block.end(done)
    }

    pub(super) fn cross_row_blocks(
        &self,
        other: &Self,
        k: u32,
        visit: &mut dyn FnMut(&[RowPair<F>]) -> Result<()>,
    ) -> Result<()> {
        let mut block = InBlocks::new(visit);
        let done = self.cross_groups(other, k, &mut |side, rows, matches| {
            for found in matches.chunk_by(|one, next| one.fingerprint == next.fingerprint) {
                for &row in rows {
                    found.iter().try_for_each(|&Match { distance, fingerprint, id }| {
                        let (a, b) = side.order(row, Row { fingerprint, id });
                        block.push(RowPair { a, b, distance })
                    })?;
                }
            }
            Ok(())
        });
        block.end(done)
    }

    fn check_comparable(&self, other: &Self) -> Result<()> {
        if self.bands() == other.bands() {
            return Ok(());
        }
        Err(Error::Incomparable {
            path: self.folder(),
            layout: self.manifest().layout.to_string(),
            other: other.folder(),
            other_layout: other.manifest().layout.to_string(),
        })
    }

    /// Visits the rows of each fingerprint of the smaller database that has matches in the larger
    /// one, with these matches.
    fn cross_groups(&self, other: &Self, k: u32, visit: VisitGroups<'_, F>) -> Result<()> {
        self.check_comparable(other)?;
        let (smaller, larger, side) = match self.stats().fingerprints <= other.stats().fingerprints {
            true => (self, other, Side::First),
            false => (other, self, Side::Second),
        };
        let progress = self.options().counter(Stage::Joining, smaller.stats().fingerprints);
        let mut visit = |rows: &[Row<F>], matches: &[Match<F>]| visit(side, rows, matches);
        let mut batch = CrossedBatch::default();
        for row in smaller.merged().rows()? {
            let row = row?;
            if batch.is_full_for(row) {
                batch.answer(larger, k, &progress, &mut visit)?;
            }
            batch.push(row);
        }
        batch.answer(larger, k, &progress, &mut visit)
    }
}

/// Receives rows of equal fingerprints, and what they match.
type VisitGroups<'a, F> = &'a mut dyn FnMut(Side, &[Row<F>], &[Match<F>]) -> Result<()>;

/// The database whose fingerprints are the queries.
#[derive(Clone, Copy)]
enum Side {
    First,
    Second,
}

impl Side {
    /// Puts the value of the first database first.
    fn order<T>(self, smaller: T, larger: T) -> (T, T) {
        match self {
            Self::First => (smaller, larger),
            Self::Second => (larger, smaller),
        }
    }
}

/// The queries of the next batch, ascending, and their rows.
struct CrossedBatch<F> {
    fingerprints: Vec<F>,
    rows: Vec<Row<F>>,
}

impl<F> Default for CrossedBatch<F> {
    fn default() -> Self {
        Self { fingerprints: Vec::new(), rows: Vec::new() }
    }
}

impl<F: Fingerprint> CrossedBatch<F> {
    fn is_full_for(&self, row: Row<F>) -> bool {
        self.fingerprints.len() == QUERIES_AT_ONCE && self.fingerprints.last() != Some(&row.fingerprint)
    }

    fn push(&mut self, row: Row<F>) {
        if self.fingerprints.last() != Some(&row.fingerprint) {
            self.fingerprints.push(row.fingerprint);
        }
        self.rows.push(row);
    }

    /// Answers the batch and empties it.
    fn answer(
        &mut self,
        larger: &Snapshot<F>,
        k: u32,
        progress: ProgressFn<'_>,
        mut visit: impl FnMut(&[Row<F>], &[Match<F>]) -> Result<()>,
    ) -> Result<()> {
        let mut groups = self.rows.chunk_by(|one, next| one.fingerprint == next.fingerprint);
        larger.answer_batch(&self.fingerprints, Query::within(k), progress, &mut |_, matches| {
            let rows = groups.next().unwrap_or_default();
            if matches.is_empty() { Ok(()) } else { visit(rows, matches) }
        })?;
        self.fingerprints.clear();
        self.rows.clear();
        Ok(())
    }
}
