//! The form for Windows. Reads and writes also move the position of the file, which nothing here uses.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use winapi_util::file::information;

use super::Identity;

/// `FILE_FLAG_BACKUP_SEMANTICS`: the flag with which a folder can be opened.
const FOLDERS_TOO: u32 = 0x0200_0000;
/// `ERROR_HANDLE_EOF`: a read behind the end.
const BEHIND_THE_END: i32 = 38;

/// Fills a buffer from an offset.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::UnexpectedEof`] behind the end.
pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match read_at(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                bytes = &mut bytes[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}

/// Reads bytes from an offset, fewer than there is room for perhaps. Returns how many.
///
/// # Errors
/// Those of the system.
pub fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    match file.seek_read(bytes, offset) {
        Err(error) if error.raw_os_error() == Some(BEHIND_THE_END) => Ok(0),
        other => other,
    }
}

/// Writes bytes at an offset.
///
/// # Errors
/// Those of the system.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
        }
    }
    Ok(())
}

/// The identity of an open file.
///
/// # Errors
/// Those of the system.
pub fn identity(file: &File) -> io::Result<Identity> {
    let found = information(file)?;
    Ok((found.volume_serial_number(), found.file_index()))
}

/// The identity of what a path leads to, which may be a folder. Follows links.
///
/// # Errors
/// Those of the system.
pub fn identity_of(path: &Path) -> io::Result<Identity> {
    // Looks at its attributes only, so that no other handle is in the way.
    identity(&OpenOptions::new().access_mode(0).custom_flags(FOLDERS_TOO).open(path)?)
}

/// Whether an open file has no name any more.
#[must_use]
pub fn is_removed(file: &File) -> bool {
    information(file).map_or(0, |found| found.number_of_links()) == 0
}
