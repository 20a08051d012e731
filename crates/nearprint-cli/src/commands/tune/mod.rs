//! `nearprint tune`

mod labels;
mod plot;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Global;
use crate::documents::{DocumentArgs, warn};
use crate::failure::Failure;

use crate::output::{Format, Output};
use crate::recipe::RecipeArgs;
use crate::width::{ForWidth, run_for};
use nearprint::Fingerprint;
use nearprint_text::dedup::Confirm;
use nearprint_text::documents::{self, BadRecord, Item};
use nearprint_text::recipe::{Fingerprinter, Recipe};
use nearprint_text::tune::{Goal, Labels, Point, all_pairs, confirmed_curve, curve};

/// Find the shingle size and the k that tell near-duplicates best
///
/// Takes documents of which it is known which are near-duplicates: from a file of pairs, or from a field
/// that near-duplicates share. Prints a line for each shingle size and each k from 0 to a quarter of the
/// bits:
///
///   shingle k precision recall f1 found hits
///
/// found: the pairs of documents within k bits; hits: those of them that are near-duplicates. precision is
/// hits / found (1 where nothing is found), recall is hits / all known near-duplicates, f1 their harmonic
/// mean. All pairs of all documents are counted, nothing is sampled, and a pair that is not known as a
/// near-duplicate counts as none.
///
/// The line to use goes to standard error; with --format json it has "recommended":true.
///
/// Precision is that of these documents. In a collection ten times as large a document meets ten times as
/// many others by accident, but has no more near-duplicates: tune on as many documents as you can label,
/// and choose a smaller k for many more.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  nearprint tune pages.jsonl --group-field group --plot curves.svg
  nearprint tune pages.jsonl --key-field url --pairs same.tsv --goal precision:0.95
  nearprint tune pages.jsonl --group-field group --recipe notebook --shingles 1,2"
)]
pub(crate) struct Args {
    /// Files and folders of documents, - for standard input; without any, standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    known: Known,
    /// Shingle sizes to try [default: those from 1 to 5 that the recipe can have]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    shingles: Vec<usize>,
    /// Which line to recommend: balance (the largest min(precision, recall)), precision:X (the best recall
    /// at a precision of X or more), recall:X (the reverse); between equals the smaller k
    #[arg(long, value_name = "GOAL", default_value = "balance")]
    goal: Goal,
    /// Count a pair as found only if its texts confirm it: jaccard:X, edit:X, as for `dedup`; holds all
    /// texts in memory, and compares all pairs within a quarter of the bits
    #[arg(long, value_name = "MEASURE")]
    confirm: Option<Confirm>,
    /// Draw the curves as an SVG picture
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// How the table is written
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: Format,
    #[command(flatten)]
    documents: DocumentArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// Which documents are near-duplicates.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Known {
    /// A file of near-duplicates: lines of KEY, a tab, and KEY, with \t \n \r \\ for what cannot stand there
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// The field whose value near-duplicates share; a document without a value has none
    #[arg(long, value_name = "NAME", conflicts_with = "key_field")]
    group_field: Option<String>,
}

const DEFAULT_SHINGLES: std::ops::RangeInclusive<usize> = 1..=5;

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let recipes = self.recipes()?;
        let Some((_, first)) = recipes.first() else { return Ok(()) };
        run_for(first.width(), &self, &recipes[..], global)
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

impl ForWidth<&[(usize, Recipe)]> for &Args {
    fn run_wide<F: Fingerprint>(self, recipes: &[(usize, Recipe)], global: Global) -> Result<(), Failure> {
        let threads = global.options().num_threads();
        let fingerprinters = recipes.iter().map(|(_, recipe)| recipe.fingerprinter());
        let keeps_texts = self.confirm.is_some();
        let mut corpus = Corpus::<F>::new(fingerprinters.collect::<Result<_, _>>()?, threads, keeps_texts);
        corpus.read(self)?;
        warn(global, corpus.num_replaced, corpus.num_empty);
        let labels = labels::read(&self.known, &corpus.keys)?;
        let mut points = Vec::new();
        for ((shingle, _), prints) in recipes.iter().zip(&corpus.prints) {
            points.extend(match self.confirm {
                None => curve(*shingle, prints, &labels, threads)?,
                Some(confirm) => {
                    let confirms = |a: usize, b: usize| confirm.confirms(&corpus.texts[a], &corpus.texts[b]);
                    confirmed_curve(*shingle, prints, &labels, confirms, threads)?
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
        let mut out = Output::stdout();
        out.write(|out| points.iter().try_for_each(|point| print(self.format, out, point, point == best)))?;
        Ok(out.flush()?)
    }

    fn recommend(&self, best: &Point, len: usize, labels: &Labels, global: Global) {
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

fn print(format: Format, out: &mut dyn Write, point: &Point, is_best: bool) -> io::Result<()> {
    let Point { shingle, k, found, hits, .. } = point;
    let (precision, recall, f1) = (point.precision(), point.recall(), point.f1());
    match format {
        Format::Tsv => {
            writeln!(out, "{shingle}\t{k}\t{precision:.4}\t{recall:.4}\t{f1:.4}\t{found}\t{hits}")
        }
        Format::Json => writeln!(
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
    let mut out = Output::create(Some(path))?;
    out.write(|out| out.write_all(svg.as_bytes()))?;
    Ok(out.flush()?)
}

/// The documents, as far as they are needed.
struct Corpus<F> {
    fingerprinters: Vec<Fingerprinter<F>>,
    threads: usize,
    /// For each fingerprinter, the fingerprints of all documents.
    prints: Vec<Vec<F>>,
    /// Of each document its key, or its group, and where it begins.
    keys: Vec<(String, String)>,
    keeps_texts: bool,
    /// Of all documents, where they are kept.
    texts: Vec<String>,
    num_replaced: u64,
    num_empty: u64,
}

/// A document that has been worked on.
struct Done<F> {
    prints: Vec<F>,
    key: (String, String),
    text: String,
    is_replaced: bool,
    is_empty: bool,
}

impl<F: Fingerprint> Corpus<F> {
    fn new(fingerprinters: Vec<Fingerprinter<F>>, threads: usize, keeps_texts: bool) -> Self {
        let prints = vec![Vec::new(); fingerprinters.len()];
        let (keys, texts) = (Vec::new(), Vec::new());
        Self { fingerprinters, threads, prints, keys, keeps_texts, texts, num_replaced: 0, num_empty: 0 }
    }

    fn read(&mut self, args: &Args) -> Result<(), Failure> {
        let Args { inputs, known, plot, .. } = args;
        let mut documents = args.documents.clone();
        if let Some(field) = &known.group_field {
            // A group takes the place of a key, which nothing asks for then.
            documents.key_field = Some(field.clone());
        }
        let mut reader = documents.open_for_groups(inputs, known.group_field.is_some())?;
        let given = [("--plot", plot), ("--pairs", &known.pairs)];
        let others: Vec<_> =
            given.iter().filter_map(|(name, path)| Some((*name, path.as_deref()?))).collect();
        let mut rejects = documents.rejects(&reader, &others)?;
        let (threads, fingerprinters) = (self.threads, self.fingerprinters.clone());
        documents::each(
            &mut reader,
            threads,
            || fingerprinters.clone(),
            |item, fingerprinters| finish(fingerprinters, item),
            |done, _| {
                done.into_iter().try_for_each(|done| match done {
                    Ok(done) => {
                        self.push(done);
                        Ok(())
                    }
                    Err(bad) => rejects.take(&bad),
                })
            },
        )?;
        Ok(rejects.finish()?)
    }

    fn push(&mut self, done: Done<F>) {
        self.prints.iter_mut().zip(done.prints).for_each(|(all, print)| all.push(print));
        self.keys.push(done.key);
        if self.keeps_texts {
            self.texts.push(done.text);
        }
        self.num_replaced += u64::from(done.is_replaced);
        self.num_empty += u64::from(done.is_empty);
    }
}

fn finish<F: Fingerprint>(fingerprinters: &mut [Fingerprinter<F>], item: Item) -> Result<Done<F>, BadRecord> {
    let record = match item {
        Item::Record(record) => record,
        Item::Bad(bad) => return Err(bad),
    };
    let made = fingerprinters.iter_mut().map(|fingerprinter| fingerprinter.fingerprint(&record.text));
    let mut is_empty = false;
    let prints = made.map(|made| {
        is_empty |= made.num_tokens == 0;
        made.value
    });
    let prints = prints.collect();
    let key = (record.key, record.place.to_string());
    Ok(Done { prints, key, text: record.text, is_replaced: record.invalid_utf8, is_empty })
}
