//! Texts to fingerprints: similar texts get numbers that differ in few bits.
//!
//! A [`Recipe`] says how: clean the text, cut it into tokens, join neighbouring tokens to features,
//! weigh the features, hash them. Bit *i* of the simhash is one iff the features whose hash has bit *i*
//! set outweigh the others (Charikar, "Similarity estimation techniques from rounding algorithms", STOC
//! 2002). A recipe is stored with the fingerprints that it made, for those of another one cannot be
//! compared with them.
//!
//! ```
//! use nearprint::num_differing_bits;
//! use nearprint_text::recipe::Recipe;
//!
//! let recipe: Recipe = "default shingle=2".parse()?;
//! let mut fingerprinter = recipe.fingerprinter::<u64>()?;
//! let mut print = |text: &str| fingerprinter.fingerprint(text).value;
//!
//! let one = print("A database of fingerprints: which stored ones are near this one?");
//! let same = print("a database of fingerprints; WHICH stored ones are near this one");
//! assert_eq!(num_differing_bits(one, same), 0);
//! # Ok::<(), nearprint_text::recipe::RecipeError>(())
//! ```
//!
//! Nothing here knows of databases.

mod clean;
mod explain;
mod fingerprinter;
mod hash;
mod html;
mod keywords;
mod py;
mod recipe;
mod shingle;
mod stop_words;
mod tally;
mod tokenize;
#[cfg(test)]
mod vectors;
mod weight;

pub use explain::{Explained, Feature};
pub use fingerprinter::{Fingerprinted, Fingerprinter};
pub use hash::{hashlittle2, jenkins};
pub use html::html_text;
pub use py::{compute, shingle, unsigned_hash};
pub use recipe::{Recipe, RecipeError};
pub use weight::{Weight, weighted};
