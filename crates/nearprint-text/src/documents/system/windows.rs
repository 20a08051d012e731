//! The form for Windows.
//!
//! An unfinished output is locked by being open: others may read and remove it, and not write to it.
//! A stream of the file with a name of its own marks it.

use std::borrow::Cow;
use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::os::windows::io::AsHandle;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use nearprint::internal::file::{Identity, identity, identity_of};

/// `FILE_SHARE_READ` and `FILE_SHARE_DELETE`.
const SHARE: u32 = 1 | 4;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: opens a link itself.
const NO_LINK: u32 = 0x0020_0000;
/// `ERROR_SHARING_VIOLATION`.
const SHARING_VIOLATION: i32 = 32;
/// `ERROR_TOO_MANY_OPEN_FILES`, `ERROR_NOT_ENOUGH_MEMORY` and `ERROR_OUTOFMEMORY`.
const SHORTAGES: [i32; 3] = [4, 8, 14];
/// The end of the path of the stream that marks an unfinished file.
const MARKER: &str = ":nearprint.partial";
/// The seconds from 1601, from which Windows counts, to 1970.
const SECONDS_TO_1970: i64 = 11_644_473_600;
/// The units of a second in which Windows counts.
const UNITS: u64 = 10_000_000;

/// The identity of the file that a path leads to, which has been looked at. Opens the file: what a listing
/// contains does not have it. A file that cannot be opened has none of its own.
pub(crate) fn identity_of_listed(path: &Path, _: &Metadata) -> Identity {
    identity_of(path).unwrap_or_default()
}

/// The identity of an open file.
pub(crate) fn identity_of_open(file: &File, _: &Metadata) -> io::Result<Identity> {
    identity(file)
}

/// The time of the last change, in seconds and nanoseconds.
pub(crate) fn modified(found: &Metadata) -> (i64, i64) {
    let units = found.last_write_time();
    let seconds = (units / UNITS).cast_signed() - SECONDS_TO_1970;
    (seconds, (units % UNITS * 100).cast_signed())
}

/// No file of a folder is a pipe or a device.
pub(crate) fn is_special(_: FileType) -> bool {
    false
}

/// Whether the process lacks file handles or memory.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| SHORTAGES.contains(&code))
}

/// A path as bytes of UTF-8. What is no Unicode in it is replaced, so that the file is not found again.
pub(crate) fn bytes_of(path: &Path) -> Cow<'_, [u8]> {
    path.to_string_lossy().into_owned().into_bytes().into()
}

/// The path that bytes of [`bytes_of`] are.
pub(crate) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(std::str::from_utf8(bytes).unwrap_or_default())
}

/// Standard input as a file.
pub(crate) fn stdin_file() -> io::Result<File> {
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}

/// Standard output as a file.
pub(crate) fn stdout_file() -> io::Result<File> {
    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

/// Opens a file for reading.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    match is_device(path) {
        true => Err(io::Error::new(io::ErrorKind::InvalidInput, "a device")),
        false => File::open(path),
    }
}

/// Whether a path is a pipe or a device, such as `NUL` and `CON`.
pub(crate) fn is_stream(path: &Path) -> io::Result<bool> {
    if is_device(path) {
        return Ok(true);
    }
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The names of devices mean them in every folder. Their absolute form shows that.
fn is_device(path: &Path) -> bool {
    let absolute = std::path::absolute(path);
    absolute.is_ok_and(|path| path.as_os_str().as_encoded_bytes().starts_with(br"\\.\"))
}

/// Permissions of Windows show when a file is written.
pub(crate) fn check_writable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Opens a pipe or a device for writing.
pub(crate) fn open_stream(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// The absolute form of a path, without links, and in the form that people write where there is one.
pub(crate) fn canonical(path: &Path) -> io::Result<PathBuf> {
    dunce::canonicalize(path)
}

/// How unfinished files are opened.
pub(crate) fn unfinished() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).share_mode(SHARE).custom_flags(NO_LINK);
    options
}

/// There are no files without a name.
pub(crate) fn create_unnamed(_: &Path) -> Option<File> {
    None
}

pub(crate) fn give_name(_: &File, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// An open file is locked.
pub(crate) fn try_lock(_: &File) -> io::Result<bool> {
    Ok(true)
}

pub(crate) fn lock(_: &File) -> io::Result<()> {
    Ok(())
}

/// A file is locked until it is closed.
pub(crate) fn unlock(_: &File) {}

/// Whether the error of opening an unfinished file means that another process has it.
pub(crate) fn is_in_use(error: &io::Error) -> bool {
    error.raw_os_error() == Some(SHARING_VIOLATION)
}

/// Marks a file. Where the file system has no streams, it does nothing.
pub(crate) fn set_marker(_: &File, path: &Path, marker: &str) {
    let _ = fs::write(marker_of(path), marker);
}

pub(crate) fn has_marker(_: &File, path: &Path, marker: &str) -> bool {
    fs::read(marker_of(path)).is_ok_and(|found| found == marker.as_bytes())
}

/// Removes the marker of a file that may have got its name. A stream follows its file; wine keeps it as
/// a file of its own, under the first name.
pub(crate) fn remove_marker(_: &File, names: &[&Path]) {
    for name in names {
        let _ = fs::remove_file(marker_of(name));
    }
}

/// The path of the marker of a file.
fn marker_of(path: &Path) -> PathBuf {
    let mut marker = path.as_os_str().to_os_string();
    marker.push(MARKER);
    marker.into()
}

/// A new file has the permissions that its folder hands down.
pub(crate) fn take_mode(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Pipes can be read without waiting, and groups of processes killed, on Unix alone.
pub(crate) fn program(_: &Path) -> io::Result<PathBuf> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "programs write texts on Unix alone"))
}

/// See [`program`].
pub(crate) fn spawn_in_group(_: &mut Command) -> io::Result<Child> {
    Err(io::ErrorKind::Unsupported.into())
}

/// See [`program`].
pub(crate) fn kill_group(_: u32) {}

/// See [`program`].
pub(crate) fn has_ended(_: &Child) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

/// See [`program`].
pub(crate) fn without_waiting<T>(_: &T) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
