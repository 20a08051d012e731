//! `nearprint pairs`

use crate::args::values::DEFAULT_K;
use crate::args::{FingerprintArgs, GlobalArgs, JoinArgs, NearArgs, ResultArgs, note_open_kind};
use crate::input::fingerprints::List;
use crate::output_estimate::OutputEstimate;
use crate::similar_documents::{SimilarDocuments, pair_columns};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::{ResultFormat, each_key};
use nearprint::any::{AnySnapshot, AnyStream, find_all, find_row_pairs};
use nearprint::{Error, Options};

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
        let list = list_of(&self.source, &self.input)?;
        if let Some(list) = &list {
            note_open_kind(global, list.width(), list.k().is_some() || self.near.is_given());
        }
        global.print_results(|out, options| {
            out.limit(self.source.max_output);
            match (list, self.source.database()) {
                (Some(list), _) => self.print_pairs_of_list(list, options, out),
                (None, Some(path)) => {
                    self.print_pairs_of_database(&options.open_any(path)?.snapshot()?, global, out)
                }
                (None, None) => Ok(()),
            }
        })
    }

    fn print_pairs_of_database(
        &self,
        snapshot: &AnySnapshot,
        global: GlobalArgs,
        out: &mut OutputStream,
    ) -> Result<(), Failure> {
        if let Some(similar) = SimilarDocuments::of(snapshot, self.near)? {
            if let Some(most) = self.source.max_output {
                OutputEstimate::of_documents(snapshot, &similar)?.check_pairs(most)?;
            }
            let documents = &similar.documents;
            let pairs = match self.ids {
                true => documents.row_pairs(similar.least)?,
                false => documents.pairs(similar.least)?,
            };
            return similar.print_pairs(pairs, self.results, global, out);
        }
        let k = self.near.k(snapshot.bands(), snapshot.width())?.unwrap_or(snapshot.default_k());
        if let Some(most) = self.source.max_output {
            OutputEstimate::of_rows(snapshot, k)?.check_pairs(most)?;
        }
        let columns = pair_columns(self.ids, snapshot.key_storage().has_keys(), false);
        self.results.print_header(out, &columns)?;
        if !self.ids {
            return Ok(print_pairs(snapshot.pairs(k)?, self.results.format, out)?);
        }
        Ok(print_row_pairs(snapshot.row_pairs(k)?, Some([snapshot; 2]), self.results.format, out)?)
    }

    fn print_pairs_of_list(
        &self,
        list: List<'_>,
        options: Options,
        out: &mut OutputStream,
    ) -> Result<(), Failure> {
        let width = list.width();
        let k = self.near.k(None, width)?.or(list.k()).unwrap_or(DEFAULT_K);
        let check = |words: &[u64]| match self.source.max_output {
            Some(most) => OutputEstimate::of_list(width, words, k).check_pairs(most),
            None => Ok(()),
        };
        let (format, columns) = (self.results.format, pair_columns(self.ids, false, false));
        if !self.ids {
            let words = list.fingerprints()?;
            check(&words)?;
            self.results.print_header(out, &columns)?;
            let pairs = find_all(width, &words, k.into(), options, BLOCK_ROWS)?;
            drop(words);
            return Ok(print_pairs(pairs, format, out)?);
        }
        let (words, ids) = list.rows()?;
        check(&words)?;
        self.results.print_header(out, &columns)?;
        let pairs = find_row_pairs(width, (&words, &ids), k.into(), options, BLOCK_ROWS)?;
        drop((words, ids));
        Ok(print_row_pairs(pairs, None, format, out)?)
    }
}

/// Opens the list, if there is no database.
pub(super) fn list_of<'a>(
    source: &'a JoinArgs,
    input: &'a FingerprintArgs,
) -> Result<Option<List<'a>>, Failure> {
    match source.database() {
        Some(_) => Ok(None),
        None => Ok(Some(List::open(input, source.list(), source.width)?)),
    }
}

/// The pairs of a list that are printed at once.
pub(super) const BLOCK_ROWS: usize = 4096;

/// Prints pairs of fingerprints.
pub(super) fn print_pairs(
    pairs: AnyStream,
    format: ResultFormat,
    out: &mut OutputStream,
) -> Result<(), Error> {
    pairs.visit(|block| out.write(|out| block.rows().try_for_each(|pair| format.pair(out, &pair, None))))
}

/// Prints pairs of rows: of databases once for each key of one row with each key of the other. If only one of the
/// databases has keys, the other column is empty.
pub(super) fn print_row_pairs(
    pairs: AnyStream,
    databases: Option<[&AnySnapshot; 2]>,
    format: ResultFormat,
    out: &mut OutputStream,
) -> Result<(), Error> {
    let [first, second] = [0, 1].map(|at| databases.map(|both| both[at].clone()));
    pairs.visit(|block| {
        block.rows().try_for_each(|pair| {
            each_key(first.as_slice(), pair.row(), |key_a| {
                each_key(second.as_slice(), pair.other_row(), |key_b| {
                    let has_none = key_a.is_none() && key_b.is_none();
                    let keys = [key_a, key_b].map(|key| key.or((!has_none).then_some("")));
                    let ids = (pair.id, pair.other_id);
                    out.write(|out| format.id_pair(out, ids, pair.distance, keys.into(), None))
                })
            })
        })
    })
}
