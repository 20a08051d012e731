//! The error object of the caller, and reasons on their way to it.

mod failure;
mod object;
#[cfg(feature = "texts")]
mod texts;

use std::ffi::c_char;
use std::ptr;

use crate::call::Call;
use crate::handle;
use crate::status::{NEARPRINT_OK, nearprint_status};
pub(crate) use failure::{Failure, Outcome};
pub(crate) use object::DamageTexts;
pub use object::{nearprint_damage, nearprint_error};

/// Makes an error object.
#[unsafe(no_mangle)]
pub extern "C" fn nearprint_error_new() -> *mut nearprint_error {
    handle::give(nearprint_error::new())
}

/// Frees an error object, and the strings that came from it. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_error_free(error: *mut nearprint_error) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(error) }
}

/// The code of the last failed call; NEARPRINT_OK if none has failed, or for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_error_code(error: *const nearprint_error) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(ptr::null_mut()) };
    let code =
        |error: &nearprint_error| error.failure.as_ref().map_or(NEARPRINT_OK, |failure| failure.status);
    call.handle(error, "error").map_or(NEARPRINT_OK, code)
}

/// The message of the last failed call: a sentence for users, which names the file or argument at
/// fault. UTF-8, with a null byte at the end. Empty if no call has failed, or for null.
///
/// It lives until the error object is passed to another function. `len` receives the length in
/// bytes without the null byte, and may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_error_message(
    error: *const nearprint_error,
    len: *mut usize,
) -> *const c_char {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(ptr::null_mut()) };
    let (message, message_len) =
        call.handle(error, "error").map_or((c"".as_ptr(), 0), |error| error.message.parts());
    call.optional(len).set(message_len);
    message
}

/// Where a file is damaged, if the last failed call returned NEARPRINT_CORRUPT. Returns 1 and fills
/// `damage` in that case, and 0 otherwise. `damage` may be null; 0 is also returned where its size was
/// not set, as nearprint_damage_init() does.
///
/// The strings live until the error object is passed to another function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_error_damage(
    error: *const nearprint_error,
    damage: *mut nearprint_damage,
) -> i32 {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(ptr::null_mut()) };
    let Some(texts) = call.handle(error, "error").ok().and_then(|error| error.damage.as_ref()) else {
        return 0;
    };
    if damage.is_null() {
        return 1;
    }
    call.growing_output(damage, "damage").map_or(0, |damage| {
        damage.set(texts.view());
        1
    })
}
