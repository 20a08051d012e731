//! Looks at the handle of standard output. A program that has none begins with a null handle, and the
//! standard library takes a write to it as done.

use std::io;
use std::os::windows::io::AsRawHandle;

/// `ERROR_INVALID_HANDLE`.
const NO_HANDLE: i32 = 6;

/// Fails if there is no standard output.
pub(super) fn check() -> io::Result<()> {
    if io::stdout().as_raw_handle().is_null() { Err(io::Error::from_raw_os_error(NO_HANDLE)) } else { Ok(()) }
}
