//! `nearprint cross`

use std::path::PathBuf;

use crate::args::{GlobalArgs, NearArgs, ResultArgs, agree};
use crate::exact::{SimilarDocuments, pair_columns};
use crate::terminal::failure::Failure;
use crate::terminal::results::{KeyColumn, each_key};
use crate::typed::{TypedCommand, run_with_width};
use nearprint::{Error, Fingerprint, Options, Row, Snapshot, width_of};

/// Find all pairs within K bits, or of similar documents, between two databases
///
/// Prints `a b distance` for every fingerprint a of DB and every fingerprint b of OTHER within K
/// bits of it, each pair once, including equal fingerprints. With --ids, prints `id_a id_b
/// distance` for every pair of rows; databases with keys then add two columns: the keys of both
/// rows. The order is the same for any number of threads.
///
/// Where both databases keep features or texts of documents, made by one recipe, and no -k is given,
/// exact similarities decide, as in `pairs`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint cross monday.np tuesday.np -k 3 > again.tsv
  nearprint cross pages.np spam.np -k 6 --ids --format json")]
pub(super) struct Args {
    /// The database of the first column
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The database of the second column
    #[arg(value_name = "OTHER")]
    other: PathBuf,
    #[command(flatten)]
    near: NearArgs,
    /// Print ids instead of fingerprints
    #[arg(long)]
    ids: bool,
    #[command(flatten)]
    results: ResultArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        run_with_width(width_of(&self.database)?, self, (), global)
    }
}

impl TypedCommand<()> for Args {
    fn run_typed<F: Fingerprint>(self, (): (), global: GlobalArgs) -> Result<(), Failure> {
        let format = self.results.format;
        global.print_results(|out, options| {
            let open = |path: &PathBuf| options.open::<F>(path)?.snapshot();
            let (first, second) = (open(&self.database)?, open(&self.other)?);
            if let Some((a, b)) = first.recipe().zip(second.recipe()).filter(|(a, b)| !agree(a, b)) {
                global.note(format_args!(
                    "warning: distances between fingerprints of different recipes are meaningless: {a}; {b}"
                ));
            }
            if let Some((similar, others)) = self.similar(&options)? {
                let (documents, least) = (&similar.documents, similar.least);
                let pairs = match self.ids {
                    true => documents.cross_row_pairs(&others.documents, least)?,
                    false => documents.cross(&others.documents, least)?,
                };
                return similar.print_pairs::<F>(pairs, self.results, global, out);
            }
            let k = self.near.k(first.bands(), F::WIDTH)?.unwrap_or(first.default_k());
            let has_keys = first.key_storage().has_keys() || second.key_storage().has_keys();
            self.results.print_header(out, &pair_columns(self.ids, has_keys, false))?;
            if !self.ids {
                return Ok(first.visit_cross(&second, k, |block| {
                    out.write(|out| block.iter().try_for_each(|pair| format.pair(out, pair, None)))
                })?);
            }
            let (of_first, of_second) = ([first.clone()], [second.clone()]);
            Ok(first.visit_cross_rows(&second, k, |a, b, distance| {
                key_pairs((&of_first, a), (&of_second, b), |keys| {
                    out.write(|out| format.id_pair(out, (a.id, b.id), distance, keys, None))
                })
            })?)
        })
    }
}

impl Args {
    /// The documents of both databases, where both keep evidence of one recipe.
    fn similar(&self, options: &Options) -> Result<Option<(SimilarDocuments, SimilarDocuments)>, Failure> {
        let open = |path: &PathBuf| SimilarDocuments::open(path, options, self.near);
        let both = open(&self.database)?.zip(open(&self.other)?);
        Ok(both.filter(|(one, other)| one.has_recipe_of(other)))
    }
}

/// Calls `write` for each key of row `a` with each key of row `b`. If only one of the databases has
/// keys, the other column is empty.
fn key_pairs<F: Fingerprint>(
    (first, a): (&[Snapshot<F>], Row<F>),
    (second, b): (&[Snapshot<F>], Row<F>),
    mut write: impl FnMut((KeyColumn<'_>, KeyColumn<'_>)) -> Result<(), Error>,
) -> Result<(), Error> {
    each_key(first, a, |key_a| {
        each_key(second, b, |key_b| match (key_a, key_b) {
            (None, None) => write((None, None)),
            (key_a, key_b) => write((key_a.or(Some("")), key_b.or(Some("")))),
        })
    })
}
