//! Fingerprints of many texts, on all threads.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use nearprint::Result;
use nearprint_text::recipe::{Fingerprinter, Recipe};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyList, PyString};
use pyo3_arrow::input::AnyArray;

use crate::columns;
use crate::core::refuse_width;
use crate::errors::input_error;
use crate::watch::{Ticker, tell, watch};
use crate::words::{Words, with_width};

/// Texts that are taken out of a Python list at once, with the interpreter's lock.
const TEXTS_AT_ONCE: usize = 1 << 13;
/// Texts that one thread makes the fingerprints of before it looks whether to go on.
const TEXTS_BETWEEN_CHECKS: usize = 64;

/// Fingerprints, and the positions of texts that are missing.
type Fingerprints<'py> = (Bound<'py, PyAny>, Vec<usize>);

/// Reads a recipe: a name, parts, or a name and parts.
fn parse(py: Python<'_>, recipe: &str) -> PyResult<Recipe> {
    recipe.parse().map_err(|why: nearprint_text::recipe::RecipeError| input_error(py, &why.to_string()))
}

/// The recipe as a database keeps it, and the width of its fingerprints.
#[pyfunction]
pub(crate) fn recipe_line(py: Python<'_>, recipe: &str) -> PyResult<(String, u32)> {
    let recipe = parse(py, recipe)?;
    Ok((recipe.to_string(), recipe.width()))
}

/// The first eight bytes of an MD5 digest as a number, the most significant first.
#[pyfunction]
pub(crate) fn unsigned_hash(bytes: &[u8]) -> u64 {
    nearprint_text::recipe::unsigned_hash(bytes)
}

/// The text that stands in HTML, one line for each paragraph.
#[pyfunction]
pub(crate) fn html_text(py: Python<'_>, html: &str) -> String {
    py.detach(|| nearprint_text::recipe::html_text(html))
}

/// Fingerprints of a list of texts.
#[pyfunction]
pub(crate) fn fingerprint_list<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyList>,
    recipe: &str,
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Fingerprints<'py>> {
    let recipe = parse(py, recipe)?;
    with_width!(recipe.width(), F => {
        let mut makers = Makers::<F>::new(py, &recipe, threads, listener, texts.len())?;
        for start in (0..texts.len()).step_by(TEXTS_AT_ONCE) {
            let end = texts.len().min(start + TEXTS_AT_ONCE);
            let owned = (start..end).map(|index| text_at(texts, index)).collect::<PyResult<Vec<_>>>()?;
            let borrowed: Vec<Option<&str>> = owned.iter().map(Option::as_deref).collect();
            makers.make(py, &borrowed)?;
        }
        makers.into_python(py)
    }, else Err(refuse_width(py, recipe.width())))
}

/// A text, or nothing for what stands for a missing one.
fn text_at(texts: &Bound<'_, PyList>, index: usize) -> PyResult<Option<String>> {
    let item = texts.get_item(index)?;
    if let Ok(text) = item.cast::<PyString>() {
        return text.to_cow().map(|text| Some(text.into_owned()));
    }
    let is_nan = item.cast::<PyFloat>().is_ok_and(|number| number.value().is_nan());
    let kind = item.get_type().name()?.to_string();
    if item.is_none() || is_nan || kind == "NAType" || kind == "NaTType" {
        return Ok(None);
    }
    let hint = if item.is_instance_of::<PyBytes>() { "; decode bytes first" } else { "" };
    Err(PyTypeError::new_err(format!("item {index}: {kind} is no text: a str is wanted{hint}")))
}

/// Fingerprints of an Arrow array of texts.
#[pyfunction]
pub(crate) fn fingerprint_arrow<'py>(
    py: Python<'py>,
    texts: AnyArray,
    recipe: &str,
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Fingerprints<'py>> {
    let recipe = parse(py, recipe)?;
    let texts = texts.into_chunked_array()?;
    let total = texts.chunks().iter().map(|chunk| chunk.len()).sum();
    with_width!(recipe.width(), F => {
        let mut makers = Makers::<F>::new(py, &recipe, threads, listener, total)?;
        for chunk in texts.chunks() {
            for some in texts_of(chunk)?.chunks(TEXTS_AT_ONCE) {
                makers.make(py, some)?;
            }
        }
        makers.into_python(py)
    }, else Err(refuse_width(py, recipe.width())))
}

fn texts_of(chunk: &ArrayRef) -> PyResult<Vec<Option<&str>>> {
    Ok(match chunk.data_type() {
        DataType::Utf8 => chunk.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => chunk.as_string::<i64>().iter().collect(),
        DataType::Utf8View => chunk.as_string_view().iter().collect(),
        DataType::Null => vec![None; chunk.len()],
        other => return Err(PyTypeError::new_err(format!("an Arrow array of {other}: texts are wanted"))),
    })
}

/// What makes fingerprints on each thread, and those made so far.
struct Makers<F> {
    makers: Vec<Fingerprinter<F>>,
    words: Vec<u64>,
    missing: Vec<usize>,
    made: usize,
    total: usize,
    width: u32,
    listener: Option<Py<PyAny>>,
}

impl<F: Words> Makers<F> {
    fn new(
        py: Python<'_>,
        recipe: &Recipe,
        threads: usize,
        listener: Option<Py<PyAny>>,
        total: usize,
    ) -> PyResult<Self> {
        let maker = recipe.fingerprinter::<F>().map_err(|why| input_error(py, &why.to_string()))?;
        let makers = vec![maker; threads.max(1)];
        Ok(Self {
            makers,
            words: Vec::new(),
            missing: Vec::new(),
            made: 0,
            total,
            width: recipe.width(),
            listener,
        })
    }

    /// Makes the fingerprints of the texts that are next.
    fn make(&mut self, py: Python<'_>, texts: &[Option<&str>]) -> PyResult<()> {
        let ticker = Ticker::default();
        watch(py, &ticker, None, || self.make_watched(texts, &ticker))?;
        if let Some(listener) = &self.listener {
            tell(py, listener, ("fingerprinting", self.made, self.total))?;
        }
        Ok(())
    }

    fn make_watched(&mut self, texts: &[Option<&str>], ticker: &Ticker) -> Result<()> {
        let missing = texts.iter().enumerate().filter(|(_, text)| text.is_none());
        self.missing.extend(missing.map(|(index, _)| self.made + index));
        self.made += texts.len();
        let before = self.words.len();
        self.words.resize(before + texts.len() * F::COUNT, 0);
        let each = texts.len().div_ceil(self.makers.len()).max(1);
        std::thread::scope(|scope| {
            let rooms = self.words[before..].chunks_mut(each * F::COUNT);
            for ((maker, some), room) in self.makers.iter_mut().zip(texts.chunks(each)).zip(rooms) {
                scope.spawn(move || make_some(maker, some, room, ticker));
            }
        });
        ticker.check()
    }

    fn into_python(self, py: Python<'_>) -> PyResult<Fingerprints<'_>> {
        Ok((columns::fingerprints(py, self.words, self.width)?, self.missing))
    }
}

fn make_some<F: Words>(
    maker: &mut Fingerprinter<F>,
    texts: &[Option<&str>],
    room: &mut [u64],
    ticker: &Ticker,
) {
    let mut row = Vec::new();
    for (index, (text, words)) in texts.iter().zip(room.chunks_exact_mut(F::COUNT)).enumerate() {
        if index.is_multiple_of(TEXTS_BETWEEN_CHECKS) && ticker.check().is_err() {
            return;
        }
        row.clear();
        maker.fingerprint(text.unwrap_or_default()).value.append_to(&mut row);
        words.copy_from_slice(&row);
    }
}
