//! Opens files that have to be regular ones.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file for reading if it is a regular one. A named pipe, which could block for ever, or a
/// device is an error.
///
/// For files that a listing of a folder has found: something else may have taken their place since.
///
/// # Errors
/// Those of opening; [`io::ErrorKind::InvalidInput`] if it is no regular file.
///
/// ```
/// use nearprint_text::documents::open_regular;
///
/// assert!(open_regular("/dev/null".as_ref()).is_err());
/// ```
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Has no effect on a regular file. A pipe is then opened without waiting for its other end.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file any more"))
}
