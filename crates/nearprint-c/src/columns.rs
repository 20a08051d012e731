//! Columns of the caller that results go to.

use nearprint::internal::words;
use nearprint::{Fingerprint, Match, Row};

use crate::call::{Call, Output};
use crate::error::{Failure, Outcome};

/// Where results go: arrays of the caller, one value a row. A column that is null is not filled.
///
/// Not every result has every column: the function that makes the result says which. A column that
/// the result does not have must be null.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nearprint_columns {
    /// The number of rows that each column has space for.
    pub capacity: usize,
    /// The number of the query or of the cluster that the row belongs to, from 0.
    pub groups: *mut u64,
    /// Fingerprints: width / 64 words a row, the least significant word first.
    pub fingerprints: *mut u64,
    /// Ids.
    pub ids: *mut u64,
    /// The number of bits in which the fingerprint differs from the query, or from the other one.
    pub distances: *mut u32,
    /// The second fingerprints of pairs, in the form of the first ones.
    pub other_fingerprints: *mut u64,
    /// The ids of the second rows of pairs.
    pub other_ids: *mut u64,
}

/// The columns that a result has.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// What the result is, in messages.
    pub(crate) name: &'static str,
    pub(crate) groups: bool,
    pub(crate) ids: bool,
    pub(crate) distances: bool,
    pub(crate) others: bool,
}

impl Shape {
    const NOTHING: Self = Self { name: "", groups: false, ids: false, distances: false, others: false };
    pub(crate) const ROWS: Self = Self { name: "rows", ids: true, ..Self::NOTHING };
    pub(crate) const MATCHES: Self = Self { name: "matches", ids: true, distances: true, ..Self::NOTHING };
    pub(crate) const BATCHES: Self = Self { groups: true, ..Self::MATCHES };
    pub(crate) const CLUSTERS: Self = Self { name: "clusters", groups: true, ids: true, ..Self::NOTHING };
    pub(crate) const LIST_CLUSTERS: Self = Self { ids: false, ..Self::CLUSTERS };
    pub(crate) const PAIRS: Self = Self { name: "pairs", distances: true, others: true, ..Self::NOTHING };
    pub(crate) const ROW_PAIRS: Self = Self { ids: true, ..Self::PAIRS };
}

/// One row of a result.
#[derive(Clone, Copy)]
pub(crate) struct Entry<F> {
    pub(crate) group: u64,
    pub(crate) row: Row<F>,
    pub(crate) distance: u32,
    pub(crate) other: Row<F>,
}

impl<F: Fingerprint> Entry<F> {
    pub(crate) fn of_row(group: u64, row: Row<F>) -> Self {
        Self { group, row, distance: 0, other: Row { fingerprint: F::default(), id: 0 } }
    }

    pub(crate) fn of_match(group: u64, found: Match<F>) -> Self {
        let Match { distance, fingerprint, id } = found;
        Self { distance, ..Self::of_row(group, Row { fingerprint, id }) }
    }

    pub(crate) fn of_pair(row: Row<F>, other: Row<F>, distance: u32) -> Self {
        Self { group: 0, row, distance, other }
    }
}

/// Checked columns, which are filled from the first row on.
pub(crate) struct Columns<'c> {
    capacity: usize,
    groups: Output<'c, u64>,
    fingerprints: Output<'c, u64>,
    ids: Output<'c, u64>,
    distances: Output<'c, u32>,
    other_fingerprints: Output<'c, u64>,
    other_ids: Output<'c, u64>,
    rows: usize,
}

impl<'c> Columns<'c> {
    /// Checks the caller's columns for results of a shape, with fingerprints of some words.
    pub(crate) fn new(
        call: &'c Call,
        columns: *const nearprint_columns,
        shape: Shape,
        words: usize,
    ) -> Outcome<Self> {
        let Some(&given) = call.structure(columns, "columns")? else {
            return Err(Failure::argument("columns", "a null pointer"));
        };
        let rows = given.capacity;
        let num_words = rows.saturating_mul(words);
        let columns = Self {
            capacity: rows,
            groups: call.outputs(given.groups, rows, "columns.groups")?,
            fingerprints: call.outputs(given.fingerprints, num_words, "columns.fingerprints")?,
            ids: call.outputs(given.ids, rows, "columns.ids")?,
            distances: call.outputs(given.distances, rows, "columns.distances")?,
            other_fingerprints: call.outputs(
                given.other_fingerprints,
                num_words,
                "columns.other_fingerprints",
            )?,
            other_ids: call.outputs(given.other_ids, rows, "columns.other_ids")?,
            rows: 0,
        };
        columns.check(shape)?;
        Ok(columns)
    }

    fn check(&self, shape: Shape) -> Outcome {
        let superfluous = [
            ("groups", self.groups.is_there() && !shape.groups),
            ("ids", self.ids.is_there() && !shape.ids),
            ("distances", self.distances.is_there() && !shape.distances),
            ("other_fingerprints", self.other_fingerprints.is_there() && !shape.others),
            ("other_ids", self.other_ids.is_there() && !(shape.others && shape.ids)),
        ];
        match superfluous.iter().find(|(_, is_superfluous)| *is_superfluous) {
            Some((column, _)) => Err(Failure::argument(
                &format!("columns.{column}"),
                format_args!("these {} have no such column", shape.name),
            )),
            None => Ok(()),
        }
    }

    /// Adds a row. Rows beyond the capacity are only counted.
    #[inline]
    pub(crate) fn push<F: Fingerprint>(&mut self, entry: &Entry<F>) {
        let row = self.rows;
        self.rows += 1;
        if row >= self.capacity {
            return;
        }
        self.groups.set_at(row, entry.group);
        set_words(&mut self.fingerprints, row, entry.row.fingerprint);
        self.ids.set_at(row, entry.row.id);
        self.distances.set_at(row, entry.distance);
        set_words(&mut self.other_fingerprints, row, entry.other.fingerprint);
        self.other_ids.set_at(row, entry.other.id);
    }

    /// The number of rows so far, including those that had no space.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows >= self.capacity
    }
}

#[inline]
fn set_words<F: Fingerprint>(column: &mut Output<'_, u64>, row: usize, fingerprint: F) {
    let words = words(fingerprint);
    let first = row * words.len();
    words.enumerate().for_each(|(index, word)| column.set_at(first + index, word));
}
