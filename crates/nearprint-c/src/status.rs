//! The codes that functions return.

use nearprint::ErrorKind;

/// Version of the binary interface. It grows with every change that existing programs would notice;
/// the name of the shared library contains it.
pub const NEARPRINT_ABI_VERSION: u32 = 1;

/// What a function returns: NEARPRINT_OK, or why it failed.
///
/// Codes are never renumbered. Later versions may return further ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum nearprint_status {
    /// Success.
    NEARPRINT_OK = 0,
    /// An argument that no call accepts: a null pointer, a length that cannot be, text that is not
    /// UTF-8, a layout or a distance that no database of the width can have.
    NEARPRINT_INVALID_ARGUMENT = 1,
    /// The handle was closed or finished. Builds with debug assertions also return it for handles
    /// that were freed.
    NEARPRINT_CLOSED = 2,
    /// Another thread, or the function that called back, is using this handle.
    NEARPRINT_BUSY = 3,
    /// A callback returned another value than 0. What was begun has been removed.
    NEARPRINT_STOPPED = 4,
    /// A bug of nearprint. The handle may be freed and does nothing else.
    NEARPRINT_BUG = 5,
    /// A system call failed.
    NEARPRINT_IO = 6,
    /// The disk is full. Nothing was lost; retry when there is space.
    NEARPRINT_DISK_FULL = 7,
    /// A sync failed, so the state on disk is unknown. The writer refuses further operations;
    /// opening the database again recovers everything that was committed.
    NEARPRINT_POISONED = 8,
    /// The database was moved, removed or replaced while a writer had it open.
    NEARPRINT_REPLACED = 9,
    /// There is no database at the path.
    NEARPRINT_NOT_A_DATABASE = 10,
    /// The path of a new database exists already.
    NEARPRINT_ALREADY_EXISTS = 11,
    /// The path cannot name a new database: it has no last component, is a mount point, lies in a
    /// database, or nearprint did not make what stands at `NAME.building`.
    NEARPRINT_BAD_PLACE = 12,
    /// A valid file of a newer format version, or with something that only a newer program knows.
    NEARPRINT_NEWER_VERSION = 13,
    /// A file is damaged. nearprint_error_damage() says where.
    NEARPRINT_CORRUPT = 14,
    /// Another writer holds the lock.
    NEARPRINT_LOCKED = 15,
    /// Fingerprints of another width, or databases with different definitions of distance.
    NEARPRINT_MISMATCH = 16,
    /// A key or a text, where the database stores none.
    NEARPRINT_NOT_STORED = 17,
    /// A recipe that does not exist, or that the database does not have.
    NEARPRINT_RECIPE = 18,
    /// A number would not fit the format.
    NEARPRINT_LIMIT = 19,
    /// A reason without a code in this version of the interface. The message has it.
    NEARPRINT_OTHER = 20,
    /// The child of a fork has used a writer, a builder or a stream of its parent. Nothing was
    /// changed.
    NEARPRINT_FORKED = 21,
}

use nearprint_status::{
    NEARPRINT_ALREADY_EXISTS, NEARPRINT_BAD_PLACE, NEARPRINT_CORRUPT, NEARPRINT_DISK_FULL, NEARPRINT_FORKED,
    NEARPRINT_INVALID_ARGUMENT, NEARPRINT_IO, NEARPRINT_LIMIT, NEARPRINT_LOCKED, NEARPRINT_MISMATCH,
    NEARPRINT_NEWER_VERSION, NEARPRINT_NOT_A_DATABASE, NEARPRINT_NOT_STORED, NEARPRINT_OTHER,
    NEARPRINT_POISONED, NEARPRINT_RECIPE, NEARPRINT_REPLACED, NEARPRINT_STOPPED,
};

impl nearprint_status {
    /// The code of a kind of errors.
    pub(crate) fn of(kind: ErrorKind) -> Self {
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
}
