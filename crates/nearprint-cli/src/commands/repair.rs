//! `nearprint repair`

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::failure::{Failure, say};
use crate::output::Output;
use crate::progress::Bars;
use crate::{Global, interrupt, values};
use nearprint::internal::repair;
use nearprint::{Error, Fingerprint, Options, RepairReport, WidthVisitor, width_of_damaged};

/// Save what can be read of a damaged database into a new one
///
/// DB is not changed. Every row of DEST stood in DB: what cannot be told with certainty is left out and
/// counted. What one table has lost is put back from the others. Prints a line `KIND FILE WHAT` for
/// everything that is not as it should be, KIND being damaged, recovered, lost or note; then a line
/// `total NAME NUMBER` for each of rows, lost_rows, lost_fingerprints and recovered. Nobody should
/// write to DB meanwhile.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearprint repair corpus.np saved.np && nearprint verify saved.np")]
pub(crate) struct Args {
    /// The damaged database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The folder to make
    #[arg(value_name = "DEST")]
    dest: PathBuf,
    /// What may be held in memory: 512M, 6G, …
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = values::size)]
    memory: usize,
}

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let started = Instant::now();
        let bars = Bars::new(global);
        let options = global.options().memory_bytes(self.memory).progress(bars.clone());
        let guard = &mut |staging: &Path| interrupt::guard(Some(staging.to_path_buf()));
        let width = width_of_damaged(&self.database)?;
        let repaired = width.visit(Repair { args: &self, options, guard });
        bars.clear();
        interrupt::guard(None);
        if interrupt::check().is_break() && repaired.is_err() {
            return Err(Error::Interrupted.into());
        }
        let report = repaired?;
        print(&report)?;
        if !report.made {
            return Err(Failure::NothingSaved(self.database));
        }
        if !report.is_complete() {
            say(format_args!(
                "nearprint: {}: not everything could be saved; see the lines `lost` and `note`",
                self.database.display()
            ));
        }
        global.note(format_args!(
            "made {}: {} rows, {:.1} s",
            self.dest.display(),
            report.rows,
            started.elapsed().as_secs_f64()
        ));
        Ok(())
    }
}

struct Repair<'a> {
    args: &'a Args,
    options: Options,
    guard: &'a mut dyn FnMut(&Path),
}

impl WidthVisitor for Repair<'_> {
    type Output = nearprint::Result<RepairReport>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        repair::<F>(&self.args.database, &self.args.dest, self.options, self.guard)
    }
}

fn print(report: &RepairReport) -> Result<(), Error> {
    let mut out = Output::stdout();
    for finding in &report.findings {
        out.write(|out| writeln!(out, "{}\t{}\t{}", finding.kind, finding.file, finding.what))?;
    }
    for (name, number) in [
        ("rows", report.rows),
        ("lost_rows", report.lost_rows),
        ("lost_fingerprints", report.lost_fingerprints),
        ("recovered", report.recovered),
    ] {
        out.write(|out| writeln!(out, "total\t{name}\t{number}"))?;
    }
    out.flush()
}
