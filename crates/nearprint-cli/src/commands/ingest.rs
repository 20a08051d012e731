//! `nearprint ingest`

use std::path::PathBuf;
use std::time::Instant;

use crate::failure::Failure;
use crate::progress::Bars;
use crate::width::{ForWidth, run_for};
use crate::{Global, interrupt};
use nearprint::{Database, Fingerprint, width_of};

/// Adopt runs that were built elsewhere
///
/// A large load can be built as folders of runs, on other machines or side by side, with `build
/// --runs-only`, -k and --layout as the database has them. All folders are checked completely and
/// copied; then their rows appear at once, or after an error none of them. Readers are not
/// disturbed. A run that the database has adopted before is skipped, so that a command may be
/// repeated. Folders that number rows by themselves need ranges of ids of their own: --first-id.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  nearprint build monday.runs monday.u64 --runs-only --first-id 1000000
  nearprint build tuesday.runs tuesday.u64 --runs-only --first-id 2000000
  nearprint ingest corpus.np monday.runs tuesday.runs")]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Folders made by `build --runs-only`, oldest first
    #[arg(value_name = "RUN_DIR", required = true)]
    folders: Vec<PathBuf>,
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
        let mut writer = Database::<F>::open_with(&self.database, options)?.writer()?;
        interrupt::ends_by_itself(true);
        let ingested = writer.ingest(&self.folders);
        interrupt::ends_by_itself(false);
        bars.clear();
        let ingested = ingested?;
        // Told before merging comes to rest, which may take long or fail, and changes nothing about it.
        global.note(format_args!(
            "ingested {} runs into {}: {} rows, {:.1} s; {} runs skipped",
            ingested.runs,
            self.database.display(),
            ingested.rows,
            started.elapsed().as_secs_f64(),
            ingested.skipped,
        ));
        Ok(writer.close()?)
    }
}
