//! `nearprint export`

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::Global;
use super::failure::Failure;
use super::output::{Format, Output, each_key};
use crate::Database;

/// Write all rows to a file
///
/// Prints `fingerprint id` for every row, sorted by (fingerprint, id). Databases with keys add a column: the
/// key, one line for each key of a row.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint export corpus.np -o rows.tsv
  nearprint export corpus.np --format u64 | nearprint build copy.np --input-format u64")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Where to write [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// How rows are written
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: ExportFormat,
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
    /// The fingerprints alone, as raw 64-bit little-endian numbers, once for each row
    U64,
}

impl Args {
    pub(super) fn run(self, global: Global) -> Result<(), Failure> {
        let snapshot = Database::<u64>::open_with(&self.database, global.options())?.snapshot()?;
        if let Some(output) = &self.output {
            refuse_inside(output, &self.database)?;
        }
        let mut out = Output::create(self.output.as_deref())?;
        let known = [snapshot.clone()];
        snapshot.rows(|row| {
            if self.id.is_some_and(|id| id != row.id) {
                return Ok(());
            }
            if self.format == ExportFormat::U64 {
                return out.write(|out| out.write_all(&row.fingerprint.to_le_bytes()));
            }
            let format = if self.format == ExportFormat::Tsv { Format::Tsv } else { Format::Json };
            each_key(&known, row, |key| out.write(|out| format.row(out, &row, key)))
        })?;
        Ok(out.flush()?)
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
