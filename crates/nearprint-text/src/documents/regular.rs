//! Opens files that have to be regular ones.

use std::fs::File;
use std::io;
use std::path::Path;

use super::system;

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
/// let device = if cfg!(windows) { "NUL" } else { "/dev/null" };
/// assert!(open_regular(device.as_ref()).is_err());
/// ```
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = system::open_without_waiting(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "no regular file any more"))
}
