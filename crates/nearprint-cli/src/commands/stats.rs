//! `nearprint stats`

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::ResultFormat;
use nearprint::{AnyDatabase, RunStats, Stats};

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

/// The names and values that both formats share.
fn facts(stats: &Stats, recipe: Option<&str>) -> [(&'static str, Value); 11] {
    [
        ("rows", json!(stats.rows)),
        ("fingerprints", json!(stats.fingerprints)),
        ("width", json!(stats.width.bits())),
        ("k", json!(stats.k)),
        ("layout", json!(stats.layout.to_string())),
        ("keys", json!(stats.keys.to_string())),
        ("recipe", json!(recipe)),
        ("largest_id", json!(stats.largest_id)),
        ("generation", json!(stats.generation)),
        ("database_id", json!(stats.database_id)),
        ("bytes", json!(stats.bytes)),
    ]
}

fn write_lines(out: &mut dyn Write, stats: &Stats, recipe: Option<&str>) -> io::Result<()> {
    for (name, value) in facts(stats, recipe) {
        match value {
            Value::Null => writeln!(out, "{name}\tnone")?,
            Value::String(text) => writeln!(out, "{name}\t{text}")?,
            number => writeln!(out, "{name}\t{number}")?,
        }
    }
    writeln!(out, "bytes_per_row\t{:.2}", stats.bytes as f64 / stats.rows.max(1) as f64)?;
    for (name, bytes) in &stats.sections {
        writeln!(out, "bytes_{name}\t{bytes}")?;
    }
    writeln!(out, "runs\t{}", stats.runs.len())?;
    for RunStats { run, layout, rows, fingerprints, smallest_id, largest_id, bytes, .. } in &stats.runs {
        writeln!(
            out,
            "run_{run}\t{layout}, {rows} rows, {fingerprints} fingerprints, ids {smallest_id} to {largest_id}, {bytes} bytes"
        )?;
    }
    Ok(())
}

fn write_json(out: &mut dyn Write, stats: &Stats, recipe: Option<&str>) -> io::Result<()> {
    let mut object = Map::from_iter(facts(stats, recipe).map(|(name, value)| (name.to_string(), value)));
    let sections = stats.sections.iter().map(|(name, bytes)| ((*name).to_string(), json!(bytes)));
    object.insert("sections".into(), sections.collect());
    let run = |run: &RunStats| {
        json!({
            "run": run.run,
            "layout": run.layout.to_string(),
            "rows": run.rows,
            "fingerprints": run.fingerprints,
            "smallest_id": run.smallest_id,
            "largest_id": run.largest_id,
            "bytes": run.bytes,
        })
    };
    object.insert("runs".into(), stats.runs.iter().map(run).collect());
    writeln!(out, "{}", Value::Object(object))
}
