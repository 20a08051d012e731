//! How documents are read: options of every command that reads texts with keys.

use std::path::PathBuf;

use super::{DecodingArgs, FolderArgs};
use nearprint_text::documents::{Delimiter, FolderRules, Format, ReaderOptions};

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Input options")]
pub(crate) struct DocumentArgs {
    /// Format of the inputs [default: by extension: .jsonl .ndjson .json .csv .tsv .parquet, any other file is one
    /// document; standard input is jsonl, and text for `fingerprint`]
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<DocumentFormat>,
    /// What separates the fields of CSV and TSV: a character, or comma, tab, semicolon or bar [default: the header
    /// tells]
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    pub(crate) delimiter: Option<Delimiter>,
    /// Field or column that holds the text; dots reach into JSON objects and into
    /// structs of Parquet
    #[arg(long, value_name = "NAME", default_value = "text")]
    text_field: String,
    /// The field or column with the key [default: INPUT:N]. N counts the records of INPUT from 1. The key of a file
    /// that is one document is its path
    #[arg(long, value_name = "NAME")]
    pub(crate) key_field: Option<String>,
    /// Write bad records to FILE and go on [default: stop at the first one]. Only the first 64 KiB of an endless line
    /// are written. For a file that cannot be read to its end, FILE gets its path
    #[arg(long, value_name = "FILE")]
    pub(crate) rejects: Option<PathBuf>,
    #[command(flatten)]
    folder: FolderArgs,
}

/// The format of a file of documents.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum DocumentFormat {
    /// One JSON object a line
    #[value(alias = "json", alias = "ndjson")]
    Jsonl,
    /// Comma-separated, with a header
    Csv,
    /// Tab-separated, with a header, quoted as CSV
    Tsv,
    /// Parquet
    Parquet,
    /// Each file is one document
    Text,
    /// Each line is one document
    Lines,
}

impl From<DocumentFormat> for Format {
    fn from(format: DocumentFormat) -> Self {
        match format {
            DocumentFormat::Jsonl => Self::Jsonl,
            DocumentFormat::Csv => Self::Csv,
            DocumentFormat::Tsv => Self::Tsv,
            DocumentFormat::Parquet => Self::Parquet,
            DocumentFormat::Text => Self::Text,
            DocumentFormat::Lines => Self::Lines,
        }
    }
}

impl DocumentArgs {
    /// The files of folders that are read.
    pub(crate) fn folder_rules(&self) -> FolderRules {
        self.folder.rules()
    }

    /// How files become texts.
    pub(crate) fn decoding(&self) -> &DecodingArgs {
        &self.folder.decoding
    }

    /// How the inputs are read.
    pub(crate) fn options(&self) -> ReaderOptions {
        let mut options = ReaderOptions::default();
        options.fields.text.clone_from(&self.text_field);
        options.fields.key.clone_from(&self.key_field);
        options.format = self.input_format.map(Format::from);
        options.encoding = self.folder.decoding.encoding;
        options.pre = self.folder.decoding.preprocessing();
        options.delimiter = self.delimiter;
        options.rejects_files = self.rejects.is_some();
        options.folder = self.folder.rules();
        options
    }
}
