//! `nearprint clusters`

use super::pairs::{DEFAULT_K, Source, read_rows};
use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::{Format, Output, each_key};
use crate::progress::Bars;
use crate::width::{ForWidth, run_for};
use crate::{Global, values};
use nearprint::{Database, Error, Fingerprint, Row, Snapshot, Width};

/// Group the rows into clusters: connected by steps of at most K bits
///
/// Prints `cluster fingerprint id` for every member of every cluster of two rows or more. Clusters
/// are numbered from 0 in the order of their smallest fingerprint, members sorted by (fingerprint,
/// id). Rows of equal fingerprints form a cluster by themselves. Databases with keys add a column: the key,
/// one line for each key of a row.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint clusters corpus.np -k 6 > clusters.tsv
  nearprint clusters --input fingerprints.txt
  nearprint clusters --input pdq-hashes.txt --width 256 -k 31")]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// With --input: the width of a fingerprint in bits
    #[arg(long, value_name = "BITS", default_value = "64", value_parser = values::width(), conflicts_with = "database")]
    width: Width,
    /// How many bits two neighbours may differ in [default: the database's own K; 3 with --input]
    #[arg(short, value_name = "K", value_parser = values::distance)]
    k: Option<u32>,
    /// How results are written
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: Format,
    #[command(flatten)]
    input: InputArgs,
}

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let width = self.source.width(self.width)?;
        run_for(width, self, (), global)
    }
}

impl ForWidth<()> for Args {
    fn run_wide<F: Fingerprint>(self, (): (), global: Global) -> Result<(), Failure> {
        let mut out = Output::stdout();
        let format = self.format;
        let given = self.k.map(|k| F::WIDTH.check_distance(k)).transpose()?;
        let mut number = 0;
        let mut write = |cluster: &[Row<F>], snapshots: &[Snapshot<F>]| -> Result<(), Error> {
            for row in cluster {
                each_key(snapshots, *row, |key| out.write(|out| format.member(out, number, row, key)))?;
            }
            number += 1;
            Ok(())
        };
        let bars = Bars::beside_results(global);
        let options = global.options().progress(bars.clone());
        let joined = if let Some(path) = &self.source.database {
            let snapshot = Database::<F>::open_with(path, options)?.snapshot()?;
            let known = [snapshot.clone()];
            let k = given.unwrap_or(snapshot.default_k());
            snapshot.visit_clusters(k, |cluster| write(cluster, &known))
        } else {
            let rows = read_rows(&self.input, &self.source.list)?;
            let k = given.unwrap_or(DEFAULT_K);
            nearprint::visit_all_row_clusters(rows, k, &options, |cluster| write(cluster, &[]))
        };
        bars.clear();
        joined?;
        Ok(out.flush()?)
    }
}
