//! `nearprint backup`

use std::path::PathBuf;
use std::time::Instant;

use crate::failure::Failure;
use crate::progress::Bars;
use crate::width::{ForWidth, run_for};
use crate::{Global, interrupt};
use nearprint::{Database, Fingerprint, width_of};

/// Copy a database as it stands at one moment
///
/// Works while another program writes, and does not disturb it. Every page's checksum is verified
/// as it is copied; where one is wrong there is no copy, and never one that is incomplete. DEST must
/// not be there yet; it is a database of its own from then on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearprint backup corpus.np /backup/corpus-monday.np")]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The folder to make
    #[arg(value_name = "DEST")]
    dest: PathBuf,
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
        let options = global.options().progress(bars.clone());
        let snapshot = Database::<F>::open_with(&self.database, options)?.snapshot()?;
        interrupt::ends_by_itself(true);
        let copied = snapshot.backup(&self.dest);
        interrupt::ends_by_itself(false);
        bars.clear();
        copied?;
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
