//! Which of several near-duplicates is kept, and documents in the order of that.
//!
//! Here lives what ranks documents: nothing that compares their texts. Uses documents and temporary files.

mod iso8601;
mod keep;
mod ranking;

pub use keep::{Keep, Kind, NotOrdered, ParseKeepError, common_kinds};
pub(crate) use ranking::Ranking;
