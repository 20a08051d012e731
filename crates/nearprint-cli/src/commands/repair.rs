//! `nearprint repair`

use std::path::PathBuf;
use std::time::Instant;

use crate::args::{GlobalArgs, SummaryArgs, values};
use crate::terminal::failure::{Failure, unless_closed};
use crate::terminal::output::OutputStream;
use crate::terminal::{interrupt, print_message};
use nearprint::any::AnyFingerprint;
use nearprint::{Error, KeyStorage, LayoutChoice, Options, RepairReport, Schema, Width, width_of_damaged};
use nearprint_text::documents::check_outputs;
use nearprint_text::internal::WrittenFormat;
use nearprint_text::recipe::{DEFAULT_SIMILARITY, Recipe};
use serde_json::{Map, Value};

/// Save what is readable in a damaged database
///
/// DB is not changed. Every row of DEST was in DB: uncertain rows are left out and counted. Fingerprints that one table
/// has lost are restored from the others. Prints a line `KIND FILE WHAT` for each finding, where KIND is damaged,
/// recovered, expired, lost or note. Then prints a line `total NAME NUMBER` for each of rows, lost_rows, without_id,
/// lost_fingerprints and recovered. No other process should write to DB at the same time.
///
/// The exit code is 0 only if everything was recovered. It is 9 if there is a line `lost` or `note`: read these lines
/// before you replace DB by DEST.
///
/// If ids are lost and fingerprints are not, as without a file .rows, the rows are lost. --fingerprints writes their
/// fingerprints; deleted rows may be among them. `nearprint build` makes a database of these, with new ids.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint repair corpus.np saved.np
  nearprint repair corpus.np saved.np --fingerprints lost-ids.txt")]
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
    /// The layout, if it is lost with MANIFEST and all runs. bands:BxN also changes what near means
    #[arg(long, value_name = "LAYOUT", default_value = "auto", value_parser = values::layout)]
    layout: LayoutChoice,
    /// The recipe, if MANIFEST is lost. For MinHash, it also sets the layout
    #[arg(long, value_name = "RECIPE", conflicts_with = "layout")]
    recipe: Option<String>,
    /// Write each fingerprint whose ids are lost to FILE, one on a line
    #[arg(long, value_name = "FILE")]
    fingerprints: Option<PathBuf>,
    #[command(flatten)]
    summary: SummaryArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let started = Instant::now();
        let outputs = [("--fingerprints", self.fingerprints.as_deref()), ("--summary", self.summary.path())];
        let outputs = outputs.into_iter().filter_map(|(name, path)| Some((name, path?)));
        check_outputs(outputs, &[], &[&self.database])?;
        let bars = global.bars();
        let options = global.options().memory_bytes(self.memory).progress(bars.clone());
        let width = width_of_damaged(&self.database)?;
        let fallback = self.fallback(width)?;
        interrupt::set_cancellable(true);
        let repaired = self.repair(&options, &fallback);
        bars.clear();
        interrupt::set_cancellable(false);
        if interrupt::check().is_break() && repaired.is_err() {
            return Err(Error::Interrupted.into());
        }
        let report = repaired?;
        // Who reads no lines still learns by the exit code what is lost.
        unless_closed(print(&report))?;
        if !report.made {
            return Err(Failure::NothingRecovered(self.database));
        }
        let (dest, rows, seconds) = (self.dest.display(), report.rows, started.elapsed().as_secs_f64());
        let mut counts: Map<String, Value> =
            totals(&report).into_iter().map(|(name, number)| (name.into(), number.into())).collect();
        counts.insert("complete".into(), report.is_complete().into());
        counts.insert("seconds".into(), seconds.into());
        self.summary.note(global, format_args!("made {dest}: {rows} rows, {seconds:.1} s"), counts.into())?;
        if report.is_complete() {
            return Ok(());
        }
        print_message(format_args!(
            "nearprint: {}: not everything could be recovered; see the lines `lost` and `note`",
            self.database.display()
        ));
        Err(Failure::Incomplete)
    }
}

impl Args {
    fn repair(&self, options: &Options, fallback: &Schema) -> Result<RepairReport, Failure> {
        let Some(path) = &self.fingerprints else {
            return Ok(options.repair_any(&self.database, &self.dest, fallback)?);
        };
        WrittenFormat::Lines.check_uncompressed(path)?;
        let mut out = OutputStream::create(Some(path))?;
        let report = options.repair_any_with(&self.database, &self.dest, fallback, &mut |words| {
            out.write(|out| writeln!(out, "{}", AnyFingerprint::from(words)))
        })?;
        out.finish()?;
        Ok(report)
    }

    fn fallback(&self, width: Width) -> Result<Schema, Failure> {
        if let Some(recipe) = &self.recipe {
            return Ok(recipe.parse::<Recipe>()?.schema().keys(KeyStorage::None));
        }
        let k = self.layout.bands().map(|bands| bands.distance_of(width, DEFAULT_SIMILARITY));
        Ok(Schema::new().layout(self.layout).k(k.unwrap_or(values::DEFAULT_K)))
    }
}

fn totals(report: &RepairReport) -> [(&'static str, u64); 5] {
    [
        ("rows", report.rows),
        ("lost_rows", report.lost_rows),
        ("without_id", report.without_id),
        ("lost_fingerprints", report.lost_fingerprints),
        ("recovered", report.recovered),
    ]
}

/// Prints the findings and the totals.
fn print(report: &RepairReport) -> Result<(), Failure> {
    let mut out = OutputStream::stdout();
    for finding in &report.findings {
        out.write(|out| writeln!(out, "{}\t{}\t{}", finding.kind, finding.file, finding.what))?;
    }
    for (name, number) in totals(report) {
        out.write(|out| writeln!(out, "total\t{name}\t{number}"))?;
    }
    Ok(out.flush()?)
}
