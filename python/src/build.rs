//! Builds databases of rows that come in batches.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use nearprint::any::AnyBuilder;
use nearprint::{Result, Width};
use nearprint_text::dedup::with_texts_to_store;
use pyo3::prelude::*;

use crate::arguments::{Rows, Settings};
use crate::core::ROWS_BETWEEN_CHECKS;
use crate::errors::{fork_error, general_error};
use crate::watch::{Ticker, address_of, watch, watched};

/// A database under construction. A call that is interrupted or fails removes it.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct Builder {
    building: Mutex<Option<AnyBuilder>>,
    ticker: Arc<Ticker>,
    listener: Option<Py<PyAny>>,
    /// The process that began it.
    process: u32,
}

impl Builder {
    /// Passes the builder to some work, which returns it if there is more to come. Returns whether there was one.
    fn work(&self, work: impl FnOnce(AnyBuilder) -> Result<Option<AnyBuilder>>) -> Result<bool> {
        let mut slot = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(building) = slot.take() else { return Ok(false) };
        *slot = work(building)?;
        Ok(true)
    }

    fn check_process(&self, py: Python<'_>) -> PyResult<()> {
        match std::process::id() == self.process {
            true => Ok(()),
            false => Err(fork_error(py, "was begun before a fork; begin it again in this process")),
        }
    }
}

/// Refuses a call for which there was no builder.
fn check_worked(py: Python<'_>, has_worked: bool) -> PyResult<()> {
    if has_worked { Ok(()) } else { Err(general_error(py, "the database is finished, or has failed")) }
}

#[pymethods]
impl Builder {
    /// Begins a database. `runs` is given for a folder of runs, with their identity.
    #[staticmethod]
    fn begin(
        py: Python<'_>,
        path: PathBuf,
        width: u32,
        settings: Settings,
        runs: (bool, Option<String>),
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let ticker = Arc::new(Ticker::default());
        let building = watched(py, &ticker, listener.as_ref(), || {
            let options = settings.options(address_of(&*ticker)).progress(ticker.clone());
            let builder = options.build_any(path, Width::try_from(width)?, &settings.schema()?)?;
            let builder = builder.first_id(settings.first_id);
            let builder = if runs.0 { builder.runs_only() } else { builder };
            Ok::<_, nearprint::Error>(match &runs.1 {
                Some(name) => builder.identity(name),
                None => builder,
            })
        })?;
        Ok(Self { building: Mutex::new(Some(building)), ticker, listener, process: std::process::id() })
    }

    /// Adds rows.
    fn push(&self, py: Python<'_>, rows: Rows<'_>) -> PyResult<()> {
        self.check_process(py)?;
        let borrowed = rows.borrow()?;
        let push = |mut building: AnyBuilder| {
            let mut rows = 0_usize;
            let stored = &mut |_| {
                rows += 1;
                if rows.is_multiple_of(ROWS_BETWEEN_CHECKS) { self.ticker.check() } else { Ok(()) }
            };
            let keeps = building.key_storage();
            with_texts_to_store(keeps, &borrowed.rows(), |rows| building.push(rows, stored))?;
            Ok(Some(building))
        };
        let listener = self.listener.as_ref();
        let has_worked = watched(py, &self.ticker, listener, || self.work(push))?;
        // More is to come: an exception ends the build.
        self.ticker.report_reached(py, listener)?;
        check_worked(py, has_worked)
    }

    /// Makes the database.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.check_process(py)?;
        let finish = |building: AnyBuilder| building.finish().map(|_| None);
        let has_worked = watch(py, &self.ticker, self.listener.as_ref(), || self.work(finish))?;
        check_worked(py, has_worked)
    }

    /// Removes what was begun, unless it is finished. In the child of a fork it is the parent's.
    fn abandon(&self, py: Python<'_>) {
        if std::process::id() != self.process {
            // The mutex may be held for ever, by a thread that only the parent has.
            return;
        }
        py.detach(|| drop(self.building.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}
