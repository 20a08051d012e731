//! Fingerprints of pictures.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nearprint::any::AnyFingerprint;
use nearprint::internal::for_each;
use nearprint_image::{Limits, Picture, Recipe};
use nearprint_text::documents::open_regular;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::input_error;
use crate::watch::{Ticker, watch};
use crate::words;

/// A picture as Python passes it.
#[derive(FromPyObject)]
pub(crate) enum Item {
    /// A file.
    #[pyo3(transparent)]
    Bytes(PyBackedBytes),
    /// Height, width, samples per pixel, and the samples.
    Samples(usize, usize, usize, PyBackedBytes),
    /// The path of a file.
    #[pyo3(transparent)]
    Path(PathBuf),
}

/// Fingerprints as words, the quality of each picture, and the indexes of those without a fingerprint with the reason.
type Fingerprints<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Vec<(usize, String)>);

/// The fingerprints of pictures, which are made on several threads.
#[pyfunction]
pub(crate) fn fingerprint_pictures<'py>(
    py: Python<'py>,
    items: Vec<Item>,
    recipe: &str,
    threads: usize,
) -> PyResult<Fingerprints<'py>> {
    let recipe: Recipe =
        recipe.parse().map_err(|why| input_error(py, &format!("recipe {recipe:?}: {why}")))?;
    nearprint_image::quiet_decoders();
    let ticker = Ticker::default();
    let found = watch(py, &ticker, None, || {
        let found = Mutex::new(vec![None; items.len()]);
        for_each(threads, items.iter().enumerate(), |(at, item)| {
            if ticker.check().is_ok() {
                let made = fingerprint(item, recipe);
                found.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(made);
            }
        });
        ticker.check()?;
        Ok::<_, nearprint::Error>(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    })?;
    let (mut all, mut qualities, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for (at, made) in found.into_iter().enumerate() {
        let made = made.unwrap_or_else(|| Err("was not read".into()));
        let (fingerprint, quality) = made.unwrap_or_else(|why| {
            failed.push((at, why));
            (AnyFingerprint::new(recipe.width(), &[]), 0)
        });
        all.extend_from_slice(fingerprint.words());
        qualities.push(quality);
    }
    let array = words::Words::from_words(recipe.width(), all).into_array(py)?;
    Ok((array, qualities.into_pyarray(py).into_any(), failed))
}

/// The fingerprint of a picture and its quality, or why there is none.
fn fingerprint(item: &Item, recipe: Recipe) -> Result<(AnyFingerprint, u8), String> {
    let text = |error: nearprint_image::Error| error.to_string();
    let of = |picture: &Picture<'_>| recipe.fingerprint(picture);
    match item {
        Item::Bytes(bytes) => {
            Picture::decode_luminance(bytes, &Limits::default()).map(|picture| of(&picture)).map_err(text)
        }
        Item::Path(path) => {
            let bytes = read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let picture = Picture::decode_luminance(&bytes, &Limits::default());
            picture.map(|picture| of(&picture)).map_err(|error| format!("{}: {error}", path.display()))
        }
        Item::Samples(height, width, 1, samples) => {
            Picture::grey(*width, *height, &**samples).map(|picture| of(&picture)).map_err(text)
        }
        Item::Samples(height, width, _, samples) => {
            Picture::rgb(*width, *height, &**samples).map(|picture| of(&picture)).map_err(text)
        }
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
