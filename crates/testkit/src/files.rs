//! What tests do with files that differs between systems. Tests of what Windows does not have are
//! ignored there, and say why.

use std::path::Path;

#[cfg(unix)]
pub use unix::{give_to, make_pipe, mode, owner, set_mode, symlink};
#[cfg(windows)]
pub use windows::{give_to, make_pipe, mode, owner, set_mode, symlink};

/// The number of a file in its file system.
pub fn inode(path: &Path) -> u64 {
    nearprint::internal::file::identity_of(path).unwrap().1
}

/// Whether this system makes links to files and folders. Wine 8 only says that it does.
pub fn can_link() -> bool {
    let home = tempfile::tempdir().unwrap();
    let link = home.path().join("link");
    symlink("nowhere", &link).is_ok() && std::fs::symlink_metadata(link).is_ok_and(|found| found.is_symlink())
}

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::io;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;

    pub use std::os::unix::fs::symlink;

    /// The permissions of a file or a folder: nine bits.
    pub fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    pub fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// The number of the user to whom a file belongs.
    pub fn owner(path: &Path) -> u32 {
        fs::metadata(path).unwrap().uid()
    }

    pub fn give_to(path: &Path, user: u32) -> io::Result<()> {
        std::os::unix::fs::chown(path, Some(user), None)
    }

    /// Makes a named pipe that only its owner can read.
    pub fn make_pipe(path: &Path) {
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RUSR).unwrap();
    }
}

#[cfg(windows)]
mod windows {
    use std::io;
    use std::path::Path;

    /// Makes a link to a folder or to a file, whichever is there.
    pub fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
        let (target, link) = (target.as_ref(), link.as_ref());
        match link.parent().unwrap_or(link).join(target).is_dir() {
            true => std::os::windows::fs::symlink_dir(target, link),
            false => std::os::windows::fs::symlink_file(target, link),
        }
    }

    pub fn mode(_: &Path) -> u32 {
        panic!("Windows has no mode bits")
    }

    pub fn set_mode(_: &Path, _: u32) {
        panic!("Windows has no mode bits")
    }

    pub fn owner(_: &Path) -> u32 {
        panic!("Windows has no numbers of users")
    }

    pub fn give_to(_: &Path, _: u32) -> io::Result<()> {
        panic!("Windows has no numbers of users")
    }

    pub fn make_pipe(_: &Path) {
        panic!("Windows has no named pipes among files")
    }
}
