//! Fingerprints of texts: similar texts have fingerprints that differ in few bits.
//!
//! A [`Recipe`] describes the steps: clean the text, split it into tokens, join neighbouring tokens
//! to features, weight the features, hash them. Bit *i* of the simhash is one iff the features
//! whose hash has bit *i* set outweigh the others (Charikar, "Similarity estimation techniques from
//! rounding algorithms", STOC 2002). Fingerprints of different recipes cannot be compared, so a
//! database stores the recipe with them.
//!
//! ```
//! use nearprint::Fingerprint;
//! use nearprint_text::recipe::Recipe;
//!
//! let recipe: Recipe = "simhash shingle=2".parse()?;
//! let mut fingerprinter = recipe.fingerprinter::<u64>()?;
//! let mut print = |text: &str| fingerprinter.fingerprint(text).value;
//!
//! let one = print("A database of fingerprints: which stored ones are near this one?");
//! let same = print("a database of fingerprints; WHICH stored ones are near this one");
//! assert_eq!(one.distance(same), 0);
//! # Ok::<(), nearprint_text::recipe::RecipeError>(())
//! ```
//!
//! The default recipe makes fingerprints of another kind, MinHash: their [bands](Recipe::bands) and
//! their sketch estimate the Jaccard similarity of the sets of features (Broder, "On the resemblance
//! and containment of documents", 1997). docs/minhash.md is the definition.
//!
//! This module is independent of databases.

mod candidates;
mod categories;
#[cfg(feature = "chinese")]
mod chinese;
mod clean;
mod definition;
mod error;
mod explain;
mod feature_hashes;
mod features;
mod fingerprinter;
mod hash;
mod html;
mod marker;
mod minhash;
mod named;
mod parts;
mod py;
mod shingle;
mod stop_words;
mod tally;
mod tokenize;
#[cfg(test)]
#[cfg(feature = "chinese")]
mod vectors;
mod weight;

pub use candidates::Candidates;
pub use definition::{DEFAULT_SIMILARITY, Recipe};
pub use error::RecipeError;
pub use explain::{Explained, Feature};
pub(crate) use feature_hashes::{FeatureHashes, Outline};
pub use features::Features;
pub use fingerprinter::{AnyFingerprinter, Comparable, Fingerprinted, Fingerprinter};
pub(crate) use fingerprinter::{has_tokens, stored_fingerprint};
pub use hash::{hashlittle2, jenkins};
pub(crate) use html::begins_as_html;
pub use html::html_text;
pub use py::{compute, shingle, unsigned_hash};
pub(crate) use tokenize::{Tokens, pieces};
pub use weight::{ParseWeightError, Weight, weighted};

/// What the command line and Python share with this module.
pub(crate) mod internal {
    pub use super::tokenize::pieces;
    pub use super::weight::weighted_words;
}

/// The hashes of the features of a text by the default recipe, each as often as it occurs.
pub(crate) fn default_features(text: &str) -> Vec<u64> {
    let mut hashes = Vec::new();
    shingle::Window::DEFAULT
        .for_each(&Tokens::of_text(text), hash::xxh3_64, |_, _, [hash]| hashes.push(hash));
    hashes
}
