//! `nearprint stats`

mod facts;
mod prometheus;

use std::path::PathBuf;

use clap::ValueEnum;

use crate::args::GlobalArgs;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use facts::Facts;
use nearprint::LeftOutRows;

/// Show counts, sizes and settings
///
/// Prints a name and a value on each line. Reads no rows, unless --count is given: the counts are at
/// the ends of the files.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint stats corpus.np --json
  nearprint stats corpus.np --format prometheus > corpus.prom")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Format of the results
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: StatsFormat,
    /// Print JSON, as --format json does
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Count live and deleted rows, which reads all rows where there are several runs
    #[arg(long)]
    count: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StatsFormat {
    /// A name, a tab and a value on each line
    Tsv,
    /// One object
    Json,
    /// The text format that Prometheus reads, such as from a file of node_exporter
    Prometheus,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let bars = global.bars();
        let database = global.options().progress(bars.clone()).open_any(&self.database)?;
        let snapshot = database.snapshot()?;
        let stats = snapshot.stats();
        let live_rows = match self.count {
            true => Some(bars.run_cancellable(|| snapshot.count_rows())?),
            false => stats.live_rows,
        };
        let recipe = snapshot.recipe().map(str::to_string);
        let left_out = LeftOutRows::open(&self.database, &global.options())?;
        let count = |rows: LeftOutRows| if self.count { rows.count() } else { Ok(rows.rows()) };
        let left_out = left_out.map(count).transpose()?;
        let facts = Facts { stats, recipe, activity: database.activity()?, live_rows, left_out };
        let mut out = OutputStream::stdout();
        let format = if self.json { StatsFormat::Json } else { self.format };
        out.write(|out| match format {
            StatsFormat::Tsv => facts.write_lines(out),
            StatsFormat::Json => facts.write_json(out),
            StatsFormat::Prometheus => prometheus::write(out, &self.database, &facts),
        })?;
        out.flush()?;
        if facts.live_rows.is_none() {
            global.note(format_args!("--count counts live_rows and dead_rows"));
        }
        Ok(())
    }
}
