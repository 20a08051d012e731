//! The class behind `nearprint.Follower`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use nearprint::any::{AnyDatabase, AnyFollower};
use nearprint::{Error, Result};
use pyo3::prelude::*;

use crate::errors::{OrRaise, general_error};
use crate::handle::Relay;
use crate::watch::{Ticker, watch};

/// A folder that follows a database, until it is closed.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct Follower {
    inner: Mutex<Option<AnyFollower>>,
    relay: Arc<Relay>,
    path: PathBuf,
    process: u32,
}

impl Follower {
    /// Makes a folder that follows a database, or goes on with one.
    pub(crate) fn new(
        py: Python<'_>,
        database: &AnyDatabase,
        dest: PathBuf,
        listener: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let (relay, ticker) = (Arc::new(Relay::default()), Arc::new(Ticker::default()));
        relay.forward_to(ticker.clone());
        let inner =
            watch(py, &ticker, listener.as_ref(), || database.with_progress(relay.clone()).follow(&dest))?;
        Ok(Self { inner: Mutex::new(Some(inner)), relay, path: dest, process: std::process::id() })
    }

    /// The follower, unless another call uses it. In the child of a fork it may be in use for ever.
    fn free(&self) -> Result<Option<MutexGuard<'_, Option<AnyFollower>>>> {
        if std::process::id() != self.process {
            return Err(Error::Forked { path: self.path.clone() });
        }
        Ok(match self.inner.try_lock() {
            Ok(free) => Some(free),
            Err(TryLockError::Poisoned(free)) => Some(free.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }
}

#[pymethods]
impl Follower {
    /// Brings the folder up to date. Returns the copied bytes, and whether the folder has changed.
    fn update(&self, py: Python<'_>, listener: Option<Py<PyAny>>) -> PyResult<(u64, bool)> {
        let mut free = self.free().or_raise(py)?;
        let free = free.as_mut().ok_or_else(|| general_error(py, "another call is using the follower"))?;
        let follower = free.as_mut().ok_or_else(|| general_error(py, "the follower is closed"))?;
        let ticker = Arc::new(Ticker::default());
        self.relay.forward_to(ticker.clone());
        let update = watch(py, &ticker, listener.as_ref(), || follower.update())?;
        Ok((update.bytes, update.changed))
    }

    /// Releases the lock of the folder.
    fn close(&self) {
        if let Ok(Some(mut free)) = self.free() {
            *free = None;
        }
    }
}
