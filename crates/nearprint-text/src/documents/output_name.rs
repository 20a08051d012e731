//! The format that the name of an output denotes: a file is written in no other one.

use std::path::Path;

use super::format::Format;
use super::kind::Compression;
use super::reader::Reader;
use crate::error::{OutputProblem, Result};

/// The endings of names that denote a format, and the name of the format in messages.
const ENDINGS: [(&str, Written); 23] = [
    ("jsonl", Written::Jsonl),
    ("ndjson", Written::Jsonl),
    ("jl", Written::Jsonl),
    ("jsonlines", Written::Jsonl),
    ("ldjson", Written::Jsonl),
    ("json", Written::Jsonl),
    ("csv", Written::Csv),
    ("tsv", Written::Tsv),
    ("parquet", Written::Parquet),
    ("npy", Written::Npy),
    ("u64", Written::Raw(64)),
    ("u128", Written::Raw(128)),
    ("u256", Written::Raw(256)),
    ("u320", Written::Raw(320)),
    ("xlsx", Written::Other("a spreadsheet")),
    ("xls", Written::Other("a spreadsheet")),
    ("ods", Written::Other("a spreadsheet")),
    ("docx", Written::Other("a document of an office program")),
    ("odt", Written::Other("a document of an office program")),
    ("pdf", Written::Other("PDF")),
    ("avro", Written::Other("Avro")),
    ("orc", Written::Other("ORC")),
    ("arrow", Written::Other("Arrow")),
];

/// What is written to an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Written {
    /// JSON lines
    Jsonl,
    /// Comma-separated, with a header
    Csv,
    /// Lines of tab-separated columns
    Tsv,
    /// Parquet
    Parquet,
    /// A NumPy array
    Npy,
    /// Raw numbers of this many bits
    Raw(u32),
    /// Paths, or other lines of text
    Lines,
    /// What is never written, by its name
    Other(&'static str),
}

impl Written {
    /// The format that the ending of a name denotes; the ending of a compression is skipped.
    #[must_use]
    pub fn named(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let (_, ending) = Compression::strip(name).rsplit_once('.')?;
        let ending = ending.to_ascii_lowercase();
        ENDINGS.iter().find(|(known, _)| *known == ending).map(|&(_, format)| format)
    }

    /// The name in messages.
    fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "JSON lines",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Parquet => "Parquet",
            Self::Npy => "a NumPy array",
            Self::Raw(64) => "raw 64-bit numbers",
            Self::Raw(128) => "raw 128-bit numbers",
            Self::Raw(256) => "raw 256-bit numbers",
            Self::Raw(_) => "raw 320-bit numbers",
            Self::Lines => "lines of text",
            Self::Other(name) => name,
        }
    }

    /// The usual ending of names.
    fn ending(self) -> &'static str {
        match self {
            Self::Jsonl => ".jsonl",
            Self::Csv => ".csv",
            Self::Tsv => ".tsv",
            Self::Parquet => ".parquet",
            Self::Npy => ".npy",
            Self::Raw(64) => ".u64",
            Self::Raw(128) => ".u128",
            Self::Raw(256) => ".u256",
            Self::Raw(_) => ".u320",
            Self::Lines | Self::Other(_) => ".txt",
        }
    }

    /// Whether readers take it for bytes that are no text.
    fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Npy | Self::Raw(_) | Self::Other(_))
    }

    /// Checks that the name of an output denotes no other format than what is written to it. A name without a known
    /// ending denotes none. Lines of text may have the name of tab-separated columns.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output) with [`OtherFormat`](OutputProblem::OtherFormat).
    pub fn check(self, path: &Path) -> Result<()> {
        let Some(named) = Self::named(path).filter(|named| *named != self) else { return Ok(()) };
        match (self, named) {
            (Self::Lines, Self::Tsv) => Ok(()),
            _ => Err(self.refusal(path, named.name())),
        }
    }

    /// The same for an output that is never compressed, whatever its name is.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_uncompressed(self, path: &Path) -> Result<()> {
        match Compression::of(path) {
            Some(compression) => Err(self.refusal(path, compression.name())),
            None => self.check(path),
        }
    }

    fn refusal(self, path: &Path, named: &'static str) -> crate::error::Error {
        let (written, ending) = (self.name(), self.ending());
        OutputProblem::OtherFormat { path: path.to_path_buf(), named, written, ending }.into()
    }
}

impl From<Format> for Written {
    fn from(format: Format) -> Self {
        match format {
            Format::Jsonl => Self::Jsonl,
            Format::Csv => Self::Csv,
            Format::Tsv => Self::Tsv,
            Format::Parquet => Self::Parquet,
            Format::Text | Format::Lines => Self::Lines,
        }
    }
}

/// The format in which documents are written to a file of this name: for records the one that the name denotes, if it
/// is a format of records, and otherwise that of the inputs. Lines and lists of files may have the name of an input.
///
/// # Errors
/// As [`Written::check`].
pub(crate) fn format_of_output(path: &Path, reader: &Reader) -> Result<Format> {
    match format_of_records(path, reader.format()) {
        Some(format) => Ok(format),
        None => check_copy(path, reader).map(|()| reader.format()),
    }
}

/// The format of records that the name of an output denotes. `None` if it denotes none, or `inputs` are no records.
pub(crate) fn format_of_records(path: &Path, inputs: Format) -> Option<Format> {
    match Written::named(path).filter(|_| inputs.has_fields())? {
        Written::Jsonl => Some(Format::Jsonl),
        Written::Csv => Some(Format::Csv),
        Written::Tsv => Some(Format::Tsv),
        Written::Parquet => cfg!(feature = "parquet").then_some(Format::Parquet),
        Written::Npy | Written::Raw(_) | Written::Lines | Written::Other(_) => None,
    }
}

/// Checks that the name of an output denotes the format of the documents that are copied to it.
fn check_copy(path: &Path, reader: &Reader) -> Result<()> {
    let named = Written::named(path);
    let is_input = |input: &super::input_file::InputFile| Written::named(&input.path) == named;
    let is_known = named.is_some_and(|named| !named.is_binary());
    let is_of_files = reader.format() == Format::Text;
    if reader.inputs().is_empty() {
        return Ok(());
    }
    if is_known && !is_of_files && reader.inputs().iter().any(is_input) {
        return Ok(());
    }
    Written::from(reader.format()).check(path)
}

/// Checks that the name of a file of rejected records, which may be incomplete, denotes no binary format.
///
/// # Errors
/// As [`Written::check`].
pub fn check_rejects(path: &Path) -> Result<()> {
    match Written::named(path).filter(|named| named.is_binary()) {
        Some(_) => Written::Lines.check(path),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_name_denotes_one_format() {
        let is_refused = |written: Written, name: &str| {
            let checked = written.check(Path::new(name));
            assert!(matches!(checked, Ok(()) | Err(Error::Output(OutputProblem::OtherFormat { .. }))));
            checked.is_err()
        };
        for name in ["a", "a.txt", "a.gz", "a.log", "-", ".csv.d/a", "a.tsv", "A.TSV.gz", "tsv"] {
            assert!(!is_refused(Written::Tsv, name), "{name}");
        }
        for name in ["a.csv", "a.JSON", "a.ndjson.zst", "a.parquet", "a.u64", "a.npy", "a.u256.gz", "a.XLSX"]
        {
            assert!(is_refused(Written::Tsv, name), "{name}");
            assert!(is_refused(Written::Lines, name), "{name}");
        }
        assert!(!is_refused(Written::Lines, "a.tsv"));
        assert!(is_refused(Written::Raw(64), "a.u128"));
        assert!(Written::Tsv.check_uncompressed(Path::new("a.gz")).is_err());
        assert!(check_rejects(Path::new("a.csv")).is_ok() && check_rejects(Path::new("a.parquet")).is_err());
    }
}
