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
//! Each of the modules uses only those before it: `iso8601`, `order`, `confirm`, `options`, `units`,
//! `temporary`, `stored`, `sort_row`, `crowding`, `kept_fingerprints`; `candidates`, `kept_keys`, `database`,
//! `job`, `job_input`; `groups`, `checkpoint`, `report`, `history`; `deduplicator`, `recent`,
//! `fingerprinting`; `any_deduplicator`, `against`, `output_plan`, `job_outputs`, `writing`, `opened`; `ranked_record`,
//! `in_order`, `ranking`, `ranked`, `by_unit`; `run`.

mod against;
mod any_deduplicator;
mod by_passage;
mod by_unit;
mod candidates;
mod checkpoint;
mod confirm;
mod crowding;
mod database;
mod deduplicator;
mod fingerprinting;
mod groups;
mod history;
mod in_order;
mod iso8601;
mod job;
mod job_input;
mod job_outputs;
mod kept_fingerprints;
mod kept_keys;
mod measure;
mod opened;
mod options;
mod order;
mod output_plan;
mod progress;
mod ranked;
mod ranked_record;
mod ranking;
mod recent;
mod report;
mod run;
mod sharded;
mod sort_row;
mod stored;
mod temporary;
mod units;
mod writing;

pub use crate::time::UtcTime;
pub use any_deduplicator::{AnyDeduplicator, Decided};
pub use checkpoint::{DocumentCounts, UnitCounts};
pub use confirm::{Confirm, ParseConfirmError};
pub use crowding::Crowding;
pub(crate) use database::check_bands;
pub use deduplicator::{Decision, Deduplicator};
pub use groups::Group;
pub use job::FileJob;
pub use kept_fingerprints::KeptFingerprints;
pub(crate) use options::stored_recipe;
pub use options::{DedupOptions, Evidence, recipe_in, recipe_of};
pub use order::{Keep, NotOrdered, ParseKeepError};
pub use report::{DocumentsNear, DuplicateFile, DuplicateFiles, FileReport};
pub use sharded::Shards;
pub(crate) use stored::{Origin, Stored, damaged};
pub use stored::{stored_text, with_texts_to_store};
pub use units::{Unit, UnitRules};
