//! Standard output that is closed or open for reading only.
//!
//! The standard library hides this from programs: it opens the null device in place of a closed
//! stream before `main`, and takes a write to a stream that is open for reading only as done. Results
//! would go nowhere without a word.

use std::io::{self, StdoutLock, Write};
use std::path::Path;

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

use super::STDOUT;
use nearprint::Error;

/// Fails if standard output is closed, or open for reading only.
pub(crate) fn check() -> Result<(), Error> {
    system::check().map_err(unwritable)
}

/// Fails like [`check`] if one of the paths of outputs is `-`.
pub(crate) fn check_outputs<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), Error> {
    if paths.into_iter().any(|path| path == Path::new("-")) { check() } else { Ok(()) }
}

/// Standard output cannot be written to.
pub(crate) fn unwritable(source: io::Error) -> Error {
    Error::Io { action: "write", path: STDOUT.into(), source }
}

/// Standard output, whose first write fails if it cannot be written to.
pub(crate) struct Stdout {
    inner: StdoutLock<'static>,
    is_checked: bool,
}

impl Stdout {
    pub(crate) fn lock() -> Self {
        Self { inner: io::stdout().lock(), is_checked: false }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_checked {
            system::check()?;
            self.is_checked = true;
        }
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
