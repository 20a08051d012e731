//! How files of fingerprints are read: options of every command that has such inputs.

use clap::ValueEnum;

use super::values;
use crate::terminal::failure::Failure;
use nearprint::any::AnyFingerprint;
use nearprint::{Radix, Width};

/// The format of a file of fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FingerprintFormat {
    /// FINGERPRINT[<tab, comma or spaces>ID] on each line
    #[value(alias = "txt")]
    Text,
    /// Raw 64-bit fingerprints, the least significant byte first
    U64,
    /// Raw 128-bit fingerprints, the least significant byte first
    U128,
    /// Raw 256-bit fingerprints, the least significant byte first
    U256,
    /// Comma-separated. The first line is a header unless it starts with a fingerprint. Without a
    /// header, the columns are fingerprint, id and key, or the names in --columns
    Csv,
    /// The same, tab-separated. In keys \t \n \r \\ stand for tab, line feed, carriage return,
    /// backslash
    Tsv,
    /// One JSON object a line
    Jsonl,
    /// A NumPy array: uint64 of shape (n,), (n, 2) or (n, 4), the least significant word of a
    /// fingerprint first; or uint8 of shape (n, 8), (n, 16) or (n, 32), the most significant byte
    /// first
    Npy,
    /// Parquet: strings, 64-bit numbers, or bytes, the most significant one first
    Parquet,
}

/// A column of a CSV or TSV file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Column {
    /// The fingerprint
    Fingerprint,
    /// The id; an empty one is assigned automatically
    Id,
    /// The key, for databases with keys
    Key,
}

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Input options")]
pub(crate) struct FingerprintArgs {
    /// Format of the inputs [default: by extension: .u64 .u128 .u256 .csv .tsv .jsonl .npy
    /// .parquet; anything else, and standard input, is text, or by its first line TSV or JSON lines as
    /// `fingerprint` and `export` print them; any of them but .parquet may be compressed with gzip,
    /// Zstandard, bzip2 or xz, raw numbers only if their names say so]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) input_format: Option<FingerprintFormat>,
    /// Base of fingerprints in texts [default: 16 after 0x, 2 after 0b, else 10 for 64 bits and 16 for 256;
    /// for 128 bits, 32 digits are hexadecimal, other numbers decimal]
    #[arg(long, value_name = "BASE", value_parser = values::radix())]
    radix: Option<Radix>,
    /// Columns of CSV and TSV inputs without a header, in their order: fingerprint,key or any
    /// others of fingerprint, id and key
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) columns: Vec<Column>,
    /// Name of the column or JSON field that holds the fingerprint
    #[arg(long, value_name = "NAME", default_value = "fingerprint")]
    pub(crate) fingerprint_field: String,
    /// Name of the column or JSON field that holds the id; a missing id is assigned automatically
    #[arg(long, value_name = "NAME", default_value = "id")]
    pub(crate) id_field: String,
    /// Name of the column or JSON field that holds the key, for databases with keys [default: key]
    #[arg(long, value_name = "NAME")]
    pub(crate) key_field: Option<String>,
}

impl FingerprintArgs {
    /// Parses a fingerprint of an input.
    pub(crate) fn parse(&self, width: Width, text: &str) -> Result<AnyFingerprint, String> {
        AnyFingerprint::parse(width, text, self.radix).map_err(|error| match width_by_digits(text) {
            Some(by_digits) if by_digits != width => format!("{error}; so many digits are {by_digits} bits"),
            _ => error.to_string(),
        })
    }

    /// Parses the value of `-f`.
    pub(crate) fn parse_option(&self, width: Width, text: &str) -> Result<AnyFingerprint, Failure> {
        self.parse(width, text).map_err(|why| Failure::Usage(format!("-f {text:?}: {why}")))
    }
}

/// The width of wide fingerprints with this number of hexadecimal digits.
pub(crate) fn width_by_digits(text: &str) -> Option<Width> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let has_width = |width: &Width| is_hexadecimal && digits.len() == width.bits() as usize / 4;
    [Width::W128, Width::W256].into_iter().find(has_width)
}

#[cfg(any(test, feature = "fuzzing"))]
impl Default for FingerprintArgs {
    fn default() -> Self {
        Self {
            input_format: None,
            radix: None,
            columns: Vec::new(),
            fingerprint_field: "fingerprint".into(),
            id_field: "id".into(),
            key_field: None,
        }
    }
}
