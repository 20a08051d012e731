//! `nearprint cross`

use std::path::PathBuf;

use crate::args::{GlobalArgs, NearArgs, ResultArgs, agree};
use crate::commands::pairs::{print_pairs, print_row_pairs};
use crate::commands::{check_one_width, snapshots};
use crate::similar_documents::{SimilarDocuments, pair_columns};
use crate::terminal::failure::Failure;

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
        let format = self.results.format;
        global.print_results(|out, options| {
            let folders = [self.database, self.other];
            let both = snapshots(&options, &folders)?;
            check_one_width(&folders, &both)?;
            let [first, second] = &both[..] else { return Ok(()) };
            if let Some((a, b)) = first.recipe().zip(second.recipe()).filter(|(a, b)| !agree(a, b)) {
                global.note(format_args!(
                    "warning: distances between fingerprints of different recipes are meaningless: {a}; {b}"
                ));
            }
            let similar = |of| SimilarDocuments::of(of, self.near);
            let similar = similar(first)?.zip(similar(second)?);
            if let Some((similar, others)) = similar.filter(|(one, other)| one.has_recipe_of(other)) {
                let (documents, least) = (&similar.documents, similar.least);
                let pairs = match self.ids {
                    true => documents.cross_row_pairs(&others.documents, least)?,
                    false => documents.cross(&others.documents, least)?,
                };
                return similar.print_pairs(pairs, self.results, global, out);
            }
            let k = self.near.k(first.bands(), first.width())?.unwrap_or(first.default_k());
            let has_keys = first.key_storage().has_keys() || second.key_storage().has_keys();
            self.results.print_header(out, &pair_columns(self.ids, has_keys, false))?;
            if !self.ids {
                return Ok(print_pairs(first.cross(second, k)?, format, out)?);
            }
            Ok(print_row_pairs(first.cross_row_pairs(second, k)?, Some([first, second]), format, out)?)
        })
    }
}
