//! The manifest: which runs are live, and the expected length and footer of each of their files.
//!
//! A magic, a version and a length, then tagged records, then one CRC-32 over everything before it.
//! [`database`] holds the record about the database as a whole, [`runs`] the record of a run,
//! [`identities`] the record of ingested runs, [`ids`] the ranges of automatic ids, and [`file`]
//! the file that they form.

mod database;
mod file;
mod identities;
mod ids;
mod runs;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod sample;
#[cfg(test)]
mod tests;

pub(crate) use database::{BesideKeys, Expiry, KeysKept, LiveWal, MAX_NUMBER, Manifest, SealedWal};
pub(super) use database::{decode_layout, decode_run_flags, decode_width, encode_layout, run_flags};
pub use file::MAX_HISTORY_BYTES;
#[cfg(test)]
pub(crate) use file::PREFIX_BYTES;
pub(crate) use file::{ID_OFFSET, MAGIC, MAX_CHECKPOINT_BYTES, MAX_MANIFEST_BYTES, MAX_RECIPE_BYTES};
pub(crate) use identities::IdentitiesRecord;
pub(crate) use ids::IdRanges;
#[cfg(test)]
pub(crate) use ids::MAX_RANGES;
pub(crate) use runs::{FileRecord, KeysRecord, RunRecord};
