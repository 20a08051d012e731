//! What needs no handle: versions, and fingerprints as text.

use std::ffi::c_char;

use nearprint::any::{AnyFingerprint, NewRows};

use crate::call::{Call, Output};
use crate::error::{Failure, Outcome, nearprint_error};
use crate::settings::width_of;
use crate::status::{NEARPRINT_ABI_VERSION, NEARPRINT_VERSION_NUMBER};
use crate::status::{NEARPRINT_STOPPED, nearprint_status};

/// The version of the binary interface of the library that the program runs with. A program works
/// with it if it was compiled with the same NEARPRINT_ABI_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn nearprint_abi_version() -> u32 {
    NEARPRINT_ABI_VERSION
}

/// The version of the library that the program runs with, as NEARPRINT_VERSION_NUMBER is of the header.
#[unsafe(no_mangle)]
pub extern "C" fn nearprint_version_number() -> u32 {
    NEARPRINT_VERSION_NUMBER
}

/// The version of nearprint, such as `0.1.0`, with a null byte at the end. It lives forever.
#[unsafe(no_mangle)]
pub extern "C" fn nearprint_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Reads a fingerprint from text, as the command line does. 64 bits: decimal, or hexadecimal digits behind `0x`, or
/// bits behind `0b`. More bits: all hexadecimal digits, which are 32, 64 or 80, or an even number of them behind `0x`,
/// or all bits behind `0b`; 128 bits also in decimal, but for 32 digits. `fingerprint` receives width / 64 words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_parse(
    width: u32,
    text: *const c_char,
    text_len: usize,
    fingerprint: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let width = width_of(width)?;
        let text = call.text(text, text_len, "text")?;
        let mut output = call.required(fingerprint, width.words(), "fingerprint")?;
        output.set_all(AnyFingerprint::parse(width, text, None)?.words().iter().copied());
        Ok(())
    })
}

/// Writes a fingerprint as text: decimal for 64 bits, `0x` and all hexadecimal digits for wider
/// ones. 82 bytes are enough.
///
/// At most `capacity` bytes are written to `buffer`, without a null byte. `len` receives the whole
/// length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_format(
    width: u32,
    fingerprint: *const u64,
    buffer: *mut c_char,
    capacity: usize,
    len: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let width = width_of(width)?;
        let fingerprint = call.words(fingerprint, width.words(), 1, "fingerprint")?;
        let text = AnyFingerprint::new(width, fingerprint).to_string();
        call.write_text(&text, (buffer, capacity), len)
    })
}

/// Where the id of the first stored row goes.
pub(crate) struct First<'c>(Option<Output<'c, u64>>);

impl<'c> First<'c> {
    pub(crate) fn new(assigned: Output<'c, u64>) -> Self {
        Self(Some(assigned))
    }

    /// Receives the id of a stored row.
    pub(crate) fn note(&mut self, id: u64) -> nearprint::Result<()> {
        if let Some(mut assigned) = self.0.take() {
            assigned.set(id);
        }
        Ok(())
    }
}

/// The pointers of a row with a key.
pub(crate) struct KeyedRow {
    pub(crate) fingerprint: *const u64,
    pub(crate) id: *const u64,
    pub(crate) key: (*const c_char, usize),
    pub(crate) text: (*const c_char, usize),
}

impl KeyedRow {
    /// Checks the pointers, stores the row, and passes its id to the caller.
    pub(crate) fn store(
        self,
        call: &Call,
        words: usize,
        assigned: *mut u64,
        store: impl FnOnce(&NewRows<'_>, &mut dyn FnMut(u64) -> nearprint::Result<()>) -> Outcome,
    ) -> Outcome {
        let fingerprints = call.words(self.fingerprint, words, 1, "fingerprint")?;
        let ids = call.structure(self.id, "id")?.map(std::slice::from_ref);
        let keys = &[call.key(self.key.0, self.key.1, "key")?];
        let texts = &[call.optional_string(self.text.0, self.text.1, "text")?.unwrap_or_default()];
        let mut first = First::new(call.optional(assigned));
        store(&NewRows { fingerprints, ids, keys: Some(keys), texts: Some(texts) }, &mut |id| first.note(id))
    }
}

/// The failure of a callback that returned another value than 0.
pub(crate) fn stopped(callback: &str, returned: i32) -> Outcome {
    match returned {
        0 => Ok(()),
        other => Err(Failure::new(NEARPRINT_STOPPED, format!("{callback}: the callback returned {other}"))),
    }
}

/// Writes numbers into the caller's array, as far as it has space, and their whole number.
pub(crate) fn write_numbers(
    call: &Call,
    numbers: &[u64],
    (array, capacity): (*mut u64, usize),
    count: *mut usize,
    unit: usize,
) -> Outcome {
    let len = capacity.saturating_mul(unit);
    let mut output = call.outputs(array, len, "array")?;
    call.output(count, "count")?.set(numbers.len() / unit);
    output.set_all(numbers.iter().copied());
    Ok(())
}
