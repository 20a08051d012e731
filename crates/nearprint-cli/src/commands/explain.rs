//! `nearprint explain`

use std::path::PathBuf;

use crate::failure::Failure;
use crate::output::Output;
use crate::values;
use nearprint::{AnyDatabase, Explanation, LayoutChoice, Schema, Width};

/// Tell how a query is answered, at what cost, and why
///
/// For each run of the database, or for N imagined fingerprints: the tables, how many bits may
/// differ in the leading bits of each, the look-ups and comparisons of one query, and the modelled
/// time on one core with warm files.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint explain corpus.np -k 6
  nearprint explain -n 50000000 -k 3 --layout rotations:3
  nearprint explain -n 1000000 -k 31 --width 256")]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// How many bits may differ [default: the database's own K, or 3]
    #[arg(short, value_name = "K", value_parser = values::distance)]
    k: Option<u32>,
    /// With -n: the layout
    #[arg(long, value_name = "LAYOUT", default_value = "auto", value_parser = values::layout, conflicts_with = "database")]
    layout: LayoutChoice,
    /// With -n: the width of a fingerprint in bits
    #[arg(long, value_name = "BITS", default_value = "64", value_parser = values::width(), conflicts_with = "database")]
    width: Width,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// The database
    #[arg(value_name = "DB")]
    database: Option<PathBuf>,
    /// So many uniformly distributed fingerprints instead of a database
    #[arg(short = 'n', value_name = "N", id = "count", value_parser = clap::value_parser!(u64).range(0..=0xffff_ffff))]
    count: Option<u64>,
}

impl Args {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let explanation = self.explain()?;
        let mut out = Output::stdout();
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
        let k = self.width.check_distance(self.k.unwrap_or(super::pairs::DEFAULT_K))?;
        let schema = Schema::new().k(k).layout(self.layout);
        Ok(Explanation::imagine(self.width, self.source.count.unwrap_or_default(), k, &schema)?)
    }
}
