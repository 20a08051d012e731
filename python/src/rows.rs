//! Rows of documents: fingerprints, and the evidence that a database keeps beside their keys.

use nearprint::any::AnyFingerprint;
use nearprint::internal::for_each;
use nearprint_text::Result;
use nearprint_text::recipe::Recipe;
use nearprint_text::stored::DocumentRows;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyList};

use crate::arguments::storage_of;
use crate::errors::input_error;
use crate::watch::{Ticker, watch};
use crate::words::Words;

/// The number of documents that a thread takes between two checks for cancellation.
const DOCUMENTS_BETWEEN_CHECKS: usize = 64;

/// Fingerprints, and what is stored beside keys.
type Made = Vec<(AnyFingerprint, Vec<u8>)>;

/// The fingerprints of documents, and the bytes that a database with this storage keeps beside their keys.
#[pyfunction]
pub(crate) fn document_rows<'py>(
    py: Python<'py>,
    keys: Vec<PyBackedStr>,
    texts: Vec<PyBackedStr>,
    recipe: &str,
    keeps: &str,
    threads: usize,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyList>)> {
    let recipe = recipe.parse::<Recipe>().map_err(|why| input_error(py, &why.to_string()))?;
    let documents: Vec<(PyBackedStr, PyBackedStr)> = keys.into_iter().zip(texts).collect();
    let ticker = Ticker::default();
    let made = watch(py, &ticker, None, || {
        let rows = DocumentRows::new(&recipe, storage_of(keeps));
        all_rows(&rows, &documents, threads, &ticker)
    })?;
    let evidence = PyList::new(py, made.iter().map(|(_, bytes)| PyBytes::new(py, bytes)))?;
    let all = made.iter().flat_map(|(fingerprint, _)| fingerprint.words()).copied().collect();
    Ok((Words::from_words(recipe.width(), all).into_array(py)?, evidence))
}

/// Makes the rows of documents on several threads.
fn all_rows(
    rows: &DocumentRows,
    documents: &[(PyBackedStr, PyBackedStr)],
    threads: usize,
    ticker: &Ticker,
) -> Result<Made> {
    let each = documents.len().div_ceil(threads.max(1)).max(1);
    let mut parts: Vec<Result<Made>> = documents.chunks(each).map(|_| Ok(Vec::new())).collect();
    for_each(threads, documents.chunks(each).zip(&mut parts), |(some, part)| {
        *part = rows_of(rows.clone(), some, ticker);
    });
    let mut all = Vec::with_capacity(documents.len());
    for part in parts {
        all.extend(part?);
    }
    Ok(all)
}

fn rows_of(
    mut rows: DocumentRows,
    documents: &[(PyBackedStr, PyBackedStr)],
    ticker: &Ticker,
) -> Result<Made> {
    let mut made = Vec::with_capacity(documents.len());
    for (index, (key, text)) in documents.iter().enumerate() {
        if index.is_multiple_of(DOCUMENTS_BETWEEN_CHECKS) {
            ticker.check()?;
        }
        made.push(rows.row(key, text)?);
    }
    Ok(made)
}
