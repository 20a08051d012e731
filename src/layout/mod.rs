//! How a fingerprint is split into blocks, and which blocks are the prefix of each table.
//!
//! Pure arithmetic, no I/O. A manifest stores a [`Layout`]; a [`Table`] is one of its permutations.
//! [`Metric`] defines distance: the bits that count.
//! [`plan`] decides which tables a query probes and at which radius, [`cost`] models what that
//! costs, `covering` finds small families of tables for `blocks:M,S`, and `automatic` chooses a
//! layout by the number of fingerprints.

mod automatic;
mod band_distances;
pub(crate) mod bands;
mod block;
mod choice;
pub(crate) mod cost;
mod covering;
mod metric;
mod permutation;
pub(crate) mod plan;
mod scheme;
mod table;

pub(crate) use crate::fingerprint::HI_BITS;
pub use band_distances::BandDistances;
pub use bands::BandLayout;
#[cfg(test)]
pub(crate) use block::MAX_TABLES;
pub use choice::LayoutChoice;
pub(crate) use metric::Metric;
pub(crate) use scheme::Layout;
pub(crate) use table::Table;
