//! Callbacks of the caller, which may fail with the caller's own error type.

use crate::error::{Error, Result};

/// Carries the error of a callback through code that returns only the engine's errors.
pub(crate) struct CallerError<E>(Option<E>);

impl<E: From<Error>> CallerError<E> {
    pub(crate) fn new() -> Self {
        Self(None)
    }

    /// Passes success through. Stores an error and cancels the work in its place.
    #[inline]
    pub(crate) fn keep(&mut self, visited: Result<(), E>) -> Result<()> {
        visited.map_err(|error| {
            self.0 = Some(error);
            Error::Interrupted
        })
    }

    /// The result of the work, or the callback's error if that ended it.
    pub(crate) fn or(self, done: Result<()>) -> Result<(), E> {
        match self.0 {
            Some(error) => Err(error),
            None => Ok(done?),
        }
    }
}
