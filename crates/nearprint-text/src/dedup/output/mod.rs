//! The files that a job writes: what is checked before, and how they are created, resumed and ended.
//!
//! Here lives what writes files of users. Uses jobs and decisions; decides nothing.

mod files;
mod plan;
mod sharded;

pub(crate) use files::{JobOutputs, cannot_resume};
pub(crate) use plan::{OutputPlan, check_beside, check_names, shape_of};
pub(crate) use sharded::ShardedOutput;
