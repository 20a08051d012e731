//! Waits for signals on a thread of its own.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Calls `end` with the first signal that comes.
pub(super) fn install(end: fn(c_int) -> !) {
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
