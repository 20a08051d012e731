//! `nearprint verify`

use std::path::PathBuf;

use crate::args::GlobalArgs;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::print_message;

/// Check every byte
///
/// Checks checksums, order, counts, padding, and the sums that all tables of a run must share.
/// Prints one line if the database is sound. Otherwise it prints file, section and offset of all
/// damage, and exits with 3.
///
/// With --part N/M, it checks only the checksums of the Nth of M parts of the pages. A job that checks another 24th
/// each hour has read everything within a day.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint verify corpus.np && cp -r corpus.np /backup/
  nearprint verify corpus.np --part 3/24")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Check the pages of one part: 1/24, …
    #[arg(long, value_name = "N/M", value_parser = part)]
    part: Option<(u64, u64)>,
}

/// Parses the number of a part and the number of parts.
fn part(text: &str) -> Result<(u64, u64), String> {
    let numbers =
        text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    numbers
        .filter(|&(part, parts): &(u64, u64)| (1..=parts).contains(&part))
        .ok_or_else(|| "expected a part and their number, such as 1/24 to 24/24".into())
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let bars = global.bars();
        let options = global.options().progress(bars.clone());
        let database = options.open_any(&self.database)?;
        let report = match self.part {
            Some((part, parts)) => database.verify_part(part, parts),
            None => database.verify(),
        };
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
