//! Measures how well fingerprints separate near-duplicates from other documents, and chooses what
//! separates them best.
//!
//! A [`Study`] has some documents, and [`Labels`] for the near-duplicates among them. For each k it
//! counts the pairs within k bits, and how many of these are near-duplicates: a [`Point`] with
//! precision, recall and the [`Interval`] of both. Its [`curves`](Study::curves) have a point for
//! each k up to the [`widest`]. A [`Goal`] chooses the best point of several [`Curve`]s.
//!
//! ```
//! use nearprint::Width;
//! use nearprint_text::tune::{Goal, Labels, Study, widest};
//!
//! // The fingerprints of four documents; the first two are versions of one article.
//! let prints = [0b0000_u64, 0b0001, 0b0111_0000, u64::MAX];
//! let study = Study::new(Labels::Groups(vec![vec![0, 1]]), prints.len(), usize::MAX);
//! let points = study.curves(&prints, widest(None, Width::W64), &[], 1).swap_remove(0);
//! let best = Goal::Balance.best(&points).expect("a point for each k");
//! assert_eq!((best.k, best.precision(), best.recall()), (1, 1.0, 1.0));
//! ```
//!
//! [`Study::best_limit`] chooses a limit of the exact similarity, which needs no fingerprints.
//!
//! Without labels, [`jaccard::similar_pairs`](crate::jaccard::similar_pairs) of a [`sample`] are the
//! near-duplicates. [`affordable_sample`] bounds their number.
//!
//! Each of the modules uses only those before it: `interval`, `labels`, `study`, `neighbours`,
//! `point`, `curves`; `goal` uses `point`, `pilot` uses `study`, `similarity` all others, and `cost` stands alone.

mod cost;
mod curves;
mod goal;
mod interval;
mod labels;
mod neighbours;
mod pilot;
mod point;
mod similarity;
mod study;

pub use cost::{COST_ROWS, Cost};
pub use curves::Confirms;
pub use goal::{Curve, Goal, ParseGoalError};
pub use interval::Interval;
pub use labels::Labels;
pub use pilot::affordable_sample;
pub use point::Point;
pub use similarity::{BestLimit, SimilarPair};
pub use study::{Study, sample};

use nearprint::{BandLayout, Near, Width};

/// What the command line shares with this module.
pub(crate) mod internal {
    pub use super::cost::thread_cpu_time;
}

/// The pairs that a curve counts: those within half of the bits or, of fingerprints with bands,
/// those with an equal band and half of the bits of the sketch, a similarity of 0.
#[must_use]
pub fn widest(bands: Option<BandLayout>, width: Width) -> Near {
    let bits = bands.map_or(width.bits(), |bands| bands.sketch_bits(width));
    Near { k: bits / 2, bands }
}
