//! Why calls on texts and documents fail.

use nearprint_text::Error;
use nearprint_text::recipe::RecipeError;

use super::failure::Failure;
use crate::status::{NEARPRINT_MISMATCH, NEARPRINT_RECIPE};

/// What is neither the engine's nor of a recipe is a database that does not fit.
impl From<Error> for Box<Failure> {
    fn from(error: Error) -> Self {
        match error {
            Error::Engine(error) => error.into(),
            Error::Recipe(error) => error.into(),
            Error::Setting { name, why } => Failure::argument(&name, why),
            other => Failure::new(NEARPRINT_MISMATCH, other.to_string()),
        }
    }
}

impl From<RecipeError> for Box<Failure> {
    fn from(error: RecipeError) -> Self {
        Failure::new(NEARPRINT_RECIPE, error.to_string())
    }
}
