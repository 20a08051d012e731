//! Reads and writes at an offset, the identity of a file, and names of devices, on every system.

mod device;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::path::Path;
use std::{fs, io};

pub use device::{is_device_name, refuse_device};
#[cfg(unix)]
pub use unix::{
    identity, identity_of, is_removed, num_names, read_exact_at, rename, rename_at_once, sync_folder,
    write_all_at,
};
#[cfg(windows)]
pub(crate) use windows::{RENAME_PATIENCE, patiently};
#[cfg(windows)]
pub use windows::{
    identity, identity_of, is_removed, num_names, read_exact_at, rename, rename_at_once, sync_folder,
    write_all_at,
};

/// Renames a file out of a folder of this process, and replaces nothing. Where [`rename_at_once`] is not supported, the
/// file gets a second name, and the first one is removed: nobody else may give that name to another file meanwhile.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::AlreadyExists`] if something has the new name, and
/// [`io::ErrorKind::CrossesDevices`] where the new name is on another file system. A file system without such renames
/// and without hard links has its own.
pub fn rename_from_own(from: &Path, to: &Path) -> io::Result<()> {
    match rename_at_once(from, to) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => link_and_unlink(from, to),
        other => other,
    }
}

/// Renames a file into a folder of this process, in which nobody else gives names, and replaces nothing. What was
/// renamed may be another file than the one that had the name a moment before.
///
/// # Errors
/// As of [`rename_from_own`], which can rename the file back.
pub fn rename_into_own(from: &Path, to: &Path) -> io::Result<()> {
    match rename_at_once(from, to) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
        other => return other,
    }
    // Without links, the file could not be renamed back. The link replaces nothing.
    fs::hard_link(from, to)?;
    remove_in_own(to)?;
    match fs::rename(from, to) {
        // As in `remove_in_own`: it was done.
        Err(error) if error.kind() == io::ErrorKind::NotFound && to.symlink_metadata().is_ok() => Ok(()),
        other => other,
    }
}

fn link_and_unlink(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    match remove_in_own(from) {
        Err(error) => {
            // The new name goes only while the old one has the same file.
            if identity_of(from).is_ok_and(|old| identity_of(to).is_ok_and(|new| old == new)) {
                let _ = fs::remove_file(to);
            }
            Err(error)
        }
        removed => removed,
    }
}

/// Removes a file that was there a moment ago, in a folder of this process. A server of a network that is asked twice,
/// because its first answer was lost, says that there is no such file.
///
/// # Errors
/// Those of the system.
pub fn remove_in_own(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// What distinguishes a file from every other one that exists: the number of its file system, and its
/// own number there.
pub type Identity = (u64, u64);

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use super::*;

    #[test]
    fn reads_and_writes_at_an_offset_do_not_move_the_position() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123").unwrap();
        let mut two = [0; 2];
        read_exact_at(&file, &mut two, 1).unwrap();
        assert_eq!(&two, b"12");
        write_all_at(&file, b"x", 0).unwrap();
        file.write_all(b"45").unwrap();
        assert_eq!(read_exact_at(&file, &mut two, 5).unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
        file.rewind().unwrap();
        let mut all = String::new();
        file.read_to_string(&mut all).unwrap();
        assert_eq!(all, "x12345");
    }

    #[test]
    fn a_rename_to_a_free_name_replaces_nothing() {
        let home = tempfile::tempdir().unwrap();
        let [one, two, other] = ["one", "two", "other"].map(|name| home.path().join(name));
        for rename in [rename_from_own, rename_into_own, link_and_unlink] {
            fs::write(&one, "1").unwrap();
            fs::write(&other, "2").unwrap();
            assert_eq!(rename(&one, &other).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!((fs::read(&one).unwrap(), fs::read(&other).unwrap()), (b"1".to_vec(), b"2".to_vec()));
            rename(&one, &two).unwrap();
            assert!(!one.exists() && fs::read(&two).unwrap() == b"1");
            fs::remove_file(&two).unwrap();
        }
    }

    #[test]
    fn names_of_one_file_have_one_identity() {
        let home = tempfile::tempdir().unwrap();
        let [one, two, other] = ["one", "two", "other"].map(|name| home.path().join(name));
        std::fs::write(&one, "1").unwrap();
        std::fs::write(&other, "1").unwrap();
        std::fs::hard_link(&one, &two).unwrap();
        assert_eq!(identity_of(&one).unwrap(), identity_of(&two).unwrap());
        assert_ne!(identity_of(&one).unwrap(), identity_of(&other).unwrap());
        let file = std::fs::File::open(&one).unwrap();
        assert_eq!(identity(&file).unwrap(), identity_of(&two).unwrap());
        assert_eq!(identity_of(home.path()).unwrap().0, identity(&file).unwrap().0);
        assert!(!is_removed(&file));
    }
}
