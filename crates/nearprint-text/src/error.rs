//! The error type of the crate.
//!
//! Each variant of [`Error`] is one area; the enum inside it is the exact reason, so that callers
//! can match it. The messages are complete sentences for users and name the file or option at
//! fault. What to do about it depends on the program: command line and Python package add hints.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::recipe::{Recipe, RecipeError};
use crate::time::UtcTime;
use nearprint::BandLayout;

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
    /// An input is compressed in a format that is not read.
    Compressed {
        /// The file.
        place: String,
        /// The name of the format.
        format: &'static str,
        /// A program, with options, that writes the content of a file to standard output.
        program: &'static str,
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

/// Why inputs cannot be read as one stream of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputSetProblem {
    /// The paths lead to no file.
    Empty,
    /// Standard input is given more than once.
    StdinTwice,
    /// The inputs have different formats.
    MixedFormats {
        /// The first input.
        first: String,
        /// The name of its format.
        first_format: &'static str,
        /// An input of another format.
        other: String,
        /// The name of that format.
        other_format: &'static str,
    },
    /// A field is requested from a format without fields.
    NoFields {
        /// The name of the format.
        format: &'static str,
        /// The field.
        field: String,
    },
    /// An input that is to be read twice is a pipe or a device, which supplies its bytes once.
    ReadOnce {
        /// The input.
        path: PathBuf,
    },
    /// The second pass found other records than the first one.
    ChangedBetweenPasses,
}

/// Why an output cannot be written, resumed or read back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputProblem {
    /// The output is one of the inputs.
    IsInput {
        /// The path, after the option that names it if there is one.
        output: String,
    },
    /// Two outputs are the same file.
    SameFile {
        /// The option of the first one.
        first: String,
        /// The option of the second one.
        second: String,
        /// The path of the second one.
        path: PathBuf,
    },
    /// An output of a finished job has been changed or removed since.
    ChangedAfterEnd {
        /// The output.
        path: PathBuf,
    },
    /// A finished job has read the same inputs, and did not write this output.
    NotOfFinishedJob {
        /// The output.
        path: PathBuf,
        /// When the job was finished.
        completed: UtcTime,
        /// The documents that it has read.
        records: u64,
        /// The documents that it has kept.
        kept: u64,
    },
    /// Only plain files that are not compressed can be resumed.
    NotResumable {
        /// The output.
        path: PathBuf,
    },
    /// A Parquet file is complete only when it is finished, and cannot be resumed.
    ParquetNotResumable {
        /// The output.
        path: PathBuf,
    },
    /// The file has lost bytes since the checkpoint that it is to resume from.
    Truncated {
        /// The output.
        path: PathBuf,
        /// Its length at the checkpoint.
        len_bytes: u64,
    },
    /// The file does not begin with what was written to it before the checkpoint.
    OtherContent {
        /// The output.
        path: PathBuf,
    },
    /// The unfinished file of an output is being written.
    PartialInUse {
        /// The unfinished file.
        path: PathBuf,
    },
    /// A file that is no unfinished output has the name of one.
    PartialExists {
        /// The file.
        path: PathBuf,
    },
    /// The output cannot be read back: it is a pipe, compressed, or Parquet without kept texts.
    NotReadable {
        /// The output.
        path: PathBuf,
    },
    /// The name requests a compression that is read only.
    NotWritten {
        /// The output.
        path: PathBuf,
        /// The name of the compression.
        compression: &'static str,
    },
    /// The name requests a compression, and Parquet has its own.
    ParquetCompressed {
        /// The output.
        path: PathBuf,
    },
    /// Fields are to be added to a format without fields.
    NoFields {
        /// The name of the format.
        format: &'static str,
    },
    /// An option is for whole documents, and units are compared.
    NotWithUnits {
        /// The name of the option.
        option: &'static str,
    },
    /// A column that is to be kept does not exist in the input.
    NoColumn {
        /// The column.
        column: String,
    },
    /// A column that is to be added exists in the input.
    ColumnExists {
        /// The column.
        column: String,
    },
}

/// Why a database cannot serve a deduplication.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatabaseProblem {
    /// It was created without keys.
    NoKeys {
        /// The database.
        path: PathBuf,
    },
    /// It was created without texts, which confirmation compares.
    NoTexts {
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
    /// It has other bands than the fingerprints of the recipe, or bands where those have none.
    OtherBands {
        /// The database.
        path: PathBuf,
        /// Its bands.
        bands: Option<BandLayout>,
        /// The recipe.
        recipe: Box<Recipe>,
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

/// Why a deduplication cannot resume.
#[derive(Debug)]
#[non_exhaustive]
pub enum ResumeProblem {
    /// The database has the checkpoint of an unfinished run with other inputs, outputs or options.
    OtherRun {
        /// The database.
        path: PathBuf,
        /// Records that the unfinished run has processed.
        records: u64,
    },
    /// The database has a checkpoint that another program has written.
    OtherProgram,
    /// The inputs begin with other records than the unfinished run has read.
    OtherRecords {
        /// Records that the unfinished run has processed.
        records: u64,
    },
    /// An output of the unfinished run cannot be resumed.
    Output(Box<Error>),
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

impl From<InputSetProblem> for Error {
    fn from(problem: InputSetProblem) -> Self {
        Self::InputSet(problem)
    }
}

impl From<OutputProblem> for Error {
    fn from(problem: OutputProblem) -> Self {
        Self::Output(problem)
    }
}

impl From<DatabaseProblem> for Error {
    fn from(problem: DatabaseProblem) -> Self {
        Self::Database(problem)
    }
}

impl From<ResumeProblem> for Error {
    fn from(problem: ResumeProblem) -> Self {
        Self::Resume(problem)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Input { place, why } => write!(f, "{place}: {why}"),
            Self::Compressed { place, format, program } => {
                write!(f, "{place}: compressed as {format}, which is not read; `{program}` decompresses it")
            }
            Self::InputSet(problem) => problem.fmt(f),
            Self::Output(problem) => problem.fmt(f),
            Self::Recipe(error) => error.fmt(f),
            Self::Database(problem) => problem.fmt(f),
            Self::Resume(problem) => problem.fmt(f),
        }
    }
}

impl fmt::Display for InputSetProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there is no file to read"),
            Self::StdinTwice => f.write_str("standard input can be read only once"),
            Self::MixedFormats { first, first_format, other, other_format } => write!(
                f,
                "{first} is {first_format}, and {other} is {other_format}: all inputs of one run have to be of one \
                 kind"
            ),
            Self::NoFields { format, field } => write!(f, "{format} has no fields, and so no {field:?}"),
            Self::ReadOnce { path } => write!(
                f,
                "{}: can be read only once, and two passes are needed; standard input is copied for them",
                path.display()
            ),
            Self::ChangedBetweenPasses => {
                f.write_str("the inputs have changed between the two passes over them")
            }
        }
    }
}

impl fmt::Display for OutputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IsInput { output } => write!(f, "{output}: is read, and cannot be written to"),
            Self::SameFile { first, second, path } => {
                write!(f, "{first} and {second} are the same file, {}", path.display())
            }
            Self::ChangedAfterEnd { path } => {
                write!(f, "{}: was changed or removed after this job had completed it", path.display())
            }
            Self::NotOfFinishedJob { path, completed, records, kept } => write!(
                f,
                "already complete on {completed}: {records} documents, {kept} kept; that job did not write {}",
                path.display()
            ),
            Self::NotResumable { path } => {
                write!(f, "{}: only a plain file that is not compressed can be continued", path.display())
            }
            Self::ParquetNotResumable { path } => {
                write!(f, "{}: Parquet cannot be continued", path.display())
            }
            Self::Truncated { path, len_bytes } => {
                write!(f, "{}: is shorter than the {len_bytes} bytes that were written to it", path.display())
            }
            Self::OtherContent { path } => {
                write!(f, "{}: was changed after the interrupted run had written it", path.display())
            }
            Self::PartialInUse { path } => {
                write!(f, "{}: is being written, by another process or as another output", path.display())
            }
            Self::PartialExists { path } => write!(
                f,
                "{}: is in the way of an unfinished output, and was not made as one; move it away",
                path.display()
            ),
            Self::NotReadable { path } => write!(f, "{}: cannot be read back", path.display()),
            Self::ParquetCompressed { path } => {
                write!(f, "{}: Parquet compresses by itself", path.display())
            }
            Self::NotWritten { path, compression } => {
                write!(f, "{}: {compression} is read and not written; gzip and Zstandard are", path.display())
            }
            Self::NotWithUnits { option } => {
                write!(f, "{option} is for whole documents, and not for paragraphs or lines")
            }
            Self::NoFields { format } => {
                write!(f, "{format} has no fields that can be added or changed")
            }
            Self::NoColumn { column } => write!(f, "there is no column {column:?}"),
            Self::ColumnExists { column } => write!(f, "there is a column {column:?} already"),
        }
    }
}

impl fmt::Display for DatabaseProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKeys { path } => write!(f, "{}: was made without keys", path.display()),
            Self::NoTexts { path } => write!(f, "{}: keeps no texts to confirm with", path.display()),
            Self::NoRecipe { path } => {
                write!(f, "{}: has no recipe to make fingerprints of texts with", path.display())
            }
            Self::OtherRecipe { path, found, expected } => write!(
                f,
                "{}: its fingerprints are made by another recipe: {found}; not by {expected}",
                path.display()
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
            Self::UnknownHistory { path, why } => {
                write!(f, "{}: the record of finished jobs cannot be read: {why}", path.display())
            }
            Self::UnknownRecipe { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl fmt::Display for ResumeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherRun { path, records } => write!(
                f,
                "{}: a run with other inputs, outputs or options was cut off behind record {records}, and has \
                 to go on first",
                path.display()
            ),
            Self::OtherProgram => f.write_str("an unfinished run of another program"),
            Self::OtherRecords { records } => write!(
                f,
                "the first {records} records of the inputs are not those that a run which was cut off has read"
            ),
            Self::Output(error) => error.fmt(f),
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
    use super::*;

    #[test]
    fn regression_messages_name_no_options_of_the_command_line() {
        let path = || PathBuf::from("seen.np");
        let truncated = || OutputProblem::Truncated { path: path(), len_bytes: 9 };
        let errors: [Error; 7] = [
            OutputProblem::ChangedAfterEnd { path: path() }.into(),
            truncated().into(),
            DatabaseProblem::NoKeys { path: path() }.into(),
            ResumeProblem::OtherRun { path: path(), records: 9 }.into(),
            ResumeProblem::OtherRecords { records: 9 }.into(),
            ResumeProblem::Output(Box::new(truncated().into())).into(),
            nearprint::Error::NotRunsOnly { path: path() }.into(),
        ];
        for error in errors {
            let message = error.to_string();
            assert!(!message.contains("--") && !message.contains('`'), "{message}");
        }
    }
}
