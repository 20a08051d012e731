//! Results that come block by block, made by a thread that is never far ahead.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nearprint::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::errors::{OrRaise, general_error};
use crate::watch::Ticker;

/// Rows that one block has at least, but for the last.
pub(crate) const BLOCK_ROWS: usize = 1 << 16;
/// Finished blocks that may wait.
const BLOCKS_AHEAD: usize = 2;
/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(50);

/// Takes the blocks of a stream.
pub(crate) struct Sink {
    sender: SyncSender<Result<Option<Columns>>>,
}

impl Sink {
    /// Hands a block on. An error once nobody wants more.
    pub(crate) fn send(&self, columns: Columns) -> Result<()> {
        self.sender.send(Ok(Some(columns))).map_err(|_| Error::Interrupted)
    }
}

/// An iterator over blocks of columns.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct Stream {
    /// `None` in it is the end.
    blocks: Mutex<Option<Receiver<Result<Option<Columns>>>>>,
    ticker: Arc<Ticker>,
    listener: Option<Py<PyAny>>,
    width: u32,
    /// The process that the thread is in.
    process: u32,
}

impl Stream {
    /// Starts a thread that makes the blocks. It works on what it owns, so that it may be left alone: where
    /// the iterator is dropped or interrupted, it ends at its next block or report.
    pub(crate) fn start(
        width: u32,
        ticker: Arc<Ticker>,
        listener: Option<Py<PyAny>>,
        make: impl FnOnce(&Sink) -> Result<()> + Send + 'static,
    ) -> Self {
        let (sender, receiver) = sync_channel(BLOCKS_AHEAD);
        std::thread::spawn(move || {
            let sink = Sink { sender };
            let end = make(&sink).map(|()| None);
            // Where nobody listens any more, nobody wants to know.
            let _ = sink.sender.send(end);
        });
        Self { blocks: Mutex::new(Some(receiver)), ticker, listener, width, process: std::process::id() }
    }

    /// Waits for the next block for a moment.
    fn wait(&self) -> ControlFlow<std::result::Result<Option<Columns>, Failure>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(receiver) = &*blocks else { return ControlFlow::Break(Ok(None)) };
        match receiver.recv_timeout(TICK) {
            Err(RecvTimeoutError::Timeout) => ControlFlow::Continue(()),
            Ok(Ok(Some(columns))) => ControlFlow::Break(Ok(Some(columns))),
            Ok(Ok(None)) => {
                *blocks = None;
                ControlFlow::Break(Ok(None))
            }
            Ok(Err(error)) => {
                *blocks = None;
                ControlFlow::Break(Err(Failure::Told(error)))
            }
            Err(RecvTimeoutError::Disconnected) => {
                *blocks = None;
                ControlFlow::Break(Err(Failure::Vanished))
            }
        }
    }

    /// The next block as a dict, looking for signals meanwhile.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        if std::process::id() != self.process {
            return Err(general_error(
                py,
                "the search was begun before a fork; begin it anew in this process",
            ));
        }
        loop {
            let waited = py.detach(|| self.wait());
            if let Err(raised) = self.ticker.tick(py, self.listener.as_ref()) {
                self.end();
                return Err(raised);
            }
            match waited {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(Ok(columns)) => {
                    return columns.map(|columns| columns.into_dict(py, self.width)).transpose();
                }
                ControlFlow::Break(Err(Failure::Told(error))) => return Err(error).or_raise(py),
                ControlFlow::Break(Err(Failure::Vanished)) => {
                    return Err(general_error(py, "the search has ended without a result"));
                }
            }
        }
    }

    fn end(&self) {
        self.ticker.cancel();
        *self.blocks.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Why there is no next block.
enum Failure {
    Told(Error),
    /// The thread is gone without a word.
    Vanished,
}

#[pymethods]
impl Stream {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.next(py)
    }

    /// Gives up what has not been taken.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.end());
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.ticker.cancel();
    }
}
