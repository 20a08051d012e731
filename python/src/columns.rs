//! Results as columns, which become NumPy arrays without a copy.

use nearprint::{Fingerprint, Match, Pair, Result, Row, Snapshot};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::words::Words;

/// One column.
pub(crate) enum Column {
    /// Indices of queries or of clusters.
    Indices(Vec<i64>),
    /// Ids.
    Ids(Vec<u64>),
    /// Fingerprints.
    Fingerprints(Words),
    /// Distances in bits.
    Distances(Vec<u32>),
    /// Keys; `None` for a row without a key.
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

    pub(crate) fn named(&self) -> &[(&'static str, Column)] {
        &self.named
    }

    pub(crate) fn into_named(self) -> Vec<(&'static str, Column)> {
        self.named
    }

    /// A dict of arrays; keys are a list.
    pub(crate) fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        for (name, column) in self.named {
            let array = match column {
                Column::Indices(values) => values.into_pyarray(py).into_any(),
                Column::Ids(values) => values.into_pyarray(py).into_any(),
                Column::Fingerprints(words) => words.into_array(py)?,
                Column::Distances(values) => values.into_pyarray(py).into_any(),
                Column::Keys(keys) => PyList::new(py, keys)?.into_any(),
            };
            dict.set_item(name, array)?;
        }
        Ok(dict)
    }
}

/// Collects the results of a search until they make a block.
pub(crate) trait Collector {
    /// The number of rows so far.
    fn num_rows(&self) -> usize;

    /// The rows so far as columns. None are left.
    fn take(&mut self) -> Columns;
}

/// Collects rows of a snapshot with their keys: one row of the result for each key of a row.
pub(crate) struct RowCollector<'a, F: Fingerprint> {
    keys_from: Option<&'a Snapshot<F>>,
    index_name: Option<&'static str>,
    indices: Vec<i64>,
    ids: Vec<u64>,
    fingerprints: Words,
    distances: Option<Vec<u32>>,
    keys: Vec<Option<String>>,
}

impl<'a, F: Fingerprint> RowCollector<'a, F> {
    /// Rows by themselves, without index and distance.
    pub(crate) fn new(snapshot: &'a Snapshot<F>) -> Self {
        Self {
            keys_from: snapshot.key_storage().has_keys().then_some(snapshot),
            index_name: None,
            indices: Vec::new(),
            ids: Vec::new(),
            fingerprints: Words::new(F::WIDTH),
            distances: None,
            keys: Vec::new(),
        }
    }

    /// With a column for an index that comes with each row.
    pub(crate) fn with_index(self, name: &'static str) -> Self {
        Self { index_name: Some(name), ..self }
    }

    /// With a column of distances.
    pub(crate) fn with_distances(self) -> Self {
        Self { distances: Some(Vec::new()), ..self }
    }

    pub(crate) fn push_matches(&mut self, index: usize, matches: &[Match<F>]) -> Result<()> {
        matches.iter().try_for_each(|&Match { distance, fingerprint, id }| {
            self.push(index, Row { fingerprint, id }, distance)
        })
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
        self.fingerprints.push(row.fingerprint);
        if let Some(distances) = &mut self.distances {
            distances.push(distance);
        }
    }
}

impl<F: Fingerprint> Collector for RowCollector<'_, F> {
    fn num_rows(&self) -> usize {
        self.ids.len()
    }

    fn take(&mut self) -> Columns {
        let mut columns = Columns::default();
        if let Some(name) = self.index_name {
            columns = columns.with(name, Column::Indices(std::mem::take(&mut self.indices)));
        }
        columns = columns.with("id", Column::Ids(std::mem::take(&mut self.ids)));
        columns = columns.with("fingerprint", Column::Fingerprints(self.fingerprints.take()));
        if let Some(distances) = &mut self.distances {
            columns = columns.with("distance", Column::Distances(std::mem::take(distances)));
        }
        if self.keys_from.is_some() {
            columns = columns.with("key", Column::Keys(std::mem::take(&mut self.keys)));
        }
        columns
    }
}

/// Collects pairs of fingerprints, or of rows.
pub(crate) struct PairCollector {
    a: Words,
    b: Words,
    distances: Vec<u32>,
    /// The ids of pairs of rows.
    ids: Option<(Vec<u64>, Vec<u64>)>,
}

impl PairCollector {
    /// With ids, the pairs are pairs of rows.
    pub(crate) fn new<F: Fingerprint>(has_ids: bool) -> Self {
        let ids = has_ids.then(Default::default);
        Self { a: Words::new(F::WIDTH), b: Words::new(F::WIDTH), distances: Vec::new(), ids }
    }

    pub(crate) fn push<F: Fingerprint>(&mut self, pairs: &[Pair<F>]) {
        for pair in pairs {
            self.a.push(pair.a);
            self.b.push(pair.b);
            self.distances.push(pair.distance);
        }
    }

    pub(crate) fn push_rows<F: Fingerprint>(&mut self, a: Row<F>, b: Row<F>, distance: u32) {
        self.push(&[Pair { a: a.fingerprint, b: b.fingerprint, distance }]);
        if let Some((ids_a, ids_b)) = &mut self.ids {
            ids_a.push(a.id);
            ids_b.push(b.id);
        }
    }
}

impl Collector for PairCollector {
    fn num_rows(&self) -> usize {
        self.distances.len()
    }

    fn take(&mut self) -> Columns {
        let columns = Columns::default()
            .with("a", Column::Fingerprints(self.a.take()))
            .with("b", Column::Fingerprints(self.b.take()))
            .with("distance", Column::Distances(std::mem::take(&mut self.distances)));
        match &mut self.ids {
            Some((a, b)) => columns
                .with("id_a", Column::Ids(std::mem::take(a)))
                .with("id_b", Column::Ids(std::mem::take(b))),
            None => columns,
        }
    }
}

/// Collects clusters of a list of fingerprints.
pub(crate) struct ClusterCollector {
    next_cluster: i64,
    clusters: Vec<i64>,
    fingerprints: Words,
}

impl ClusterCollector {
    pub(crate) fn new<F: Fingerprint>() -> Self {
        Self { next_cluster: 0, clusters: Vec::new(), fingerprints: Words::new(F::WIDTH) }
    }

    pub(crate) fn push<F: Fingerprint>(&mut self, members: &[F]) {
        for &member in members {
            self.clusters.push(self.next_cluster);
            self.fingerprints.push(member);
        }
        self.next_cluster += 1;
    }
}

impl Collector for ClusterCollector {
    fn num_rows(&self) -> usize {
        self.clusters.len()
    }

    fn take(&mut self) -> Columns {
        Columns::default()
            .with("cluster", Column::Indices(std::mem::take(&mut self.clusters)))
            .with("fingerprint", Column::Fingerprints(self.fingerprints.take()))
    }
}
