//! An embedded, persistent database of fingerprints (simhashes, perceptual hashes).
//!
//! It answers one question exactly: *which stored fingerprints differ from this one by at most k bits?* The
//! files are immutable, sorted and memory-mapped, so a database of any size opens in milliseconds.
//!
//! ```
//! use nearprint::{Database, Row, Schema};
//!
//! # let home = tempfile::tempdir()?;
//! # let path = home.path().join("corpus.np");
//! let mut builder = Database::<u64>::build(&path, &Schema::new())?;
//! for (id, fingerprint) in [(0, 0x1f3a), (1, 0x1f3b), (2, 0xffff_0000)] {
//!     builder.push(Row { fingerprint, id })?;
//! }
//! builder.finish()?;
//!
//! let snapshot = Database::<u64>::open(&path)?.snapshot()?;
//! let near: Vec<u64> = snapshot.query(0x1f3a, 3)?.iter().map(|found| found.id).collect();
//! assert_eq!(near, [0, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Types
//!
//! | to | see |
//! |---|---|
//! | open, make or build a database | [`Database`], [`Options`], [`Schema`], [`KeyStorage`], [`Builder`]; [`AnyDatabase`] and [`any`] where the width is known only at run time |
//! | read | [`Snapshot`], [`Query`], [`Match`], [`Row`], [`RowKey`], [`Pair`], [`RowPair`], [`Stream`] |
//! | write | [`Writer`], [`NewRow`], [`Insertion`]; for several threads [`SharedWriter`], [`Commits`] |
//! | work on lists in memory | [`list`], [`Near`] |
//! | know fingerprints | [`Fingerprint`], [`U256`], [`U320`], [`Width`], [`Radix`] |
//! | choose a layout | [`LayoutChoice`], [`BandLayout`], [`BandDistances`], [`Explanation`] |
//! | watch and cancel | [`Progress`], [`Stage`], [`Event`], [`Activity`], [`Stats`] |
//! | copy, merge, check and save | [`Follower`], [`IngestReport`], [`Verification`], [`RepairReport`] |
//! | handle errors | [`Error`], [`ErrorKind`], [`Limit`], [`Corruption`], [`Holder`] |
//!
//! The module [`guide`] is the guide to them. `nearprint-text` makes fingerprints of texts, `nearprint-image`
//! those of pictures.
//!
//! # Features and versions
//!
//! The crate has no features to choose. It needs Rust 1.89 or later; only a new minor version raises that. A debug
//! build is about 24 times slower than a release build: the guide shows how to optimize this crate alone.

#![warn(missing_debug_implementations)]

pub mod any;
mod build;
mod database;
mod error;
mod event;
mod fingerprint;
mod format;
mod kernel;
mod layout;
mod log;
mod memtable;
mod options;
mod progress;
mod query;
mod run;
mod storage;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod testing;
mod util;

pub use any::AnyDatabase;
pub use database::activity::Activity;
pub use database::bulk::Builder;
pub use database::explain::{Explanation, RunExplanation, TableExplanation};
pub use database::follow::{Follower, Update};
pub use database::ingest::IngestReport;
pub use database::left_out::{LeftOut, LeftOutRows};
pub use database::new_row::NewRow;
pub use database::repair::{Finding, FindingKind, RepairReport};
pub use database::snapshot::Snapshot;
pub use database::stats::{RunStats, Stats};
pub use database::streams::{RowPair, Stream};
pub use database::writer::Writer;
pub use database::writer::checked::Insertion;
pub use database::writer::shared::{Commit, Commits, SharedWriter};
pub use database::{Database, width_of, width_of_damaged};
pub use error::{Corruption, Error, ErrorKind, Holder, HolderPlace, Limit, Result};
pub use event::Event;
pub use fingerprint::{
    Fingerprint, ParseFingerprintError, Printed, Radix, Row, U256, U320, Wide, Width, WidthVisitor,
};
pub use format::keys::{MAX_HASH_BYTES, MAX_KEY_BYTES};
pub use format::manifest::MAX_HISTORY_BYTES;
pub use format::schema::{KeyStorage, Remember, Schema};
pub use layout::{BandDistances, BandLayout, LayoutChoice};
pub use options::Options;
pub use progress::{Progress, Stage};
pub use query::{Match, Near, Pair, Query, RowKey};
pub use run::Verification;

/// Pairs and clusters of lists in memory, without a database.
///
/// ```
/// use nearprint::list;
///
/// let prints = [0b0000_u64, 0b0111, 0b1111, 0xffff_0000];
/// assert_eq!(list::find_all(&prints, 3)?.len(), 2);
/// assert_eq!(list::find_clusters(&prints, 3)?, [[0b0000, 0b0111, 0b1111]]);
/// # Ok::<(), nearprint::Error>(())
/// ```
pub mod list {
    pub use crate::database::streams::{clusters, pairs, row_clusters};
    pub use crate::query::{
        Blocks, components, find_all, find_clusters, spanning_forest, visit_clusters, visit_pairs,
        visit_row_clusters,
    };
}

/// What the crates of this workspace share with the engine. Not part of the API: it may change with
/// any version.
#[doc(hidden)]
pub mod internal {
    pub use crate::build::{Sortable, Sorted, Sorter};
    pub use crate::fingerprint::{Bits, OfWords, fingerprints, mix64, words, words_of};
    pub use crate::kernel::use_kernel;
    pub use crate::query::union_find::UnionFind;
    pub use crate::storage::names::is_ours as is_file_of_database;
    pub use crate::storage::{WorkFolder, remove_own_folders, take_occupants};
    pub use crate::util::file;
    pub use crate::util::parallel::{Sink, for_each, ordered, ordered_from};
    pub use crate::util::random::random_bytes;
    pub use crate::util::time::{Utc, parse_duration};
}

/// Compiles the code of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/rust.md")]
pub mod guide {}
