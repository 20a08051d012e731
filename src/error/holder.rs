//! Who holds a lock.

use std::fmt;

/// The process that holds the lock of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// Its process id, as it is on its own host or in its own container.
    pub pid: u32,
    /// Where it runs and since when it has the lock. `None` where only the process id is stored.
    pub place: Option<HolderPlace>,
}

/// Where the holder of a lock runs, and since when it has the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HolderPlace {
    /// The name of the host or container.
    pub host: String,
    /// When it took the lock, such as `2026-11-24 23:50 UTC`.
    pub since: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.pid)?;
        self.place
            .as_ref()
            .map_or(Ok(()), |HolderPlace { host, since }| write!(f, " on host {host} since {since}"))
    }
}
