//! The arguments.

use std::path::PathBuf;
use std::str::FromStr;

use crate::args::{DocumentArgs, GivenArgs, RecipeArgs, ReportArgs, SummaryArgs, values};
use crate::terminal::results::ResultFormat;
use nearprint_text::dedup::{ParseSimilarityError, Similarity};
use nearprint_text::recipe::DEFAULT_SIMILARITY;
use nearprint_text::tune::Goal;

/// The help, whose lines are wrapped where they are shown.
const HELP: &str = "\
Choose the recipe, shingle size, bands and limit that detect near-duplicates best\n\
\n\
Tries recipes on your documents, and prints the best one as a command of `dedup`. What \
is a near-duplicate comes from a file of pairs, or from a field that near-duplicates share.\n\
\n\
With these labels, the command has the shingle size and the --similarity of exact \
decisions. Its precision and recall hold for documents that it was chosen by. So the documents are \
halved, near-duplicates together; what the best choice of each half finds in the other half is \
printed, too.\n\
\n\
Without labels, near-duplicates are the pairs whose sets of three-word shingles have an exact \
Jaccard similarity of --similarity or more, which `dedup` finds by definition. The other lines \
show how well fingerprints alone find them. Pairs a little below count as different documents, \
and those a little above as near-duplicates, although a fingerprint can hardly separate them. \
So neither precision nor recall is near 1 if many pairs are close to the limit. The limit is \
what you say, not a result; the pairs at other limits are counted.\n\
\n\
Without --recipe, tries minhash, with several splits into bands and rows, and simhash, alone and \
with the texts compared by --similarity. --all prints a line for each of them, \
each shingle size and each k from 0 to half of the bits:\n\
\n\
\x20 shingle k precision recall f1 found hits precision_low precision_high recall_low \
recall_high similarity texts cpu_us query_us bytes recipe\n\
\n\
\x20 found           pairs of documents within k bits, for MinHash with an equal band\n\
\x20 hits            found pairs that are near-duplicates\n\
\x20 precision       hits / found (1 if nothing is found)\n\
\x20 recall          hits / all near-duplicates\n\
\x20 f1              the harmonic mean of both\n\
\x20 *_low, *_high   95 % confidence intervals\n\
\x20 similarity      the --similarity for which --store hashes has this k, for MinHash; otherwise -\n\
\x20 texts           the --similarity by which texts are compared beside k; - for none\n\
\x20 cpu_us          microseconds of processor time to make the fingerprint of a document, \
measured, and to compare its text with the texts of the pairs found here\n\
\x20 query_us        microseconds to look a fingerprint up in ten million, by the model of \
`explain`\n\
\x20 bytes           bytes of a row on disk in a database of ten million, without its key\n\
\x20 recipe          the other options that select the recipe\n\
\n\
The best line of each kind of recipe and similarity of texts is printed to standard error, as options \
for `dedup` besides those that read the documents, and a warning where the best value is the smallest or \
largest that was tried. With --all --format json, the best line has \"recommended\":true. Without --all, \
--format json prints the command with what --summary writes.\n\
\n\
Documents of a group are not independent, nor are near-duplicates of near-duplicates. The \
intervals take each such set of documents as one case.\n\
\n\
The precision holds for these documents. In a collection ten times as large, ten times as many \
pairs are near by chance, but a document has no more near-duplicates. Tune on as many documents \
as you can, and choose a smaller k for a much larger collection.";

/// Try settings on a sample of your records and recommend one
#[derive(Debug, clap::Args)]
#[command(
    long_about = HELP,
    after_help = "\
Examples:
  nearprint tune pages.jsonl --report curves.html
  nearprint tune pages.jsonl --similarity 0.7 --goal precision:0.99
  nearprint tune pages.jsonl --group-field group --recipe notebook --try shingle=1-2
  nearprint tune pages.jsonl --key-field url --pairs same.tsv --try bands=6x16,2 --try bands=8x16,3"
)]
pub(in super::super) struct Args {
    #[command(flatten)]
    pub(super) given: GivenArgs,
    /// Files and folders of documents; - or none for standard input
    #[arg(value_name = "INPUT")]
    pub(super) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) known: KnownDuplicates,
    /// The minimum similarity of near-duplicates [default: 0.7]. With --pairs or --group-field, it is that of the texts
    /// which are compared by default
    #[arg(long, value_name = "S", value_parser = positive_similarity, allow_negative_numbers = true, help_heading = "Label options")]
    pub(super) similarity: Option<f64>,
    /// Compare N documents with all others [default: 2000; with labels up to 25,000]. With labels, all documents are
    /// compared if they are no more than 25,000; of more, the number is 625 million divided by theirs, and at least
    /// 2000. If many documents are near each other, the default is smaller, and at least 100
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Label options")]
    pub(super) sample: Option<u32>,
    /// Try these settings: shingle=1-5, bands=6x16,2 or similarity=S; may be repeated. shingle=1-5 or shingle=2,3 are
    /// sizes of shingles [default: those from 1 to 5 that the recipe allows]. bands=BxN,R has B bands of N bits with R
    /// MinHash values each [default: the bands of --recipe, otherwise 6x16,1 6x16,2 6x24,2 8x16,3 10x14,3 10x16,2].
    /// similarity=S, contained:S or edit:S also compares the texts of found pairs, as `dedup` does beside -k, and holds
    /// the shingles or texts of all documents in memory. similarity=none compares no texts [default: none; without
    /// --recipe also --similarity with simhash]. Such lines end at the largest k with at most 20 found pairs for each
    /// document of the sample, or 10,000
    #[arg(long = "try", value_name = "WHAT=VALUE", help_heading = "Search options")]
    pub(super) tried: Vec<Try>,
    /// Which line to recommend: balance, precision:X or recall:X. balance is the largest min(precision, recall).
    /// precision:X is the best recall at a precision of X or more, and recall:X the best precision at such a recall. Of
    /// equal lines, the one with the smaller k as a share of the bits is recommended, then the one that compares no
    /// texts, then the one with fewer bytes a row
    #[arg(long, value_name = "GOAL", default_value = "balance", help_heading = "Search options")]
    pub(super) goal: Goal,
    /// Print a line for each trial; the command goes to standard error
    #[arg(long, help_heading = "Output options")]
    pub(super) all: bool,
    #[command(flatten, next_help_heading = "Output options")]
    pub(super) report: ReportArgs,
    #[command(flatten, next_help_heading = "Output options")]
    pub(super) summary: SummaryArgs,
    /// Format of the results
    #[arg(long, value_name = "FORMAT", default_value = "tsv", help_heading = "Output options")]
    format: ResultFormat,
    /// Print JSON, as --format json does
    #[arg(long, conflicts_with = "format", help_heading = "Output options")]
    json: bool,
    #[command(flatten)]
    pub(super) documents: DocumentArgs,
    #[command(flatten)]
    pub(super) recipe: RecipeArgs,
}

/// Where the known near-duplicates come from.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub(super) struct KnownDuplicates {
    /// A file of near-duplicates: a line has KEY, a tab, and KEY. In keys, \t \n \r \\ stand for tab, line feed,
    /// carriage return and backslash
    #[arg(long, value_name = "FILE", help_heading = "Label options")]
    pub(super) pairs: Option<PathBuf>,
    /// The field whose value near-duplicates share. A document without a value has no near-duplicates
    #[arg(long, value_name = "NAME", conflicts_with = "key_field", help_heading = "Label options")]
    pub(super) group_field: Option<String>,
}

impl KnownDuplicates {
    pub(super) fn is_given(&self) -> bool {
        self.pairs.is_some() || self.group_field.is_some()
    }
}

/// A value of an option that is tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Try {
    Shingles(Vec<usize>),
    Bands(String),
    /// A similarity of texts, or none.
    Similarity(Option<Similarity>),
}

impl FromStr for Try {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("shingle", sizes)) => {
                let sizes = shingles(sizes).filter(|sizes| !sizes.is_empty());
                sizes
                    .map(Self::Shingles)
                    .ok_or_else(|| "expected sizes, such as shingle=1-5 or shingle=2,3".into())
            }
            Some(("bands", bands)) => Ok(Self::Bands(bands.into())),
            Some(("similarity", "none")) => Ok(Self::Similarity(None)),
            Some(("similarity", least)) => least
                .parse()
                .map(|least| Self::Similarity(Some(least)))
                .map_err(|why: ParseSimilarityError| why.to_string()),
            _ => Err("expected shingle=, bands= or similarity=".into()),
        }
    }
}

/// A range of sizes, or a list of them.
fn shingles(text: &str) -> Option<Vec<usize>> {
    match text.split_once('-') {
        Some((first, last)) => Some((first.parse().ok()?..=last.parse().ok()?).take(MAX_SHINGLES).collect()),
        None => text.split(',').map(|size| size.parse().ok()).collect(),
    }
}

/// More sizes of shingles than any recipe allows.
const MAX_SHINGLES: usize = 1000;

/// Parses a similarity above 0, from which on not all pairs are similar.
fn positive_similarity(text: &str) -> Result<f64, String> {
    let parsed = values::similarity(text).ok().filter(|similarity| *similarity > 0.0);
    parsed.ok_or_else(|| "expected a similarity above 0, up to 1".into())
}

/// Documents of the sample without labels.
const DEFAULT_SAMPLE: usize = 2000;
/// With labels, all documents are compared with all if they are no more.
const ALL_LABELLED: usize = 25_000;

impl Args {
    /// The format of the results.
    pub(super) fn format(&self) -> ResultFormat {
        if self.json { ResultFormat::Json } else { self.format }
    }

    /// The similarity that near-duplicates have.
    pub(super) fn similarity(&self) -> f64 {
        self.similarity.unwrap_or(DEFAULT_SIMILARITY)
    }

    /// The sizes of shingles to try; none for those of the recipes.
    pub(super) fn shingles(&self) -> Vec<usize> {
        let sizes = self.tried.iter().filter_map(|tried| match tried {
            Try::Shingles(sizes) => Some(sizes),
            _ => None,
        });
        sizes.flatten().copied().collect()
    }

    /// The splits into bands to try; none for those of the recipes.
    pub(super) fn bands(&self) -> Vec<String> {
        let bands = self.tried.iter().filter_map(|tried| match tried {
            Try::Bands(bands) => Some(bands.clone()),
            _ => None,
        });
        bands.collect()
    }

    /// The similarities of texts to try.
    pub(super) fn similarities(&self) -> impl Iterator<Item = Option<Similarity>> {
        self.tried.iter().filter_map(|tried| match tried {
            Try::Similarity(similarity) => Some(*similarity),
            _ => None,
        })
    }

    /// The size of the sample of `len` documents.
    pub(super) fn sample_size(&self, len: usize) -> usize {
        let default = match self.known.is_given() {
            true if len <= ALL_LABELLED => len,
            // As many comparisons as there are among the most documents that are all compared.
            true => (ALL_LABELLED * ALL_LABELLED / len).max(DEFAULT_SAMPLE),
            false => DEFAULT_SAMPLE,
        };
        self.sample.map_or(default, |sample| sample as usize)
    }
}
