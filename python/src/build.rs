//! Builds databases of rows that come in batches.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use nearprint::{Builder, Fingerprint, NewRow, Options, Result, Schema, Width, WidthVisitor};
use pyo3::prelude::*;

use crate::arguments::{Batch, Rows, Settings};
use crate::errors::{fork_error, general_error};
use crate::watch::{Ticker, watch};
use crate::words::fingerprints;
use crate::writes::ROWS_BETWEEN_CHECKS;

/// A builder of any width.
trait Building: Send {
    fn push(&mut self, batch: &Batch<'_>, ticker: &Ticker) -> Result<()>;
    fn finish(self: Box<Self>) -> Result<()>;
}

impl<F: Fingerprint> Building for Builder<F> {
    fn push(&mut self, batch: &Batch<'_>, ticker: &Ticker) -> Result<()> {
        for (index, fingerprint) in fingerprints::<F>(batch.words).enumerate() {
            if index.is_multiple_of(ROWS_BETWEEN_CHECKS) {
                ticker.check()?;
            }
            let (id, key, text) = batch.row(index);
            Self::push(self, NewRow { fingerprint, id, key, text })?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        (*self).finish().map(drop)
    }
}

/// A database under construction. A call that is interrupted or fails removes it.
#[pyclass(frozen, name = "Builder", module = "nearprint._nearprint")]
pub(crate) struct AnyBuilder {
    building: Mutex<Option<Box<dyn Building>>>,
    ticker: Arc<Ticker>,
    listener: Option<Py<PyAny>>,
    /// The process that began it.
    process: u32,
}

impl AnyBuilder {
    /// Passes the builder to some work, which returns it if there is more to come.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(Box<dyn Building>) -> Result<(Option<Box<dyn Building>>, T)> + Send,
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
impl AnyBuilder {
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
            Width::try_from(width)?.visit(Begin {
                path,
                schema: settings.schema()?,
                options: settings.options().progress(ticker.clone()),
                first_id: settings.first_id,
                runs_only: runs.0,
                identity: runs.1,
            })
        })?;
        Ok(Self { building: Mutex::new(Some(building)), ticker, listener, process: std::process::id() })
    }

    /// Adds rows.
    fn push(&self, py: Python<'_>, rows: Rows<'_>) -> PyResult<()> {
        let batch = rows.batch()?;
        self.work(py, |mut building| {
            building.push(&batch, &self.ticker)?;
            Ok((Some(building), ()))
        })
    }

    /// Makes the database.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.work(py, |building| Ok((None, building.finish()?)))
    }

    /// Removes what was begun, unless it is finished.
    fn abandon(&self, py: Python<'_>) {
        py.detach(|| drop(self.building.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

struct Begin {
    path: PathBuf,
    schema: Schema,
    options: Options,
    first_id: u64,
    runs_only: bool,
    identity: Option<String>,
}

impl WidthVisitor for Begin {
    type Output = Result<Box<dyn Building>>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        let builder = self.options.build::<F>(&self.path, &self.schema)?.first_id(self.first_id);
        let builder = if self.runs_only { builder.runs_only() } else { builder };
        Ok(Box::new(match &self.identity {
            Some(name) => builder.identity(name),
            None => builder,
        }))
    }
}
