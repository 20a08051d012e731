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
mod opened;
#[cfg(feature = "parquet")]
mod parquet;
mod raw;
mod rows;
mod stream;
mod text;

use std::path::{Path, PathBuf};

use crate::args::{FingerprintArgs, FingerprintFormat};
use crate::terminal::failure::Failure;
use nearprint::Fingerprint;
#[cfg(any(test, feature = "fuzzing"))]
use stream::InputStream;

pub(crate) use keys::{KeyEnd, read_keys};
pub(crate) use list::List;
pub(crate) use npy::npy_header;
use opened::{OpenedInput, by_extension};
pub(crate) use rows::{Description, KeyPolicy, RowSink, store};
pub(crate) use text::read_ids;

/// Reads all inputs in their order, or standard input if there are none.
pub(crate) fn read_all<F: Fingerprint>(
    args: &FingerprintArgs,
    inputs: &[PathBuf],
    sink: &mut dyn RowSink<F>,
) -> Result<(), Failure> {
    Inputs::new(inputs).read(args, sink)
}

/// Inputs in their order.
pub(crate) struct Inputs<'a> {
    /// The first input, if it is open.
    first: Option<OpenedInput>,
    /// The others.
    rest: Vec<&'a Path>,
}

impl<'a> Inputs<'a> {
    fn new(inputs: &'a [PathBuf]) -> Self {
        let inputs = inputs.iter().map(PathBuf::as_path);
        let rest: Vec<&Path> = inputs.collect();
        Self { first: None, rest: if rest.is_empty() { vec![Path::new("-")] } else { rest } }
    }

    /// Opens the first input, unless it is Parquet, and reads what it says about its rows.
    pub(crate) fn open(args: &FingerprintArgs, inputs: &'a [PathBuf]) -> Result<Self, Failure> {
        let mut opened = Self::new(inputs);
        if !is_parquet(args, opened.rest[0]) {
            opened.first = Some(OpenedInput::open(args, opened.rest.remove(0))?);
        }
        Ok(opened)
    }

    /// What the first input says about its rows.
    pub(crate) fn description(&self) -> Description {
        self.first.as_ref().map(|first| first.description.clone()).unwrap_or_default()
    }

    /// Passes the rows to a sink.
    pub(crate) fn read<F: Fingerprint>(
        self,
        args: &FingerprintArgs,
        sink: &mut dyn RowSink<F>,
    ) -> Result<(), Failure> {
        if let Some(first) = self.first {
            first.read(args, sink)?;
        }
        self.rest.iter().try_for_each(|path| match is_parquet(args, path) {
            true => {
                sink.described(&Description::default())?;
                #[cfg(feature = "parquet")]
                return parquet::read(args, path, sink);
                #[cfg(not(feature = "parquet"))]
                Err(Failure::without_feature("parquet"))
            }
            false => OpenedInput::open(args, path)?.read(args, sink),
        })
    }
}

fn is_parquet(args: &FingerprintArgs, path: &Path) -> bool {
    let format = args.input_format.or_else(|| by_extension(path));
    args.columns.is_empty() && format == Some(FingerprintFormat::Parquet)
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
    let (args, input) = (FingerprintArgs::default(), InputStream::of_bytes(bytes));
    let end =
        OpenedInput::of_stream(&args, Some(format), input).and_then(|input| input.read(&args, &mut rows));
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
