//! How files of fingerprints are read: options of every command that has such inputs.

use clap::ValueEnum;

use super::values;
use crate::terminal::failure::Failure;
use nearprint::any::AnyFingerprint;
use nearprint::{Radix, Width};
use nearprint_text::documents::Format;

/// The widths whose fingerprints are written with all their digits.
const WIDE: [Width; 3] = [Width::W128, Width::W256, Width::W320];

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
    /// Raw 320-bit fingerprints, the least significant byte first
    U320,
    /// Comma-separated. The first line is a header unless it starts with a fingerprint. Without a
    /// header, the columns are fingerprint, id and key, or the names in --columns
    Csv,
    /// The same, tab-separated. In keys \t \n \r \\ stand for tab, line feed, carriage return, backslash. \e is an
    /// empty key, and an empty cell means that there is no key
    Tsv,
    /// One JSON object a line
    Jsonl,
    /// A NumPy array: uint64 of shape (n,), (n, 2), (n, 4) or (n, 5), the least significant word of a
    /// fingerprint first; or uint8 of shape (n, 8), (n, 16), (n, 32) or (n, 40), the most significant byte
    /// first
    Npy,
    /// Parquet: strings, 64-bit numbers, or bytes, the most significant one first
    Parquet,
    /// Each line is a text, for `query` of a database of texts; there, `text` makes each file a text
    Lines,
}

impl FingerprintFormat {
    /// The format of texts that it is where inputs may have either.
    pub(crate) fn of_texts(self) -> Option<Format> {
        match self {
            Self::Text => Some(Format::Text),
            Self::Csv => Some(Format::Csv),
            Self::Tsv => Some(Format::Tsv),
            Self::Jsonl => Some(Format::Jsonl),
            Self::Parquet => Some(Format::Parquet),
            Self::Lines => Some(Format::Lines),
            Self::U64 | Self::U128 | Self::U256 | Self::U320 | Self::Npy => None,
        }
    }
}

/// A column of a CSV or TSV file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Column {
    /// The fingerprint
    Fingerprint,
    /// The id; a row with an empty one gets one
    Id,
    /// The key, for databases with keys
    Key,
}

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Input options")]
pub(crate) struct FingerprintArgs {
    /// Format of the inputs [default: by extension: .u64 .u128 .u256 .u320 .csv .tsv .jsonl .npy .parquet, else text].
    /// Other files and standard input are TSV or JSON lines if their first line is one that `fingerprint` or `export` prints.
    /// All formats except Parquet may be compressed with gzip, Zstandard, bzip2 or xz. Compressed raw numbers need a
    /// name such as prints.u64.gz
    #[arg(long, value_name = "FORMAT")]
    pub(crate) input_format: Option<FingerprintFormat>,
    /// Base of fingerprints in texts [default: 16 after 0x, 2 after 0b, else 10 for 64 bits and 16 for 256 and 320]. For
    /// 128 bits, a number of 32 digits is hexadecimal, and any other number is decimal
    #[arg(long, value_name = "BASE", value_parser = values::radix())]
    radix: Option<Radix>,
    /// Columns of CSV and TSV inputs without a header, in their order, such as fingerprint,key. The names are
    /// fingerprint, id and key
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) columns: Vec<Column>,
    /// Name of the column or JSON field that holds the fingerprint
    #[arg(long, value_name = "NAME", default_value = "fingerprint")]
    pub(crate) fingerprint_field: String,
    /// Name of the column or JSON field that holds the id; a row without an id gets one
    #[arg(long, value_name = "NAME", default_value = "id")]
    pub(crate) id_field: String,
    /// Name of the column or JSON field that holds the key, for databases with keys [default: key]
    #[arg(long, value_name = "NAME")]
    pub(crate) key_field: Option<String>,
}

impl FingerprintArgs {
    /// Parses a fingerprint of an input.
    pub(crate) fn parse(&self, width: Width, text: &str) -> Result<AnyFingerprint, String> {
        AnyFingerprint::parse(width, text, self.radix).map_err(|error| match self.width_by_digits(text) {
            _ if self.radix.is_none() && width == Width::W64 && are_bits(text) => {
                format!("{error}; 64 digits of 0 and 1 are bits behind 0b, or with --radix 2")
            }
            Some(by_digits) if by_digits != width => format!("{error}; so many digits are {by_digits} bits"),
            _ if self.radix.is_none() && width == Width::W64 && is_hexadecimal(text) => {
                format!("{error}; --radix 16 reads hexadecimal digits without 0x")
            }
            _ => error.to_string(),
        })
    }

    /// The width of wide fingerprints with this number of digits: bits behind `0b` or where an option says so, and
    /// hexadecimal ones otherwise.
    pub(crate) fn width_by_digits(&self, text: &str) -> Option<Width> {
        let behind = text.strip_prefix("0b").or_else(|| text.strip_prefix("0B"));
        let bits = match self.radix {
            Some(Radix::Binary) => behind.or(Some(text)),
            Some(_) => None,
            None => behind,
        };
        match bits.filter(|bits| bits.bytes().all(|digit| matches!(digit, b'0' | b'1'))) {
            Some(bits) => WIDE.into_iter().find(|width| bits.len() == width.bits() as usize),
            None if self.radix == Some(Radix::Binary) => None,
            None => width_by_digits(text),
        }
    }

    /// What to say of a first fingerprint whose base is doubtful.
    pub(crate) fn doubt(&self, text: &str) -> Option<&'static str> {
        let is_doubtful = self.radix.is_none() && are_bits(text);
        is_doubtful.then_some(
            "note: 64 digits of 0 and 1 are read as 256 bits; --radix 2, or 0b before each number, reads 64 bits",
        )
    }

    /// The base in which the answers to fingerprints of options are printed: that in which all of these are written.
    pub(crate) fn base_of(&self, given: &[String]) -> Option<Radix> {
        let base = |text: &String| match text.trim_start().get(..2) {
            Some("0x" | "0X") => Some(Radix::Hexadecimal),
            Some("0b" | "0B") => Some(Radix::Binary),
            _ => None,
        };
        let first = given.first().and_then(base);
        self.radix.or_else(|| first.filter(|first| given.iter().all(|text| base(text) == Some(*first))))
    }

    /// Parses the value of `-f`.
    pub(crate) fn parse_option(&self, width: Width, text: &str) -> Result<AnyFingerprint, Failure> {
        self.parse(width, text).map_err(|why| Failure::Usage(format!("-f {text:?}: {why}")))
    }
}

/// Whether a text has 64 digits that look like the bits of a hash: a number of 256 bits with such digits is unlikely,
/// apart from small ones.
fn are_bits(text: &str) -> bool {
    const LEAST_ONES: usize = 8;
    let num_ones = text.bytes().filter(|digit| *digit == b'1').count();
    text.len() == 64 && num_ones >= LEAST_ONES && text.bytes().all(|digit| matches!(digit, b'0' | b'1'))
}

/// Whether a text is hexadecimal digits, and no decimal number.
fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|digit| digit.is_ascii_hexdigit())
        && text.bytes().any(|digit| digit.is_ascii_alphabetic())
}

/// The width of wide fingerprints with this number of hexadecimal digits.
fn width_by_digits(text: &str) -> Option<Width> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let has_width = |width: &Width| is_hexadecimal && digits.len() == width.bits() as usize / 4;
    WIDE.into_iter().find(has_width)
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
