//! `nearprint query`

use std::path::PathBuf;

use crate::failure::Failure;
use crate::input::{InputArgs, RowSink};
use crate::output::{Format, Output, each_key};
use crate::width::{ForWidth, run_for};
use crate::{Global, values};
use nearprint::{Database, Error, Fingerprint, Match, Row, Snapshot, width_of};

/// Find the stored rows within K bits of given fingerprints
///
/// Prints `query distance fingerprint id` for every row within reach: a block for each query in
/// input order, each block sorted by (distance, fingerprint, id). Answers are exact. Databases with keys
/// add a column: the key, one line for each key of a row. Several databases have to have fingerprints of one width.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint query corpus.np -f 0x1f3a5c7e9b2d4f60
  nearprint query corpus.np new-prints.txt -k 6 --limit 10
  echo 394302156510115170 | nearprint query corpus.np --top 5
  nearprint query monday.np tuesday.np -f 255")]
pub(crate) struct Args {
    /// Databases (folders) and files of fingerprints to look for; without a file or -f, standard input
    #[arg(value_name = "DB|INPUT", required = true)]
    paths: Vec<PathBuf>,
    /// A fingerprint to look for; may be given again
    #[arg(short, long = "fingerprint", value_name = "FP")]
    fingerprints: Vec<String>,
    /// How many bits may differ [default: the database's own K; with --top no bound]
    #[arg(short, value_name = "K", value_parser = values::distance)]
    k: Option<u32>,
    /// Look for the fingerprints stored under this id (one scan: there is no index by id)
    #[arg(long, value_name = "ID")]
    id: Vec<u64>,
    /// The N nearest rows of each query
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// At most N rows of each query, the nearest first
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// How results are written
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: Format,
    #[command(flatten)]
    input: InputArgs,
}

/// Queries answered at once: table by table, which takes many to be worth it.
const BATCH: usize = 1 << 20;
/// The same where the answers of several databases have to be held to be merged.
const MERGED_BATCH: usize = 256;

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let (folders, mut inputs): (Vec<PathBuf>, Vec<PathBuf>) =
            self.paths.iter().cloned().partition(|path| path.is_dir());
        let Some(first) = folders.first() else {
            return Err(Error::NotADatabase { path: inputs.swap_remove(0) }.into());
        };
        run_for(width_of(first)?, &self, (&folders[..], &inputs[..]), global)
    }
}

impl ForWidth<(&[PathBuf], &[PathBuf])> for &Args {
    fn run_wide<F: Fingerprint>(
        self,
        (folders, inputs): (&[PathBuf], &[PathBuf]),
        global: Global,
    ) -> Result<(), Failure> {
        self.k.map(|k| F::WIDTH.check_distance(k)).transpose()?;
        let given = self.fingerprints.iter().map(|text| self.input.fingerprint::<F>(text));
        let given = given.collect::<Result<Vec<_>, _>>()?;
        let open = |path: &PathBuf| Database::<F>::open_with(path, global.options())?.snapshot();
        let snapshots = folders.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let mut runner = QueryRunner { args: self, snapshots, pending: Vec::new(), out: Output::stdout() };
        for &id in &self.id {
            for fingerprint in runner.fingerprints_of(id)? {
                runner.row(fingerprint, None, None)?;
            }
        }
        given.iter().try_for_each(|&fingerprint| runner.row(fingerprint, None, None))?;
        runner.idle()?;
        if !inputs.is_empty() || (given.is_empty() && self.id.is_empty()) {
            self.input.read_all(inputs, &mut runner)?;
        }
        runner.idle()
    }
}

/// Takes the matches of each query.
type Visit<'a, F> = &'a mut dyn FnMut(usize, &[Match<F>]) -> Result<(), Error>;

/// Collects queries and answers them batch by batch.
struct QueryRunner<'a, F> {
    args: &'a Args,
    snapshots: Vec<Snapshot<F>>,
    pending: Vec<F>,
    out: Output,
}

impl<F: Fingerprint> RowSink<F> for QueryRunner<'_, F> {
    fn row(&mut self, fingerprint: F, _: Option<u64>, _: Option<&str>) -> Result<(), Failure> {
        self.pending.push(fingerprint);
        let full = if self.snapshots.len() == 1 { BATCH } else { MERGED_BATCH };
        if self.pending.len() < full { Ok(()) } else { self.answer() }
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.answer()?;
        Ok(self.out.flush()?)
    }
}

impl<F: Fingerprint> QueryRunner<'_, F> {
    fn answer(&mut self) -> Result<(), Failure> {
        let queries = std::mem::take(&mut self.pending);
        let args = self.args;
        let k = |snapshot: &Snapshot<F>| args.k.unwrap_or(snapshot.default_k());
        let mut write = writer(args, &queries, &self.snapshots, &mut self.out);
        let ask = |snapshot: &Snapshot<F>, visit: Visit<'_, F>| match args.top {
            Some(count) => snapshot.nearest_batch(&queries, count, args.k.unwrap_or(F::BITS), visit),
            None => snapshot.query_batch(&queries, k(snapshot), visit),
        };
        if let [only] = &self.snapshots[..] {
            return Ok(ask(only, &mut write)?);
        }
        let mut found = vec![Vec::new(); queries.len()];
        for snapshot in &self.snapshots {
            ask(snapshot, &mut |index, more| {
                found[index].extend_from_slice(more);
                Ok(())
            })?;
        }
        for (index, mut found) in found.into_iter().enumerate() {
            found.sort_unstable();
            found.dedup();
            write(index, &found)?;
        }
        Ok(())
    }

    fn fingerprints_of(&self, id: u64) -> Result<Vec<F>, Failure> {
        let mut found = Vec::new();
        for snapshot in &self.snapshots {
            found.extend(snapshot.fingerprints_of(id)?);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

/// Writes the matches of one query, as many as are wanted.
fn writer<'a, F: Fingerprint>(
    args: &'a Args,
    queries: &'a [F],
    snapshots: &'a [Snapshot<F>],
    out: &'a mut Output,
) -> impl FnMut(usize, &[Match<F>]) -> Result<(), Error> + 'a {
    let most = args.limit.unwrap_or(usize::MAX).min(args.top.unwrap_or(usize::MAX));
    move |index, found| {
        found.iter().take(most).try_for_each(|found| {
            let row = Row { fingerprint: found.fingerprint, id: found.id };
            each_key(snapshots, row, |key| {
                out.write(|out| args.format.found(out, queries[index], found, key))
            })
        })
    }
}
