//! `nearprint ingest`

use std::path::PathBuf;
use std::time::Instant;

use crate::args::{GlobalArgs, SummaryArgs, WriterArgs};
use crate::terminal::failure::Failure;
use nearprint::IngestReport;
use serde_json::json;

/// Add parts that `build --runs-only` made elsewhere
///
/// A large load can be built as folders of runs, on other machines or in parallel, with `build --runs-only` and the -k
/// and --layout of the database. `ingest` checks all folders completely and copies them. Then all their rows appear at
/// once, or none after an error. Readers are not disturbed. Runs that were ingested before are skipped, so the command
/// can be repeated: the same folder, a copy of it, or another one with the same rows or the same --identity. If ids
/// were given automatically, build each folder with its own --first-id.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  nearprint build monday.runs monday.u64 --runs-only --first-id 1000000
  nearprint build tuesday.runs tuesday.u64 --runs-only --first-id 2000000
  nearprint ingest corpus.np monday.runs tuesday.runs")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Folders created by `build --runs-only`, oldest first
    #[arg(value_name = "RUN_DIR", required = true)]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    summary: SummaryArgs,
    #[command(flatten)]
    writer: WriterArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let started = Instant::now();
        self.summary.check(&self.folders, &[&self.database])?;
        let bars = global.bars();
        let options = self.writer.options(global).progress(bars.clone());
        let database = options.open_any(&self.database)?;
        let mut writer = bars.run_cancellable(|| database.writer())?;
        let report = bars.run_cancellable(|| writer.ingest(&self.folders))?;
        // The rows are durable now. Closing waits for merges, which may take long or fail.
        let IngestReport { runs, rows, skipped, .. } = report;
        let (path, seconds) = (self.database.display(), started.elapsed().as_secs_f64());
        let text = format_args!(
            "ingested {runs} runs into {path}: {rows} rows, {seconds:.1} s; {skipped} runs skipped"
        );
        let counts = json!({ "runs": runs, "rows": rows, "skipped_runs": skipped, "seconds": seconds });
        self.summary.note(global, text, counts)?;
        Ok(writer.close()?)
    }
}
