//! Visitors of the caller's, which may fail with errors of the caller's.

use crate::error::{Error, Result};

/// Carries the error of a visitor out of work that only knows its own errors.
pub(crate) struct CallerError<E>(Option<E>);

impl<E: From<Error>> CallerError<E> {
    pub(crate) fn new() -> Self {
        Self(None)
    }

    /// Passes success on. Keeps an error, and ends the work.
    #[inline]
    pub(crate) fn keep(&mut self, visited: Result<(), E>) -> Result<()> {
        visited.map_err(|error| {
            self.0 = Some(error);
            Error::Interrupted
        })
    }

    /// The result of the work: the visitor's error where it ended the work.
    pub(crate) fn or(self, done: Result<()>) -> Result<(), E> {
        match self.0 {
            Some(error) => Err(error),
            None => Ok(done?),
        }
    }
}
