//! `nearprint backup`

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::args::{GlobalArgs, SummaryArgs, values};
use crate::terminal::failure::Failure;
use nearprint::AnyDatabase;
use serde_json::json;

/// Copy it while others write, or keep a copy up to date
///
/// Works while another process writes, and does not disturb it. Verifies the checksum of every page
/// that it copies. A wrong checksum is an error; an incomplete copy is removed. DEST must
/// not exist. The copy is an independent database.
///
/// With --base, files that an earlier copy has become hard links to its files, if the file system supports links. All
/// others are copied. Linked files are verified, too. Damage to a shared file is damage to both copies, so make a copy
/// without --base from time to time. Either copy can be removed.
///
/// With --follow, the command copies new runs and commits to DIR until a signal ends it. DIR must not exist, or follow
/// DB already. At any moment, and after any crash, DIR is the database as it was after some commit. DIR can be read.
/// Nothing else can write to it until its file FOLLOWER is removed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint backup corpus.np /backup/corpus-monday.np
  nearprint backup corpus.np /backup/corpus-tuesday.np --base monday.np
  nearprint backup corpus.np --follow /backup/second.np --once")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The folder to create
    #[arg(value_name = "DEST", required_unless_present = "follow", conflicts_with = "follow")]
    dest: Option<PathBuf>,
    /// An earlier copy to share unchanged files with
    #[arg(long, value_name = "OLD", conflicts_with = "follow")]
    base: Option<PathBuf>,
    /// The folder to keep as DB is
    #[arg(long, value_name = "DIR")]
    follow: Option<PathBuf>,
    /// With --follow: seconds between two looks for new commits
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = values::seconds, requires = "follow")]
    every: Duration,
    /// With --follow: end once DIR is up to date
    #[arg(long, requires = "follow")]
    once: bool,
    #[command(flatten)]
    summary: SummaryArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        self.summary.check(&[&self.database], &[&self.database])?;
        match (&self.dest, &self.follow) {
            (_, Some(dir)) => self.follow(dir, global),
            (Some(dest), None) => self.copy(dest, global),
            (None, None) => Ok(()),
        }
    }

    fn copy(&self, dest: &Path, global: GlobalArgs) -> Result<(), Failure> {
        let started = Instant::now();
        let bars = global.bars();
        let options = global.options().progress(bars.clone());
        // The printed counts belong to the copy only if both come from one snapshot.
        let snapshot = options.open_any(&self.database)?.snapshot()?;
        let shared = bars.run_cancellable(|| snapshot.backup_with(dest, self.base.as_ref()))?;
        let stats = snapshot.stats();
        let (rows, bytes, seconds) = (stats.rows, stats.bytes, started.elapsed().as_secs_f64());
        let text = format_args!(
            "copied {} to {}: {rows} rows, {:.1} MB, {:.1} MB of them shared, {seconds:.1} s",
            self.database.display(),
            dest.display(),
            bytes as f64 / 1e6,
            shared as f64 / 1e6,
        );
        let counts = json!({ "rows": rows, "bytes": bytes, "shared_bytes": shared, "seconds": seconds });
        Ok(self.summary.note(global, text, counts)?)
    }

    fn follow(&self, dir: &Path, global: GlobalArgs) -> Result<(), Failure> {
        let options = global.options().progress(global.bars());
        let database = options.open_any(&self.database)?;
        // What a signal interrupts later leaves the folder sound.
        let mut follower = global.bars().run_cancellable(|| database.follow(dir))?;
        let rows = AnyDatabase::open(dir)?.stats()?.rows;
        let text = format_args!("{} is as {}: {rows} rows", dir.display(), self.database.display());
        self.summary.note(global, text, json!({ "rows": rows }))?;
        if self.once {
            return Ok(());
        }
        loop {
            std::thread::sleep(self.every.max(LEAST_PAUSE));
            follower.update()?;
        }
    }
}

/// The shortest pause between two looks at a database.
const LEAST_PAUSE: Duration = Duration::from_millis(10);
