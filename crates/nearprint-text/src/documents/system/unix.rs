//! The unix form.

use std::borrow::Cow;
use std::fs::{File, FileType, Metadata, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::fd::AsFd;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use nearprint::internal::file::Identity;
#[cfg(target_os = "linux")]
use rustix::fs::linkat;
use rustix::fs::{Access, AtFlags, CWD, OFlags, XattrFlags, fgetxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// The extended attribute that marks an unfinished file.
const MARKER: &str = "user.nearprint.partial";
/// The longest content of a marker, in bytes.
const MAX_MARKER_BYTES: usize = 512;

/// The identity of the file that a path leads to, which has been looked at.
pub(crate) fn identity_of_listed(_: &Path, found: &Metadata) -> Identity {
    (found.dev(), found.ino())
}

/// The identity of an open file, which has been looked at.
pub(crate) fn identity_of_open(_: &File, found: &Metadata) -> io::Result<Identity> {
    Ok((found.dev(), found.ino()))
}

/// The time of the last change, in seconds and nanoseconds.
pub(crate) fn modified(found: &Metadata) -> (i64, i64) {
    (found.mtime(), found.mtime_nsec())
}

/// Whether a file is a pipe, a socket or a device.
pub(crate) fn is_special(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device()
}

/// Whether the process lacks file handles or memory.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

/// A path as bytes.
pub(crate) fn bytes_of(path: &Path) -> Cow<'_, [u8]> {
    path.as_os_str().as_bytes().into()
}

/// The path that bytes of [`bytes_of`] are.
pub(crate) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

/// Standard input as a file.
pub(crate) fn stdin_file() -> io::Result<File> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// Standard output as a file.
pub(crate) fn stdout_file() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// Opens a file for reading. A pipe is opened without waiting for its other end.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    // Has no effect on a regular file.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Whether a path is a pipe, a device, or a stream of a process such as `/dev/stdout`.
pub(crate) fn is_stream(path: &Path) -> io::Result<bool> {
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) => Ok(!metadata.is_file() || is_of_process(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a path leads through `/proc` or `/dev/fd`, such as `/dev/stdout` and `/dev/fd/3`: a regular file is then what a process
/// has open. Others below `/dev` are files, as in `/dev/shm`.
fn is_of_process(path: &Path) -> bool {
    const MAX_LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match folder.canonicalize() {
            // Without a `/proc`, `/dev/fd` is a folder.
            Ok(folder) if folder.starts_with("/proc") || folder == Path::new("/dev/fd") => return true,
            Ok(folder) => match path.read_link() {
                Ok(target) => path = folder.join(target),
                Err(_) => return false,
            },
            Err(_) => return false,
        }
    }
    false
}

/// Fails if this process may not write to a file or into a folder.
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)?)
}

/// Opens a pipe or a device for writing. A standard stream may be a regular file with content.
pub(crate) fn open_stream(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
}

/// The absolute form of a path, without links.
pub(crate) fn canonical(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

/// How unfinished files are opened.
pub(crate) fn unfinished() -> OpenOptions {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags.bits().cast_signed());
    options
}

/// Creates a file without a name in a folder, which gets it from [`give_name`]. `None` where the system
/// cannot do that.
#[cfg(target_os = "linux")]
pub(crate) fn create_unnamed(folder: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE.bits().cast_signed();
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(folder).ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn create_unnamed(_: &Path) -> Option<File> {
    None
}

/// Gives a name to a file that has none. `false` where the system cannot do that.
#[cfg(target_os = "linux")]
pub(crate) fn give_name(file: &File, path: &Path) -> io::Result<bool> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Err(io::ErrorKind::AlreadyExists.into()),
        // There is no /proc.
        Err(_) => Ok(false),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn give_name(_: &File, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Locks an unfinished file. `false` if another process has locked it.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Waits for the lock of a new file.
pub(crate) fn lock(file: &File) -> io::Result<()> {
    file.lock()
}

/// Releases a lock, also where a child process that has just been forked has a copy of the file.
pub(crate) fn unlock(file: &File) {
    let _ = file.unlock();
}

/// Whether the error of opening an unfinished file means that another process has it: the lock shows that.
pub(crate) fn is_in_use(_: &io::Error) -> bool {
    false
}

/// Marks a file. Where the file system has no extended attributes, it does nothing.
pub(crate) fn set_marker(file: &File, _: &Path, marker: &str) {
    let _ = fsetxattr(file, MARKER, marker.as_bytes(), XattrFlags::empty());
}

pub(crate) fn has_marker(file: &File, _: &Path, marker: &str) -> bool {
    let mut found = [0; MAX_MARKER_BYTES];
    fgetxattr(file, MARKER, &mut found[..]).is_ok_and(|len| marker.as_bytes() == &found[..len])
}

/// Removes the marker of a file that may have got its name.
pub(crate) fn remove_marker(file: &File, _: &[&Path]) {
    let _ = fremovexattr(file, MARKER);
}

/// Gives a file the permissions and the owner of another one.
pub(crate) fn take_mode(file: &File, replaced: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
        // Only root may give files away.
        let _ = std::os::unix::fs::fchown(file, Some(replaced.uid()), Some(replaced.gid()));
    }
    file.set_permissions(Permissions::from_mode(replaced.mode() & 0o7777))
}

/// The program that a path denotes, or a name that is looked up in `PATH`.
pub(crate) fn program(name: &Path) -> io::Result<PathBuf> {
    let is_name = name.components().count() == 1 && !bytes_of(name).contains(&b'/');
    let folders = std::env::var_os("PATH").filter(|_| is_name).unwrap_or_default();
    let in_path = std::env::split_paths(&folders).map(|folder| folder.join(name));
    let mut last = Err(Errno::NOENT.into());
    for path in in_path.chain((!is_name).then(|| name.to_path_buf())) {
        let can_run = || rustix::fs::access(&path, Access::EXEC_OK).map_err(io::Error::from);
        match path.metadata() {
            Ok(found) if found.is_file() => last = can_run().map(|()| path),
            _ => continue,
        }
        if last.is_ok() {
            break;
        }
    }
    last
}

/// Starts a program in a process group of its own.
pub(crate) fn spawn_in_group(command: &mut Command) -> io::Result<Child> {
    command.process_group(0).spawn()
}

/// Kills a process group. Its first process must not have been waited for.
pub(crate) fn kill_group(group: u32) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        // There is none any more, or all of it has ended.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

/// Whether a child has ended. It is not waited for: its number stays its own.
pub(crate) fn has_ended(child: &Child) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(rustix::process::waitid(WaitId::Pid(Pid::from_child(child)), options)?.is_some())
}

/// Makes reads of a pipe fail with `WouldBlock` instead of waiting.
pub(crate) fn without_waiting(pipe: &impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(pipe)?;
    Ok(rustix::fs::fcntl_setfl(pipe, flags | OFlags::NONBLOCK)?)
}
