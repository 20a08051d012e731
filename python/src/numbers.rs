//! Lists of Python numbers and hexadecimal texts as arrays of words.

use nearprint::Width;
use nearprint_text::recipe::compute;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyException, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyString};

use crate::errors::{OrRaise, input_error};
use crate::words::append_hex;

/// The number of items between two checks for signals.
const ITEMS_BETWEEN_CHECKS: usize = 1 << 16;

/// The words of Python numbers; also of hexadecimal texts, if `texts` is set.
#[pyfunction]
#[pyo3(signature = (list, width, texts = true))]
pub(crate) fn words_of_list<'py>(
    py: Python<'py>,
    list: &Bound<'py, PyList>,
    width: u32,
    texts: bool,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    Ok(words_of(list, Width::try_from(width).or_raise(py)?, texts)?.into_pyarray(py))
}

/// The simhash of a list of 64-bit hashes.
#[pyfunction]
pub(crate) fn simhash_of_list(py: Python<'_>, list: &Bound<'_, PyList>) -> PyResult<u64> {
    let words = words_of(list, Width::W64, false)?;
    Ok(py.detach(|| compute(words)))
}

/// The number of bits in which two 64-bit hashes differ. Raises ``OverflowError`` for a number below 0
/// or of more than 64 bits, ``TypeError`` for an argument that is not a number.
#[pyfunction]
pub(crate) fn num_differing_bits(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<u32> {
    Ok((hash_of(a)? ^ hash_of(b)?).count_ones())
}

/// A 64-bit hash.
fn hash_of(item: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Some(word) = plain_word(item) {
        return Ok(word);
    }
    let mut words = Vec::with_capacity(1);
    append_item(item, Width::W64, false, &mut words).map_err(|why| {
        if why.is_instance_of::<PyValueError>(item.py()) {
            PyOverflowError::new_err(why.value(item.py()).to_string())
        } else {
            why
        }
    })?;
    Ok(words[0])
}

/// The words of the items of a list.
fn words_of(list: &Bound<'_, PyList>, width: Width, texts: bool) -> PyResult<Vec<u64>> {
    let py = list.py();
    let mut words = Vec::with_capacity(list.len() * width.bits() as usize / 64);
    for (index, item) in list.iter().enumerate() {
        if index.is_multiple_of(ITEMS_BETWEEN_CHECKS) {
            py.check_signals()?;
        }
        if width == Width::W64
            && let Some(word) = plain_word(&item)
        {
            words.push(word);
        } else {
            append_item(&item, width, texts, &mut words).map_err(|why| at(py, index, &why))?;
        }
    }
    Ok(words)
}

/// The value of an `int` that has at most 64 bits.
fn plain_word(item: &Bound<'_, PyAny>) -> Option<u64> {
    if item.is_exact_instance_of::<PyInt>() { item.extract().ok() } else { None }
}

/// Adds the index of the item to the message of an exception.
fn at(py: Python<'_>, index: usize, why: &PyErr) -> PyErr {
    if !why.is_instance_of::<PyException>(py) {
        return why.clone_ref(py);
    }
    let message = format!("item {index}: {}", why.value(py));
    if why.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(message)
    } else {
        input_error(py, &message)
    }
}

fn append_item(item: &Bound<'_, PyAny>, width: Width, texts: bool, words: &mut Vec<u64>) -> PyResult<()> {
    let py = item.py();
    if texts && let Ok(text) = item.cast::<PyString>() {
        return append_hex(width, &text.to_cow()?, words).map_err(|why| input_error(py, &why));
    }
    let number = integer(item, texts)?;
    if number.lt(0)? {
        return Err(input_error(py, &format!("{number} is negative")));
    }
    let bytes = number.call_method1("to_bytes", (width.bits() / 8, "little")).map_err(|error| {
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

/// The item as a Python `int`.
fn integer<'py>(item: &Bound<'py, PyAny>, texts: bool) -> PyResult<Bound<'py, PyAny>> {
    let kind = item.get_type().name()?;
    // Older versions of NumPy take their truth values for numbers.
    let is_truth = item.is_instance_of::<PyBool>() || kind == "bool_";
    let index = if is_truth { None } else { Some(item.call_method0("__index__")) };
    match index {
        Some(Ok(number)) => Ok(number),
        Some(Err(error)) if !error.is_instance_of::<PyException>(item.py()) => Err(error),
        _ => {
            let wanted = if texts { "an int or a hexadecimal str" } else { "an int" };
            let what = if texts { "fingerprint" } else { "number" };
            Err(PyTypeError::new_err(format!("{kind} is no {what}: {wanted} is wanted")))
        }
    }
}
