//! What two databases have in common: the smaller one asks the larger one.
//!
//! No join of tables is needed for this: both need not have the same layout, and the cost grows with the
//! smaller one.

use crate::database::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::progress::{ProgressFn, Stage};
use crate::query::{Match, Pair};
use crate::util::visitor::CallerError;

/// Fingerprints that are asked for together: table by table, which takes many to be worth it.
const QUERIES_AT_ONCE: usize = 1 << 18;
/// Pairs handed on at once.
const PAIRS_AT_ONCE: usize = 1024;

impl<F: Fingerprint> Snapshot<F> {
    /// All pairs of a fingerprint `a` of this database and a fingerprint `b` of another one within `k` bits,
    /// equal ones included, in blocks, each pair once. An error from `visit` ends the search.
    ///
    /// The order depends only on both databases and k: pairs come by the fingerprint of the database that
    /// has fewer of them, then by (distance, fingerprint of the other one).
    ///
    /// Costs a walk over the smaller database, and a [query](Snapshot::query_batch) of the larger one for each
    /// of its fingerprints. Memory: 24 bytes for each row of 262,144 fingerprints, and what the queries take.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt), and whatever `visit` returns.
    ///
    /// ```
    /// use nearprint::{Database, Pair, Schema};
    ///
    /// # let home = tempfile::tempdir()?;
    /// let make = |name: &str, fingerprints: &[u64]| -> nearprint::Result<_> {
    ///     let mut builder = Database::<u64>::build(home.path().join(name), Schema::new())?;
    ///     fingerprints.iter().try_for_each(|&fingerprint| builder.push(fingerprint, None).map(drop))?;
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
        mut visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut pairs = Vec::new();
        self.cross_groups(other, k, |side, rows, matches| -> Result<(), E> {
            let asked_for = rows.first().map(|row| row.fingerprint).unwrap_or_default();
            for found in matches.chunk_by(|one, next| one.fingerprint == next.fingerprint) {
                let (a, b) = side.order(asked_for, found[0].fingerprint);
                pairs.push(Pair { a, b, distance: found[0].distance });
            }
            if pairs.len() < PAIRS_AT_ONCE {
                return Ok(());
            }
            visit(&pairs)?;
            pairs.clear();
            Ok(())
        })?;
        if pairs.is_empty() { Ok(()) } else { visit(&pairs) }
    }

    /// All pairs of a row of this database and a row of another one within `k` bits, as
    /// `visit(a, b, distance)`, in the order of [`visit_cross`](Snapshot::visit_cross), those of two fingerprints by the
    /// ids of the smaller database first.
    ///
    /// # Errors
    /// As [`visit_cross`](Snapshot::visit_cross).
    pub fn visit_cross_rows<E: From<Error>>(
        &self,
        other: &Self,
        k: u32,
        mut visit: impl FnMut(Row<F>, Row<F>, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        self.cross_groups(other, k, |side, rows, matches| {
            for found in matches.chunk_by(|one, next| one.fingerprint == next.fingerprint) {
                for &row in rows {
                    found.iter().try_for_each(|&Match { distance, fingerprint, id }| {
                        let (a, b) = side.order(row, Row { fingerprint, id });
                        visit(a, b, distance)
                    })?;
                }
            }
            Ok(())
        })
    }

    /// Visits the rows of each fingerprint of the smaller database that has something near it in the larger
    /// one, with what that is.
    fn cross_groups<E: From<Error>>(
        &self,
        other: &Self,
        k: u32,
        mut visit: impl FnMut(Side, &[Row<F>], &[Match<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (asking, asked, side) = match self.stats().fingerprints <= other.stats().fingerprints {
            true => (self, other, Side::First),
            false => (other, self, Side::Second),
        };
        let progress = self.options().counter(Stage::Joining, asking.stats().fingerprints);
        let mut caller = CallerError::new();
        let mut visit = |rows: &[Row<F>], matches: &[Match<F>]| caller.keep(visit(side, rows, matches));
        let mut waiting = Waiting::default();
        let walked = asking.visit_rows(|row| {
            if waiting.is_full_for(row) {
                waiting.ask(asked, k, &progress, &mut visit)?;
            }
            waiting.push(row);
            Ok(())
        });
        let done = walked.and_then(|()| waiting.ask(asked, k, &progress, &mut visit));
        caller.or(done)
    }
}

/// Which of two databases asks the other one.
#[derive(Clone, Copy)]
enum Side {
    First,
    Second,
}

impl Side {
    /// What belongs to the first database first.
    fn order<T>(self, asking: T, asked: T) -> (T, T) {
        match self {
            Self::First => (asking, asked),
            Self::Second => (asked, asking),
        }
    }
}

/// Fingerprints that are to be asked for, ascending, and their rows.
struct Waiting<F> {
    fingerprints: Vec<F>,
    rows: Vec<Row<F>>,
}

impl<F> Default for Waiting<F> {
    fn default() -> Self {
        Self { fingerprints: Vec::new(), rows: Vec::new() }
    }
}

impl<F: Fingerprint> Waiting<F> {
    fn is_full_for(&self, row: Row<F>) -> bool {
        self.fingerprints.len() == QUERIES_AT_ONCE && self.fingerprints.last() != Some(&row.fingerprint)
    }

    fn push(&mut self, row: Row<F>) {
        if self.fingerprints.last() != Some(&row.fingerprint) {
            self.fingerprints.push(row.fingerprint);
        }
        self.rows.push(row);
    }

    /// Asks for all of them, and forgets them.
    fn ask(
        &mut self,
        asked: &Snapshot<F>,
        k: u32,
        progress: ProgressFn<'_>,
        mut visit: impl FnMut(&[Row<F>], &[Match<F>]) -> Result<()>,
    ) -> Result<()> {
        let mut groups = self.rows.chunk_by(|one, next| one.fingerprint == next.fingerprint);
        asked.query_batch_with(&self.fingerprints, k, progress, |_, matches| {
            let rows = groups.next().unwrap_or_default();
            if matches.is_empty() { Ok(()) } else { visit(rows, matches) }
        })?;
        self.fingerprints.clear();
        self.rows.clear();
        Ok(())
    }
}
