//! `nearprint compact`

use std::path::PathBuf;
use std::time::Instant;

use crate::args::{GlobalArgs, WriterArgs, values};
use crate::terminal::failure::Failure;

/// Merge all runs into one
///
/// Queries are fastest on one run, and deleted rows no longer take space. Adding rows merges runs
/// as well, but only as far as queries need it. Readers are not disturbed. Needs disk space
/// for a second copy of the database.
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
    writer: WriterArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let started = Instant::now();
        let bars = global.bars();
        let options = self.writer.options(global).memory_bytes(self.memory).progress(bars.clone());
        let database = options.open_any(&self.database)?;
        bars.run_cancellable(|| database.compact())?;
        let stats = database.stats()?;
        global.note(format_args!(
            "compacted {}: {} rows, {:.1} MB, {:.1} s",
            self.database.display(),
            stats.rows,
            stats.bytes as f64 / 1e6,
            started.elapsed().as_secs_f64(),
        ));
        Ok(())
    }
}
