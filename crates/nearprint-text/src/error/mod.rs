//! The error type of the crate.
//!
//! Each variant of [`Error`] is one area; the enum inside it is the exact reason, so that callers
//! can match it. The messages are complete sentences for users and name the file or option at
//! fault. What to do about it depends on the program: command line and Python package add hints.

mod database;
mod input_set;
mod output;
mod resume;

use std::fmt;
use std::path::Path;

pub use database::DatabaseProblem;
pub use input_set::InputSetProblem;
pub use output::OutputProblem;
pub use resume::ResumeProblem;

use crate::recipe::RecipeError;

/// The result of a fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The database engine or the file system failed: see [`nearprint::Error`]. A caller that
    /// cancels an operation receives [`nearprint::Error::Interrupted`].
    Engine(nearprint::Error),
    /// The content of an input is malformed or damaged.
    Input {
        /// The file, with the line where it has one.
        place: String,
        /// What is wrong there.
        why: String,
    },
    /// A record of the inputs is malformed or lacks a field, and is not to be set aside.
    Record {
        /// The file, with the line or the number of the record.
        place: String,
        /// What is wrong there.
        why: String,
    },
    /// An input is compressed in a format that is not read.
    Compressed {
        /// The file.
        place: String,
        /// The name of the format.
        format: &'static str,
        /// A program, with options, that writes the content of a file to standard output.
        program: &'static str,
    },
    /// An option has a value that it cannot have, or is not for the other options.
    Setting {
        /// The name of the option, with `_` between its words.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The inputs cannot be read as one stream of documents.
    InputSet(InputSetProblem),
    /// An output cannot be written, resumed or read back.
    Output(OutputProblem),
    /// A recipe is invalid, or makes fingerprints of another width.
    Recipe(RecipeError),
    /// A database cannot serve a deduplication with these options.
    Database(DatabaseProblem),
    /// A deduplication cannot resume, or another one has to resume first.
    Resume(ResumeProblem),
}

impl Error {
    /// Wraps an I/O error with what was tried on which path.
    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let wrap = nearprint::Error::io(action, path);
        move |source| Self::Engine(wrap(source))
    }

    /// Malformed or damaged content of an input.
    pub(crate) fn input(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Input { place: place.into(), why: why.into() }
    }

    /// An option that cannot be used so.
    pub(crate) fn setting(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Setting { name: name.into(), why: why.into() }
    }

    /// The result of an operation that its progress callback has cancelled.
    pub(crate) const INTERRUPTED: Self = Self::Engine(nearprint::Error::Interrupted);
}

impl From<nearprint::Error> for Error {
    fn from(error: nearprint::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<RecipeError> for Error {
    fn from(error: RecipeError) -> Self {
        Self::Recipe(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Input { place, why } | Self::Record { place, why } => write!(f, "{place}: {why}"),
            Self::Setting { name, why } => write!(f, "{name}: {why}"),
            Self::Compressed { place, format, program } => {
                write!(
                    f,
                    "{place}: is compressed as {format}, which cannot be read; `{program}` decompresses it"
                )
            }
            Self::InputSet(problem) => problem.fmt(f),
            Self::Output(problem) => problem.fmt(f),
            Self::Recipe(error) => error.fmt(f),
            Self::Database(problem) => problem.fmt(f),
            Self::Resume(problem) => problem.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    /// The cause of an I/O error. Other messages include their cause.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(error) => error.source(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn regression_messages_name_no_options_of_the_command_line() {
        let path = || PathBuf::from("seen.np");
        let truncated = || OutputProblem::Truncated { path: path(), len_bytes: 9 };
        let errors: [Error; 11] = [
            OutputProblem::ChangedAfterEnd { path: path() }.into(),
            truncated().into(),
            DatabaseProblem::NoKeys { path: path() }.into(),
            DatabaseProblem::NoTexts { path: path() }.into(),
            DatabaseProblem::NoRecipe { path: path() }.into(),
            ResumeProblem::OtherRun { path: path(), records: 9 }.into(),
            ResumeProblem::OtherRecords { records: 9 }.into(),
            ResumeProblem::OtherDecisions.into(),
            ResumeProblem::Completed { output: path(), records: 9 }.into(),
            ResumeProblem::Output(Box::new(truncated().into())).into(),
            nearprint::Error::NotRunsOnly { path: path() }.into(),
        ];
        for error in errors {
            let message = error.to_string();
            assert!(!message.contains("--") && !message.contains('`'), "{message}");
        }
    }
}
