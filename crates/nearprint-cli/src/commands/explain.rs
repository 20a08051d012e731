//! `nearprint explain`

use std::path::PathBuf;

use crate::failure::Failure;
use crate::output::Output;
use crate::values;
use crate::width::{check_distance, with_width};
use nearprint::{Database, Explanation, Fingerprint, LayoutChoice, width_of};

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
    width: u32,
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
        let width = self.source.database.as_ref().map_or(Ok(self.width), width_of)?;
        let explanation = with_width!(width, F => self.explain::<F>())?;
        let mut out = Output::stdout();
        out.write(|out| write!(out, "{explanation}"))?;
        Ok(out.flush()?)
    }

    fn explain<F: Fingerprint>(&self) -> Result<Explanation, Failure> {
        let given = self.k.map(check_distance::<F>).transpose()?;
        match (&self.source.database, self.source.count) {
            (Some(path), _) => {
                let snapshot = Database::<F>::open(path)?.snapshot()?;
                Ok(snapshot.explain(given.unwrap_or(snapshot.default_k())))
            }
            (None, count) => {
                let k = given.unwrap_or(super::pairs::DEFAULT_K);
                Ok(Explanation::imagine::<F>(count.unwrap_or_default(), k, k, self.layout)?)
            }
        }
    }
}
