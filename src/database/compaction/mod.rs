//! Keeping runs few: which ones to merge, and doing it while the writer goes on.

pub(crate) mod policy;
mod worker;

pub(crate) use worker::{Job, Merged, Plan};
