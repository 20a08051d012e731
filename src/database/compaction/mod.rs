//! Compaction: the choice of runs to merge, and merging them in the background.

pub(crate) mod policy;
mod worker;

pub(crate) use worker::{MergeJob, MergePlan, Merged};
