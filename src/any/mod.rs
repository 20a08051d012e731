//! Databases whose width is known only at run time: the interface for other languages and for
//! programs that open any database.
//!
//! A fingerprint is [`Width::words`](crate::Width::words) 64-bit words, the least significant one first. Several stand
//! one after the other; an incomplete last one is ignored. Results are rows that a [`Sink`]
//! receives, or [`Columns`]. What fails has an [`ErrorKind`](crate::ErrorKind). What takes a generic
//! argument converts it and calls a function without one, so that callers do not compile the engine
//! again.
//!
//! ```
//! use nearprint::any::{Columns, NewRows};
//! use nearprint::{Options, Schema, Width};
//!
//! # let home = tempfile::tempdir()?;
//! # let path = home.path().join("corpus.np");
//! let mut builder = Options::new().build_any(path, Width::W128, &Schema::new())?;
//! builder.push(&NewRows { fingerprints: &[7, 0, 6, 1], ..NewRows::default() }, &mut |_| Ok(()))?;
//! let snapshot = builder.finish()?.snapshot()?;
//! let mut found = Columns::new(Width::W128, snapshot.match_shape());
//! snapshot.query(&[6, 0], 3, &mut found)?;
//! assert_eq!((found.ids, found.distances), (vec![0, 1], vec![1, 1]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// Evaluates an expression on a value of any width.
macro_rules! typed {
    ($of:ident: $any:expr, $value:ident => $result:expr) => {
        match $any {
            $of::W64($value) => $result,
            $of::W128($value) => $result,
            $of::W256($value) => $result,
            $of::W320($value) => $result,
        }
    };
}

/// Evaluates a fallible expression on a value of any width, and wraps what it returns.
macro_rules! try_map {
    ($from:ident: $any:expr, $value:ident => $to:ident: $result:expr) => {
        match $any {
            $from::W64($value) => $to::W64($result?),
            $from::W128($value) => $to::W128($result?),
            $from::W256($value) => $to::W256($result?),
            $from::W320($value) => $to::W320($result?),
        }
    };
}

/// Evaluates an expression with the type of a width.
macro_rules! with_width {
    ($width:expr, $fingerprint:ident => $result:expr) => {
        match $width {
            $crate::Width::W64 => {
                type $fingerprint = u64;
                $result
            }
            $crate::Width::W128 => {
                type $fingerprint = u128;
                $result
            }
            $crate::Width::W256 => {
                type $fingerprint = $crate::U256;
                $result
            }
            $crate::Width::W320 => {
                type $fingerprint = $crate::U320;
                $result
            }
        }
    };
}

mod columns;
mod database;
mod fingerprint;
mod follower;
mod lists;
mod snapshot;
mod stream;
mod writer;

pub use columns::{AnyRow, Columns, Shape, Sink};
pub use database::{AnyBuilder, AnyDatabase};
pub use fingerprint::AnyFingerprint;
pub use follower::AnyFollower;
pub use lists::{
    block_keys, components, distances, fill_distance_matrix, find_all, find_clusters, find_row_clusters,
    find_row_pairs, join_between, join_blocks, sketches, spanning_forest, split_blocks,
};
pub use snapshot::AnySnapshot;
pub use stream::{AnyStream, Collector};
pub use writer::{AnyWriter, NewRows};

/// A value for one of the widths.
#[derive(Clone, Debug)]
enum PerWidth<A, B, C, D> {
    W64(A),
    W128(B),
    W256(C),
    W320(D),
}
