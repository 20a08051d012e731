//! The options of a deduplication.

use std::path::Path;

use super::confirm::Confirm;
use crate::error::{DatabaseProblem, Result};
use crate::recipe::{Fingerprinted, Recipe};
use nearprint::{AnyDatabase, Options};

/// What decides whether two documents are near-duplicates, once their fingerprints are near enough, and
/// is stored with the key of each kept document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Their [sets of features](crate::recipe::Features): the exact Jaccard similarity decides.
    Features,
    /// Their texts; sets of features are made again. Takes longer and about twice the space, and
    /// serves [confirmation](DedupOptions::confirm) too.
    Texts,
    /// Nothing: the distance of the fingerprints decides, which estimates the similarity.
    None,
}

/// How documents are compared, and with what.
#[derive(Clone)]
#[non_exhaustive]
pub struct DedupOptions {
    /// Makes the fingerprints. The recipe of a database takes precedence, unless
    /// [`require_recipe`](Self::require_recipe) is set; one without a recipe is refused.
    pub recipe: Recipe,
    /// Refuses a database with another recipe. Off by default.
    pub require_recipe: bool,
    /// The least Jaccard similarity of near-duplicates, from 0 to 1, for MinHash. By default the limit
    /// of the [recipe](Recipe::near_similarity).
    pub similarity: Option<f64>,
    /// What decides. By default what the database keeps; without a database, and for a new one, the
    /// features for MinHash. Recipes for simhash have none.
    pub evidence: Option<Evidence>,
    /// The largest distance of near-duplicates, in bits: the distance of the fingerprints decides. By
    /// default this is so only for simhash, and for databases without [evidence](Self::evidence); then
    /// it is the distance that the database was created for, or the [distance of the
    /// recipe](Recipe::default_k).
    pub k: Option<u32>,
    /// Compares the texts of near fingerprints by this measure. A database has to keep texts for this.
    pub confirm: Option<Confirm>,
    /// Documents with fewer tokens are [too short](super::Decision::TooShort). By default 0.
    pub min_tokens: usize,
    /// Documents with fewer features are too short as well. Features are what the recipe compares:
    /// shingles, or keywords; with 1, texts that have none are set aside. By default 0.
    pub min_features: usize,
    /// Ends texts at a marker before their [fingerprint](crate::recipe::Fingerprinter::cut_after) is
    /// made. A [`FileJob`](super::FileJob) takes the marker of its reader instead.
    pub cut_after: Option<String>,
    /// Keeps at most one document per key, and distinguishes
    /// [known](super::Decision::Known) documents from duplicates. Off by default: a key may recur.
    pub unique_keys: bool,
    /// Threads, memory and progress of the engine.
    pub engine: Options,
}

impl DedupOptions {
    /// Fingerprints by `recipe`, and the defaults of all other options.
    #[must_use]
    pub fn new(recipe: Recipe) -> Self {
        Self {
            recipe,
            require_recipe: false,
            similarity: None,
            evidence: None,
            k: None,
            confirm: None,
            min_tokens: 0,
            min_features: 0,
            cut_after: None,
            unique_keys: false,
            engine: Options::new(),
        }
    }
}

impl DedupOptions {
    /// The recipe of a new database.
    pub(super) fn new_recipe(&self) -> Recipe {
        let of_minhash = self.similarity.filter(|_| self.recipe.bands().is_some());
        of_minhash.map_or_else(|| self.recipe.clone(), |similarity| self.recipe.with_similarity(similarity))
    }

    /// Whether a document has too few tokens or features.
    pub(super) fn sets_aside<F>(&self, fingerprinted: &Fingerprinted<F>) -> bool {
        fingerprinted.num_tokens < self.min_tokens || fingerprinted.num_features < self.min_features
    }
}

/// The recipe of the database in a folder: see [`recipe_in`].
///
/// # Errors
/// As [`recipe_in`]; [`Error::Engine`](crate::Error::Engine) also if it cannot be opened.
pub fn recipe_of(path: impl AsRef<Path>) -> Result<Recipe> {
    recipe_in(&AnyDatabase::open(path)?)
}

/// The recipe of a database. A deduplication with this database uses it unless it is given another one.
///
/// # Errors
/// [`Error::Database`](crate::Error::Database) if it has no recipe, or one that this version does not
/// support; [`Error::Engine`](crate::Error::Engine) if it cannot be read.
pub fn recipe_in(database: &AnyDatabase) -> Result<Recipe> {
    stored_recipe(database.recipe()?.as_deref(), database.path())
}

/// The recipe that a database stores.
pub(crate) fn stored_recipe(recipe: Option<&str>, path: &Path) -> Result<Recipe> {
    let path = path.to_path_buf();
    match recipe.map(str::parse) {
        Some(Ok(recipe)) => Ok(recipe),
        Some(Err(error)) => Err(DatabaseProblem::UnknownRecipe { path, error }.into()),
        None => Err(DatabaseProblem::NoRecipe { path }.into()),
    }
}
