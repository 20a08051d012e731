//! `nearprint explain`

use std::path::PathBuf;

use crate::args::NearArgs;
use crate::args::values::{self, DEFAULT_K};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use nearprint::any::AnySnapshot;
use nearprint::{AnyDatabase, BandLayout, Explanation, LayoutChoice, Schema, Width};
use nearprint_text::recipe::{DEFAULT_SIMILARITY, Recipe};

/// Show how a query runs and what it costs
///
/// Prints a block for each run of the database, or for --rows N: the tables, how many of the leading bits of each may
/// differ, the look-ups and comparisons of one query, and its estimated time on one core with cached files. With a
/// recipe of MinHash and without -k, it also prints which share of pairs is compared exactly, by their similarity.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint explain corpus.np -k 6
  nearprint explain --rows 50000000 -k 3 --layout rotations:3
  nearprint explain --rows 1000000 -k 31 --width 256
  nearprint explain --rows 1000000 --recipe minhash --similarity 0.5")]
pub(super) struct Args {
    #[command(flatten)]
    source: DatabaseOrCount,
    #[command(flatten)]
    near: NearArgs,
    /// With --rows: the layout
    #[arg(long, value_name = "LAYOUT", default_value = "auto", value_parser = values::layout, conflicts_with = "database")]
    layout: LayoutChoice,
    /// With --rows: the width of a fingerprint in bits
    #[arg(long, value_name = "BITS", default_value = "64", value_parser = values::width(), conflicts_with = "database")]
    width: Width,
    /// With --rows: the recipe of the fingerprints, instead of --layout and --width
    #[arg(long, value_name = "RECIPE", conflicts_with_all = ["database", "layout", "width"])]
    recipe: Option<String>,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct DatabaseOrCount {
    /// The database
    #[arg(value_name = "DB")]
    database: Option<PathBuf>,
    /// Assume N evenly distributed fingerprints, instead of a database
    #[arg(long = "rows", value_name = "N", id = "count", value_parser = clap::value_parser!(u64).range(0..=0xffff_ffff))]
    count: Option<u64>,
}

impl Args {
    pub(super) fn run(self) -> Result<(), Failure> {
        let open = |path: &PathBuf| AnyDatabase::open(path)?.snapshot();
        let snapshot = self.source.database.as_ref().map(open).transpose()?;
        let (explanation, recipe) = match &snapshot {
            Some(snapshot) => self.explain(snapshot)?,
            None => self.imagine()?,
        };
        let mut out = OutputStream::stdout();
        out.write(|out| write!(out, "{explanation}"))?;
        let (_, given_similarity) = match &recipe {
            Some(recipe) => self.near.of_documents(recipe)?,
            None => (None, None),
        };
        if let Some(recipe) = recipe.filter(|_| !self.near.has_distance()) {
            let least = given_similarity.unwrap_or(recipe.near_similarity());
            out.write(|out| out.write_all(candidates(&recipe, least).as_bytes()))?;
        }
        if let Some(snapshot) = snapshot {
            let mb = snapshot.stats().bytes as f64 / 1e6;
            out.write(|out| {
                writeln!(out, "disk: {mb:.1} MB; `compact` takes up to {mb:.1} MB more while it works")
            })?;
        }
        Ok(out.flush()?)
    }

    /// Of a database, with its recipe.
    fn explain(&self, snapshot: &AnySnapshot) -> Result<(Explanation, Option<Recipe>), Failure> {
        let k = self.near.k(snapshot.bands(), snapshot.width())?.unwrap_or(snapshot.default_k());
        Ok((snapshot.explain(k), snapshot.recipe().and_then(|recipe| recipe.parse().ok())))
    }

    /// Of hypothetical fingerprints, with the recipe that is given.
    fn imagine(&self) -> Result<(Explanation, Option<Recipe>), Failure> {
        let recipe = self.recipe.as_deref().map(str::parse::<Recipe>).transpose()?;
        let recipe = recipe.map(|recipe| self.near.chosen(recipe));
        let (width, layout, default) = match &recipe {
            Some(recipe) => (
                recipe.width(),
                recipe.bands().map_or(LayoutChoice::Auto, LayoutChoice::Bands),
                recipe.default_k(),
            ),
            None => {
                let of_bands = |bands: BandLayout| bands.distance_of(self.width, DEFAULT_SIMILARITY);
                (self.width, self.layout, self.layout.bands().map_or(DEFAULT_K, of_bands))
            }
        };
        let k = self.near.k(layout.bands(), width)?.unwrap_or(default);
        let schema = Schema::new().k(k).layout(layout);
        let count = self.source.count.unwrap_or_default();
        Ok((Explanation::imagine(width, count, k, &schema)?, recipe))
    }
}

/// The share of pairs of documents that an exact search from `least` on compares, by their similarity;
/// empty if the recipe has no bands.
fn candidates(recipe: &Recipe, least: f64) -> String {
    let Some((bands, candidates)) = recipe.bands().zip(recipe.candidates(least)) else {
        return String::new();
    };
    let share = |similarity| candidates.share(similarity);
    let hundredths = || (0..=100u32).map(|at| f64::from(at) / 100.0);
    let first = |wanted: f64| hundredths().find(|&at| share(at) >= wanted);
    let (most, bits) = (candidates.distance(), bands.sketch_bits(recipe.width()));
    let of_one = candidates.distance_with(1).filter(|&of_one| of_one < most);
    let of_one = of_one.map(|of_one| format!(" ({of_one} where one band is equal)")).unwrap_or_default();
    let mut text = format!(
        "documents of similarity {least} or more, exactly: candidates have an equal band, and sketches that \
         differ in at most {most} of {bits} bits{of_one}\n  similarity  share of pairs that are candidates\n"
    );
    let tenths = (1..10u32).map(|at| f64::from(at) / 10.0);
    let mut shown: Vec<f64> = tenths.chain([least]).collect();
    shown.sort_by(f64::total_cmp);
    shown.dedup();
    for similarity in shown {
        text += &format!("  {similarity:<10}  {:.4}\n", share(similarity));
    }
    if let (Some(half), Some(nearly_all)) = (first(0.5), first(0.999)) {
        text += &format!("  half of the pairs from {half} on, 0.999 from {nearly_all} on\n");
    }
    text
}
