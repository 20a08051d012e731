//! Kinds of errors: the coarser view that codes and exceptions of other languages are made of.

use super::Error;

/// What kind of error an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument that no call accepts: a layout, a distance, a width, a length.
    InvalidArgument,
    /// The path cannot name a new database: it has no last component, is a mount point, lies in a
    /// database, or means a device to Windows.
    BadPlace,
    /// The folder in which a new database is prepared is not nearprint's.
    NotStaging,
    /// Fingerprints of another width, databases with different definitions of distance, or runs that
    /// do not fit the database.
    Mismatch,
    /// A key, a text or a hash, where the database stores something else.
    NotStored,
    /// A recipe that is invalid, or differs from the stored one.
    Recipe,
    /// A system call failed.
    Io,
    /// The disk is full.
    DiskFull,
    /// A sync failed, so the state on disk is unknown.
    Poisoned,
    /// The database was moved, removed or replaced; or a folder that follows it has another history.
    Replaced,
    /// The child of a fork has used an object of its parent.
    Forked,
    /// There is no database at the path.
    NotADatabase,
    /// The path of a new database exists already.
    AlreadyExists,
    /// A valid file of a newer format version.
    NewerVersion,
    /// A valid file with something that only a newer program knows.
    NewerFeature,
    /// A file is damaged.
    Corrupt,
    /// Another writer holds the lock.
    Locked,
    /// A number would not fit the format.
    Limit,
    /// The progress callback cancelled the operation.
    Interrupted,
}

impl ErrorKind {
    /// Whether an argument is at fault: it is invalid, or does not fit the database.
    #[must_use]
    pub const fn is_argument(self) -> bool {
        use ErrorKind::{BadPlace, InvalidArgument, Mismatch, NotStored, Recipe};
        matches!(self, InvalidArgument | BadPlace | Mismatch | NotStored | Recipe)
    }
}

impl Error {
    /// The kind of the error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidLayout { .. }
            | Self::Distance { .. }
            | Self::UnknownWidth { .. }
            | Self::Lifetime { .. }
            | Self::TooLittleMemory { .. }
            | Self::KeyTooLong { .. }
            | Self::TextTooLong { .. }
            | Self::TextWithoutKey { .. }
            | Self::ForeignKey { .. } => ErrorKind::InvalidArgument,
            Self::InsideDatabase { .. }
            | Self::Unnamed { .. }
            | Self::MountPoint { .. }
            | Self::DeviceName { .. } => ErrorKind::BadPlace,
            Self::NotStaging { .. } => ErrorKind::NotStaging,
            Self::Width { .. }
            | Self::Incomparable { .. }
            | Self::Mismatch { .. }
            | Self::Overlap { .. }
            | Self::RunsOnly { .. }
            | Self::Follower { .. }
            | Self::NotRunsOnly { .. } => ErrorKind::Mismatch,
            Self::KeysNotStored { .. }
            | Self::TextsNotStored { .. }
            | Self::NotAHash { .. }
            | Self::NotFeatures { .. } => ErrorKind::NotStored,
            Self::InvalidRecipe { .. } | Self::RecipeMismatch { .. } => ErrorKind::Recipe,
            Self::Io { .. } => ErrorKind::Io,
            Self::DiskFull { .. } => ErrorKind::DiskFull,
            Self::Poisoned { .. } => ErrorKind::Poisoned,
            Self::Replaced { .. } | Self::Diverged { .. } => ErrorKind::Replaced,
            Self::Forked { .. } => ErrorKind::Forked,
            Self::NotADatabase { .. } => ErrorKind::NotADatabase,
            Self::AlreadyExists { .. } => ErrorKind::AlreadyExists,
            Self::NewerVersion { .. } => ErrorKind::NewerVersion,
            Self::NewerFeature { .. } => ErrorKind::NewerFeature,
            Self::Corrupt(_) => ErrorKind::Corrupt,
            Self::Locked { .. } => ErrorKind::Locked,
            Self::Limit(_) => ErrorKind::Limit,
            Self::Interrupted => ErrorKind::Interrupted,
        }
    }
}
