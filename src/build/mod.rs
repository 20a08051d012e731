//! Making runs: from rows in any order, and from other runs.

mod keys;
mod merge;
mod sort;
mod stream;
mod tables;
mod write;

pub(crate) use keys::{KeySorter, KeySource};
pub(crate) use merge::merge;
pub(crate) use sort::SpillNames;
pub use sort::{Record, Sorted, Sorter};
pub(crate) use write::{Counts, Target, remove_run, write_run};
