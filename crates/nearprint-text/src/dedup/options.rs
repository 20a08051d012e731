//! The options of a deduplication.

use std::path::Path;

use super::confirm::Confirm;
use crate::error::{DatabaseProblem, Result};
use crate::recipe::Recipe;
use nearprint::{AnyDatabase, BandLayout, Options, Width};

/// How documents are compared, and with what.
#[derive(Clone)]
#[non_exhaustive]
pub struct DedupOptions {
    /// Makes the fingerprints. A database with a recipe of its own takes precedence, unless
    /// [`require_recipe`](Self::require_recipe) is set; one without a recipe stores this one.
    pub recipe: Recipe,
    /// Refuses a database with another recipe. Off by default.
    pub require_recipe: bool,
    /// The largest distance of near-duplicates, in bits. By default the distance that the database
    /// was created for, or that of the [recipe](Recipe::default_k).
    pub k: Option<u32>,
    /// Compares the texts of near fingerprints. By default fingerprints alone decide. A database
    /// has to keep texts for this.
    pub confirm: Option<Confirm>,
    /// Documents with fewer tokens are [too short](super::Decision::TooShort). By default 0.
    pub min_tokens: usize,
    /// Ends texts at a marker before their [fingerprint](crate::recipe::Fingerprinter::cut_after) is
    /// made. A [`FileJob`](super::FileJob) takes that of its reader instead.
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
            k: None,
            confirm: None,
            min_tokens: 0,
            cut_after: None,
            unique_keys: false,
            engine: Options::new(),
        }
    }
}

/// The recipe that a deduplication with a database uses if it is not given one: that of the database.
/// If it has none, `minhash` with the bands of the database, or `simhash` of its width.
///
/// # Errors
/// [`Error::Database`](crate::Error::Database) if it has a recipe that this version does not
/// support; [`Error::Engine`](crate::Error::Engine) if it cannot be opened.
pub fn recipe_of(path: impl AsRef<Path>) -> Result<Recipe> {
    let path = path.as_ref();
    let database = AnyDatabase::open(path)?;
    let stats = database.stats()?;
    match database.recipe()? {
        Some(recipe) => recipe
            .parse()
            .map_err(|error| DatabaseProblem::UnknownRecipe { path: path.to_path_buf(), error }.into()),
        None => Ok(default_recipe(stats.bands, stats.width)?),
    }
}

fn default_recipe(
    bands: Option<BandLayout>,
    width: Width,
) -> std::result::Result<Recipe, crate::recipe::RecipeError> {
    let recipe = match bands {
        Some(bands) => format!("minhash hash=minhash:{bands},2 width={width}"),
        None => format!("simhash width={width}"),
    };
    recipe.parse()
}
