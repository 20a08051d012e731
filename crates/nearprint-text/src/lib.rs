//! Texts to fingerprints, documents, and deduplication on top of [`nearprint`].
//!
//! - [`recipe`] makes fingerprints of texts.
//! - [`documents`] reads documents from JSON lines, CSV, Parquet and plain files, and writes the kept
//!   ones unchanged.
//! - [`dedup`] keeps the documents of a stream that are new.
//! - [`tune`] measures precision and recall on labelled documents.

pub mod dedup;
pub mod documents;
mod error;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
pub mod recipe;
pub mod tune;

pub use error::{DatabaseProblem, Error, InputSetProblem, OutputProblem, Result, ResumeProblem};

/// What the command line shares with this crate. Not part of the API: it may change with any version.
#[doc(hidden)]
pub mod internal {
    pub use crate::documents::internal::*;
}

pub use recipe::{Fingerprinter, Recipe};

/// Compiles the code of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Compiles the code of the guide to texts and documents.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust-text.md")]
struct Guide;
