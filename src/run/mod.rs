//! Segments, postings files and the files beside them: read in place, written once.

#![warn(clippy::indexing_slicing)]

mod copy;
mod keys;
mod page_file;
mod postings;
mod reader;
mod run;
mod tombstones;
mod values;
mod verify;
mod writer;

pub(crate) use keys::{KeyCursor, Keys, write_keys};
pub(crate) use page_file::FileSpec;
pub(crate) use postings::{Postings, PostingsWriter};
pub(crate) use reader::{Cursor, Segment};
pub(crate) use run::{RowCursor, Run};
pub(crate) use tombstones::{Tombstones, write_tombstones};
pub(crate) use values::Values;
pub use verify::Verification;
pub(crate) use verify::verify;
#[cfg(test)]
pub(crate) use verify::verify_file;
pub(crate) use writer::SegmentWriter;
