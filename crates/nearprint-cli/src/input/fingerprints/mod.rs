//! Files of fingerprints in all formats: text lines, raw numbers, CSV and TSV, JSON lines, NumPy
//! arrays, Parquet.
//!
//! Each format has a module with a function `read`. It passes the rows of one input to a
//! [`RowSink`].

mod csv;
mod jsonl;
mod keys;
mod list;
mod npy;
mod parquet;
mod raw;
mod rows;
mod stream;
mod text;

use std::path::{Path, PathBuf};

use crate::args::{FingerprintArgs, FingerprintFormat};
use crate::terminal::failure::Failure;
use nearprint::{Fingerprint, U256};
use nearprint_text::documents::Compression;
use stream::InputStream;

pub(crate) use keys::{KeyEnd, read_keys};
pub(crate) use list::{read_fingerprints, read_rows};
pub(crate) use npy::npy_header;
pub(crate) use rows::{KeyPolicy, RowSink, store};
pub(crate) use text::read_ids;

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
