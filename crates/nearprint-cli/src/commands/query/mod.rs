//! `nearprint query`

mod documents;
mod left_out;
mod limits;
mod pictures;
mod texts;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::args::{FingerprintArgs, GlobalArgs, InBase, NearArgs, ResultArgs};
use crate::commands::snapshots::{check_one_width, ids_of_key, snapshots, unknown_id};
use crate::input::fingerprints::{Description, KeyPolicy, RowSink, holds_fingerprints, read_all};
use crate::left_out::LeftOutDocuments;
use crate::pictures::is_picture;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::quoted;
use crate::terminal::results::{each_key, match_of};
use documents::DocumentLookUp;
use limits::{Answered, LimitArgs, match_columns};
use nearprint::any::{AnyFingerprint, AnySnapshot, Columns};
use nearprint::{BandLayout, Error, Match, Options, Radix, Row, Width};
use nearprint_text::recipe::Recipe;
use pictures::PictureLookUp;
use texts::{TextArgs, TextLookUp};

/// Find the rows near a fingerprint, text or image
///
/// Prints `query distance fingerprint id` for every row within K bits. The rows of a query are sorted by distance,
/// fingerprint and id, and queries are in input order. Results are exact. Databases with keys add a column, the key,
/// and print a line for each key of a row. Fingerprints are printed in the base of -f. Several databases must have
/// fingerprints of one width. INPUT may be what `fingerprint` prints; a last column, `query_key`, then has the key of
/// the query. In a database of bands, a row is near if one band is equal and the sketches are within K bits; nothing is
/// near a fingerprint of 0.
///
/// INPUT may also be texts or records, as for `dedup`, if the database was made of texts. `query` is then the key of
/// the text, its file and line, or the TEXT of -t. A last column is the similarity; the most similar rows come first.
/// If the database keeps features or texts and -k is not given, similarities are exact, and rows of at least
/// --similarity are printed. Otherwise, fingerprints estimate the similarity.
///
/// INPUT may be images, if the recipe of the database is pdq, dhash or phash. A database of 256 bits without a recipe
/// is taken for PDQ. `query` is then the path of the image. Images that cannot be decoded are named, and the exit code
/// is then 5.
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
  nearprint query documents.np --left-out https://example.org/1
  nearprint query documents.np today.jsonl --key-field url
  nearprint query documents.np today.jsonl -v
  nearprint query documents.np -t 'a text to look up'")]
pub(super) struct Args {
    /// Databases, and files to look up; - or none for standard input. Fingerprints, or what the database was made of:
    /// texts and records, or images
    #[arg(value_name = "DB|INPUT", required = true)]
    paths: Vec<PathBuf>,
    /// A fingerprint to find: a number, 0x… or 0b…; may be repeated
    #[arg(short, long = "fingerprint", value_name = "FP")]
    fingerprints: Vec<String>,
    /// A text; may be repeated. The database must have a recipe
    #[arg(short = 't', long = "text", value_name = "TEXT", allow_hyphen_values = true, conflicts_with_all = ["fingerprints", "id", "key"])]
    given_texts: Vec<String>,
    #[command(flatten)]
    near: NearArgs,
    /// Find the rows near the row with this id. Reads the whole database if it has no keys. Similarities are exact if
    /// the database keeps features or texts
    #[arg(long, value_name = "ID")]
    id: Vec<u64>,
    /// Find rows near the row with this key, as with --id; may be repeated
    #[arg(long, value_name = "KEY")]
    key: Vec<String>,
    /// Find the kept document of which the document with this key was a duplicate; may be repeated. Of a kept document,
    /// list what was left out because of it. The database must be one that `dedup --remember` made; for such a list,
    /// `--remember=keys`. Prints `left_out kept similarity job`
    #[arg(long, value_name = "KEY", conflicts_with_all = ["fingerprints", "given_texts", "id", "key", "k", "similarity", "top", "limit", "unmatched", "rotated"])]
    left_out: Vec<String>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    results: ResultArgs,
    #[command(flatten)]
    texts: TextArgs,
    /// Also look up images as they are mirrored, or turned by 90, 180 or 270 degrees (PDQ). `compare` and `scan` turn
    /// both of two images, and may print some bits less
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
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let (folders, mut inputs) = databases_and_inputs(&self.paths);
        if folders.is_empty() {
            return Err(Error::NotADatabase { path: inputs.swap_remove(0) }.into());
        }
        if let Some(input) = inputs.first().filter(|_| !self.given_texts.is_empty()) {
            let why = format!("{}: an input, beside --text", input.display());
            return Err(Failure::Usage(why));
        }
        let snapshots = snapshots(&global.options(), &folders)?;
        if let Some(missing) = inputs.iter().find(|input| is_missing(input)) {
            return Err(no_input(&folders[0], &snapshots[0], missing));
        }
        if !self.left_out.is_empty() {
            if let Some(input) = inputs.first() {
                return Err(Failure::Usage(format!("{}: --left-out reads no inputs", input.display())));
            }
            return left_out::run((&folders, &snapshots), &self.left_out, self.results, global);
        }
        let &Self { near, limits, results, rotated: is_rotated, .. } = &self;
        if let Some(input) = inputs.first().filter(|input| is_picture(input)) {
            if !self.fingerprints.is_empty() || !self.id.is_empty() || !self.key.is_empty() {
                let why =
                    format!("{}: an image, beside -f, --id or --key; use two commands", input.display());
                return Err(Failure::Usage(why));
            }
            let look_up = PictureLookUp { near, limits, results, is_rotated };
            return look_up.run((&folders, &snapshots), &inputs, global);
        }
        if is_rotated {
            return Err(Failure::Usage("--rotated looks up images; name one".into()));
        }
        check_one_width(&folders, &snapshots)?;
        self.refuse_other_files(&folders, &snapshots, &inputs)?;
        let look_up = TextLookUp { args: &self.texts, input: &self.input, near, limits, results };
        if !self.given_texts.is_empty() {
            return look_up.run_texts(&snapshots, &self.given_texts, global);
        }
        let stored = self.stored_rows((&folders, &snapshots), &global.options())?;
        let waits = self.fingerprints.is_empty() && stored.is_empty();
        if self.asks_by_texts(&snapshots, &inputs, waits)? {
            let files = if inputs.is_empty() { vec![PathBuf::from("-")] } else { inputs };
            return look_up.run(&snapshots, &files, global);
        }
        if inputs.is_empty()
            && self.fingerprints.is_empty()
            && !stored.is_empty()
            && (DocumentLookUp { rows: &stored, near, limits, results })
                .run((&folders, &snapshots), global)?
        {
            return Ok(());
        }
        self.run_batches((&folders, snapshots), &stored, &inputs, global)
    }

    /// The rows that --id and --key name.
    fn stored_rows(
        &self,
        (folders, snapshots): (&[PathBuf], &[AnySnapshot]),
        options: &Options,
    ) -> Result<Vec<Row<AnyFingerprint>>, Failure> {
        let mut rows = Vec::new();
        for &id in &self.id {
            let mut found = BTreeSet::new();
            for snapshot in snapshots {
                found.extend(rows_of_id(snapshot, id)?);
            }
            if found.is_empty() {
                return Err(unknown_id(id));
            }
            rows.extend(found);
        }
        for key in &self.key {
            rows.extend(rows_with_key((folders, snapshots), key, options)?);
        }
        Ok(rows)
    }

    /// Refuses files that are neither images nor fingerprints, where the databases are of images.
    fn refuse_other_files(
        &self,
        folders: &[PathBuf],
        snapshots: &[AnySnapshot],
        inputs: &[PathBuf],
    ) -> Result<(), Failure> {
        let is_of_pictures = |snapshot: &AnySnapshot| {
            snapshot.recipe().is_some_and(|recipe| recipe.parse::<nearprint_image::Recipe>().is_ok())
        };
        if !snapshots.iter().all(is_of_pictures) {
            return Ok(());
        }
        for input in inputs.iter().filter(|input| input.as_os_str() != "-") {
            if !holds_fingerprints((&self.input, snapshots[0].width()), input)? {
                let what =
                    if input.is_dir() { "is a folder" } else { "has neither an image nor fingerprints" };
                let (input, folder) = (input.display(), folders[0].display());
                return Err(Failure::Usage(format!("{input}: {what}; give images to look up in {folder}")));
            }
        }
        Ok(())
    }

    /// Whether the inputs have texts, or standard input has if it is waited for and there are none: only databases of
    /// texts can be asked by them.
    fn asks_by_texts(
        &self,
        snapshots: &[AnySnapshot],
        inputs: &[PathBuf],
        waits: bool,
    ) -> Result<bool, Failure> {
        let stdin = [PathBuf::from("-")];
        let inputs = if inputs.is_empty() && waits { &stdin } else { inputs };
        if !snapshots.iter().all(is_of_texts) {
            return Ok(false);
        }
        let width = snapshots.first().map(AnySnapshot::width).unwrap_or_default();
        let mut others = Vec::new();
        for input in inputs {
            if !holds_fingerprints((&self.input, width), input)? {
                others.push(input);
            }
        }
        match others.first() {
            Some(other) if others.len() < inputs.len() || !waits => Err(Failure::Usage(format!(
                "{}: has texts, but other queries are fingerprints; use two commands",
                other.display()
            ))),
            other => Ok(other.is_some()),
        }
    }

    /// Answers queries by fingerprint.
    fn run_batches(
        &self,
        (folders, snapshots): (&[PathBuf], Vec<AnySnapshot>),
        stored: &[Row<AnyFingerprint>],
        inputs: &[PathBuf],
        global: GlobalArgs,
    ) -> Result<(), Failure> {
        let width = snapshots.first().map(AnySnapshot::width).unwrap_or_default();
        let given = self.fingerprints.iter().map(|text| self.input.parse_option(width, text));
        let given = given.collect::<Result<Vec<_>, _>>()?;
        let k = self.near.k(bands_of(folders, &snapshots)?, width)?;
        let mut runner = QueryRunner {
            args: self,
            k,
            base: self.input.base_of(&self.fingerprints),
            width,
            snapshots,
            pending: Vec::new(),
            keys: None,
            is_begun: false,
            answered: Answered::default(),
            out: OutputStream::stdout(),
        };
        stored.iter().try_for_each(|row| runner.row(row.fingerprint, None, None))?;
        given.iter().try_for_each(|&fingerprint| runner.row(fingerprint, None, None))?;
        if !inputs.is_empty() || (given.is_empty() && stored.is_empty()) {
            read_all((&self.input, width), inputs, &mut runner)?;
        }
        runner.idle()?;
        runner.answered.note(self.limits, global);
        Ok(())
    }
}

/// The databases among some paths, and the inputs. Behind a database, a folder without a manifest is an input; none is
/// opened for this.
fn databases_and_inputs(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut databases, mut inputs) = (Vec::new(), Vec::new());
    for path in paths {
        let is_input = !path.is_dir() || !databases.is_empty() && !path.join("MANIFEST").exists();
        if is_input { &mut inputs } else { &mut databases }.push(path.clone());
    }
    (databases, inputs)
}

fn rows_of_id(snapshot: &AnySnapshot, id: u64) -> Result<Vec<Row<AnyFingerprint>>, Error> {
    let (words, width) = (snapshot.fingerprints_of(id)?, snapshot.width().words());
    Ok(words.chunks_exact(width).map(|words| Row { fingerprint: words.into(), id }).collect())
}

/// The rows with a key in all databases. Other rows may have the ids of these.
fn rows_with_key(
    (folders, snapshots): (&[PathBuf], &[AnySnapshot]),
    key: &str,
    options: &Options,
) -> Result<BTreeSet<Row<AnyFingerprint>>, Failure> {
    let mut found = BTreeSet::new();
    for snapshot in snapshots {
        for id in ids_of_key(snapshot, key)? {
            for row in rows_of_id(snapshot, id)? {
                let keys = snapshot.keys_of(row.fingerprint.words(), row.id)?;
                if keys.iter().any(|other| other.key == key) {
                    found.insert(row);
                }
            }
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let why = format!("--key {key:?}: no row has this key");
    for (folder, snapshot) in folders.iter().zip(snapshots) {
        let documents = LeftOutDocuments::of(snapshot, options)?;
        if documents.map(|documents| documents.find(key)).transpose()?.flatten().is_some() {
            let hint = format!(
                "this document was left out: nearprint query {} --left-out {}",
                quoted(folder),
                quoted(Path::new(key))
            );
            return Err(Failure::OtherCommand { why, hint });
        }
    }
    Err(Failure::Usage(why))
}

/// Whether the fingerprints of a database are made of texts.
fn is_of_texts(snapshot: &AnySnapshot) -> bool {
    snapshot.recipe().is_some_and(|recipe| recipe.parse::<Recipe>().is_ok())
}

/// Whether a path is neither there nor standard input.
fn is_missing(input: &Path) -> bool {
    input.as_os_str() != "-" && !input.exists()
}

/// A text or a number instead of a file.
fn no_input(database: &Path, snapshot: &AnySnapshot, input: &Path) -> Failure {
    let (database, name) = (database.display(), input.to_string_lossy());
    let is_number = Width::ALL.into_iter().any(|width| AnyFingerprint::parse(width, &name, None).is_ok());
    let hint = match is_number {
        true => format!("to look up a fingerprint: nearprint query {database} -f {name}"),
        false if is_of_texts(snapshot) => {
            format!("to look up a text: nearprint query {database} -t '{name}'")
        }
        false => return Failure::Usage(format!("no file {name:?}")),
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
    /// The base of printed fingerprints, if it is not that of the width.
    base: Option<Radix>,
    width: Width,
    snapshots: Vec<AnySnapshot>,
    /// The words of fingerprints.
    pending: Vec<u64>,
    /// The keys of these fingerprints, if they are printed.
    keys: Option<Vec<Option<String>>>,
    /// Whether the columns are known.
    is_begun: bool,
    answered: Answered,
    out: OutputStream,
}

impl RowSink for QueryRunner<'_> {
    fn described(&mut self, input: &Description) -> Result<(), Failure> {
        let recipes = self.snapshots.iter().map(AnySnapshot::recipe);
        recipes.into_iter().try_for_each(|recipe| input.check_recipe(recipe))?;
        if !self.is_begun {
            self.begin(input.has_keys)?;
        } else if input.has_keys && self.keys.is_none() {
            let why = "an input has keys of queries, but earlier queries have none; name it first";
            return Err(Failure::Usage(why.into()));
        }
        Ok(())
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
        let without = self.pending.len() / self.width.words();
        (self.is_begun, self.keys) = (true, has_query_keys.then(|| vec![None; without]));
        let has_keys = self.snapshots.iter().any(|snapshot| snapshot.key_storage().has_keys());
        let columns = match_columns(self.args.limits, has_keys, has_query_keys, false);
        Ok(self.args.results.print_header(&mut self.out, &columns)?)
    }

    fn run_batch(&mut self) -> Result<(), Failure> {
        if !self.is_begun && !self.pending.is_empty() {
            self.begin(false)?;
        }
        let words = std::mem::take(&mut self.pending);
        let keys = self.keys.as_mut().map(std::mem::take);
        let (limits, format, k, width) = (self.args.limits, self.args.results.format(), self.k, self.width);
        let base = self.base;
        let queries = words.chunks_exact(width.words());
        let key_of = |index: usize| keys.as_ref().map(|keys| keys[index].as_deref());
        let run = |snapshot: &AnySnapshot, visit: MatchVisitor<'_>| {
            snapshot.query_batch(&words, limits.query(k, snapshot.default_k(), width), visit)
        };
        if limits.prints_unmatched() {
            let mut is_near = vec![false; queries.len()];
            for snapshot in &self.snapshots {
                run(snapshot, &mut |index, found| {
                    is_near[index] |= !found.is_empty();
                    Ok(())
                })?;
            }
            let far = queries.enumerate().filter(|(index, _)| !is_near[*index]);
            return Ok(far.into_iter().try_for_each(|(index, query)| {
                let query = InBase(query.into(), base).to_string();
                self.out.write(|out| format.unmatched(out, &query, key_of(index)))
            })?);
        }
        self.answered.queries += queries.len() as u64;
        let (snapshots, out, rows) = (&self.snapshots, &mut self.out, &mut self.answered.rows);
        let mut write = |index: usize, found: Match<AnyFingerprint>| {
            let query = AnyFingerprint::new(width, &words[index * width.words()..]);
            let row = Row { fingerprint: found.fingerprint, id: found.id };
            *rows += 1;
            each_key(snapshots, row, |key| {
                let shown = (InBase(query, base), InBase(found.fingerprint, base));
                let (distance, id) = (found.distance, found.id);
                out.write(|out| format.query_match(out, shown, (distance, id), (key, key_of(index))))
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
}
