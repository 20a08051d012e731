//! A deduplicator whose width is known only at run time.

use std::path::{Path, PathBuf};

use super::deduplicator::{Decision, Deduplicator};
use super::options::DedupOptions;
use crate::error::Result;
use crate::recipe::Recipe;
use nearprint::internal::words;
use nearprint::{Commit, Fingerprint, WidthVisitor};

/// A document that a deduplicator has decided.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decided {
    /// The words of its fingerprint, the least significant one first.
    pub fingerprint: Vec<u64>,
    /// The number of its features: shingles, or keywords.
    pub num_features: usize,
    /// What becomes of it.
    pub decision: Decision,
}

/// A [`Deduplicator`] with fingerprints of the width of its recipe: the interface for other languages.
///
/// Several threads share one by [`SharedWriter`](nearprint::SharedWriter): each call returns when what it
/// has decided is durable, and one sync serves all calls that arrived in the meantime.
///
/// ```
/// use nearprint::SharedWriter;
/// use nearprint_text::dedup::{AnyDeduplicator, Decision, DedupOptions};
///
/// # let home = tempfile::tempdir()?;
/// let options = DedupOptions::new("minhash".parse()?);
/// let shared = SharedWriter::new(AnyDeduplicator::open(home.path().join("seen.np"), options)?);
/// let pages = [("a", "one two three four five six"), ("b", "One two three four five six!")];
/// let is_kept = |page| {
///     shared.commit_with(|dedup| dedup.decide(&[page]).map(|decided| decided[0].decision == Decision::Kept))
/// };
/// let kept = std::thread::scope(|scope| {
///     let threads = pages.map(|page| scope.spawn(move || is_kept(page).unwrap()));
///     threads.map(|thread| thread.join().unwrap())
/// });
/// assert!(kept == [true, false] || kept == [false, true]);
/// shared.into_inner().finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AnyDeduplicator(Box<dyn Decider>);

impl AnyDeduplicator {
    /// See [`Deduplicator::open`].
    ///
    /// # Errors
    /// As [`Deduplicator::open`].
    pub fn open(path: impl AsRef<Path>, options: DedupOptions) -> Result<Self> {
        Self::new(Some(path.as_ref().to_path_buf()), options)
    }

    /// See [`Deduplicator::temporary`].
    ///
    /// # Errors
    /// As [`Deduplicator::temporary`].
    pub fn temporary(options: DedupOptions) -> Result<Self> {
        Self::new(None, options)
    }

    fn new(path: Option<PathBuf>, mut options: DedupOptions) -> Result<Self> {
        options.choose_recipe(Recipe::DEFAULT, path.as_deref().filter(|path| path.exists()))?;
        let width = options.recipe.width();
        width.visit(Open { path, options }).map(Self)
    }

    /// The recipe of the fingerprints, from the options or the database.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        self.0.recipe()
    }

    /// The distance in bits within which documents are compared: see [`Deduplicator::k`].
    #[must_use]
    pub fn k(&self) -> u32 {
        self.0.k()
    }

    /// Decides documents, each a key and a text, in order: see [`Deduplicator::decide_batch`].
    ///
    /// # Errors
    /// As [`Deduplicator::decide_batch`].
    pub fn decide(&mut self, documents: &[(&str, &str)]) -> Result<Vec<Decided>> {
        let mut all = Vec::with_capacity(documents.len());
        self.visit_decided(documents, &mut |decided| {
            all.push(decided);
            Ok(())
        })?;
        Ok(all)
    }

    /// Decides documents as [`decide`](Self::decide) does, and passes each decision on. An error from `visit`
    /// ends the call; the documents before have been decided.
    ///
    /// # Errors
    /// As [`Deduplicator::decide_batch`].
    pub fn visit_decided(
        &mut self,
        documents: &[(&str, &str)],
        visit: &mut dyn FnMut(Decided) -> Result<()>,
    ) -> Result<()> {
        self.0.visit_decided(documents, visit)
    }

    /// The caller's progress at the last checkpoint: see [`Deduplicator::unfinished`].
    #[must_use]
    pub fn unfinished(&self) -> Option<&[u8]> {
        self.0.unfinished()
    }

    /// Makes all kept documents durable, and the caller's progress with them: see
    /// [`Deduplicator::checkpoint`].
    ///
    /// # Errors
    /// As [`Deduplicator::checkpoint`].
    pub fn checkpoint(&mut self, progress: &[u8]) -> Result<()> {
        self.0.checkpoint(progress)
    }

    /// Does what [`Deduplicator::finish`] does, and keeps the lock until the value is dropped: after an error it
    /// can be tried again.
    ///
    /// # Errors
    /// As [`Deduplicator::finish`].
    pub fn finish(&mut self) -> Result<()> {
        self.0.finish()
    }
}

impl Commit for AnyDeduplicator {
    fn commit(&mut self) -> nearprint::Result<()> {
        self.0.commit()
    }

    fn begin_call(&mut self) {
        self.0.begin_call();
    }

    fn end_call(&mut self) {
        self.0.end_call();
    }

    fn take_back(&mut self) -> nearprint::Result<()> {
        self.0.take_back()
    }
}

/// A deduplicator of any width.
trait Decider: Commit + Send {
    fn recipe(&self) -> &Recipe;
    fn k(&self) -> u32;
    fn unfinished(&self) -> Option<&[u8]>;
    fn visit_decided(
        &mut self,
        documents: &[(&str, &str)],
        visit: &mut dyn FnMut(Decided) -> Result<()>,
    ) -> Result<()>;
    fn checkpoint(&mut self, progress: &[u8]) -> Result<()>;
    fn finish(&mut self) -> Result<()>;
}

impl<F: Fingerprint> Decider for Deduplicator<F> {
    fn recipe(&self) -> &Recipe {
        self.recipe()
    }

    fn k(&self) -> u32 {
        self.k()
    }

    fn unfinished(&self) -> Option<&[u8]> {
        self.unfinished()
    }

    fn visit_decided(
        &mut self,
        documents: &[(&str, &str)],
        visit: &mut dyn FnMut(Decided) -> Result<()>,
    ) -> Result<()> {
        self.decide_batch(documents, |_, fingerprinted, decision| {
            let fingerprint = words(fingerprinted.value).collect();
            visit(Decided { fingerprint, num_features: fingerprinted.num_features, decision })
        })
    }

    fn checkpoint(&mut self, progress: &[u8]) -> Result<()> {
        self.checkpoint(progress)
    }

    fn finish(&mut self) -> Result<()> {
        self.finish_with(None)
    }
}

struct Open {
    path: Option<PathBuf>,
    options: DedupOptions,
}

impl WidthVisitor for Open {
    type Output = Result<Box<dyn Decider>>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        Ok(Box::new(match self.path {
            Some(path) => Deduplicator::<F>::open(path, self.options)?,
            None => Deduplicator::<F>::temporary(self.options)?,
        }))
    }
}
