//! Results as columns, which become NumPy arrays without being copied.

use nearprint::{Match, Pair, Result, Row, Snapshot};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::words::Words;

/// One column.
pub(crate) enum Column {
    /// Positions: of queries, of clusters.
    Indices(Vec<i64>),
    /// Ids.
    Ids(Vec<u64>),
    /// Words of fingerprints.
    Fingerprints(Vec<u64>),
    /// Distances in bits.
    Distances(Vec<u32>),
    /// Keys; a row without one has none.
    Keys(Vec<Option<String>>),
}

/// Columns of the same length, with their names.
#[derive(Default)]
pub(crate) struct Columns {
    named: Vec<(&'static str, Column)>,
}

impl Columns {
    pub(crate) fn with(mut self, name: &'static str, column: Column) -> Self {
        self.named.push((name, column));
        self
    }

    /// A dict of arrays. Fingerprints of more than one word have a row each.
    pub(crate) fn into_dict(self, py: Python<'_>, width: u32) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        for (name, column) in self.named {
            let array = match column {
                Column::Indices(values) => values.into_pyarray(py).into_any(),
                Column::Ids(values) => values.into_pyarray(py).into_any(),
                Column::Fingerprints(words) => fingerprints(py, words, width)?,
                Column::Distances(values) => values.into_pyarray(py).into_any(),
                Column::Keys(keys) => PyList::new(py, keys)?.into_any(),
            };
            dict.set_item(name, array)?;
        }
        Ok(dict)
    }
}

/// An array of fingerprints: (n,) for 64 bits, (n, 2) and (n, 4) for wider ones.
pub(crate) fn fingerprints(py: Python<'_>, words: Vec<u64>, width: u32) -> PyResult<Bound<'_, PyAny>> {
    let (each, words_in_all) = (width as usize / 64, words.len());
    let array = words.into_pyarray(py);
    if each == 1 { Ok(array.into_any()) } else { Ok(array.reshape([words_in_all / each, each])?.into_any()) }
}

/// Gathers rows of a snapshot, each with its keys: a row comes once for every key that it has.
pub(crate) struct Gathered<'a, F: Words> {
    keys_from: Option<&'a Snapshot<F>>,
    index_name: Option<&'static str>,
    indices: Vec<i64>,
    ids: Vec<u64>,
    words: Vec<u64>,
    distances: Option<Vec<u32>>,
    keys: Vec<Option<String>>,
}

impl<'a, F: Words> Gathered<'a, F> {
    /// With a column of that name for numbers that are given with each row; with one of distances, or not.
    pub(crate) fn new(snapshot: &'a Snapshot<F>, index_name: Option<&'static str>, distances: bool) -> Self {
        Self {
            keys_from: snapshot.key_storage().map(|_| snapshot),
            index_name,
            indices: Vec::new(),
            ids: Vec::new(),
            words: Vec::new(),
            distances: distances.then(Vec::new),
            keys: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn push_match(&mut self, index: usize, found: &Match<F>) -> Result<()> {
        let row = Row { fingerprint: found.fingerprint, id: found.id };
        self.push(index, row, found.distance)
    }

    pub(crate) fn push(&mut self, index: usize, row: Row<F>, distance: u32) -> Result<()> {
        let Some(snapshot) = self.keys_from else {
            self.push_once(index, row, distance);
            return Ok(());
        };
        let keys = snapshot.keys_of(row)?;
        if keys.is_empty() {
            self.push_once(index, row, distance);
            self.keys.push(None);
        }
        for key in keys {
            self.push_once(index, row, distance);
            self.keys.push(Some(key.key));
        }
        Ok(())
    }

    fn push_once(&mut self, index: usize, row: Row<F>, distance: u32) {
        if self.index_name.is_some() {
            self.indices.push(index.try_into().unwrap_or(i64::MAX));
        }
        self.ids.push(row.id);
        row.fingerprint.append_to(&mut self.words);
        if let Some(distances) = &mut self.distances {
            distances.push(distance);
        }
    }

    /// The columns, and empty ones for what comes next.
    pub(crate) fn take(&mut self) -> Columns {
        let mut columns = Columns::default();
        if let Some(name) = self.index_name {
            columns = columns.with(name, Column::Indices(std::mem::take(&mut self.indices)));
        }
        columns = columns.with("id", Column::Ids(std::mem::take(&mut self.ids)));
        columns = columns.with("fingerprint", Column::Fingerprints(std::mem::take(&mut self.words)));
        if let Some(distances) = &mut self.distances {
            columns = columns.with("distance", Column::Distances(std::mem::take(distances)));
        }
        if self.keys_from.is_some() {
            columns = columns.with("key", Column::Keys(std::mem::take(&mut self.keys)));
        }
        columns
    }
}

/// Gathers pairs.
#[derive(Default)]
pub(crate) struct Pairs {
    a: Vec<u64>,
    b: Vec<u64>,
    distances: Vec<u32>,
    /// Where pairs are pairs of rows.
    ids: Option<(Vec<u64>, Vec<u64>)>,
}

impl Pairs {
    pub(crate) fn of_rows() -> Self {
        Self { ids: Some(Default::default()), ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.distances.len()
    }

    pub(crate) fn extend<F: Words>(&mut self, pairs: &[Pair<F>]) {
        for pair in pairs {
            pair.a.append_to(&mut self.a);
            pair.b.append_to(&mut self.b);
            self.distances.push(pair.distance);
        }
    }

    pub(crate) fn push_rows<F: Words>(&mut self, a: Row<F>, b: Row<F>, distance: u32) {
        self.extend(&[Pair { a: a.fingerprint, b: b.fingerprint, distance }]);
        if let Some((ids_a, ids_b)) = &mut self.ids {
            ids_a.push(a.id);
            ids_b.push(b.id);
        }
    }

    /// The columns, and empty ones for what comes next.
    pub(crate) fn take(&mut self) -> Columns {
        let empty = if self.ids.is_some() { Self::of_rows() } else { Self::default() };
        let Self { a, b, distances, ids } = std::mem::replace(self, empty);
        let columns = Columns::default()
            .with("a", Column::Fingerprints(a))
            .with("b", Column::Fingerprints(b))
            .with("distance", Column::Distances(distances));
        match ids {
            Some((ids_a, ids_b)) => columns.with("id_a", Column::Ids(ids_a)).with("id_b", Column::Ids(ids_b)),
            None => columns,
        }
    }
}
