//! `nearprint explain`

use std::path::PathBuf;

use crate::args::values::{self, DEFAULT_K};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use nearprint::{AnyDatabase, Explanation, LayoutChoice, Schema, Width};

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
    /// How many bits may differ [default: the K of the database; 3 with -n]
    #[arg(short, value_name = "K", value_parser = values::distance, allow_negative_numbers = true)]
    k: Option<u32>,
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
            let k = match self.k {
                Some(k) => database.width().check_distance(k)?,
                None => database.stats()?.k,
            };
            return Ok(database.explain(k)?);
        }
        let k = self.width.check_distance(self.k.unwrap_or(DEFAULT_K))?;
        let schema = Schema::new().k(k).layout(self.layout);
        Ok(Explanation::imagine(self.width, self.source.count.unwrap_or_default(), k, &schema)?)
    }
}
