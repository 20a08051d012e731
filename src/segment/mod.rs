//! Segments and rows files: read in place, written once.

#![warn(clippy::indexing_slicing)]

mod page_file;
mod reader;
mod rows;
mod run;
mod verify;
mod writer;

pub(crate) use reader::{Cursor, Segment};
pub(crate) use rows::{Rows, RowsWriter};
pub use run::Row;
pub(crate) use run::{RowCursor, Run};
pub use verify::Verification;
pub(crate) use verify::verify;
pub(crate) use writer::SegmentWriter;
