//! The error type of the library.
//!
//! Damage to files is apart from failing I/O: a [`Corruption`] says which file, where in it, what
//! should stand there and what does.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused. `action` reads after "cannot": `open`, `write`, ….
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no room left on the medium. Nothing was lost, and what was asked for can be tried again
    /// when there is room.
    DiskFull {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
    },
    /// Something could not be made durable, so that nobody knows what is on the medium. The writer
    /// takes no more; opening the database again recovers everything acknowledged.
    Poisoned {
        /// The database.
        path: PathBuf,
    },
    /// There is no database: the path does not exist or has no `MANIFEST`.
    NotADatabase {
        /// The path that was given.
        path: PathBuf,
    },
    /// Something stands where a database was to be made. Nothing was changed.
    AlreadyExists {
        /// The path that was given.
        path: PathBuf,
    },
    /// A sound file of a format version that this program does not know.
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program reads.
        supported: u32,
    },
    /// The database holds fingerprints of another width.
    Width {
        /// The database.
        path: PathBuf,
        /// Its width in bits.
        database: u32,
        /// The width that was asked for.
        requested: u32,
    },
    /// Runs were built in another way than the database needs that is to adopt them.
    Mismatch {
        /// The folder of runs.
        path: PathBuf,
        /// How they were built.
        found: String,
        /// How the database builds.
        expected: String,
    },
    /// Two folders, or a folder and the database that is to adopt it, have given the same ids to rows
    /// that came without one. Ends of the ranges are included.
    Overlap {
        /// The folder of runs.
        path: PathBuf,
        /// A range of ids that it has given.
        given: (u64, u64),
        /// The database, or another folder of runs.
        other: PathBuf,
        /// A range of ids that the other has given.
        given_by_other: (u64, u64),
    },
    /// A file is damaged, or does not belong where it stands.
    Corrupt(Box<Corruption>),
    /// Another writer is at work.
    Locked {
        /// The database.
        path: PathBuf,
        /// The process that holds the lock, where it could be read.
        pid: Option<u32>,
    },
    /// An option, or a combination of options, that cannot be.
    Option(String),
    /// A number would not fit the format: more than 2^32 - 1 distinct fingerprints in a run, or an
    /// automatic id past 2^64 - 1.
    Limit(&'static str),
    /// The caller asked to stop. What was begun has been removed.
    Interrupted,
}

/// Where a file is damaged, and how that shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corruption {
    /// The damaged file.
    pub file: PathBuf,
    /// The part of the file: `header`, `directory`, `hi`, `ids`, `footer`, ….
    pub section: &'static str,
    /// Where, in bytes from the start of the file.
    pub offset: u64,
    /// What should stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, section, offset, expected, found } = self;
        write!(
            f,
            "{}: corrupt {section} at offset {offset}: expected {expected}, found {found}",
            file.display()
        )
    }
}

impl Error {
    /// Wraps an I/O error with what was tried on which path.
    #[doc(hidden)]
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { action, path },
            _ => Self::Io { action, path, source },
        }
    }

    /// The damage, where this error is one.
    #[must_use]
    pub fn corruption(&self) -> Option<&Corruption> {
        match self {
            Self::Corrupt(corruption) => Some(corruption),
            _ => None,
        }
    }
}

impl From<Corruption> for Error {
    fn from(corruption: Corruption) -> Self {
        Self::Corrupt(Box::new(corruption))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, path, source } => write!(f, "cannot {action} {}: {source}", path.display()),
            Self::DiskFull { action, path } => {
                write!(f, "cannot {action} {}: no space left on the device", path.display())
            }
            Self::Poisoned { path } => write!(
                f,
                "{}: an earlier write could not be made durable; close the database and open it again",
                path.display()
            ),
            Self::NotADatabase { path } => write!(f, "{}: no database there", path.display()),
            Self::AlreadyExists { path } => write!(f, "{}: already exists", path.display()),
            Self::NewerVersion { path, found, supported } => write!(
                f,
                "{}: format version {found}, and this program reads versions up to {supported}",
                path.display()
            ),
            Self::Width { path, database, requested } => write!(
                f,
                "{}: holds fingerprints of {database} bits, not of {requested} bits",
                path.display()
            ),
            Self::Mismatch { path, found, expected } => {
                write!(f, "{}: built with {found}, and the database with {expected}", path.display())
            }
            Self::Overlap { path, given: (first, last), other, given_by_other: (from, to) } => write!(
                f,
                "{}: gave rows the ids {first} to {last}, and {} gave others the ids {from} to {to}",
                path.display(),
                other.display()
            ),
            Self::Corrupt(corruption) => corruption.fmt(f),
            Self::Locked { path, pid: Some(pid) } => {
                write!(f, "{}: locked by another writer, process {pid}", path.display())
            }
            Self::Locked { path, pid: None } => write!(f, "{}: locked by another writer", path.display()),
            Self::Option(why) => f.write_str(why),
            Self::Limit(what) => write!(f, "limit reached: {what}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
