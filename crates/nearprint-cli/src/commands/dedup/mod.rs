//! `nearprint dedup`

mod job;
mod report;
mod summary;
mod trimmed;

use std::path::PathBuf;

use crate::args::{GivenArgs, GlobalArgs};
use crate::terminal::failure::Failure;
pub(super) use job::JobArgs;
use nearprint_text::dedup::{FileJob, Keep};
pub use report::DedupReport;

/// Write the records that are new; leave out near-duplicates
///
/// Reads records in order, and keeps each one that is not near an earlier kept one. By default, two records are near if
/// they share 70% of their three-word shingles: see --similarity. Kept records are written unchanged, in input order.
/// With --annotate, all records are written, each with its group. With --db, a database stores the kept records, and
/// later runs compare with them, too. Rerun an interrupted command with --db to resume it. A command with the inputs of
/// an earlier one changes nothing, unless --restart is given.
///
/// Outputs are written to NAME.partial and get their final names when they are complete. With `-o -`, a record is
/// stored in --db after standard output has accepted it. If the reader of a pipe ends, the exit code is 7, and the next
/// run writes the rest.
///
/// Inputs are records in JSON lines, CSV, TSV or Parquet, or folders of text files. Each file of a folder is a record,
/// and its path is the key. OUT is then the list of the paths to keep. If all files of a folder have one record format,
/// their records are read.
///
/// MinHash fingerprints find candidates, and their sets of shingles decide: similarities are exact. With -k, simhash or
/// --store hashes, fingerprints estimate the similarity. The summary and --summary count copies apart from other
/// near-duplicates. They have the same words in the same order, markup included, whatever the bytes of files.
#[derive(Debug, clap::Args)]
#[command(override_usage = "nearprint dedup [OPTIONS] --output <OUT> <INPUT>...")]
#[command(after_help = "\
Examples:
  nearprint dedup pages.jsonl.gz -o unique.jsonl --key-field url --duplicates duplicates.tsv
  nearprint dedup pages.jsonl -o unique.jsonl --report groups.html
  nearprint dedup articles -o kept.txt --duplicates gone.tsv --similarity 0.8
  nearprint dedup today.jsonl -o new.jsonl --db seen.np --key-field url
  nearprint dedup corpus.jsonl -o unique.jsonl --similarity 0.8 --keep longest
  nearprint dedup pages.parquet -o groups.parquet --key-field url --annotate
  nearprint dedup pages.jsonl -o new.jsonl --against documents.np --against evals.jsonl
  nearprint dedup crawl -o unique/ --db seen.np
  nearprint dedup pages.jsonl.gz -o parts --shards 4
  mongoexport … | nearprint dedup - -o - --key-field _id.\\$oid | mongoimport …")]
pub(super) struct Args {
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    job: JobArgs,
    /// End each path in the list of kept files and in --rejects with a zero byte, for `xargs -0`. Use it for names with
    /// line feeds
    #[arg(short = '0', long, help_heading = "Output options")]
    null: bool,
    /// Also leave out what is near DATA; may be repeated. DATA is a file, a folder or a database, and is never changed
    #[arg(
        long,
        value_name = "DB|FILE|FOLDER",
        conflicts_with = "group_size",
        help_heading = "Database options"
    )]
    against: Vec<PathBuf>,
    /// Compare the inputs with --against only, not with each other
    #[arg(long, requires = "against", conflicts_with = "database", help_heading = "Database options")]
    only_against: bool,
    /// List what was left out, and of what it is a duplicate. FILE gets a header, then a line for each duplicate in
    /// input order: `key duplicate_of distance similarity group copy`. A name that ends in .csv makes it CSV.
    /// duplicate_of and group are the key of the kept document. copy is true for the same bytes of files, and for the
    /// same words of records in the same order. If a duplicate has the key of the kept document, its key is followed by
    /// # and the number of the record in its input
    #[arg(long, value_name = "FILE", help_heading = "Output options")]
    duplicates: Option<PathBuf>,
    /// Leave nothing out, and add the group of each document as fields. These are duplicate_of, group, similarity and
    /// copy. For a kept document, group is its own key, and the others are null
    #[arg(long, help_heading = "Output options")]
    annotate: bool,
    /// Add a last field group_size to each document and a last column to the file of duplicates. It is the number of
    /// documents in the group. The inputs are read twice. The option cannot be used with --db, because later runs add
    /// to the groups
    #[arg(long, conflicts_with = "database", help_heading = "Output options")]
    group_size: bool,
    /// Which one of near-duplicates to keep, such as first, longest, min:FIELD or newest:FIELD. For records: first,
    /// last, longest, shortest, max:FIELD, min:FIELD, newest:FIELD or oldest:FIELD [default: first]. For files: best
    /// (most words, then the oldest, then the shortest path), oldest, newest, largest, shortest-path, first, last,
    /// longest or shortest [default: best]. Values of
    /// FIELD are numbers, dates and times as in ISO 8601, or strings; a missing value is the smallest and oldest.
    /// Records are read twice, except with first. Documents of --against and of earlier runs always stay
    #[arg(long, value_name = "WHICH", help_heading = "Duplicate options")]
    keep: Option<Keep>,
    /// Remember in a new --db what is left out, for `query DB --left-out KEY`, or with keys also for `clusters`. The
    /// default, hashes, stores hashes of keys, in 30 bytes a document, so KEY can be asked of what it was a duplicate.
    /// keys also stores the keys: `clusters` shows all groups, and `query --left-out` what a kept document left out
    #[arg(long, value_name = "WHAT", requires = "database", num_args = 0..=1, require_equals = true, default_missing_value = "hashes", help_heading = "Database options")]
    remember: Option<String>,
    /// Skip documents with fewer words [default: 0]. They are neither kept nor duplicates, and are written to --rejects
    #[arg(long, value_name = "N", help_heading = "Duplicate options")]
    min_words: Option<usize>,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        self.job.run(global, &self.given, "dedup", FileJob::with_defaults)
    }
}
