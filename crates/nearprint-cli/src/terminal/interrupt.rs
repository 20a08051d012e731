//! Ctrl-C and SIGTERM: end the program and leave nothing half done.
//!
//! Most commands can end at any moment, because the database survives a crash. Cancellable work gets
//! a moment to clean up and to report its own error. The folders of unfinished databases and of
//! temporary files are removed in any case.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use nearprint::internal::remove_own_folders;

use super::{print_message, warn_of_occupants};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Whether the current work calls [`check`] regularly, and cleans up when it is cancelled.
static IS_CANCELLABLE: AtomicBool = AtomicBool::new(false);
/// Rows that the current writer has made durable.
static COMMITTED_ROWS: AtomicU64 = AtomicU64::new(NOT_WRITING);
const NOT_WRITING: u64 = u64::MAX;
/// How long cancellable work has for its clean end. A build may be waiting for input and never end
/// itself.
const GRACE: Duration = Duration::from_secs(2);

/// Installs the signal handler. A signal then ends the program with exit code 130: after [`GRACE`]
/// if the current work is cancellable, else at once.
pub(crate) fn install_handler() {
    // Without a handler a signal still ends the program. Its folders are then removed by the next
    // command that makes such folders.
    let _ = ctrlc::set_handler(|| {
        INTERRUPTED.store(true, Ordering::Relaxed);
        if IS_CANCELLABLE.load(Ordering::Relaxed) {
            std::thread::sleep(GRACE);
        }
        remove_own_folders();
        warn_of_occupants();
        match COMMITTED_ROWS.load(Ordering::Relaxed) {
            NOT_WRITING => print_message(format_args!("nearprint: interrupted")),
            rows => {
                print_message(format_args!("nearprint: interrupted; {rows} rows were committed and stay"))
            }
        }
        std::process::exit(130);
    });
}

/// Sets the number of durable rows, which the message of an interrupted writer reports.
pub(crate) fn set_committed_rows(rows: u64) {
    COMMITTED_ROWS.store(rows, Ordering::Relaxed);
}

/// Sets whether the current work calls [`check`] regularly, and cleans up when it is cancelled.
pub(crate) fn set_cancellable(is_cancellable: bool) {
    IS_CANCELLABLE.store(is_cancellable, Ordering::Relaxed);
}

/// Returns `Break` after a signal.
pub(crate) fn check() -> ControlFlow<()> {
    if INTERRUPTED.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
