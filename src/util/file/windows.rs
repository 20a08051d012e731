//! The form for Windows, where reads and writes at an offset also move the position of the file. Here they
//! restore it, for those who append to a file and read it back.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use winapi_util::file::information;

use super::Identity;

/// `FILE_FLAG_BACKUP_SEMANTICS`: the flag with which a folder can be opened.
const FOLDERS_TOO: u32 = 0x0200_0000;
/// `ERROR_ACCESS_DENIED` and `ERROR_SHARING_VIOLATION`.
const ACCESS_DENIED: i32 = 5;
const SHARING_VIOLATION: i32 = 32;
/// What file systems answer that cannot sync a folder: `ERROR_INVALID_FUNCTION`, `ERROR_NOT_SUPPORTED`
/// and `ERROR_INVALID_PARAMETER`.
const UNSUPPORTED: [i32; 3] = [1, 50, 87];
/// The first pause before something is tried again. Each pause is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(8);
/// How long the replacement of an open file is tried. A reader has the manifest open for less than a
/// millisecond.
pub(crate) const RENAME_PATIENCE: Duration = Duration::from_secs(8);
/// `ERROR_HANDLE_EOF`: a read behind the end.
const BEHIND_THE_END: i32 = 38;

/// Fills a buffer from an offset.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::UnexpectedEof`] behind the end.
pub fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    at_its_position(file, || read_all(file, bytes, offset))
}

fn read_all(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
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

/// Reads bytes from an offset, none behind the end.
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    match file.seek_read(bytes, offset) {
        Err(error) if error.raw_os_error() == Some(BEHIND_THE_END) => Ok(0),
        other => other,
    }
}

/// Writes bytes at an offset.
///
/// # Errors
/// Those of the system.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    at_its_position(file, || write_all(file, bytes, offset))
}

/// Does what moves the position of a file, and restores it.
fn at_its_position(mut file: &File, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let position = file.stream_position()?;
    let done = work();
    file.seek(SeekFrom::Start(position))?;
    done
}

fn write_all(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
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
    num_names(file).unwrap_or(0) == 0
}

/// The number of names that an open file has.
///
/// # Errors
/// Those of the system.
pub fn num_names(file: &File) -> io::Result<u64> {
    Ok(information(file)?.number_of_links())
}

/// Renames a file, and replaces any file with the new name.
///
/// Current versions of NTFS replace a file that is open, as unix does. Others refuse that until its readers
/// have closed it, so this tries for 8 s.
///
/// # Errors
/// Those of the system.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    patiently(RENAME_PATIENCE, || fs::rename(from, to))
}

/// Renames a file in one step, and replaces nothing.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`]: what takes its place needs hard links, which FAT does not have.
pub fn rename_at_once(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Makes creations, renames and removals in a folder durable, where the file system does that for folders.
///
/// # Errors
/// Those of the system.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let opened = OpenOptions::new().read(true).write(true).custom_flags(FOLDERS_TOO).open(folder);
    match opened.and_then(|folder| folder.sync_all()) {
        Err(error) if is_busy(&error) => Ok(()),
        Err(error) if error.raw_os_error().is_some_and(|code| UNSUPPORTED.contains(&code)) => Ok(()),
        other => other,
    }
}

/// Repeats what fails because another process has a file open, or has just removed one of that name. Its pauses
/// add up to `patience`: a busy machine, where they take longer, makes as many attempts.
pub(crate) fn patiently<T>(patience: Duration, mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let (mut waited, mut pause) = (Duration::ZERO, FIRST_PAUSE);
    loop {
        match attempt() {
            Err(error) if is_busy(&error) && waited < patience => std::thread::sleep(pause),
            other => return other,
        }
        waited += pause;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn is_busy(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(ACCESS_DENIED | SHARING_VIOLATION))
}
