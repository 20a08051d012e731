//! Lists that are spread over tasks: keys, and the pairs of one task.

use std::collections::HashMap;

use nearprint::{Result, Width, any};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{Column, Columns};
use crate::errors::OrRaise;
use crate::lists::{near_of, search};
use crate::stream::{BLOCK_ROWS, Stream};
use crate::words::Words;

/// The keys of fingerprints, each with its fingerprint: the columns `group` and `fingerprint`.
/// `split` has the number of parts of keys that are to be split.
#[pyfunction]
pub(crate) fn block_keys<'py>(
    py: Python<'py>,
    words: PyReadonlyArray1<'py, u64>,
    width: u32,
    near: (u32, Option<String>),
    split: HashMap<u64, u32>,
) -> PyResult<Bound<'py, PyDict>> {
    let (words, near) = (words.as_slice()?, near_of(py, near)?);
    columns(py, width, |width| any::block_keys(width, words, near, &split))
}

/// The keys that take the place of groups, each with its fingerprint.
#[pyfunction]
pub(crate) fn split_blocks<'py>(
    py: Python<'py>,
    groups: PyReadonlyArray1<'py, u64>,
    words: PyReadonlyArray1<'py, u64>,
    parts: PyReadonlyArray1<'py, u64>,
    width: u32,
    near: (u32, Option<String>),
) -> PyResult<Bound<'py, PyDict>> {
    let (rows, parts) = ((groups.as_slice()?, words.as_slice()?), parts.as_slice()?);
    let near = near_of(py, near)?;
    columns(py, width, |width| any::split_blocks(width, rows, parts, near))
}

/// Fingerprints with their groups.
fn columns(
    py: Python<'_>,
    width: u32,
    make: impl FnOnce(Width) -> Result<any::Columns> + Send,
) -> PyResult<Bound<'_, PyDict>> {
    let width = Width::try_from(width).or_raise(py)?;
    let made = py.detach(|| make(width)).or_raise(py)?;
    let fingerprints = Column::Fingerprints(Words::from_words(width, made.fingerprints));
    Columns::default().with("group", Column::Ids(made.groups)).with("fingerprint", fingerprints).into_dict(py)
}

/// Groups, and the words of their fingerprints.
type Grouped<'py> = (PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, u64>);

/// The pairs of a task, as a stream of `a`, `b`, `distance`.
#[pyfunction]
pub(crate) fn join_blocks(
    py: Python<'_>,
    rows: Grouped<'_>,
    width: u32,
    near: (u32, Option<String>),
    forest: bool,
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Stream> {
    let rows = (rows.0.as_slice()?, rows.1.as_slice()?);
    search(py, (width, near, threads), listener, |width, near, options| {
        any::join_blocks(width, rows, near, forest, options, BLOCK_ROWS)
    })
}

/// The pairs between two lists of a task, as a stream of `a`, `b`, `distance`.
#[pyfunction]
pub(crate) fn join_between(
    py: Python<'_>,
    ones: Grouped<'_>,
    others: Grouped<'_>,
    width: u32,
    near: (u32, Option<String>),
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Stream> {
    let ones = (ones.0.as_slice()?, ones.1.as_slice()?);
    let others = (others.0.as_slice()?, others.1.as_slice()?);
    search(py, (width, near, threads), listener, |width, near, options| {
        any::join_between(width, ones, others, near, options, BLOCK_ROWS)
    })
}

/// The indexes of the pairs of a spanning forest.
#[pyfunction]
pub(crate) fn forest<'py>(
    py: Python<'py>,
    a: PyReadonlyArray1<'py, u64>,
    b: PyReadonlyArray1<'py, u64>,
    width: u32,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (a, b) = (a.as_slice()?, b.as_slice()?);
    let width = Width::try_from(width).or_raise(py)?;
    let indexes = py.detach(|| any::spanning_forest(width, a, b)).or_raise(py)?;
    Ok(indexes.into_iter().map(|index| index as i64).collect::<Vec<_>>().into_pyarray(py))
}

/// The ends of pairs, each with the smallest end of its connected component.
#[pyfunction]
pub(crate) fn components<'py>(
    py: Python<'py>,
    a: PyReadonlyArray1<'py, u64>,
    b: PyReadonlyArray1<'py, u64>,
    width: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let (a, b) = (a.as_slice()?, b.as_slice()?);
    let width = Width::try_from(width).or_raise(py)?;
    let (members, smallest) = py.detach(|| any::components(width, a, b)).or_raise(py)?;
    let [members, smallest] =
        [members, smallest].map(|words| Column::Fingerprints(Words::from_words(width, words)));
    Columns::default().with("fingerprint", members).with("cluster", smallest).into_dict(py)
}
