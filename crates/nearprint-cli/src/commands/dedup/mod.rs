//! `nearprint dedup`

mod copies;
mod picture_report;
mod pictures;
mod report;
mod summary;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::args::{
    DocumentArgs, GlobalArgs, NearArgs, PictureArgs, PictureNear, RecipeArgs, ReportArgs, SummaryArgs,
    WriterArgs,
};
use crate::commands::action::{ActCounts, ActionArgs, Plan, refuse_inside_database};
use crate::terminal::failure::Failure;
use crate::terminal::interrupt;
use crate::terminal::position::PositionBar;
use crate::terminal::stdout;
use nearprint::{AnyDatabase, width_of};
use nearprint_text::Error;
use nearprint_text::dedup::{
    self, Confirm, DedupOptions, DocumentCounts, Evidence, FileJob, FileReport, Keep, Shards, Unit,
};
use nearprint_text::documents::Missing;
use nearprint_text::recipe::Recipe;
pub use report::DedupReport;
use report::check_beside_outputs;
use summary::summarize;

/// Where output goes that nobody wants.
const NULL_DEVICE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// Keep the documents that are new, and leave out near-duplicates
///
/// A document is kept if no document near it was kept before. By default, documents are near if they
/// share 70% of their three-word shingles: see --similarity. MinHash fingerprints find candidates,
/// and their sets of shingles decide: see --evidence. Kept documents are written unchanged, in input order;
/// with --annotate, all documents are written, each with its group. With --db, a database stores the kept
/// documents, and later runs compare with them too. Rerun an interrupted command with --db to resume. A
/// command with the inputs of an earlier one changes nothing if it would replace the earlier output, unless
/// --restart or --again is given.
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
/// With --images, pictures are compared.
///
/// With --only-exact, files are compared byte for byte, whatever they contain.
///
/// The summary counts exact copies (the same words in the same order) apart from other
/// near-duplicates, and all of them by similarity: the exact one, or with --confirm the similarity of the texts.
/// With -k, simhash or --evidence none, fingerprints estimate it: Jaccard's for MinHash, the cosine
/// for simhash.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint dedup pages.jsonl.gz -o unique.jsonl --key-field url --duplicates duplicates.tsv
  nearprint dedup pages.jsonl -o unique.jsonl --duplicates duplicates.tsv --report groups.html
  nearprint dedup articles -o kept.txt --duplicates gone.tsv --similarity 0.8
  nearprint dedup articles --move-to gone --dry-run
  nearprint dedup photos --only-exact --hardlink --dry-run
  nearprint dedup --images photos --db pictures.np --move-to gone --dry-run
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
    /// Files and folders of documents; - for standard input
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// The file for kept documents, or for the paths of kept files of folders; - for standard output. A folder, or
    /// a name that ends in /, gets a file for each input, with the same name and format; no file in it is replaced
    #[arg(short, long, value_name = "OUT", required_unless_present_any = ["dry_run", "action", "images", "only_exact"])]
    output: Option<PathBuf>,
    /// Split the output into N files of the folder OUT, part-00000-of-0000N and so on: each document goes to the
    /// next one in turn
    #[arg(long, value_name = "N", requires = "output", conflicts_with = "images", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "Output options")]
    shards: Option<u32>,
    #[command(flatten, next_help_heading = "Duplicate options")]
    near: NearArgs,
    /// The database of all documents kept so far; created if it does not exist
    #[arg(long, value_name = "DB", help_heading = "Database options")]
    db: Option<PathBuf>,
    /// End each path in the list of kept files, and in --rejects, with a zero byte: for `xargs -0`, and for
    /// names with line feeds
    #[arg(short = '0', long, help_heading = "Output options")]
    null: bool,
    /// Compare with a database, or with the documents of a file or folder, and leave out what is near one of
    /// them; may be given several times. They are only read. The inputs are then not compared with each
    /// other, unless --within or --db is given
    #[arg(long, value_name = "DB|FILE|FOLDER", conflicts_with_all = ["unit", "cluster_size"], help_heading = "Database options")]
    against: Vec<PathBuf>,
    /// With --against, compare the inputs with each other, too
    #[arg(long, requires = "against", help_heading = "Database options")]
    within: bool,
    /// Compare the files of folders with those below DIR first, which are never removed; may be given
    /// several times. DIR may be inside an input
    #[arg(long, value_name = "DIR", conflicts_with_all = ["unit", "cluster_size"], help_heading = "Duplicate options")]
    reference: Vec<PathBuf>,
    #[command(flatten)]
    action: ActionArgs,
    /// Compare the pictures of folders instead of texts, by PDQ fingerprints, and keep the best one of several near
    /// ones: the one with the most pixels, then the most bytes. HOW is strict (15 of 256 bits), default (31) or
    /// loose (47); -k sets the bits. With --db, pictures are remembered by path, size and time, and decoded once;
    /// pictures of other folders stay, and are compared first. Without any output, near-duplicates are printed as in
    /// --duplicates
    #[arg(long, value_name = "HOW", value_enum, num_args = 0..=1, default_missing_value = "default", require_equals = true, conflicts_with_all = ["against", "within", "annotate", "cluster_size", "unit", "confirm", "evidence", "similarity", "min_tokens", "min_features", "missing", "add_fingerprint", "keep_fields", "old_id", "cleaned", "restart", "again", "recipe"], help_heading = "Picture options")]
    images: Option<PictureNear>,
    #[command(flatten)]
    pictures: PictureArgs,
    /// Write `key duplicate_of distance similarity cluster exact` for each near-duplicate, in input
    /// order; duplicate_of and cluster are the key of the kept document, and exact says whether it is a copy: of
    /// files byte for byte, of records the same words in the same order. A key equal to the kept one is followed by #
    /// and the number of the record in its input
    #[arg(long, value_name = "FILE", help_heading = "Output options")]
    duplicates: Option<PathBuf>,
    /// Begin the file of duplicates with a line of the names of its columns
    #[arg(long, requires = "duplicates", help_heading = "Output options")]
    duplicates_header: bool,
    /// Write near-duplicates to OUT, too, and add the fields duplicate_of, cluster, similarity and exact
    /// to each document. For a kept document cluster is its own key; the others are null
    #[arg(long, help_heading = "Output options")]
    annotate: bool,
    /// Add a last field cluster_size to each document, and a last column to the file of duplicates:
    /// the number of documents with the same kept one, itself included. Reads the inputs twice. Not
    /// with --db, because later runs add to the groups
    #[arg(long, conflicts_with_all = ["db", "unit"], help_heading = "Output options")]
    cluster_size: bool,
    #[command(flatten, next_help_heading = "Output options")]
    report: ReportArgs,
    #[command(flatten, next_help_heading = "Output options")]
    summary: SummaryArgs,
    /// Compare the paragraphs (lines between blank ones) or the lines of documents, and write
    /// documents without repeated ones. A document that loses everything is not written. Repeated
    /// means the same words (`--recipe exact`), unless --recipe, --similarity or -k is given. The
    /// key of a unit is the key of its document, `#` and its number. passage removes repeated runs of --min-words
    /// words, wherever they begin and end, and keeps the first of them; the number counts the first word
    #[arg(long, value_name = "paragraph|line|passage", value_parser = unit, conflicts_with_all = ["annotate", "add_fingerprint"], help_heading = "Duplicate options")]
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
    /// field are numbers, or dates and times as in ISO 8601, or strings; a missing value is the smallest and oldest. All
    /// but first read records twice. Files of --reference and --against, and documents of earlier runs, always stay
    #[arg(long, value_name = "WHICH", help_heading = "Duplicate options")]
    keep: Option<Keep>,
    /// Compare the texts of candidates before they count as duplicates: jaccard:X (at least X of
    /// their shingles in common), contained:X (at least X of the document's own shingles in the kept one)
    /// or edit:X (at most X of the characters changed; texts of more than 1,048,576 characters are bad
    /// records). An existing --db must store texts (`create
    /// --texts`); a new one does
    #[arg(long, value_name = "MEASURE:X", help_heading = "Duplicate options")]
    confirm: Option<Confirm>,
    /// What decides about documents with near fingerprints, and is stored with each kept one: features
    /// (the exact similarity of their sets of shingles; some 2 bytes a word), texts (the same, for a
    /// later --confirm), or none (fingerprints estimate the similarity) [default: what --db stores,
    /// else features for MinHash]
    #[arg(long, value_name = "WHAT", value_parser = evidence, conflicts_with = "k", help_heading = "Duplicate options")]
    evidence: Option<Evidence>,
    /// What becomes of records of JSON lines and Parquet without a text (null, or in JSON no such field): raise is an
    /// error or a reject, keep writes them as documents that nothing is near, drop sets them aside
    #[arg(long, value_name = "WHAT", default_value_t, help_heading = "Duplicate options")]
    missing: Missing,
    /// Set aside documents with fewer tokens: they are neither kept nor duplicates, and are written
    /// to --rejects [default: 0]. With --unit, leave shorter paragraphs or lines where they are: a few
    /// words recur by chance [default: 5]
    #[arg(long, value_name = "N", help_heading = "Duplicate options")]
    min_tokens: Option<usize>,
    /// Set aside documents with fewer features as well. Features are what the recipe compares:
    /// shingles, or keywords. Only documents with the same tokens are near a document without
    /// features; 1 sets it aside. With --unit, leave such paragraphs or lines where they are
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Duplicate options")]
    min_features: usize,
    /// Add the fingerprint to each kept document, in a last field with this name
    #[arg(long, value_name = "FIELD", help_heading = "Output options")]
    add_fingerprint: Option<String>,
    /// Write only these fields of documents: a list of names
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Output options")]
    keep_fields: Vec<String>,
    /// Add the key to each written document, in a field with this name
    #[arg(long, value_name = "FIELD", help_heading = "Output options")]
    old_id: Option<String>,
    /// Add the cleaned text of the recipe to each written document, in a field with this name
    #[arg(long, value_name = "FIELD", help_heading = "Output options")]
    cleaned: Option<String>,
    /// Write nothing, and print the counts of a real run; with an action, print what it would do: the act,
    /// the file, where it goes or what is kept, the similarity, and whether both are byte-identical
    #[arg(long, help_heading = "Output options")]
    dry_run: bool,
    /// Remove what an interrupted run, or an earlier run with the same inputs, kept in the database, and
    /// start again. Rows that others stored stay
    #[arg(long, help_heading = "Database options")]
    restart: bool,
    /// Run even if an earlier run with the same inputs has written the same output: all documents
    /// are then duplicates
    #[arg(long, conflicts_with = "restart", help_heading = "Database options")]
    again: bool,
    #[command(flatten, next_help_heading = "Database options")]
    writer: WriterArgs,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

fn evidence(text: &str) -> Result<Evidence, String> {
    match text {
        "features" => Ok(Evidence::Features),
        "texts" => Ok(Evidence::Texts),
        "none" => Ok(Evidence::None),
        _ => Err("not features, texts or none".into()),
    }
}

fn unit(text: &str) -> Result<Unit, String> {
    match text {
        "paragraph" => Ok(Unit::Paragraph),
        "line" => Ok(Unit::Line),
        "passage" => Ok(Unit::Passage),
        _ => Err("not paragraph, line or passage".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "not a number from 0 to 1".into())
}

impl Args {
    pub(super) fn run(mut self, global: GlobalArgs) -> Result<(), Failure> {
        if self.action.compares_bytes() {
            return self.run_copies(global);
        }
        if let Some(near) = self.images {
            return self.run_pictures(near, global);
        }
        let started = Instant::now();
        self.check_passages()?;
        let dedup = self.dedup_options(global)?;
        let read = [&self.inputs[..], &self.reference, &self.against].concat();
        let plan = self.action.plan(&read, self.keep.is_some())?;
        self.db.as_deref().map_or(Ok(()), |db| refuse_inside_database("--db", db))?;
        if plan.is_some() && self.db.is_some() {
            let why = "--db cannot be used with an action on files, unless --images is given";
            return Err(Failure::Usage(why.into()));
        }
        // Without a file for it, the list of kept files goes nowhere, and has room for every name.
        let nul_ended = self.null || self.output.is_none();
        let output = self.output.take().unwrap_or_else(|| NULL_DEVICE.into());
        let mut job = FileJob::new(std::mem::take(&mut self.inputs), output, dedup);
        self.set_switches(&mut job);
        self.set_files(&mut job);
        job.shards = shards_of(self.shards, &job.output)?;
        job.collects_files = plan.is_some() || self.report.path().is_some();
        job.nul_ended = nul_ended;
        let outputs = [Some(&job.output), job.duplicates.as_ref(), job.rejects.as_ref()];
        stdout::check_outputs(outputs.into_iter().flatten().filter(|_| !job.dry_run).map(PathBuf::as_path))?;
        let report = dedup_report(&self.report, &job)?;
        self.report.check_scanned(&job.inputs)?;
        self.summary.check_scanned(&job.inputs)?;
        self.summary.path().map_or(Ok(()), |path| check_beside_outputs(("summary", path), &job))?;
        let remembers = job.database.is_some() && !job.dry_run;
        let (has_rejects, is_dry) = (job.rejects.is_some(), job.dry_run);
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
                if done.files.is_some() {
                    global.note(format_args!("stays: {}", stays(self.keep.as_ref())));
                }
                report.map_or(Ok(()), |report| report.write(&done, &|| Ok(())))?;
                let acted = plan.map(|plan| act(&plan, &done, is_dry, global)).transpose()?;
                self.summary.write(|| summary::object(&done, (self.unit, acted), started))?;
                acted.filter(|_| !is_dry).map_or(Ok(()), ActCounts::check)
            }
            Err(Error::Engine(nearprint::Error::Interrupted)) => {
                let partial = Some(partial).filter(|partial| partial.exists());
                let rerun = remembers.then_some("rerun the command to resume");
                Err(Failure::Interrupted { records: seen, rerun, partial })
            }
            Err(Error::Input { place, why }) if !has_rejects => Err(Failure::Record { place, why }),
            Err(other) => match Failure::from(other) {
                failure if remembers && failure.is_closed_pipe() => Err(Failure::NotDelivered),
                failure => Err(failure),
            },
        }
    }

    /// Moves the files and fields that options name into a job.
    fn set_files(&mut self, job: &mut FileJob) {
        job.reader = self.documents.options();
        job.reader.fields.missing = self.missing;
        job.add_fingerprint = self.add_fingerprint.take();
        job.keep_fields = std::mem::take(&mut self.keep_fields);
        job.old_id = self.old_id.take();
        job.cleaned = self.cleaned.take();
        job.duplicates = self.duplicates.take();
        job.rejects = self.documents.rejects.take();
        job.database = self.db.take();
        job.within = self.within || !self.reference.is_empty() || self.against.is_empty();
        job.against = [std::mem::take(&mut self.reference), std::mem::take(&mut self.against)].concat();
        job.keep.clone_from(&self.keep);
    }

    /// Sets what options say without a value of their own, or with a number.
    fn set_switches(&self, job: &mut FileJob) {
        job.annotate = self.annotate;
        job.cluster_size = self.cluster_size;
        job.duplicates_header = self.duplicates_header;
        job.dry_run = self.dry_run;
        job.restart = self.restart;
        job.again = self.again;
        job.units = self.unit;
        job.unit_rules.min_repeats = self.min_repeats;
        job.unit_rules.min_left = self.min_left;
        job.unit_rules.keeps_hollow = self.keep_hollow;
        if let Some(min_words) = self.min_words.and_then(|words| usize::try_from(words).ok()) {
            job.unit_rules.min_words = min_words;
        }
    }

    /// Refuses options that passages do not have, or that only they have.
    fn check_passages(&self) -> Result<(), Failure> {
        let compares = self.near.is_given() || self.recipe.is_anything_given() || self.confirm.is_some();
        let why = match self.unit {
            Some(Unit::Passage) if compares => {
                "--unit passage: passages have equal words; no option changes that"
            }
            Some(Unit::Passage) if self.min_tokens.is_some() => "--min-tokens: --min-words is for passages",
            Some(Unit::Passage) => return Ok(()),
            _ if self.min_words.is_some() => "--min-words: is for --unit passage",
            _ => return Ok(()),
        };
        Err(Failure::Usage(why.into()))
    }

    /// How documents are compared.
    fn dedup_options(&self, global: GlobalArgs) -> Result<DedupOptions, Failure> {
        let recipe = self.recipe_or_stored()?;
        let (k, similarity) = self.near.of_documents(&recipe)?;
        let mut dedup = DedupOptions::new(recipe);
        dedup.require_recipe = self.recipe.is_given();
        (dedup.k, dedup.similarity) = (k, similarity);
        (dedup.evidence, dedup.confirm) = (self.evidence, self.confirm);
        dedup.min_tokens = self.min_tokens.unwrap_or(self.unit.map_or(0, |_| Unit::DEFAULT_MIN_TOKENS));
        dedup.min_features = self.min_features;
        dedup.engine = self.writer.options(global);
        Ok(dedup)
    }
}

impl Args {
    /// The recipe of the options; without `--recipe` the recipe of the first database that exists,
    /// with the parts that other options set.
    fn recipe_or_stored(&self) -> Result<Recipe, Failure> {
        if self.unit == Some(Unit::Passage) {
            return Ok("exact width=128".parse()?);
        }
        let databases = self.db.iter().chain(&self.against);
        let mut databases = databases.filter(|path| path.is_dir() && width_of(path).is_ok());
        let Some(path) = self.db.as_ref().filter(|path| path.exists()).or_else(|| databases.next()) else {
            // Paragraphs are compared exactly, unless another option says how.
            return match self.unit.is_some() && !self.near.is_given() && !self.recipe.is_anything_given() {
                true => Ok("exact".parse()?),
                false => self.recipe.recipe(),
            };
        };
        let database = AnyDatabase::open(path)?;
        let recipe = self.recipe.recipe_or(|| Ok(dedup::recipe_in(&database)?))?;
        if recipe.width() != database.width() {
            return Err(Failure::Usage(format!(
                "{}: holds fingerprints of {} bits, but the recipe makes {}",
                path.display(),
                database.width(),
                recipe.width()
            )));
        }
        Ok(recipe)
    }
}

/// How the output is split, if it is a folder.
fn shards_of(count: Option<u32>, output: &Path) -> Result<Option<Shards>, Failure> {
    if count.is_some() && output == Path::new("-") {
        return Err(Failure::Usage("--shards: OUT has to be a folder, not standard output".into()));
    }
    Ok(Shards::of(output, count))
}

/// Prints the counts of a job, or that it was complete before.
fn note_outcome(global: GlobalArgs, done: &FileReport, unit: Option<Unit>, started: Instant) {
    let Some(completed) = done.completed else { return summarize(global, done, unit, started) };
    let DocumentCounts { records, kept, .. } = done.counts;
    global.note(format_args!(
        "already complete on {completed}: {records} documents, {kept} kept; its outputs and the database stay as they are"
    ));
}

/// Which file of a group stays, in words.
fn stays(keep: Option<&Keep>) -> &'static str {
    match keep {
        None | Some(Keep::Best) => {
            "the file with the most words, then the oldest, then the one with the shortest path"
        }
        Some(Keep::OldestFile) => "the oldest file",
        Some(Keep::NewestFile) => "the newest file",
        Some(Keep::Largest) => "the largest file",
        Some(Keep::ShortestPath) => "the file with the shortest path",
        Some(Keep::Longest) => "the file with the longest text",
        Some(Keep::Shortest) => "the file with the shortest text",
        Some(Keep::Last) => "the last file in the order of paths",
        Some(_) => "the first file in the order of paths",
    }
}

/// Acts on the near-duplicates, which have to be files.
fn act(plan: &Plan, done: &FileReport, is_dry: bool, global: GlobalArgs) -> Result<ActCounts, Failure> {
    match &done.files {
        Some(files) => plan.run(files, &done.left_out.temporary, is_dry, global),
        None => Err(Failure::Usage("actions are for files of folders, and the inputs are records".into())),
    }
}

/// The report of a job, if one is wanted.
fn dedup_report(args: &ReportArgs, job: &FileJob) -> Result<Option<DedupReport>, Failure> {
    let Some(path) = args.path() else { return Ok(None) };
    let report = DedupReport::of(job, path)?;
    let why = "--report: shows the file of --duplicates, which is not written";
    report.map(Some).ok_or_else(|| Failure::Usage(why.into()))
}
