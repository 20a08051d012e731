//! The error type of the crate.

use std::fmt;

use crate::recipe::RecipeError;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A database or a file: see [`nearprint::Error`].
    Engine(nearprint::Error),
    /// An input is not what it should be.
    Input {
        /// The file, with the line where there is one.
        place: String,
        /// What is wrong there.
        why: String,
    },
    /// An option, or a combination of options, that cannot be.
    Option(String),
}

impl Error {
    /// Wraps an I/O error with what was tried on which path.
    pub(crate) fn io(
        action: &'static str,
        path: impl AsRef<std::path::Path>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let wrap = nearprint::Error::io(action, path);
        move |source| Self::Engine(wrap(source))
    }

    /// What ends work that its listener has stopped.
    pub(crate) const INTERRUPTED: Self = Self::Engine(nearprint::Error::Interrupted);
}

impl From<nearprint::Error> for Error {
    fn from(error: nearprint::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<RecipeError> for Error {
    fn from(error: RecipeError) -> Self {
        Self::Option(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Input { place, why } => write!(f, "{place}: {why}"),
            Self::Option(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(error) => error.source(),
            Self::Input { .. } | Self::Option(_) => None,
        }
    }
}
