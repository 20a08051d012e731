//! Files of fingerprints in all formats: text lines, raw numbers, CSV and TSV, JSON lines, NumPy
//! arrays, Parquet.
//!
//! Each format has a module with a function `read`. It passes the rows of one input to a
//! [`RowSink`].

mod csv;
mod jsonl;
mod list;
mod npy;
mod parquet;
mod raw;
mod stream;
mod text;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::args::{FingerprintArgs, FingerprintFormat};
use crate::terminal::failure::Failure;
use nearprint::{Fingerprint, MAX_KEY_BYTES, U256};
use nearprint_text::documents::Compression;
use stream::{InputStream, LineError};

pub(crate) use list::{read_fingerprints, read_rows};
pub(crate) use npy::npy_header;
pub(crate) use text::read_ids;

/// Receives the rows of an input.
pub(crate) trait RowSink<F> {
    /// The next row. `None` if the input has no id, or no key, for it.
    fn row(&mut self, fingerprint: F, id: Option<u64>, key: Option<&str>) -> Result<(), Failure>;

    /// What happens to keys.
    fn key_policy(&self) -> KeyPolicy {
        KeyPolicy::Ignore
    }

    /// The reader is about to wait for input. A sink that collects rows processes them now.
    fn idle(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// What happens to the keys of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPolicy {
    /// The sink receives them.
    Keep,
    /// They are skipped.
    Ignore,
    /// The database cannot store them. A column that a header or JSON names as the key is skipped,
    /// since it may be meant for another program. A key column without a name is an error.
    Refuse,
}

impl KeyPolicy {
    /// The policy of a database that stores keys or does not.
    pub(crate) fn keep_if(stores_keys: bool) -> Self {
        if stores_keys { Self::Keep } else { Self::Refuse }
    }
}

impl<F, T: FnMut(F, Option<u64>) -> Result<(), Failure>> RowSink<F> for T {
    fn row(&mut self, fingerprint: F, id: Option<u64>, _: Option<&str>) -> Result<(), Failure> {
        self(fingerprint, id)
    }
}

/// A row of an input.
struct InputRow<'a, F> {
    fingerprint: F,
    id: Option<u64>,
    /// An empty key is no key.
    key: Option<Cow<'a, str>>,
    /// Whether the input names its columns or fields.
    has_names: bool,
}

impl<F> InputRow<'_, F> {
    /// Passes the row to a sink, with its key if the sink keeps keys.
    fn send_to(self, sink: &mut dyn RowSink<F>) -> Result<(), LineError> {
        let key = self.key.as_deref().filter(|key| !key.is_empty());
        let key = match (sink.key_policy(), key) {
            (KeyPolicy::Keep, Some(key)) if key.len() > MAX_KEY_BYTES => {
                return Err(format!("a key of more than {MAX_KEY_BYTES} bytes").into());
            }
            (KeyPolicy::Keep, key) => key,
            (KeyPolicy::Refuse, Some(_)) if !self.has_names => {
                let why = "a column of keys, but the database stores none (create it with --keys)";
                return Err(why.to_string().into());
            }
            _ => None,
        };
        Ok(sink.row(self.fingerprint, self.id, key)?)
    }
}

/// The default name of the column or field of keys.
const DEFAULT_KEY_FIELD: &str = "key";

/// Reads all inputs in their order, or standard input if there are none.
pub(crate) fn read_all<F: Fingerprint>(
    args: &FingerprintArgs,
    inputs: &[PathBuf],
    sink: &mut dyn RowSink<F>,
) -> Result<(), Failure> {
    if inputs.is_empty() {
        return read(args, Path::new("-"), sink);
    }
    inputs.iter().try_for_each(|input| read(args, input, sink))
}

fn read<F: Fingerprint>(
    args: &FingerprintArgs,
    path: &Path,
    sink: &mut dyn RowSink<F>,
) -> Result<(), Failure> {
    let format = args.input_format.unwrap_or_else(|| by_extension(path));
    if !args.columns.is_empty() && !matches!(format, FingerprintFormat::Csv | FingerprintFormat::Tsv) {
        let why = "--columns is for CSV and TSV only; --input-format can set the format";
        return Err(Failure::Usage(format!("{}: {why}", path.display())));
    }
    if format == FingerprintFormat::Parquet {
        return parquet::read(args, path, sink);
    }
    let is_raw = matches!(format, FingerprintFormat::U64 | FingerprintFormat::U128 | FingerprintFormat::U256);
    let input = if is_raw { InputStream::open_raw(path)? } else { InputStream::open(path)? };
    read_stream(args, format, input, sink)
}

fn read_stream<F: Fingerprint>(
    args: &FingerprintArgs,
    format: FingerprintFormat,
    mut input: InputStream,
    sink: &mut dyn RowSink<F>,
) -> Result<(), Failure> {
    match format {
        FingerprintFormat::Text => text::read(args, input, sink),
        FingerprintFormat::U64 => raw::read(&mut input, u64::BITS, sink),
        FingerprintFormat::U128 => raw::read(&mut input, u128::BITS, sink),
        FingerprintFormat::U256 => raw::read(&mut input, U256::BITS, sink),
        FingerprintFormat::Csv => csv::read(args, input, ',', sink),
        FingerprintFormat::Tsv => csv::read(args, input, '\t', sink),
        FingerprintFormat::Jsonl => jsonl::read(args, input, sink),
        FingerprintFormat::Npy => npy::read(&mut input, sink),
        FingerprintFormat::Parquet => Err(input.bad_line("Parquet has to be in a file", "")),
    }
}

/// The format of an extension. An extension of a compression is skipped.
fn by_extension(path: &Path) -> FingerprintFormat {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let bare = Path::new(Compression::strip(name));
    match bare.extension().and_then(|extension| extension.to_str()) {
        Some("u64") => FingerprintFormat::U64,
        Some("u128") => FingerprintFormat::U128,
        Some("u256") => FingerprintFormat::U256,
        Some("csv") => FingerprintFormat::Csv,
        Some("tsv") => FingerprintFormat::Tsv,
        Some("jsonl") => FingerprintFormat::Jsonl,
        Some("npy") => FingerprintFormat::Npy,
        Some("parquet") => FingerprintFormat::Parquet,
        _ => FingerprintFormat::Text,
    }
}

/// Parses an id: decimal digits, up to 2^64 - 1.
fn parse_id(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| not_an_id(text))
}

fn not_an_id(text: &str) -> String {
    format!("{text:?} is no id (a number from 0 to 2^64 - 1)")
}

/// A fingerprint and, if the input has them, its id and key.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) type RowRead<F> = (F, Option<u64>, Option<String>);

/// Reads bytes as a file of a format. Returns the rows before the first bad one, and what is wrong
/// with that.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_bytes<F: Fingerprint>(
    format: FingerprintFormat,
    bytes: Vec<u8>,
) -> (Vec<RowRead<F>>, Result<(), String>) {
    let mut rows = CollectedRows(Vec::new());
    let end = read_stream(&FingerprintArgs::default(), format, InputStream::of_bytes(bytes), &mut rows);
    (rows.0, end.map_err(|failure| format!("{failure:?}")))
}

#[cfg(any(test, feature = "fuzzing"))]
struct CollectedRows<F>(Vec<RowRead<F>>);

#[cfg(any(test, feature = "fuzzing"))]
impl<F> RowSink<F> for CollectedRows<F> {
    fn row(&mut self, fingerprint: F, id: Option<u64>, key: Option<&str>) -> Result<(), Failure> {
        self.0.push((fingerprint, id, key.map(str::to_string)));
        Ok(())
    }

    fn key_policy(&self) -> KeyPolicy {
        KeyPolicy::Keep
    }
}
