//! `nearprint repair`

use std::path::PathBuf;
use std::time::Instant;

use crate::args::{GlobalArgs, values};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::{interrupt, print_message};
use nearprint::{Error, LayoutChoice, RepairReport, Schema, Width, width_of_damaged};
use nearprint_text::recipe::{DEFAULT_SIMILARITY, Recipe};

/// Copy everything readable in a damaged database to a new one
///
/// DB is not changed. Every row of DEST was in DB: rows that are not certain are left out and
/// counted. Fingerprints that one table has lost are restored from the others. Prints a line `KIND
/// FILE WHAT` for each finding, where KIND is damaged, recovered, lost or note. Then prints a line
/// `total NAME NUMBER` for each of rows, lost_rows, lost_fingerprints and recovered. No other
/// process should write to DB at the same time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearprint repair corpus.np saved.np && nearprint verify saved.np")]
pub(super) struct Args {
    /// The damaged database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The folder to create
    #[arg(value_name = "DEST")]
    dest: PathBuf,
    /// Memory to use: 512M, 6G, …
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = values::size)]
    memory: usize,
    /// The layout, if neither MANIFEST nor a run has it; bands:BxN also changes the definition of distance
    #[arg(long, value_name = "LAYOUT", default_value = "auto", value_parser = values::layout)]
    layout: LayoutChoice,
    /// The recipe, if MANIFEST is lost; it determines the layout of MinHash fingerprints
    #[arg(long, value_name = "RECIPE", conflicts_with = "layout")]
    recipe: Option<String>,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let started = Instant::now();
        let bars = global.bars();
        let options = global.options().memory_bytes(self.memory).progress(bars.clone());
        let fallback = self.fallback(width_of_damaged(&self.database)?)?;
        interrupt::set_cancellable(true);
        let repaired = options.repair_any(&self.database, &self.dest, &fallback);
        bars.clear();
        interrupt::set_cancellable(false);
        if interrupt::check().is_break() && repaired.is_err() {
            return Err(Error::Interrupted.into());
        }
        let report = repaired?;
        print(&report)?;
        if !report.made {
            return Err(Failure::NothingRecovered(self.database));
        }
        if !report.is_complete() {
            print_message(format_args!(
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

impl Args {
    fn fallback(&self, width: Width) -> Result<Schema, Failure> {
        if let Some(recipe) = &self.recipe {
            return Ok(recipe.parse::<Recipe>()?.schema());
        }
        let k = self.layout.bands().map(|bands| bands.distance_of(width, DEFAULT_SIMILARITY));
        Ok(Schema::new().layout(self.layout).k(k.unwrap_or(values::DEFAULT_K)))
    }
}

/// Prints the findings and the totals.
fn print(report: &RepairReport) -> Result<(), Error> {
    let mut out = OutputStream::stdout();
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
