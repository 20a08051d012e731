//! Decides document by document what is new, and remembers it.

use std::ops::Range;
use std::path::Path;

use super::decision::{Decided, Decision};
use super::deduplicator_of_width::DeduplicatorOf;
use super::options::DedupOptions;
use crate::error::Result;
use crate::recipe::Recipe;
use nearprint::{Commit, U256, Width};

/// Decides document by document what is new, and remembers what is kept.
///
/// A document is kept if no kept document has the [similarity](DedupOptions::similarity) of near-duplicates or, where
/// fingerprints decide, is within k bits; for MinHash that is an equal band
/// and sketches within k bits. The result depends on the order of
/// documents. A text [without features](crate::recipe::Comparable) is near a kept one only if their
/// tokens are the same, and nothing is near a text without tokens.
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
///     if let Decision::Duplicate { of, distance, similarity } = dedup.decide(key, text)? {
///         duplicates.push((key, of, distance, similarity));
///     }
///     dedup.checkpoint(&[index as u8 + 1])?;
/// }
/// dedup.finish()?;
/// assert_eq!(duplicates, [("c", "a".to_string(), 0, 1.0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Several threads share one by [`SharedWriter`](nearprint::SharedWriter): each call returns when what it
/// has decided is durable, and one sync serves all calls that arrived in the meantime.
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
pub struct Deduplicator(OfWidth);

/// The deduplicator of the width of its recipe.
enum OfWidth {
    W64(DeduplicatorOf<u64>),
    W128(DeduplicatorOf<u128>),
    W256(DeduplicatorOf<U256>),
}

/// Evaluates an expression on the deduplicator.
macro_rules! of_width {
    ($any:expr, $value:ident => $result:expr) => {
        match $any {
            OfWidth::W64($value) => $result,
            OfWidth::W128($value) => $result,
            OfWidth::W256($value) => $result,
        }
    };
}

/// Opens the deduplicator of the width of some options.
macro_rules! open_of_width {
    ($options:expr, $open:ident($($path:expr)?)) => {
        match $options.recipe.width() {
            Width::W64 => OfWidth::W64(DeduplicatorOf::$open($($path,)? $options)?),
            Width::W128 => OfWidth::W128(DeduplicatorOf::$open($($path,)? $options)?),
            Width::W256 => OfWidth::W256(DeduplicatorOf::$open($($path,)? $options)?),
        }
    };
}

impl Deduplicator {
    /// Opens a database for writing, or creates one with keys and, if the similarity
    /// [reads texts](super::Similarity::reads_texts), with texts, otherwise with features for MinHash and hashes of texts
    /// for others.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database) if the database has no keys, no recipe, another one that the
    /// options do not allow, or no texts to compare; [`Error::Recipe`](crate::Error::Recipe) if the recipe makes
    /// fingerprints of another width than the database; [`Error::Engine`](crate::Error::Engine) if another process is
    /// writing, and with I/O errors.
    pub fn open(path: impl AsRef<Path>, mut options: DedupOptions) -> Result<Self> {
        let path = path.as_ref();
        options.choose_recipe(Recipe::DEFAULT, Some(path).filter(|path| path.exists()))?;
        Ok(Self(open_of_width!(options, open(path))))
    }

    /// Remembers kept documents in a temporary folder, until the value is dropped.
    ///
    /// # Errors
    /// [`Error::Recipe`](crate::Error::Recipe) if the recipe makes fingerprints of another width than the database;
    /// [`Error::Engine`](crate::Error::Engine) with I/O errors.
    pub fn temporary(mut options: DedupOptions) -> Result<Self> {
        options.choose_recipe(Recipe::DEFAULT, None)?;
        Ok(Self(open_of_width!(options, temporary())))
    }

    /// Compares with the documents of a database without changing it. Kept documents are remembered
    /// temporarily.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database) if the database has no recipe, another one that the options do not
    /// allow, or no texts to compare; [`Error::Recipe`](crate::Error::Recipe) if the recipe makes fingerprints
    /// of another width than the database; [`Error::Engine`](crate::Error::Engine) with I/O errors.
    pub fn read_only(path: impl AsRef<Path>, mut options: DedupOptions) -> Result<Self> {
        let path = path.as_ref();
        options.choose_recipe(Recipe::DEFAULT, Some(path))?;
        Ok(Self(open_of_width!(options, read_only(path))))
    }

    /// The recipe of the fingerprints, from the options or the database.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        of_width!(&self.0, dedup => dedup.recipe())
    }

    /// The largest distance, in bits, of fingerprints of near-duplicates. Where [sets of
    /// features](DedupOptions::evidence) decide, candidates are looked up within it.
    #[must_use]
    pub fn k(&self) -> u32 {
        of_width!(&self.0, dedup => dedup.k())
    }

    /// Decides a document, and remembers it if it is kept.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) for a key of more than 65,536 bytes;
    /// [`Error::Engine`](crate::Error::Engine) if the database is damaged or cannot be read.
    pub fn decide(&mut self, key: &str, text: &str) -> Result<Decision> {
        of_width!(&mut self.0, dedup => dedup.decide_text(key, text))
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
        of_width!(&mut self.0, dedup => dedup.decide_batch(documents, &mut visit))
    }

    /// The caller's progress at the last checkpoint, if the run that made it has not been
    /// [finished](Self::finish).
    #[must_use]
    pub fn unfinished(&self) -> Option<&[u8]> {
        of_width!(&self.0, dedup => dedup.unfinished())
    }

    /// Makes all kept documents durable, and the caller's progress with them, by one commit.
    ///
    /// Data that is derived from decisions, such as output files, has to be durable before this
    /// call, so that it is never behind the database. The progress is at most a million bytes, and
    /// an empty one counts as none. Does nothing if kept documents are remembered temporarily.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if the commit fails.
    pub fn checkpoint(&mut self, progress: &[u8]) -> Result<()> {
        of_width!(&mut self.0, dedup => dedup.checkpoint(progress))
    }

    /// The sequence number of the next kept document.
    ///
    /// A caller that stores it in the progress of its checkpoints can [forget](Self::forget) an
    /// unfinished run.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        of_width!(&self.0, dedup => dedup.next_sequence())
    }

    /// Forgets the documents with these [sequence numbers](Self::next_sequence), and the unfinished
    /// progress. Durable on return. Does nothing if kept documents are remembered temporarily.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if the commit fails.
    pub fn forget(&mut self, sequences: &[Range<u64>]) -> Result<()> {
        of_width!(&mut self.0, dedup => dedup.forget_with(sequences, None))
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
        of_width!(&mut self.0, dedup => dedup.finish_with(None))
    }
}

/// A checkpoint without progress: several threads share a deduplicator by
/// [`SharedWriter`](nearprint::SharedWriter).
impl Commit for Deduplicator {
    fn commit(&mut self) -> nearprint::Result<()> {
        of_width!(&mut self.0, dedup => dedup.commit())
    }

    fn begin_call(&mut self) {
        of_width!(&mut self.0, dedup => dedup.begin_call());
    }

    fn end_call(&mut self) {
        of_width!(&mut self.0, dedup => dedup.end_call());
    }

    fn take_back(&mut self) -> nearprint::Result<()> {
        of_width!(&mut self.0, dedup => dedup.take_back())
    }
}
