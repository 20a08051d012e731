//! Deduplication of document streams.
//!
//! [`Deduplicator`] decides document by document whether a near-duplicate was kept before, and
//! remembers what is kept, in a database or temporarily. [`FileJob`] deduplicates files with it: it
//! reads documents on all cores, decides them in input order or by rank, and writes the kept ones
//! unchanged.
//!
//! Both can be interrupted at any time. A checkpoint makes derived data durable first, such as
//! output files, and then, by one commit, the kept documents together with the progress.
//!
//! Each room uses only those before it: `temporary`, the files that a process needs for itself; `values`, options by
//! name; `unit`; `order`; `decide`; `job`; `output`; `run`.

mod decide;
mod job;
mod order;
mod output;
mod run;
mod temporary;
mod unit;
mod values;

pub use crate::time::UtcTime;
pub use decide::{
    Decided, Decision, DedupOptions, Deduplicator, DocumentsNear, Evidence, KeptFingerprints, PairDocument,
    PairJudge, ParseSimilarityError, Similarity, recipe_in, recipe_of, stored_text, with_texts_to_store,
};
pub(crate) use decide::{Origin, Stored, check_bands, damaged, stored_recipe};
pub use job::{
    Added, Crowding, DocumentCounts, DuplicateFile, DuplicateFiles, FileJob, FileReport, Group, Outcome,
    Shards, StoredJob, UnitCounts,
};
pub use order::{Keep, NotOrdered, ParseKeepError};
pub use unit::{TrimRules, Unit};

/// What Python shares with this module: the order of values that many tasks hold.
pub(crate) mod internal {
    pub use super::order::{Kind, common_kinds};
}
