//! `nearprint export`

#[cfg(feature = "parquet")]
mod parquet;

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::args::{BaseArgs, GlobalArgs, values};
use crate::input::fingerprints::npy_header;
use crate::row_header::RowHeader;
use crate::terminal::failure::Failure;
use crate::terminal::interrupt;
use crate::terminal::output::OutputStream;
use crate::terminal::results::{ResultFormat, each_key};
use nearprint::any::{AnyFingerprint, AnyRow, AnySnapshot};
use nearprint::{Error, Row, Width};
use nearprint_text::documents::{Compression, LineFile, check_outputs};
use nearprint_text::internal::{WrittenFormat, push_cell};
#[cfg(feature = "parquet")]
use parquet::ParquetExport;

/// Write rows to a file
///
/// Writes `fingerprint id` for every row, sorted by (fingerprint, id). Databases with keys add a column, the key, and
/// there is a line for each key of a row.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint export corpus.np -o rows.tsv
  nearprint export corpus.np -o rows.parquet
  nearprint export corpus.np -o rows.csv
  nearprint export corpus.np --range 00-3f -o shard0.tsv
  nearprint export corpus.np --header | nearprint build copy.np -
  nearprint export corpus.np --format u64 | nearprint build copy.np --input-format u64")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Format of the rows [default: that of the name of OUT, else tsv]
    #[arg(long, value_name = "FORMAT")]
    format: Option<ExportFormat>,
    /// Begin TSV and JSON lines with a line for `build`, `add` and `query`: the width, the distance and the recipe. In
    /// TSV, a line with the names of the columns follows
    #[arg(long)]
    header: bool,
    #[command(flatten)]
    base: BaseArgs,
    /// Only rows whose fingerprint has its first byte in this range, in hexadecimal: 00-3f or 3f
    #[arg(long, value_name = "BYTES", value_parser = values::leading_bytes)]
    range: Option<RangeInclusive<u8>>,
    /// Only rows with this id
    #[arg(long, value_name = "ID")]
    id: Option<u64>,
}

/// The format of exported rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// fingerprint, tab, id
    Tsv,
    /// Comma-separated, with a header; keys are quoted, not escaped, and an empty key looks like none
    Csv,
    /// One JSON object a line
    #[value(alias = "json")]
    Jsonl,
    /// Only the fingerprints, one for each row: raw 64-bit numbers, the least significant byte
    /// first
    U64,
    /// The same for 128 bits
    U128,
    /// The same for 256 bits
    U256,
    /// The same for 320 bits
    U320,
    /// The same as a NumPy array of uint64: shape (n,), or (n, 2) for 128, (n, 4) for 256 and (n, 5) for
    /// 320 bits, the least significant word of a fingerprint first
    Npy,
    /// Columns fingerprint (a 64-bit number, or a string for wider ones) and id, and a column key
    /// if there are keys
    Parquet,
}

/// The names of the columns.
fn columns_of(snapshot: &AnySnapshot) -> &'static [&'static str] {
    let columns = &["fingerprint", "id", "key"];
    if snapshot.key_storage().has_keys() { columns } else { &columns[..2] }
}

impl ExportFormat {
    /// The format that a name denotes.
    fn named(path: &Path) -> Option<Self> {
        match WrittenFormat::named(path)? {
            WrittenFormat::Tsv => Some(Self::Tsv),
            WrittenFormat::Csv => Some(Self::Csv),
            WrittenFormat::Jsonl => Some(Self::Jsonl),
            WrittenFormat::Npy => Some(Self::Npy),
            WrittenFormat::Parquet => Some(Self::Parquet),
            WrittenFormat::Raw(64) => Some(Self::U64),
            WrittenFormat::Raw(128) => Some(Self::U128),
            WrittenFormat::Raw(256) => Some(Self::U256),
            WrittenFormat::Raw(_) => Some(Self::U320),
            _ => None,
        }
    }

    /// What is written.
    fn written(self) -> WrittenFormat {
        match self {
            Self::Tsv => WrittenFormat::Tsv,
            Self::Csv => WrittenFormat::Csv,
            Self::Jsonl => WrittenFormat::Jsonl,
            Self::U64 => WrittenFormat::Raw(64),
            Self::U128 => WrittenFormat::Raw(128),
            Self::U256 => WrittenFormat::Raw(256),
            Self::U320 => WrittenFormat::Raw(320),
            Self::Npy => WrittenFormat::Npy,
            Self::Parquet => WrittenFormat::Parquet,
        }
    }

    /// Fails if this is the format of raw numbers of another width.
    fn check_width(self, width: Width) -> Result<(), Failure> {
        let written = match self {
            Self::U64 => Width::W64,
            Self::U128 => Width::W128,
            Self::U256 => Width::W256,
            Self::U320 => Width::W320,
            _ => return Ok(()),
        };
        if written == width {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "u{written}: the database has fingerprints of {width} bits; give u{width}"
        )))
    }
}

/// Where rows go: a file whose name ends in `.gz` or the like is compressed.
enum RowFile {
    Plain(OutputStream),
    Compressed { file: Box<LineFile>, row: Vec<u8> },
}

impl RowFile {
    fn create(path: Option<&Path>) -> nearprint_text::Result<Self> {
        Ok(match path.filter(|path| Compression::of(path).is_some()) {
            Some(path) => Self::Compressed { file: Box::new(LineFile::create(path)?), row: Vec::new() },
            None => Self::Plain(OutputStream::create(path)?),
        })
    }

    /// Writes one row or more.
    fn write(
        &mut self,
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> nearprint_text::Result<()> {
        match self {
            Self::Plain(out) => Ok(out.write(write)?),
            Self::Compressed { file, row } => {
                row.clear();
                write(row).map_err(Error::io("write", "a row"))?;
                file.append(row).map(drop)
            }
        }
    }

    fn finish(self) -> nearprint_text::Result<()> {
        match self {
            Self::Plain(out) => out.finish(),
            Self::Compressed { file, .. } => file.finish(),
        }
    }
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let snapshot = global.options().open_any(&self.database)?.snapshot()?;
        let format = self.format();
        format.check_width(snapshot.width())?;
        self.base.check(snapshot.width())?;
        if self.header && !matches!(format, ExportFormat::Tsv | ExportFormat::Jsonl) {
            return Err(Failure::Usage("--header is for tsv and jsonl".into()));
        }
        if let Some(output) = &self.output {
            match format {
                ExportFormat::Tsv | ExportFormat::Csv | ExportFormat::Jsonl => {
                    format.written().check(output)?
                }
                _ => format.written().check_uncompressed(output)?,
            }
            check_outputs([("--output", &**output)], &[], &[&self.database])?;
        }
        let output = self.output.as_deref();
        // Rows in a pipe stay. An unfinished file is removed.
        interrupt::set_cancellable(output.is_some_and(|output| output != Path::new("-")));
        let written = self.write(&snapshot, output);
        interrupt::set_cancellable(false);
        written
    }

    /// The format of `--format`, else of the name of the file, else TSV.
    fn format(&self) -> ExportFormat {
        let named = || ExportFormat::named(self.output.as_deref()?);
        self.format.or_else(named).unwrap_or(ExportFormat::Tsv)
    }

    /// Writes the rows to a file, or to standard output.
    fn write(&self, snapshot: &AnySnapshot, path: Option<&Path>) -> Result<(), Failure> {
        match self.format() {
            ExportFormat::Tsv => self.write_lines(snapshot, path, ResultFormat::Tsv),
            ExportFormat::Csv => self.write_csv(snapshot, path),
            ExportFormat::Jsonl => self.write_lines(snapshot, path, ResultFormat::Json),
            ExportFormat::U64
            | ExportFormat::U128
            | ExportFormat::U256
            | ExportFormat::U320
            | ExportFormat::Npy => self.write_raw(snapshot, path),
            #[cfg(feature = "parquet")]
            ExportFormat::Parquet => self.write_parquet(snapshot, path),
            #[cfg(not(feature = "parquet"))]
            ExportFormat::Parquet => Err(Failure::without_feature("parquet")),
        }
    }

    fn write_lines(
        &self,
        snapshot: &AnySnapshot,
        path: Option<&Path>,
        format: ResultFormat,
    ) -> Result<(), Failure> {
        let mut out = RowFile::create(path)?;
        if self.header {
            let recipe = snapshot.recipe().map(str::to_string);
            let header = RowHeader { width: Some(snapshot.width()), k: Some(snapshot.default_k()), recipe };
            out.write(|out| header.write(format, out, columns_of(snapshot)))?;
        }
        let snapshots = [snapshot.clone()];
        self.visit_rows(snapshot, |row| {
            each_key(&snapshots, row, |key| {
                out.write(|out| format.row(out, (self.base.printed(row.fingerprint), row.id), key))
            })
        })?;
        Ok(out.finish()?)
    }

    fn write_csv(&self, snapshot: &AnySnapshot, path: Option<&Path>) -> Result<(), Failure> {
        let mut out = RowFile::create(path)?;
        out.write(|out| writeln!(out, "{}", columns_of(snapshot).join(",")))?;
        let (snapshots, mut cell) = ([snapshot.clone()], Vec::new());
        self.visit_rows(snapshot, |row| {
            each_key(&snapshots, row, |key| {
                cell.clear();
                if let Some(key) = key {
                    cell.push(b',');
                    push_cell(key.unwrap_or_default(), b',', &mut cell);
                }
                cell.push(b'\n');
                out.write(|out| {
                    write!(out, "{},{}", self.base.printed(row.fingerprint), row.id)?;
                    out.write_all(&cell)
                })
            })
        })?;
        Ok(out.finish()?)
    }

    /// Writes raw fingerprints, for NumPy after a header.
    fn write_raw(&self, snapshot: &AnySnapshot, path: Option<&Path>) -> Result<(), Failure> {
        let mut out = OutputStream::create(path)?;
        if self.format() == ExportFormat::Npy {
            let mut count = 0;
            self.visit_rows(snapshot, |_| {
                count += 1;
                Ok::<(), Error>(())
            })?;
            out.write(|out| out.write_all(&npy_header(snapshot.width(), count)))?;
        }
        self.visit_rows(snapshot, |row| {
            let words = row.fingerprint.words().iter();
            out.write(|out| words.map(|word| word.to_le_bytes()).try_for_each(|bytes| out.write_all(&bytes)))
        })?;
        Ok(out.finish()?)
    }

    #[cfg(feature = "parquet")]
    fn write_parquet(&self, snapshot: &AnySnapshot, path: Option<&Path>) -> Result<(), Failure> {
        let with_keys = snapshot.key_storage().has_keys();
        crate::terminal::stdout::check_outputs([path.unwrap_or(Path::new("-"))])?;
        let mut table = ParquetExport::create(snapshot.width(), path, with_keys)?;
        let snapshots = [snapshot.clone()];
        self.visit_rows(snapshot, |row| each_key(&snapshots, row, |key| table.push(row, key.flatten())))?;
        Ok(table.finish()?)
    }

    /// Visits the rows that `--range` and `--id` select, in order. A signal ends it.
    fn visit_rows<E: From<Error>>(
        &self,
        snapshot: &AnySnapshot,
        mut visit: impl FnMut(Row<AnyFingerprint>) -> Result<(), E>,
    ) -> Result<(), E> {
        let leading = |row: &AnyRow<'_>| row.fingerprint.last().map(|word| word.to_be_bytes()[0]);
        let in_range = |row: &AnyRow<'_>| {
            self.range.as_ref().zip(leading(row)).is_none_or(|(range, leading)| range.contains(&leading))
        };
        let is_selected = |row: &AnyRow<'_>| in_range(row) && self.id.is_none_or(|id| id == row.id);
        snapshot.rows()?.visit(|block| {
            if interrupt::check().is_break() {
                return Err(Error::Interrupted.into());
            }
            block.rows().filter(is_selected).try_for_each(|row| visit(row.row()))
        })
    }
}
