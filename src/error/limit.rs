//! What has a limit, and what to do where it is reached.

use std::fmt;

/// What has reached its limit in [`Error::Limit`](super::Error::Limit).
///
/// ```
/// use nearprint::{Database, Error, Limit, Schema};
/// # let home = tempfile::tempdir()?;
/// let database = Database::<u64>::create(home.path().join("seen.np"), &Schema::new())?;
/// let refused = database.writer()?.set_checkpoint(&[0; 2 << 20]);
/// assert!(matches!(refused, Err(Error::Limit(Limit::Checkpoint))));
/// assert_eq!(Limit::Checkpoint.remedy(), "store a shorter one, such as the name of a file");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Automatic ids end at 2^64 - 1.
    AutomaticIds,
    /// A run holds at most 2^32 - 1 distinct fingerprints.
    Fingerprints,
    /// Clusters and components are made of at most 2^32 - 1 distinct fingerprints or rows.
    Clustered,
    /// The manifest, of at most 4 MiB, holds no more runs.
    Runs,
    /// A database has at most 2^63 changes, runs, logs, commits and sequence numbers of keys.
    Numbers,
    /// A commit to the log takes at most 4 GiB.
    Commit,
    /// A checkpoint takes at most 1 MiB.
    Checkpoint,
    /// A history takes at most 1 MiB.
    History,
    /// A text that is stored compressed takes at most 1 GiB.
    Text,
    /// Parts are numbered from 1 to their number.
    Parts,
}

impl Limit {
    /// What to do about it.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::AutomaticIds => "give rows ids of their own",
            Self::Fingerprints => "split them over several databases",
            Self::Clustered => "make clusters of parts, or at a smaller distance",
            Self::Runs => "compact the database",
            Self::Numbers => "build a new database of its rows",
            Self::Commit => "commit more often, or flush instead",
            Self::Checkpoint => "store a shorter one, such as the name of a file",
            Self::History => "leave the oldest records out",
            Self::Text => "split the text, or store features of texts",
            Self::Parts => "begin with part 1",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AutomaticIds => "no automatic id is left above 2^64 - 1",
            Self::Fingerprints => "a run holds at most 2^32 - 1 distinct fingerprints",
            Self::Clustered => "clusters of at most 2^32 - 1 distinct fingerprints",
            Self::Runs => "a manifest of 4 MiB holds no more runs",
            Self::Numbers => "a database has at most 2^63 changes, runs, logs, commits and keys",
            Self::Commit => "a commit to the log holds at most 4 GiB",
            Self::Checkpoint => "a checkpoint takes at most 1 MiB",
            Self::History => "a history takes at most 1 MiB",
            Self::Text => "a text has at most 1 GiB",
            Self::Parts => "parts are numbered from 1 to their number",
        })
    }
}
