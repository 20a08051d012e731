//! `nearprint export`

mod parquet;

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::failure::Failure;
use crate::input::npy_header;
use crate::output::{Format, Output, each_key};
use crate::width::{ForWidth, run_for};
use crate::{Global, values};
use nearprint::{Database, Error, Fingerprint, Row, Snapshot, U256, width_of};

/// Write all rows to a file
///
/// Prints `fingerprint id` for every row, sorted by (fingerprint, id). Databases with keys add a column: the
/// key, one line for each key of a row.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint export corpus.np -o rows.tsv
  nearprint export corpus.np -o rows.parquet --format parquet
  nearprint export corpus.np --prefix 00-3f -o shard0.tsv
  nearprint export corpus.np --format u64 | nearprint build copy.np --input-format u64")]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Where to write [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// How rows are written
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: ExportFormat,
    /// Only the rows whose fingerprint's leading byte is in a range, in hexadecimal: 00-3f, 3f
    #[arg(long, value_name = "BYTES", value_parser = values::prefix)]
    prefix: Option<RangeInclusive<u8>>,
    /// Only the rows of this id
    #[arg(long, value_name = "ID")]
    id: Option<u64>,
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// fingerprint, tab, id
    Tsv,
    /// One JSON object a line
    #[value(alias = "json")]
    Jsonl,
    /// The fingerprints alone, once for each row: raw numbers of 64 bits, the least significant byte first
    U64,
    /// The same of 128 bits
    U128,
    /// The same of 256 bits
    U256,
    /// The same as a NumPy array of uint64: shape (n,), or (n, 2) for 128 and (n, 4) for 256 bits, the least
    /// significant word of a fingerprint first
    Npy,
    /// The columns fingerprint, a number of 64 bits or a string of more, and id; with keys a third one of strings
    Parquet,
}

impl ExportFormat {
    /// Raw numbers are of one width.
    fn check_width<F: Fingerprint>(self) -> Result<(), Failure> {
        let bits = match self {
            Self::U64 => u64::BITS,
            Self::U128 => u128::BITS,
            Self::U256 => U256::BITS,
            _ => return Ok(()),
        };
        if bits == F::BITS {
            return Ok(());
        }
        let width = F::BITS;
        Err(Failure::Usage(format!(
            "--format u{bits}: the database has fingerprints of {width} bits, which are u{width}"
        )))
    }
}

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let width = width_of(&self.database)?;
        run_for(width, self, (), global)
    }
}

impl ForWidth<()> for Args {
    fn run_wide<F: Fingerprint>(self, (): (), global: Global) -> Result<(), Failure> {
        let snapshot = Database::<F>::open_with(&self.database, global.options())?.snapshot()?;
        self.format.check_width::<F>()?;
        if let Some(output) = &self.output {
            refuse_inside(output, &self.database)?;
        }
        if self.format == ExportFormat::Parquet {
            let with_keys = snapshot.key_storage().has_keys();
            let mut out = parquet::ParquetRows::create::<F>(self.output.as_deref(), with_keys)?;
            let known = [snapshot.clone()];
            self.rows(&snapshot, |row| each_key(&known, row, |key| out.push(row, key)))?;
            return Ok(out.finish()?);
        }
        let mut out = Output::create(self.output.as_deref())?;
        if self.format == ExportFormat::Npy {
            let mut count = 0;
            self.rows(&snapshot, |_| {
                count += 1;
                Ok::<(), Error>(())
            })?;
            out.write(|out| out.write_all(&npy_header::<F>(count)))?;
        }
        let known = [snapshot.clone()];
        let mut bytes = Vec::with_capacity(F::LEN_BYTES);
        self.rows(&snapshot, |row| {
            let format = match self.format {
                ExportFormat::Tsv => Format::Tsv,
                ExportFormat::Jsonl => Format::Json,
                _ => {
                    bytes.clear();
                    row.fingerprint.write_le(&mut bytes);
                    return out.write(|out| out.write_all(&bytes));
                }
            };
            each_key(&known, row, |key| out.write(|out| format.row(out, &row, key)))
        })?;
        Ok(out.flush()?)
    }
}

impl Args {
    /// Visits the rows that are wanted, in order.
    fn rows<F: Fingerprint, E: From<Error>>(
        &self,
        snapshot: &Snapshot<F>,
        mut visit: impl FnMut(Row<F>) -> Result<(), E>,
    ) -> Result<(), E> {
        let in_prefix = |row: &Row<F>| {
            let leading = row.fingerprint.bits(0, 8);
            let within = |prefix: &RangeInclusive<u8>| {
                (u64::from(*prefix.start())..=u64::from(*prefix.end())).contains(&leading)
            };
            self.prefix.as_ref().is_none_or(within)
        };
        snapshot.visit_rows(|row| {
            let wanted = in_prefix(&row) && self.id.is_none_or(|id| id == row.id);
            if wanted { visit(row) } else { Ok(()) }
        })
    }
}

/// A file of the database must not be written over: it is mapped, and the only copy.
fn refuse_inside(output: &Path, database: &Path) -> Result<(), Failure> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let same =
        |a: &Path, b: &Path| a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b);
    let inside = same(folder, database)
        || output.canonicalize().is_ok_and(|file| file.parent().is_some_and(|folder| same(folder, database)));
    if inside {
        return Err(Failure::Usage(format!(
            "{}: lies in the database; choose another place",
            output.display()
        )));
    }
    Ok(())
}
