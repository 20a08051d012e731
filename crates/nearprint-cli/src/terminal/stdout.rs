//! Standard output that is closed or open for reading only.
//!
//! The standard library hides this from programs: it opens the null device in place of a closed
//! stream before `main`, and takes a write to a stream that is open for reading only as done. Results
//! would go nowhere without a word.

use std::io::{self, StdoutLock, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;

use super::STDOUT;
use nearprint::Error;

/// Whether the process has begun without a standard output.
static IS_MISSING: AtomicBool = AtomicBool::new(false);

/// Runs [`look`] before the standard library opens anything.
// SAFETY: The linker calls functions in this section once, with the C calling convention, before
// `main` or when a library is loaded. `look` uses nothing of the standard library's runtime.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    IS_MISSING.store(fcntl_getfl(rustix::stdio::stdout()) == Err(Errno::BADF), Ordering::Relaxed);
}

/// Fails if standard output is closed, or open for reading only.
pub(crate) fn check() -> Result<(), Error> {
    let opened =
        if IS_MISSING.load(Ordering::Relaxed) { Err(Errno::BADF) } else { fcntl_getfl(io::stdout()) };
    match opened {
        Ok(flags) if flags & OFlags::RWMODE != OFlags::RDONLY => Ok(()),
        Ok(_) => Err(unwritable(Errno::BADF.into())),
        Err(errno) => Err(unwritable(errno.into())),
    }
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
            check().map_err(|_| Errno::BADF)?;
            self.is_checked = true;
        }
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
