//! Columns of the caller that results go to.

use std::ffi::c_char;
use std::mem::offset_of;
use std::ptr;

use nearprint::Result;
use nearprint::any::{AnyRow, Columns, Shape, Sink};

use crate::call::{Call, Output};
use crate::error::{Failure, Outcome};
use crate::growing::Growing;

/// Where results go: arrays of the caller, one value a row. A column that is null is not filled.
///
/// Not every result has every column: the function that makes the result says which. A column that
/// the result does not have must be null.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nearprint_columns {
    /// The size of this structure in the header of the program: nearprint_columns_init() sets it.
    pub struct_size: usize,
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
    /// The exact similarities of documents, from 0 to 1.
    pub similarities: *mut f64,
    /// Keys of streams: null for a row without a key. They live until the next
    /// nearprint_stream_next(), or until the stream is freed, and no null byte ends them.
    pub keys: *mut *const c_char,
    /// Their lengths in bytes.
    pub key_lens: *mut usize,
    /// The keys of the second rows of pairs.
    pub other_keys: *mut *const c_char,
    /// Their lengths in bytes.
    pub other_key_lens: *mut usize,
}

// SAFETY: The size is the first field; the others are a number and pointers.
unsafe impl Growing for nearprint_columns {
    const NAME: &'static str = "nearprint_columns";
    const FIRST_SIZE: usize = offset_of!(Self, keys);
    const DEFAULT: Self = Self {
        struct_size: size_of::<Self>(),
        capacity: 0,
        groups: ptr::null_mut(),
        fingerprints: ptr::null_mut(),
        ids: ptr::null_mut(),
        distances: ptr::null_mut(),
        other_fingerprints: ptr::null_mut(),
        other_ids: ptr::null_mut(),
        similarities: ptr::null_mut(),
        keys: ptr::null_mut(),
        key_lens: ptr::null_mut(),
        other_keys: ptr::null_mut(),
        other_key_lens: ptr::null_mut(),
    };
}

/// The columns of the matches of one query.
pub(crate) const MATCHES: Shape = Shape { groups: false, ..Shape::MATCHES };

/// Checked columns, which are filled from the first row on.
pub(crate) struct Outputs<'c> {
    capacity: usize,
    groups: Output<'c, u64>,
    fingerprints: Output<'c, u64>,
    ids: Output<'c, u64>,
    distances: Output<'c, u32>,
    other_fingerprints: Output<'c, u64>,
    other_ids: Output<'c, u64>,
    similarities: Output<'c, f64>,
    keys: KeyColumn<'c>,
    other_keys: KeyColumn<'c>,
    rows: usize,
}

impl<'c> Outputs<'c> {
    /// Checks the caller's columns for results of a shape, with fingerprints of some words.
    pub(crate) fn new(
        call: &'c Call,
        columns: *const nearprint_columns,
        shape: Shape,
        words: usize,
    ) -> Outcome<Self> {
        let Some(given) = call.growing(columns, "columns")? else {
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
            similarities: call.outputs(given.similarities, rows, "columns.similarities")?,
            keys: KeyColumn {
                starts: call.outputs(given.keys, rows, "columns.keys")?,
                lens: call.outputs(given.key_lens, rows, "columns.key_lens")?,
            },
            other_keys: KeyColumn {
                starts: call.outputs(given.other_keys, rows, "columns.other_keys")?,
                lens: call.outputs(given.other_key_lens, rows, "columns.other_key_lens")?,
            },
            rows: 0,
        };
        columns.check(shape)?;
        Ok(columns)
    }

    /// Columns that may be missing.
    pub(crate) fn optional(
        call: &'c Call,
        columns: *const nearprint_columns,
        shape: Shape,
        words: usize,
    ) -> Outcome<Option<Self>> {
        if columns.is_null() { Ok(None) } else { Self::new(call, columns, shape, words).map(Some) }
    }

    fn check(&self, shape: Shape) -> Outcome {
        let superfluous = [
            ("groups", self.groups.is_there() && !shape.groups),
            ("ids", self.ids.is_there() && !shape.ids),
            ("distances", self.distances.is_there() && !shape.distances),
            ("other_fingerprints", self.other_fingerprints.is_there() && !shape.others),
            ("other_ids", self.other_ids.is_there() && !(shape.others && shape.ids)),
            ("similarities", self.similarities.is_there() && !shape.similarities),
            ("keys", self.keys.is_there() && !shape.keys),
            ("other_keys", self.other_keys.is_there() && !(shape.others && shape.keys)),
        ];
        if let Some((column, _)) = superfluous.iter().find(|(_, is_superfluous)| *is_superfluous) {
            let why = match column.ends_with("keys") {
                true => "the result has no keys; streams of nearprint_snapshot_with_keys() have them",
                false => "the result has no such column",
            };
            return Err(Failure::argument(&format!("columns.{column}"), why));
        }
        Ok(())
    }

    /// The number of rows so far, including those that had no space.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds all rows.
    pub(crate) fn push_all(&mut self, rows: &Columns) -> Result<()> {
        rows.rows().for_each(|row| self.push(&row));
        Ok(())
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether the caller receives pointers to keys.
    pub(crate) fn has_keys(&self) -> bool {
        self.keys.is_there() || self.other_keys.is_there()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows >= self.capacity
    }
}

impl Sink for Outputs<'_> {
    /// Rows beyond the capacity are only counted.
    #[inline]
    fn push(&mut self, row: &AnyRow<'_>) {
        let at = self.rows;
        self.rows += 1;
        if at >= self.capacity {
            return;
        }
        self.groups.set_at(at, row.group);
        set_words(&mut self.fingerprints, at, row.fingerprint);
        self.ids.set_at(at, row.id);
        self.distances.set_at(at, row.distance);
        set_words(&mut self.other_fingerprints, at, row.other_fingerprint);
        self.other_ids.set_at(at, row.other_id);
        self.similarities.set_at(at, row.similarity);
        self.keys.set_at(at, row.key);
        self.other_keys.set_at(at, row.other_key);
    }
}

/// Keys of the caller: where each starts, and its length.
struct KeyColumn<'c> {
    starts: Output<'c, *const c_char>,
    lens: Output<'c, usize>,
}

impl KeyColumn<'_> {
    fn is_there(&self) -> bool {
        self.starts.is_there() || self.lens.is_there()
    }

    #[inline]
    fn set_at(&mut self, row: usize, key: Option<&str>) {
        self.starts.set_at(row, key.map_or(ptr::null(), |key| key.as_ptr().cast()));
        self.lens.set_at(row, key.map_or(0, str::len));
    }
}

#[inline]
fn set_words(column: &mut Output<'_, u64>, row: usize, words: &[u64]) {
    let first = row * words.len();
    words.iter().enumerate().for_each(|(index, &word)| column.set_at(first + index, word));
}
