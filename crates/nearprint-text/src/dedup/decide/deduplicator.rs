//! Decides document by document what is new, and remembers it.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use super::candidates::{KnownDocuments, Outlines};
use super::database::is_there;
use super::decision::{Decided, Decision};
use super::kept_keys::KeptKeys;
use super::measure::{DocumentsNear, Measure};
use super::options::DedupOptions;
use crate::dedup::temporary::{TemporaryBytes, WorkFolder};
use crate::error::{Error, Result};
use crate::recipe::{AnyFingerprinter, Fingerprinted, Recipe};
use nearprint::any::{AnyFingerprint, AnyWriter};
use nearprint::{Commit, KeyStorage};

/// Decides for each document whether it is new, and remembers the documents that it keeps.
///
/// A document is kept if no kept document is near it. For MinHash, near means that the Jaccard similarity of
/// the sets of features is at least [the limit](DedupOptions::similarity): the fingerprints find candidates,
/// and the sets decide. For simhash, and if a database keeps no sets, near means that fingerprints are within
/// [k](Self::k) bits, which estimates the similarity. A similarity that [reads
/// texts](super::Similarity::reads_texts) is decided by the texts of candidates. The result depends on the
/// order of documents. A text [without features](crate::recipe::Comparable) is near a kept one only if their
/// tokens are the same, and a text without tokens is near no other.
///
/// Kept documents are remembered in a database, which makes them known to later runs, or
/// temporarily. [`checkpoint`](Self::checkpoint) makes them durable, together with the caller's
/// progress; after a crash [`unfinished`](Self::unfinished) returns that progress, and the database
/// holds exactly the documents kept until then. Dropping a deduplicator forgets everything since
/// the last checkpoint.
///
/// ```
/// use nearprint_text::dedup::{Decision, DedupOptions, Deduplicator};
///
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("seen.np");
/// let pages = [
///     ("a", "The first article of this small collection"),
///     ("b", "Another article"),
///     ("c", "the first article of this small collection!"),
/// ];
/// let options = DedupOptions::new("simhash".parse()?);
/// let mut dedup = Deduplicator::open(&path, options)?;
/// // Resume after the last checkpoint of an interrupted run.
/// let done = dedup.unfinished().map_or(0, |progress| progress[0].into());
/// let mut duplicates = Vec::new();
/// for (index, (key, text)) in pages.into_iter().enumerate().skip(done) {
///     if let Decision::Duplicate { of, distance, similarity, .. } = dedup.decide(key, text)? {
///         duplicates.push((key, of, distance, similarity));
///     }
///     dedup.checkpoint(&[index as u8 + 1])?;
/// }
/// dedup.finish()?;
/// assert_eq!(duplicates, [("c", "a".to_string(), 0, 1.0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Several threads share one by [`SharedWriter`](nearprint::SharedWriter): each call returns when its
/// decisions are durable, and one sync serves all calls that arrived in the meantime.
///
/// ```
/// use nearprint::SharedWriter;
/// use nearprint_text::dedup::{Decision, DedupOptions, Deduplicator};
///
/// # let home = tempfile::tempdir()?;
/// let options = DedupOptions::new("minhash".parse()?);
/// let shared = SharedWriter::new(Deduplicator::open(home.path().join("seen.np"), options)?);
/// let pages = [("a", "one two three four five six"), ("b", "One two three four five six!")];
/// let is_kept = |(key, text)| {
///     shared.commit_with(|dedup| dedup.decide(key, text).map(|decision| decision == Decision::Kept))
/// };
/// let kept = std::thread::scope(|scope| {
///     let threads = pages.map(|page| scope.spawn(move || is_kept(page).unwrap()));
///     threads.map(|thread| thread.join().unwrap())
/// });
/// assert!(kept == [true, false] || kept == [false, true]);
/// shared.into_inner().finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Deduplicator {
    pub(super) options: DedupOptions,
    pub(super) measure: Measure,
    pub(super) fingerprinter: AnyFingerprinter,
    /// The documents of a database that is only read.
    pub(super) known: Option<KnownDocuments>,
    pub(super) writer: AnyWriter,
    /// The sequence number of the first document whose key tells the file that this run has read.
    pub(super) start: u64,
    pub(super) is_temporary: bool,
    /// What is stored of kept documents.
    pub(super) stores: KeyStorage,
    pub(super) kept_keys: KeptKeys,
    /// The sets of features of documents that are remembered temporarily.
    pub(super) sets: TemporaryBytes,
    /// Of the documents that the writer has.
    pub(super) outlines: Outlines,
    /// Documents kept since the last flush of a temporary database.
    pub(super) since_flush: u64,
    /// Whether documents have too many near ones to look them up together.
    pub(super) is_crowded: bool,
    /// Collections that documents are compared with, too, and whether they are compared with those of this one.
    pub(super) others: Vec<Self>,
    pub(super) compares_own: bool,
    /// Removed after everything else is dropped.
    _folder: Option<WorkFolder>,
}

impl fmt::Debug for Deduplicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deduplicator")
            .field("recipe", self.recipe())
            .field("near", &self.near())
            .finish_non_exhaustive()
    }
}

impl Deduplicator {
    /// One that has remembered nothing in this run.
    pub(super) fn new(
        options: DedupOptions,
        measure: Measure,
        known: Option<KnownDocuments>,
        (writer, stores): (AnyWriter, KeyStorage),
        folder: Option<WorkFolder>,
    ) -> Result<Self> {
        measure.recipe.check_width(writer.width())?;
        let fingerprinter = measure.recipe.any_fingerprinter();
        Ok(Self {
            fingerprinter: if measure.makes_features { fingerprinter.with_features() } else { fingerprinter },
            options,
            measure,
            known,
            start: writer.next_sequence(),
            writer,
            is_temporary: folder.is_some(),
            stores,
            kept_keys: KeptKeys::default(),
            sets: TemporaryBytes::new(),
            outlines: Outlines::default(),
            since_flush: 0,
            is_crowded: false,
            others: Vec::new(),
            compares_own: true,
            _folder: folder,
        })
    }

    /// Opens a database for writing, or makes one. A new one stores the key of each kept document, and beside it what
    /// decides about later ones:
    ///
    /// | options | stored | decisions |
    /// |---|---|---|
    /// | MinHash, which is the default | the set of features | exact |
    /// | a similarity that [reads texts](super::Similarity::reads_texts), or [`Evidence::Texts`] | the text | exact |
    /// | simhash, a [`k`](DedupOptions::k), or [`Evidence::Hashes`] | a hash of the text, which identifies copies | estimated |
    /// | [`Evidence::Keys`] | nothing | estimated |
    ///
    /// To make the database beforehand, use [`Recipe::schema`]. With an existing database, the evidence that
    /// it keeps decides: see [`near`](Self::near). To be sure of exact decisions, set
    /// [`evidence`](DedupOptions::evidence) or [`similarity`](DedupOptions::similarity).
    ///
    /// [`Evidence::Texts`]: crate::dedup::Evidence::Texts
    /// [`Evidence::Hashes`]: crate::dedup::Evidence::Hashes
    /// [`Evidence::Keys`]: crate::dedup::Evidence::Keys
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database) if the database has no keys, no recipe, another one that the
    /// options do not allow, another lifetime, no texts to compare, or nothing by which decisions are exact where
    /// the options ask for such; [`Error::Recipe`](crate::Error::Recipe) if the recipe makes
    /// fingerprints of another width than the database; [`Error::Engine`](crate::Error::Engine) if another process is
    /// writing, and with I/O errors.
    pub fn open(path: impl AsRef<Path>, mut options: DedupOptions) -> Result<Self> {
        let path = path.as_ref();
        options.choose_recipe(Recipe::DEFAULT, Some(path).filter(|path| is_there(path)))?;
        Self::open_by(path, options)
    }

    /// Remembers kept documents in a temporary folder, until the value is dropped.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) for a [lifetime](DedupOptions::expire_after), which only databases
    /// have; [`Error::Recipe`](crate::Error::Recipe) if the recipe makes fingerprints of another width than the
    /// database; [`Error::Engine`](crate::Error::Engine) with I/O errors.
    pub fn temporary(mut options: DedupOptions) -> Result<Self> {
        if options.expire_after.is_some() {
            return Err(Error::setting("expire_after", "needs a database"));
        }
        options.choose_recipe(Recipe::DEFAULT, None)?;
        Self::temporary_by(options)
    }

    /// Compares with the documents of a database, and does not change it. Kept documents are remembered
    /// temporarily.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database) if the database has no recipe, another one that the options do not
    /// allow, or no texts to compare; [`Error::Recipe`](crate::Error::Recipe) if the recipe makes fingerprints
    /// of another width than the database; [`Error::Engine`](crate::Error::Engine) with I/O errors.
    pub fn read_only(path: impl AsRef<Path>, mut options: DedupOptions) -> Result<Self> {
        let path = path.as_ref();
        options.choose_recipe(Recipe::DEFAULT, Some(path))?;
        Self::read_only_by(path, options)
    }

    /// The recipe of the fingerprints, from the options or the database.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        self.fingerprinter.recipe()
    }

    /// The largest distance, in bits, of fingerprints of near-duplicates. If [sets of
    /// features](DedupOptions::evidence) decide, candidates are looked up within it.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.measure.k
    }

    /// What is wrong with a similarity that is lower than the one that the bands of the database were chosen for: the
    /// share of its pairs that are missed, where these are more than one in a hundred.
    #[must_use]
    pub fn misses(&self) -> Option<String> {
        self.measure.misses()
    }

    /// When documents are near-duplicates, and whether that is decided exactly.
    #[must_use]
    pub fn near(&self) -> DocumentsNear {
        let mut measures =
            std::iter::once(self).chain(&self.others).map(|collection| collection.measure.near());
        let is_estimated = |near: &DocumentsNear| matches!(near, DocumentsNear::Estimated { .. });
        measures.find(is_estimated).unwrap_or_else(|| self.measure.near())
    }

    /// Decides a document, and remembers it if it is kept.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) for a key of more than 65,536 bytes;
    /// [`Error::Engine`](crate::Error::Engine) if the database is damaged or cannot be read.
    pub fn decide(&mut self, key: &str, text: &str) -> Result<Decision> {
        let fingerprinted = self.fingerprinter.fingerprint(text);
        Ok(self.decide_made(key, text, &fingerprinted)?.decision)
    }

    /// A fingerprinter that makes what is compared, for [`decide_fingerprinted`](Self::decide_fingerprinted). Each
    /// thread needs its own; cloning is cheap.
    #[must_use]
    pub fn fingerprinter(&self) -> AnyFingerprinter {
        self.fingerprinter.clone()
    }

    /// Decides a document whose fingerprint was made before by a [fingerprinter](Self::fingerprinter) of this
    /// deduplicator. Most of the time of [`decide`](Self::decide) is spent on the fingerprint, so threads that share a
    /// deduplicator make fingerprints while another one decides:
    ///
    /// ```
    /// use nearprint::SharedWriter;
    /// use nearprint_text::dedup::{Decision, DedupOptions, Deduplicator};
    ///
    /// # let home = tempfile::tempdir()?;
    /// let options = DedupOptions::new("minhash".parse()?);
    /// let dedup = Deduplicator::open(home.path().join("seen.np"), options)?;
    /// let fingerprinter = dedup.fingerprinter();
    /// let shared = SharedWriter::new(dedup);
    /// let pages = [("a", "one two three four five six"), ("b", "One two three four five six!")];
    /// let is_kept = |(key, text)| {
    ///     let made = fingerprinter.clone().fingerprint(text);
    ///     let decision = shared.commit_with(|dedup| dedup.decide_fingerprinted(key, text, made));
    ///     decision.map(|decision| decision == Decision::Kept)
    /// };
    /// let kept = std::thread::scope(|scope| {
    ///     pages.map(|page| scope.spawn(move || is_kept(page).unwrap())).map(|thread| thread.join().unwrap())
    /// });
    /// assert!(kept == [true, false] || kept == [false, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`decide`](Self::decide); [`Error::Input`](crate::Error::Input) for a fingerprint of another width, or
    /// without the features that decide.
    pub fn decide_fingerprinted(
        &mut self,
        key: &str,
        text: &str,
        fingerprinted: Fingerprinted<AnyFingerprint>,
    ) -> Result<Decision> {
        self.check_made(key, &fingerprinted)?;
        Ok(self.decide_made(key, text, &fingerprinted)?.decision)
    }

    /// Decides many documents, each a key and a text, in order, with fingerprints made on all threads of the options.
    ///
    /// Passes each decision on. An error from `visit` ends the call; the documents before have been decided.
    ///
    /// # Errors
    /// As [`decide`](Self::decide), and any error of `visit`.
    pub fn decide_batch(
        &mut self,
        documents: &[(&str, &str)],
        mut visit: impl FnMut(Decided) -> Result<()>,
    ) -> Result<()> {
        self.decide_all(documents, &mut visit)
    }

    /// The caller's progress at the last checkpoint, if the run that made it has not been
    /// [finished](Self::finish).
    #[must_use]
    pub fn unfinished(&self) -> Option<&[u8]> {
        match &self.known {
            Some(known) => known.snapshot.checkpoint(),
            None => self.writer.checkpoint(),
        }
    }

    /// Makes all kept documents durable, and the caller's progress with them, by one commit.
    ///
    /// Make data that is derived from decisions, such as output files, durable before this call, so that they
    /// are never behind the database. The progress is at most a million bytes; an empty progress counts as
    /// none. Does nothing if kept documents are remembered temporarily.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if the commit fails.
    pub fn checkpoint(&mut self, progress: &[u8]) -> Result<()> {
        Ok(self.commit_with(progress)?)
    }

    /// The sequence number of the next kept document.
    ///
    /// A caller that stores it in the progress of its checkpoints can [forget](Self::forget) an
    /// unfinished run.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.writer.next_sequence()
    }

    /// Forgets the documents with these [sequence numbers](Self::next_sequence), and the unfinished
    /// progress. Durable on return. Does nothing if kept documents are remembered temporarily.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if the commit fails.
    pub fn forget(&mut self, sequences: &[Range<u64>]) -> Result<()> {
        self.forget_with((sequences, &[]), None)
    }

    /// Makes all kept documents durable, removes the progress, waits for merges, and closes the
    /// database.
    ///
    /// The progress is removed last, so that a run that is interrupted earlier still resumes.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if a commit or a merge fails.
    pub fn finish(mut self) -> Result<()> {
        self.try_finish()
    }

    /// Does what [`finish`](Self::finish) does, and keeps the lock until the value is dropped: after an error it
    /// can be tried again.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn try_finish(&mut self) -> Result<()> {
        self.finish_with(None)
    }
}

/// A checkpoint without progress: several threads share a deduplicator by
/// [`SharedWriter`](nearprint::SharedWriter).
impl Commit for Deduplicator {
    fn commit(&mut self) -> nearprint::Result<()> {
        self.commit_with(b"")
    }

    fn begin_call(&mut self) {
        self.writer.begin_call();
    }

    fn end_call(&mut self) {
        self.writer.end_call();
    }

    fn take_back(&mut self) -> nearprint::Result<()> {
        self.writer.take_back()?;
        self.kept_keys = KeptKeys::default();
        self.outlines = Outlines::default();
        Ok(())
    }
}
