//! Writing runs: from rows in any order, and from other runs.
//!
//! [`sort`] sorts any number of records with bounded memory, as [`ascending`] sequences. A first pass
//! over the rows of a run counts them ([`rows`]), a second one writes table 0 and the postings
//! ([`natural`]); then come the other [`tables`] (those of wide fingerprints in
//! [`numbered`]), the tombstones and the [`keys`]. [`write_run`]
//! combines the steps, and [`merge`] the content of other runs for it.

mod ascending;
mod inputs;
mod keys;
mod merge;
mod natural;
mod numbered;
mod omitted;
mod rows;
mod sort;
mod tables;
mod target;
mod write;

pub(crate) use keys::{KeySorter, KeySource};
pub(crate) use merge::merge;
pub(crate) use omitted::Omitted;
pub(crate) use rows::RowCounts;
pub(crate) use sort::SpillNames;
pub use sort::{Sortable, Sorted, Sorter};
pub(crate) use target::{Target, remove_run};
pub(crate) use write::{RunContent, write_run};
