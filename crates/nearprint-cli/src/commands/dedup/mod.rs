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
/// The summary counts exact copies (the same words in the same order) apart from other
/// near-duplicates, and all of them by similarity: the exact one, that of features or of texts.
/// With -k, simhash or --store hashes, fingerprints estimate it: Jaccard's for MinHash, the cosine
/// for simhash.
#[derive(Debug, clap::Args)]
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
    /// End each path in the list of kept files, and in --rejects, with a zero byte: for `xargs -0`, and for
    /// names with line feeds
    #[arg(short = '0', long, help_heading = "Output options")]
    null: bool,
    /// Leave out what is near the documents of these, too; may be given several times. They are only read. They are only compared, and are never
    /// changed
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
    /// List what was left out, and of what it is a duplicate. Writes `key duplicate_of distance similarity group copy`
    /// for each duplicate, in input order, behind a line with these names, as CSV if the name of FILE ends so. duplicate_of and group are the key of the
    /// kept document. copy says whether it is a copy: of files byte for byte, of records the same words in the same
    /// order. A key equal to the kept one is followed by # and the number of the record in its input
    #[arg(long, value_name = "FILE", help_heading = "Output options")]
    duplicates: Option<PathBuf>,
    /// Leave nothing out, and add the group of each document as fields. These are duplicate_of, group, similarity and
    /// copy. For a kept document, group is its own key, and the others are null
    #[arg(long, help_heading = "Output options")]
    annotate: bool,
    /// Add a last field group_size to each document, and a last column to the file of duplicates:
    /// the number of documents with the same kept one, itself included. Reads the inputs twice. Not
    /// with --db, because later runs add to the groups
    #[arg(long, conflicts_with = "database", help_heading = "Output options")]
    group_size: bool,
    /// Which one of several near-duplicates to keep. Of files: best (most words, then the oldest, then the shortest
    /// path), oldest, newest, largest, shortest-path, first, last, longest or shortest [default: best]. Of records:
    /// first, last, longest, shortest, max:FIELD, min:FIELD, newest:FIELD or oldest:FIELD [default: first]. Values of a
    /// field are numbers, or dates and times as in ISO 8601, or strings; a missing value is the smallest and oldest.
    /// All but first read records twice. Documents of --against and of earlier runs always stay
    #[arg(long, value_name = "WHICH", help_heading = "Duplicate options")]
    keep: Option<Keep>,
    /// Remember in a new --db what is left out, for `query --left-out` and `delete --job`: hashes of keys (30 bytes for
    /// each document), or keys, which `clusters` needs [with no value: hashes]
    #[arg(long, value_name = "WHAT", requires = "database", num_args = 0..=1, require_equals = true, default_missing_value = "hashes", help_heading = "Database options")]
    remember: Option<String>,
    /// Set shorter documents aside. Those with fewer tokens are neither kept nor duplicates, and are written
    /// to --rejects [default: 0]
    #[arg(long, value_name = "N", help_heading = "Duplicate options")]
    min_words: Option<usize>,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        self.job.run(global, &self.given, "dedup", FileJob::with_defaults)
    }
}
