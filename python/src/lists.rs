//! What needs no database: pairs, clusters and distances of lists, and lists of Python numbers and texts.

use std::sync::Arc;

use nearprint::{Options, Result, visit_all, visit_all_clusters};
use nearprint_text::recipe::{Weight, weighted};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray2};
use pyo3::exceptions::{PyException, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString};

use crate::columns::{Column, Columns, Pairs};
use crate::core::refuse_width;
use crate::errors::input_error;
use crate::stream::{BLOCK_ROWS, Sink, Stream};
use crate::watch::{Ticker, watch};
use crate::words::{Words, append_hex, with_width};

/// Numbers read between two looks at whether to go on.
const NUMBERS_BETWEEN_CHECKS: usize = 1 << 16;

/// All pairs of a list, as a stream of `a`, `b`, `distance`.
#[pyfunction]
pub(crate) fn find_all(
    py: Python<'_>,
    words: PyReadonlyArray1<'_, u64>,
    width: u32,
    k: u32,
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Stream> {
    let words = words.as_slice()?;
    with_width!(width, F => {
        let list = py.detach(|| F::list(words).into_owned());
        Ok(listened(width, threads, listener, move |options, sink| send_pairs::<F>(list, k, options, sink)))
    }, else Err(refuse_width(py, width)))
}

/// All clusters of a list, as a stream of `cluster`, `fingerprint`.
#[pyfunction]
pub(crate) fn find_clusters(
    py: Python<'_>,
    words: PyReadonlyArray1<'_, u64>,
    width: u32,
    k: u32,
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Stream> {
    let words = words.as_slice()?;
    with_width!(width, F => {
        let list = py.detach(|| F::list(words).into_owned());
        Ok(listened(width, threads, listener, move |options, sink| send_clusters::<F>(list, k, options, sink)))
    }, else Err(refuse_width(py, width)))
}

/// A stream whose work tells how far it is.
fn listened(
    width: u32,
    threads: usize,
    listener: Option<Py<PyAny>>,
    make: impl FnOnce(&Options, &Sink) -> Result<()> + Send + 'static,
) -> Stream {
    let ticker = Arc::new(Ticker::default());
    let options = Options::new().threads(threads).progress(ticker.clone());
    Stream::start(width, ticker, listener, move |sink| make(&options, sink))
}

fn send_pairs<F: Words>(list: Vec<F>, k: u32, options: &Options, sink: &Sink) -> Result<()> {
    let mut pairs = Pairs::default();
    visit_all(list, k, options, |block| {
        pairs.extend(block);
        if pairs.len() >= BLOCK_ROWS { sink.send(pairs.take()) } else { Ok(()) }
    })?;
    sink.send(pairs.take())
}

fn send_clusters<F: Words>(list: Vec<F>, k: u32, options: &Options, sink: &Sink) -> Result<()> {
    let (mut clusters, mut words, mut cluster) = (Vec::new(), Vec::new(), 0);
    let send = |clusters: &mut Vec<i64>, words: &mut Vec<u64>| {
        let columns = Columns::default().with("cluster", Column::Indices(std::mem::take(clusters)));
        sink.send(columns.with("fingerprint", Column::Fingerprints(std::mem::take(words))))
    };
    visit_all_clusters(list, k, options, |members| {
        for &member in members {
            clusters.push(cluster);
            member.append_to(&mut words);
        }
        cluster += 1;
        if clusters.len() >= BLOCK_ROWS { send(&mut clusters, &mut words) } else { Ok(()) }
    })?;
    send(&mut clusters, &mut words)
}

/// The pairs of 64-bit numbers of a stream's block as a list of tuples, the smaller number first.
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

/// The distance of each fingerprint of `a` from the one at the same place in `b`; one of them may be a single one.
#[pyfunction]
pub(crate) fn distances<'py>(
    py: Python<'py>,
    a: PyReadonlyArray1<'_, u64>,
    b: PyReadonlyArray1<'_, u64>,
    width: u32,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (a, b) = (a.as_slice()?, b.as_slice()?);
    let found = with_width!(width, F => py.detach(|| distances_of::<F>(a, b)), else return Err(refuse_width(py, width)));
    Ok(found.into_pyarray(py))
}

fn distances_of<F: Words>(a: &[u64], b: &[u64]) -> Vec<u32> {
    let (a, b) = (F::list(a), F::list(b));
    match (&*a, &*b) {
        ([one], others) | (others, [one]) => others.iter().map(|other| one.distance(*other)).collect(),
        (a, b) => a.iter().zip(b).map(|(one, other)| one.distance(*other)).collect(),
    }
}

/// Writes the distances of all from all into a matrix.
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
    with_width!(width, F => {
        watch(py, &ticker, None, || fill_matrix::<F>(words, threads, matrix, &ticker))
    }, else Err(refuse_width(py, width)))
}

fn fill_matrix<F: Words>(words: &[u64], threads: usize, matrix: &mut [u16], ticker: &Ticker) -> Result<()> {
    let list = F::list(words);
    let each = list.len().div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        for (ones, room) in list.chunks(each).zip(matrix.chunks_mut(each * list.len().max(1))) {
            let list = &*list;
            scope.spawn(move || fill_rows(ones, list, room, ticker));
        }
    });
    ticker.check()
}

#[expect(clippy::cast_possible_truncation, reason = "distances are at most 256")]
fn fill_rows<F: Words>(ones: &[F], others: &[F], room: &mut [u16], ticker: &Ticker) {
    for (one, row) in ones.iter().zip(room.chunks_exact_mut(others.len())) {
        if ticker.check().is_err() {
            return;
        }
        row.iter_mut().zip(others).for_each(|(cell, other)| *cell = one.distance(*other) as u16);
    }
}

/// The simhash of hashes, each with a weight or all with the same.
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
    let simhash = with_width!(width, F => py.detach(|| {
        let mut row = Vec::new();
        simhash_of::<F>(words, weights.as_deref()).append_to(&mut row);
        row
    }), else return Err(refuse_width(py, width)));
    Ok(simhash.into_pyarray(py))
}

fn simhash_of<F: Words>(words: &[u64], weights: Option<&[Weight]>) -> F {
    let hashes = F::list(words);
    match weights {
        Some(weights) => weighted(hashes.iter().copied().zip(weights.iter().copied())),
        None => nearprint_text::recipe::compute(hashes.iter().copied()),
    }
}

/// The words of Python numbers, or of hexadecimal texts where those may be among them.
#[pyfunction]
#[pyo3(signature = (list, width, texts = true))]
pub(crate) fn words_of_list<'py>(
    py: Python<'py>,
    list: &Bound<'py, PyList>,
    width: u32,
    texts: bool,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let mut words = Vec::with_capacity(list.len() * width as usize / 64);
    for (index, item) in list.iter().enumerate() {
        if index.is_multiple_of(NUMBERS_BETWEEN_CHECKS) {
            py.check_signals()?;
        }
        if width == 64
            && item.is_exact_instance_of::<PyInt>()
            && let Ok(word) = item.extract::<u64>()
        {
            words.push(word);
        } else {
            append_item(&item, width, texts, &mut words).map_err(|why| at(py, index, &why))?;
        }
    }
    Ok(words.into_pyarray(py))
}

/// Says which item an exception is about.
fn at(py: Python<'_>, index: usize, why: &PyErr) -> PyErr {
    if !why.is_instance_of::<PyException>(py) {
        return why.clone_ref(py);
    }
    let told = format!("item {index}: {}", why.value(py));
    if why.is_instance_of::<PyTypeError>(py) { PyTypeError::new_err(told) } else { input_error(py, &told) }
}

fn append_item(item: &Bound<'_, PyAny>, width: u32, texts: bool, words: &mut Vec<u64>) -> PyResult<()> {
    let py = item.py();
    if texts && let Ok(text) = item.cast::<PyString>() {
        let text = text.to_cow()?;
        let read =
            with_width!(width, F => append_hex::<F>(&text, words), else return Err(refuse_width(py, width)));
        return read.map_err(|why| input_error(py, &why));
    }
    let index = if item.is_instance_of::<PyBool>() { None } else { Some(item.call_method0("__index__")) };
    let number = match index {
        Some(Ok(number)) => number,
        Some(Err(error)) if !error.is_instance_of::<PyException>(py) => return Err(error),
        _ => {
            let kind = item.get_type().name()?;
            let wanted = if texts { "an int or a hexadecimal str" } else { "an int" };
            let what = if texts { "fingerprint" } else { "number" };
            return Err(PyTypeError::new_err(format!("{kind} is no {what}: {wanted} is wanted")));
        }
    };
    if number.lt(0)? {
        return Err(input_error(py, &format!("{number} is negative")));
    }
    let bytes = number.call_method1("to_bytes", (width / 8, "little")).map_err(|error| {
        if error.is_instance_of::<PyOverflowError>(py) {
            input_error(py, &format!("{number:#} does not fit in {width} bits"))
        } else {
            error
        }
    })?;
    let bytes: Vec<u8> = bytes.extract()?;
    words.extend(bytes.as_chunks().0.iter().map(|&word| u64::from_le_bytes(word)));
    Ok(())
}
