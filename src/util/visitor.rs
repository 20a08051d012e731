//! Callbacks of the caller, which may fail with the caller's own error type.

use crate::error::{Error, Result};

/// Does work that passes blocks of results to a callback of the caller. An error of the callback ends the work and is
/// returned.
pub(crate) fn visiting<T: ?Sized, E: From<Error>>(
    mut visit: impl FnMut(&T) -> Result<(), E>,
    work: impl FnOnce(&mut dyn FnMut(&T) -> Result<()>) -> Result<()>,
) -> Result<(), E> {
    let mut caller = CallerError::new();
    let done = work(&mut |block| caller.keep(visit(block)));
    caller.or(done)
}

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

/// Passes items on in blocks.
pub(crate) struct InBlocks<'a, T> {
    visit: &'a mut dyn FnMut(&[T]) -> Result<()>,
    block: Vec<T>,
}

impl<'a, T> InBlocks<'a, T> {
    const ITEMS: usize = 1024;

    pub(crate) fn new(visit: &'a mut dyn FnMut(&[T]) -> Result<()>) -> Self {
        Self { visit, block: Vec::with_capacity(Self::ITEMS) }
    }

    #[inline]
    pub(crate) fn push(&mut self, item: T) -> Result<()> {
        self.block.push(item);
        if self.block.len() < Self::ITEMS { Ok(()) } else { self.pass_on() }
    }

    fn pass_on(&mut self) -> Result<()> {
        let passed = (self.visit)(&self.block);
        self.block.clear();
        passed
    }

    /// Passes the rest on, also where what made the items has failed.
    pub(crate) fn end(mut self, made: Result<()>) -> Result<()> {
        if !self.block.is_empty() {
            self.pass_on()?;
        }
        made
    }
}
