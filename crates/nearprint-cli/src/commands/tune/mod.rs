//! `nearprint tune`

mod corpus;
mod labels;
mod plot;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::args::{DocumentArgs, GlobalArgs, RecipeArgs};
use crate::input::documents::warn;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::ResultFormat;
use crate::typed::{TypedCommand, run_with_width};
use corpus::Corpus;
use nearprint::Fingerprint;
use nearprint_text::dedup::Confirm;
use nearprint_text::recipe::Recipe;
use nearprint_text::tune::{Goal, Labels, Point, all_pairs, confirmed_curve, curve, widest};

/// Find the shingle size and the k that detect near-duplicates best
///
/// Needs documents whose near-duplicates are known: from a file of pairs, or from a field that
/// near-duplicates share. Prints a line for each shingle size and each k from 0 to a quarter of the
/// bits, for MinHash to half of the bits of the sketch:
///
///   shingle k precision recall f1 found hits
///
/// found is the number of pairs of documents within k bits (for MinHash with an equal band), hits the number of those that are
/// near-duplicates. precision is hits / found (1 if nothing is found), recall is hits / all known
/// near-duplicates, f1 their harmonic mean. All pairs of all documents are counted, without
/// sampling. A pair that is not a known near-duplicate counts as different documents.
///
/// The recommended line is printed to standard error; with --format json it has "recommended":true.
///
/// The precision holds for these documents. In a collection ten times as large, ten times as many
/// pairs are near by chance, but a document has no more near-duplicates. Tune on as many documents
/// as you can label, and choose a smaller k for a much larger collection.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  nearprint tune pages.jsonl --group-field group --plot curves.svg
  nearprint tune pages.jsonl --key-field url --pairs same.tsv --goal precision:0.95
  nearprint tune pages.jsonl --group-field group --recipe notebook --shingles 1,2"
)]
pub(super) struct Args {
    /// Files and folders of documents; - or none for standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    known: KnownDuplicates,
    /// Shingle sizes to try [default: those from 1 to 5 that the recipe allows]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    shingles: Vec<usize>,
    /// Which line to recommend: balance (the largest min(precision, recall)), precision:X (the best
    /// recall at a precision of X or more), recall:X (the reverse); of equal lines, the one with
    /// the smaller k
    #[arg(long, value_name = "GOAL", default_value = "balance")]
    goal: Goal,
    /// Count a pair as found only if its texts are near, too: jaccard:X or edit:X, as for `dedup`;
    /// holds all texts in memory, and compares the texts of all pairs within the largest k
    #[arg(long, value_name = "MEASURE")]
    confirm: Option<Confirm>,
    /// Draw the curves as an SVG picture
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Format of the results
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: ResultFormat,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// Where the known near-duplicates come from.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct KnownDuplicates {
    /// A file of near-duplicates: lines of KEY, a tab, and KEY. In keys \t \n \r \\ stand for tab,
    /// line feed, carriage return, backslash
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// The field whose value near-duplicates share; a document without a value has no
    /// near-duplicates
    #[arg(long, value_name = "NAME", conflicts_with = "key_field")]
    group_field: Option<String>,
}

const DEFAULT_SHINGLES: std::ops::RangeInclusive<usize> = 1..=5;

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let recipes = self.recipes()?;
        let Some((_, first)) = recipes.first() else { return Ok(()) };
        run_with_width(first.width(), &self, &recipes[..], global)
    }

    /// The shingle sizes to try, and the recipe with each.
    fn recipes(&self) -> Result<Vec<(usize, Recipe)>, Failure> {
        let base = self.recipe.recipe()?;
        let with = |len: usize| Ok((len, base.with([("shingle", len.to_string().as_str())])?));
        if self.shingles.is_empty() {
            return Ok(DEFAULT_SHINGLES.filter_map(|len| with(len).ok()).collect());
        }
        let mut sizes = self.shingles.clone();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().map(with).collect()
    }
}

impl TypedCommand<&[(usize, Recipe)]> for &Args {
    fn run_typed<F: Fingerprint>(
        self,
        recipes: &[(usize, Recipe)],
        global: GlobalArgs,
    ) -> Result<(), Failure> {
        let threads = global.options().num_threads();
        let fingerprinters = recipes.iter().map(|(_, recipe)| recipe.fingerprinter());
        let keeps_texts = self.confirm.is_some();
        let mut corpus = Corpus::<F>::new(fingerprinters.collect::<Result<_, _>>()?, threads, keeps_texts);
        corpus.read(self)?;
        warn(global, corpus.num_replaced, corpus.num_empty);
        let labels = labels::read(&self.known, &corpus.keys)?;
        let mut points = Vec::new();
        for ((shingle, recipe), fingerprints) in recipes.iter().zip(&corpus.fingerprints) {
            let near = widest(recipe.bands(), F::WIDTH);
            points.extend(match self.confirm {
                None => curve(*shingle, fingerprints, near, &labels, threads)?,
                Some(confirm) => {
                    let confirms = |a: usize, b: usize| confirm.confirms(&corpus.texts[a], &corpus.texts[b]);
                    confirmed_curve(*shingle, fingerprints, near, &labels, confirms, threads)?
                }
            });
        }
        let Some(best) = self.goal.best(&points) else { return Ok(()) };
        self.print(&points, best)?;
        if let Some(path) = &self.plot {
            write_plot(path, &points, best)?;
        }
        self.recommend(best, corpus.keys.len(), &labels, global);
        Ok(())
    }
}

impl Args {
    fn print(&self, points: &[Point], best: &Point) -> Result<(), Failure> {
        let mut out = OutputStream::stdout();
        out.write(|out| {
            points.iter().try_for_each(|point| write_point(self.format, out, point, point == best))
        })?;
        Ok(out.flush()?)
    }

    /// Prints the recommended options.
    fn recommend(&self, best: &Point, len: usize, labels: &Labels, global: GlobalArgs) {
        let Point { shingle, k, .. } = best;
        let (precision, recall) = (best.precision(), best.recall());
        let (positives, pairs) = (labels.num_positives(), all_pairs(len));
        global.note(format_args!(
            "{len} documents, {positives} of their {pairs} pairs known as near-duplicates"
        ));
        let what =
            if self.goal.is_reached(best) { "recommended" } else { "nothing reaches the goal; nearest" };
        global.note(format_args!(
            "{what}: --shingle {shingle} -k {k} (precision {precision:.4}, recall {recall:.4})"
        ));
    }
}

fn write_point(format: ResultFormat, out: &mut dyn Write, point: &Point, is_best: bool) -> io::Result<()> {
    let Point { shingle, k, found, hits, .. } = point;
    let (precision, recall, f1) = (point.precision(), point.recall(), point.f1());
    match format {
        ResultFormat::Tsv => {
            writeln!(out, "{shingle}\t{k}\t{precision:.4}\t{recall:.4}\t{f1:.4}\t{found}\t{hits}")
        }
        ResultFormat::Json => writeln!(
            out,
            r#"{{"shingle":{shingle},"k":{k},"precision":{precision:.4},"recall":{recall:.4},"f1":{f1:.4},"found":{found},"hits":{hits},"recommended":{is_best}}}"#
        ),
    }
}

fn write_plot(path: &Path, points: &[Point], best: &Point) -> Result<(), Failure> {
    let failed = |error: Box<dyn std::error::Error>| nearprint::Error::Io {
        action: "draw",
        path: path.to_path_buf(),
        source: io::Error::other(error.to_string()),
    };
    let svg = plot::svg(points, best).map_err(failed)?;
    let mut out = OutputStream::create(Some(path))?;
    out.write(|out| out.write_all(svg.as_bytes()))?;
    Ok(out.flush()?)
}
