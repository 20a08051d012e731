//! Fingerprints of texts, documents, and deduplication on top of [`nearprint`].
//!
//! - [`recipe`] makes fingerprints of texts.
//! - [`documents`] reads documents from JSON lines, CSV, Parquet and plain files, and writes them
//!   unchanged.
//! - [`acts`] moves, links and deletes duplicate files, and undoes that.
//! - [`dedup`] decides document by document what is new, and deduplicates files.
//! - [`stored`] finds the similar documents of a database, and their exact similarities.
//! - [`jaccard`] computes the exact similarity of texts, and finds all similar pairs.
//! - [`passages`] finds documents that contain given texts.
//! - [`tune`] measures precision and recall, and chooses what is best.
//!
//! `recipe` and `documents` are independent of each other and of databases. `jaccard` and `passages` use the
//! words of `recipe`. `dedup` uses all of these and a database, `stored` reads what `dedup` has stored, and
//! `tune` uses fingerprints.
//!
//! ```
//! use nearprint_text::Recipe;
//!
//! let recipe: Recipe = "simhash shingle=2".parse()?;
//! let mut fingerprinter = recipe.fingerprinter::<u64>()?;
//! let one = fingerprinter.fingerprint("Which stored fingerprints are near this one?").value;
//! let two = fingerprinter.fingerprint("which stored fingerprints are near THIS one").value;
//! assert_eq!(one, two);
//! # Ok::<(), nearprint_text::Error>(())
//! ```
//!
//! # Features and versions
//!
//! | feature | adds |
//! |---|---|
//! | `parquet` | Parquet files to [`documents`] |
//! | `chinese` | the recipe `chinese`, and `tokens=jieba` |
//!
//! Both are off by default. The crate needs Rust 1.89 or later. The module [`guide`] is the guide to its types. A debug
//! build is about 24 times slower than a release build: the guide of [`nearprint`] shows how to optimize both alone.

#![warn(missing_debug_implementations)]

pub mod acts;
mod aside;
pub mod dedup;
pub mod documents;
mod error;
#[cfg(any(all(test, feature = "chinese"), feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod jaccard;
pub mod passages;
mod postings;
pub mod recipe;
pub mod stored;
mod time;
pub mod tune;

pub use error::{DatabaseProblem, Error, InputSetProblem, OutputProblem, Result, ResumeProblem};
pub use recipe::{Fingerprinter, Recipe};

/// What the command line shares with this crate. Not part of the API: it may change with any
/// version.
#[doc(hidden)]
pub mod internal {
    pub use crate::dedup::internal::*;
    pub use crate::documents::internal::*;
    pub use crate::recipe::internal::*;
    pub use crate::tune::internal::*;
}

/// Compiles the code of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/rust-text.md")]
pub mod guide {}
