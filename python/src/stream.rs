//! Iterators over blocks of columns, which a thread computes at most a few blocks ahead.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use arrow_schema::SchemaRef;
use nearprint::Result;
use nearprint::any::{AnyStream, Columns as Found};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrow::schema_of;
use crate::columns::Columns;
use crate::errors::{OrRaise, fork_error};
use crate::watch::Ticker;

/// The number of rows that makes a block; the last block may have fewer.
pub(crate) const BLOCK_ROWS: usize = 1 << 16;
/// How often signals are checked.
const TICK: Duration = Duration::from_millis(50);

/// An iterator over blocks of columns. There is one block or more; the last one may be empty.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct Stream {
    /// `None` after the end.
    rows: Mutex<Option<AnyStream>>,
    /// A block without rows.
    empty: Found,
    is_begun: AtomicBool,
    /// The name of the column of groups.
    group: &'static str,
    ticker: Arc<Ticker>,
    listener: Option<Py<PyAny>>,
    /// The process that the thread runs in.
    process: u32,
}

impl Stream {
    /// Takes over rows whose progress goes to the ticker. Nothing waits for their thread: once the
    /// iterator is dropped or interrupted, it ends at its next block or report.
    pub(crate) fn new(
        rows: AnyStream,
        group: &'static str,
        ticker: Arc<Ticker>,
        listener: Option<Py<PyAny>>,
    ) -> Self {
        let empty = Found::new(rows.width(), rows.shape());
        let (rows, is_begun) = (Mutex::new(Some(rows)), AtomicBool::new(false));
        Self { rows, empty, is_begun, group, ticker, listener, process: std::process::id() }
    }

    /// Waits for the next block, at most for one tick.
    fn wait(&self) -> Poll<Option<Result<Found>>> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let next = match &mut *rows {
            Some(rows) => rows.next_within(TICK),
            None => Poll::Ready(None),
        };
        if let Poll::Ready(None | Some(Err(_))) = next {
            *rows = None;
        }
        next
    }

    /// The next block. Checks signals while it waits.
    pub(crate) fn next_columns(&self, py: Python<'_>) -> PyResult<Option<Columns>> {
        if std::process::id() != self.process {
            // The mutex may be held for ever, by a thread that only the parent has.
            return Err(fork_error(py, "the search was begun before a fork; begin it again in this process"));
        }
        loop {
            let waited = py.detach(|| self.wait());
            if let Err(raised) = self.ticker.tick(py, self.listener.as_ref()) {
                self.end();
                return Err(raised);
            }
            let Poll::Ready(next) = waited else { continue };
            let is_first = !self.is_begun.swap(true, Ordering::Relaxed);
            let next = next.transpose().or_raise(py)?;
            return Ok(next
                .or_else(|| is_first.then(|| self.empty.clone()))
                .map(|found| self.columns(found)));
        }
    }

    fn columns(&self, found: Found) -> Columns {
        Columns::of(found, self.group)
    }

    /// The names and types of the columns.
    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::new(schema_of(&self.columns(self.empty.clone())))
    }

    fn end(&self) {
        self.ticker.cancel();
        if std::process::id() != self.process {
            return;
        }
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.is_begun.store(true, Ordering::Relaxed);
    }
}

#[pymethods]
impl Stream {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.next_columns(py)?.map(|columns| columns.into_dict(py)).transpose()
    }

    /// The columns without rows.
    fn empty<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.columns(self.empty.clone()).into_dict(py)
    }

    /// Cancels the search and drops the blocks that were not taken.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.end());
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.ticker.cancel();
    }
}
