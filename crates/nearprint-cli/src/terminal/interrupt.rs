//! Signals: Ctrl-C, SIGTERM and SIGHUP end the program and leave nothing half done.
//!
//! Most commands can end at any moment, because the database survives a crash. Cancellable work gets
//! a moment to clean up and to report its own error. The folders of unfinished databases and of
//! temporary files are removed in any case.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use nearprint::internal::remove_own_folders;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{print_message, warn_of_occupants};

/// The signal that has come; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Whether the current work calls [`check`] regularly, and cleans up when it is cancelled.
static IS_CANCELLABLE: AtomicBool = AtomicBool::new(false);
/// Rows that the current writer has made durable.
static COMMITTED_ROWS: AtomicU64 = AtomicU64::new(NOT_WRITING);
const NOT_WRITING: u64 = u64::MAX;
/// How long cancellable work has for its clean end. A build may be waiting for input and never end
/// itself.
const GRACE: Duration = Duration::from_secs(2);

/// Installs the signal handler. A signal then ends the program with exit code 128 plus its number, as
/// shells report it: after [`GRACE`] if the current work is cancellable, else at once.
pub(crate) fn install_handler() {
    // Without a handler a signal still ends the program. Its folders are then removed by the next
    // command that makes such folders.
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup)) else { return };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            end(signal);
        }
    });
}

/// Whether the caller wants the program to ignore a signal, as `nohup` does.
fn is_ignored(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: A null pointer changes nothing, and `action` has room for the answer.
    let answered = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: All bytes are initialized, and every value of the fields is valid.
    answered == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// Ends the program because of a signal.
fn end(signal: c_int) -> ! {
    SIGNAL.store(signal, Ordering::Relaxed);
    if IS_CANCELLABLE.load(Ordering::Relaxed) {
        std::thread::sleep(GRACE);
    }
    remove_own_folders();
    warn_of_occupants();
    match COMMITTED_ROWS.load(Ordering::Relaxed) {
        NOT_WRITING => print_message(format_args!("nearprint: interrupted")),
        rows => print_message(format_args!("nearprint: interrupted; {rows} rows were committed and stay")),
    }
    std::process::exit(exit_code().into())
}

/// The exit code of an interrupted command.
pub(crate) fn exit_code() -> u8 {
    let signal = match SIGNAL.load(Ordering::Relaxed) {
        // What cancels without a signal is a Ctrl-C of the caller.
        0 => SIGINT,
        signal => signal,
    };
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
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
    if SIGNAL.load(Ordering::Relaxed) != 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
