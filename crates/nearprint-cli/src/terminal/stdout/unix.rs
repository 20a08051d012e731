//! Looks at file descriptor 1.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;

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
pub(super) fn check() -> io::Result<()> {
    let opened =
        if IS_MISSING.load(Ordering::Relaxed) { Err(Errno::BADF) } else { fcntl_getfl(io::stdout()) };
    match opened? {
        flags if flags & OFlags::RWMODE != OFlags::RDONLY => Ok(()),
        _ => Err(Errno::BADF.into()),
    }
}
