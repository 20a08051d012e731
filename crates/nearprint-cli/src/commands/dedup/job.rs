//! What `nearprint dedup` and `nearprint trim` have in common: options, and the run of their job.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::report::DedupReport;
use super::summary::NULL_DEVICE;
use super::{summary, trimmed};
use crate::args::{
    DocumentArgs, DocumentNearArgs, GivenArgs, GlobalArgs, RecipeArgs, ReportArgs, SummaryArgs, WriterArgs,
};
use crate::input::refused::{refuse_databases, refuse_inside_database};
use crate::terminal::failure::Failure;
use crate::terminal::interrupt;
use crate::terminal::position::PositionBar;
use crate::terminal::stdout;
use nearprint::Options;
use nearprint::internal::parse_duration;
use nearprint_text::dedup::{DocumentCounts, Evidence, FileJob, FileReport};
use nearprint_text::documents::{Missing, Nested, check_outputs};
use nearprint_text::{Error, Result};

#[derive(Debug, clap::Args)]
pub(in crate::commands) struct JobArgs {
    /// Files and folders of documents; - for standard input
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Write kept documents here, in the format of its name; - for standard output. The formats are .jsonl, .csv, .tsv
    /// and .parquet. Any other name keeps the format of the inputs. A folder, or a name that ends in /, gets a file for
    /// each input, with the same name. No file in it is replaced
    #[arg(short, long, value_name = "OUT", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// Split the output into N files of the folder OUT, part-00000-of-0000N and so on. Documents are dealt to these
    /// files in turn
    #[arg(long, value_name = "N", requires = "output", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "Output options")]
    shards: Option<u32>,
    #[command(flatten, next_help_heading = "Duplicate options")]
    near: DocumentNearArgs,
    /// Remember kept documents in DB, so that later runs leave them out; created if missing
    #[arg(id = "database", long = "db", value_name = "DB", help_heading = "Database options")]
    db: Option<PathBuf>,
    /// Forget kept documents after TIME, such as 30d, 12h or week. An existing --db has to have this lifetime
    #[arg(long, value_name = "TIME", requires = "database", value_parser = parse_duration, help_heading = "Database options")]
    expire_after: Option<Duration>,
    #[command(flatten, next_help_heading = "Output options")]
    report: ReportArgs,
    #[command(flatten, next_help_heading = "Output options")]
    summary: SummaryArgs,
    /// Store this with the key of each kept document: features, texts, hashes or keys [default: what --db stores, else
    /// features for MinHash]. features are sets of shingles, about 2 bytes a word; similarities are exact. texts also
    /// gives exact similarities; contained:S and edit:S need it. With hashes, fingerprints estimate the similarity, and
    /// copies are known. With keys, copies are not known
    #[arg(long, value_name = "WHAT", help_heading = "Duplicate options")]
    store: Option<Evidence>,
    /// What to do with records of JSON lines and Parquet without a text (null, or no such field). error makes them bad
    /// records. keep writes them; nothing is near them. skip writes them to --rejects
    #[arg(long, value_name = "WHAT", default_value_t, help_heading = "Duplicate options")]
    missing: Missing,
    /// Skip documents with fewer features. Features are what the recipe compares: shingles or keywords, repetitions
    /// included. Only documents with the same words are near a document without features; 1 skips it. `trim` leaves
    /// such paragraphs or lines where they are
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Duplicate options")]
    min_features: usize,
    /// Add fields to each written document: fingerprint=FIELD, key=FIELD or text=FIELD. The text is the one that the
    /// recipe cleans. Only documents that `dedup` keeps have a fingerprint
    #[arg(long, value_name = "WHAT=FIELD", value_delimiter = ',', help_heading = "Output options")]
    add: Vec<String>,
    /// Write only these fields of documents: a list of names
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Output options")]
    fields: Vec<String>,
    /// Write arrays and objects as JSON texts, if the format of OUT has columns
    #[arg(long, value_name = "json", help_heading = "Output options")]
    nested: Option<Nested>,
    /// Write nothing but a --report, and print the counts of a real run
    #[arg(short = 'n', long, help_heading = "Output options")]
    dry_run: bool,
    /// Forget what an earlier run with these inputs kept, and run again. Without it, an interrupted run is resumed.
    /// Rows of other runs stay
    #[arg(long, help_heading = "Database options")]
    restart: bool,
    #[command(flatten, next_help_heading = "Database options")]
    writer: WriterArgs,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

impl JobArgs {
    /// Runs the job of a command. `new` makes it, with the defaults of the command, and `given` are its options.
    pub(in crate::commands) fn run(
        mut self,
        global: GlobalArgs,
        given: &GivenArgs,
        command: &'static str,
        new: fn(Vec<PathBuf>, PathBuf, Options) -> Result<FileJob>,
    ) -> Result<(), Failure> {
        refuse_databases(command, &self.inputs)?;
        let started = Instant::now();
        self.db.as_deref().map_or(Ok(()), |db| refuse_inside_database("--db", db))?;
        let mut job = self.job(global, given, new)?;
        job.collects_files = self.report.path().is_some();
        job.beside.extend(self.summary.path().map(|path| ("summary", path.into())));
        let report = self.report.path().map(|path| DedupReport::of(&mut job, path)).transpose()?;
        self.check_outputs(&job)?;
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
        let done = job.clone().run(progress);
        interrupt::set_cancellable(false);
        bar.clear();
        match done {
            Ok(done) => {
                note_outcome(global, &job, &done, started);
                report.map_or(Ok(()), |report| report.write(&done, &|| Ok(())))?;
                self.summary.write(|| summary::object(&job, &done, started))?;
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

    /// Checks what the job does not: standard output, and that nothing that is written replaces the stop words.
    fn check_outputs(&self, job: &FileJob) -> Result<()> {
        stdout::check_outputs(job.written().map(|(_, path)| path))?;
        let stop_words = self.recipe.stop_words_file();
        stop_words.map_or(Ok(()), |file| check_outputs(job.written(), &[file], &[]))?;
        self.summary.check_scanned(&[&*job.inputs, &*job.against].concat())
    }

    /// The job that the options describe.
    fn job(
        &mut self,
        global: GlobalArgs,
        given: &GivenArgs,
        new: fn(Vec<PathBuf>, PathBuf, Options) -> Result<FileJob>,
    ) -> Result<FileJob, Failure> {
        // Without a file for it, the list of kept files goes nowhere, and has room for every name.
        let is_listed = self.output.is_some();
        let output = self.output.take().unwrap_or_else(|| NULL_DEVICE.into());
        let mut job = new(std::mem::take(&mut self.inputs), output, self.writer.options(global))?;
        for (name, values) in given.of(job.names().filter(|name| *name != "recipe")) {
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
fn note_outcome(global: GlobalArgs, job: &FileJob, done: &FileReport, started: Instant) {
    match (done.completed, job.trim) {
        (Some(completed), _) => {
            global.note(format_args!(
                "already complete since {completed}: {}; nothing was changed",
                done.outcome(job.trim.is_some()).verdict("record")
            ));
            done.left_out.notes.iter().for_each(|note| global.note(format_args!("warning: {note}")));
        }
        (None, Some(rules)) => trimmed::summarize(global, job, rules, done),
        (None, None) => summary::summarize(global, job, done, started),
    }
}
