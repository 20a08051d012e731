//! Ctrl-C, Ctrl-Break and the end of the console. All of them count as Ctrl-C.

use super::CTRL_C;

/// Calls `end` with the first of these events.
pub(super) fn install(end: fn(i32) -> !) {
    let _ = ctrlc::set_handler(move || end(CTRL_C));
}
