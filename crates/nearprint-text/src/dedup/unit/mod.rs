//! What is compared in the place of whole documents: the units of a text, and the text without some of them.
//!
//! Here live texts and places in them: nothing that is stored, read or written. Uses recipes alone.

mod passages;
mod units;

pub(crate) use passages::{RemovedWords, Source, Words};
pub use units::{TrimRules, Unit};
