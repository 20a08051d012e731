//! Long work without the interpreter's lock.
//!
//! The work runs on a thread of its own. Meanwhile the calling thread checks signals and reports
//! progress.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nearprint::{Error, Progress, Result, Stage};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// How often signals are checked and progress is reported.
const TICK: Duration = Duration::from_millis(50);

/// The progress of an operation, and whether it is cancelled.
#[derive(Default)]
pub(crate) struct Ticker {
    cancelled: AtomicBool,
    reached: Mutex<Option<(Stage, u64, Option<u64>)>>,
}

impl Ticker {
    /// Cancels the operation: its next report fails.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Fails once the operation is cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Checks signals, and calls `listener(stage, done, total)` if there is any progress.
    pub(crate) fn tick(&self, py: Python<'_>, listener: Option<&Py<PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        self.report_reached(py, listener)
    }

    /// Calls `listener(stage, done, total)` if there is any progress.
    pub(crate) fn report_reached(&self, py: Python<'_>, listener: Option<&Py<PyAny>>) -> PyResult<()> {
        let reached = *self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        match (listener, reached) {
            (Some(listener), Some((stage, done, total))) => {
                report(py, listener, (stage_name(stage), done, total))
            }
            _ => Ok(()),
        }
    }
}

impl Progress for Ticker {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = Some((stage, done, total));
        match self.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Reading => "reading",
        Stage::Merging => "merging",
        Stage::Tables => "tables",
        Stage::Joining => "joining",
        Stage::Verifying => "verifying",
        Stage::Copying => "copying",
        Stage::Answering => "answering",
        Stage::Waiting => "waiting",
        _ => "working",
    }
}

/// Calls a listener. A `StopIteration` that it raises becomes a `RuntimeError`: in `__next__` it
/// would look like the end of the iterator.
pub(crate) fn report<'py>(
    py: Python<'py>,
    listener: &Py<PyAny>,
    arguments: impl PyCallArgs<'py>,
) -> PyResult<()> {
    listener.call1(py, arguments).map(drop).map_err(|raised| {
        if !raised.is_instance_of::<PyStopIteration>(py) {
            return raised;
        }
        let error = PyRuntimeError::new_err("progress raised StopIteration");
        error.set_cause(py, Some(raised));
        error
    })
}

/// Runs a job on a thread of its own, if the system can start one.
///
/// A signal, or an exception of the listener, cancels the ticker. It is raised once the job has
/// ended and cleaned up. The last report comes after the job; an exception that it raises cannot
/// undo the job, and goes to `sys.unraisablehook`.
pub(crate) fn watch<T: Send>(
    py: Python<'_>,
    ticker: &Ticker,
    listener: Option<&Py<PyAny>>,
    job: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let value = watched(py, ticker, listener, job)?;
    if let Err(raised) = ticker.report_reached(py, listener) {
        raised.write_unraisable(py, listener.map(|listener| listener.bind(py)));
    }
    Ok(value)
}

/// As [`watch`], without the last report.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    ticker: &Ticker,
    listener: Option<&Py<PyAny>>,
    job: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let (mut job, mut result) = (Some(job), None);
    match run_beside(py, ticker, listener, &mut || result = job.take().map(|job| job())) {
        Some(error) => Err(error),
        None => result.unwrap_or(Err(Error::Interrupted)).or_raise(py),
    }
}

/// Runs a job on a thread of its own. Returns what was raised meanwhile. Not generic, as the code
/// that starts threads is large.
fn run_beside(
    py: Python<'_>,
    ticker: &Ticker,
    listener: Option<&Py<PyAny>>,
    job: &mut (dyn FnMut() + Send),
) -> Option<PyErr> {
    py.detach(|| {
        let job = Mutex::new(job);
        let run = &|| (job.lock().unwrap_or_else(PoisonError::into_inner))();
        std::thread::scope(|scope| {
            let (done, finished) = sync_channel(1);
            let worker = std::thread::Builder::new().spawn_scoped(scope, move || {
                run();
                // The receiver outlives this thread: the scope joins it.
                let _ = done.send(());
            });
            // Without a thread the job runs here, and reports at its end.
            let Ok(worker) = worker else {
                run();
                return None;
            };
            let mut raised = None;
            while finished.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none()
                    && let Err(error) = Python::attach(|py| ticker.tick(py, listener))
                {
                    ticker.cancel();
                    raised = Some(error);
                }
            }
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            raised
        })
    })
}
