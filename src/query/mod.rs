//! Queries: everything within k bits of a fingerprint, all pairs within k bits, clusters.
//!
//! [`search`] is the hot path.

pub(crate) mod batch;
mod blocks;
pub(crate) mod clusters;
pub(crate) mod join;
pub(crate) mod keys;
mod lists;
pub(crate) mod locate;
pub(crate) mod merged;
pub(crate) mod nearness;
mod occurring;
mod order;
pub(crate) mod prepare;
mod request;
pub(crate) mod search;
mod sweep_order;
pub(crate) mod union_find;
pub(crate) mod view;
mod words;

pub use blocks::{Blocks, components, spanning_forest};
pub(crate) use blocks::{Joined, components_of, forest_of};
pub use join::Pair;
pub use keys::RowKey;
pub use lists::{Near, find_all, find_clusters, visit_clusters, visit_pairs, visit_row_clusters};
pub(crate) use lists::{clusters_of, pairs_of, row_clusters_of};
pub use locate::Match;
pub use request::Query;
