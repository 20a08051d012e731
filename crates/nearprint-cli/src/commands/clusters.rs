//! `nearprint clusters`

use crate::args::values::DEFAULT_K;
use crate::args::{FingerprintArgs, GlobalArgs, JoinArgs, NearArgs};
use crate::input::fingerprints::read_rows;
use crate::terminal::failure::Failure;
use crate::terminal::results::{ResultFormat, each_key};
use crate::typed::{TypedCommand, run_with_width};
use nearprint::{Database, Error, Fingerprint, Row, Snapshot, visit_all_row_clusters};

/// Group the rows into clusters, connected by steps of at most K bits
///
/// Prints `cluster fingerprint id` for every member of every cluster of two rows or more. Clusters
/// are numbered from 0 in the order of their smallest fingerprint. Members are sorted by
/// (fingerprint, id). Rows with equal fingerprints are in one cluster. Databases with keys add a
/// column, the key, and print one line for each key of a row.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint clusters corpus.np -k 6 > clusters.tsv
  nearprint clusters --input fingerprints.txt
  nearprint clusters --input pdq-hashes.txt --width 256 -k 31")]
pub(super) struct Args {
    #[command(flatten)]
    source: JoinArgs,
    #[command(flatten)]
    near: NearArgs,
    /// Format of the results
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: ResultFormat,
    #[command(flatten)]
    input: FingerprintArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        run_with_width(self.source.width()?, self, (), global)
    }
}

impl TypedCommand<()> for Args {
    fn run_typed<F: Fingerprint>(self, (): (), global: GlobalArgs) -> Result<(), Failure> {
        let format = self.format;
        global.print_results(|out, options| {
            let mut number = 0;
            let mut print = |cluster: &[Row<F>], snapshots: &[Snapshot<F>]| -> Result<(), Error> {
                for row in cluster {
                    each_key(snapshots, *row, |key| {
                        out.write(|out| format.cluster_member(out, number, row, key))
                    })?;
                }
                number += 1;
                Ok(())
            };
            if let Some(path) = self.source.database() {
                let snapshot = Database::<F>::open_with(path, options)?.snapshot()?;
                let snapshots = [snapshot.clone()];
                let k = self.near.k(snapshot.bands(), F::WIDTH)?.unwrap_or(snapshot.default_k());
                return Ok(snapshot.visit_clusters(k, |cluster| print(cluster, &snapshots))?);
            }
            let k = self.near.k(None, F::WIDTH)?.unwrap_or(DEFAULT_K);
            let rows = read_rows(&self.input, self.source.list())?;
            Ok(visit_all_row_clusters(rows, k, &options, |cluster| print(cluster, &[]))?)
        })
    }
}
