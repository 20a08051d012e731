//! The error object of the caller, and reasons on their way to it.

use std::any::Any;
use std::ffi::c_char;
use std::ptr;

use nearprint::{Corruption, ParseFingerprintError};
use nearprint_text::recipe::RecipeError;

use crate::call::Call;
use crate::handle::{self, Handle};
use crate::status::nearprint_status;
use crate::status::nearprint_status::{
    NEARPRINT_BUG, NEARPRINT_CORRUPT, NEARPRINT_INVALID_ARGUMENT, NEARPRINT_OK, NEARPRINT_RECIPE,
};

/// Why the last failed call failed. An object of the caller: a program needs one for each thread.
///
/// Every function that can fail takes one as its last parameter, which may be null. A failed call
/// replaces its content; a successful call leaves it as it is.
pub struct nearprint_error {
    failure: Option<Failure>,
    message: CText,
    damage: Option<DamageTexts>,
}

impl Handle for nearprint_error {
    const NAME: &'static str = "nearprint_error";
}

impl nearprint_error {
    pub(crate) fn set(&mut self, failure: Failure) {
        self.message = CText::new(&failure.message);
        self.damage = failure.damage.as_deref().map(DamageTexts::new);
        self.failure = Some(failure);
    }
}

/// Where a file is damaged. All strings end with a null byte that their length does not count.
#[repr(C)]
pub struct nearprint_damage {
    /// The file.
    pub file: *const c_char,
    /// Its length in bytes.
    pub file_len: usize,
    /// The section of the file, such as `header` or `ids`.
    pub section: *const c_char,
    /// Its length in bytes.
    pub section_len: usize,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// The expected content.
    pub expected: *const c_char,
    /// Its length in bytes.
    pub expected_len: usize,
    /// The content of the file.
    pub found: *const c_char,
    /// Its length in bytes.
    pub found_len: usize,
}

/// Makes an error object.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn nearprint_error_new() -> *mut nearprint_error {
    handle::give(nearprint_error { failure: None, message: CText::new(""), damage: None })
}

/// Frees an error object, and the strings that came from it. Null is allowed.
///
/// Threads: one at a time for each error object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_error_free(error: *mut nearprint_error) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(error) }
}

/// The code of the last failed call; NEARPRINT_OK if none has failed, or for null.
///
/// Threads: one at a time for each error object.
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
///
/// Threads: one at a time for each error object.
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
/// `damage` in that case, and 0 otherwise.
///
/// The strings live until the error object is passed to another function.
///
/// Threads: one at a time for each error object.
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
    call.optional(damage).set(texts.view());
    1
}

/// A string with a null byte at the end.
struct CText(Box<[u8]>);

impl CText {
    fn new(text: &str) -> Self {
        Self([text.as_bytes(), b"\0"].concat().into())
    }

    /// The start, and the length without the null byte.
    fn parts(&self) -> (*const c_char, usize) {
        (self.0.as_ptr().cast(), self.0.len() - 1)
    }
}

/// The strings behind a [`nearprint_damage`].
pub(crate) struct DamageTexts {
    file: CText,
    section: CText,
    offset: u64,
    expected: CText,
    found: CText,
}

impl DamageTexts {
    pub(crate) fn new(damage: &Corruption) -> Self {
        Self {
            file: CText::new(&damage.file.to_string_lossy()),
            section: CText::new(damage.section),
            offset: damage.offset,
            expected: CText::new(&damage.expected),
            found: CText::new(&damage.found),
        }
    }

    pub(crate) fn view(&self) -> nearprint_damage {
        let ((file, file_len), (section, section_len)) = (self.file.parts(), self.section.parts());
        let ((expected, expected_len), (found, found_len)) = (self.expected.parts(), self.found.parts());
        let offset = self.offset;
        nearprint_damage {
            file,
            file_len,
            section,
            section_len,
            offset,
            expected,
            expected_len,
            found,
            found_len,
        }
    }
}

/// Why a call fails.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: nearprint_status,
    pub(crate) message: String,
    damage: Option<Box<Corruption>>,
}

/// The result of what a function does. The reason is behind a pointer, so that success is cheap.
pub(crate) type Outcome<T = ()> = Result<T, Box<Failure>>;

impl Failure {
    pub(crate) fn new(status: nearprint_status, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { status, message: message.into(), damage: None })
    }

    /// An argument that no call accepts.
    pub(crate) fn argument(name: &str, why: impl std::fmt::Display) -> Box<Self> {
        Self::new(NEARPRINT_INVALID_ARGUMENT, format!("{name}: {why}"))
    }

    /// A panic that was caught at the border.
    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Box<Self> {
        let known = payload.downcast_ref::<&str>().copied();
        let message = known.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = message.unwrap_or("no message");
        Self::new(NEARPRINT_BUG, format!("a bug of nearprint: {message}"))
    }
}

impl From<nearprint::Error> for Box<Failure> {
    fn from(error: nearprint::Error) -> Self {
        let (status, message) = (nearprint_status::of(error.kind()), error.to_string());
        let damage = match error {
            nearprint::Error::Corrupt(damage) => Some(damage),
            _ => None,
        };
        debug_assert_eq!(damage.is_some(), status == NEARPRINT_CORRUPT);
        Box::new(Failure { status, message, damage })
    }
}

impl From<RecipeError> for Box<Failure> {
    fn from(error: RecipeError) -> Self {
        Failure::new(NEARPRINT_RECIPE, error.to_string())
    }
}

impl From<ParseFingerprintError> for Box<Failure> {
    fn from(error: ParseFingerprintError) -> Self {
        Failure::argument("text", error)
    }
}
