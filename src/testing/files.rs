//! What tests do with files that differs between systems.

#[cfg(unix)]
pub(crate) use unix::{mode, set_mode, symlink};
#[cfg(windows)]
pub(crate) use windows::{mode, set_mode, symlink};

/// Whether this system makes links to files and folders. Wine 8 only says that it does.
pub(crate) fn can_link() -> bool {
    let home = tempfile::tempdir().unwrap();
    let link = home.path().join("link");
    symlink("nowhere", &link).is_ok() && std::fs::symlink_metadata(link).is_ok_and(|found| found.is_symlink())
}

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    pub(crate) use std::os::unix::fs::symlink;
    use std::path::Path;

    /// The permissions of a file or a folder: nine bits.
    pub(crate) fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    pub(crate) fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[cfg(windows)]
mod windows {
    use std::io;
    use std::path::Path;

    /// Makes a link to a folder or to a file, whichever is there.
    pub(crate) fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
        let (target, link) = (target.as_ref(), link.as_ref());
        match link.parent().unwrap_or(link).join(target).is_dir() {
            true => std::os::windows::fs::symlink_dir(target, link),
            false => std::os::windows::fs::symlink_file(target, link),
        }
    }

    pub(crate) fn mode(_: &Path) -> u32 {
        panic!("Windows has no mode bits")
    }

    pub(crate) fn set_mode(_: &Path, _: u32) {
        panic!("Windows has no mode bits")
    }
}
