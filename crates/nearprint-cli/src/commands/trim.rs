//! `nearprint trim`

use std::path::PathBuf;

use super::dedup::JobArgs;
use crate::args::{GivenArgs, GlobalArgs};
use crate::terminal::failure::Failure;
use nearprint_text::dedup::FileJob;

const SIMILARITY: &str = "Remove similar paragraphs or lines, too [default: only the same words]. S is the least \
     similarity, such as 0.7 or 70%: the share of their shingles in common (Jaccard)";

/// Remove paragraphs, lines or passages that recur, such as menus and footers
///
/// The first record with a piece keeps it, and later records are written without it. A record that loses nothing is
/// written unchanged. One that loses everything is not written. Inputs are records in JSON lines, CSV, TSV or Parquet.
///
/// Run it after `decontaminate`, which would not find an evaluation text that was removed, and after `dedup`:
/// near-duplicates without the paragraphs that they share no longer look alike. Records that only such paragraphs told
/// apart may be near afterwards; a second `dedup` finds them.
///
/// A piece recurs if it has the same words in the same order. With --similarity, -k or --recipe, similar paragraphs and
/// lines are removed, too. Passages are runs of --length words or more, wherever they begin and end.
///
/// With --db, a database stores the pieces that are kept, and later runs compare with them too. A database holds pieces
/// of one kind. Rerun an interrupted command with --db to resume it. A command with the inputs of an earlier one
/// changes nothing, unless --restart is given.
#[derive(Debug, clap::Args)]
#[command(override_usage = "nearprint trim [OPTIONS] --output <OUT> <INPUT>...")]
#[command(after_help = "\
After `decontaminate` and `dedup`. Examples:
  nearprint trim pages.jsonl -o clean.jsonl --key-field url --removed removed.tsv
  nearprint trim pages.jsonl -o clean.jsonl --by passage --length 30
  nearprint trim today.jsonl -o clean.jsonl --by line --from 10 --db pieces.np")]
#[command(mut_arg("similarity", |similarity| similarity.help(SIMILARITY)))]
pub(super) struct Args {
    #[command(flatten)]
    given: GivenArgs,
    /// What is compared: paragraph (between blank lines), line, or passage (any run of words)
    #[arg(long, value_name = "UNIT", default_value = "paragraph", value_parser = ["paragraph", "line", "passage"], hide_possible_values = true)]
    by: String,
    /// Words of the shortest piece that is removed [default: 5; 50 for passages]. A few words recur by chance. For
    /// passages, 2 to 10,000
    #[arg(long, value_name = "N")]
    length: Option<usize>,
    /// Remove a piece from the Nth record that has it, and from later ones. With 2, repetitions within a record are
    /// removed, too. More than 2 works only for paragraphs and lines of the same words
    #[arg(long, value_name = "N", default_value = "2")]
    from: u64,
    /// Leave a record out if less than this share of its text is left, from 0 to 1. Text that the record repeats itself
    /// counts as left
    #[arg(long, value_name = "SHARE", default_value = "0")]
    min_left: String,
    /// With --min-left, write such records whole instead
    #[arg(long, requires = "min_left")]
    keep_hollow: bool,
    /// List what was removed: key, number, first_seen_in, first_number. The numbers count the paragraphs of a record,
    /// or its lines with text, from 1. For a passage, number is that of its first word, and first_number is empty. A
    /// name that ends in .csv makes it CSV
    #[arg(long, value_name = "FILE")]
    removed: Option<PathBuf>,
    #[command(flatten)]
    job: JobArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        self.job.run(global, &self.given, "trim", FileJob::trimming)
    }
}
