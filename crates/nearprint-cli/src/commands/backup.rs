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
///
/// With --base, files that an earlier copy has become hard links to its files, where the file system
/// has links; all others are copied. Linked files are verified, too. Damage to a shared file later is
/// damage to both copies, so make a copy without --base from time to time. Either copy can be removed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint backup corpus.np /backup/corpus-monday.np
  nearprint backup corpus.np /backup/corpus-tuesday.np --base monday.np")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The folder to create
    #[arg(value_name = "DEST")]
    dest: PathBuf,
    /// An earlier copy to share unchanged files with
    #[arg(long, value_name = "OLD")]
    base: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let started = Instant::now();
        let bars = global.bars();
        let options = global.options().progress(bars.clone());
        // The printed counts belong to the copy only if both come from one snapshot.
        let snapshot = options.open_any(&self.database)?.snapshot()?;
        let shared = bars.run_cancellable(|| snapshot.backup_with(&self.dest, self.base.as_ref()))?;
        let stats = snapshot.stats();
        global.note(format_args!(
            "copied {} to {}: {} rows, {:.1} MB, {:.1} MB of them shared, {:.1} s",
            self.database.display(),
            self.dest.display(),
            stats.rows,
            stats.bytes as f64 / 1e6,
            shared as f64 / 1e6,
            started.elapsed().as_secs_f64(),
        ));
        Ok(())
    }
}
