//! The error type of the library.
//!
//! Damage is separate from failing I/O: a [`Corruption`] names the file, the section, the offset,
//! the expected and the found content.

mod holder;
mod kind;
mod limit;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use holder::{Holder, HolderPlace};
pub use kind::ErrorKind;
pub use limit::Limit;

/// The result of every fallible operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    Io {
        /// The operation; reads after "cannot": `open`, `write`, ….
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The disk is full. Nothing was lost; retry when there is space.
    DiskFull {
        /// The operation; reads after "cannot": `open`, `write`, ….
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
    },
    /// A sync, rename or truncation failed, so the state on disk is unknown. The writer refuses all
    /// further operations. Opening the database again recovers everything that was acknowledged.
    Poisoned {
        /// The database.
        path: PathBuf,
    },
    /// The database of a handle was moved or removed, or there is another one at its path now. A
    /// writer changes nothing until its database is back. What was committed is in the folder that
    /// was moved. A snapshot can still be used.
    Replaced {
        /// The path that was given.
        path: PathBuf,
    },
    /// A folder that follows a database has runs or logs of another history: the database was restored from a
    /// backup, or is another copy that has gone on. Nothing was changed.
    Diverged {
        /// The folder.
        path: PathBuf,
        /// The database.
        followed: PathBuf,
    },
    /// The child of a fork has used a writer, a builder or a stream of its parent. Nothing was
    /// changed. What the child opens itself can be used.
    Forked {
        /// The database, or another folder of the parent process.
        path: PathBuf,
    },
    /// There is no database: the path does not exist or has no `MANIFEST`.
    NotADatabase {
        /// The path that was given.
        path: PathBuf,
    },
    /// The path of a new database exists already. Nothing was changed.
    AlreadyExists {
        /// The path that was given.
        path: PathBuf,
    },
    /// A new database cannot be prepared in the folder `NAME.building`: nothing shows that nearprint
    /// made it, it holds a foreign file, is a link, or belongs to another user. Nothing was changed.
    NotStaging {
        /// The folder, or the foreign file.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// A valid file of a newer format version.
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest supported version.
        supported: u32,
    },
    /// A valid file that needs a newer program: to be read at all, or to be written to.
    NewerFeature {
        /// The file.
        path: PathBuf,
        /// What this program does not know.
        feature: String,
    },
    /// The database holds fingerprints of another width.
    Width {
        /// The database.
        path: PathBuf,
        /// Its width in bits.
        database: u32,
        /// The requested width in bits.
        requested: u32,
    },
    /// Databases with different definitions of distance: only one has bands, or they have different
    /// ones.
    Incomparable {
        /// The first database.
        path: PathBuf,
        /// Its layout.
        layout: String,
        /// The second database.
        other: PathBuf,
        /// Its layout.
        other_layout: String,
    },
    /// Runs to be ingested were built with other settings than the database has.
    Mismatch {
        /// The folder of runs.
        path: PathBuf,
        /// The settings of the runs.
        found: String,
        /// The settings of the database.
        expected: String,
    },
    /// Two folders, or a folder and the database that ingests it, gave the same ids to rows that
    /// came without one. Ranges include both ends.
    Overlap {
        /// The folder of runs.
        path: PathBuf,
        /// A range of ids that it assigned.
        given: (u64, u64),
        /// The database, or another folder of runs.
        other: PathBuf,
        /// A range of ids that the other assigned.
        given_by_other: (u64, u64),
    },
    /// A file is damaged, or belongs to another database, run or table.
    Corrupt(Box<Corruption>),
    /// Another writer holds the lock.
    Locked {
        /// The database.
        path: PathBuf,
        /// The process that holds the lock, where it could be read.
        holder: Option<Holder>,
    },
    /// A layout that no database can have.
    InvalidLayout {
        /// The layout, as it was given.
        layout: String,
        /// The rule that it breaks.
        reason: String,
    },
    /// A key that is not one of these [blocks](crate::list::Blocks).
    ForeignKey {
        /// The key.
        key: u64,
    },
    /// A distance that exceeds the width.
    Distance {
        /// The distance.
        k: u32,
        /// The width in bits.
        width: u32,
    },
    /// There are no fingerprints of this width.
    UnknownWidth {
        /// The width, as it was given.
        width: String,
    },
    /// Less memory than a build needs.
    TooLittleMemory {
        /// The memory that was given, in bytes.
        bytes: usize,
        /// The least memory, in bytes.
        least: usize,
    },
    /// A lifetime of rows, and a period, that no database can have: 1 to 1,024 periods make a
    /// lifetime.
    Lifetime {
        /// The lifetime in milliseconds.
        lifetime_ms: u64,
        /// The period in milliseconds.
        period_ms: u64,
    },
    /// An empty recipe, or one of more than 4,096 bytes.
    InvalidRecipe {
        /// Its length in bytes.
        len_bytes: usize,
    },
    /// The database has another recipe.
    RecipeMismatch {
        /// The database.
        path: PathBuf,
        /// The recipe of the database.
        recipe: String,
    },
    /// A key was given, but the database stores none.
    KeysNotStored {
        /// The database.
        path: PathBuf,
    },
    /// A text was given, but the database stores none.
    TextsNotStored {
        /// The database.
        path: PathBuf,
    },
    /// A text without a key, beside which it would be stored.
    TextWithoutKey {
        /// The database.
        path: PathBuf,
    },
    /// More than [`MAX_HASH_BYTES`](crate::MAX_HASH_BYTES) bytes beside a key, where the database
    /// stores hashes of texts and no texts.
    NotAHash {
        /// The database.
        path: PathBuf,
        /// Their number.
        len_bytes: usize,
    },
    /// Bytes beside a key that are no set of features, where the database stores those and no texts. Whoever reads them
    /// as such finds damage.
    NotFeatures {
        /// The key.
        key: String,
    },
    /// A key of more than [`MAX_KEY_BYTES`](crate::MAX_KEY_BYTES) bytes.
    KeyTooLong {
        /// The database.
        path: PathBuf,
        /// Its length in bytes.
        len_bytes: usize,
    },
    /// A text of 4 GiB or more.
    TextTooLong {
        /// The database.
        path: PathBuf,
        /// Its length in bytes.
        len_bytes: usize,
    },
    /// A writer was opened on a folder of runs, which databases only
    /// [ingest](crate::Writer::ingest).
    RunsOnly {
        /// The folder of runs.
        path: PathBuf,
    },
    /// A writer was opened on a folder that [follows](crate::Database::follow) a database.
    Follower {
        /// The folder.
        path: PathBuf,
    },
    /// A database was to be ingested that was not [built](crate::Builder::runs_only) for it.
    NotRunsOnly {
        /// The database.
        path: PathBuf,
    },
    /// A new file or database was to be placed inside a database.
    InsideDatabase {
        /// The path that was given.
        path: PathBuf,
    },
    /// A path without a last component, such as `/` or `..`, cannot name a new database.
    Unnamed {
        /// The path that was given.
        path: PathBuf,
    },
    /// A mount point cannot be replaced by a new database.
    MountPoint {
        /// The path that was given.
        path: PathBuf,
    },
    /// To Windows, the name means a device and no file or folder, such as `aux` or `nul.txt`.
    DeviceName {
        /// The path that was given.
        path: PathBuf,
    },
    /// A number or a length would not fit the format: more than 2^32 - 1 distinct fingerprints in a run, an
    /// automatic id past 2^64 - 1. [`Limit::remedy`] says what to do.
    Limit(Limit),
    /// The progress callback cancelled the operation. What was begun has been removed.
    Interrupted,
}

/// [`Error::Replaced`] as the content of an [`io::Error`].
#[derive(Debug)]
pub(crate) struct Replaced {
    /// The path that was given.
    pub(crate) path: PathBuf,
}

impl fmt::Display for Replaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: the database was moved, removed or replaced while it was open", self.path.display())
    }
}

impl std::error::Error for Replaced {}

/// [`Error::Forked`] as the content of an [`io::Error`].
#[derive(Debug)]
pub(crate) struct Forked {
    /// What belongs to the parent process.
    pub(crate) path: PathBuf,
}

impl fmt::Display for Forked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: opened by the parent process, before a fork; open it again in this process",
            self.path.display()
        )
    }
}

impl std::error::Error for Forked {}

/// Damage in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Corruption {
    /// The damaged file.
    pub file: PathBuf,
    /// The section of the file: `header`, `directory`, `hi`, `ids`, `footer`, ….
    pub section: &'static str,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// The expected content.
    pub expected: String,
    /// The content of the file.
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
    /// Wraps an I/O error with the operation and the path.
    #[doc(hidden)]
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| {
            if let Some(Replaced { path }) = source.get_ref().and_then(|inner| inner.downcast_ref()) {
                return Self::Replaced { path: path.clone() };
            }
            if let Some(Forked { path }) = source.get_ref().and_then(|inner| inner.downcast_ref()) {
                return Self::Forked { path: path.clone() };
            }
            match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { action, path },
                _ => Self::Io { action, path, source },
            }
        }
    }

    /// The damage, if this error is [`Error::Corrupt`].
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

/// [`Error::Io`] without an operation and a path, for the I/O of visitors; [`Error::DiskFull`] where
/// no space is left.
impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        Self::io("", "")(source)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action: "", source, .. } => source.fmt(f),
            Self::DiskFull { action: "", .. } => f.write_str("no space left on the device"),
            Self::Io { action, path, source } => write!(f, "cannot {action} {}: {source}", path.display()),
            Self::DiskFull { action, path } => {
                write!(f, "cannot {action} {}: no space left on the device", path.display())
            }
            Self::Poisoned { path } => write!(
                f,
                "{}: an earlier write could not be made durable; close the database and open it again",
                path.display()
            ),
            Self::Replaced { path } => Replaced { path: path.clone() }.fmt(f),
            Self::Diverged { path, followed } => write!(
                f,
                "{}: cannot follow {} any more, which was restored or has gone on from another copy; a new copy begins \
                 with: nearprint backup {1} --follow NEW",
                path.display(),
                followed.display()
            ),
            Self::Forked { path } => Forked { path: path.clone() }.fmt(f),
            Self::NotADatabase { path } => write!(f, "{}: no database there", path.display()),
            Self::AlreadyExists { path } => write!(f, "{}: already exists", path.display()),
            Self::NotStaging { path, found } => {
                write!(
                    f,
                    "{}: {found}; move it away, because a new database is prepared at this path",
                    path.display()
                )
            }
            Self::NewerVersion { path, found, supported } => write!(
                f,
                "{}: format version {found}, and this program reads versions up to {supported}",
                path.display()
            ),
            Self::NewerFeature { path, feature } => {
                write!(f, "{}: needs a newer program, which supports {feature}", path.display())
            }
            Self::Width { path, database, requested } => write!(
                f,
                "{}: holds fingerprints of {database} bits, not of {requested} bits",
                path.display()
            ),
            Self::Incomparable { path, layout, other, other_layout } => write!(
                f,
                "{} has layout {layout} and {} has {other_layout}: databases with different definitions of distance",
                path.display(),
                other.display()
            ),
            Self::Mismatch { path, found, expected } => {
                write!(f, "{}: built with {found}; the database has {expected}", path.display())
            }
            Self::Overlap { path, given: (first, last), other, given_by_other: (from, to) } => write!(
                f,
                "{}: has automatic ids {first} to {last}; {} has automatic ids {from} to {to}",
                path.display(),
                other.display()
            ),
            Self::Corrupt(corruption) => corruption.fmt(f),
            Self::Locked { path, holder: Some(holder) } => {
                write!(f, "{}: locked by another writer, {holder}", path.display())
            }
            Self::Locked { path, holder: None } => write!(f, "{}: locked by another writer", path.display()),
            Self::InvalidLayout { layout, reason } => write!(f, "{layout}: {reason}"),
            Self::ForeignKey { key } => write!(f, "group {key}: these fingerprints have no such group"),
            Self::Distance { k, width } => {
                write!(f, "k = {k}: fingerprints of {width} bits differ by at most {width}")
            }
            Self::UnknownWidth { width } => {
                write!(f, "width {width}: fingerprints have 64, 128, 256 or 320 bits")
            }
            Self::TooLittleMemory { bytes, least } => {
                write!(f, "{bytes} bytes of memory are too few: at least {least} are needed")
            }
            Self::InvalidRecipe { .. } => f.write_str("a recipe takes 1 to 4096 bytes"),
            Self::Lifetime { lifetime_ms, period_ms } => write!(
                f,
                "rows cannot expire after {lifetime_ms} ms in partitions of {period_ms} ms: 1 to 1,024 partitions \
                 and at most 2^50 ms are possible"
            ),
            Self::RecipeMismatch { path, recipe } => {
                write!(f, "{}: has another recipe: {recipe}", path.display())
            }
            Self::KeysNotStored { path } => {
                write!(f, "{}: the database was made without keys", path.display())
            }
            Self::TextsNotStored { path } => {
                write!(f, "{}: the database was made without texts", path.display())
            }
            Self::TextWithoutKey { path } => {
                write!(f, "{}: a row with a text needs a key", path.display())
            }
            Self::NotAHash { path, len_bytes } => write!(
                f,
                "{}: {len_bytes} bytes, where a hash has up to 32: the database stores hashes of texts, not texts",
                path.display()
            ),
            Self::NotFeatures { key } => {
                write!(f, "{key:?}: the database stores features of texts, not texts")
            }
            Self::KeyTooLong { path, .. } => {
                write!(f, "{}: a key takes at most 65,536 bytes", path.display())
            }
            Self::TextTooLong { path, .. } => write!(f, "{}: a text takes less than 4 GiB", path.display()),
            Self::RunsOnly { path } => {
                write!(f, "{}: a folder of runs to ingest; no rows can be added", path.display())
            }
            Self::Follower { path } => {
                write!(f, "{}: follows another database, and only its updates write to it", path.display())
            }
            Self::NotRunsOnly { path } => {
                write!(f, "{}: a database, not a folder of runs to ingest", path.display())
            }
            Self::InsideDatabase { path } => {
                write!(f, "{}: lies in the database; choose another place", path.display())
            }
            Self::MountPoint { path } => {
                write!(f, "{}: a mount point cannot be replaced; choose a folder in it", path.display())
            }
            Self::Unnamed { path } => {
                write!(f, "{}: a database needs a name of its own", path.display())
            }
            Self::DeviceName { path } => {
                write!(f, "{}: Windows reserves this name for a device; choose another one", path.display())
            }
            Self::Limit(limit) => write!(f, "limit reached: {limit}; {}", limit.remedy()),
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
