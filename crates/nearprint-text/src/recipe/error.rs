//! The error of an invalid recipe.

use std::fmt;

/// An invalid recipe: the part at fault, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeError {
    part: &'static str,
    why: String,
}

impl RecipeError {
    pub(super) fn new(part: &'static str, why: impl Into<String>) -> Self {
        Self { part, why: why.into() }
    }

    /// The part at fault: its name in the recipe's line, `name` for an unknown recipe, or `part`
    /// for an unknown part.
    #[must_use]
    pub fn part(&self) -> &str {
        self.part
    }
}

impl fmt::Display for RecipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "recipe, {}: {}", self.part, self.why)
    }
}

impl std::error::Error for RecipeError {}
