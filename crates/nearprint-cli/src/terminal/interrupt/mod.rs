//! Signals: Ctrl-C, SIGTERM and SIGHUP, on Windows Ctrl-C and Ctrl-Break, end the program and leave nothing half done.
//!
//! Most commands can end at any moment, because the database survives a crash. Cancellable work gets
//! a moment to clean up and to report its own error. The folders of unfinished databases and of
//! temporary files are removed in any case.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use nearprint::internal::remove_own_folders;
use nearprint_text::internal::{kill_preprocessors, set_end_of_stdin};

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

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
    system::install(note, end);
    survive_size_limit();
    set_end_of_stdin(check_end_of_input);
}

/// From now on, a write beyond the limit of a file's size (`ulimit -f`) fails. The signal of that ended the program
/// without a word.
pub(crate) fn survive_size_limit() {
    system::survive_size_limit();
}

/// Notes a signal, unless there was one before. A signal handler calls it.
fn note(signal: i32) {
    let _ = SIGNAL.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
}

/// The signal that has come; 0 for none.
fn signal() -> i32 {
    SIGNAL.load(Ordering::Relaxed)
}

/// Fails at the end of standard input if a signal was sent before it. Whoever stops a group of processes also
/// ends the input of this one, which is then not whole. What the input would make is not made.
fn check_end_of_input() -> io::Result<()> {
    if settle().is_continue() {
        return Ok(());
    }
    while !IS_CANCELLABLE.load(Ordering::Relaxed) {
        // Another thread ends the program at once.
        std::thread::park();
    }
    Err(io::Error::other("interrupted"))
}

/// Returns `Break` after a signal, also after one that was sent before this call and would be noted a moment later.
pub(crate) fn settle() -> ControlFlow<()> {
    system::settle();
    check()
}

/// SIGINT: Ctrl-C.
const CTRL_C: i32 = 2;

/// Ends the program because of a signal.
fn end(signal: i32) -> ! {
    note(signal);
    if IS_CANCELLABLE.load(Ordering::Relaxed) {
        std::thread::sleep(GRACE);
    }
    kill_preprocessors();
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
    let signal = match signal() {
        // What cancels without a signal is a Ctrl-C of the caller.
        0 => CTRL_C,
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
    if signal() != 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
