//! `nearprint compact`

use std::path::PathBuf;
use std::time::Instant;

use crate::failure::Failure;
use crate::progress::Bars;
use crate::width::{ForWidth, run_for};
use crate::{Global, interrupt, values};
use nearprint::{Database, Fingerprint, width_of};

/// Merge everything into one run
///
/// Queries are fastest on one run, and what was deleted takes no room any more. Adding rows merges
/// runs anyway, as far as it keeps queries fast; this goes all the way. Readers are not disturbed.
/// Needs room for a second copy of the database while it works.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearprint compact corpus.np")]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// What may be held in memory: 512M, 6G, …
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = values::size)]
    memory: usize,
}

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let width = width_of(&self.database)?;
        run_for(width, self, (), global)
    }
}

impl ForWidth<()> for Args {
    fn run_wide<F: Fingerprint>(self, (): (), global: Global) -> Result<(), Failure> {
        let started = Instant::now();
        let bars = Bars::new(global);
        let options = global.options().memory_bytes(self.memory).progress(bars.clone());
        let database = Database::<F>::open_with(&self.database, options)?;
        let mut writer = database.writer()?;
        interrupt::ends_by_itself(true);
        let compacted = writer.compact();
        interrupt::ends_by_itself(false);
        bars.clear();
        compacted?;
        writer.close()?;
        let stats = database.snapshot()?.stats();
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
