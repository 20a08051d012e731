//! Results as columns, which become NumPy arrays without a copy.

use nearprint::any::{self, Shape};
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
    /// Exact similarities.
    Similarities(Vec<f64>),
}

/// Columns of the same length, with their names.
#[derive(Default)]
pub(crate) struct Columns {
    named: Vec<(&'static str, Column)>,
}

impl Columns {
    /// The columns of a result. `group` names the column of groups.
    pub(crate) fn of(found: any::Columns, group: &'static str) -> Self {
        let (width, shape) = (found.width, found.shape);
        let fingerprints = |words| Column::Fingerprints(Words::from_words(width, words));
        let mut columns = Self::default();
        if shape.others {
            columns = columns.with("a", fingerprints(found.fingerprints));
            columns = columns.with("b", fingerprints(found.other_fingerprints));
            columns = columns.with("distance", Column::Distances(found.distances));
            if shape.ids {
                columns = columns.with("id_a", Column::Ids(found.ids));
                columns = columns.with("id_b", Column::Ids(found.other_ids));
            }
            if shape.keys {
                columns = columns.with("key_a", Column::Keys(found.keys));
                columns = columns.with("key_b", Column::Keys(found.other_keys));
            }
            return columns.with_similarities(shape, found.similarities);
        }
        if shape.groups {
            let groups = found.groups.into_iter().map(u64::cast_signed).collect();
            columns = columns.with(group, Column::Indices(groups));
        }
        if shape.ids {
            columns = columns.with("id", Column::Ids(found.ids));
        }
        columns = columns.with("fingerprint", fingerprints(found.fingerprints));
        if shape.distances {
            columns = columns.with("distance", Column::Distances(found.distances));
        }
        if shape.keys {
            columns = columns.with("key", Column::Keys(found.keys));
        }
        columns.with_similarities(shape, found.similarities)
    }

    fn with_similarities(self, shape: Shape, similarities: Vec<f64>) -> Self {
        if shape.similarities { self.with("similarity", Column::Similarities(similarities)) } else { self }
    }

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
                Column::Similarities(values) => values.into_pyarray(py).into_any(),
            };
            dict.set_item(name, array)?;
        }
        Ok(dict)
    }
}
