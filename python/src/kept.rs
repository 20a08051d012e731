//! The class behind `partition.Kept`: decides which fingerprints are kept.

use std::sync::{Arc, Mutex, PoisonError};

use nearprint::{Options, Width};
use nearprint_text::{Result, dedup};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{Column, Columns};
use crate::errors::{OrRaise, fork_error, general_error};
use crate::lists::near_of;
use crate::watch::{Ticker, watch};

/// The fingerprints of a stream that are near none that was kept before. A call that is interrupted
/// makes the object unusable.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct KeptFingerprints {
    decider: Mutex<Option<dedup::KeptFingerprints>>,
    /// The process that made it.
    process: u32,
}

#[pymethods]
impl KeptFingerprints {
    #[staticmethod]
    fn temporary(py: Python<'_>, width: u32, near: (u32, Option<String>)) -> PyResult<Self> {
        let near = near_of(py, near)?;
        let width = Width::try_from(width).or_raise(py)?;
        let make = || dedup::KeptFingerprints::new(width, near, Options::new().threads(1));
        let decider = py.detach(make).or_raise(py)?;
        Ok(Self { decider: Mutex::new(Some(decider)), process: std::process::id() })
    }

    /// Decides fingerprints in order: the number of the nearest kept one, or -1, and the distance.
    fn decide<'py>(&self, py: Python<'py>, words: PyReadonlyArray1<'_, u64>) -> PyResult<Bound<'py, PyDict>> {
        if std::process::id() != self.process {
            return Err(fork_error(py, "was made before a fork; make another one in this process"));
        }
        let words = words.as_slice()?;
        let ticker = Arc::new(Ticker::default());
        let decided = watch(py, &ticker, None, || {
            let mut slot = self.decider.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(mut decider) = slot.take() else { return Ok(None) };
            let decided = decide_all(&mut decider, words, &ticker)?;
            *slot = Some(decider);
            Ok::<_, nearprint_text::Error>(Some(decided))
        })?;
        match decided {
            Some(columns) => columns.into_dict(py),
            None => Err(general_error(py, "an earlier call was interrupted or has failed")),
        }
    }
}

/// Decides fingerprints, whose words stand one after the other.
fn decide_all(kept: &mut dedup::KeptFingerprints, words: &[u64], ticker: &Ticker) -> Result<Columns> {
    let (mut of, mut distances) = (Vec::new(), Vec::new());
    for fingerprint in words.chunks_exact(kept.width().words()) {
        ticker.check()?;
        let nearest = kept.decide(fingerprint)?;
        of.push(nearest.map_or(-1, |nearest| nearest.id.cast_signed()));
        distances.push(nearest.map_or(0, |nearest| nearest.distance));
    }
    let columns = Columns::default().with("duplicate_of", Column::Indices(of));
    Ok(columns.with("distance", Column::Distances(distances)))
}
