//! What needs no handle: versions, and fingerprints as text.

use std::ffi::c_char;

use nearprint::internal::words;
use nearprint::{Fingerprint, ParseFingerprintError, WidthVisitor};

use crate::call::{Call, Output};
use crate::error::{Failure, Outcome, nearprint_error};
use crate::status::NEARPRINT_ABI_VERSION;
use crate::status::nearprint_status::{self, NEARPRINT_STOPPED};
use crate::width::{width_of, words_of};

/// The version of the binary interface of the library that the program runs with. A program works
/// with it if it was compiled with the same NEARPRINT_ABI_VERSION.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn nearprint_abi_version() -> u32 {
    NEARPRINT_ABI_VERSION
}

/// The version of nearprint, such as `0.1.0`, with a null byte at the end. It lives forever.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn nearprint_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Reads a fingerprint from text: decimal or behind `0x` for 64 bits; 32 or 64 hexadecimal digits,
/// or an even number of them behind `0x`, for 128 and 256 bits. `fingerprint` receives width / 64
/// words.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_parse(
    width: u32,
    text: *const c_char,
    text_len: usize,
    fingerprint: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let width = width_of(width)?;
        let text = call.text(text, text_len, "text")?;
        let output = call.required(fingerprint, words_of(width), "fingerprint")?;
        Ok(width.visit(Parse { text, output })?)
    })
}

/// Writes a fingerprint as text: decimal for 64 bits, `0x` and all hexadecimal digits for wider
/// ones. 66 bytes are enough.
///
/// At most `capacity` bytes are written to `buffer`, without a null byte. `len` receives the whole
/// length.
///
/// Threads: any.
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
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let width = width_of(width)?;
        let words = call.words(fingerprint, words_of(width), 1, "fingerprint")?;
        call.write_text(&width.visit(Format(words)), (buffer, capacity), len)
    })
}

struct Parse<'a> {
    text: &'a str,
    output: Output<'a, u64>,
}

impl WidthVisitor for Parse<'_> {
    type Output = Result<(), ParseFingerprintError>;

    fn visit<F: Fingerprint>(mut self) -> Self::Output {
        let fingerprint = F::parse(self.text)?;
        words(fingerprint).enumerate().for_each(|(index, word)| self.output.set_at(index, word));
        Ok(())
    }
}

struct Format<'a>(&'a [u64]);

impl WidthVisitor for Format<'_> {
    type Output = String;

    fn visit<F: Fingerprint>(self) -> String {
        F::from_le_words(self.0).display().to_string()
    }
}

/// An id that may be missing.
pub(crate) fn optional_id(call: &Call, id: *const u64) -> Outcome<Option<u64>> {
    Ok(call.structure(id, "id")?.copied())
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
    numbers.iter().enumerate().for_each(|(index, &number)| output.set_at(index, number));
    Ok(())
}
