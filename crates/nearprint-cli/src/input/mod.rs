//! Files of fingerprints: text lines, raw numbers, CSV and TSV, JSON lines, NumPy arrays, Parquet.

mod cells;
mod json;
mod npy;
mod parquet;
mod raw;
mod stream;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::failure::Failure;
use super::values;
use cells::Column;
use nearprint::MAX_KEY_BYTES;
use nearprint::{Fingerprint, Radix, U256};
use nearprint_text::documents::Compression;
use stream::{Input, LineFailure};

pub(crate) use npy::npy_header;

/// How to read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// FINGERPRINT[<tab, comma or spaces>ID] on each line
    #[value(alias = "txt")]
    Text,
    /// Raw fingerprints of 64 bits, the least significant byte first
    U64,
    /// Raw fingerprints of 128 bits, the least significant byte first
    U128,
    /// Raw fingerprints of 256 bits, the least significant byte first
    U256,
    /// Comma-separated; a first line that starts with no fingerprint names the columns, else they are
    /// fingerprint, id and key, or what --columns says
    Csv,
    /// The same, tab-separated; in keys \t \n \r \\ stand for tab, line feed, carriage return, backslash
    Tsv,
    /// One JSON object a line
    Jsonl,
    /// A NumPy array: uint64 of shape (n,), (n, 2) or (n, 4), the least significant word of a fingerprint
    /// first; or uint8 of shape (n, 8), (n, 16) or (n, 32), the most significant byte first
    Npy,
    /// Parquet: strings, numbers of 64 bits, or bytes, the most significant one first
    Parquet,
}

/// Options about inputs, the same for every command that reads fingerprints.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct InputArgs {
    /// How to read the inputs [default: by extension: .u64 .u128 .u256 .csv .tsv .jsonl .npy .parquet, anything
    /// else text; behind any of them but .parquet there may be .gz or .zst]
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<InputFormat>,
    /// The base of fingerprints in texts [default: 16 behind 0x, else 10 for 64 bits and 16 for 256; of 128 bits,
    /// 32 digits are hexadecimal, other numbers decimal]
    #[arg(long, value_name = "BASE", value_parser = values::radix())]
    radix: Option<Radix>,
    /// What the columns of CSV and TSV are, which have no header then: fingerprint,key or any others of
    /// fingerprint, id and key in their order
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<Column>,
    /// Name of the column or JSON field that holds the fingerprint
    #[arg(long, value_name = "NAME", default_value = "fingerprint")]
    fingerprint_field: String,
    /// Name of the column or JSON field that holds the id; where it is missing, ids are numbered on
    #[arg(long, value_name = "NAME", default_value = "id")]
    id_field: String,
    /// Name of the column or JSON field that holds the key, for databases that keep keys [default: key]
    #[arg(long, value_name = "NAME")]
    key_field: Option<String>,
}

/// What becomes of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// They are handed on.
    Kept,
    /// Nobody asked for them: they are left out.
    Unused,
    /// The database has no place for them. What a header or JSON calls a key may be meant for others and is
    /// left out; a column without a name, or one that the command line calls so, is wrong.
    Refused,
}

impl Keys {
    /// What a database does with them.
    pub(super) fn kept_if(kept: bool) -> Self {
        if kept { Self::Kept } else { Self::Refused }
    }
}

/// Takes what a reader finds.
pub(super) trait RowSink<F> {
    /// The next row; `None` where the input gives no id, or no key.
    fn row(&mut self, fingerprint: F, id: Option<u64>, key: Option<&str>) -> Result<(), Failure>;

    /// What becomes of keys.
    fn keys(&self) -> Keys {
        Keys::Unused
    }

    /// Nothing more can be had without waiting: a good moment to answer.
    fn idle(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<F, T: FnMut(F, Option<u64>) -> Result<(), Failure>> RowSink<F> for T {
    fn row(&mut self, fingerprint: F, id: Option<u64>, _: Option<&str>) -> Result<(), Failure> {
        self(fingerprint, id)
    }
}

/// A row as an input has it.
struct FoundRow<'a, F> {
    fingerprint: F,
    id: Option<u64>,
    /// An empty one is none.
    key: Option<Cow<'a, str>>,
    /// Whether the input says by name which of its columns or fields the key is.
    has_names: bool,
}

impl<F> FoundRow<'_, F> {
    /// Hands the row on, with its key where that is kept.
    fn give(self, sink: &mut dyn RowSink<F>) -> Result<(), LineFailure> {
        let key = self.key.as_deref().filter(|key| !key.is_empty());
        let key = match (sink.keys(), key) {
            (Keys::Kept, Some(key)) if key.len() > MAX_KEY_BYTES => {
                return Err(format!("a key of more than {MAX_KEY_BYTES} bytes").into());
            }
            (Keys::Kept, key) => key,
            (Keys::Refused, Some(_)) if !self.has_names => {
                let why = "a column of keys, and the database keeps none (--keys makes one that does)";
                return Err(why.to_string().into());
            }
            _ => None,
        };
        Ok(sink.row(self.fingerprint, self.id, key)?)
    }
}

/// The name of the column or field of keys where nothing is said.
const DEFAULT_KEY_FIELD: &str = "key";

impl InputArgs {
    /// Reads all inputs one after the other; standard input where there are none.
    pub(super) fn read_all<F: Fingerprint>(
        &self,
        inputs: &[PathBuf],
        sink: &mut dyn RowSink<F>,
    ) -> Result<(), Failure> {
        if inputs.is_empty() {
            return self.read(Path::new("-"), sink);
        }
        inputs.iter().try_for_each(|input| self.read(input, sink))
    }

    /// A fingerprint of the command line, behind -f.
    pub(super) fn fingerprint<F: Fingerprint>(&self, text: &str) -> Result<F, Failure> {
        self.parse(text).map_err(|why| Failure::Usage(format!("-f {text:?}: {why}")))
    }

    /// A fingerprint as a text has it.
    fn parse<F: Fingerprint>(&self, text: &str) -> Result<F, String> {
        F::parse_radix(text, self.radix).map_err(|error| match width_by_digits(text) {
            Some(width) if width != F::BITS => format!("{error}; so many digits are {width} bits"),
            _ => error.to_string(),
        })
    }

    fn read<F: Fingerprint>(&self, path: &Path, sink: &mut dyn RowSink<F>) -> Result<(), Failure> {
        let format = self.input_format.unwrap_or_else(|| by_extension(path));
        if !self.columns.is_empty() && !matches!(format, InputFormat::Csv | InputFormat::Tsv) {
            let why = "--columns is about CSV and TSV; --input-format says that this is one of them";
            return Err(Failure::Usage(format!("{}: {why}", path.display())));
        }
        if format == InputFormat::Parquet {
            return parquet::read(path, self, sink);
        }
        self.read_as(format, Input::open(path)?, sink)
    }

    fn read_as<F: Fingerprint>(
        &self,
        format: InputFormat,
        mut input: Input,
        sink: &mut dyn RowSink<F>,
    ) -> Result<(), Failure> {
        match format {
            InputFormat::Text => self.text(input, sink),
            InputFormat::U64 => input.raw_of(u64::BITS, sink),
            InputFormat::U128 => input.raw_of(u128::BITS, sink),
            InputFormat::U256 => input.raw_of(U256::BITS, sink),
            InputFormat::Csv => self.csv(input, ',', sink),
            InputFormat::Tsv => self.csv(input, '\t', sink),
            InputFormat::Jsonl => self.jsonl(input, sink),
            InputFormat::Npy => input.npy(sink),
            InputFormat::Parquet => Err(input.bad("Parquet has to be in a file", "")),
        }
    }

    fn text<F: Fingerprint>(&self, mut input: Input, sink: &mut dyn RowSink<F>) -> Result<(), Failure> {
        input.lines(false, sink, |text, sink| {
            let (fingerprint, id) = self.parse_line(text.trim())?;
            Ok(sink.row(fingerprint, id, None)?)
        })
    }

    /// Reads `FINGERPRINT[<tab, comma or spaces>ID]`, trimmed.
    fn parse_line<F: Fingerprint>(&self, text: &str) -> Result<(F, Option<u64>), String> {
        let separator = |c: char| c == ',' || c == '\t' || c == ' ';
        let (first, rest) = text.split_at(text.find(separator).unwrap_or(text.len()));
        let fingerprint = self.parse(first)?;
        let rest = rest.trim_start();
        let id = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        match id {
            "" if rest.is_empty() => Ok((fingerprint, None)),
            id => Ok((fingerprint, Some(parse_id(id)?))),
        }
    }
}

/// The width of the wide fingerprints that are written with as many hexadecimal digits.
fn width_by_digits(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    [u128::BITS, U256::BITS].into_iter().find(|bits| is_hexadecimal && digits.len() == *bits as usize / 4)
}

/// Reads ids, one on each line.
pub(super) fn read_ids(
    path: &Path,
    visit: &mut dyn FnMut(u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    struct NoRows;
    impl RowSink<u64> for NoRows {
        fn row(&mut self, _: u64, _: Option<u64>, _: Option<&str>) -> Result<(), Failure> {
            Ok(())
        }
    }
    Input::open(path)?.lines(false, &mut NoRows, |text, _| Ok(visit(parse_id(text.trim())?)?))
}

/// A fingerprint and, where the input gives them, its id and key.
#[cfg(any(test, fuzzing))]
pub(crate) type RowRead<F> = (F, Option<u64>, Option<String>);

/// Reads bytes as a file of a format: the rows before the first bad one, and what is wrong with that.
#[cfg(any(test, fuzzing))]
pub(crate) fn read_bytes<F: Fingerprint>(
    format: InputFormat,
    bytes: Vec<u8>,
) -> (Vec<RowRead<F>>, Result<(), String>) {
    let mut rows = Collected(Vec::new());
    let end = InputArgs::default().read_as(format, Input::of_bytes(bytes), &mut rows);
    (rows.0, end.map_err(|failure| format!("{failure:?}")))
}

#[cfg(any(test, fuzzing))]
impl Default for InputArgs {
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

#[cfg(any(test, fuzzing))]
struct Collected<F>(Vec<RowRead<F>>);

#[cfg(any(test, fuzzing))]
impl<F> RowSink<F> for Collected<F> {
    fn row(&mut self, fingerprint: F, id: Option<u64>, key: Option<&str>) -> Result<(), Failure> {
        self.0.push((fingerprint, id, key.map(str::to_string)));
        Ok(())
    }

    fn keys(&self) -> Keys {
        Keys::Kept
    }
}

/// What the extension tells, that of a compression left out.
fn by_extension(path: &Path) -> InputFormat {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let bare = Path::new(Compression::strip(name));
    match bare.extension().and_then(|extension| extension.to_str()) {
        Some("u64") => InputFormat::U64,
        Some("u128") => InputFormat::U128,
        Some("u256") => InputFormat::U256,
        Some("csv") => InputFormat::Csv,
        Some("tsv") => InputFormat::Tsv,
        Some("jsonl") => InputFormat::Jsonl,
        Some("npy") => InputFormat::Npy,
        Some("parquet") => InputFormat::Parquet,
        _ => InputFormat::Text,
    }
}

/// Reads an id: decimal digits, up to 2^64 - 1.
fn parse_id(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| not_an_id(text))
}

fn not_an_id(text: &str) -> String {
    format!("{text:?} is no id (a number from 0 to 2^64 - 1)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_a_fingerprint_and_perhaps_an_id() {
        for (text, row) in [
            ("7", (7, None)),
            ("0xff", (255, None)),
            ("7\t1", (7, Some(1))),
            ("7,1", (7, Some(1))),
            ("7   1", (7, Some(1))),
            ("7, 1", (7, Some(1))),
            ("7 , 18446744073709551615", (7, Some(u64::MAX))),
        ] {
            assert_eq!(InputArgs::default().parse_line::<u64>(text), Ok(row), "{text}");
        }
        for text in ["x", "7 x", "7,", "7,,1", "7 1 2", "7 -1", "7 +1", "7;1", "-7", "7 18446744073709551616"]
        {
            assert!(InputArgs::default().parse_line::<u64>(text).is_err(), "{text}");
        }
    }
}
