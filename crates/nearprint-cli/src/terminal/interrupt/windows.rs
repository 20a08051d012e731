//! Ctrl-C, Ctrl-Break and the end of the console. All of them count as Ctrl-C.

use super::CTRL_C;

/// Calls `note` and then `end` with the first of these events.
pub(super) fn install(note: fn(i32), end: fn(i32) -> !) {
    let _ = ctrlc::set_handler(move || {
        note(CTRL_C);
        end(CTRL_C)
    });
}

/// Does nothing: no file has a limit of its size.
pub(super) fn survive_size_limit() {}

/// Does nothing: the system calls the handler on a thread of its own.
pub(super) fn settle() {}
