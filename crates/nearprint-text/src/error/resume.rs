//! Why an interrupted deduplication cannot go on.

use std::fmt;
use std::path::PathBuf;

use super::Error;

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
    /// Documents are decided otherwise than by the unfinished run, which has written some of them.
    OtherDecisions,
    /// The unfinished run had written all, and is complete now. The inputs have other records, which would replace
    /// its output.
    Completed {
        /// That output.
        output: PathBuf,
        /// Records that the run has processed.
        records: u64,
    },
    /// An output of the unfinished run cannot be resumed.
    Output(Box<Error>),
}

impl From<ResumeProblem> for Error {
    fn from(problem: ResumeProblem) -> Self {
        Self::Resume(problem)
    }
}

impl fmt::Display for ResumeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherRun { path, records } => write!(
                f,
                "{}: a run with other inputs, outputs or options stopped after record {records}; resume it \
                 first",
                path.display()
            ),
            Self::OtherProgram => f.write_str("another program has an unfinished run in the database"),
            Self::OtherRecords { records } => write!(
                f,
                "the inputs changed: the first {records} records are not those that the interrupted run read"
            ),
            Self::OtherDecisions => f.write_str(
                "the inputs, or what they are compared with, changed: documents are decided otherwise than by the \
                 interrupted run",
            ),
            Self::Completed { output, records } => write!(
                f,
                "{}: is complete now, since the interrupted run had read all of its {records} records; the inputs \
                 have other ones, and would replace it",
                output.display()
            ),
            Self::Output(error) => error.fmt(f),
        }
    }
}
