//! Compares documents with a collection of kept ones, and remembers them: what jobs use of a deduplicator.

use std::ops::Range;
use std::path::Path;

use super::candidates::{
    Candidate, Document, FreshDocuments, KeptDocuments, KnownDocuments, Outlines, Verdict,
};
use super::database::{allowed_recipe, check_bands, check_width, create_database, is_there, open_database};
use super::decision::{Compared, Decided, Decision, Original};
use super::deduplicator::Deduplicator;
use super::kept_keys::KeptKeys;
use super::measure::{Judge, Measure, key_storage};
use super::options::DedupOptions;
use super::stored::{Origin, Stored};
use crate::dedup::temporary::{KEPT, WorkFolder};
use crate::error::{Error, Result};
use crate::recipe::{Comparable, Fingerprinted};
use nearprint::any::{AnyFingerprint, NewRows};
use nearprint::internal::ordered;
use nearprint::{KeyStorage, MAX_KEY_BYTES};

/// A temporary database writes a run after this many documents, to bound its memory.
pub(super) const FLUSH_KEPT: u64 = 1 << 18;
/// Stands for the job of documents that are decided one by one.
const NO_JOB: u64 = 0;
/// Documents of one block of work on a thread.
const BLOCK: usize = 64;
/// The most documents that are decided together. More cost less each.
pub(crate) const TOGETHER: usize = 1 << 15;

impl Deduplicator {
    /// [Opens](Self::open) a database by options whose recipe is chosen.
    pub(crate) fn open_by(path: &Path, options: DedupOptions) -> Result<Self> {
        if !is_there(path) {
            // What is refused leaves no database behind.
            Measure::planned(&options, path)?;
        }
        let (writer, recipe) = open_database(path, &options)?;
        let stores = writer.key_storage();
        let measure = Measure::new(&options, recipe, Some((stores, writer.default_k(), path)))?;
        Self::new(options, measure, None, (writer, stores), None)
    }

    /// Makes a database, and opens it for writing.
    ///
    /// # Errors
    /// [`Error::Engine`] if another process has made it meanwhile.
    pub(crate) fn create_by(path: &Path, options: DedupOptions) -> Result<Self> {
        create_database(path, &options)?;
        Self::open_by(path, options)
    }

    /// Stands for a database that is not made yet: remembers documents temporarily, and decides as that will.
    ///
    /// # Errors
    /// [`Error::Engine`] if the path is a link, in whose place none is made.
    pub(crate) fn planned_by(path: &Path, options: DedupOptions) -> Result<Self> {
        if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(nearprint::Error::AlreadyExists { path: path.to_path_buf() }.into());
        }
        let measure = Measure::planned(&options, path)?;
        Self::above(None, measure, options)
    }

    /// A [temporary](Self::temporary) one by options whose recipe is chosen.
    pub(crate) fn temporary_by(options: DedupOptions) -> Result<Self> {
        let measure = Measure::new(&options, options.new_recipe(), None)?;
        Self::above(None, measure, options)
    }

    /// A [read-only](Self::read_only) one by options whose recipe is chosen.
    pub(crate) fn read_only_by(path: &Path, options: DedupOptions) -> Result<Self> {
        let database = options.engine.open_any(path)?;
        check_width(&database, &options, path)?;
        let snapshot = database.snapshot()?;
        let recipe = allowed_recipe(&options, snapshot.recipe(), path)?;
        check_bands(snapshot.bands(), &recipe, path)?;
        options.check_lifetime(&snapshot.stats(), path)?;
        let stored = (snapshot.key_storage(), snapshot.default_k(), path);
        let measure = Measure::new(&options, recipe, Some(stored))?;
        let known = KnownDocuments { snapshot, ignored: Vec::new(), outlines: Outlines::default() };
        Self::above(Some(known), measure, options)
    }

    /// A temporary deduplicator, above the documents of a database.
    fn above(known: Option<KnownDocuments>, measure: Measure, options: DedupOptions) -> Result<Self> {
        let folder = WorkFolder::new()?;
        let schema = measure.recipe.schema().k(measure.k).keys(KeyStorage::KeysAndTexts);
        let database =
            options.engine.create_any(folder.path().join(KEPT), measure.recipe.width(), &schema)?;
        let stores = key_storage(&options, &measure.recipe);
        Self::new(options, measure, known, (database.writer()?, stores), Some(folder))
    }

    /// See [`decide_batch`](Self::decide_batch).
    pub(super) fn decide_all(
        &mut self,
        documents: &[(&str, &str)],
        visit: &mut dyn FnMut(Decided) -> Result<()>,
    ) -> Result<()> {
        let blocks: Vec<&[(&str, &str)]> = documents.chunks(BLOCK).collect();
        let (threads, fingerprinter) = (self.options.engine.get_threads(), self.fingerprinter());
        let (mut made, mut undecided) = (Vec::new(), documents.iter());
        ordered(
            threads,
            blocks.len(),
            || fingerprinter.clone(),
            |block, fingerprinter, sink| {
                let texts = blocks[block].iter().map(|(_, text)| fingerprinter.fingerprint(text));
                // A closed channel means that an error has ended the call.
                let _ = sink(texts.collect::<Vec<_>>());
                Ok(())
            },
            |block| {
                made.extend(block);
                if made.len() < TOGETHER.min(undecided.len()) {
                    return Ok(());
                }
                self.look_ahead(made.iter())?;
                for (fingerprinted, (key, text)) in made.drain(..).zip(&mut undecided) {
                    visit(self.decide_made(key, text, &fingerprinted)?)?;
                }
                Ok(())
            },
        )
    }

    /// Refuses a fingerprint that no [fingerprinter](Self::fingerprinter) of this deduplicator has made.
    pub(super) fn check_made(&self, key: &str, made: &Fingerprinted<AnyFingerprint>) -> Result<()> {
        let needs_features = self.measure.makes_features && self.recipe().bands().is_some();
        let lacks_features = needs_features && made.num_features > 0 && made.features.is_empty();
        if made.value.width() != self.writer.width() || lacks_features {
            let why = "its fingerprint is not by the fingerprinter of this deduplicator";
            return Err(Error::input(format!("{key:.60}"), why));
        }
        Ok(())
    }

    /// Decides a document, and remembers it if it is kept.
    pub(super) fn decide_made(
        &mut self,
        key: &str,
        text: &str,
        fingerprinted: &Fingerprinted<AnyFingerprint>,
    ) -> Result<Decided> {
        if key.len() > MAX_KEY_BYTES {
            return Err(Error::input(format!("{:.60}…", key), too_long(key, MAX_KEY_BYTES)));
        }
        let document = Document::new(key, text, fingerprinted);
        let (decision, mut sequence) = match self.is_too_short(fingerprinted) {
            true => (Decision::TooShort, None),
            false => self.decide_with_key(document)?,
        };
        match &decision {
            Decision::Kept => {
                sequence = Some(self.next_sequence());
                let stored = self.stored(document)?;
                self.remember(document, &stored)?;
            }
            Decision::Duplicate { of, similarity, .. } => self.leave_out(key, of, *similarity, NO_JOB)?,
            Decision::Known | Decision::KeyTaken | Decision::TooShort => {}
        }
        let fingerprint = fingerprinted.value.words().to_vec();
        Ok(Decided { fingerprint, num_features: fingerprinted.num_features, decision, sequence })
    }

    /// What becomes of a document that is long enough, which is not remembered yet, and the sequence number of the one
    /// that it duplicates.
    fn decide_with_key(&mut self, document: Document<'_>) -> Result<(Decision, Option<u64>)> {
        let read = |candidate: &Candidate| candidate.stored.decompress(&candidate.key);
        let compared = self.compare(document, read)?;
        let has_key = self.options.unique_keys;
        let decision = match compared {
            Compared::Near(_) if has_key && self.is_known(document)? => Decision::Known,
            Compared::Near(Original { key: of, sequence, distance, similarity, .. }) => {
                let is_exact = self.measure.judge != Judge::Distance;
                return Ok((Decision::Duplicate { of, distance, similarity, is_exact }, Some(sequence)));
            }
            Compared::New { .. } if has_key && self.is_stored_without_tokens(document)? => Decision::Known,
            Compared::New { .. } if has_key && self.is_key_taken(document.key)? => Decision::KeyTaken,
            Compared::New { .. } => Decision::Kept,
        };
        Ok((decision, None))
    }

    /// Says that its documents are records, whose keys are no paths of files.
    pub(crate) fn set_no_files(&mut self) {
        self.start = u64::MAX;
    }

    /// Compares a document with all that are kept. `read` reads the text of a document of this run, to compare it.
    pub(crate) fn compare(
        &mut self,
        document: Document<'_>,
        read: impl FnMut(&Candidate) -> Result<String>,
    ) -> Result<Compared> {
        let others = nearest_of(&mut self.others, document, &self.measure)?;
        let own = if self.compares_own { self.nearest(document, read)? } else { Verdict::New };
        others.or_nearer(own, &self.measure).compared(document, &mut self.fingerprinter)
    }

    /// The records of finished jobs.
    pub(crate) fn history(&self) -> Option<&[u8]> {
        match &self.known {
            Some(known) => known.snapshot.history(),
            None => self.writer.history(),
        }
    }

    /// The number of its rows, without those that may be deleted.
    pub(crate) fn least_rows(&self) -> Result<u64> {
        let stats = match &self.known {
            Some(known) => known.snapshot.stats(),
            None => self.writer.snapshot()?.stats(),
        };
        Ok(stats.rows.saturating_sub(stats.tombstones))
    }

    /// Replaces the records of finished jobs, by the next commit.
    pub(crate) fn set_history(&mut self, history: &[u8]) -> Result<()> {
        Ok(self.writer.set_history(history)?)
    }

    pub(super) fn commit_with(&mut self, progress: &[u8]) -> nearprint::Result<()> {
        if self.is_temporary {
            return Ok(());
        }
        self.writer.set_checkpoint(progress)?;
        self.writer.commit()?;
        self.kept_keys = KeptKeys::default();
        Ok(())
    }

    /// Forgets the documents with these [sequence numbers](Self::next_sequence), those that these jobs have left out,
    /// and the unfinished progress. Replaces the records of finished jobs by the same commit.
    pub(crate) fn forget_with(
        &mut self,
        (sequences, jobs): (&[Range<u64>], &[u64]),
        history: Option<&[u8]>,
    ) -> Result<()> {
        if self.is_temporary {
            return Ok(());
        }
        self.writer.forget_left_out(jobs)?;
        history.map_or(Ok(()), |history| self.writer.set_history(history))?;
        self.writer.set_checkpoint(b"")?;
        // Where rows expire, it may be durable by this, together with the history.
        self.writer.delete_keys_between(sequences)?;
        self.writer.commit()?;
        self.kept_keys = KeptKeys::default();
        Ok(())
    }

    /// Makes all kept documents durable, removes the progress, and waits for merges. Replaces the records of finished
    /// jobs by the same commit.
    pub(crate) fn finish_with(&mut self, history: Option<&[u8]>) -> Result<()> {
        if self.is_temporary {
            return Ok(());
        }
        self.writer.wait_for_merges()?;
        history.map_or(Ok(()), |history| self.writer.set_history(history))?;
        self.writer.set_checkpoint(b"")?;
        Ok(self.writer.finish()?)
    }

    /// Compares documents with other collections, too, and with those of this one only if `compares_own`. Makes sets
    /// of features if any of them compares them.
    pub(crate) fn compare_with(&mut self, others: Vec<Self>, compares_own: bool) {
        if others.iter().any(|other| other.measure.makes_features) {
            self.measure.makes_features = true;
            self.fingerprinter = self.fingerprinter.clone().with_features();
        }
        (self.others, self.compares_own) = (others, compares_own);
    }

    /// Takes the other collections, for whoever decides documents.
    pub(crate) fn take_others(&mut self) -> Vec<Self> {
        std::mem::take(&mut self.others)
    }

    /// Whether documents are compared with those of this run.
    pub(crate) fn compares_own(&self) -> bool {
        self.compares_own
    }

    /// Whether kept documents are remembered temporarily.
    pub(crate) fn is_temporary(&self) -> bool {
        self.is_temporary
    }

    /// Ignores the documents of a read-only database with these sequence numbers.
    pub(crate) fn ignore(&mut self, sequences: Vec<Range<u64>>) {
        if let Some(known) = &mut self.known {
            known.ignored.extend(sequences);
        }
    }

    /// The documents that were kept before `sequence`; `None` if kept documents are only temporary.
    pub(crate) fn known_before(&self, sequence: u64) -> Result<Option<KnownDocuments>> {
        if self.is_temporary {
            return Ok(self.known.clone());
        }
        let ignored = std::iter::once(sequence..u64::MAX).collect();
        let snapshot = self.writer.snapshot()?;
        Ok(Some(KnownDocuments { snapshot, ignored, outlines: Outlines::default() }))
    }

    /// Whether a document has too few tokens or features.
    pub(crate) fn is_too_short(&self, fingerprinted: &Fingerprinted<AnyFingerprint>) -> bool {
        self.options.sets_aside(fingerprinted)
    }

    /// The nearest kept document, the earliest of equally near ones. A read-only database precedes
    /// the documents of this run. `text_of` reads the text of a candidate of this run, to compare
    /// it.
    fn nearest(
        &mut self,
        document: Document<'_>,
        text_of: impl FnMut(&Candidate) -> Result<String>,
    ) -> Result<Verdict> {
        let origin = self.origin();
        let Self { measure, fingerprinter, .. } = self;
        let known = match &mut self.known {
            Some(known) => known.nearest(document, measure, fingerprinter)?,
            None => Verdict::New,
        };
        let Self { writer, sets, outlines, start, .. } = self;
        let mut fresh = FreshDocuments { writer, origin, start: *start, read: text_of, sets, outlines };
        let fresh = fresh.nearest(document, measure, fingerprinter)?;
        Ok(known.or_nearer(fresh, measure))
    }

    /// Whether [`look_ahead`](Self::look_ahead) is worth waiting for documents.
    pub(crate) fn looks_ahead(&self) -> bool {
        !self.is_crowded && self.writer.has_runs()
    }

    /// Looks the documents of this run near some others up together, which [`nearest`](Self::nearest) then takes
    /// from there.
    pub(crate) fn look_ahead<'a>(
        &mut self,
        some: impl Iterator<Item = &'a Fingerprinted<AnyFingerprint>>,
    ) -> Result<()> {
        if !self.looks_ahead() {
            return Ok(());
        }
        let looked_up = |made: &&Fingerprinted<AnyFingerprint>| {
            made.comparable() == Comparable::Features && !self.options.sets_aside(made)
        };
        let fingerprints: Vec<_> = some.filter(looked_up).map(|made| made.value).collect();
        let is_complete = match &self.measure.candidates {
            Some(candidates) => self.writer.look_ahead_by_bands(&fingerprints, candidates.distances()),
            None => self.writer.look_ahead(&fingerprints, self.measure.k),
        };
        self.is_crowded = !is_complete?;
        Ok(())
    }

    /// All kept documents within the distance of near ones, the earliest first. A read-only database precedes
    /// the documents of this run.
    pub(crate) fn all_near(&mut self, document: Document<'_>) -> Result<Vec<Candidate>> {
        let Some((fingerprint, k)) = document.look_up(self.measure.k) else { return Ok(Vec::new()) };
        let origin = self.origin();
        let Self { known, writer, sets, outlines, start, .. } = self;
        let read = |candidate: &Candidate| candidate.stored.decompress(&candidate.key);
        let mut fresh = FreshDocuments { writer, origin, start: *start, read, sets, outlines };
        let known = known.as_mut().map(|known| known as &mut dyn KeptDocuments);
        let mut found = Vec::new();
        for kept in known.into_iter().chain([&mut fresh as &mut dyn KeptDocuments]) {
            let start = found.len();
            for row in kept.query(fingerprint, k)? {
                found.extend(kept.candidates(row, document)?);
            }
            found[start..].sort_by_key(|candidate| candidate.sequence);
        }
        Ok(found)
    }

    /// The kept document of a candidate, of which a document is a duplicate.
    pub(crate) fn original(&mut self, of: Candidate, document: Document<'_>) -> Result<Original> {
        let similarity = self.measure.recipe.similarity(of.distance);
        Original::of(of, similarity, document, &mut self.fingerprinter)
    }

    /// Whether exact copies are recognized. With databases that have keys alone, they are not.
    pub(crate) fn counts_copies(&self) -> bool {
        let known = self.known.as_ref();
        self.stores.has_values() && known.is_none_or(|known| known.snapshot.key_storage().has_values())
    }

    /// When documents are near-duplicates.
    pub(crate) fn measure(&self) -> &Measure {
        &self.measure
    }

    /// Whether it stores or compares the texts of documents themselves.
    pub(crate) fn reads_texts(&self) -> bool {
        self.stores == KeyStorage::KeysAndTexts || self.measure.compares_texts()
    }

    /// What to remember of a kept document.
    pub(crate) fn stored(&mut self, document: Document<'_>) -> Result<Stored> {
        if self.is_temporary && self.measure.compares_features() {
            let span = self.sets.push(&document.features.to_listed_bytes())?;
            return Ok(Stored::place(span, document.text_hash));
        }
        Stored::of(self.stores, document.text, document.text_hash, document.features)
    }

    /// Remembers a kept document, and what a later verdict needs of it.
    pub(crate) fn remember(&mut self, document: Document<'_>, stored: &Stored) -> Result<()> {
        if self.is_stored_without_tokens(document)? {
            // Nothing is near it, and so nobody has looked. A job never inserts what others have.
            return Ok(());
        }
        let fingerprint = document.stored_fingerprint();
        let row = NewRows {
            fingerprints: fingerprint.words(),
            ids: None,
            keys: Some(&[document.key]),
            texts: Some(&[stored.bytes()]),
        };
        self.writer.insert(&row, &mut |_| Ok(()))?;
        if self.options.unique_keys {
            self.kept_keys.push(document.key);
        }
        self.since_flush += 1;
        if self.is_temporary && self.since_flush == FLUSH_KEPT {
            self.since_flush = 0;
            self.writer.flush()?;
        }
        Ok(())
    }

    /// Remembers that a document is left out, where the database does.
    pub(crate) fn leave_out(&mut self, key: &str, of: &str, similarity: f64, job: u64) -> Result<()> {
        Ok(self.writer.remember_left_out(key, of, similarity, job)?)
    }

    /// Whose values stand beside the keys of kept documents.
    fn origin(&self) -> Origin {
        match self.is_temporary {
            true => Origin::Temporary,
            false => Origin::Database(self.writer.key_storage()),
        }
    }

    /// Whether a document without tokens is stored with the same key.
    fn is_stored_without_tokens(&mut self, document: Document<'_>) -> Result<bool> {
        let is_stored = |kept: &mut dyn KeptDocuments| kept.has_key(document.row(), document);
        Ok(document.comparable == Comparable::Nothing && self.has_kept(is_stored)?)
    }

    /// Whether a document with the same key is near.
    fn is_known(&mut self, document: Document<'_>) -> Result<bool> {
        let k = self.k();
        self.has_kept(|kept| kept.has_key_near(document, k))
    }

    /// Whether the documents of this run, or those before it, have something.
    fn has_kept(&mut self, has: impl Fn(&mut dyn KeptDocuments) -> Result<bool>) -> Result<bool> {
        let read = |candidate: &Candidate| candidate.stored.decompress(&candidate.key);
        let origin = self.origin();
        let Self { writer, sets, outlines, start, .. } = self;
        let is_fresh = has(&mut FreshDocuments { writer, origin, start: *start, read, sets, outlines })?;
        Ok(is_fresh || self.known.as_mut().map_or(Ok(false), |known| has(known))?)
    }

    /// Whether any document was kept under a key.
    fn is_key_taken(&mut self, key: &str) -> Result<bool> {
        let known = self.known.as_ref().map(|known| known.snapshot.ids_of_key(key)).transpose()?;
        Ok(known.is_some_and(|ids| !ids.is_empty()) || self.kept_keys.contain(&self.writer, key)?)
    }
}

/// The nearest document of some collections; of equally near ones, the one of the first collection.
pub(crate) fn nearest_of(
    collections: &mut [Deduplicator],
    document: Document<'_>,
    measure: &Measure,
) -> Result<Verdict> {
    let read = |candidate: &Candidate| candidate.stored.decompress(&candidate.key);
    collections.iter_mut().try_fold(Verdict::New, |verdict, collection| {
        Ok(verdict.or_nearer(collection.nearest(document, read)?, measure))
    })
}

/// Why a key does not fit a database.
pub(crate) fn too_long(key: &str, most: usize) -> String {
    format!("a key of {} bytes, where {most} fit", key.len())
}
