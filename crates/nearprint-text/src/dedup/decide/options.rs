//! The options of a deduplication.

use std::ffi::OsString;
use std::mem::take;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use super::similarity::{ParseSimilarityError, Similarity};
use crate::dedup::values::{self, Setter};
use crate::error::{DatabaseProblem, Error, Result};
use crate::recipe::{Fingerprinted, Recipe};
use nearprint::any::AnyFingerprint;
use nearprint::{AnyDatabase, Options, Remember, Stats};

/// What decides whether two documents are near-duplicates, once their fingerprints are near enough, and
/// is stored with the key of each kept document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Their [sets of features](crate::recipe::Features): the exact Jaccard similarity decides.
    Features,
    /// Their texts; sets of features are made again. Takes longer and about twice the space, and
    /// serves [similarities of texts](Similarity::reads_texts) too.
    Texts,
    /// Hashes of their texts, which identify copies: the distance of the fingerprints decides, which estimates the
    /// similarity.
    Hashes,
    /// Only keys: decisions are as with hashes, and copies are not recognized.
    Keys,
}

impl FromStr for Evidence {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "features" => Ok(Self::Features),
            "texts" => Ok(Self::Texts),
            "hashes" => Ok(Self::Hashes),
            "keys" => Ok(Self::Keys),
            _ => Err("not keys, hashes, features or texts"),
        }
    }
}

/// How documents are compared, and with what.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DedupOptions {
    /// Makes the fingerprints. The recipe of a database takes precedence, unless
    /// [`require_recipe`](Self::require_recipe) is set; one without a recipe is refused.
    pub recipe: Recipe,
    /// Refuses a database with another recipe. Off by default.
    pub require_recipe: bool,
    /// The least similarity of near-duplicates. By default the limit of the
    /// [recipe](Recipe::near_similarity), for MinHash. A similarity that [reads
    /// texts](Similarity::reads_texts) needs a database that keeps texts.
    pub similarity: Option<Similarity>,
    /// What decides. The default is what the database keeps; for a new database or none, it is the features
    /// for MinHash, and nothing for simhash. With [`Features`](Evidence::Features) or a
    /// [`similarity`](Self::similarity), a database that keeps neither features nor texts is refused.
    pub evidence: Option<Evidence>,
    /// The largest distance of near-duplicates, in bits: the distance of the fingerprints decides. By default
    /// this is so only for simhash, and for databases without [evidence](Self::evidence); then it is the
    /// distance that the database was created for, or the [distance of the recipe](Recipe::default_k). With a
    /// similarity that [reads texts](Similarity::reads_texts), it is the distance of the fingerprints whose
    /// texts are compared.
    pub k: Option<u32>,
    /// Documents with fewer tokens are [too short](crate::dedup::Decision::TooShort). By default 0.
    pub min_words: usize,
    /// Documents with fewer features, repetitions included, are too short as well. Features are what the recipe
    /// compares: shingles, or keywords; with 1, texts that have none are set aside. By default 0.
    pub min_features: usize,
    /// Keeps at most one document per key, and distinguishes
    /// [known](crate::dedup::Decision::Known) documents from duplicates. Off by default: a key may recur.
    pub unique_keys: bool,
    /// How long the documents of a new database are remembered: see
    /// [`Schema::expire_after`](nearprint::Schema::expire_after). An existing database must have this
    /// lifetime. `None` accepts any lifetime, and documents of a new database do not expire.
    pub expire_after: Option<Duration>,
    /// What a new database remembers of documents that are left out: see
    /// [`Schema::remember`](nearprint::Schema::remember). An existing database must remember the same. `None`
    /// accepts what it remembers, and a new database remembers nothing.
    pub remember: Option<Remember>,
    /// Threads, memory and progress of the engine.
    pub engine: Options,
    /// Whether nobody has named the recipe.
    is_default_recipe: bool,
    /// Whether documents are compared with fingerprints that are there: no similarity chooses other bands.
    keeps_bands: bool,
    /// Parts of the recipe that were given, by name.
    recipe_parts: Vec<(String, String)>,
}

/// The options that are set by name, besides the recipe.
const OPTIONS: &[(&str, Setter<DedupOptions>)] = &[
    ("k", |options, values| values::parsed(values).map(|k| options.k = Some(k))),
    ("similarity", |options, values| {
        values::text(values)?
            .parse()
            .map(|least| options.similarity = Some(least))
            .map_err(|why: ParseSimilarityError| why.to_string())
    }),
    ("store", |options, values| values::parsed(values).map(|evidence| options.evidence = Some(evidence))),
    ("min_words", |options, values| values::parsed(values).map(|least| options.min_words = least)),
    ("min_features", |options, values| values::parsed(values).map(|least| options.min_features = least)),
    ("expire_after", |options, values| values::time(values).map(|time| options.expire_after = Some(time))),
    ("remember", |options, values| {
        options.remember = Some(match values::text(values)? {
            "hashes" => Remember::Hashes,
            "keys" => Remember::Keys,
            other => return Err(format!("{other}: not hashes or keys")),
        });
        Ok(())
    }),
];

impl DedupOptions {
    /// Fingerprints by `recipe`, and the defaults of all other options.
    #[must_use]
    pub fn new(recipe: Recipe) -> Self {
        Self {
            recipe,
            require_recipe: false,
            similarity: None,
            evidence: None,
            k: None,
            min_words: 0,
            min_features: 0,
            unique_keys: false,
            expire_after: None,
            remember: None,
            engine: Options::new(),
            is_default_recipe: false,
            keeps_bands: false,
            recipe_parts: Vec::new(),
        }
    }

    /// The recipe of a database, and for a new one `minhash`, or `simhash` where a [part](Recipe::of_parts) is for that
    /// alone.
    ///
    /// # Errors
    /// None: the recipe is valid.
    pub fn with_default_recipe() -> Result<Self> {
        Ok(Self { is_default_recipe: true, ..Self::new(Recipe::of_parts([])?) })
    }

    /// The names of the options that [`set`](Self::set) sets, without those of the parts of a recipe.
    pub fn names() -> impl Iterator<Item = &'static str> {
        OPTIONS.iter().map(|(name, _)| *name).chain(["recipe"])
    }

    /// Sets an option by its name, that of the field. What it has replaces what it had; a `recipe` with a name is then
    /// [required](Self::require_recipe), and one without sets its parts. The name may also be that of a
    /// [part](Recipe::with) of the recipe, which replaces the part of the recipe that is used.
    ///
    /// # Errors
    /// [`Error::Setting`] if there is no such option, or for a value that it cannot have; [`Error::Recipe`] for a
    /// recipe.
    pub fn set(&mut self, name: &str, values: &[OsString]) -> Result<()> {
        if values::set(self, OPTIONS, name, values)?.is_some() {
            return Ok(());
        }
        let value = || values::text(values).map_err(|why| Error::setting(name, why));
        if name == "recipe" {
            let line = value()?;
            match Recipe::parts_alone(line)? {
                Some(parts) => {
                    parts.into_iter().try_for_each(|(part, value)| self.set(part, &[value.into()]))?
                }
                None => {
                    self.recipe = line.parse()?;
                    (self.require_recipe, self.is_default_recipe) = (true, false);
                }
            }
            return Ok(());
        }
        if !Recipe::part_names().any(|part| part == name) {
            return Err(Error::setting(name, "there is no such option"));
        }
        self.recipe_parts.push((name.to_string(), value()?.to_string()));
        self.require_recipe |= name != "width";
        Ok(())
    }

    /// Whether the recipe is the default, but for its parts.
    pub(crate) fn has_default(&self) -> bool {
        self.is_default_recipe
    }

    /// The first part of the recipe that was given.
    pub(crate) fn recipe_part(&self) -> Option<&str> {
        self.recipe_parts.first().map(|(part, _)| &**part)
    }

    /// Chooses the recipe: the one that was named, or that of a database that exists, or the default, with the parts
    /// that were given.
    pub(crate) fn choose_recipe(&mut self, default: &str, stored: Option<&Path>) -> Result<()> {
        let (is_default, parts) = (take(&mut self.is_default_recipe), take(&mut self.recipe_parts));
        let is_named = self.require_recipe && !is_default;
        let parts = parts.iter().map(|(part, value)| (&**part, &**value));
        let stored = stored.map(|path| Ok::<_, Error>((path, AnyDatabase::open(path)?))).transpose()?;
        self.recipe = match &stored {
            Some((path, database)) if !is_named => match database.recipe()? {
                // Whoever opens it says what it lacks.
                None if database.width() == self.recipe.width() => return Ok(()),
                stored => stored_recipe(stored.as_deref(), path)?.with(parts)?,
            },
            None if is_default && parts.len() == 0 => default.parse()?,
            None if is_default => Recipe::of_parts(parts)?,
            _ => self.recipe.with(parts)?,
        };
        match stored.map(|(path, database)| (path.to_path_buf(), database.width())) {
            Some((path, width)) if width != self.recipe.width() => {
                let recipe = Box::new(self.recipe.clone());
                Err(DatabaseProblem::OtherWidth { path, width, recipe }.into())
            }
            _ => Ok(()),
        }
    }

    /// Checks that at most one option says what is near.
    pub(crate) fn check_near(&self, recipe: &Recipe) -> Result<()> {
        match self.k.and(self.similarity) {
            Some(similarity) if !similarity.reads_texts(recipe) => {
                Err(Error::setting("k and similarity", "only one of them can be given"))
            }
            _ => Ok(()),
        }
    }

    /// The similarity that texts decide about, if they do.
    pub(crate) fn similarity_of_texts(&self, recipe: &Recipe) -> Option<Similarity> {
        self.similarity.filter(|similarity| similarity.reads_texts(recipe))
    }

    /// Refuses a database whose rows do not live as long as those of a new one would.
    pub(crate) fn check_lifetime(&self, stats: &Stats, path: &Path) -> Result<()> {
        let found = stats.lifetime.map(|(lifetime, _)| lifetime);
        match self.expire_after {
            Some(wanted) if found.map(|found| found.as_millis()) != Some(wanted.as_millis()) => {
                Err(DatabaseProblem::OtherLifetime { path: path.to_path_buf(), found, wanted }.into())
            }
            _ => Ok(()),
        }
    }

    /// Makes the fingerprints of a recipe, also in a new database and whatever the similarity is.
    pub(crate) fn keep_bands_of(&mut self, recipe: Recipe) {
        (self.recipe, self.keeps_bands) = (recipe, true);
    }

    /// The recipe of a new database.
    pub(crate) fn new_recipe(&self) -> Recipe {
        let of_minhash = self.similarity.filter(|_| self.recipe.bands().is_some() && self.k.is_none());
        match of_minhash.and_then(Similarity::least_jaccard) {
            Some(least) if !self.keeps_bands => self.recipe.with_similarity(least),
            _ => self.recipe.clone(),
        }
    }

    /// Whether a document has too few tokens or features.
    pub(crate) fn sets_aside(&self, fingerprinted: &Fingerprinted<AnyFingerprint>) -> bool {
        fingerprinted.num_tokens < self.min_words || fingerprinted.num_features < self.min_features
    }
}

/// The recipe of the database in a folder: see [`recipe_in`].
///
/// # Errors
/// As [`recipe_in`]; [`Error::Engine`](crate::Error::Engine) also if it cannot be opened.
pub fn recipe_of(path: impl AsRef<Path>) -> Result<Recipe> {
    recipe_in(&AnyDatabase::open(path)?)
}

/// The recipe of a database. A deduplication with this database uses it unless it is given another one.
///
/// # Errors
/// [`Error::Database`](crate::Error::Database) if it has no recipe, or one that this version does not
/// support; [`Error::Engine`](crate::Error::Engine) if it cannot be read.
pub fn recipe_in(database: &AnyDatabase) -> Result<Recipe> {
    stored_recipe(database.recipe()?.as_deref(), database.path())
}

/// The recipe that a database stores.
pub(crate) fn stored_recipe(recipe: Option<&str>, path: &Path) -> Result<Recipe> {
    let path = path.to_path_buf();
    match recipe.map(str::parse) {
        Some(Ok(recipe)) => Ok(recipe),
        Some(Err(error)) => Err(DatabaseProblem::UnknownRecipe { path, error }.into()),
        None => Err(DatabaseProblem::NoRecipe { path }.into()),
    }
}
