//! `nearprint verify`

use std::path::PathBuf;

use crate::args::GlobalArgs;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::print_message;

/// Check every byte of a database
///
/// Checks checksums, order, counts, padding, and the sums that all tables of a run must share.
/// Prints one line if the database is sound. Otherwise it prints file, section and offset of all
/// damage, and exits with 3.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearprint verify corpus.np && cp -r corpus.np /backup/")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let bars = global.bars();
        let options = global.options().progress(bars.clone());
        let report = options.open_any(&self.database)?.verify();
        bars.clear();
        let report = report?;
        if report.damage.is_empty() {
            let mut out = OutputStream::stdout();
            out.write(|out| {
                write!(out, "sound: {} files, {} bytes", report.files, report.bytes)?;
                match report.ignored_log_bytes {
                    0 => writeln!(out),
                    ignored => writeln!(
                        out,
                        "; {ignored} bytes behind the last commit of the log were ignored: an unfinished \
                         commit, or a damaged one"
                    ),
                }
            })?;
            return Ok(out.flush()?);
        }
        report.damage.iter().for_each(|damage| print_message(format_args!("nearprint: {damage}")));
        Err(Failure::Corrupt)
    }
}
