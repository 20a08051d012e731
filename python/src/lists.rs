//! Functions that need no database: pairs, clusters, distances and simhashes of lists.

use std::sync::Arc;

use nearprint::any::{self, AnyStream};
use nearprint::{BandLayout, Fingerprint, Near, Options, Result, Width, list};
use nearprint_text::internal::weighted_words;
use nearprint_text::recipe::Weight;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{OrRaise, input_error};
use crate::stream::{BLOCK_ROWS, Stream};
use crate::watch::{Ticker, watch};

/// Lists up to this length are compared all with all. A search takes longer to prepare.
const TINY_LIST: usize = 48;

/// All pairs of a list, as a stream of `a`, `b`, `distance`.
#[pyfunction]
pub(crate) fn find_all(
    py: Python<'_>,
    words: PyReadonlyArray1<'_, u64>,
    width: u32,
    near: (u32, Option<String>),
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Stream> {
    let words = words.as_slice()?;
    search(py, (width, near, threads), listener, |width, near, options| {
        any::find_all(width, words, near, options, BLOCK_ROWS)
    })
}

/// All clusters of a list, as a stream of `cluster`, `fingerprint`.
#[pyfunction]
pub(crate) fn find_clusters(
    py: Python<'_>,
    words: PyReadonlyArray1<'_, u64>,
    width: u32,
    near: (u32, Option<String>),
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Stream> {
    let words = words.as_slice()?;
    search(py, (width, near, threads), listener, |width, near, options| {
        any::find_clusters(width, words, near, options, BLOCK_ROWS)
    })
}

/// A distance, and the text form of bands.
pub(crate) fn near_of(py: Python<'_>, (k, bands): (u32, Option<String>)) -> PyResult<Near> {
    let bands = bands.map(|bands| bands.parse::<BandLayout>()).transpose();
    Ok(Near { k, bands: bands.or_raise(py)? })
}

/// The width, what is near, and the number of threads.
pub(crate) type How = (u32, (u32, Option<String>), usize);

/// Starts a search on a list, with progress.
pub(crate) fn search(
    py: Python<'_>,
    (width, near, threads): How,
    listener: Option<Py<PyAny>>,
    start: impl FnOnce(Width, Near, Options) -> Result<AnyStream> + Send,
) -> PyResult<Stream> {
    let (width, near) = (Width::try_from(width).or_raise(py)?, near_of(py, near)?);
    let ticker = Arc::new(Ticker::default());
    let options = Options::new().threads(threads).progress(ticker.clone());
    let rows = py.detach(|| start(width, near, options)).or_raise(py)?;
    Ok(Stream::new(rows, "cluster", ticker, listener))
}

/// The pairs of a block of 64-bit fingerprints as a list of tuples, the smaller number first.
#[pyfunction]
pub(crate) fn tuples<'py>(block: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyList>> {
    let column = |name| -> PyResult<PyReadonlyArray1<'py, u64>> {
        let column = block.get_item(name)?.ok_or_else(|| PyTypeError::new_err("pairs have two columns"))?;
        Ok(column.cast::<PyArray1<u64>>()?.readonly())
    };
    let (a, b) = (column("a")?, column("b")?);
    let pairs = a.as_slice()?.iter().zip(b.as_slice()?).map(|(&a, &b)| (a.min(b), a.max(b)));
    PyList::new(block.py(), pairs.collect::<Vec<_>>())
}

/// The pairs of a short list of 64-bit fingerprints as a list of tuples, the smaller number first.
/// Searches on the calling thread, as starting others takes longer, and checks no signals.
#[pyfunction]
pub(crate) fn pairs_of_short_list<'py>(
    py: Python<'py>,
    words: PyReadonlyArray1<'_, u64>,
    k: u32,
) -> PyResult<Bound<'py, PyList>> {
    let mut list = words.as_slice()?.to_vec();
    if list.len() <= TINY_LIST {
        list.sort_unstable();
        list.dedup();
        return PyList::new(py, pairs_by_force(&list, k));
    }
    let mut pairs = Vec::new();
    let search = || {
        list::visit_pairs(list, k, &Options::new().threads(1), |block| {
            pairs.extend(block.iter().map(|pair| (pair.a, pair.b)));
            Ok::<(), nearprint::Error>(())
        })
    };
    py.detach(search).or_raise(py)?;
    PyList::new(py, pairs)
}

/// The pairs of ascending distinct values.
fn pairs_by_force(list: &[u64], k: u32) -> Vec<(u64, u64)> {
    let mut pairs = Vec::new();
    for (index, &a) in list.iter().enumerate() {
        pairs.extend(list[index + 1..].iter().filter(|&&b| a.distance(b) <= k).map(|&b| (a, b)));
    }
    pairs
}

/// The distances between fingerprints at the same place in `a` and `b`, or between the only one and
/// all others.
#[pyfunction]
pub(crate) fn distances<'py>(
    py: Python<'py>,
    a: PyReadonlyArray1<'_, u64>,
    b: PyReadonlyArray1<'_, u64>,
    width: u32,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (a, b) = (a.as_slice()?, b.as_slice()?);
    let width = Width::try_from(width).or_raise(py)?;
    Ok(py.detach(|| any::distances(width, a, b)).into_pyarray(py))
}

/// The sketches of fingerprints with bands, which have the other bits 0.
#[pyfunction]
pub(crate) fn sketches<'py>(
    py: Python<'py>,
    words: PyReadonlyArray1<'_, u64>,
    width: u32,
    bands: &str,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let (words, bands) = (words.as_slice()?, bands.parse::<BandLayout>().or_raise(py)?);
    let width = Width::try_from(width).or_raise(py)?;
    Ok(py.detach(|| any::sketches(width, words, bands)).or_raise(py)?.into_pyarray(py))
}

/// Writes the distances between all fingerprints into a matrix.
#[pyfunction]
pub(crate) fn fill_distance_matrix(
    py: Python<'_>,
    words: PyReadonlyArray1<'_, u64>,
    width: u32,
    threads: usize,
    mut matrix: PyReadwriteArray2<'_, u16>,
) -> PyResult<()> {
    let (words, matrix) = (words.as_slice()?, matrix.as_slice_mut()?);
    let ticker = Ticker::default();
    watch(py, &ticker, None, || {
        let width = Width::try_from(width)?;
        any::fill_distance_matrix(width, words, threads, matrix, &|| ticker.check())
    })
}

/// The simhash of hashes, with a weight for each or the same for all.
#[pyfunction]
pub(crate) fn simhash<'py>(
    py: Python<'py>,
    words: PyReadonlyArray1<'_, u64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    width: u32,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let words = words.as_slice()?;
    let weights = weights.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
    let read = |weights: &[f64]| weights.iter().map(|&weight| Weight::from_f64(weight)).collect();
    let weights: Option<Option<Vec<Weight>>> = weights.map(read);
    if weights == Some(None) {
        return Err(input_error(py, "weights: numbers up to 10^15 are wanted"));
    }
    let weights = weights.flatten();
    let width = Width::try_from(width).or_raise(py)?;
    let simhash = py.detach(|| weighted_words(width, words, weights.as_deref()));
    Ok(simhash.words().to_vec().into_pyarray(py))
}
