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
use crate::watch::{Ticker, watch};

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
    /// Passes the builder to some work, which returns it if there is more to come.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(AnyBuilder) -> Result<(Option<AnyBuilder>, T)> + Send,
    ) -> PyResult<T> {
        if std::process::id() != self.process {
            return Err(fork_error(py, "was begun before a fork; begin it again in this process"));
        }
        let worked = watch(py, &self.ticker, self.listener.as_ref(), || {
            let mut slot = self.building.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(building) = slot.take() else { return Ok(None) };
            let (building, value) = work(building)?;
            *slot = building;
            Ok(Some(value))
        })?;
        worked.ok_or_else(|| general_error(py, "the database is finished, or has failed"))
    }
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
        let building = watch(py, &ticker, listener.as_ref(), || {
            let options = settings.options().progress(ticker.clone());
            let builder = options.build_any(path, Width::try_from(width)?, &settings.schema()?)?;
            let builder = builder.first_id(settings.first_id);
            let builder = if runs.0 { builder.runs_only() } else { builder };
            Ok(match &runs.1 {
                Some(name) => builder.identity(name),
                None => builder,
            })
        })?;
        Ok(Self { building: Mutex::new(Some(building)), ticker, listener, process: std::process::id() })
    }

    /// Adds rows.
    fn push(&self, py: Python<'_>, rows: Rows<'_>) -> PyResult<()> {
        let borrowed = rows.borrow()?;
        self.work(py, |mut building| {
            let mut rows = 0_usize;
            let stored = &mut |_| {
                rows += 1;
                if rows.is_multiple_of(ROWS_BETWEEN_CHECKS) { self.ticker.check() } else { Ok(()) }
            };
            let keeps = building.key_storage();
            with_texts_to_store(keeps, &borrowed.rows(), |rows| building.push(rows, stored))?;
            Ok((Some(building), ()))
        })
    }

    /// Makes the database.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, |building| Ok((None, building.finish().map(drop)?)))
    }

    /// Removes what was begun, unless it is finished.
    fn abandon(&self, py: Python<'_>) {
        py.detach(|| drop(self.building.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}
