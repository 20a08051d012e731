//! `nearprint dedup`

use std::path::PathBuf;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::documents::DocumentArgs;
use crate::failure::{Failure, say};
use crate::recipe::RecipeArgs;
use crate::{Global, interrupt, values};
use nearprint::{Fingerprint, WidthVisitor, width_of};
use nearprint_text::Error;
use nearprint_text::dedup::{Confirm, DedupOptions, DocumentCounts, FileJob, FileReport, Keep};
use nearprint_text::documents::Position;
use nearprint_text::recipe::Recipe;

/// Keep the documents that are new, and leave out near-duplicates
///
/// Reads documents, keeps those of which nothing within K bits has been kept before, and writes them in input
/// order, unchanged. With --db the database remembers what was kept: the next run is checked against it,
/// too. A run with --db that was cut off goes on where it was when its command is given again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint dedup pages.jsonl.gz -o unique.jsonl --key-field url --duplicates duplicates.tsv
  nearprint dedup today.jsonl -o new.jsonl --db seen.np --key-field url
  nearprint dedup corpus.jsonl -o unique.jsonl -k 6 --confirm jaccard:0.8 --keep longest
  mongoexport … | nearprint dedup - -o - --key-field _id.\\$oid | mongoimport …")]
pub(crate) struct Args {
    /// Files and folders of documents; - for standard input
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Where the kept documents go; - for standard output
    #[arg(short, long, value_name = "OUT", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// How many bits near-duplicates differ in at most [default: the database's own K, else 3]
    #[arg(short, value_name = "K", value_parser = values::distance)]
    k: Option<u32>,
    /// The database of everything kept so far; made where there is none
    #[arg(long, value_name = "DB")]
    db: Option<PathBuf>,
    /// Write `key duplicate_of distance` for each document left out, in input order
    #[arg(long, value_name = "FILE")]
    duplicates: Option<PathBuf>,
    /// Which of several near-duplicates to keep: first, longest or max:FIELD. All but first read the inputs
    /// twice
    #[arg(long, value_name = "WHICH", default_value = "first", value_parser = keep)]
    keep: Keep,
    /// Compare the texts of candidates before they count as duplicates: jaccard:X (at least X of their 3-word
    /// shingles in common) or edit:X (at most X of the characters changed). With --db, the database needs
    /// --texts
    #[arg(long, value_name = "MEASURE:X")]
    confirm: Option<Confirm>,
    /// Set documents with fewer tokens aside: they are neither kept nor duplicates, and go to --rejects
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_tokens: usize,
    /// Add the fingerprint to each kept document, as a last field of this name
    #[arg(long, value_name = "FIELD")]
    add_fingerprint: Option<String>,
    /// Write nothing, and tell what would come out
    #[arg(long)]
    dry_run: bool,
    /// Forget what a run that was cut off has kept in the database, and begin anew
    #[arg(long)]
    restart: bool,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

fn keep(text: &str) -> Result<Keep, String> {
    match text.split_once(':') {
        None if text == "first" => Ok(Keep::First),
        None if text == "longest" => Ok(Keep::Longest),
        Some(("max", field)) if !field.is_empty() => Ok(Keep::Max(field.to_string())),
        _ => Err("not first, longest or max:FIELD".into()),
    }
}

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let started = Instant::now();
        let recipe = self.recipe_of_width()?;
        let width = recipe.width();
        self.k.map(|k| width.check_distance(k)).transpose()?;
        let mut dedup = DedupOptions::new(recipe);
        dedup.require_recipe = self.recipe.given()?.is_some();
        dedup.k = self.k;
        dedup.confirm = self.confirm;
        dedup.min_tokens = self.min_tokens;
        dedup.engine = global.options();
        let mut job = FileJob::new(self.inputs, self.output.unwrap_or_default(), dedup);
        job.reader = self.documents.options();
        job.add_fingerprint = self.add_fingerprint;
        job.duplicates = self.duplicates;
        job.rejects = self.documents.rejects;
        job.database = self.db;
        job.dry_run = self.dry_run;
        job.restart = self.restart;
        job.keep = self.keep;
        let remembers = job.database.is_some() && !job.dry_run;
        let has_rejects = job.rejects.is_some();
        let mut bar = Bar::new(global);
        let mut seen = 0;
        interrupt::ends_by_itself(true);
        let report = &mut |counts: &DocumentCounts, position| {
            seen = counts.records;
            bar.show(position);
            interrupt::check()
        };
        let done = width.visit(Run { job, report });
        interrupt::ends_by_itself(false);
        bar.clear();
        match done {
            Ok(FileReport { counts, resumed_after, .. }) => {
                summarize(global, &counts, resumed_after, started);
                Ok(())
            }
            Err(Error::Engine(nearprint::Error::Interrupted)) => {
                Err(Failure::CutOff { records: seen, goes_on: remembers })
            }
            Err(Error::Input { place, why }) if !has_rejects => Err(Failure::Record { place, why }),
            Err(other) => Err(other.into()),
        }
    }
}

impl Args {
    /// The recipe of the options. Where they leave the width open, it is that of a database that is there.
    fn recipe_of_width(&self) -> Result<Recipe, Failure> {
        let recipe = self.recipe.recipe()?;
        let Some(path) = self.db.as_ref().filter(|path| path.exists()) else { return Ok(recipe) };
        let width = width_of(path)?;
        if recipe.width() != width && self.recipe.tells_width()? {
            return Err(Failure::Usage(format!(
                "{}: holds fingerprints of {width} bits, and the recipe makes {}",
                path.display(),
                recipe.width()
            )));
        }
        Ok(recipe.with([("width", width.to_string().as_str())])?)
    }
}

/// Carries a job out with fingerprints of its recipe's width.
struct Run<'a> {
    job: FileJob,
    report: nearprint_text::dedup::Report<'a>,
}

impl WidthVisitor for Run<'_> {
    type Output = nearprint_text::Result<FileReport>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        self.job.run::<F>(self.report)
    }
}

/// Prints what came out, and what looks odd.
fn summarize(global: Global, counts: &DocumentCounts, before: u64, started: Instant) {
    let DocumentCounts { records, kept, duplicates, bad, aside, empty, invalid_utf8, .. } = *counts;
    let seconds = started.elapsed().as_secs_f64();
    let rate = (records - before) as f64 / seconds.max(1e-9);
    let share = if records == 0 { 0.0 } else { 100.0 * duplicates as f64 / records as f64 };
    global.note(format_args!(
        "{records} documents, {kept} kept, {duplicates} duplicates ({share:.1}%), {seconds:.1} s, {rate:.0} documents/s"
    ));
    if before > 0 {
        global.note(format_args!("{before} of them were done by a run that was cut off"));
    }
    for (count, what) in [
        (bad, "bad records were set aside"),
        (aside, "documents with too few tokens were set aside"),
        (
            empty,
            "documents have no token: they all have the fingerprint 0, and count as duplicates of each other",
        ),
        (
            invalid_utf8,
            "documents are not valid UTF-8: what is not was replaced before the fingerprint was made",
        ),
    ] {
        if count > 0 && !global.quiet {
            say(format_args!("warning: {count} {what}"));
        }
    }
}

/// How far reading has come, on a terminal.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new(global: Global) -> Self {
        let shown =
            !global.quiet && !global.no_progress && std::io::IsTerminal::is_terminal(&std::io::stderr());
        Self(shown.then(ProgressBar::new_spinner))
    }

    fn show(&mut self, position: Position) {
        let Some(bar) = &self.0 else { return };
        if bar.length().is_none()
            && let Some(total) = position.total_bytes
        {
            bar.set_length(total);
        }
        let template = match position.total_bytes {
            Some(_) => "{wide_bar} {msg} documents, {bytes_per_sec}, {eta} left",
            None => "{spinner} {msg} documents, {bytes_per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(position.records.to_string());
        bar.set_position(position.bytes);
    }

    fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
