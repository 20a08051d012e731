//! What is wrong with a database of documents.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::Error;
use crate::recipe::{Recipe, RecipeError};
use nearprint::{BandLayout, Remember, Width};

/// Why a database cannot serve a deduplication.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatabaseProblem {
    /// It was created without keys.
    NoKeys {
        /// The database.
        path: PathBuf,
    },
    /// It was created without texts, which the similarity compares.
    NoTexts {
        /// The database.
        path: PathBuf,
    },
    /// It was created without the features of texts, by which exact similarities are known.
    NoFeatures {
        /// The database.
        path: PathBuf,
    },
    /// It was created without a recipe, so that nothing says how its fingerprints are made of texts.
    NoRecipe {
        /// The database.
        path: PathBuf,
    },
    /// Its fingerprints were made by another recipe.
    OtherRecipe {
        /// The database.
        path: PathBuf,
        /// The recipe of the database.
        found: Box<Recipe>,
        /// The recipe of the caller.
        expected: Box<Recipe>,
    },
    /// It remembers something else of documents that are left out.
    RemembersOther {
        /// The database.
        path: PathBuf,
        /// What it remembers.
        found: Remember,
    },
    /// Its rows expire after another time, or never.
    OtherLifetime {
        /// The database.
        path: PathBuf,
        /// How long its rows live, if they expire.
        found: Option<Duration>,
        /// How long they should live.
        wanted: Duration,
    },
    /// It has fingerprints of another width than the recipe makes.
    OtherWidth {
        /// The database.
        path: PathBuf,
        /// The width of the database.
        width: Width,
        /// The recipe.
        recipe: Box<Recipe>,
    },
    /// It has other bands than the fingerprints of the recipe, or bands where those have none.
    OtherBands {
        /// The database.
        path: PathBuf,
        /// Its bands.
        bands: Option<BandLayout>,
        /// The recipe.
        recipe: Box<Recipe>,
    },
    /// Jobs have stored something else in it: whole documents, or other units of texts.
    OtherUnits {
        /// The database.
        path: PathBuf,
        /// What it has: `record` for whole documents, or the name of units.
        found: &'static str,
    },
    /// Its recipe has a part or a value that this version does not support.
    UnknownRecipe {
        /// The database.
        path: PathBuf,
        /// What is wrong with the recipe.
        error: RecipeError,
    },
    /// Its record of finished jobs cannot be read.
    UnknownHistory {
        /// The database.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl From<DatabaseProblem> for Error {
    fn from(problem: DatabaseProblem) -> Self {
        Self::Database(problem)
    }
}

impl fmt::Display for DatabaseProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKeys { path } => write!(f, "{}: stores no keys", path.display()),
            Self::NoTexts { path } => {
                write!(f, "{}: keeps no texts, which this comparison needs", path.display())
            }
            Self::NoFeatures { path } => {
                write!(f, "{}: keeps no features of texts, which this comparison needs", path.display())
            }
            Self::NoRecipe { path } => {
                write!(f, "{}: has no recipe, which says how texts become fingerprints", path.display())
            }
            Self::OtherRecipe { path, found, expected } => write!(
                f,
                "{}: its fingerprints are of another recipe: {found}, not {expected}",
                path.display()
            ),
            Self::OtherLifetime { path, found: Some(found), wanted } => {
                write!(f, "{}: its rows expire after {found:?}, not after {wanted:?}", path.display())
            }
            Self::OtherLifetime { path, found: None, wanted } => write!(
                f,
                "{}: its rows never expire; only a new database can get a lifetime of {wanted:?}",
                path.display()
            ),
            Self::RemembersOther { path, found: Remember::Nothing } => {
                let path = path.display();
                write!(f, "{path}: does not remember what is left out; only a new database can")
            }
            Self::RemembersOther { path, found } => {
                let what = if *found == Remember::Keys { "keys" } else { "hashes" };
                write!(f, "{}: remembers {what} of what is left out", path.display())
            }
            Self::OtherWidth { path, width, recipe } => write!(
                f,
                "{}: holds fingerprints of {width} bits, but the recipe makes {}",
                path.display(),
                recipe.width()
            ),
            Self::OtherBands { path, bands, recipe } => {
                let kind = |bands: Option<BandLayout>| {
                    bands.map_or("no bands".into(), |bands| format!("bands {bands}"))
                };
                let (has, makes) = (kind(*bands), kind(recipe.bands()));
                write!(
                    f,
                    "{}: has {has}, and the recipe makes fingerprints of {makes}: {recipe}",
                    path.display()
                )
            }
            Self::OtherUnits { path, found } => {
                write!(
                    f,
                    "{}: remembers {found}s, which are compared only with {found}s; give another database",
                    path.display()
                )
            }
            Self::UnknownHistory { path, why } => {
                write!(f, "{}: the record of finished jobs cannot be read: {why}", path.display())
            }
            Self::UnknownRecipe { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}
