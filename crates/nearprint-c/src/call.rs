//! One call of a function: its pointers become references, its outcome a code.

use std::ffi::{CStr, OsStr, c_char};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::{ptr, slice, str};

use crate::error::{Failure, Outcome, nearprint_error};
use crate::handle::{self, Handle};
use crate::status::{NEARPRINT_OK, nearprint_status};

/// The length of a string that ends with a null byte: `(size_t)-1`.
pub(crate) const NULL_ENDED: usize = usize::MAX;

/// Proof that the caller keeps the contract of the header for every pointer of one call. Its
/// methods check what can be checked: null, alignment, lengths, text.
pub(crate) struct Call {
    error: *mut nearprint_error,
}

impl Call {
    /// Begins a call.
    ///
    /// # Safety
    /// Every pointer argument of the function, and every pointer in its structures, is null or
    /// points to what the header says, for the length that is given with it, until the function
    /// returns. Memory that is read is initialized, and nobody writes to it meanwhile; memory that
    /// is written belongs to this call alone. Handles came from this library, were not freed, and
    /// are used by as many threads as the header allows.
    pub(crate) unsafe fn of(error: *mut nearprint_error) -> Self {
        Self { error }
    }

    /// Runs the work of the call. No panic leaves it. An exception of C++ that leaves a callback ends the process
    /// here, or at the end of a thread; therefore callbacks are `extern "C-unwind"`. One of `extern "C"` would pass
    /// through, and leave handles in use.
    pub(crate) fn run(self, work: impl FnOnce(&Self) -> Outcome) -> nearprint_status {
        let done = catch_unwind(AssertUnwindSafe(|| work(&self)));
        match done.unwrap_or_else(|payload| Err(Failure::panicked(&*payload))) {
            Ok(()) => NEARPRINT_OK,
            Err(failure) => self.fail(*failure),
        }
    }

    fn fail(self, failure: Failure) -> nearprint_status {
        let status = failure.status;
        if handle::check(self.error).is_ok() {
            // SAFETY: By `of`, it is alive and used by this call alone.
            unsafe { &mut *self.error }.set(failure);
        }
        status
    }

    /// A handle.
    #[expect(clippy::unused_self, reason = "proof of the contract")]
    pub(crate) fn handle<'a, T: Handle>(&'a self, handle: *const T, name: &str) -> Outcome<&'a T> {
        if handle.is_null() {
            return Err(null(name));
        }
        handle::check(handle)?;
        // SAFETY: It is aligned and not null. By `of`, it came from this library and is alive.
        Ok(unsafe { &*handle })
    }

    /// A structure that may be null.
    #[expect(clippy::unused_self, reason = "proof of the contract")]
    pub(crate) fn structure<'a, T>(&'a self, at: *const T, name: &str) -> Outcome<Option<&'a T>> {
        check_array(at, 1, name)?;
        // SAFETY: It is aligned. By `of`, it is null or initialized.
        Ok(unsafe { at.as_ref() })
    }

    /// An array. It may be null if it is empty.
    #[expect(clippy::unused_self, reason = "proof of the contract")]
    pub(crate) fn array<'a, T>(&'a self, at: *const T, len: usize, name: &str) -> Outcome<&'a [T]> {
        check_array(at, len, name)?;
        if len == 0 {
            return Ok(&[]);
        }
        if at.is_null() {
            return Err(null(name));
        }
        // SAFETY: It is aligned, not null, and not longer than an array can be. By `of`, it is
        // initialized for this length.
        Ok(unsafe { slice::from_raw_parts(at, len) })
    }

    /// An array that may be missing.
    pub(crate) fn optional_array<'a, T>(
        &'a self,
        at: *const T,
        len: usize,
        name: &str,
    ) -> Outcome<Option<&'a [T]>> {
        if at.is_null() { Ok(None) } else { self.array(at, len, name).map(Some) }
    }

    /// The words of `count` fingerprints.
    pub(crate) fn words(&self, at: *const u64, words: usize, count: usize, name: &str) -> Outcome<&[u64]> {
        let len = words.checked_mul(count).ok_or_else(|| too_long(name))?;
        self.array(at, len, name)
    }

    /// The bytes of a string: as many as its length says, or those before its null byte.
    pub(crate) fn string<'a>(&'a self, at: *const c_char, len: usize, name: &str) -> Outcome<&'a [u8]> {
        if len == NULL_ENDED {
            if at.is_null() {
                return Err(null(name));
            }
            // SAFETY: By `of`, it is what the header says: with this length, a string that ends with a null byte.
            return Ok(unsafe { CStr::from_ptr(at) }.to_bytes());
        }
        self.array(at.cast::<u8>(), len, name)
    }

    /// A text, which must be UTF-8.
    pub(crate) fn text<'a>(&'a self, at: *const c_char, len: usize, name: &str) -> Outcome<&'a str> {
        let bytes = self.string(at, len, name)?;
        str::from_utf8(bytes).map_err(|error| {
            Failure::argument(name, format_args!("not UTF-8 from byte {}", error.valid_up_to()))
        })
    }

    /// A string that may be missing.
    pub(crate) fn optional_string<'a>(
        &'a self,
        at: *const c_char,
        len: usize,
        name: &str,
    ) -> Outcome<Option<&'a [u8]>> {
        let is_missing = at.is_null() && (len == 0 || len == NULL_ENDED);
        if is_missing { Ok(None) } else { self.string(at, len, name).map(Some) }
    }

    /// A text that may be missing.
    pub(crate) fn optional_text<'a>(
        &'a self,
        at: *const c_char,
        len: usize,
        name: &str,
    ) -> Outcome<Option<&'a str>> {
        let is_missing = self.optional_string(at, len, name)?.is_none();
        if is_missing { Ok(None) } else { self.text(at, len, name).map(Some) }
    }

    /// A key, or its begin. None is null: a stream gives a null pointer for a row without a key.
    pub(crate) fn key<'a>(&'a self, at: *const c_char, len: usize, name: &str) -> Outcome<&'a str> {
        if at.is_null() { Err(null(name)) } else { self.text(at, len, name) }
    }

    /// A path: any bytes but null bytes. It is absolute, so that later calls mean the same place.
    pub(crate) fn path(&self, at: *const c_char, len: usize) -> Outcome<PathBuf> {
        let bytes = self.string(at, len, "path")?;
        if bytes.is_empty() || bytes.contains(&0) {
            let why = if bytes.is_empty() { "empty" } else { "holds a null byte" };
            return Err(Failure::argument("path", why));
        }
        std::path::absolute(OsStr::from_bytes(bytes)).map_err(|error| Failure::argument("path", error))
    }

    /// Where one value goes.
    pub(crate) fn output<T>(&self, at: *mut T, name: &str) -> Outcome<Output<'_, T>> {
        self.required(at, 1, name)
    }

    /// Where `len` values go.
    pub(crate) fn required<T>(&self, at: *mut T, len: usize, name: &str) -> Outcome<Output<'_, T>> {
        if at.is_null() {
            return Err(null(name));
        }
        self.outputs(at, len, name)
    }

    /// Where one value goes, unless the pointer is null.
    pub(crate) fn optional<T>(&self, at: *mut T) -> Output<'_, T> {
        self.outputs(at, 1, "").unwrap_or(Output::none())
    }

    /// Where a new handle goes. It is null until the call has succeeded.
    pub(crate) fn new_handle<T: Handle>(&self, at: *mut *mut T, name: &str) -> Outcome<NewHandle<'_, T>> {
        let mut output = self.output(at, name)?;
        output.set(ptr::null_mut());
        Ok(NewHandle(output))
    }

    /// Where `len` values go. Values that have no place are dropped, all of them if the pointer is
    /// null.
    #[expect(clippy::unused_self, reason = "proof of the contract")]
    pub(crate) fn outputs<T>(&self, at: *mut T, len: usize, name: &str) -> Outcome<Output<'_, T>> {
        if at.is_null() {
            return Ok(Output::none());
        }
        check_array(at, len, name)?;
        Ok(Output { at, len, call: PhantomData })
    }

    /// Writes a string into the caller's buffer, as far as it has space, and its whole length.
    pub(crate) fn write_text(
        &self,
        text: &str,
        (buffer, capacity): (*mut c_char, usize),
        len: *mut usize,
    ) -> Outcome {
        let mut buffer = self.outputs(buffer.cast::<u8>(), capacity, "buffer")?;
        self.output(len, "len")?.set(text.len());
        buffer.set_all(text.bytes());
        Ok(())
    }
}

/// Memory of the caller that a call writes to.
pub(crate) struct Output<'c, T> {
    at: *mut T,
    len: usize,
    call: PhantomData<&'c Call>,
}

impl<T> Output<'_, T> {
    /// No memory: values are dropped.
    fn none() -> Self {
        Self { at: ptr::null_mut(), len: 0, call: PhantomData }
    }

    pub(crate) fn is_there(&self) -> bool {
        !self.at.is_null()
    }

    pub(crate) fn set(&mut self, value: T) {
        self.set_at(0, value);
    }

    /// Writes values from the first place on. Those that have no place are dropped.
    pub(crate) fn set_all(&mut self, values: impl IntoIterator<Item = T>) {
        values.into_iter().enumerate().for_each(|(index, value)| self.set_at(index, value));
    }

    #[inline]
    pub(crate) fn set_at(&mut self, index: usize, value: T) {
        if index < self.len {
            // SAFETY: By `Call::of`, `len` values may be written, and the index is below it.
            unsafe { self.at.add(index).write(value) };
        }
    }
}

impl Output<'_, u64> {
    /// Receives numbers, one after the other.
    pub(crate) fn receive(&mut self) -> impl FnMut(u64) -> nearprint::Result<()> + '_ {
        let mut next = 0;
        move |number| {
            self.set_at(next, number);
            next += 1;
            Ok(())
        }
    }
}

/// Where a new handle goes.
pub(crate) struct NewHandle<'c, T>(Output<'c, *mut T>);

impl<T: Handle> NewHandle<'_, T> {
    pub(crate) fn give(mut self, value: T) {
        self.0.set(handle::give(value));
    }
}

/// Refuses arrays that cannot be.
fn check_array<T>(at: *const T, len: usize, name: &str) -> Outcome {
    if !at.is_null() && !at.is_aligned() {
        return Err(Failure::argument(name, format_args!("not aligned to {} bytes", align_of::<T>())));
    }
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        _ => Err(too_long(name)),
    }
}

fn null(name: &str) -> Box<Failure> {
    Failure::argument(name, "a null pointer")
}

fn too_long(name: &str) -> Box<Failure> {
    Failure::argument(name, "longer than an array can be")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{
        nearprint_error_code, nearprint_error_free, nearprint_error_message, nearprint_error_new,
    };
    use crate::handle::Guarded;
    use crate::status::{NEARPRINT_BUG, NEARPRINT_BUSY, NEARPRINT_CLOSED, NEARPRINT_OK};

    #[test]
    fn a_panic_becomes_a_code_and_a_message() {
        let error = nearprint_error_new();
        // SAFETY: The error object is alive until the last line.
        unsafe {
            assert_eq!(Call::of(error).run(|_| panic!("seven is {}", 8)), NEARPRINT_BUG);
            assert_eq!(nearprint_error_code(error), NEARPRINT_BUG);
            let mut len = 0;
            let message = nearprint_error_message(error, &raw mut len);
            let message = slice::from_raw_parts(message.cast::<u8>(), len + 1);
            assert_eq!(message, b"a bug of nearprint: seven is 8\0");
            assert_eq!(Call::of(error).run(|_| Ok(())), NEARPRINT_OK);
            assert_eq!(nearprint_error_code(error), NEARPRINT_BUG, "success leaves it as it is");
            nearprint_error_free(error);
        }
    }

    #[test]
    fn a_handle_serves_one_call_at_a_time_until_a_panic_or_its_end() {
        let status = |outcome: Outcome| outcome.map_or_else(|failure| failure.status, |()| NEARPRINT_OK);
        let guarded = Guarded::new(7);
        let inside = guarded.with("it", |_| Ok(status(guarded.with("it", |_| Ok(())))));
        assert_eq!(inside.unwrap_or(NEARPRINT_OK), NEARPRINT_BUSY);
        assert_eq!(status(guarded.close("it")), NEARPRINT_OK);
        assert_eq!(status(guarded.with("it", |_| Ok(()))), NEARPRINT_CLOSED);

        let guarded = Guarded::new(7);
        // SAFETY: There are no pointers.
        let call = || unsafe { Call::of(ptr::null_mut()) };
        assert_eq!(call().run(|_| guarded.with("it", |_| panic!("broken"))), NEARPRINT_BUG);
        assert_eq!(call().run(|_| guarded.with("it", |_| Ok(()))), NEARPRINT_BUG);
    }
}
