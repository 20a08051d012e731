//! `nearprint query`

mod documents;
mod limits;
mod pictures;
mod texts;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::args::{FingerprintArgs, GlobalArgs, NearArgs, ResultArgs};
use crate::commands::snapshots::{check_one_width, ids_of_key, snapshots};
use crate::input::fingerprints::{Description, KeyPolicy, RowSink, read_all};
use crate::pictures::is_picture;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::{each_key, match_of};
use documents::DocumentLookUp;
use limits::{LimitArgs, match_columns};
use nearprint::any::{AnyFingerprint, AnySnapshot, Columns};
use nearprint::{BandLayout, Error, Match, Row, Width};
use pictures::PictureLookUp;
use texts::{TextArgs, TextLookUp};

/// Find the rows near a fingerprint, text or image
///
/// In a database of bands, near means an equal band and sketches within K bits; a fingerprint of 0 is
/// near nothing. Prints `query distance fingerprint id` for every row within K bits: one block for each query in
/// input order, sorted by (distance, fingerprint, id). Results are exact. Databases with keys add a
/// column, the key, and print one line for each key of a row. Several databases must have
/// fingerprints of one width. What `fingerprint` prints is read as it is; the key of each query is then a last
/// column, `query_key`.
///
/// With --text, `query` is the key of the text, or its file and line, and a last column is the similarity;
/// a block is sorted by it, the largest first. Where the database keeps features or texts of documents, as
/// `dedup` stores them, and no -k is given, the similarity is exact, and rows of at least --similarity are
/// printed, by default the limit of the database. Elsewhere fingerprints estimate it.
///
/// INPUT may be pictures, if the recipe of the database is pdq, dhash or phash; a database of 256 bits without a
/// recipe is taken for PDQ. `query` is then the path of the picture. Pictures that cannot be decoded are reported,
/// and the exit code is 5.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint query corpus.np -f 0x1f3a5c7e9b2d4f60
  nearprint query corpus.np new-prints.txt -k 6 --limit 10
  nearprint fingerprint articles | nearprint query corpus.np -
  echo 394302156510115170 | nearprint query corpus.np --top 5
  nearprint query monday.np tuesday.np -f 255
  nearprint query pictures.np new.jpg
  nearprint query documents.np --key https://example.org/0
  nearprint query documents.np --text today.jsonl --key-field url
  nearprint query documents.np --text today.jsonl -v
  echo 'a text to look up' | nearprint query documents.np --text -")]
pub(super) struct Args {
    /// Databases (folders), and files of fingerprints to find; without a file or -f, standard input
    #[arg(value_name = "DB|INPUT", required = true)]
    paths: Vec<PathBuf>,
    /// A fingerprint to find; may be repeated
    #[arg(short, long = "fingerprint", value_name = "FP")]
    fingerprints: Vec<String>,
    #[command(flatten)]
    near: NearArgs,
    /// Find rows near the fingerprints of this id, by exact similarity where the database keeps features or texts of
    /// documents. Without keys, scans the database: there is no index by id
    #[arg(long, value_name = "ID")]
    id: Vec<u64>,
    /// Find rows near the row with this key, as with --id; may be repeated
    #[arg(long, value_name = "KEY")]
    key: Vec<String>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten)]
    texts: TextArgs,
    /// Look up the rotations by 90, 180 and 270 degrees and the mirror images of pictures, too (PDQ)
    #[arg(long)]
    rotated: bool,
    #[command(flatten)]
    input: FingerprintArgs,
}

/// Queries per batch. A batch runs table by table, which pays off only for many queries.
const BATCH: usize = 1 << 20;
/// The same for several databases, whose results are held in memory to be merged.
const MERGED_BATCH: usize = 256;

impl Args {
    pub(super) fn run(mut self, global: GlobalArgs) -> Result<(), Failure> {
        let (folders, mut inputs): (Vec<PathBuf>, Vec<PathBuf>) =
            self.paths.iter().cloned().partition(|path| path.is_dir());
        if folders.is_empty() {
            return Err(Error::NotADatabase { path: inputs.swap_remove(0) }.into());
        }
        if let Some(input) = inputs.first().filter(|_| !self.texts.files.is_empty()) {
            let why = format!("{}: a file of fingerprints, beside --text", input.display());
            return Err(Failure::Usage(why));
        }
        if let Some(missing) = inputs.iter().find(|input| is_missing(input)) {
            return Err(no_input(&folders[0], missing));
        }
        let snapshots = snapshots(&global.options(), &folders)?;
        for key in &self.key {
            self.id.extend(ids_with_key(&snapshots, key)?);
        }
        let &Self { near, limits, results, rotated: is_rotated, .. } = &self;
        if inputs.first().is_some_and(|input| is_picture(input)) {
            let look_up = PictureLookUp { near, limits, results, is_rotated };
            return look_up.run((&folders, &snapshots), &inputs, global);
        }
        check_one_width(&folders, &snapshots)?;
        if !self.texts.files.is_empty() {
            let key_field = self.input.key_field.as_deref();
            let look_up = TextLookUp { texts: &self.texts, key_field, near, limits, results };
            return look_up.run(&snapshots, global);
        }
        if let ([snapshot], [], [], false) = (&*snapshots, &*inputs, &*self.fingerprints, self.id.is_empty())
            && (DocumentLookUp { ids: &self.id, near, limits, results }).run(snapshot, global)?
        {
            return Ok(());
        }
        self.run_batches((&folders, snapshots), &inputs)
    }

    /// Answers queries by fingerprint.
    fn run_batches(
        &self,
        (folders, snapshots): (&[PathBuf], Vec<AnySnapshot>),
        inputs: &[PathBuf],
    ) -> Result<(), Failure> {
        let width = snapshots.first().map(AnySnapshot::width).unwrap_or_default();
        let given = self.fingerprints.iter().map(|text| self.input.parse_option(width, text));
        let given = given.collect::<Result<Vec<_>, _>>()?;
        let k = self.near.k(bands_of(folders, &snapshots)?, width)?;
        let mut runner = QueryRunner {
            args: self,
            k,
            width,
            snapshots,
            pending: Vec::new(),
            keys: None,
            is_begun: false,
            out: OutputStream::stdout(),
        };
        if !given.is_empty() || !self.id.is_empty() {
            runner.begin(false)?;
        }
        for &id in &self.id {
            for fingerprint in runner.fingerprints_of(id)? {
                runner.row(fingerprint, None, None)?;
            }
        }
        given.iter().try_for_each(|&fingerprint| runner.row(fingerprint, None, None))?;
        runner.idle()?;
        if !inputs.is_empty() || (given.is_empty() && self.id.is_empty()) {
            read_all((&self.input, width), inputs, &mut runner)?;
        }
        runner.idle()
    }
}

/// The ids of a key in all databases.
fn ids_with_key(snapshots: &[AnySnapshot], key: &str) -> Result<BTreeSet<u64>, Failure> {
    let mut found = BTreeSet::new();
    for snapshot in snapshots {
        found.extend(ids_of_key(snapshot, key)?);
    }
    match found.is_empty() {
        true => Err(Failure::Usage(format!("--key {key:?}: no row has this key"))),
        false => Ok(found),
    }
}

/// Whether a path is neither there nor standard input.
fn is_missing(input: &Path) -> bool {
    input.as_os_str() != "-" && !input.exists()
}

/// A text or a number instead of a file.
fn no_input(database: &Path, input: &Path) -> Failure {
    let (database, name) = (database.display(), input.to_string_lossy());
    let is_number = Width::ALL.into_iter().any(|width| AnyFingerprint::parse(width, &name, None).is_ok());
    let hint = match is_number {
        true => format!("to look up a fingerprint: nearprint query {database} -f {name}"),
        false => format!("to look up a text: echo '{name}' | nearprint query {database} --text -"),
    };
    Failure::OtherCommand { why: format!("no file {name:?}"), hint }
}

/// The bands of all databases, which must be the same.
fn bands_of(folders: &[PathBuf], snapshots: &[AnySnapshot]) -> Result<Option<BandLayout>, Failure> {
    let bands = snapshots.first().and_then(AnySnapshot::bands);
    match folders.iter().zip(snapshots).find(|(_, snapshot)| snapshot.bands() != bands) {
        None => Ok(bands),
        Some((other, snapshot)) => {
            let layout = |of: &AnySnapshot| of.stats().layout.to_string();
            let (path, layout, other_layout) = (folders[0].clone(), layout(&snapshots[0]), layout(snapshot));
            let other = other.clone();
            Err(Error::Incomparable { path, layout, other, other_layout }.into())
        }
    }
}

/// Receives the index of a query and its matches.
type MatchVisitor<'a> = &'a mut dyn FnMut(usize, &Columns) -> Result<(), Error>;

/// Collects queries and runs them in batches.
struct QueryRunner<'a> {
    args: &'a Args,
    /// The distance that an option sets.
    k: Option<u32>,
    width: Width,
    snapshots: Vec<AnySnapshot>,
    /// The words of fingerprints.
    pending: Vec<u64>,
    /// The keys of these fingerprints, if they are printed.
    keys: Option<Vec<Option<String>>>,
    /// Whether the columns are known.
    is_begun: bool,
    out: OutputStream,
}

impl RowSink for QueryRunner<'_> {
    fn described(&mut self, input: &Description) -> Result<(), Failure> {
        let recipes = self.snapshots.iter().map(AnySnapshot::recipe);
        recipes.into_iter().try_for_each(|recipe| input.check_recipe(recipe))?;
        if self.is_begun { Ok(()) } else { self.begin(input.has_keys) }
    }

    fn key_policy(&self) -> KeyPolicy {
        if self.keys.is_some() { KeyPolicy::Keep } else { KeyPolicy::Ignore }
    }

    fn row(&mut self, fingerprint: AnyFingerprint, _: Option<u64>, key: Option<&str>) -> Result<(), Failure> {
        self.pending.extend_from_slice(fingerprint.words());
        if let Some(keys) = &mut self.keys {
            keys.push(key.map(str::to_string));
        }
        let full = if self.snapshots.len() == 1 { BATCH } else { MERGED_BATCH };
        if self.pending.len() < full * self.width.words() { Ok(()) } else { self.run_batch() }
    }

    fn idle(&mut self) -> Result<(), Failure> {
        self.run_batch()?;
        Ok(self.out.flush()?)
    }
}

impl QueryRunner<'_> {
    /// Prints the names of the columns, before the first query.
    fn begin(&mut self, has_query_keys: bool) -> Result<(), Failure> {
        (self.is_begun, self.keys) = (true, has_query_keys.then(Vec::new));
        let has_keys = self.snapshots.iter().any(|snapshot| snapshot.key_storage().has_keys());
        let columns = match_columns(self.args.limits, has_keys, has_query_keys, false);
        Ok(self.args.results.print_header(&mut self.out, &columns)?)
    }

    fn run_batch(&mut self) -> Result<(), Failure> {
        let words = std::mem::take(&mut self.pending);
        let keys = self.keys.as_mut().map(std::mem::take);
        let (limits, format, k, width) = (self.args.limits, self.args.results.format(), self.k, self.width);
        let queries = words.chunks_exact(width.words());
        let key_of = |index: usize| keys.as_ref().map(|keys| keys[index].as_deref());
        let run = |snapshot: &AnySnapshot, visit: MatchVisitor<'_>| {
            snapshot.query_batch(&words, limits.query(k, snapshot.default_k(), width), visit)
        };
        if limits.is_inverted() {
            let mut is_near = vec![false; queries.len()];
            for snapshot in &self.snapshots {
                run(snapshot, &mut |index, found| {
                    is_near[index] |= !found.is_empty();
                    Ok(())
                })?;
            }
            let far = queries.enumerate().filter(|(index, _)| !is_near[*index]);
            return Ok(far.into_iter().try_for_each(|(index, query)| {
                let query = AnyFingerprint::from(query).to_string();
                self.out.write(|out| format.unmatched(out, &query, key_of(index)))
            })?);
        }
        let (snapshots, out) = (&self.snapshots, &mut self.out);
        let mut write = |index: usize, found: Match<AnyFingerprint>| {
            let query = AnyFingerprint::new(width, &words[index * width.words()..]);
            let row = Row { fingerprint: found.fingerprint, id: found.id };
            each_key(snapshots, row, |key| {
                out.write(|out| format.query_match(out, query, found, (key, key_of(index))))
            })
        };
        if let [only] = &snapshots[..] {
            return Ok(run(only, &mut |index, found| {
                found.rows().try_for_each(|row| write(index, match_of(&row)))
            })?);
        }
        let mut found = vec![Vec::new(); queries.len()];
        for snapshot in snapshots {
            run(snapshot, &mut |index, more| {
                found[index].extend(more.rows().map(|row| match_of(&row)));
                Ok(())
            })?;
        }
        for (index, mut matches) in found.into_iter().enumerate() {
            matches.sort_unstable();
            matches.dedup();
            matches.into_iter().take(limits.most()).try_for_each(|found| write(index, found))?;
        }
        Ok(())
    }

    /// The fingerprints of an id in all databases.
    fn fingerprints_of(&self, id: u64) -> Result<BTreeSet<AnyFingerprint>, Failure> {
        let mut found = BTreeSet::new();
        for snapshot in &self.snapshots {
            let words = snapshot.fingerprints_of(id)?;
            found.extend(words.chunks_exact(self.width.words()).map(AnyFingerprint::from));
        }
        Ok(found)
    }
}
