//! What is wrong with an output.

use std::fmt;
use std::path::PathBuf;

use super::Error;
use crate::time::UtcTime;

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
    /// A finished job has read the same inputs and decided all documents, and did not write this
    /// output.
    AlreadyRun {
        /// The output.
        path: PathBuf,
        /// When the job was finished.
        completed: UtcTime,
        /// The output of that job.
        into: String,
        /// The documents that it has read.
        records: u64,
    },
    /// Only files can be resumed, no pipes and devices.
    NotResumable {
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
    /// The name requests a compression that is not written.
    NotWritten {
        /// The output.
        path: PathBuf,
        /// The name of the compression.
        compression: &'static str,
    },
    /// The name denotes another format than what is written.
    OtherFormat {
        /// The output.
        path: PathBuf,
        /// The format that the name denotes.
        named: &'static str,
        /// The format that is written.
        written: &'static str,
        /// The ending of names of files of that format.
        ending: &'static str,
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
    /// An option is for one job, and a database has the documents of several.
    NotWithDatabase {
        /// The name of the option.
        option: &'static str,
    },
    /// Documents are compared with other collections, and have sizes of clusters.
    NotWithAgainst,
    /// A file of a folder of outputs exists already, and is not one that the job has written.
    ShardExists {
        /// The file.
        path: PathBuf,
    },
    /// An output is a folder, but documents are whole files, and one list of them is written.
    ShardsOfFiles {
        /// The folder.
        path: PathBuf,
    },
    /// An output is a folder with a file for each input, and an input has no name for it.
    ShardWithoutName {
        /// The input.
        input: PathBuf,
    },
    /// An output is a folder with a file for each input, and an earlier input has the same name.
    ShardsOfOneName {
        /// The input.
        input: PathBuf,
    },
    /// A column that is to be kept does not exist in the input.
    NoColumn {
        /// The column.
        column: String,
    },
    /// A column of Parquet inputs has types that one column of the output cannot have.
    ColumnTypes {
        /// The column.
        column: String,
        /// Its type in the inputs before.
        type_before: String,
        /// An input with another type.
        input: PathBuf,
        /// Its type there.
        type_there: String,
    },
    /// Two columns of one of several Parquet inputs have one name, or two fields of a struct.
    ColumnTwice {
        /// The input.
        input: PathBuf,
        /// The name.
        column: String,
    },
    /// Two columns of the input have one name, and the format of the output has names.
    TwoColumns {
        /// The column.
        column: String,
    },
    /// The first records of JSON lines have more members than an output has columns.
    ManyColumns {
        /// The number of members.
        count: usize,
    },
    /// A column has a type that the format of the output does not have.
    NotConverted {
        /// The column.
        column: String,
        /// What it has.
        why: String,
    },
    /// A column that is to be added exists in the input.
    ColumnExists {
        /// The column.
        column: String,
    },
    /// A field that is to be added exists in a record.
    FieldExists {
        /// The file and the line of the record.
        place: String,
        /// The field.
        field: String,
    },
    /// A record has none of the chosen fields.
    NoneOfFields {
        /// The file and the line of the record.
        place: String,
        /// The fields.
        fields: String,
    },
}

impl From<OutputProblem> for Error {
    fn from(problem: OutputProblem) -> Self {
        Self::Output(problem)
    }
}

impl fmt::Display for OutputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IsInput { output } => write!(f, "{output}: is also an input"),
            Self::SameFile { first, second, path } => {
                write!(f, "{first} and {second} are the same file, {}", path.display())
            }
            Self::ChangedAfterEnd { path } => {
                write!(f, "{}: was changed or removed after this job completed it", path.display())
            }
            Self::AlreadyRun { path, completed, into, records } => write!(
                f,
                "already run on {completed} into {into}: its {records} documents were decided then; that run did not \
                 write {}",
                path.display()
            ),
            Self::NotResumable { path } => {
                write!(f, "{}: only a plain file can be resumed", path.display())
            }
            Self::Truncated { path, len_bytes } => {
                write!(f, "{}: is shorter than the {len_bytes} bytes that were written to it", path.display())
            }
            Self::OtherContent { path } => {
                write!(f, "{}: was changed after the interrupted run wrote it", path.display())
            }
            Self::PartialInUse { path } => {
                write!(f, "{}: is being written, by another process or as another output", path.display())
            }
            Self::PartialExists { path } => write!(
                f,
                "{}: has the name of an unfinished output, but is none; move it away",
                path.display()
            ),
            Self::NotReadable { path } => write!(f, "{}: was written, but cannot be read", path.display()),
            Self::OtherFormat { path, named, written, ending } => write!(
                f,
                "{}: the name denotes {named}, but the output is {written}; give it a name that ends in {ending}",
                path.display()
            ),
            Self::ParquetCompressed { path } => {
                write!(
                    f,
                    "{}: Parquet files are compressed already; give a name without that ending",
                    path.display()
                )
            }
            Self::NotWritten { path, compression } => {
                write!(
                    f,
                    "{}: {compression} is not written; gzip and Zstandard are, to names in .gz and .zst",
                    path.display()
                )
            }
            Self::NotWithDatabase { option } => {
                write!(f, "{option} cannot be used with a database, which also has documents of other jobs")
            }
            Self::NotWithAgainst => f.write_str(
                "sizes of groups are not known where documents are compared with other collections",
            ),
            Self::NoFields { format } => {
                write!(f, "{format} has no fields, so none can be added or changed")
            }
            Self::ShardExists { path } => write!(
                f,
                "{}: exists already; a folder of outputs replaces no file, so move it away or name another folder",
                path.display()
            ),
            Self::ShardsOfFiles { path } => write!(
                f,
                "{}: a folder of outputs is for records; for files that are one document each, the output is a list",
                path.display()
            ),
            Self::ShardWithoutName { input } => {
                write!(f, "{}: has no file name, so its output cannot get one in a folder", input.display())
            }
            Self::ShardsOfOneName { input } => write!(
                f,
                "{}: another input has the same name, and so would its output; give the folder that contains both",
                input.display()
            ),
            Self::ColumnTypes { column, type_before, input, type_there } => write!(
                f,
                "column {column:?} is {type_there} in {} and {type_before} in earlier inputs: no column of an output \
                 can have both",
                input.display()
            ),
            Self::ColumnTwice { input, column } => write!(
                f,
                "{}: two columns or fields have the name {column:?}; columns of several files are united by name, so \
                 rename one",
                input.display()
            ),
            Self::NoColumn { column } => write!(f, "there is no column {column:?}"),
            Self::TwoColumns { column } => {
                write!(
                    f,
                    "two columns have the name {column:?}; an output in another format needs different names"
                )
            }
            Self::ManyColumns { count } => {
                write!(
                    f,
                    "the first records have {count} fields, too many for columns; choose some with --fields"
                )
            }
            Self::NotConverted { column, why } => write!(f, "column {column:?} {why}"),
            Self::ColumnExists { column } => write!(f, "there is a column {column:?} already"),
            Self::FieldExists { place, field } => write!(f, "{place}: has a field {field:?} already"),
            Self::NoneOfFields { place, fields } => write!(f, "{place}: has none of the fields {fields}"),
        }
    }
}
