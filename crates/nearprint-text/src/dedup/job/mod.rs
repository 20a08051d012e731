//! What a deduplication of files is to do, and what is known of it: its options, counts, progress and reports.
//!
//! Here lives what a job says about itself and what its database stores of it: nothing that reads documents or writes
//! files. Uses units, orders, decisions' options and the names of documents.

mod checkpoint;
mod crowding;
mod file_job;
mod groups;
mod history;
mod outcome;
mod progress;
mod report;
mod shards;
mod stored_job;

pub(crate) use checkpoint::{Checkpoint, FileDigest, JobIdentity, RecordHash, Rows, ShardState};
pub use checkpoint::{DocumentCounts, UnitCounts};
pub(crate) use crowding::BandCounts;
pub use crowding::Crowding;
pub(crate) use file_job::GROUP_SIZE;
pub use file_job::{Added, FileJob};
pub use groups::Group;
pub(crate) use groups::GroupSizes;
pub(crate) use history::{FinishedJob, History, WHOLE_DOCUMENT, is_named};
pub use outcome::Outcome;
pub(crate) use progress::Progress;
pub use report::{DuplicateFile, DuplicateFiles, FileReport};
pub(crate) use report::{Report, report_progress};
pub use shards::Shards;
pub(crate) use shards::with_file;
pub use stored_job::StoredJob;
