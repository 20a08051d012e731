//! Reads and writes at an offset, the identity of a file, and names of devices, on every system.

mod device;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use device::{is_device_name, refuse_device};
#[cfg(unix)]
pub use unix::{
    has_several_names, identity, identity_of, is_removed, read_exact_at, rename, sync_folder, write_all_at,
};
#[cfg(windows)]
pub(crate) use windows::{RENAME_PATIENCE, patiently};
#[cfg(windows)]
pub use windows::{
    has_several_names, identity, identity_of, is_removed, read_exact_at, rename, sync_folder, write_all_at,
};

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
