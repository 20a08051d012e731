//! Receives signals on one thread, the only one that handles them.

use std::ffi::c_int;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::ptr::null_mut;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::low_level;

/// What [`settle`] writes to the thread of signals. A handler writes another byte.
const QUESTION: u8 = b'?';

/// How others ask the thread of signals.
static ASKED: OnceLock<Questions> = OnceLock::new();

/// Questions to the thread of signals.
struct Questions {
    to_thread: UnixStream,
    /// The questions that were asked, and those that were answered.
    counts: Mutex<(u64, u64)>,
    answered: Condvar,
}

/// Turns the signal of a file that reaches the limit of its size into an error of the write. Programs that this one
/// starts do not inherit a handler, as they would inherit an ignored signal.
pub(super) fn survive_size_limit() {
    if !is_ignored(SIGXFSZ) {
        // SAFETY: The handler does nothing. Where it cannot be installed, the signal ends the program as before.
        let _ = unsafe { low_level::register(SIGXFSZ, || ()) };
    }
}

/// Calls `note` with each signal that comes, and then `end` with the first one.
pub(super) fn install(note: fn(c_int), end: fn(c_int) -> !) {
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    let signals: Vec<c_int> = [SIGINT, SIGTERM].into_iter().chain(hangup).collect();
    let Ok((mut wakes, to_thread)) = UnixStream::pair() else { return };
    let all_registered = signals.iter().all(|&signal| register(signal, note, &to_thread).is_ok());
    if !all_registered {
        return;
    }
    let questions = Questions { to_thread, counts: Mutex::default(), answered: Condvar::new() };
    // Every later thread has the mask of this one.
    let before = set_mask(libc::SIG_BLOCK, &signals);
    let receive = move || {
        set_mask(libc::SIG_UNBLOCK, &signals);
        let mut bytes = [0; 64];
        loop {
            let len = match wakes.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other.unwrap_or(0),
            };
            let questions = bytes[..len].iter().filter(|&&byte| byte == QUESTION).count() as u64;
            answer(questions);
            match super::signal() {
                0 if len == 0 => return,
                0 => {}
                signal => end(signal),
            }
        }
    };
    match std::thread::Builder::new().name("signals".into()).spawn(receive) {
        Ok(_) => drop(ASKED.set(questions)),
        Err(_) => restore_mask(&before),
    }
}

/// Waits until every signal that was sent before this call has been noted.
///
/// Only the thread of signals handles them. It has to leave a system call to see the question, and a thread
/// that leaves a system call handles the signals that have come before.
pub(super) fn settle() {
    let Some(questions) = ASKED.get() else { return };
    let mut counts = questions.counts.lock().unwrap_or_else(PoisonError::into_inner);
    counts.0 += 1;
    let own = counts.0;
    if (&questions.to_thread).write_all(&[QUESTION]).is_err() {
        return;
    }
    // After a signal the thread answers no more: it ends the program.
    while counts.1 < own && super::signal() == 0 {
        counts = questions.answered.wait(counts).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Says that the thread of signals has read questions, or a signal.
fn answer(count: u64) {
    let Some(questions) = ASKED.get() else { return };
    questions.counts.lock().unwrap_or_else(PoisonError::into_inner).1 += count;
    questions.answered.notify_all();
}

/// Lets a signal call `note`, and then wake the thread of signals.
fn register(signal: c_int, note: fn(c_int), to_thread: &UnixStream) -> io::Result<()> {
    // SAFETY: `note` stores to an atomic and does nothing else, which a signal handler may do.
    unsafe { low_level::register(signal, move || note(signal)) }?;
    low_level::pipe::register(signal, to_thread.try_clone()?).map(drop)
}

/// Blocks or unblocks signals in this thread, and returns the mask before.
fn set_mask(how: c_int, signals: &[c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: Both sets have room for the answers, and the signals exist.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(how, set.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}

fn restore_mask(mask: &libc::sigset_t) {
    // SAFETY: The mask is one that this thread had.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, null_mut()) };
}

/// Whether the caller wants the program to ignore a signal, as `nohup` does.
fn is_ignored(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: A null pointer changes nothing, and `action` has room for the answer.
    let answered = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: All bytes are initialized, and every value of the fields is valid.
    answered == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}
