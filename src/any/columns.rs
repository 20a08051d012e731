//! Rows of results, and where they go.

use super::fingerprint::{AnyFingerprint, words};
use crate::fingerprint::{Fingerprint, Row, Width, words_of};

/// One row of a result. Fields that the result does not have are 0, empty or `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AnyRow<'a> {
    /// The number of the query, of the cluster or of the block that the row belongs to.
    pub group: u64,
    /// The words of the fingerprint.
    pub fingerprint: &'a [u64],
    /// The id.
    pub id: u64,
    /// The number of bits in which the fingerprint differs from the query, or from the other one.
    pub distance: u32,
    /// The words of the second fingerprint of a pair.
    pub other_fingerprint: &'a [u64],
    /// The id of the second row of a pair.
    pub other_id: u64,
    /// A key of the row.
    pub key: Option<&'a str>,
    /// A key of the second row of a pair.
    pub other_key: Option<&'a str>,
    /// The exact similarity of two documents, from 0 to 1.
    pub similarity: f64,
}

impl AnyRow<'_> {
    /// The fingerprint and the id.
    #[must_use]
    #[inline]
    pub fn row(&self) -> Row<AnyFingerprint> {
        Row { fingerprint: self.fingerprint.into(), id: self.id }
    }

    /// The second row of a pair.
    #[must_use]
    #[inline]
    pub fn other_row(&self) -> Row<AnyFingerprint> {
        Row { fingerprint: self.other_fingerprint.into(), id: self.other_id }
    }
}

/// Receives the rows of a result.
pub trait Sink {
    /// Receives the next row.
    fn push(&mut self, row: &AnyRow<'_>);
}

/// The columns that a result has beside its fingerprints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The numbers of queries, of clusters or of blocks.
    pub groups: bool,
    /// Ids.
    pub ids: bool,
    /// Distances.
    pub distances: bool,
    /// The other rows of pairs.
    pub others: bool,
    /// Keys, of both rows of pairs. A row with several keys is several rows of the result.
    pub keys: bool,
    /// Exact similarities.
    pub similarities: bool,
}

impl Shape {
    const FINGERPRINTS: Self =
        Self { groups: false, ids: false, distances: false, others: false, keys: false, similarities: false };
    /// Rows: ids.
    pub const ROWS: Self = Self { ids: true, ..Self::FINGERPRINTS };
    /// Matches: groups, ids and distances.
    pub const MATCHES: Self = Self { groups: true, distances: true, ..Self::ROWS };
    /// Clusters of rows: groups and ids.
    pub const CLUSTERS: Self = Self { groups: true, ..Self::ROWS };
    /// Fingerprints with their clusters or blocks.
    pub const GROUPS: Self = Self { groups: true, ..Self::FINGERPRINTS };
    /// Pairs of fingerprints: distances.
    pub const PAIRS: Self = Self { distances: true, others: true, ..Self::FINGERPRINTS };
    /// Pairs of rows: ids and distances.
    pub const ROW_PAIRS: Self = Self { ids: true, ..Self::PAIRS };
}

/// Rows of a result, column by column. A column that the result does not have is empty.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Columns {
    /// The width of the fingerprints.
    pub width: Width,
    /// The columns that the result has.
    pub shape: Shape,
    /// The numbers of queries, of clusters or of blocks.
    pub groups: Vec<u64>,
    /// Fingerprints, [`Width::words`] words each.
    pub fingerprints: Vec<u64>,
    /// Ids.
    pub ids: Vec<u64>,
    /// Distances in bits.
    pub distances: Vec<u32>,
    /// The second fingerprints of pairs.
    pub other_fingerprints: Vec<u64>,
    /// The ids of the second rows of pairs.
    pub other_ids: Vec<u64>,
    /// Keys; `None` for a row without a key.
    pub keys: Vec<Option<String>>,
    /// The keys of the second rows of pairs.
    pub other_keys: Vec<Option<String>>,
    /// Exact similarities, from 0 to 1.
    pub similarities: Vec<f64>,
}

impl Columns {
    /// No rows.
    #[must_use]
    pub fn new(width: Width, shape: Shape) -> Self {
        Self { width, shape, ..Self::default() }
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fingerprints.len() / self.width.words()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fingerprints.is_empty()
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.groups.clear();
        self.fingerprints.clear();
        self.ids.clear();
        self.distances.clear();
        self.other_fingerprints.clear();
        self.other_ids.clear();
        self.keys.clear();
        self.other_keys.clear();
        self.similarities.clear();
    }

    /// Adds the rows of another result of the same shape.
    pub fn append(&mut self, more: &Self) {
        self.groups.extend_from_slice(&more.groups);
        self.fingerprints.extend_from_slice(&more.fingerprints);
        self.ids.extend_from_slice(&more.ids);
        self.distances.extend_from_slice(&more.distances);
        self.other_fingerprints.extend_from_slice(&more.other_fingerprints);
        self.other_ids.extend_from_slice(&more.other_ids);
        self.keys.extend_from_slice(&more.keys);
        self.other_keys.extend_from_slice(&more.other_keys);
        self.similarities.extend_from_slice(&more.similarities);
    }

    /// A row, if there are so many.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<AnyRow<'_>> {
        let words = self.width.words();
        let words = row * words..(row + 1) * words;
        Some(AnyRow {
            group: self.groups.get(row).copied().unwrap_or_default(),
            fingerprint: self.fingerprints.get(words.clone())?,
            id: self.ids.get(row).copied().unwrap_or_default(),
            distance: self.distances.get(row).copied().unwrap_or_default(),
            other_fingerprint: self.other_fingerprints.get(words).unwrap_or_default(),
            other_id: self.other_ids.get(row).copied().unwrap_or_default(),
            key: self.keys.get(row).and_then(Option::as_deref),
            other_key: self.other_keys.get(row).and_then(Option::as_deref),
            similarity: self.similarities.get(row).copied().unwrap_or_default(),
        })
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = AnyRow<'_>> {
        (0..self.len()).filter_map(|row| self.get(row))
    }
}

impl Sink for Columns {
    #[inline]
    fn push(&mut self, row: &AnyRow<'_>) {
        let Shape { groups, ids, distances, others, keys, similarities } = self.shape;
        self.fingerprints.extend_from_slice(row.fingerprint);
        if groups {
            self.groups.push(row.group);
        }
        if ids {
            self.ids.push(row.id);
        }
        if distances {
            self.distances.push(row.distance);
        }
        if others {
            self.other_fingerprints.extend_from_slice(row.other_fingerprint);
        }
        if others && ids {
            self.other_ids.push(row.other_id);
        }
        if keys {
            self.keys.push(row.key.map(str::to_string));
        }
        if others && keys {
            self.other_keys.push(row.other_key.map(str::to_string));
        }
        if similarities {
            self.similarities.push(row.similarity);
        }
    }
}

/// Passes on a row of a group, at a distance.
#[inline]
pub(super) fn push_row<F: Fingerprint>(
    sink: &mut (impl Sink + ?Sized),
    (group, row, distance): (u64, Row<F>, u32),
    key: Option<&str>,
) {
    let fingerprint = &words(row.fingerprint)[..words_of::<F>()];
    sink.push(&AnyRow { group, fingerprint, id: row.id, distance, key, ..AnyRow::default() });
}

/// Passes on a fingerprint of a group.
#[inline]
pub(super) fn push_fingerprint<F: Fingerprint>(sink: &mut Columns, group: u64, fingerprint: F) {
    push_row(sink, (group, Row { fingerprint, id: 0 }, 0), None);
}

/// Passes on a pair of rows at a distance, with their keys.
#[inline]
pub(super) fn push_pair<F: Fingerprint>(
    sink: &mut Columns,
    (a, b, distance): (Row<F>, Row<F>, u32),
    [key, other_key]: [Option<&str>; 2],
) {
    let (one, other) = (words(a.fingerprint), words(b.fingerprint));
    sink.push(&AnyRow {
        fingerprint: &one[..words_of::<F>()],
        id: a.id,
        distance,
        other_fingerprint: &other[..words_of::<F>()],
        other_id: b.id,
        key,
        other_key,
        ..AnyRow::default()
    });
}
