//! `nearprint explain`

use std::path::PathBuf;

use crate::args::NearArgs;
use crate::args::values::{self, DEFAULT_K};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use nearprint::{AnyDatabase, Explanation, LayoutChoice, Schema, Width};
use nearprint_text::recipe::DEFAULT_SIMILARITY;

/// Print how a query is answered, its cost, and why
///
/// For each run of the database, or for N hypothetical fingerprints: the tables, how many bits may
/// differ in the leading bits of each, the look-ups and comparisons of one query, and its estimated
/// time on one core with cached files.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint explain corpus.np -k 6
  nearprint explain -n 50000000 -k 3 --layout rotations:3
  nearprint explain -n 1000000 -k 31 --width 256")]
pub(super) struct Args {
    #[command(flatten)]
    source: DatabaseOrCount,
    #[command(flatten)]
    near: NearArgs,
    /// With -n: layout
    #[arg(long, value_name = "LAYOUT", default_value = "auto", value_parser = values::layout, conflicts_with = "database")]
    layout: LayoutChoice,
    /// With -n: width of a fingerprint in bits
    #[arg(long, value_name = "BITS", default_value = "64", value_parser = values::width(), conflicts_with = "database")]
    width: Width,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct DatabaseOrCount {
    /// The database
    #[arg(value_name = "DB")]
    database: Option<PathBuf>,
    /// Number of uniformly distributed fingerprints, instead of a database
    #[arg(short = 'n', value_name = "N", id = "count", value_parser = clap::value_parser!(u64).range(0..=0xffff_ffff))]
    count: Option<u64>,
}

impl Args {
    pub(super) fn run(self) -> Result<(), Failure> {
        let explanation = self.explain()?;
        let mut out = OutputStream::stdout();
        out.write(|out| write!(out, "{explanation}"))?;
        Ok(out.flush()?)
    }

    fn explain(&self) -> Result<Explanation, Failure> {
        if let Some(path) = &self.source.database {
            let database = AnyDatabase::open(path)?;
            let stats = database.stats()?;
            let k = self.near.k(stats.layout.bands(), stats.width)?.unwrap_or(stats.k);
            return Ok(database.explain(k)?);
        }
        let bands = self.layout.bands();
        let default = bands.map_or(DEFAULT_K, |bands| bands.distance_of(self.width, DEFAULT_SIMILARITY));
        let k = self.near.k(bands, self.width)?.unwrap_or(default);
        let schema = Schema::new().k(k).layout(self.layout);
        Ok(Explanation::imagine(self.width, self.source.count.unwrap_or_default(), k, &schema)?)
    }
}
