//! Files of fingerprints in all formats: text lines, raw numbers, CSV and TSV, JSON lines, NumPy
//! arrays, Parquet.
//!
//! Each format has a module with a function `read`. It passes the rows of one input to a
//! [`RowSink`].

mod csv;
mod holds;
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
use nearprint::Width;
#[cfg(any(test, feature = "fuzzing"))]
use {nearprint::any::AnyFingerprint, stream::InputStream};

pub(crate) use holds::holds_fingerprints;
pub(crate) use keys::{KeyEnd, read_keys};
pub(crate) use list::List;
pub(crate) use npy::npy_header;
use opened::{OpenedInput, by_extension};
pub(crate) use rows::{Description, DroppedKeys, KeyPolicy, RowSink, store};
pub(crate) use text::read_ids;

/// Reads all inputs in their order, or standard input if there are none.
pub(crate) fn read_all(
    how: (&FingerprintArgs, Width),
    inputs: &[PathBuf],
    sink: &mut dyn RowSink,
) -> Result<(), Failure> {
    Inputs::new(inputs).read(how, sink)
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

    /// Passes the rows, whose fingerprints have a width, to a sink.
    pub(crate) fn read(self, how: (&FingerprintArgs, Width), sink: &mut dyn RowSink) -> Result<(), Failure> {
        if let Some(first) = self.first {
            first.read(how, sink)?;
        }
        self.rest.iter().try_for_each(|path| match is_parquet(how.0, path) {
            true => {
                sink.described(&Description::default())?;
                #[cfg(feature = "parquet")]
                return parquet::read(how, path, sink);
                #[cfg(not(feature = "parquet"))]
                Err(Failure::without_feature("parquet"))
            }
            false => OpenedInput::open(how.0, path)?.read(how, sink),
        })
    }
}

fn is_parquet(args: &FingerprintArgs, path: &Path) -> bool {
    let format = args.input_format.or_else(|| by_extension(path));
    args.columns.is_empty() && format == Some(FingerprintFormat::Parquet)
}

/// A fingerprint and, if the input has them, its id and key.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) type RowRead = (AnyFingerprint, Option<u64>, Option<String>);

/// Reads bytes as a file of a format. Returns the rows before the first bad one, and what is wrong
/// with that.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_bytes(
    width: Width,
    format: FingerprintFormat,
    bytes: Vec<u8>,
) -> (Vec<RowRead>, Result<(), String>) {
    let mut rows = CollectedRows(Vec::new());
    let (args, input) = (FingerprintArgs::default(), InputStream::of_bytes(bytes));
    let end = OpenedInput::of_stream(&args, Some(format), input)
        .and_then(|input| input.read((&args, width), &mut rows));
    (rows.0, end.map_err(|failure| format!("{failure:?}")))
}

#[cfg(any(test, feature = "fuzzing"))]
struct CollectedRows(Vec<RowRead>);

#[cfg(any(test, feature = "fuzzing"))]
impl RowSink for CollectedRows {
    fn row(
        &mut self,
        fingerprint: AnyFingerprint,
        id: Option<u64>,
        key: Option<&str>,
    ) -> Result<(), Failure> {
        self.0.push((fingerprint, id, key.map(str::to_string)));
        Ok(())
    }

    fn key_policy(&self) -> KeyPolicy {
        KeyPolicy::Keep
    }
}
