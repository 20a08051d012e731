//! `nearprint pairs`

use std::path::PathBuf;

use crate::failure::Failure;
use crate::input::InputArgs;
use crate::output::{Format, Output, each_key};
use crate::progress::Bars;
use crate::width::{ForWidth, run_for};
use crate::{Global, values};
use nearprint::{Database, Fingerprint, Options, Row, Width, visit_all, width_of};

/// Find all pairs of fingerprints within K bits
///
/// Prints `a b distance` with a < b for every pair of distinct fingerprints, each once; with --ids
/// `id_a id_b distance` for every pair of rows, those of equal fingerprints included, the id of the
/// smaller fingerprint first. The order is the same for any number of threads. With --ids, databases with keys
/// add two columns: the keys of both rows.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint pairs corpus.np -k 3 > pairs.tsv
  nearprint pairs --input fingerprints.txt -k 6 --format json
  nearprint pairs --input fingerprints.u128 --width 128 -k 6")]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// With --input: the width of a fingerprint in bits
    #[arg(long, value_name = "BITS", default_value = "64", value_parser = values::width(), conflicts_with = "database")]
    width: Width,
    /// How many bits may differ [default: the database's own K; 3 with --input]
    #[arg(short, value_name = "K", value_parser = values::distance)]
    k: Option<u32>,
    /// Print ids instead of fingerprints
    #[arg(long)]
    ids: bool,
    /// How results are written
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: Format,
    #[command(flatten)]
    input: InputArgs,
}

/// A database, or a plain list.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Source {
    /// The database
    #[arg(value_name = "DB")]
    pub(super) database: Option<PathBuf>,
    /// A file of fingerprints instead of a database (- for standard input); held in memory
    #[arg(long = "input", value_name = "FILE")]
    pub(super) list: Option<PathBuf>,
}

impl Source {
    /// The width of the fingerprints; of a list, which does not tell, it is `otherwise`.
    pub(super) fn width(&self, otherwise: Width) -> Result<Width, Failure> {
        Ok(self.database.as_ref().map_or(Ok(otherwise), width_of)?)
    }
}

/// What lists are searched for where nothing is said.
pub(super) const DEFAULT_K: u32 = 3;

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
        let bars = Bars::beside_results(global);
        let options = global.options().progress(bars.clone());
        let joined = if let Some(path) = &self.source.database {
            let snapshot = Database::<F>::open_with(path, options)?.snapshot()?;
            let k = given.unwrap_or(snapshot.default_k());
            if self.ids {
                let known = [snapshot.clone()];
                snapshot.visit_row_pairs(k, |a, b, distance| {
                    each_key(&known, a, |key_a| {
                        each_key(&known, b, |key_b| {
                            out.write(|out| format.id_pair(out, (a.id, b.id), distance, (key_a, key_b)))
                        })
                    })
                })
            } else {
                snapshot.visit_pairs(k, |block| {
                    out.write(|out| block.iter().try_for_each(|pair| format.pair(out, pair)))
                })
            }
        } else {
            let k = given.unwrap_or(DEFAULT_K);
            if self.ids {
                let rows = read_rows::<F>(&self.input, &self.source.list)?;
                list_id_pairs(
                    &rows,
                    |a, b, distance| out.write(|out| format.id_pair(out, (a, b), distance, (None, None))),
                    k,
                    &options,
                )
            } else {
                let mut values = Vec::new();
                self.input.read_all(self.source.list.as_slice(), &mut |fingerprint: F, _: Option<u64>| {
                    values.push(fingerprint);
                    Ok(())
                })?;
                visit_all(values, k, &options, |block| {
                    out.write(|out| block.iter().try_for_each(|pair| format.pair(out, pair)))
                })
            }
        };
        bars.clear();
        joined?;
        Ok(out.flush()?)
    }
}

/// Reads a list, numbering rows without an id on from the largest so far; sorted, each row once.
pub(super) fn read_rows<F: Fingerprint>(
    input: &InputArgs,
    path: &Option<PathBuf>,
) -> Result<Vec<Row<F>>, Failure> {
    let mut rows = Vec::new();
    let mut next = Some(0u64);
    input.read_all(path.as_slice(), &mut |fingerprint: F, id: Option<u64>| {
        let id = id.or(next).ok_or(nearprint::Error::Limit("no automatic id is left above 2^64 - 1"))?;
        next = next.and_then(|next| if id >= next { id.checked_add(1) } else { Some(next) });
        rows.push(Row { fingerprint, id });
        Ok(())
    })?;
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}

/// The rows of a sorted list that have one fingerprint.
pub(super) fn rows_of<F: Fingerprint>(rows: &[Row<F>], fingerprint: F) -> &[Row<F>] {
    let start = rows.partition_point(|row| row.fingerprint < fingerprint);
    let len = rows[start..].partition_point(|row| row.fingerprint == fingerprint);
    &rows[start..start + len]
}

fn list_id_pairs<F: Fingerprint>(
    rows: &[Row<F>],
    mut visit: impl FnMut(u64, u64, u32) -> nearprint::Result<()>,
    k: u32,
    options: &Options,
) -> nearprint::Result<()> {
    for equal in rows.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
        for (index, later) in equal.iter().enumerate() {
            equal[..index].iter().try_for_each(|earlier| visit(earlier.id, later.id, 0))?;
        }
    }
    let values: Vec<F> = rows.iter().map(|row| row.fingerprint).collect();
    visit_all(values, k, options, |block| {
        for pair in block {
            for a in rows_of(rows, pair.a) {
                rows_of(rows, pair.b).iter().try_for_each(|b| visit(a.id, b.id, pair.distance))?;
            }
        }
        Ok(())
    })
}
