//! What is wrong with a set of inputs.

use std::fmt;
use std::path::PathBuf;

use super::Error;

/// Why inputs cannot be read as one stream of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputSetProblem {
    /// There is no path.
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
    /// A delimiter is given for a format without cells.
    NoCells {
        /// The name of the format.
        format: &'static str,
    },
    /// An input that is to be read twice is a pipe or a device, which supplies its bytes once.
    ReadOnce {
        /// The input.
        path: PathBuf,
    },
    /// An order of files is to choose among records.
    NotFiles {
        /// The name of the order.
        order: &'static str,
    },
    /// A pattern of names to leave out is malformed.
    BadPattern {
        /// What is wrong with it.
        why: String,
    },
    /// There are files with content, and none of a kind that is compared.
    NothingCompared {
        /// The number of files of each kind.
        kinds: String,
        /// The name of a kind.
        first: &'static str,
    },
    /// The second pass found other records than the first one.
    ChangedBetweenPasses,
}

impl From<InputSetProblem> for Error {
    fn from(problem: InputSetProblem) -> Self {
        Self::InputSet(problem)
    }
}

impl fmt::Display for InputSetProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no file to read"),
            Self::StdinTwice => f.write_str("standard input can be read only once"),
            Self::MixedFormats { first, first_format, other, other_format } => write!(
                f,
                "{first} is {first_format}, and {other} is {other_format}: all inputs of one run have to be of one \
                 kind"
            ),
            Self::NoFields { format, field } => {
                write!(f, "{format} has no fields, so there is no field {field:?}")
            }
            Self::NoCells { format } => {
                write!(f, "a delimiter is for CSV and TSV, but the inputs are {format}")
            }
            Self::ReadOnce { path } => write!(
                f,
                "{}: can be read only once, but has to be read twice; give it as standard input, which is copied",
                path.display()
            ),
            Self::NotFiles { order: order @ ("oldest" | "newest") } => {
                write!(f, "keep {order} is for files; among records, a field orders: {order}:FIELD")
            }
            Self::NotFiles { order } => {
                write!(f, "keep {order} is for files; among records, first, longest or max:FIELD is kept")
            }
            Self::BadPattern { why } => write!(f, "a pattern of names: {why}"),
            Self::NothingCompared { kinds, .. } => {
                write!(f, "the inputs have nothing to compare: {kinds}")
            }
            Self::ChangedBetweenPasses => f.write_str("the inputs changed while they were read twice"),
        }
    }
}
