//! The unix form.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;

/// The attributes that belong to the file, not to the system: what users set, and access control lists.
const USERS: &[u8] = b"user.";
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";
/// Rights that a program has whoever runs it.
const CAPABILITIES: &str = "security.capability";
/// The longest list of names, and the longest value, that Linux has.
const MAX_BYTES: usize = 1 << 16;

pub(super) fn mode_of(found: &Metadata) -> u32 {
    found.mode() & 0o7777
}

pub(super) fn modified(found: &Metadata) -> io::Result<(i64, u32)> {
    Ok((found.mtime(), u32::try_from(found.mtime_nsec()).unwrap_or(0)))
}

/// The extended attributes, sorted by name. None where the file system has none.
pub(super) fn extended_of(file: &File) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut buffer = vec![0; MAX_BYTES];
    let len = match flistxattr(file, &mut buffer[..]) {
        Ok(len) => len,
        Err(Errno::NOTSUP | Errno::NOSYS | Errno::PERM) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let names: Vec<Vec<u8>> =
        buffer[..len].split(|byte| *byte == 0).filter(|name| is_of_file(name)).map(<[u8]>::to_vec).collect();
    let mut extended = Vec::new();
    for name in names {
        match fgetxattr(file, &name[..], &mut buffer[..]) {
            Ok(len) => extended.push((name, buffer[..len].to_vec())),
            Err(Errno::NODATA) => {}
            Err(error) => return Err(error.into()),
        }
    }
    extended.sort_unstable();
    Ok(extended)
}

fn is_of_file(name: &[u8]) -> bool {
    match cfg!(target_vendor = "apple") {
        true => !name.is_empty(),
        false => name.starts_with(USERS) || name == ACCESS_LIST,
    }
}

pub(super) fn has_capabilities(file: &File) -> bool {
    let mut buffer = [0; 64];
    cfg!(target_os = "linux") && fgetxattr(file, CAPABILITIES, &mut buffer[..]).is_ok_and(|len| len > 0)
}

pub(super) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(PermissionsExt::from_mode(mode))
}

/// Whether the file took the attribute.
pub(super) fn set_extended(file: &File, name: &[u8], value: &[u8]) -> bool {
    is_of_file(name) && fsetxattr(file, name, value, XattrFlags::empty()).is_ok()
}

pub(super) fn owner_of(file: &File) -> io::Result<(u32, u32)> {
    file.metadata().map(|found| (found.uid(), found.gid()))
}

/// Whether the file has the owner and the group now. Only root may give files away.
pub(super) fn set_owner(file: &File, (user, group): (u32, u32)) -> bool {
    fchown(file, Some(user), Some(group)).is_ok()
}

/// The user of this process.
pub(super) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes a new file share the blocks of another one.
#[cfg(target_os = "linux")]
pub(in super::super) fn share_blocks(from: &File, _: &Path, to: &Path) -> io::Result<File> {
    let copy = super::super::copy::create_private(to)?;
    rustix::fs::ioctl_ficlone(&copy, from)?;
    Ok(copy)
}

/// The copy of the standard library shares blocks where the file system can.
#[cfg(not(target_os = "linux"))]
pub(in super::super) fn share_blocks(_: &File, from: &Path, to: &Path) -> io::Result<File> {
    std::fs::copy(from, to)?;
    File::options().read(true).write(true).open(to)
}

#[cfg(test)]
mod tests {
    use super::super::{Attributes, may_own};
    use super::*;

    #[test]
    fn what_belongs_to_a_file_is_read_and_given_and_no_more() {
        let [from, to] = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
        let set = |name: &str, value: &[u8]| fsetxattr(&from, name, value, XattrFlags::empty());
        if set("user.b", b"two").and_then(|()| set("user.a", b"one")).is_err() {
            eprintln!("skipped: the file system of temporary files has no attributes of users");
            return;
        }
        // Only root can set it.
        let _ = set("trusted.c", b"three");
        let mut attributes = Attributes::of(&from).unwrap();
        attributes.mode = 0o741;
        let extended = [(&b"user.a"[..], &b"one"[..]), (b"user.b", b"two")];
        assert_eq!(attributes.extended, extended.map(|(name, value)| (name.to_vec(), value.to_vec())));
        assert_eq!(attributes.give(&to).unwrap(), [""; 0]);
        assert_eq!(Attributes::of(&to).unwrap(), attributes);
        attributes.extended.push((b"trusted.d".to_vec(), b"four".to_vec()));
        assert_eq!(attributes.give(&to).unwrap(), ["attribute trusted.d"]);
    }

    #[test]
    fn an_owner_is_given() {
        let file = tempfile::tempfile().unwrap();
        if !set_owner(&file, (2, 2)) {
            eprintln!("skipped: only root gives files away");
            return;
        }
        for owner in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let attributes = Attributes { owner, ..Attributes::of(&file).unwrap() };
            assert_eq!(attributes.give(&file).unwrap(), [""; 0]);
            assert_eq!(owner_of(&file).unwrap(), owner);
            assert!(set_owner(&file, (2, 2)));
        }
    }

    #[test]
    fn an_undo_may_give_files_to_its_own_user() {
        let (user, group) = owner_of(&tempfile::tempfile().unwrap()).unwrap();
        assert!(may_own((user, group), (user + 1, group)));
        assert!(may_own((user + 1, group), (user + 1, group)));
        assert!(!may_own((user + 1, group), (user, group)));
    }

    #[test]
    fn a_file_with_capabilities_is_privileged() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(Attributes::of(&file).unwrap().privilege(&file), None);
        // Version 2, and the right to use any network port.
        let value: Vec<u8> = [0x0200_0000_u32, 1 << 10, 0, 0, 0].map(u32::to_le_bytes).concat();
        match fsetxattr(&file, CAPABILITIES, &value, XattrFlags::empty()) {
            Ok(()) => {
                let why = Attributes::of(&file).unwrap().privilege(&file);
                assert_eq!(why, Some("it has capabilities"));
            }
            Err(error) => eprintln!("skipped: no capabilities of files here: {error}"),
        }
    }
}
