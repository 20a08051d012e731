//! Ctrl-C and SIGTERM: leave nothing half done behind.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::failure::say;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// The staging folder of the build at work.
static STAGING: Mutex<Option<PathBuf>> = Mutex::new(None);
/// Whether what is at work ends by itself once it is told, and cleans up.
static ENDS_BY_ITSELF: AtomicBool = AtomicBool::new(false);
/// How many rows the writer at work has made durable.
static COMMITTED: AtomicU64 = AtomicU64::new(NOT_WRITING);
const NOT_WRITING: u64 = u64::MAX;
/// How long a build has for ending by itself: it may be waiting for input that never comes.
const GRACE: Duration = Duration::from_secs(2);

/// From now on, a signal ends the program with exit code 130: at once, unless a build or copying
/// is at work.
pub(super) fn listen() {
    // Without a handler a signal still ends the program; a build's staging folder is then removed
    // by the next build of the same name.
    let _ = ctrlc::set_handler(|| {
        INTERRUPTED.store(true, Ordering::Relaxed);
        let staging = || STAGING.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        if staging().is_some() || ENDS_BY_ITSELF.load(Ordering::Relaxed) {
            std::thread::sleep(GRACE);
        }
        if let Some(folder) = staging() {
            let _ = std::fs::remove_dir_all(folder);
        }
        let rows = COMMITTED.load(Ordering::Relaxed);
        if rows != NOT_WRITING {
            say(format_args!("nearprint: interrupted; {rows} rows were committed and stay"));
        }
        std::process::exit(130);
    });
}

/// Tells how many rows are durable, so that an interrupted writer can say so. It needs no other
/// preparation: it may end at any moment.
pub(super) fn committed(rows: u64) {
    COMMITTED.store(rows, Ordering::Relaxed);
}

/// Tells whether what is at work now listens to [`check`] all the time, and so needs no more than a
/// moment for ending cleanly.
pub(super) fn ends_by_itself(it_does: bool) {
    ENDS_BY_ITSELF.store(it_does, Ordering::Relaxed);
}

/// Tells where a build works, so that it can be ended cleanly; `None` when it is done.
pub(super) fn guard(staging: Option<PathBuf>) {
    *STAGING.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = staging;
}

/// Break once a signal has come.
pub(super) fn check() -> ControlFlow<()> {
    if INTERRUPTED.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
