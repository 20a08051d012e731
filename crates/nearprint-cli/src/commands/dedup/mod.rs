//! `nearprint dedup`

mod report;

use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::args::{DocumentArgs, GlobalArgs, NearArgs, RecipeArgs, ReportArgs};
use crate::terminal::failure::Failure;
use crate::terminal::{interrupt, print_message};
use nearprint::width_of;
use nearprint_text::Error;
use nearprint_text::dedup::{self, Confirm, DedupOptions, DocumentCounts, FileJob, FileReport, Keep};
use nearprint_text::documents::{Position, check_outputs};
use nearprint_text::recipe::Recipe;
use report::DedupReport;

/// Keep the documents that are new, and leave out near-duplicates
///
/// A document is kept if no document near it was kept before. By default near is half of the
/// three-word shingles in common, estimated by MinHash: see --similarity. Kept documents are
/// written unchanged, in input order; with --annotate, all documents are written, with what each one
/// is a duplicate of. With --db, a database stores what was kept, and later runs compare with it
/// too. Rerun an interrupted command with --db to resume.
///
/// The summary counts exact copies, whose words are the same in the same order, apart from
/// near-duplicates, and all of them by similarity: with --confirm that of the texts, otherwise the
/// one that the fingerprints suggest, of Jaccard for MinHash and the cosine for simhash.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint dedup pages.jsonl.gz -o unique.jsonl --key-field url --duplicates duplicates.tsv
  nearprint dedup pages.jsonl -o unique.jsonl --duplicates duplicates.tsv --report groups.html
  nearprint dedup today.jsonl -o new.jsonl --db seen.np --key-field url
  nearprint dedup corpus.jsonl -o unique.jsonl -k 6 --confirm jaccard:0.8 --keep longest
  nearprint dedup pages.parquet -o groups.parquet --key-field url --annotate
  mongoexport … | nearprint dedup - -o - --key-field _id.\\$oid | mongoimport …")]
pub(super) struct Args {
    /// Files and folders of documents; - for standard input
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// The file for kept documents; - for standard output
    #[arg(short, long, value_name = "OUT", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    #[command(flatten)]
    near: NearArgs,
    /// The database of all documents kept so far; created if it does not exist
    #[arg(long, value_name = "DB")]
    db: Option<PathBuf>,
    /// Write `key duplicate_of distance similarity cluster` for each near-duplicate, in input order.
    /// cluster is the key of the kept document, as duplicate_of
    #[arg(long, value_name = "FILE")]
    duplicates: Option<PathBuf>,
    /// Begin the file of duplicates with a line of these names
    #[arg(long, requires = "duplicates")]
    duplicates_header: bool,
    /// Write near-duplicates to OUT, too, and add the fields duplicate_of (none for a kept document),
    /// cluster (the key of the kept document, for that one too) and similarity to each document
    #[arg(long)]
    annotate: bool,
    #[command(flatten)]
    report: ReportArgs,
    /// Which one of several near-duplicates to keep: first, longest or max:FIELD. All but first
    /// read the inputs twice
    #[arg(long, value_name = "WHICH", default_value = "first", value_parser = keep)]
    keep: Keep,
    /// Compare the texts of candidates before they count as duplicates: jaccard:X (at least X of
    /// their 3-word shingles in common) or edit:X (at most X of the characters changed). A --db that
    /// exists needs --texts; a new one stores them
    #[arg(long, value_name = "MEASURE:X")]
    confirm: Option<Confirm>,
    /// Set aside documents with fewer tokens: they are neither kept nor duplicates, and are written
    /// to --rejects
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_tokens: usize,
    /// Add the fingerprint to each kept document, in a last field with this name
    #[arg(long, value_name = "FIELD")]
    add_fingerprint: Option<String>,
    /// Write only these fields of documents: a list of names
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    keep_fields: Vec<String>,
    /// Add the key to each written document, in a field with this name
    #[arg(long, value_name = "FIELD")]
    old_id: Option<String>,
    /// Add the text as the recipe cleans it to each written document, in a field with this name
    #[arg(long, value_name = "FIELD")]
    cleaned: Option<String>,
    /// Write nothing, and print the counts of a real run
    #[arg(long)]
    dry_run: bool,
    /// Remove what an interrupted run, or this command before, kept in the database, and start again
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
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let started = Instant::now();
        self.check_report()?;
        let recipe = self.recipe_or_that_of_database()?;
        let k = self.near.k(recipe.bands(), recipe.width())?;
        let mut dedup = DedupOptions::new(recipe);
        dedup.require_recipe = self.recipe.is_given();
        dedup.k = k;
        dedup.confirm = self.confirm;
        dedup.min_tokens = self.min_tokens;
        dedup.engine = global.options();
        let report = self.report.path().map(|_| self.dedup_report(&dedup));
        let mut job = FileJob::new(self.inputs, self.output.unwrap_or_default(), dedup);
        job.reader = self.documents.options();
        job.add_fingerprint = self.add_fingerprint;
        job.keep_fields = self.keep_fields;
        job.old_id = self.old_id;
        job.cleaned = self.cleaned;
        job.annotate = self.annotate;
        job.duplicates = self.duplicates;
        job.duplicates_header = self.duplicates_header;
        job.rejects = self.documents.rejects;
        job.database = self.db;
        job.dry_run = self.dry_run;
        job.restart = self.restart;
        job.keep = self.keep;
        let remembers = job.database.is_some() && !job.dry_run;
        let has_rejects = job.rejects.is_some();
        let mut bar = Bar::new(global);
        let mut seen = 0;
        interrupt::set_cancellable(true);
        let progress = &mut |counts: &DocumentCounts, position| {
            seen = counts.records;
            bar.show(position);
            interrupt::check()
        };
        let done = job.run(progress);
        interrupt::set_cancellable(false);
        bar.clear();
        match done {
            Ok(done) => {
                if done.already_complete {
                    let DocumentCounts { records, kept, .. } = done.counts;
                    global.note(format_args!("already complete: {records} documents, {kept} kept"));
                } else {
                    summarize(global, &done, started);
                }
                let Some(report) = report else { return Ok(()) };
                let (head, groups) = report.read(&done)?;
                Ok(self.report.write(|| head, |out| report::write(&groups, out))?)
            }
            Err(Error::Engine(nearprint::Error::Interrupted)) => {
                Err(Failure::Interrupted { records: seen, resumable: remembers })
            }
            Err(Error::Input { place, why }) if !has_rejects => Err(Failure::Record { place, why }),
            Err(other) => Err(other.into()),
        }
    }
}

impl Args {
    /// Checks what a report needs, and that it overwrites no other file of the job.
    fn check_report(&self) -> Result<(), Failure> {
        let Some(path) = self.report.path() else { return Ok(()) };
        let no_file = |path: &PathBuf| path.as_os_str() == "-";
        if self.dry_run || self.duplicates.as_ref().is_none_or(no_file) {
            let why = "--report: shows what is in a file of --duplicates, which is not written";
            return Err(Failure::Usage(why.into()));
        }
        let outputs = [
            ("--report", Some(path)),
            ("--output", self.output.as_deref()),
            ("--duplicates", self.duplicates.as_deref()),
            ("--rejects", self.documents.rejects.as_deref()),
        ];
        let outputs = outputs.into_iter().filter_map(|(name, path)| Some((name, path?)));
        let inputs: Vec<&Path> = self.inputs.iter().map(PathBuf::as_path).collect();
        let databases: Vec<&Path> = self.db.iter().map(PathBuf::as_path).collect();
        Ok(check_outputs(outputs, &inputs, &databases)?)
    }

    /// The report of a job with these options.
    fn dedup_report(&self, dedup: &DedupOptions) -> DedupReport {
        let fact = |name: &str, value: String| (name.to_string(), value);
        let k = dedup.k.unwrap_or(dedup.recipe.default_k());
        let near = format!("similarity about {:.2} or more (-k {k})", dedup.recipe.similarity(k));
        let mut settings = vec![fact("Near", near)];
        settings.extend(dedup.confirm.map(|confirm| fact("Confirmed by", confirm.to_string())));
        settings.push(fact("Recipe", dedup.recipe.to_string()));
        DedupReport {
            inputs: self.inputs.clone(),
            reader: self.documents.options(),
            duplicates: self.duplicates.clone().unwrap_or_default(),
            has_header: self.duplicates_header,
            settings,
        }
    }

    /// The recipe of the options; without `--recipe` that of the database, if it exists, with the parts
    /// that other options set.
    fn recipe_or_that_of_database(&self) -> Result<Recipe, Failure> {
        let Some(path) = self.db.as_ref().filter(|path| path.exists()) else {
            return self.recipe.recipe();
        };
        let width = width_of(path)?;
        let recipe = self.recipe.recipe_or(|| Ok(dedup::recipe_of(path)?))?;
        if recipe.width() != width {
            return Err(Failure::Usage(format!(
                "{}: holds fingerprints of {width} bits, but the recipe makes {}",
                path.display(),
                recipe.width()
            )));
        }
        Ok(recipe)
    }
}

/// The comparisons of a document on average from which the summary speaks of shared bands.
const CROWDED: f64 = 1000.0;

/// The characters of a key in the summary.
const KEY_CHARS: usize = 60;

/// Prints the counts, and warnings about unusual documents.
fn summarize(global: GlobalArgs, report: &FileReport, started: Instant) {
    let (counts, before) = (&report.counts, report.resumed_after);
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
    if duplicates > 0 {
        describe_duplicates(global, report);
    }
    if let Some(crowding) = report.crowding.filter(|crowding| crowding.mean >= CROWDED) {
        let (largest, mean) = (crowding.largest, crowding.mean);
        global.note(format_args!(
            "{largest} kept documents share a band, as pages with a common template do: a document was compared \
             with about {mean:.0} others, which takes time; texts without the template, or a larger --shingle, \
             take less"
        ));
    }
    if counts.unconfirmed > 0 {
        let unconfirmed = counts.unconfirmed;
        global.note(format_args!(
            "{unconfirmed} documents kept that fingerprints alone would leave out: their texts do not confirm it"
        ));
    }
    for (count, what) in [
        (bad, "bad records were set aside"),
        (aside, "documents with too few tokens were set aside"),
        (empty, "documents have no token: their fingerprint is 0"),
        (
            invalid_utf8,
            "documents are not valid UTF-8: invalid bytes were replaced before the fingerprint was computed",
        ),
    ] {
        if count > 0 && !global.quiet {
            print_message(format_args!("warning: {count} {what}"));
        }
    }
}

/// The beginning of a key, with all characters escaped that do not print themselves.
fn quoted(key: &str) -> String {
    match key.char_indices().nth(KEY_CHARS) {
        Some((end, _)) => format!("{:?}…", &key[..end]),
        None => format!("{key:?}"),
    }
}

/// Prints what the near-duplicates are.
fn describe_duplicates(global: GlobalArgs, report: &FileReport) {
    let DocumentCounts { duplicates, copies, by_similarity, .. } = report.counts;
    if report.counts_copies {
        let near = duplicates - copies;
        global.note(format_args!("exact copies: {copies}, near-duplicates: {near}"));
    }
    let tenths = (0..).zip(by_similarity).filter(|(_, count)| *count > 0);
    let tenths: Vec<String> = tenths
        .map(|(tenth, count)| {
            format!("{:.1} to {:.1}: {count}", f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0)
        })
        .collect();
    global.note(format_args!("by similarity: {}", tenths.join(", ")));
    let groups: Vec<String> =
        report.largest.iter().map(|group| format!("{} of {}", group.documents, quoted(&group.key))).collect();
    if !groups.is_empty() {
        let since = if report.resumed_after > 0 { " since the run was resumed" } else { "" };
        global.note(format_args!("largest groups{since}: {}", groups.join(", ")));
    }
}

/// A progress bar for the position in the inputs. It appears only on a terminal.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new(global: GlobalArgs) -> Self {
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
