//! `nearprint jobs`

use std::path::PathBuf;

use crate::args::{GlobalArgs, ResultArgs};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::{ResultFormat, escape};
use nearprint_text::dedup::{DocumentCounts, StoredJob};
use serde_json::json;

/// List the jobs of `dedup` and `trim` that a database remembers
///
/// Prints `job completed read kept duplicates skipped rejected output` for each job with --db, the earliest first.
/// Times are in UTC. `delete DB --job` deletes what a job stored. A database remembers the latest jobs, as many as fit
/// in 1 MiB.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint jobs documents.np
  nearprint jobs documents.np --json")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    #[command(flatten)]
    results: ResultArgs,
}

/// The columns.
const COLUMNS: [(&str, bool); 8] = [
    ("job", true),
    ("completed", true),
    ("read", true),
    ("kept", true),
    ("duplicates", true),
    ("skipped", true),
    ("rejected", true),
    ("output", true),
];

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let snapshot = global.options().open_any(&self.database)?.snapshot()?;
        let jobs = StoredJob::all(&snapshot)?;
        let mut out = OutputStream::stdout();
        self.results.print_header(&mut out, &COLUMNS)?;
        for StoredJob { number, completed, output, counts, .. } in &jobs {
            let &DocumentCounts { records: read, kept, duplicates, aside: skipped, bad: rejected, .. } =
                counts;
            let (completed, output) = (completed.to_string(), output.to_string_lossy());
            out.write(|out| match self.results.format() {
                ResultFormat::Tsv => writeln!(
                    out,
                    "{number}\t{completed}\t{read}\t{kept}\t{duplicates}\t{skipped}\t{rejected}\t{}",
                    escape(&output)
                ),
                ResultFormat::Json => writeln!(
                    out,
                    "{}",
                    json!({
                        "job": number,
                        "completed": completed,
                        "read": read,
                        "kept": kept,
                        "duplicates": duplicates,
                        "skipped": skipped,
                        "rejected": rejected,
                        "output": output,
                    })
                ),
            })?;
        }
        out.flush()?;
        let database = self.database.display();
        if snapshot.checkpoint().is_some() {
            global.note(format_args!("{database}: a job is unfinished; its command resumes it"));
        } else if jobs.is_empty() {
            global.note(format_args!("{database}: no job has used it"));
        }
        Ok(())
    }
}
