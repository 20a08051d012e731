//! What a deduplication of files reads, writes and keeps.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checkpoint::JobIdentity;
use super::shards::{self, Shards};
use crate::dedup::decide::{DedupOptions, Judge, Measure, is_there, recipe_of};
use crate::dedup::order::Keep;
use crate::dedup::unit::{TrimRules, Unit};
use crate::dedup::values::{self, Setter};
use crate::documents::{
    Fields, Format, InputFile, Missing, Nested, Preprocessing, Reader, ReaderOptions, format_of_output,
    format_of_records, is_database, refuse_device,
};
use crate::error::{Error, InputSetProblem, OutputProblem, Result};
use crate::recipe::Recipe;
use nearprint::Options;

/// The field of the size of a cluster, and the option that adds it.
pub(crate) const GROUP_SIZE: &str = "group_size";

/// The names of fields that are added to written documents.
#[derive(Clone, Debug, Default)]
pub struct Added {
    /// That of the fingerprint, which kept documents have.
    pub fingerprint: Option<String>,
    /// That of the key.
    pub key: Option<String>,
    /// That of the text as the recipe cleans it, without white space around it.
    pub text: Option<String>,
}

impl Added {
    /// Reads values such as `key=FIELD`.
    fn of(values: &[OsString]) -> Result<Self, String> {
        let mut added = Self::default();
        for value in values::texts(values)? {
            let (what, field) = value.split_once('=').filter(|(_, field)| !field.is_empty()).unzip();
            let place = match what {
                Some("fingerprint") => &mut added.fingerprint,
                Some("key") => &mut added.key,
                Some("text") => &mut added.text,
                _ => return Err(format!("{value}: expected fingerprint=FIELD, key=FIELD or text=FIELD")),
            };
            if place.is_some() {
                return Err(format!("{value}: this is added already"));
            }
            *place = field.map(String::from);
        }
        Ok(added)
    }
}

/// A deduplication of files: reads documents, and writes the new ones unchanged, in input order.
///
/// ```
/// use nearprint_text::dedup::{DedupOptions, FileJob};
/// use std::ops::ControlFlow;
///
/// # let home = tempfile::tempdir()?;
/// # let (pages, unique) = (home.path().join("pages.jsonl"), home.path().join("unique.jsonl"));
/// std::fs::write(&pages, "{\"text\": \"One two three\"}\n{\"text\": \"one, two, three\"}\n")?;
/// let options = DedupOptions::new("simhash".parse()?);
/// let mut job = FileJob::new(vec![pages], unique.clone(), options);
/// job.database = Some(home.path().join("seen.np"));
/// let report = job.run(|_counts, _position| ControlFlow::Continue(()))?;
/// assert_eq!((report.counts.kept, report.counts.duplicates), (1, 1));
/// assert_eq!(std::fs::read_to_string(&unique)?, "{\"text\": \"One two three\"}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileJob {
    /// Files and folders of documents; `-` is standard input.
    pub inputs: Vec<PathBuf>,
    /// How documents are read. A [field](Keep::field) of `keep` is the [value](Fields::value) of its fields.
    pub reader: ReaderOptions,
    /// The file for kept documents; `-` is standard output.
    pub output: PathBuf,
    /// Makes [`output`](Self::output) a folder of several files, which is created if it is not there. No file in it
    /// is replaced.
    pub shards: Option<Shards>,
    /// Fields that are added to each written document, as its last ones.
    pub added: Added,
    /// Writes only the fields of these names, all if it is empty.
    pub fields: Vec<String>,
    /// What becomes of arrays and objects, if the name of the output denotes a format with columns.
    pub nested: Nested,
    /// Writes near-duplicates, too, and adds four fields to each document, as the last ones:
    /// `duplicate_of`, the key of the kept document, none for that document itself; `group`, the
    /// same key for all of them; `similarity`, from 0 to 1, and `copy`, whether both have the same tokens, none for
    /// the kept document.
    pub annotate: bool,
    /// Adds a last field `group_size` to each written document: the number of documents with the same kept
    /// one, including that one. The file of duplicates has it as a last column. Reads the inputs twice. Not
    /// allowed with a database, since later jobs add to the groups.
    pub group_size: bool,
    /// Ends each path in the lists of files of folders with a zero byte instead of a line feed.
    pub nul_ended: bool,
    /// The file for a line per near-duplicate: `key`, `duplicate_of`, `distance`, `similarity`, `group` and
    /// `copy`, separated by tabs and with [escaped] keys, or as CSV if its name ends so. `copy` says whether
    /// both have the same tokens, for files of folders the same bytes; it is empty if that is unknown, as where the
    /// database stores no text or hash. A job that [trims](Self::trim) writes a line per removed unit: `key`, `number`,
    /// `first_seen_in` and `first_number`, which are the keys of its document and of the earlier one, each
    /// with the number of the unit there, from 1. A passage has the number of its first word, and no
    /// `first_number`.
    ///
    /// [escaped]: crate::documents::escape
    pub duplicates: Option<PathBuf>,
    /// An open file for the same lines about records that are read since the job was begun or resumed, also
    /// in a dry run: for a caller that reads them once, and keeps no file of them.
    pub spool: Option<Arc<File>>,
    /// Collects the near-duplicates among files of folders in the [report](crate::dedup::FileReport::files), to act on
    /// them.
    pub collects_files: bool,
    /// The file for malformed records and documents with too few words or features. If there is none, the
    /// first malformed record ends the job.
    pub rejects: Option<PathBuf>,
    /// The files that the caller writes after the job, each with the name of its option. The job fails if one of them
    /// is read, or is an output.
    pub beside: Vec<(&'static str, PathBuf)>,
    /// The database that remembers kept documents; created if it does not exist. It also makes the
    /// job resumable: a job that was interrupted resumes when an equal one is run.
    pub database: Option<PathBuf>,
    /// Databases, files and folders of documents to compare with: documents that are near one of
    /// theirs are left out, with its key. They are only read. A file has the fields of the inputs, and the format
    /// of its extension.
    pub against: Vec<PathBuf>,
    /// Compares documents only with the collections of [`against`](Self::against), not with each other. Not with a
    /// database.
    pub only_against: bool,
    /// Writes neither files nor the database.
    pub dry_run: bool,
    /// Forgets the documents that an interrupted job, or an earlier run of this one, has kept in the
    /// database, and starts over. Documents of other jobs stay.
    pub restart: bool,
    /// Which of several near-duplicates is kept. `None` stands for the [best](Keep::Best) one if documents
    /// are files, and otherwise for the [first](Keep::First).
    pub keep: Option<Keep>,
    /// Compares units of texts in the place of whole documents, and writes documents without the
    /// units that were there before. A document that loses all its units is not written; one
    /// that loses none is written unchanged. Of several near-duplicates the first is kept. A database has the key of
    /// the document, `#` and the number of the unit, from 1, and is for units of one kind. Where units are
    /// [counted](TrimRules::from), `@` and a number tell documents of one key apart. Units with fewer words or [features](DedupOptions::min_features), or without any
    /// word, are not compared and stay. Needs inputs with fields.
    pub trim: Option<TrimRules>,
    /// How documents are compared.
    pub dedup: DedupOptions,
    /// The options that were set by name.
    given: BTreeSet<&'static str>,
}

/// The options that are set by name, besides those that [say how documents are compared](DedupOptions::set).
const OPTIONS: &[(&str, Setter<FileJob>)] = &[
    ("database", |job, it| values::path(it).map(|path| job.database = Some(path))),
    ("rejects", |job, it| values::path(it).map(|path| job.rejects = Some(path))),
    ("shards", |job, it| {
        if job.output == Path::new("-") {
            return Err("the output has to be a folder, not standard output".into());
        }
        job.shards = Some(Shards::Into(values::within(1..=256, "1 to 256", it)?));
        Ok(())
    }),
    ("add", |job, it| Added::of(it).map(|added| job.added = added)),
    ("fields", |job, it| values::texts(it).map(|fields| job.fields = fields)),
    ("nested", |job, it| values::parsed(it).map(|nested| job.nested = nested)),
    ("dry_run", |job, it| values::flag(it).map(|is_on| job.dry_run = is_on)),
    ("restart", |job, it| values::flag(it).map(|is_on| job.restart = is_on)),
    ("input_format", |job, it| values::parsed(it).map(|format| job.reader.format = Some(format))),
    ("text_field", |job, it| values::parsed(it).map(|field| job.reader.fields.text = field)),
    ("key_field", |job, it| values::parsed(it).map(|field| job.reader.fields.key = Some(field))),
    ("missing", |job, it| values::parsed(it).map(|missing| job.reader.fields.missing = missing)),
    ("encoding", |job, it| values::parsed(it).map(|encoding| job.reader.encoding = Some(encoding))),
    ("delimiter", |job, it| values::parsed(it).map(|delimiter| job.reader.delimiter = Some(delimiter))),
    ("pre", |job, it| values::path(it).map(|program| job.reader.pre.program = program)),
    ("pre_glob", |job, it| values::texts(it).map(|globs| job.reader.pre.globs = globs)),
    ("exclude", |job, it| values::texts(it).map(|globs| job.reader.folder.exclude = globs)),
    ("ext", |job, it| values::texts(it).map(|all| job.reader.folder.extensions = all)),
    ("no_ignore", |job, it| values::flag(it).map(|is_on| job.reader.folder.no_ignore = is_on)),
];

/// Those of jobs that compare whole documents.
const OF_DEDUP: &[(&str, Setter<FileJob>)] = &[
    ("against", |job, it| values::paths(it).map(|paths| job.against = paths)),
    ("only_against", |job, it| values::flag(it).map(|is_on| job.only_against = is_on)),
    ("duplicates", |job, it| values::path(it).map(|path| job.duplicates = Some(path))),
    ("annotate", |job, it| values::flag(it).map(|is_on| job.annotate = is_on)),
    ("group_size", |job, it| values::flag(it).map(|is_on| job.group_size = is_on)),
    ("null", |job, it| values::flag(it).map(|is_on| job.nul_ended = is_on)),
    ("keep", |job, it| values::parsed(it).map(|keep| job.keep = Some(keep))),
];

/// Those of jobs that trim.
const OF_TRIM: &[(&str, Setter<FileJob>)] = &[
    ("by", |job, it| values::parsed(it).map(|unit| job.rules().by = unit)),
    ("length", |job, it| values::parsed(it).map(|words| job.rules().length = Some(words))),
    ("from", |job, it| values::within(2.., "at least 2", it).map(|number| job.rules().from = number)),
    ("min_left", |job, it| {
        let share = values::text(it).map(values::share_of)?;
        share
            .map(|share| job.rules().min_left = share)
            .ok_or_else(|| format!("{}: 0 to 1 is wanted", values::text(it).unwrap_or_default()))
    }),
    ("keep_hollow", |job, it| values::flag(it).map(|is_on| job.rules().keeps_hollow = is_on)),
    ("removed", |job, it| values::path(it).map(|path| job.duplicates = Some(path))),
];

impl FileJob {
    /// A job whose options are then [set](Self::set) by name. Each has the default of `nearprint dedup`.
    ///
    /// # Errors
    /// None: the defaults are valid.
    pub fn with_defaults(inputs: Vec<PathBuf>, output: PathBuf, engine: Options) -> Result<Self> {
        let shards = Shards::of(&output);
        let mut dedup = DedupOptions::with_default_recipe()?;
        dedup.engine = engine;
        Ok(Self { shards, ..Self::new(inputs, output, dedup) })
    }

    /// The same for a job that [trims](Self::trim), with the defaults of `nearprint trim`.
    ///
    /// # Errors
    /// None: the defaults are valid.
    pub fn trimming(inputs: Vec<PathBuf>, output: PathBuf, engine: Options) -> Result<Self> {
        Ok(Self {
            trim: Some(TrimRules::new(Unit::Paragraph)),
            ..Self::with_defaults(inputs, output, engine)?
        })
    }

    fn rules(&mut self) -> &mut TrimRules {
        self.trim.get_or_insert(TrimRules::new(Unit::Paragraph))
    }

    fn options(&self) -> impl Iterator<Item = &'static (&'static str, Setter<Self>)> + use<> {
        OPTIONS.iter().chain(if self.trim.is_some() { OF_TRIM } else { OF_DEDUP })
    }

    /// The names of the options that [`set`](Self::set) sets.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        // Units have a length instead.
        let others = match self.trim {
            Some(_) => &["min_words", "remember"][..],
            None => &[],
        };
        let own = self.options().map(|(name, _)| *name);
        own.chain(DedupOptions::names().filter(|name| !others.contains(name)))
    }

    /// Sets an option by its name, that of `nearprint dedup` or `trim` with `_` for `-`, or of a part of the recipe. A
    /// switch has no values. What it has replaces what it had. All options that depend on others are checked when the
    /// job runs.
    ///
    /// # Errors
    /// [`Error::Setting`] if there is no such option, or for a value that it cannot have; [`Error::Recipe`] for a
    /// recipe.
    pub fn set(&mut self, name: &str, values: &[OsString]) -> Result<()> {
        let own = values::set(self, self.options(), name, values)?;
        match own {
            Some(_) => {}
            None => self.dedup.set(name, values)?,
        }
        self.given.extend(own.or(DedupOptions::names().find(|known| *known == name)));
        Ok(())
    }

    /// The path of the database; empty without one.
    pub(crate) fn database_path(&self) -> &Path {
        self.database.as_deref().unwrap_or(Path::new(""))
    }

    fn is_given(&self, name: &str) -> bool {
        self.given.contains(name)
    }

    /// Chooses the recipe. That of a database takes precedence over one that is not required, and so do databases to
    /// compare with over the default; their bands over those of a similarity. Units are compared exactly, unless an
    /// option says how.
    pub(crate) fn choose_recipe(&mut self) -> Result<()> {
        let own = self.database.as_deref().filter(|path| is_there(path));
        let mut compared = None;
        for path in self.against.iter().filter(|_| own.is_none()) {
            if compared.is_none() && path.is_dir() && is_database(path)? {
                compared = Some(path);
            }
        }
        let by_name = self.dedup.has_default() || self.is_given("recipe");
        let stored = own.or(compared.map(PathBuf::as_path).filter(|_| by_name));
        let says_near = self.dedup.k.is_some() || self.dedup.similarity.is_some();
        let default = if self.trim.is_some() && !says_near { "exact" } else { Recipe::DEFAULT };
        self.dedup.choose_recipe(default, stored)?;
        let compared = compared.map(recipe_of).transpose()?;
        // Who compares with a database refuses another recipe.
        if let Some(recipe) = compared.filter(|found| self.dedup.recipe.is_same_but_for_similarity(found)) {
            self.dedup.keep_bands_of(recipe);
        }
        Ok(())
    }

    /// A job without a database that keeps the first of several near-duplicates.
    #[must_use]
    pub fn new(inputs: Vec<PathBuf>, output: PathBuf, dedup: DedupOptions) -> Self {
        Self {
            inputs,
            reader: ReaderOptions::default(),
            output,
            shards: None,
            added: Added::default(),
            fields: Vec::new(),
            nested: Nested::Refuse,
            annotate: false,
            group_size: false,
            nul_ended: false,
            duplicates: None,
            spool: None,
            collects_files: false,
            rejects: None,
            beside: Vec::new(),
            database: None,
            against: Vec::new(),
            only_against: false,
            dry_run: false,
            restart: false,
            keep: None,
            trim: None,
            dedup,
            given: BTreeSet::new(),
        }
    }

    /// Checks that units are counted only where their distance says whether they are near.
    pub(crate) fn check_units(&self, measure: &Measure) -> Result<()> {
        let is_exact = matches!(measure.judge, Judge::Distance) && measure.recipe.bands().is_none();
        match self.trim {
            Some(TrimRules { from: 3.., .. }) if !is_exact => Err(Error::setting(
                "from",
                "numbers above 2 are for pieces of the same words; similar pieces are not counted",
            )),
            _ => Ok(()),
        }
    }

    /// Whether these are the units of the job.
    pub(crate) fn trims(&self, unit: Unit) -> bool {
        self.trim.is_some_and(|rules| rules.by == unit)
    }

    /// Checks that no option for whole documents is set with units, and none for one job with a database; and that no
    /// output has the name of a device.
    pub(crate) fn check(&self) -> Result<()> {
        if !self.dry_run {
            self.outputs().into_iter().flatten().try_for_each(refuse_device)?;
        }
        let alone = [(self.group_size, GROUP_SIZE), (self.only_against, "only_against")];
        if let Some((_, option)) = alone.into_iter().find(|(is_set, _)| *is_set && self.database.is_some()) {
            return Err(OutputProblem::NotWithDatabase { option }.into());
        }
        if self.only_against && self.against.is_empty() {
            return Err(Error::setting("only_against", "needs a collection to compare against"));
        }
        let of_databases = [
            (self.dedup.expire_after.is_some(), "expire_after"),
            (self.dedup.remember.is_some(), "remember"),
        ];
        if let Some((_, option)) = of_databases.into_iter().find(|(is_set, _)| *is_set)
            && self.database.is_none()
        {
            return Err(Error::setting(option, "needs a database"));
        }
        if !self.against.is_empty() && self.group_size {
            return Err(OutputProblem::NotWithAgainst.into());
        }
        self.trim.map_or(Ok(()), |rules| self.check_trim(rules))
    }

    fn check_trim(&self, rules: TrimRules) -> Result<()> {
        let is_passage = rules.by == Unit::Passage;
        if is_passage && !(2..=10_000).contains(&rules.length()) {
            return Err(Error::setting("length", "a passage needs 2 to 10000 words"));
        }
        let compares = ["recipe", "k", "similarity", "store"];
        let compares = compares.into_iter().find(|name| self.is_given(name)).or(self.dedup.recipe_part());
        let whole = "is for whole documents";
        let refused = [
            (self.ranks(), "keep", whole),
            (self.annotate, "annotate", whole),
            (self.group_size, GROUP_SIZE, whole),
            (self.added.fingerprint.is_some(), "add fingerprint", whole),
            (!self.against.is_empty(), "against", whole),
            (self.dedup.min_words > 0, "min_words", whole),
            (self.dedup.remember.is_some(), "remember", whole),
            (is_passage && self.dedup.min_features > 0, "min_features", "passages have no features"),
            (is_passage && compares.is_some(), compares.unwrap_or_default(), "passages have the same words"),
            (is_passage && rules.from > 2, "from", "passages are not counted, only paragraphs and lines are"),
            (
                is_passage && self.restart && self.database.is_some(),
                "restart",
                "a database does not distinguish the passages of its runs: begin with a new one",
            ),
        ];
        let refused = refused.into_iter().find(|(is_set, ..)| *is_set);
        refused.map_or(Ok(()), |(_, option, why)| Err(Error::setting(option, why)))
    }

    /// Sets how units are compared: passages by the hashes of their words.
    pub(crate) fn set_units(&mut self) -> Result<()> {
        let Some(rules) = &mut self.trim else { return Ok(()) };
        let length = rules.length();
        (rules.length, self.dedup.min_words) = (Some(length), length);
        if rules.by == Unit::Passage {
            let recipe = format!("exact width=128 shingle={length}");
            let mut dedup = DedupOptions::new(recipe.parse()?);
            (dedup.k, dedup.require_recipe) = (Some(0), true);
            dedup.engine = self.dedup.engine.clone();
            dedup.expire_after = self.dedup.expire_after;
            self.dedup = dedup;
        }
        Ok(())
    }

    /// Whether all documents are decided before the first one is written.
    pub(crate) fn reads_twice(&self) -> bool {
        self.ranks() || self.group_size
    }

    /// Whether another document than the first is kept.
    fn ranks(&self) -> bool {
        self.keep.as_ref().is_some_and(|keep| *keep != Keep::First)
    }

    /// Chooses what is kept, now that the inputs are known.
    pub(crate) fn choose_kept(&mut self, reader: &Reader) -> Result<()> {
        let is_file = |input: &InputFile| input.stamp.is_some();
        let are_files = reader.format() == Format::Text && reader.inputs().iter().all(is_file);
        let name = self.keep.as_ref().and_then(Keep::of_files);
        if let Some(order) = name.filter(|_| !are_files) {
            return Err(InputSetProblem::NotFiles { order }.into());
        }
        self.keep.get_or_insert(if are_files { Keep::Best } else { Keep::First });
        Ok(())
    }

    /// Leaves files out of the inputs that are compared with, under whatever name: they stay.
    pub(crate) fn read_once(&mut self) -> Result<()> {
        for path in &self.against {
            if !path.is_dir() || !is_database(path)? {
                self.reader.folder.read_elsewhere.push(path.clone());
            }
        }
        Ok(())
    }

    /// Whether standard input is among the inputs.
    pub(crate) fn reads_stdin(&self) -> bool {
        self.inputs.iter().any(|input| input == Path::new("-"))
    }

    /// The files that the job writes: the output, the duplicates, the rejects.
    pub(crate) fn outputs(&self) -> [Option<&Path>; 3] {
        [Some(&*self.output), self.duplicates.as_deref(), self.rejects.as_deref()]
    }

    /// The same, by the names of their options.
    pub fn named_outputs(&self) -> impl Iterator<Item = (&str, &Path)> {
        let duplicates = if self.trim.is_some() { "removed" } else { "duplicates" };
        let all = ["output", duplicates, "rejects"].into_iter().zip(self.outputs());
        all.filter_map(|(name, path)| Some((name, path?)))
    }

    /// All that is written, by the names of the options: what is [beside](Self::beside), and unless it is a dry run the
    /// outputs, without those of a folder.
    pub fn written(&self) -> impl Iterator<Item = (&str, &Path)> {
        let beside = self.beside.iter().map(|(name, path)| (*name, &**path));
        let outputs = self.named_outputs().skip(usize::from(self.shards.is_some()));
        beside.chain(outputs.filter(|_| !self.dry_run))
    }

    /// The format of written records: the one that the name of the output denotes, or that of the inputs.
    pub(crate) fn output_format(&self, reader: &Reader) -> Result<Format> {
        match self.shards {
            Some(_) => Ok(format_of_records(&self.output, reader.format()).unwrap_or(reader.format())),
            None if reader.reads(&self.output) => Ok(reader.format()),
            None => format_of_output(&self.output, reader),
        }
    }

    /// The files of an output that is a folder.
    pub(crate) fn shard_targets(&self, reader: &Reader) -> Result<Option<Vec<PathBuf>>> {
        let Some(shards) = self.shards else { return Ok(None) };
        let formats = (reader.format(), self.output_format(reader)?);
        shards::targets(&self.output, shards, reader.inputs(), formats).map(Some)
    }

    /// What only equal jobs have in common.
    pub(crate) fn identity(&self, reader: &Reader, measure: &Measure) -> JobIdentity {
        let hash = |text: &str| format!("{:032x}", xxhash_rust::xxh3::xxh3_128(text.as_bytes()));
        let inputs = inputs_text(reader.inputs());
        let mut job = self.identity_text(&inputs, measure.k, &measure.recipe);
        if let Judge::Features(least) = measure.judge {
            let _ = write!(job, " features {least}");
        }
        JobIdentity { job: hash(&job), inputs: hash(&inputs) }
    }

    /// The text behind [`identity`](Self::identity). A job can be resumed only by a version that
    /// makes the same text.
    fn identity_text(&self, inputs: &str, k: u32, recipe: &Recipe) -> String {
        let Self { reader, output, added, duplicates, rejects, dedup, annotate, .. } = self;
        let keep = self.keep.as_ref().unwrap_or(&Keep::First);
        let Fields { text, key, key_is_optional, value, missing } = &reader.fields;
        let mut identity = String::from(inputs);
        let _ = write!(
            identity,
            " Fields {{ text: {text:?}, key: {key:?}, key_is_optional: {key_is_optional:?}, value: {value:?} }} \
             {:?} None {:?} {:?} {:?} {:?} {k} {recipe} {keep:?} {:?} {}",
            reader.format,
            absolute(output),
            added.fingerprint,
            duplicates.as_deref().map(absolute),
            rejects.as_deref().map(absolute),
            dedup.similarity_of_texts(&dedup.recipe),
            dedup.min_words,
        );
        for (is_on, option) in [(*annotate, "annotate"), (self.nul_ended, "nul_ended")] {
            if is_on {
                let _ = write!(identity, " {option}");
            }
        }
        if !self.fields.is_empty() {
            let _ = write!(identity, " fields {:?}", self.fields);
        }
        for (field, option) in [(&added.key, "key"), (&added.text, "text")] {
            if let Some(field) = field {
                let _ = write!(identity, " {option} {field:?}");
            }
        }
        if let Some(rules) = self.trim {
            let _ = write!(identity, " {rules:?}");
        }
        if !self.against.is_empty() {
            let against: Vec<PathBuf> = self.against.iter().map(|path| absolute(path)).collect();
            let _ = write!(identity, " against {against:?} only {}", self.only_against);
        }
        if let Some(shards) = self.shards {
            let _ = write!(identity, " shards {shards:?}");
        }
        if dedup.min_features > 0 {
            let _ = write!(identity, " min_features {}", dedup.min_features);
        }
        if *missing != Missing::Error {
            let _ = write!(identity, " missing {missing}");
        }
        if self.nested != Nested::Refuse {
            identity.push_str(" nested json");
        }
        if let Some(delimiter) = reader.delimiter {
            let _ = write!(identity, " delimiter {delimiter}");
        }
        if let Some(encoding) = reader.encoding {
            let _ = write!(identity, " encoding {}", encoding.name());
        }
        if reader.pre != Preprocessing::default() {
            let _ = write!(identity, " {:?}", reader.pre);
        }
        identity
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// The text behind [`JobIdentity::inputs`].
fn inputs_text(inputs: &[InputFile]) -> String {
    let text_of = |InputFile { path, size_bytes, .. }: &InputFile| match &**path == Path::new("-") {
        true => "-".into(),
        false => format!("{:?} {size_bytes:?}", absolute(path)),
    };
    format!("[{}]", inputs.iter().map(text_of).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::decide::Similarity;
    use crate::documents::StdinSource;

    #[test]
    #[cfg_attr(windows, ignore = "has absolute paths of unix")]
    fn the_identity_of_a_job_never_changes() {
        let recipe: Recipe = "simhash".parse().unwrap();
        let mut job = FileJob::new(Vec::new(), "/out".into(), DedupOptions::new(recipe.clone()));
        let mut inputs = [InputFile::new("/a \"b\"".as_ref()), InputFile::new("-".as_ref())];
        inputs[0].size_bytes = Some(5);
        inputs[1].stdin = StdinSource::Copy("/tmp/x".into());
        let plain = job.identity_text(&inputs_text(&inputs), 3, &recipe);
        assert_eq!(
            plain,
            format!(
                "[\"/a \\\"b\\\"\" Some(5), -] \
                 Fields {{ text: \"text\", key: None, key_is_optional: false, value: None }} \
                 None None \"/out\" None None None 3 {recipe} First None 0"
            )
        );
        job.reader.fields.key = Some("id".into());
        job.reader.format = Some(Format::Jsonl);
        job.added.fingerprint = Some("f".into());
        job.duplicates = Some("/d".into());
        job.rejects = Some("/r".into());
        job.keep = Some(Keep::Max("n".into()));
        job.dedup.similarity = Some(Similarity::Contained(0.8));
        job.dedup.min_words = 9;
        job.annotate = true;
        let before = job.identity_text("[]", 6, &recipe);
        job.fields = vec!["a".into(), "b".into()];
        (job.added.key, job.added.text) = (Some("old".into()), Some("clean".into()));
        let fields = r#" fields ["a", "b"] key "old" text "clean""#;
        assert_eq!(job.identity_text("[]", 6, &recipe), before.clone() + fields);
        job.trim = Some(TrimRules { length: Some(9), ..TrimRules::new(Unit::Paragraph) });
        let trim =
            " TrimRules { by: Paragraph, length: Some(9), from: 2, min_left: 0.0, keeps_hollow: false }";
        assert_eq!(job.identity_text("[]", 6, &recipe), before.clone() + fields + trim);
        job.dedup.min_features = 1;
        let all = before.clone() + fields + trim + " min_features 1";
        assert_eq!(job.identity_text("[]", 6, &recipe), all);
        job.reader.fields.missing = Missing::Skip;
        assert_eq!(job.identity_text("[]", 6, &recipe), format!("{all} missing skip"));
        job.nested = Nested::Json;
        job.reader.delimiter = "bar".parse().ok();
        assert_eq!(job.identity_text("[]", 6, &recipe), all + " missing skip nested json delimiter |");
        assert_eq!(
            before,
            format!(
                "[] Fields {{ text: \"text\", key: Some(\"id\"), key_is_optional: false, value: None }} \
                 Some(Jsonl) None \"/out\" Some(\"f\") Some(\"/d\") Some(\"/r\") 6 {recipe} \
                 Max(\"n\") Some(Contained(0.8)) 9 annotate"
            )
        );
    }
}
