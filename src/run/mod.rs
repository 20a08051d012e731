//! The files of a run: read in place, written once, verified, copied.
//!
//! [`page_file`] checks pages on first use. On top of it, each kind of file has a module:
//! [`segment`], [`postings`], [`tombstones`] and [`keys`]. [`files`] opens them together as a
//! [`Run`]. [`identities`] belongs to the database as a whole.

#![warn(clippy::indexing_slicing)]

mod copy;
mod cursor;
mod files;
mod hi_words;
mod identities;
mod keys;
mod leading;
mod page_file;
mod page_writer;
mod postings;
mod postings_writer;
mod rest;
mod rows;
mod segment;
mod segment_writer;
mod tombstones;
mod values;
mod verify;

pub(crate) use copy::CopiedRun;
pub(crate) use cursor::{BlockRead, Cursor};
pub(crate) use files::Run;
pub(crate) use identities::{Identities, write_identities};
pub(crate) use keys::{KeyCursor, Keys, write_keys};
pub(crate) use leading::{Leading, LeadingEntry};
pub(crate) use page_file::FileSpec;
pub(crate) use postings::Postings;
pub(crate) use postings_writer::PostingsWriter;
pub(crate) use rows::RowCursor;
pub(crate) use segment::Segment;
pub(crate) use segment_writer::SegmentWriter;
pub(crate) use tombstones::{NewerTombstones, Tombstones, write_tombstones};
pub(crate) use values::Values;
pub use verify::Verification;
#[cfg(test)]
pub(crate) use verify::verify_file;
pub(crate) use verify::{verify, verify_identities, verify_part};
