//! The codes that functions return.

use std::ffi::{CStr, c_char};

use nearprint::ErrorKind;

/// Version of the binary interface. It grows with every change that existing programs would notice;
/// the name of the shared library contains it.
pub const NEARPRINT_ABI_VERSION: u32 = 1;

/// Version of nearprint that the header belongs to: 1,000,000 times the major, 1,000 times the minor
/// and the patch version, such as 1000 for 0.1.0.
pub const NEARPRINT_VERSION_NUMBER: u32 = 1000;

/// What a function returns: NEARPRINT_OK, or why it failed.
///
/// A number of 32 bits. Codes are never renumbered. Later versions may return further ones.
pub type nearprint_status = i32;

/// Success.
pub const NEARPRINT_OK: nearprint_status = 0;
/// An argument that no call accepts: a null pointer, a length that cannot be, text that is not
/// UTF-8, a layout or a distance that no database of the width can have.
pub const NEARPRINT_INVALID_ARGUMENT: nearprint_status = 1;
/// The handle was closed or finished. Builds with debug assertions also return it for handles
/// that were freed.
pub const NEARPRINT_CLOSED: nearprint_status = 2;
/// Another thread, or the function that called back, is using this handle.
pub const NEARPRINT_BUSY: nearprint_status = 3;
/// A callback returned another value than 0. What was begun has been removed.
pub const NEARPRINT_STOPPED: nearprint_status = 4;
/// A bug of nearprint. The handle may be freed and does nothing else.
pub const NEARPRINT_BUG: nearprint_status = 5;
/// A system call failed.
pub const NEARPRINT_IO: nearprint_status = 6;
/// The disk is full. Nothing was lost; retry when there is space.
pub const NEARPRINT_DISK_FULL: nearprint_status = 7;
/// A sync failed, so the state on disk is unknown. The writer refuses further operations;
/// opening the database again recovers everything that was committed.
pub const NEARPRINT_POISONED: nearprint_status = 8;
/// The database was moved, removed or replaced while a writer had it open; or a folder that follows it has another
/// history.
pub const NEARPRINT_REPLACED: nearprint_status = 9;
/// There is no database at the path.
pub const NEARPRINT_NOT_A_DATABASE: nearprint_status = 10;
/// The path of a new database exists already.
pub const NEARPRINT_ALREADY_EXISTS: nearprint_status = 11;
/// The path cannot name a new database: it has no last component, is a mount point, lies in a
/// database, or nearprint did not make what stands at `NAME.building`.
pub const NEARPRINT_BAD_PLACE: nearprint_status = 12;
/// A valid file of a newer format version, or with something that only a newer program knows.
pub const NEARPRINT_NEWER_VERSION: nearprint_status = 13;
/// A file is damaged. nearprint_error_damage() says where.
pub const NEARPRINT_CORRUPT: nearprint_status = 14;
/// Another writer holds the lock.
pub const NEARPRINT_LOCKED: nearprint_status = 15;
/// Fingerprints of another width, databases with different definitions of distance, or one that follows another.
pub const NEARPRINT_MISMATCH: nearprint_status = 16;
/// A key or a text, where the database stores none.
pub const NEARPRINT_NOT_STORED: nearprint_status = 17;
/// A recipe that does not exist, or that the database does not have.
pub const NEARPRINT_RECIPE: nearprint_status = 18;
/// A number would not fit the format.
pub const NEARPRINT_LIMIT: nearprint_status = 19;
/// A reason without a code in this version of the interface. The message has it.
pub const NEARPRINT_OTHER: nearprint_status = 20;
/// The child of a fork has used a writer, a builder or a stream of its parent. Nothing was
/// changed.
pub const NEARPRINT_FORKED: nearprint_status = 21;

/// The names of all codes, by number.
const NAMES: [&CStr; 22] = [
    c"NEARPRINT_OK",
    c"NEARPRINT_INVALID_ARGUMENT",
    c"NEARPRINT_CLOSED",
    c"NEARPRINT_BUSY",
    c"NEARPRINT_STOPPED",
    c"NEARPRINT_BUG",
    c"NEARPRINT_IO",
    c"NEARPRINT_DISK_FULL",
    c"NEARPRINT_POISONED",
    c"NEARPRINT_REPLACED",
    c"NEARPRINT_NOT_A_DATABASE",
    c"NEARPRINT_ALREADY_EXISTS",
    c"NEARPRINT_BAD_PLACE",
    c"NEARPRINT_NEWER_VERSION",
    c"NEARPRINT_CORRUPT",
    c"NEARPRINT_LOCKED",
    c"NEARPRINT_MISMATCH",
    c"NEARPRINT_NOT_STORED",
    c"NEARPRINT_RECIPE",
    c"NEARPRINT_LIMIT",
    c"NEARPRINT_OTHER",
    c"NEARPRINT_FORKED",
];

/// The name of a code, such as `NEARPRINT_CORRUPT`, with a null byte at the end; `NEARPRINT_UNKNOWN`
/// for a number that is none. It lives forever.
#[unsafe(no_mangle)]
pub extern "C" fn nearprint_status_name(status: nearprint_status) -> *const c_char {
    let name = usize::try_from(status).ok().and_then(|index| NAMES.get(index));
    name.map_or(c"NEARPRINT_UNKNOWN", |name| name).as_ptr()
}

/// The code of a kind of errors.
pub(crate) fn of(kind: ErrorKind) -> nearprint_status {
    match kind {
        ErrorKind::InvalidArgument => NEARPRINT_INVALID_ARGUMENT,
        ErrorKind::BadPlace | ErrorKind::NotStaging => NEARPRINT_BAD_PLACE,
        ErrorKind::Mismatch => NEARPRINT_MISMATCH,
        ErrorKind::NotStored => NEARPRINT_NOT_STORED,
        ErrorKind::Recipe => NEARPRINT_RECIPE,
        ErrorKind::Io => NEARPRINT_IO,
        ErrorKind::DiskFull => NEARPRINT_DISK_FULL,
        ErrorKind::Poisoned => NEARPRINT_POISONED,
        ErrorKind::Replaced => NEARPRINT_REPLACED,
        ErrorKind::Forked => NEARPRINT_FORKED,
        ErrorKind::NotADatabase => NEARPRINT_NOT_A_DATABASE,
        ErrorKind::AlreadyExists => NEARPRINT_ALREADY_EXISTS,
        ErrorKind::NewerVersion | ErrorKind::NewerFeature => NEARPRINT_NEWER_VERSION,
        ErrorKind::Corrupt => NEARPRINT_CORRUPT,
        ErrorKind::Locked => NEARPRINT_LOCKED,
        ErrorKind::Limit => NEARPRINT_LIMIT,
        ErrorKind::Interrupted => NEARPRINT_STOPPED,
        _ => NEARPRINT_OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_name() {
        let header = include_str!("../include/nearprint.h").lines();
        let names = header.filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
        let codes = (0..).zip(names.skip_while(|(name, _)| *name != "NEARPRINT_OK"));
        let codes = codes.take_while(|(number, (_, value))| value.parse() == Ok(*number));
        let codes: Vec<(i32, &str)> = codes.map(|(number, (name, _))| (number, name)).collect();
        assert_eq!(codes.len(), NAMES.len());
        let name_of = |status| {
            // SAFETY: The function returns a string that lives forever.
            unsafe { CStr::from_ptr(nearprint_status_name(status)) }.to_str()
        };
        for (number, name) in codes {
            assert_eq!(name_of(number), Ok(name));
        }
        for unknown in [-1, 22, i32::MAX, i32::MIN] {
            assert_eq!(name_of(unknown), Ok("NEARPRINT_UNKNOWN"));
        }
    }

    #[test]
    fn the_number_of_the_version_is_that_of_the_package() {
        let parts: Vec<u32> =
            env!("CARGO_PKG_VERSION").split('.').map(|part| part.parse().expect("a number")).collect();
        assert_eq!(parts.len(), 3);
        assert_eq!(NEARPRINT_VERSION_NUMBER, parts[0] * 1_000_000 + parts[1] * 1000 + parts[2]);
    }
}
