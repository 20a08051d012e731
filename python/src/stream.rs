//! Iterators over blocks of columns, which a thread computes at most a few blocks ahead.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_schema::{Schema, SchemaRef};
use nearprint::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrow::schema_of;
use crate::columns::{Collector, Columns};
use crate::errors::{OrRaise, fork_error, general_error};
use crate::watch::Ticker;

/// The number of rows that makes a block; the last block may have fewer.
const BLOCK_ROWS: usize = 1 << 16;
/// The number of finished blocks that may wait to be taken.
const BLOCKS_AHEAD: usize = 2;
/// How often signals are checked.
const TICK: Duration = Duration::from_millis(50);

/// What computes the blocks of a stream.
pub(crate) type Search = Box<dyn FnOnce(&Sink) -> Result<()> + Send>;

/// Receives the blocks of a stream.
pub(crate) struct Sink {
    sender: SyncSender<Result<Option<Columns>>>,
    ticker: Arc<Ticker>,
}

impl Sink {
    /// Sends what was collected if it makes a block. Fails once the stream is closed or cancelled.
    pub(crate) fn send_full(&self, collector: &mut impl Collector) -> Result<()> {
        if collector.num_rows() >= BLOCK_ROWS { self.send_rest(collector) } else { self.ticker.check() }
    }

    /// Sends what was collected. Fails once the stream is closed.
    pub(crate) fn send_rest(&self, collector: &mut impl Collector) -> Result<()> {
        self.sender.send(Ok(Some(collector.take()))).map_err(|_| Error::Interrupted)
    }
}

/// An iterator over blocks of columns.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct Stream {
    /// Blocks, then an error or an inner `None`, which is the end; the outer `None` after that.
    blocks: Mutex<Option<Receiver<Result<Option<Columns>>>>>,
    /// The next block, which somebody has looked at.
    seen: Mutex<Option<Columns>>,
    /// The columns of the first block that was looked at.
    schema: Mutex<Option<SchemaRef>>,
    ticker: Arc<Ticker>,
    listener: Option<Py<PyAny>>,
    /// The process that the thread runs in.
    process: u32,
}

impl Stream {
    /// Starts a thread that computes the blocks. The thread owns its data, so nothing waits for it:
    /// once the iterator is dropped or interrupted, it ends at its next block or report.
    pub(crate) fn start(
        ticker: Arc<Ticker>,
        listener: Option<Py<PyAny>>,
        search: impl FnOnce(&Sink) -> Result<()> + Send + 'static,
    ) -> Self {
        let (sender, receiver) = sync_channel(BLOCKS_AHEAD);
        let sink = Sink { sender: sender.clone(), ticker: ticker.clone() };
        let started = std::thread::Builder::new().spawn(move || {
            let end = search(&sink).map(|()| None);
            // A closed stream needs no result.
            let _ = sink.sender.send(end);
        });
        if let Err(error) = started {
            // The channel is empty, and has room.
            let _ = sender.send(Err(Error::io("start", "a thread for results")(error)));
        }
        Self {
            blocks: Mutex::new(Some(receiver)),
            seen: Mutex::default(),
            schema: Mutex::default(),
            ticker,
            listener,
            process: std::process::id(),
        }
    }

    /// Waits for the next block, at most for one tick.
    fn wait(&self) -> ControlFlow<std::result::Result<Option<Columns>, Failure>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(receiver) = &*blocks else { return ControlFlow::Break(Ok(None)) };
        let end = match receiver.recv_timeout(TICK) {
            Err(RecvTimeoutError::Timeout) => return ControlFlow::Continue(()),
            Ok(Ok(Some(columns))) => return ControlFlow::Break(Ok(Some(columns))),
            Ok(Ok(None)) => Ok(None),
            Ok(Err(error)) => Err(Failure::Reported(error)),
            Err(RecvTimeoutError::Disconnected) => Err(Failure::Disconnected),
        };
        *blocks = None;
        ControlFlow::Break(end)
    }

    /// The next block. Checks signals while it waits.
    pub(crate) fn next_columns(&self, py: Python<'_>) -> PyResult<Option<Columns>> {
        if std::process::id() != self.process {
            return Err(fork_error(py, "the search was begun before a fork; begin it again in this process"));
        }
        if let Some(seen) = self.seen.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Ok(Some(seen));
        }
        loop {
            let waited = py.detach(|| self.wait());
            if let Err(raised) = self.ticker.tick(py, self.listener.as_ref()) {
                self.end();
                return Err(raised);
            }
            match waited {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(Ok(columns)) => return Ok(columns),
                ControlFlow::Break(Err(Failure::Reported(error))) => return Err(error).or_raise(py),
                ControlFlow::Break(Err(Failure::Disconnected)) => {
                    return Err(general_error(py, "the search has ended without a result"));
                }
            }
        }
    }

    /// The names and types of the columns. Waits for the next block, which the next call returns.
    pub(crate) fn schema(&self, py: Python<'_>) -> PyResult<SchemaRef> {
        let known = || self.schema.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(schema) = &*known() {
            return Ok(schema.clone());
        }
        let next = self.next_columns(py)?;
        let schema = Arc::new(next.as_ref().map_or_else(Schema::empty, schema_of));
        *known() = Some(schema.clone());
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(schema)
    }

    fn end(&self) {
        self.ticker.cancel();
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.blocks.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Why there is no next block.
enum Failure {
    /// The search failed.
    Reported(Error),
    /// The thread panicked.
    Disconnected,
}

#[pymethods]
impl Stream {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.next_columns(py)?.map(|columns| columns.into_dict(py)).transpose()
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
