//! nearprint for C and everything that can call C.
//!
//! `include/nearprint.h` is generated from this crate: the comments of public items are the
//! documentation of the header, and names are C names.
//!
//! - [`status`] and [`error`]: codes, the caller's error object, and the border that no panic
//!   crosses.
//! - `call`: pointers of the caller to checked references. `unsafe` is there, in `growing`,
//!   `structures` and `handle`, and once in each function.
//! - `growing`, `structures`: structures that later versions may add fields to.
//! - `handle`: the life of handles.
//! - [`columns`]: where results go.
//! - The other modules are the functions, by handle, on [`nearprint::any`].

// Paths of callers are bytes.
#![cfg(unix)]
#![expect(non_camel_case_types, reason = "the names of C")]
#![expect(
    clippy::missing_safety_doc,
    reason = "lib.rs states one contract for all functions: `call::Call::of`"
)]

mod call;
mod growing;
mod handle;
mod structures;

#[cfg(all(any(test, feature = "fuzzing"), feature = "images", feature = "texts"))]
#[doc(hidden)]
pub mod fuzzing;

// The order of the header.
pub mod status;

pub mod error;

pub mod events;

pub mod settings;

pub mod text;

pub mod database;

pub mod builder;

pub mod snapshot;

pub mod query;

pub mod stream;

#[cfg(feature = "texts")]
pub mod documents;

pub mod views;

pub mod follower;

pub mod columns;

pub mod rows;

pub mod writer;

pub mod batches;

pub mod shared;

pub mod lists;

#[cfg(feature = "texts")]
pub mod fingerprinter;

#[cfg(feature = "texts")]
pub mod similarity;

#[cfg(feature = "texts")]
pub mod deduplicator;

#[cfg(feature = "images")]
pub mod images;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    /// About half of the functions could be found in the header alone.
    #[test]
    fn regression_the_guide_names_every_function_of_the_header() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        let (header, guide) = (read("include/nearprint.h"), read("../../docs/c.md"));
        let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
        let calls = header.split('(').map(|text| &text[text.trim_end_matches(is_part).len()..]);
        let functions: BTreeSet<&str> = calls.filter(|name| name.starts_with("nearprint_")).collect();
        assert!(functions.len() > 100, "{functions:?}");
        let named: BTreeSet<&str> = guide.split(|c| !is_part(c)).collect();
        let missing: Vec<_> = functions.difference(&named).collect();
        assert!(missing.is_empty(), "docs/c.md does not name {missing:?}");
    }
}
