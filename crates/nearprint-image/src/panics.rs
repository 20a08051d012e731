//! Panics of decoders, which are no news to anybody.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::error::{Error, Result};

thread_local! {
    static IS_DECODING: Cell<bool> = const { Cell::new(false) };
}
static QUIET: Once = Once::new();

/// Makes panics of decoders print nothing: they are returned as [`Error::Damaged`] in any case. The hook of panics is
/// replaced once in the process by one that calls it for all other panics. Programs call this when they start.
pub fn quiet_decoders() {
    QUIET.call_once(replace_hook);
}

fn replace_hook() {
    let others = take_hook();
    set_hook(Box::new(move |panic| {
        if !IS_DECODING.get() {
            others(panic);
        }
    }));
}

/// Calls a decoder. Its panic is an error.
pub(crate) fn guarded<T>(decoder: impl FnOnce() -> Result<T>) -> Result<T> {
    let outer = IS_DECODING.replace(true);
    // Nothing outlives a panic but the bytes, which are only read.
    let done = catch_unwind(AssertUnwindSafe(decoder));
    IS_DECODING.set(outer);
    done.unwrap_or_else(|_| Err(Error::Damaged { why: "its decoder failed".into() }))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn panics_of_decoders_are_errors_and_print_nothing() {
        const MESSAGE: &str = "a panic of this test";
        static PRINTED: AtomicUsize = AtomicUsize::new(0);
        // Other tests call it at any time: from here on, it changes nothing.
        quiet_decoders();
        let before = take_hook();
        set_hook(Box::new(move |panic| match panic.payload_as_str() {
            Some(MESSAGE) => drop(PRINTED.fetch_add(1, Ordering::Relaxed)),
            _ => before(panic),
        }));
        let damaged =
            |done: Result<()>| matches!(done, Err(Error::Damaged { why }) if why.contains("failed"));
        assert!(damaged(guarded(|| std::panic::panic_any(MESSAGE))));
        assert_eq!(PRINTED.load(Ordering::Relaxed), 1, "the hook of this test");
        replace_hook();
        assert!(damaged(guarded(|| std::panic::panic_any(MESSAGE))));
        assert_eq!(PRINTED.load(Ordering::Relaxed), 1);
        assert!(catch_unwind(|| std::panic::panic_any(MESSAGE)).is_err());
        assert_eq!(PRINTED.load(Ordering::Relaxed), 2, "all other panics");
    }
}
