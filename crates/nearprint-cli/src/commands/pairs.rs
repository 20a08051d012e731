//! `nearprint pairs`

use std::path::PathBuf;

use crate::args::values::DEFAULT_K;
use crate::args::{FingerprintArgs, GlobalArgs, JoinArgs, NearArgs, ResultArgs, agree, note_open_kind};
use crate::commands::snapshots::{check_one_width, snapshots};
use crate::input::fingerprints::List;
use crate::left_out::why_none_is_near;
use crate::output_estimate::OutputEstimate;
use crate::similar_documents::{SimilarDocuments, pair_columns};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::quoted;
use crate::terminal::results::ResultFormat;
use nearprint::any::{AnySnapshot, AnyStream, find_all, find_row_pairs};
use nearprint::{Error, Options};

/// Find all near pairs in a database, or between two
///
/// Prints `a b distance` for every pair of different fingerprints within K bits, each pair once, with a < b. With
/// --ids, prints `id_a id_b distance` for every pair of rows, including rows with equal fingerprints. The id of the
/// smaller fingerprint comes first. Databases with keys then add two columns: the keys of both rows. In a database of
/// bands, two rows are near if one band is equal and the sketches are within K bits; nothing is near a fingerprint of
/// 0.
///
/// If the database keeps features or texts, as `dedup` stores them, and -k is not given, exact similarities decide.
/// Pairs of at least --similarity are printed; its default is the limit of the database. The last column is then the
/// similarity. For two fingerprints, it is the largest similarity of their documents.
///
/// With OTHER, prints every pair of a row of DB and a row of OTHER, each once, including equal fingerprints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint pairs corpus.np -k 3 > pairs.tsv
  nearprint pairs documents.np --ids --similarity 0.5
  nearprint pairs monday.np tuesday.np -k 3 > again.tsv
  nearprint pairs fingerprints.txt -k 6 --format json
  nearprint pairs fingerprints.u128 --width 128 -k 6")]
pub(super) struct Args {
    #[command(flatten)]
    source: JoinArgs,
    /// A second database; prints the pairs between both
    #[arg(value_name = "OTHER")]
    other: Option<PathBuf>,
    #[command(flatten)]
    near: NearArgs,
    /// Print ids instead of fingerprints, and pairs of rows with equal fingerprints, too
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
        let database = self.source.database()?;
        if list.is_some() && self.other.is_some() {
            return Err(Failure::Usage(
                "two inputs have to be databases; `nearprint build` makes one from a file".into(),
            ));
        }
        if let Some((database, file)) = database.zip(self.other.as_deref().filter(|other| other.is_file())) {
            let hint = format!(
                "to find what is near its fingerprints: nearprint query {} {}",
                quoted(database),
                quoted(file)
            );
            return Err(Failure::OtherCommand {
                why: format!("{}: a file, not a database", file.display()),
                hint,
            });
        }
        global.print_results(|out, options| {
            out.limit(self.source.max_output);
            match (list, database, &self.other) {
                (Some(list), ..) => self.print_pairs_of_list(list, options, out),
                (None, Some(path), None) => {
                    self.print_pairs_of_database(&options.open_any(path)?.snapshot()?, global, out)
                }
                (None, Some(path), Some(other)) => {
                    self.print_pairs_between(&[path.to_path_buf(), other.clone()], &options, global, out)
                }
                (None, None, _) => Ok(()),
            }
        })
    }

    fn print_pairs_between(
        &self,
        folders: &[PathBuf],
        options: &Options,
        global: GlobalArgs,
        out: &mut OutputStream,
    ) -> Result<(), Failure> {
        let both = snapshots(options, folders)?;
        check_one_width(folders, &both)?;
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
            return similar.print_pairs(pairs, self.results, global, out).map(drop);
        }
        let k = self.near.k(first.bands(), first.width())?.unwrap_or(first.default_k());
        let has_keys = first.key_storage().has_keys() || second.key_storage().has_keys();
        self.results.print_header(out, &pair_columns(self.ids, has_keys, false))?;
        let format = self.results.format();
        if !self.ids {
            return Ok(print_pairs(first.cross(second, k)?, format, out)?);
        }
        let [first, second] = [first, second].map(|snapshot| snapshot.clone().with_keys());
        Ok(print_row_pairs(first.cross_row_pairs(&second, k)?, format, out)?)
    }

    fn print_pairs_of_database(
        &self,
        snapshot: &AnySnapshot,
        global: GlobalArgs,
        out: &mut OutputStream,
    ) -> Result<(), Failure> {
        if let Some(similar) = SimilarDocuments::of(snapshot, self.near)? {
            if let Some(most) = self.source.max_output {
                OutputEstimate::of_documents(snapshot, &similar)?.check_pairs(self.ids, most)?;
            }
            let documents = &similar.documents;
            let pairs = match self.ids {
                true => documents.row_pairs(similar.least)?,
                false => documents.pairs(similar.least)?,
            };
            let count = similar.print_pairs(pairs, self.results, global, out)?;
            if count == 0
                && let Some(why) = why_none_is_near(snapshot, &global.options())?
            {
                global.note(format_args!("{why}"));
            }
            return Ok(());
        }
        let k = self.near.k(snapshot.bands(), snapshot.width())?.unwrap_or(snapshot.default_k());
        if let Some(most) = self.source.max_output {
            OutputEstimate::of_rows(snapshot, k)?.check_pairs(self.ids, most)?;
        }
        let columns = pair_columns(self.ids, snapshot.key_storage().has_keys(), false);
        self.results.print_header(out, &columns)?;
        if !self.ids {
            return Ok(print_pairs(snapshot.pairs(k)?, self.results.format(), out)?);
        }
        Ok(print_row_pairs(snapshot.clone().with_keys().row_pairs(k)?, self.results.format(), out)?)
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
            Some(most) => OutputEstimate::of_list(width, words, k).check_pairs(self.ids, most),
            None => Ok(()),
        };
        let (format, columns) = (self.results.format(), pair_columns(self.ids, false, false));
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
        Ok(print_row_pairs(pairs, format, out)?)
    }
}

/// Opens the list, if there is no database.
pub(super) fn list_of<'a>(
    source: &'a JoinArgs,
    input: &'a FingerprintArgs,
) -> Result<Option<List<'a>>, Failure> {
    match source.database()? {
        Some(_) => Ok(None),
        None => Ok(Some(List::open(input, source.list(), source.width)?)),
    }
}

/// The pairs of a list that are printed at once.
pub(super) const BLOCK_ROWS: usize = 4096;

/// Prints pairs of fingerprints.
fn print_pairs(pairs: AnyStream, format: ResultFormat, out: &mut OutputStream) -> Result<(), Error> {
    pairs.visit(|block| out.write(|out| block.rows().try_for_each(|pair| format.pair(out, &pair, None))))
}

/// Prints pairs of rows. If only one of two databases has keys, the other column is empty.
fn print_row_pairs(pairs: AnyStream, format: ResultFormat, out: &mut OutputStream) -> Result<(), Error> {
    let has_keys = pairs.shape().keys;
    pairs.visit(|block| {
        out.write(|out| {
            block.rows().try_for_each(|pair| {
                let keys = [pair.key, pair.other_key].map(|key| has_keys.then_some(key));
                format.id_pair(out, (pair.id, pair.other_id), pair.distance, keys.into(), None)
            })
        })
    })
}
