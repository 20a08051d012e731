//! The formats of documents.

use std::fmt;
use std::str::FromStr;

use super::delimiter::Delimiter;

/// How a file holds documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// One JSON object a line
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

impl FromStr for Format {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(match name {
            "jsonl" | "json" | "ndjson" => Self::Jsonl,
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "parquet" => Self::Parquet,
            "text" => Self::Text,
            "lines" => Self::Lines,
            _ => return Err("no format has this name"),
        })
    }
}

impl Format {
    /// What stands between the cells, unless a header or an option says otherwise. `None` if there are no cells.
    pub(super) fn delimiter(self) -> Option<Delimiter> {
        match self {
            Self::Csv => Some(Delimiter::COMMA),
            Self::Tsv => Some(Delimiter::TAB),
            _ => None,
        }
    }

    /// Whether records have fields besides their text.
    pub(crate) fn has_fields(self) -> bool {
        !matches!(self, Self::Text | Self::Lines)
    }

    /// The usual extension of file names.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Parquet => "parquet",
            Self::Text | Self::Lines => "txt",
        }
    }

    /// The name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "JSON lines",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Parquet => "Parquet",
            Self::Text => "plain text",
            Self::Lines => "lines",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
