//! `nearprint cross`

use std::path::PathBuf;

use crate::failure::Failure;
use crate::output::{Format, Key, Output, each_key};
use crate::progress::Bars;
use crate::width::{ForWidth, run_for};
use crate::{Global, values};
use nearprint::{Database, Error, Fingerprint, Row, Snapshot, width_of};

/// Find all pairs within K bits between two databases
///
/// Prints `a b distance` for every fingerprint a of DB and every fingerprint b of OTHER that are near, each
/// pair once, equal fingerprints with distance 0; with --ids `id_a id_b distance` for every pair of rows. The
/// order is the same for any number of threads. With --ids, databases with keys add two columns: the keys of
/// both rows.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint cross monday.np tuesday.np -k 3 > again.tsv
  nearprint cross pages.np spam.np -k 6 --ids --format json")]
pub(crate) struct Args {
    /// The database of the first column
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The database of the second column
    #[arg(value_name = "OTHER")]
    other: PathBuf,
    /// How many bits may differ [default: DB's own K]
    #[arg(short, value_name = "K", value_parser = values::distance)]
    k: Option<u32>,
    /// Print ids instead of fingerprints
    #[arg(long)]
    ids: bool,
    /// How results are written
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: Format,
}

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let width = width_of(&self.database)?;
        run_for(width, self, (), global)
    }
}

impl ForWidth<()> for Args {
    fn run_wide<F: Fingerprint>(self, (): (), global: Global) -> Result<(), Failure> {
        let given = self.k.map(|k| F::WIDTH.check_distance(k)).transpose()?;
        let mut out = Output::stdout();
        let bars = Bars::beside_results(global);
        let options = global.options().progress(bars.clone());
        let open = |path: &PathBuf| Database::<F>::open_with(path, options.clone())?.snapshot();
        let (first, second) = (open(&self.database)?, open(&self.other)?);
        if let Some((one, other)) = first.recipe().zip(second.recipe()).filter(|(one, other)| one != other) {
            global.note(format_args!(
                "warning: distances between fingerprints of different recipes mean nothing: {one}; {other}"
            ));
        }
        let (k, format) = (given.unwrap_or(first.default_k()), self.format);
        let crossed = if self.ids {
            let (first_known, second_known) = ([first.clone()], [second.clone()]);
            first.visit_cross_rows(&second, k, |a, b, distance| {
                key_pairs((&first_known, a), (&second_known, b), |keys| {
                    out.write(|out| format.id_pair(out, (a.id, b.id), distance, keys))
                })
            })
        } else {
            first.visit_cross(&second, k, |block| {
                out.write(|out| block.iter().try_for_each(|pair| format.pair(out, pair)))
            })
        };
        bars.clear();
        crossed?;
        Ok(out.flush()?)
    }
}

/// Calls `write` with each key of a row beside each key of another one. Where only one of the databases has
/// keys, the other column is empty.
fn key_pairs<F: Fingerprint>(
    (first, a): (&[Snapshot<F>], Row<F>),
    (second, b): (&[Snapshot<F>], Row<F>),
    mut write: impl FnMut((Key<'_>, Key<'_>)) -> Result<(), Error>,
) -> Result<(), Error> {
    each_key(first, a, |key_a| {
        each_key(second, b, |key_b| match (key_a, key_b) {
            (None, None) => write((None, None)),
            (key_a, key_b) => write((key_a.or(Some("")), key_b.or(Some("")))),
        })
    })
}
