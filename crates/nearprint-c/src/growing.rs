//! Structures of the header that may grow.
//!
//! The first field is the size that the structure has in the program's header. A program that was
//! compiled with an older header has a shorter structure: the library reads what is there, takes the
//! defaults for the rest, and writes no byte beyond it. One that was compiled with a newer header has
//! a longer structure: the library reads the part that it has, refuses a rest that is not zero, and
//! writes zeros there.

use std::ptr;

/// The most bytes that a structure has in any version. A larger size was never set.
pub(crate) const MAX_SIZE: usize = 4096;

/// A structure whose first field is its size.
///
/// # Safety
/// The type is `repr(C)`. Its first field is the `usize` with the size. All others are numbers,
/// pointers and optional functions, and fields are only ever added at its end.
pub(crate) unsafe trait Growing: Copy {
    /// The name in the header.
    const NAME: &'static str;
    /// The size in the first header that had it.
    const FIRST_SIZE: usize;
    /// The fields that the caller does not have.
    const DEFAULT: Self;
}

/// Whether some version of a structure may have this size.
pub(crate) fn is_size<T: Growing>(size: usize) -> bool {
    (T::FIRST_SIZE..=MAX_SIZE).contains(&size) && size.is_multiple_of(align_of::<T>())
}

/// Copies the bytes of a value from `begin` on to a structure of `size` bytes, and sets those to zero
/// that the value does not have.
///
/// # Safety
/// `size` bytes may be written at `to`, and `begin` is not larger than it, nor than the value.
pub(crate) unsafe fn copy<T: Growing>(value: &T, to: *mut T, begin: usize, size: usize) {
    let known = size.min(size_of::<T>());
    let (from, to) = (ptr::from_ref(value).cast::<u8>(), to.cast::<u8>());
    // SAFETY: As this function demands.
    unsafe {
        ptr::copy_nonoverlapping(from.add(begin), to.add(begin), known - begin);
        ptr::write_bytes(to.add(known), 0, size - known);
    }
}
