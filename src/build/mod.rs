//! Writing runs: from rows in any order, and from other runs.
//!
//! [`sort`] sorts any number of records with bounded memory, as [`stream`]s. [`natural`] writes
//! table 0 and the postings of a run, [`tables`] the other tables, and [`finish`] the remaining
//! files. [`write`](mod@write) and [`merge`] combine them: the first for rows, the second for other
//! runs.

mod finish;
mod inputs;
mod keys;
mod merge;
mod natural;
mod rows;
mod sort;
mod stream;
mod tables;
mod target;
mod write;

pub(crate) use keys::{KeySorter, KeySource};
pub(crate) use merge::merge;
pub(crate) use rows::RowCounts;
pub(crate) use sort::SpillNames;
pub use sort::{Sortable, Sorted, Sorter};
pub(crate) use target::{Target, remove_run};
pub(crate) use write::write_run;
