//! The life of handles: from `Box` to the caller and back.
//!
//! With debug assertions, a list of all live handles refuses pointers that were freed, or that
//! belong to another kind of handle.

use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::error::{Failure, Outcome};
use crate::status::{NEARPRINT_BUG, NEARPRINT_BUSY, NEARPRINT_CLOSED};

/// A type whose values callers own by pointer, and may use from several threads.
pub(crate) trait Handle: Send + Sync {
    /// The name of the type in the header.
    const NAME: &'static str;
}

/// Passes a value to the caller, who owns it from now on.
pub(crate) fn give<T: Handle>(value: T) -> *mut T {
    let handle = Box::into_raw(Box::new(value));
    #[cfg(debug_assertions)]
    live::add(handle);
    handle
}

/// Refuses a handle that is known not to be alive.
pub(crate) fn check<T: Handle>(handle: *const T) -> Outcome {
    #[cfg(debug_assertions)]
    if !live::contains(handle) {
        let message = format!("{}: freed, or not a handle of this kind", T::NAME);
        return Err(Failure::new(NEARPRINT_CLOSED, message));
    }
    if handle.is_null() || !handle.is_aligned() {
        return Err(Failure::argument(T::NAME, "not a handle"));
    }
    Ok(())
}

/// Frees a handle. Null is ignored; with debug assertions, so is a handle that is not alive.
///
/// # Safety
/// The handle is null, or came from [`give`] and no call uses it any more.
pub(crate) unsafe fn free<T: Handle>(handle: *mut T) {
    if handle.is_null() {
        return;
    }
    #[cfg(debug_assertions)]
    if !live::remove(handle) {
        eprintln!("nearprint: {}: freed twice, or not a handle of this kind", T::NAME);
        return;
    }
    // SAFETY: It came from a box, and its owner gives it back.
    let value = unsafe { Box::from_raw(handle) };
    // A panic while something is freed has no caller to reach, and must not go further.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(value)));
}

/// What a handle that changes holds: one call at a time has it, until it is closed.
pub(crate) struct Guarded<T>(Mutex<Option<T>>);

impl<T> Guarded<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(Some(value)))
    }

    /// Works with the value.
    pub(crate) fn with<R>(&self, name: &str, work: impl FnOnce(&mut T) -> Outcome<R>) -> Outcome<R> {
        match &mut *self.lock(name)? {
            Some(value) => work(value),
            None => Err(Failure::new(NEARPRINT_CLOSED, format!("{name}: it was closed"))),
        }
    }

    /// Works with the value for the last time.
    pub(crate) fn take<R>(&self, name: &str, work: impl FnOnce(T) -> Outcome<R>) -> Outcome<R> {
        match self.lock(name)?.take() {
            Some(value) => work(value),
            None => Err(Failure::new(NEARPRINT_CLOSED, format!("{name}: it was closed"))),
        }
    }

    /// Drops the value. Later calls find the handle closed.
    pub(crate) fn close(&self, name: &str) -> Outcome {
        self.take(name, |value| {
            drop(value);
            Ok(())
        })
    }

    fn lock(&self, name: &str) -> Outcome<MutexGuard<'_, Option<T>>> {
        match self.0.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::new(NEARPRINT_BUSY, format!("{name}: another call is using it")))
            }
            Err(TryLockError::Poisoned(_)) => {
                Err(Failure::new(NEARPRINT_BUG, format!("{name}: an earlier call met a bug of nearprint")))
            }
        }
    }
}

#[cfg(debug_assertions)]
mod live {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::Handle;

    /// The kinds of all live handles, by address.
    static HANDLES: Mutex<BTreeMap<usize, &str>> = Mutex::new(BTreeMap::new());

    fn handles() -> MutexGuard<'static, BTreeMap<usize, &'static str>> {
        HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add<T: Handle>(handle: *const T) {
        handles().insert(handle.addr(), T::NAME);
    }

    pub(super) fn contains<T: Handle>(handle: *const T) -> bool {
        handles().get(&handle.addr()) == Some(&T::NAME)
    }

    pub(super) fn remove<T: Handle>(handle: *const T) -> bool {
        let mut handles = handles();
        let is_live = handles.get(&handle.addr()) == Some(&T::NAME);
        if is_live {
            handles.remove(&handle.addr());
        }
        is_live
    }
}
