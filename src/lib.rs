//! An embedded, persistent database of fingerprints (simhashes, perceptual hashes).
//!
//! It answers one question exactly: *which stored fingerprints differ from this one by at most k
//! bits?* The files are immutable, sorted and memory-mapped, so a database opens in milliseconds
//! whatever its size.
//!
//! ```
//! use nearprint::{Database, Options};
//!
//! # let home = tempfile::tempdir()?;
//! # let path = home.path().join("corpus.np");
//! let mut builder = Database::<u64>::build(&path, Options::new())?;
//! for (id, fingerprint) in [0x1f3a_u64, 0x1f3b, 0xffff_0000].into_iter().enumerate() {
//!     builder.push(fingerprint, Some(id as u64))?;
//! }
//! builder.finish()?;
//!
//! let snapshot = Database::<u64>::open(&path)?.snapshot()?;
//! let near: Vec<u64> = snapshot.query(0x1f3a, 3)?.iter().map(|found| found.id).collect();
//! assert_eq!(near, [0, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! For lists that fit in memory there are [`find_all`] and [`find_clusters`].

mod backup;
mod bulk;
mod cast;
mod changes;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod compaction;
#[cfg(test)]
mod crash;
mod database;
#[cfg(feature = "cli")]
mod dedup;
#[cfg(feature = "text")]
pub mod documents;
mod error;
mod explain;
mod fingerprint;
#[cfg(test)]
mod flips;
mod format;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(test)]
mod golden;
mod ingest;
mod kernel;
mod layout;
mod manifest;
mod memtable;
mod options;
mod parallel;
mod query;
mod repair;
mod runs;
mod sabotage;
mod segment;
#[cfg(feature = "text")]
pub mod simhash;
mod snapshot;
mod sort;
mod stats;
mod storage;
#[cfg(feature = "cli")]
mod tune;
mod wal;
mod writer;

pub use bulk::Builder;
pub use database::{Database, width_of, width_of_damaged};
pub use error::{Corruption, Error, Result};
pub use explain::{Explanation, RunExplanation, TableExplanation};
pub use fingerprint::{Fingerprint, ParseFingerprintError, Printed, Radix, Row, U256, num_differing_bits};
pub use ingest::Ingested;
pub use layout::LayoutChoice;
pub use options::{MIN_MEMORY_BYTES, Options, Progress, Stage};
pub use query::{Match, Pair, RowKey, find_all, find_all_with, find_clusters, find_clusters_with};
pub use repair::{Finding, Kind as FindingKind, Salvage};
pub use segment::Verification;
pub use snapshot::Snapshot;
pub use stats::{RunStats, Stats};
pub use writer::Writer;

/// Compiles the code of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
