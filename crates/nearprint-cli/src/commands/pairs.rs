//! `nearprint pairs`

use crate::args::values::DEFAULT_K;
use crate::args::{FingerprintArgs, GlobalArgs, JoinArgs, NearArgs, ResultArgs, note_open_kind};
use crate::exact::{SimilarDocuments, pair_columns};
use crate::expected::Expected;
use crate::input::fingerprints::List;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::each_key;
use crate::typed::{TypedCommand, run_with_width};
use nearprint::{Error, Fingerprint, Options, Row, Snapshot, width_of};

/// Find all pairs of fingerprints within K bits, or of similar documents
///
/// In a database of bands, near means an equal band and sketches within K bits; a fingerprint of 0 is
/// near nothing. Prints `a b distance` with a < b for every pair of distinct fingerprints, each once. With --ids,
/// prints
/// `id_a id_b distance` for every pair of rows, including rows with equal fingerprints; the id of
/// the smaller fingerprint comes first. Databases with keys then add two columns: the keys of both
/// rows. The order is the same for any number of threads.
///
/// Where the database keeps features or texts of documents, as `dedup` stores them, and no -k is given,
/// exact similarities decide: pairs of at least --similarity, by default the limit of the database. The
/// last column is then the similarity; of two fingerprints it is the largest of their documents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint pairs corpus.np -k 3 > pairs.tsv
  nearprint pairs documents.np --ids --similarity 0.5
  nearprint pairs --input fingerprints.txt -k 6 --format json
  nearprint pairs --input fingerprints.u128 --width 128 -k 6")]
pub(super) struct Args {
    #[command(flatten)]
    source: JoinArgs,
    #[command(flatten)]
    near: NearArgs,
    /// Print ids instead of fingerprints
    #[arg(long)]
    ids: bool,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten)]
    input: FingerprintArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        run_join(&self, (&self.source, &self.input), global)
    }
}

/// Runs a command with the width of its database, or of its list.
pub(super) fn run_join<'a>(
    command: impl TypedCommand<Option<List<'a>>>,
    (source, input): (&'a JoinArgs, &'a FingerprintArgs),
    global: GlobalArgs,
) -> Result<(), Failure> {
    match source.database() {
        Some(path) => run_with_width(width_of(path)?, command, None, global),
        None => {
            let list = List::open(input, source.list(), source.width)?;
            run_with_width(list.width(), command, Some(list), global)
        }
    }
}

impl TypedCommand<Option<List<'_>>> for &Args {
    fn run_typed<F: Fingerprint>(self, list: Option<List<'_>>, global: GlobalArgs) -> Result<(), Failure> {
        let says = list.as_ref().is_none_or(|list| list.k().is_some()) || self.near.is_given();
        note_open_kind(global, F::WIDTH, says);
        global.print_results(|out, options| {
            out.limit(self.source.max_output);
            self.print::<F>(list, (out, options), global)
        })
    }
}

impl Args {
    fn print<F: Fingerprint>(
        &self,
        list: Option<List<'_>>,
        (out, options): (&mut OutputStream, Options),
        global: GlobalArgs,
    ) -> Result<(), Failure> {
        match list {
            None => {
                let Some(path) = self.source.database() else { return Ok(()) };
                if let Some(similar) = SimilarDocuments::open(path, &options, self.near)? {
                    if let Some(most) = self.source.max_output {
                        let snapshot = options.open::<F>(path)?.snapshot()?;
                        Expected::of_documents(&snapshot, &similar)?.check_pairs(most)?;
                    }
                    let documents = &similar.documents;
                    let pairs = match self.ids {
                        true => documents.row_pairs(similar.least)?,
                        false => documents.pairs(similar.least)?,
                    };
                    return similar.print_pairs::<F>(pairs, self.results, global, out);
                }
                let snapshot = options.open::<F>(path)?.snapshot()?;
                let k = self.near.k(snapshot.bands(), F::WIDTH)?.unwrap_or(snapshot.default_k());
                let columns = pair_columns(self.ids, snapshot.key_storage().has_keys(), false);
                if let Some(most) = self.source.max_output {
                    Expected::of_rows(&snapshot, k)?.check_pairs(most)?;
                }
                self.results.print_header(out, &columns)?;
                Ok(self.print_pairs_of_database(&snapshot, k, out)?)
            }
            Some(list) => {
                let k = self.near.k(None, F::WIDTH)?.or(list.k()).unwrap_or(DEFAULT_K);
                self.print_pairs_of_list::<F>(list, k, &options, out)
            }
        }
    }

    fn print_pairs_of_database<F: Fingerprint>(
        &self,
        snapshot: &Snapshot<F>,
        k: u32,
        out: &mut OutputStream,
    ) -> Result<(), Error> {
        let format = self.results.format;
        if !self.ids {
            return snapshot.visit_pairs(k, |block| {
                out.write(|out| block.iter().try_for_each(|pair| format.pair(out, pair, None)))
            });
        }
        let snapshots = [snapshot.clone()];
        snapshot.visit_row_pairs(k, |a, b, distance| {
            each_key(&snapshots, a, |key_a| {
                each_key(&snapshots, b, |key_b| {
                    out.write(|out| format.id_pair(out, (a.id, b.id), distance, (key_a, key_b), None))
                })
            })
        })
    }

    fn print_pairs_of_list<F: Fingerprint>(
        &self,
        list: List<'_>,
        k: u32,
        options: &Options,
        out: &mut OutputStream,
    ) -> Result<(), Failure> {
        let (format, columns) = (self.results.format, pair_columns(self.ids, false, false));
        let check = |fingerprints: &[F]| match self.source.max_output {
            Some(most) => Expected::of_list(fingerprints, k).check_pairs(most),
            None => Ok(()),
        };
        if !self.ids {
            let fingerprints = list.fingerprints::<F>()?;
            check(&fingerprints)?;
            self.results.print_header(out, &columns)?;
            return Ok(nearprint::list::visit_pairs(fingerprints, k, options, |block| {
                out.write(|out| block.iter().try_for_each(|pair| format.pair(out, pair, None)))
            })?);
        }
        let rows = list.rows::<F>()?;
        let fingerprints: Vec<F> = rows.iter().map(|row| row.fingerprint).collect();
        check(&fingerprints)?;
        self.results.print_header(out, &columns)?;
        let print =
            |a, b, distance| out.write(|out| format.id_pair(out, (a, b), distance, (None, None), None));
        Ok(visit_id_pairs(&rows, fingerprints, print, (k, options))?)
    }
}

/// Visits the pairs of rows in a sorted list: first pairs of equal fingerprints.
fn visit_id_pairs<F: Fingerprint>(
    rows: &[Row<F>],
    fingerprints: Vec<F>,
    mut visit: impl FnMut(u64, u64, u32) -> Result<(), Error>,
    (k, options): (u32, &Options),
) -> Result<(), Error> {
    for equal in rows.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
        for (index, later) in equal.iter().enumerate() {
            equal[..index].iter().try_for_each(|earlier| visit(earlier.id, later.id, 0))?;
        }
    }
    nearprint::list::visit_pairs(fingerprints, k, options, |block| {
        for pair in block {
            for a in rows_of(rows, pair.a) {
                rows_of(rows, pair.b).iter().try_for_each(|b| visit(a.id, b.id, pair.distance))?;
            }
        }
        Ok(())
    })
}

/// The rows with one fingerprint in a sorted list.
fn rows_of<F: Fingerprint>(rows: &[Row<F>], fingerprint: F) -> &[Row<F>] {
    let start = rows.partition_point(|row| row.fingerprint < fingerprint);
    let len = rows[start..].partition_point(|row| row.fingerprint == fingerprint);
    &rows[start..start + len]
}
