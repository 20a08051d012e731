//! Long work without the interpreter's lock.
//!
//! The work runs on a thread of its own. Meanwhile the calling thread checks signals and reports
//! progress.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nearprint::{Error, Progress, Stage};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// How often signals are checked and progress is reported.
const TICK: Duration = Duration::from_millis(50);

thread_local! {
    /// The addresses of what the listeners that run on this thread listen to.
    static LISTENED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Calls a listener of what has an address. Operations that it begins know that what they wait for may wait for it.
pub(crate) fn listening<T>(address: usize, call: impl FnOnce() -> T) -> T {
    LISTENED.with_borrow_mut(|listened| listened.push(address));
    let called = call();
    LISTENED.with_borrow_mut(Vec::pop);
    called
}

/// The progress of an operation, and whether it is cancelled.
pub(crate) struct Ticker {
    cancelled: AtomicBool,
    reached: Mutex<Option<(Stage, u64, Option<u64>)>>,
    /// The addresses of what waits for the listener that began the operation.
    waiting: Vec<usize>,
}

impl Default for Ticker {
    fn default() -> Self {
        let waiting = LISTENED.with_borrow(Vec::clone);
        Self { cancelled: AtomicBool::default(), reached: Mutex::default(), waiting }
    }
}

impl Ticker {
    /// Whether a listener of what has this address began the operation.
    pub(crate) fn is_begun_by_listener_of(&self, address: usize) -> bool {
        self.waiting.contains(&address)
    }

    /// Cancels the operation: its next report fails.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Fails once the operation is cancelled.
    pub(crate) fn check(&self) -> nearprint::Result<()> {
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
                listening(address_of(self), || report(py, listener, (stage_name(stage), done, total)))
            }
            _ => Ok(()),
        }
    }
}

/// The address by which [`listening`] knows something.
pub(crate) fn address_of<T>(listened: &T) -> usize {
    std::ptr::from_ref(listened).addr()
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
/// ended and cleaned up. An exception of the listener that comes when the job is done, at the latest with the last
/// report behind it, cannot undo the job, and goes to `sys.unraisablehook`.
pub(crate) fn watch<T: Send, E: From<Error> + Send>(
    py: Python<'_>,
    ticker: &Ticker,
    listener: Option<&Py<PyAny>>,
    job: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T>
where
    Result<T, E>: OrRaise<T>,
{
    let (raised, result) = ended(py, ticker, listener, job);
    let (value, raised) = match (raised, result) {
        (Some(Raised::ByListener(raised)), Ok(value)) => (value, Err(raised)),
        (Some(Raised::ByListener(raised) | Raised::BySignal(raised)), _) => return Err(raised),
        (None, result) => (result.or_raise(py)?, ticker.report_reached(py, listener)),
    };
    if let Err(raised) = raised {
        raised.write_unraisable(py, listener.map(|listener| listener.bind(py)));
    }
    Ok(value)
}

/// As [`watch`] for a part of some work, without the last report: whatever was raised ends the work.
pub(crate) fn watched<T: Send, E: From<Error> + Send>(
    py: Python<'_>,
    ticker: &Ticker,
    listener: Option<&Py<PyAny>>,
    job: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T>
where
    Result<T, E>: OrRaise<T>,
{
    match ended(py, ticker, listener, job) {
        (Some(Raised::ByListener(raised) | Raised::BySignal(raised)), _) => Err(raised),
        (None, result) => result.or_raise(py),
    }
}

/// What was raised while a job ran.
enum Raised {
    ByListener(PyErr),
    BySignal(PyErr),
}

/// Runs a job to its end. Returns what was raised meanwhile, and what the job returns.
fn ended<T: Send, E: From<Error> + Send>(
    py: Python<'_>,
    ticker: &Ticker,
    listener: Option<&Py<PyAny>>,
    job: impl FnOnce() -> Result<T, E> + Send,
) -> (Option<Raised>, Result<T, E>) {
    let (mut job, mut result) = (Some(job), None);
    let raised = run_beside(py, ticker, listener, &mut || result = job.take().map(|job| job()));
    (raised, result.unwrap_or_else(|| Err(Error::Interrupted.into())))
}

/// Runs a job on a thread of its own. Returns what was raised meanwhile. Not generic, as the code
/// that starts threads is large.
fn run_beside(
    py: Python<'_>,
    ticker: &Ticker,
    listener: Option<&Py<PyAny>>,
    job: &mut (dyn FnMut() + Send),
) -> Option<Raised> {
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
                    && let Err(error) = Python::attach(|py| {
                        py.check_signals().map_err(Raised::BySignal)?;
                        ticker.report_reached(py, listener).map_err(Raised::ByListener)
                    })
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
