//! `nearprint dedup`

mod report;
mod summary;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Instant;

use crate::args::{
    DocumentArgs, GivenArgs, GlobalArgs, NearArgs, RecipeArgs, ReportArgs, SummaryArgs, WriterArgs,
};
use crate::input::refused::{refuse_databases, refuse_inside_database};
use crate::terminal::failure::Failure;
use crate::terminal::interrupt;
use crate::terminal::position::PositionBar;
use crate::terminal::stdout;
use nearprint_text::Error;
use nearprint_text::dedup::{Confirm, DocumentCounts, Evidence, FileJob, FileReport, Keep, Unit};
use nearprint_text::documents::{Missing, Nested};
pub use report::DedupReport;
use report::check_beside_outputs;
use summary::summarize;

/// Where output goes that nobody wants.
const NULL_DEVICE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// Write the records that are new; leave out near-duplicates
///
/// A document is kept if no document near it was kept before. By default, documents are near if they
/// share 70% of their three-word shingles: see --similarity. MinHash fingerprints find candidates,
/// and their sets of shingles decide: see --store. Kept documents are written unchanged, in input order;
/// with --annotate, all documents are written, each with its group. With --db, a database stores the kept
/// documents, and later runs compare with them too. Rerun an interrupted command with --db to resume. A
/// command with the inputs of an earlier one changes nothing, unless --restart is given.
///
/// Outputs are written to NAME.partial, and renamed when they are complete. Documents on standard
/// output are stored in --db after standard output has accepted them. If the reader of a pipe ends,
/// the exit code is 7, and the next run delivers the rest.
///
/// Inputs are documents in JSON lines, CSV, TSV or Parquet, or folders of text files. Each file of a
/// folder is a document, and its path is its key; OUT is then the list of the paths to keep. A folder
/// whose files all are JSON lines, or all CSV, TSV or Parquet, is read as their records.
///
/// With --unit, paragraphs or lines are compared instead of whole documents, and documents are
/// written without repeated ones: menus, licences, footers. By default, only paragraphs with the
/// same words are repeated ones.
///
/// The summary counts exact copies (the same words in the same order) apart from other
/// near-duplicates, and all of them by similarity: the exact one, or with --confirm the similarity of the texts.
/// With -k, simhash or --store hashes, fingerprints estimate it: Jaccard's for MinHash, the cosine
/// for simhash.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint dedup pages.jsonl.gz -o unique.jsonl --key-field url --duplicates duplicates.tsv
  nearprint dedup pages.jsonl -o unique.jsonl --duplicates duplicates.tsv --report groups.html
  nearprint dedup articles -o kept.txt --duplicates gone.tsv --similarity 0.8
  nearprint dedup today.jsonl -o new.jsonl --db seen.np --key-field url
  nearprint dedup corpus.jsonl -o unique.jsonl --similarity 0.8 --keep longest
  nearprint dedup pages.parquet -o groups.parquet --key-field url --annotate
  nearprint dedup pages.jsonl -o new.jsonl --against documents.np --against evals.jsonl
  nearprint dedup crawl -o unique/ --db seen.np
  nearprint dedup pages.jsonl.gz -o parts --shards 4
  nearprint dedup pages.jsonl -o clean.jsonl --unit paragraph --duplicates removed.tsv
  nearprint dedup pages.jsonl -o clean.jsonl --unit passage --min-words 30
  mongoexport … | nearprint dedup - -o - --key-field _id.\\$oid | mongoimport …")]
pub(super) struct Args {
    #[command(flatten)]
    given: GivenArgs,
    /// Files and folders of documents; - for standard input
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Write kept documents here; - for standard output. Of folders, the paths of kept files are written. Its name decides
    /// the format of records: .jsonl, .csv, .tsv or .parquet; another one has that of the inputs. A folder, or a name
    /// that ends in /, gets a file for each input, with the same name; no file in it is replaced
    #[arg(short, long, value_name = "OUT", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// Split the output into N files of the folder OUT, part-00000-of-0000N and so on: each document goes to the
    /// next one in turn
    #[arg(long, value_name = "N", requires = "output", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "Output options")]
    shards: Option<u32>,
    #[command(flatten, next_help_heading = "Duplicate options")]
    near: NearArgs,
    /// The database of all documents kept so far; created if it does not exist
    #[arg(id = "database", long = "db", value_name = "DB", help_heading = "Database options")]
    db: Option<PathBuf>,
    /// End each path in the list of kept files, and in --rejects, with a zero byte: for `xargs -0`, and for
    /// names with line feeds
    #[arg(short = '0', long, help_heading = "Output options")]
    null: bool,
    /// Leave out what is near the documents of these, too; may be given several times. They are only read. They are only compared, and are never
    /// changed
    #[arg(long, value_name = "DB|FILE|FOLDER", conflicts_with_all = ["unit", "group_size"], help_heading = "Database options")]
    against: Vec<PathBuf>,
    /// Compare the inputs with --against only, not with each other
    #[arg(long, requires = "against", conflicts_with = "database", help_heading = "Database options")]
    only_against: bool,
    /// List what was left out, and of what it is a duplicate. Writes `key duplicate_of distance similarity cluster exact`
    /// for each near-duplicate, in input order; duplicate_of and cluster are the key of the kept document, and exact says whether it is a copy: of
    /// files byte for byte, of records the same words in the same order. A key equal to the kept one is followed by #
    /// and the number of the record in its input
    #[arg(long, value_name = "FILE", help_heading = "Output options")]
    duplicates: Option<PathBuf>,
    /// Leave nothing out, and add the group of each document as fields. These are duplicate_of, cluster, similarity and
    /// exact. For a kept document cluster is its own key; the others are null
    #[arg(long, help_heading = "Output options")]
    annotate: bool,
    /// Add a last field group_size to each document, and a last column to the file of duplicates:
    /// the number of documents with the same kept one, itself included. Reads the inputs twice. Not
    /// with --db, because later runs add to the groups
    #[arg(long, conflicts_with_all = ["database", "unit"], help_heading = "Output options")]
    group_size: bool,
    #[command(flatten, next_help_heading = "Output options")]
    report: ReportArgs,
    #[command(flatten, next_help_heading = "Output options")]
    summary: SummaryArgs,
    /// Remove paragraphs, lines or passages that recur. Compares the paragraphs (lines between blank ones) or the lines of
    /// documents, and writes documents without repeated ones. A document that loses everything is not written. Repeated
    /// means the same words (`--recipe exact`), unless --recipe, --similarity or -k is given. The
    /// key of a unit is the key of its document, `#` and its number. passage removes repeated runs of --min-words
    /// words, wherever they begin and end, and keeps the first of them; the number counts the first word
    #[arg(long, value_name = "paragraph|line|passage", conflicts_with_all = ["annotate", "add"], help_heading = "Duplicate options")]
    unit: Option<Unit>,
    /// With --unit, remove a paragraph or line from the Nth document on that has it. With 2, also where its own
    /// document repeats it
    #[arg(long, value_name = "N", default_value = "2", requires = "unit", value_parser = clap::value_parser!(u64).range(2..), help_heading = "Duplicate options")]
    min_repeats: u64,
    /// With --unit passage, the words of the shortest run that is removed [default: 50]
    #[arg(long, value_name = "N", requires = "unit", value_parser = clap::value_parser!(u64).range(2..=10_000), help_heading = "Duplicate options")]
    min_words: Option<u64>,
    /// With --unit, leave a document out if earlier ones leave less than this share of its text, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", requires = "unit", value_parser = share, help_heading = "Duplicate options")]
    min_left: f64,
    /// With --min-left, write such documents whole
    #[arg(long, requires = "min_left", help_heading = "Duplicate options")]
    keep_hollow: bool,
    /// Which one of several near-duplicates to keep. Of files: best (most words, then the oldest, then the shortest
    /// path), oldest, newest, largest, shortest-path, first, last, longest or shortest [default: best]. Of records:
    /// first, last, longest, shortest, max:FIELD, min:FIELD, newest:FIELD or oldest:FIELD [default: first]. Values of a
    /// field are numbers, or dates and times as in ISO 8601, or strings; a missing value is the smallest and oldest.
    /// All but first read records twice. Documents of --against and of earlier runs always stay
    #[arg(long, value_name = "WHICH", help_heading = "Duplicate options")]
    keep: Option<Keep>,
    /// Compare the texts of candidates before they count as duplicates: jaccard:X (at least X of
    /// their shingles in common), contained:X (at least X of the document's own shingles in the kept one)
    /// or edit:X (at most X of the characters changed; texts of more than 1,048,576 characters are bad
    /// records). An existing --db must store texts (`create
    /// --store texts`); a new one does
    #[arg(long, value_name = "MEASURE:X", help_heading = "Duplicate options")]
    confirm: Option<Confirm>,
    /// Store this with the key of each kept document. It decides about documents with near fingerprints: features (the
    /// exact similarity of their sets of shingles; some 2 bytes a word), texts (the same, also for a later --confirm),
    /// hashes of texts (fingerprints estimate the similarity, and copies are known) or keys (copies are not known)
    /// [default: what --db stores, else features for MinHash]
    #[arg(long, value_name = "WHAT", conflicts_with = "k", help_heading = "Duplicate options")]
    store: Option<Evidence>,
    /// What becomes of records of JSON lines and Parquet without a text (null, or in JSON no such field): raise is an
    /// error or a reject, keep writes them as documents that nothing is near, drop sets them aside
    #[arg(long, value_name = "WHAT", default_value_t, help_heading = "Duplicate options")]
    missing: Missing,
    /// Set shorter documents aside. Those with fewer tokens are neither kept nor duplicates, and are written
    /// to --rejects [default: 0]. With --unit, leave shorter paragraphs or lines where they are: a few
    /// words recur by chance [default: 5]
    #[arg(long, value_name = "N", help_heading = "Duplicate options")]
    min_tokens: Option<usize>,
    /// Set aside documents with fewer features as well. Features are what the recipe compares:
    /// shingles, or keywords. Only documents with the same tokens are near a document without
    /// features; 1 sets it aside. With --unit, leave such paragraphs or lines where they are
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Duplicate options")]
    min_features: usize,
    /// Add fields to each written document: fingerprint=FIELD, key=FIELD or text=FIELD, the text as the recipe cleans
    /// it. Kept documents have the fingerprint
    #[arg(long, value_name = "WHAT=FIELD", value_delimiter = ',', help_heading = "Output options")]
    add: Vec<String>,
    /// Write only these fields of documents: a list of names
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Output options")]
    fields: Vec<String>,
    /// Write arrays and objects as texts, their JSON, where the name of OUT denotes a format with columns
    #[arg(long, value_name = "json", help_heading = "Output options")]
    nested: Option<Nested>,
    /// Write nothing, and print the counts of a real run
    #[arg(short = 'n', long, help_heading = "Output options")]
    dry_run: bool,
    /// Forget what an earlier run with these inputs kept, and run again. Also after an interrupted run. Rows that others stored stay
    #[arg(long, help_heading = "Database options")]
    restart: bool,
    #[command(flatten, next_help_heading = "Database options")]
    writer: WriterArgs,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "not a number from 0 to 1".into())
}

impl Args {
    pub(super) fn run(mut self, global: GlobalArgs) -> Result<(), Failure> {
        refuse_databases("dedup", &self.inputs)?;
        let started = Instant::now();
        self.db.as_deref().map_or(Ok(()), |db| refuse_inside_database("--db", db))?;
        let mut job = self.job(global)?;
        job.collects_files = self.report.path().is_some();
        let outputs = [Some(&job.output), job.duplicates.as_ref(), job.rejects.as_ref()];
        stdout::check_outputs(outputs.into_iter().flatten().filter(|_| !job.dry_run).map(PathBuf::as_path))?;
        let report = dedup_report(&self.report, &job)?;
        self.report.check_scanned(&job.inputs)?;
        self.summary.check_scanned(&job.inputs)?;
        self.summary.path().map_or(Ok(()), |path| check_beside_outputs(("summary", path), &job))?;
        let remembers = job.database.is_some() && !job.dry_run;
        let has_rejects = job.rejects.is_some();
        let has_more =
            job.against.is_empty() && (job.inputs.len() > 1 || job.inputs.iter().any(|path| path.is_dir()));
        let partial = PathBuf::from([job.output.as_os_str(), OsStr::new(".partial")].join(OsStr::new("")));
        let mut bar = PositionBar::new(global);
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
                note_outcome(global, &done, self.unit, started);
                report.map_or(Ok(()), |report| report.write(&done, &|| Ok(())))?;
                self.summary.write(|| summary::object(&done, self.unit, started))?;
                Ok(done.left_out.check_compared(done.counts.records + done.counts.bad)?)
            }
            Err(Error::Engine(nearprint::Error::Interrupted)) => {
                let partial = Some(partial).filter(|partial| partial.exists());
                let rerun = remembers.then_some("rerun the command to resume");
                Err(Failure::Interrupted { records: seen, rerun, partial })
            }
            // Another name of the field, or the other files, would be read.
            Err(Error::Input { place, why })
                if !has_rejects && (has_more || why.starts_with("no column ")) =>
            {
                Err(Failure::Record { place, why })
            }
            Err(other) => match Failure::from(other) {
                failure if remembers && failure.is_closed_pipe() => Err(Failure::NotDelivered),
                failure => Err(failure),
            },
        }
    }

    /// The job that the options describe.
    fn job(&mut self, global: GlobalArgs) -> Result<FileJob, Failure> {
        // Without a file for it, the list of kept files goes nowhere, and has room for every name.
        let is_listed = self.output.is_some();
        let output = self.output.take().unwrap_or_else(|| NULL_DEVICE.into());
        let mut job =
            FileJob::with_defaults(std::mem::take(&mut self.inputs), output, self.writer.options(global))?;
        for (name, values) in self.given.of(FileJob::names().filter(|name| *name != "recipe")) {
            job.set(name, &values)?;
        }
        let recipe = self.recipe.named().map(|named| ("recipe", named));
        for (part, value) in recipe.into_iter().chain(self.recipe.given_parts()?) {
            job.set(part, &[value.into()])?;
        }
        job.nul_ended |= !is_listed;
        Ok(job)
    }
}

/// Prints the counts of a job, or that it was complete before.
fn note_outcome(global: GlobalArgs, done: &FileReport, unit: Option<Unit>, started: Instant) {
    let Some(completed) = done.completed else { return summarize(global, done, unit, started) };
    let DocumentCounts { records, kept, .. } = done.counts;
    global.note(format_args!(
        "already complete on {completed}: {records} documents, {kept} kept; its outputs and the database stay as they are"
    ));
}

/// The report of a job, if one is wanted.
fn dedup_report(args: &ReportArgs, job: &FileJob) -> Result<Option<DedupReport>, Failure> {
    let Some(path) = args.path() else { return Ok(None) };
    let report = DedupReport::of(job, path)?;
    let why = "--report: shows the file of --duplicates, which is not written";
    report.map(Some).ok_or_else(|| Failure::Usage(why.into()))
}
