//! `nearprint stats`

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::json;

use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::ResultFormat;
use nearprint::{AnyDatabase, Stats};

/// Print counts and sizes of a database
///
/// Prints a name and a value on each line. Reads no rows: the counts are at the ends of the files.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearprint stats corpus.np --format json")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Format of the results
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: ResultFormat,
}

impl Args {
    pub(super) fn run(self) -> Result<(), Failure> {
        let database = AnyDatabase::open(&self.database)?;
        let (stats, recipe) = (database.stats()?, database.recipe()?);
        let mut out = OutputStream::stdout();
        out.write(|out| match self.format {
            ResultFormat::Tsv => write_lines(out, &stats, recipe.as_deref()),
            ResultFormat::Json => write_json(out, &stats, recipe.as_deref()),
        })?;
        Ok(out.flush()?)
    }
}

fn write_lines(out: &mut dyn Write, stats: &Stats, recipe: Option<&str>) -> io::Result<()> {
    let per_row = stats.bytes as f64 / stats.rows.max(1) as f64;
    writeln!(out, "rows\t{}", stats.rows)?;
    writeln!(out, "fingerprints\t{}", stats.fingerprints)?;
    writeln!(out, "width\t{}", stats.width)?;
    writeln!(out, "k\t{}", stats.k)?;
    writeln!(out, "layout\t{}", stats.layout)?;
    writeln!(out, "keys\t{}", stats.keys)?;
    writeln!(out, "recipe\t{}", recipe.unwrap_or("none"))?;
    writeln!(out, "largest_id\t{}", stats.largest_id.map_or("none".into(), |id| id.to_string()))?;
    writeln!(out, "generation\t{}", stats.generation)?;
    writeln!(out, "database_id\t{}", stats.database_id)?;
    writeln!(out, "bytes\t{}", stats.bytes)?;
    writeln!(out, "bytes_per_row\t{per_row:.2}")?;
    for (name, bytes) in &stats.sections {
        writeln!(out, "bytes_{name}\t{bytes}")?;
    }
    writeln!(out, "runs\t{}", stats.runs.len())?;
    for run in &stats.runs {
        writeln!(
            out,
            "run_{}\t{}, {} rows, {} fingerprints, ids {} to {}, {} bytes",
            run.run, run.layout, run.rows, run.fingerprints, run.smallest_id, run.largest_id, run.bytes
        )?;
    }
    Ok(())
}

fn write_json(out: &mut dyn Write, stats: &Stats, recipe: Option<&str>) -> io::Result<()> {
    let sections: serde_json::Map<_, _> =
        stats.sections.iter().map(|(name, bytes)| ((*name).to_string(), json!(bytes))).collect();
    let runs: Vec<_> = stats
        .runs
        .iter()
        .map(|run| {
            json!({
                "run": run.run,
                "layout": run.layout.to_string(),
                "rows": run.rows,
                "fingerprints": run.fingerprints,
                "smallest_id": run.smallest_id,
                "largest_id": run.largest_id,
                "bytes": run.bytes,
            })
        })
        .collect();
    let object = json!({
        "rows": stats.rows,
        "fingerprints": stats.fingerprints,
        "width": stats.width.bits(),
        "k": stats.k,
        "layout": stats.layout.to_string(),
        "keys": stats.keys.to_string(),
        "recipe": recipe,
        "largest_id": stats.largest_id,
        "generation": stats.generation,
        "database_id": stats.database_id,
        "bytes": stats.bytes,
        "sections": sections,
        "runs": runs,
    });
    writeln!(out, "{object}")
}
