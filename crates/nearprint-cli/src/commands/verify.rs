//! `nearprint verify`

use std::path::PathBuf;

use crate::Global;
use crate::failure::{Failure, say};
use crate::output::Output;
use crate::progress::Bars;
use nearprint::AnyDatabase;

/// Read every byte of a database and check everything
///
/// Checksums, order, counts, padding and the sums that all tables of a run must share. Prints one
/// line when the database is sound; else names file, section and offset of all damage and exits
/// with 3.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearprint verify corpus.np && cp -r corpus.np /backup/")]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
}

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let bars = Bars::new(global);
        let options = global.options().progress(bars.clone());
        let report = AnyDatabase::open_with(&self.database, options)?.verify();
        bars.clear();
        let report = report?;
        if report.damage.is_empty() {
            let mut out = Output::stdout();
            out.write(|out| writeln!(out, "sound: {} files, {} bytes", report.files, report.bytes))?;
            return Ok(out.flush()?);
        }
        report.damage.iter().for_each(|damage| say(format_args!("nearprint: {damage}")));
        Err(Failure::Corrupt)
    }
}
