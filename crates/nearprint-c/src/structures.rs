//! Growing structures of the caller, in both directions.

use std::marker::PhantomData;
use std::{ptr, slice};

use crate::call::Call;
use crate::error::{Failure, Outcome};
use crate::growing::{Growing, MAX_SIZE, copy, is_size};

/// A structure of the caller that receives a result.
pub(crate) struct GrowingOutput<'c, T> {
    at: *mut T,
    size: usize,
    call: PhantomData<&'c Call>,
}

impl<T: Growing> GrowingOutput<'_, T> {
    /// Fills all fields of the caller but the size.
    pub(crate) fn set(self, value: T) {
        let begin = size_of::<usize>();
        // SAFETY: `Call::growing_output` found a size of `size` bytes, which may all be written, and
        // `value` has `size_of::<T>()` bytes.
        unsafe { copy(&value, self.at, begin, self.size) }
    }
}

impl Call {
    /// A structure that may be null. What the caller does not have is as in [`Growing::DEFAULT`].
    pub(crate) fn growing<T: Growing>(&self, at: *const T, name: &str) -> Outcome<Option<T>> {
        if at.is_null() {
            return Ok(None);
        }
        let size = self.struct_size(at, name)?;
        let known = size.min(size_of::<T>());
        // SAFETY: By `Call::of` and its size, the structure has `size` initialized bytes.
        let unknown = unsafe { slice::from_raw_parts(at.cast::<u8>().add(known), size - known) };
        if unknown.iter().any(|&byte| byte != 0) {
            return Err(Failure::argument(
                name,
                "has a field that this version of the library does not have",
            ));
        }
        let mut value = T::DEFAULT;
        // SAFETY: `known` bytes may be read there, and `value` has as many or more. By `Growing`, and
        // because the size is a multiple of the alignment, fields are copied as a whole.
        unsafe { ptr::copy_nonoverlapping(at.cast::<u8>(), (&raw mut value).cast(), known) };
        Ok(Some(value))
    }

    /// A structure for a result, whose size the caller has set.
    pub(crate) fn growing_output<T: Growing>(&self, at: *mut T, name: &str) -> Outcome<GrowingOutput<'_, T>> {
        if at.is_null() {
            return Err(Failure::argument(name, "a null pointer"));
        }
        Ok(GrowingOutput { at, size: self.struct_size(at, name)?, call: PhantomData })
    }

    /// Sets the size and the defaults. Writes `size` bytes, or none for a size that no version has.
    pub(crate) fn init_growing<T: Growing>(&self, at: *mut T, size: usize) {
        if at.is_null() || !at.is_aligned() || !is_size::<T>(size) {
            return;
        }
        // SAFETY: By `Call::of`, `size` bytes may be written there. The first ones are the size.
        unsafe {
            copy(&T::DEFAULT, at, 0, size);
            at.cast::<usize>().write(size);
        }
    }

    /// The size that the caller has set.
    #[expect(clippy::unused_self, reason = "proof of the contract")]
    fn struct_size<T: Growing>(&self, at: *const T, name: &str) -> Outcome<usize> {
        if !at.is_aligned() {
            return Err(Failure::argument(name, format_args!("not aligned to {} bytes", align_of::<T>())));
        }
        // SAFETY: It is aligned and not null. By `Call::of`, its size is initialized.
        let size = unsafe { at.cast::<usize>().read() };
        if is_size::<T>(size) {
            return Ok(size);
        }
        let (of, least) = (T::NAME, T::FIRST_SIZE);
        let (step, most) = (align_of::<T>(), MAX_SIZE);
        let why =
            format!("{size}, but a {of} has {least} to {most} bytes in steps of {step}: {of}_init() sets it");
        Err(Failure::argument(&format!("{name}.struct_size"), why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Old {
        struct_size: usize,
        first: u64,
    }

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Now {
        old: Old,
        second: u64,
    }

    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Newer {
        now: Now,
        third: u64,
    }

    // SAFETY: `Old` begins with the size; the rest are numbers.
    unsafe impl Growing for Now {
        const NAME: &'static str = "now";
        const FIRST_SIZE: usize = size_of::<Old>();
        const DEFAULT: Self = now(0, 5, 7);
    }

    const fn now(struct_size: usize, first: u64, second: u64) -> Now {
        Now { old: Old { struct_size, first }, second }
    }

    fn newer(first: u64, second: u64, third: u64) -> Newer {
        Newer { now: now(size_of::<Newer>(), first, second), third }
    }

    fn call() -> Call {
        // SAFETY: The structures of these tests have the size that stands in them.
        unsafe { Call::of(ptr::null_mut()) }
    }

    fn read<T>(given: &T) -> Result<Now, String> {
        let read = call().growing(ptr::from_ref(given).cast::<Now>(), "given");
        read.map(|value| value.expect("not null")).map_err(|failure| failure.message)
    }

    #[test]
    fn structures_of_every_version_are_read() {
        let old = Old { struct_size: 16, first: 1 };
        assert_eq!(read(&old), Ok(now(16, 1, 7)), "the default of what is not there");
        assert_eq!(read(&now(24, 1, 2)), Ok(now(24, 1, 2)));
        assert_eq!(read(&newer(1, 2, 0)), Ok(now(32, 1, 2)));
        let refused = read(&newer(1, 2, 3)).expect_err("an unknown field");
        assert_eq!(refused, "given: has a field that this version of the library does not have");
        assert!(call().growing(ptr::null::<Now>(), "given").is_ok_and(|value| value.is_none()));
    }

    #[test]
    fn sizes_that_no_version_has_are_refused() {
        for size in [0, 8, 15, 17, 23, 25, 4097, usize::MAX] {
            let refused = read(&now(size, 1, 2)).expect_err("a size");
            let why = "but a now has 16 to 4096 bytes in steps of 8: now_init() sets it";
            assert_eq!(refused, format!("given.struct_size: {size}, {why}"));
        }
    }

    #[test]
    fn nothing_is_written_beyond_the_size() {
        const UNTOUCHED: u64 = 0x5a5a;
        let write = |size: usize| {
            let mut bytes = newer(UNTOUCHED, UNTOUCHED, UNTOUCHED);
            bytes.now.old.struct_size = size;
            let at = (&raw mut bytes).cast::<Now>();
            if let Ok(output) = call().growing_output(at, "given") {
                output.set(now(99, 1, 2));
            }
            (bytes.now.old.struct_size, bytes.now.old.first, bytes.now.second, bytes.third)
        };
        assert_eq!(write(16), (16, 1, UNTOUCHED, UNTOUCHED));
        assert_eq!(write(24), (24, 1, 2, UNTOUCHED));
        assert_eq!(write(32), (32, 1, 2, 0), "a field that is not known is zero");
        assert_eq!(write(8), (8, UNTOUCHED, UNTOUCHED, UNTOUCHED));

        let init = |size: usize| {
            let mut bytes = newer(UNTOUCHED, UNTOUCHED, UNTOUCHED);
            call().init_growing((&raw mut bytes).cast::<Now>(), size);
            (bytes.now.old.struct_size, bytes.now.old.first, bytes.now.second, bytes.third)
        };
        assert_eq!(init(16), (16, 5, UNTOUCHED, UNTOUCHED));
        assert_eq!(init(24), (24, 5, 7, UNTOUCHED));
        assert_eq!(init(32), (32, 5, 7, 0));
        assert_eq!(init(8), (32, UNTOUCHED, UNTOUCHED, UNTOUCHED), "nothing for a size of no version");
    }
}
