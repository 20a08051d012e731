//! Fingerprints of many texts, on all threads.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use nearprint::internal::for_each;
use nearprint::{BandLayout, Result, Width};
use nearprint_text::recipe::{self, AnyFingerprinter, Comparable, Recipe, RecipeError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyList, PyString};

use crate::capsules::ArrowArrays;
use crate::errors::{OrRaise, input_error};
use crate::watch::{Ticker, report, watch};
use crate::words::Words;

/// The number of texts that are read from Python at once, under the interpreter's lock.
const TEXTS_AT_ONCE: usize = 1 << 13;
/// The number of texts that a thread fingerprints between two checks for cancellation.
const TEXTS_BETWEEN_CHECKS: usize = 64;

/// Fingerprints, and the positions of missing texts and of texts with few features: see [`How`].
type Fingerprints<'py> = (Bound<'py, PyAny>, Vec<usize>, Vec<usize>);

/// Whether fingerprints are those that a deduplication stores, and the number below which features are
/// few. Of stored fingerprints, the positions of texts without tokens are returned instead.
type How = (bool, usize);

/// Receives some of the texts; `None` is a missing text.
type Feed<'a> = &'a mut dyn FnMut(&[Option<&str>]) -> PyResult<()>;

/// Reads a recipe: a name, parts, or a name and parts.
fn parse(py: Python<'_>, recipe: &str) -> PyResult<Recipe> {
    recipe.parse().map_err(|why: RecipeError| input_error(py, &why.to_string()))
}

/// The recipe as a database stores it, the width of its fingerprints, and their bands. Also of recipes of pictures.
#[pyfunction]
pub(crate) fn recipe_line(py: Python<'_>, recipe: &str) -> PyResult<(String, u32, Option<String>)> {
    if let Ok(recipe) = recipe.parse::<nearprint_image::Recipe>() {
        return Ok((recipe.to_string(), recipe.width().bits(), None));
    }
    let recipe = parse(py, recipe)?;
    Ok((recipe.to_string(), recipe.width().bits(), recipe.bands().map(|bands| bands.to_string())))
}

/// The similarities that distances of fingerprints of a recipe suggest.
#[pyfunction]
pub(crate) fn estimates(py: Python<'_>, recipe: &str, distances: Vec<u32>) -> PyResult<Vec<f64>> {
    let recipe = parse(py, recipe)?;
    Ok(distances.into_iter().map(|distance| recipe.similarity(distance)).collect())
}

/// The distance of near-duplicates by a recipe. Also by recipes of pictures.
#[pyfunction]
pub(crate) fn default_k(py: Python<'_>, recipe: &str) -> PyResult<u32> {
    if let Ok(recipe) = recipe.parse::<nearprint_image::Recipe>() {
        return Ok(recipe.default_k());
    }
    Ok(parse(py, recipe)?.default_k())
}

/// The bits of the sketch beside some bands, and the distance of sketches for a similarity.
#[pyfunction]
pub(crate) fn sketch_of(py: Python<'_>, bands: &str, width: u32, similarity: f64) -> PyResult<(u32, u32)> {
    let bands = bands.parse::<BandLayout>().or_raise(py)?;
    let width = Width::try_from(width).or_raise(py)?;
    bands.check(width).or_raise(py)?;
    Ok((bands.sketch_bits(width), bands.distance_of(width, similarity)))
}

/// The first eight bytes of an MD5 digest as a number, the most significant byte first.
#[pyfunction]
pub(crate) fn unsigned_hash(bytes: &[u8]) -> u64 {
    recipe::unsigned_hash(bytes)
}

/// The text of an HTML document, one line for each paragraph.
#[pyfunction]
pub(crate) fn html_text(py: Python<'_>, html: &str) -> String {
    py.detach(|| recipe::html_text(html))
}

/// Fingerprints of a list of texts.
#[pyfunction]
pub(crate) fn fingerprint_list<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyList>,
    recipe: &str,
    how: How,
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Fingerprints<'py>> {
    let recipe = &parse(py, recipe)?;
    let source = |feed: Feed<'_>| {
        for start in (0..texts.len()).step_by(TEXTS_AT_ONCE) {
            let end = texts.len().min(start + TEXTS_AT_ONCE);
            let owned = (start..end).map(|index| text_at(texts, index)).collect::<PyResult<Vec<_>>>()?;
            let borrowed: Vec<Option<&str>> = owned.iter().map(Option::as_deref).collect();
            feed(&borrowed)?;
        }
        Ok(())
    };
    fingerprint_all(py, (recipe, how), threads, (listener, texts.len()), source)
}

/// A text, or `None` for a value that stands for a missing one.
pub(crate) fn text_at(texts: &Bound<'_, PyList>, index: usize) -> PyResult<Option<String>> {
    let item = texts.get_item(index)?;
    if let Ok(text) = item.cast::<PyString>() {
        return match text.to_cow() {
            Ok(text) => Ok(Some(text.into_owned())),
            Err(why) => Err(input_error(
                item.py(),
                &format!("item {index} is no valid Unicode: {}", why.value(item.py())),
            )),
        };
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
    texts: ArrowArrays,
    recipe: &str,
    how: How,
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Fingerprints<'py>> {
    let recipe = &parse(py, recipe)?;
    let total = texts.chunks.iter().map(|chunk| chunk.len()).sum();
    let source = |feed: Feed<'_>| {
        for chunk in &texts.chunks {
            texts_of(chunk)?.chunks(TEXTS_AT_ONCE).try_for_each(&mut *feed)?;
        }
        Ok(())
    };
    fingerprint_all(py, (recipe, how), threads, (listener, total), source)
}

/// The texts of an array, `None` for nulls.
pub(crate) fn texts_of(chunk: &ArrayRef) -> PyResult<Vec<Option<&str>>> {
    Ok(match chunk.data_type() {
        DataType::Utf8 => chunk.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => chunk.as_string::<i64>().iter().collect(),
        DataType::Utf8View => chunk.as_string_view().iter().collect(),
        DataType::Null => vec![None; chunk.len()],
        DataType::Dictionary(..) => {
            let dictionary = chunk.as_any_dictionary();
            let values = texts_of(dictionary.values())?;
            if values.is_empty() {
                return Ok(vec![None; chunk.len()]);
            }
            let text_at = |(at, index): (usize, usize)| dictionary.keys().is_valid(at).then(|| values[index]);
            dictionary.normalized_keys().into_iter().enumerate().map(|key| text_at(key).flatten()).collect()
        }
        other => return Err(PyTypeError::new_err(format!("an Arrow array of {other}: texts are wanted"))),
    })
}

/// Fingerprints all texts that `source` feeds, `total` in number.
fn fingerprint_all<'py>(
    py: Python<'py>,
    (recipe, how): (&Recipe, How),
    threads: usize,
    (listener, total): (Option<Py<PyAny>>, usize),
    source: impl FnOnce(Feed<'_>) -> PyResult<()>,
) -> PyResult<Fingerprints<'py>> {
    let mut job = Job {
        fingerprinters: vec![recipe.any_fingerprinter(); threads.max(1)],
        num_words: recipe.width().words(),
        how,
        words: Vec::new(),
        missing: Vec::new(),
        few: Vec::new(),
        done: 0,
    };
    source(&mut |texts| {
        let ticker = Ticker::default();
        watch(py, &ticker, None, || job.fingerprint(texts, &ticker))?;
        listener.as_ref().map_or(Ok(()), |listener| report(py, listener, ("fingerprinting", job.done, total)))
    })?;
    Ok((Words::from_words(recipe.width(), job.words).into_array(py)?, job.missing, job.few))
}

/// The fingerprinters of all threads, and their results so far.
struct Job {
    fingerprinters: Vec<AnyFingerprinter>,
    num_words: usize,
    how: How,
    words: Vec<u64>,
    missing: Vec<usize>,
    few: Vec<usize>,
    done: usize,
}

impl Job {
    /// Fingerprints the next texts, each thread a part of them.
    fn fingerprint(&mut self, texts: &[Option<&str>], ticker: &Ticker) -> Result<()> {
        let missing = texts.iter().enumerate().filter(|(_, text)| text.is_none());
        self.missing.extend(missing.map(|(index, _)| self.done + index));
        let mut are_few = vec![false; texts.len()];
        let before = self.words.len();
        self.words.resize(before + texts.len() * self.num_words, 0);
        let texts_each = texts.len().div_ceil(self.fingerprinters.len()).max(1);
        let outputs = self.words[before..].chunks_mut(texts_each * self.num_words);
        let (threads, how) = (self.fingerprinters.len(), self.how);
        let results = outputs.zip(are_few.chunks_mut(texts_each));
        let parts = self.fingerprinters.iter_mut().zip(texts.chunks(texts_each)).zip(results);
        for_each(threads, parts, |((fingerprinter, some), (output, are_few))| {
            fingerprint_some(fingerprinter, how, some, (output, are_few), ticker);
        });
        let few = are_few.iter().enumerate().filter(|(_, is_few)| **is_few);
        self.few.extend(few.map(|(index, _)| self.done + index));
        self.done += texts.len();
        ticker.check()
    }
}

fn fingerprint_some(
    fingerprinter: &mut AnyFingerprinter,
    (is_stored, min_features): How,
    texts: &[Option<&str>],
    (output, are_few): (&mut [u64], &mut [bool]),
    ticker: &Ticker,
) {
    let rows = output.chunks_exact_mut(fingerprinter.recipe().width().words()).zip(are_few);
    for (index, (text, (row, is_few))) in texts.iter().zip(rows).enumerate() {
        if index.is_multiple_of(TEXTS_BETWEEN_CHECKS) && ticker.check().is_err() {
            return;
        }
        let found = fingerprinter.fingerprint(text.unwrap_or_default());
        let (fingerprint, few) = match is_stored {
            true => (found.stored(""), found.comparable() == Comparable::Nothing),
            false => (found.value, found.num_features < min_features),
        };
        *is_few = few && text.is_some();
        row.copy_from_slice(fingerprint.words());
    }
}
