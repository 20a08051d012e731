//! `nearprint backup`

use std::path::PathBuf;
use std::time::Instant;

use crate::args::GlobalArgs;
use crate::terminal::failure::Failure;

/// Make a consistent copy of a database
///
/// Works while another process writes, and does not disturb it. Verifies the checksum of every page
/// that it copies. A wrong checksum is an error; an incomplete copy is removed. DEST must
/// not exist. The copy is an independent database.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearprint backup corpus.np /backup/corpus-monday.np")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The folder to create
    #[arg(value_name = "DEST")]
    dest: PathBuf,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let started = Instant::now();
        let bars = global.bars();
        let options = global.options().progress(bars.clone());
        // The printed counts belong to the copy only if both come from one snapshot.
        let snapshot = options.open_any(&self.database)?.snapshot()?;
        bars.run_cancellable(|| snapshot.backup(&self.dest))?;
        let stats = snapshot.stats();
        global.note(format_args!(
            "copied {} to {}: {} rows, {:.1} MB, {:.1} s",
            self.database.display(),
            self.dest.display(),
            stats.rows,
            stats.bytes as f64 / 1e6,
            started.elapsed().as_secs_f64(),
        ));
        Ok(())
    }
}
