//! The write-ahead log: a header, then one frame per commit.
//!
//! The header of a frame has its own checksum, which covers the random salt of the log. A writer
//! starts the next frame only after the previous one is durable. A sound frame header after a bad
//! frame therefore proves that the bad frame was durable, and is now damaged. A bad frame with
//! nothing after it is the remainder of an unfinished commit.

mod content;
mod frames;
mod header;
mod operation;
#[cfg(test)]
mod tests;

pub(crate) use content::Content;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use frames::content_hash;
pub(crate) use frames::{FRAME_HEADER_BYTES, Frame, Frames, sound_frames};
pub(crate) use header::{HEADER_BYTES, LogPlace, MAGIC, MAX_LOG_BYTES, WalHeader};
pub(crate) use operation::{Operation, operations};
