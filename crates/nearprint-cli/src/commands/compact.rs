//! `nearprint compact`

use std::path::PathBuf;
use std::time::Instant;

use crate::args::{GlobalArgs, SummaryArgs, WriterArgs, values};
use crate::terminal::failure::Failure;
use serde_json::json;

/// Reclaim the space of deleted rows
///
/// Merges all runs into one, which queries search fastest. `add` also merges runs, but only as far as queries need it.
/// Readers are not disturbed. The command needs disk space for a second copy of the database. With less, it rewrites
/// runs one by one without their deleted rows, the smallest first. It fails if that does not free enough space.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearprint compact corpus.np")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Memory to use: 512M, 6G, …
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = values::size)]
    memory: usize,
    #[command(flatten)]
    summary: SummaryArgs,
    #[command(flatten)]
    writer: WriterArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let started = Instant::now();
        self.summary.check(&[&self.database], &[&self.database])?;
        let bars = global.bars();
        let options = self.writer.options(global).memory_bytes(self.memory).progress(bars.clone());
        let database = options.open_any(&self.database)?;
        bars.run_cancellable(|| database.compact())?;
        let stats = database.stats()?;
        let (rows, bytes, seconds) = (stats.rows, stats.bytes, started.elapsed().as_secs_f64());
        let (path, megabytes) = (self.database.display(), bytes as f64 / 1e6);
        let text = format_args!("compacted {path}: {rows} rows, {megabytes:.1} MB, {seconds:.1} s");
        Ok(self.summary.note(global, text, json!({ "rows": rows, "bytes": bytes, "seconds": seconds }))?)
    }
}
