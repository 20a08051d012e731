//! Keeps the best of several near-duplicates: two passes.
//!
//! The first pass reads all documents and ranks them. They are then decided in the order of their
//! ranks, as if they came in that order. The second pass writes them in input order.

use std::ops::ControlFlow;
use std::path::Path;

use super::candidates::{Candidate, Document, KnownDocuments, Measure, Verdict};
use super::file_run::{FileRun, Original, bad_record};
use super::fingerprinting::{self, PreparedRecord, checked};
use super::job::{FileJob, Keep};
use super::report::{Report, report_progress};
use super::sort_row::SortRow;
use super::temporary::{DECIDED, StringFile, WorkFolder};
use crate::documents::{InputFile, Item, Position, Reader, Record};
use crate::error::{Error, InputSetProblem, Result};
use crate::recipe::{Comparable, Fingerprinter};
use nearprint::internal::{Sorted, Sorter};
use nearprint::{Fingerprint, Match, Row, Writer};

/// Rank, position, flags; fingerprint. The best documents sort first.
type Ranked<F> = SortRow<F, 3>;
/// Position, outcome, index of the key of the original, flags, bits of the similarity; fingerprint.
type Outcome<F> = SortRow<F, 5>;

/// The outcome of a kept document. That of a duplicate is its distance.
const KEPT: u64 = u64::MAX;
/// The outcome of a document with too few tokens or features.
const SHORT: u64 = u64::MAX - 1;
/// The flag of a document without a token.
const EMPTY: u64 = 1;
/// The flag of a document with the tokens of its original.
const COPY: u64 = 2;
/// The flag of a document that is near others, but that no text confirms.
const UNCONFIRMED: u64 = 4;
/// The flag of a document with tokens, but without a feature.
const FEATURELESS: u64 = 8;

/// The flag of what can be compared of a document.
fn flag_of(comparable: Comparable) -> u64 {
    match comparable {
        Comparable::Features => 0,
        Comparable::Tokens => FEATURELESS,
        Comparable::Nothing => EMPTY,
    }
}

/// The reverse of [`flag_of`].
fn comparable_of(flags: u64) -> Comparable {
    match flags & (EMPTY | FEATURELESS) {
        0 => Comparable::Features,
        FEATURELESS => Comparable::Tokens,
        _ => Comparable::Nothing,
    }
}

/// The keys of all documents and the hashes of their texts, by position.
struct Names {
    /// Behind them those of documents of earlier runs.
    keys: StringFile,
    /// In hexadecimal.
    text_hashes: StringFile,
}

impl Names {
    fn push(&mut self, key: &str, text_hash: u128) -> Result<()> {
        self.keys.push(key)?;
        self.text_hashes.push(&format!("{text_hash:x}")).map(drop)
    }

    fn text_hash(&mut self, position: u64) -> Result<u128> {
        // Read as it was written.
        Ok(u128::from_str_radix(&self.text_hashes.get(position)?, 16).unwrap_or_default())
    }
}

/// The data of all documents between the passes.
struct Ranking<F> {
    names: Names,
    /// For confirmation.
    texts: Option<StringFile>,
    documents: Sorter<Ranked<F>>,
    outcomes: Sorter<Outcome<F>>,
    folder: WorkFolder,
}

/// Ranks all records, decides them, and writes the kept documents.
pub(super) fn run<F: Fingerprint>(
    run: &mut FileRun<'_, F>,
    reader: &mut Reader,
    report: Report<'_>,
) -> Result<()> {
    let reads_once = |input: &&InputFile| input.size_bytes.is_none() && input.path != Path::new("-");
    if let Some(input) = reader.inputs().iter().find(reads_once) {
        return Err(InputSetProblem::ReadOnce { path: input.path.clone() }.into());
    }
    let mut ranking = Ranking::new(run.job)?;
    ranking.read(run, reader, report)?;
    let at = reader.position();
    let (outcomes, mut names) = ranking.decide(run, &mut || report(&run.counts, at))?;
    let mut second = reader.again(run.job.reader.clone())?;
    write(run, &mut second, &outcomes, &mut names, report)
}

impl<F: Fingerprint> Ranking<F> {
    fn new(job: &FileJob) -> Result<Self> {
        let folder = WorkFolder::new()?;
        let options = &job.dedup.engine;
        let memory = options.get_memory_bytes() / 4;
        Ok(Self {
            names: Names { keys: StringFile::new()?, text_hashes: StringFile::new()? },
            texts: job.dedup.confirm.is_some().then(StringFile::new).transpose()?,
            documents: Sorter::in_folder(folder.path(), 0, memory, options.get_threads())?,
            outcomes: Sorter::in_folder(folder.path(), 1, memory, options.get_threads())?,
            folder,
        })
    }

    /// The first pass. Numbers all records by their positions.
    fn read(&mut self, run: &FileRun<'_, F>, reader: &mut Reader, report: Report<'_>) -> Result<()> {
        let fingerprinter = run.deduplicator.fingerprinter();
        let (threads, mut position) = (run.job.dedup.engine.get_threads(), 0u64);
        fingerprinting::each(reader, &fingerprinter, run.job.dedup.confirm, threads, |block, at| {
            for prepared in block {
                self.add(run, position, &prepared.record)?;
                position += 1;
            }
            report_progress(report, &run.counts, at)
        })
    }

    fn add(&mut self, run: &FileRun<'_, F>, position: u64, record: &PreparedRecord<F>) -> Result<()> {
        let (key, text, text_hash) = match record {
            PreparedRecord::Document(Record { key, text, .. }, fingerprinted) => {
                (key.as_str(), text.as_str(), fingerprinted.text_hash)
            }
            PreparedRecord::Bad(bad) if run.job.rejects.is_none() => return Err(bad_record(bad)),
            PreparedRecord::Bad(_) => ("", "", 0),
        };
        self.names.push(key, text_hash)?;
        self.texts.as_mut().map_or(Ok(0), |texts| texts.push(text))?;
        if let PreparedRecord::Document(record, fingerprinted) = record {
            let flags = flag_of(fingerprinted.comparable());
            if run.deduplicator.is_too_short(fingerprinted) {
                self.outcomes.push(SortRow([position, SHORT, 0, flags, 0], fingerprinted.value))?;
            } else {
                let rank = rank(&run.job.keep, record);
                self.documents.push(SortRow([rank, position, flags], fingerprinted.value))?;
            }
        }
        Ok(())
    }

    /// Decides documents in the order of their ranks. Returns the outcomes by position, and the
    /// names that they refer to.
    fn decide(
        self,
        run: &FileRun<'_, F>,
        report: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(Sorted<Outcome<F>>, Names)> {
        let Self { names, texts, documents, mut outcomes, folder } = self;
        let (path, schema) =
            (folder.path().join(DECIDED), run.deduplicator.recipe().schema().k(run.deduplicator.k()));
        let kept = run.job.dedup.engine.create::<F>(path, &schema)?.writer()?;
        let known = run.deduplicator.known_before(run.first_sequence())?;
        let (measure, fingerprinter) = (run.deduplicator.measure(), run.deduplicator.fingerprinter());
        let mut decider = Decider { run, measure, fingerprinter, known, kept, names, texts };
        documents.finish()?.for_each_block(|block| {
            for &SortRow([_, position, flags], fingerprint) in block {
                let Decided { outcome, of, similarity, flags: found } =
                    decider.decide(position, fingerprint, comparable_of(flags))?;
                let words = [position, outcome, of, flags | found, similarity.to_bits()];
                outcomes.push(SortRow(words, fingerprint))?;
            }
            // Commits bound the memory. This database is never opened again.
            decider.kept.commit()?;
            if report().is_break() { Err(Error::INTERRUPTED) } else { Ok(()) }
        })?;
        Ok((outcomes.finish()?, decider.names))
    }
}

/// Decides documents in the order of their ranks.
struct Decider<'a, 'j, F: Fingerprint> {
    run: &'a FileRun<'j, F>,
    measure: Measure,
    fingerprinter: Fingerprinter<F>,
    /// The documents of earlier runs.
    known: Option<KnownDocuments<F>>,
    /// The documents kept so far, with their positions as ids.
    kept: Writer<F>,
    names: Names,
    texts: Option<StringFile>,
}

/// The outcome of a document.
struct Decided {
    outcome: u64,
    /// The index of the key of the original.
    of: u64,
    similarity: f64,
    flags: u64,
}

/// What a document duplicates.
enum Kept<F> {
    /// A document of an earlier run.
    Known(Candidate),
    /// One of this run, with its position as id.
    Fresh(Match<F>),
}

impl<F> Kept<F> {
    fn distance(&self) -> u32 {
        match self {
            Self::Known(candidate) => candidate.distance,
            Self::Fresh(found) => found.distance,
        }
    }
}

impl<F: Fingerprint> Decider<'_, '_, F> {
    fn decide(&mut self, position: u64, fingerprint: F, comparable: Comparable) -> Result<Decided> {
        let text = match &mut self.texts {
            Some(texts) => texts.get(position)?,
            None => String::new(),
        };
        let (key, text_hash) = (self.names.keys.get(position)?, self.names.text_hash(position)?);
        let document = Document { key: &key, text: &text, text_hash, fingerprint, comparable };
        let known = self.known.as_ref().map_or(Ok(Verdict::New), |known| known.nearest(document))?;
        let fresh = self.nearest(document)?.map(Kept::Fresh);
        let verdict = known.map(Kept::Known).or_nearer(fresh, Kept::distance);
        let Verdict::Near(kept, similarity) = verdict else {
            self.kept.insert(Row { fingerprint: document.stored_fingerprint(), id: position })?;
            let flags = if matches!(verdict, Verdict::Unconfirmed) { UNCONFIRMED } else { 0 };
            return Ok(Decided { outcome: KEPT, of: 0, similarity: 0.0, flags });
        };
        let (of, is_copy) = match &kept {
            Kept::Known(known) => {
                (self.names.keys.push(&known.key)?, known.is_copied_by(document, &mut self.fingerprinter)?)
            }
            Kept::Fresh(found) => {
                let has_same_fingerprint = found.fingerprint == document.stored_fingerprint();
                (found.id, has_same_fingerprint && self.names.text_hash(found.id)? == text_hash)
            }
        };
        let flags = if is_copy { COPY } else { 0 };
        Ok(Decided { outcome: u64::from(kept.distance()), of, similarity, flags })
    }

    /// The nearest of the documents kept so far, the earliest in input order of equally near ones.
    fn nearest(&mut self, document: Document<'_, F>) -> Result<Verdict<Match<F>>> {
        let Some((fingerprint, k)) = document.look_up(self.run.deduplicator.k()) else {
            return Ok(Verdict::New);
        };
        let mut found = self.kept.query(fingerprint, k)?;
        found.sort_by_key(|found| (found.distance, found.id));
        let mut verdict = Verdict::New;
        for found in found {
            let is_same = found.fingerprint == fingerprint && self.names.keys.get(found.id)? == document.key;
            let texts = &mut self.texts;
            let text = || texts.as_mut().map_or(Ok(String::new()), |texts| texts.get(found.id));
            let similarity = match is_same {
                true => Some(1.0),
                false => self.measure.similarity(document.text, found.distance, text)?,
            };
            match similarity {
                Some(similarity) => return Ok(Verdict::Near(found, similarity)),
                None => verdict = Verdict::Unconfirmed,
            }
        }
        Ok(verdict)
    }
}

/// The rank of a document; smaller is better.
fn rank(keep: &Keep, record: &Record) -> u64 {
    match keep {
        Keep::First => 0,
        Keep::Longest => u64::MAX - record.text.chars().count() as u64,
        Keep::Max(_) => {
            // The bits of positive floats are in the order of the numbers, those of negative floats
            // in the reverse order. Adding zero turns the negative zero into the positive one.
            let bits = (record.value.unwrap_or(f64::NEG_INFINITY) + 0.0).to_bits();
            let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
            !ascending
        }
    }
}

/// The second pass: writes documents and duplicates in input order.
fn write<F: Fingerprint>(
    run: &mut FileRun<'_, F>,
    reader: &mut Reader,
    outcomes: &Sorted<Outcome<F>>,
    names: &mut Names,
    report: Report<'_>,
) -> Result<()> {
    // The files of a resumed run have these records already.
    run.skip(reader)?;
    let mut next = run.counts.records;
    outcomes.for_each_block(|block| {
        for outcome in block {
            let position = outcome.0[0];
            while next <= position {
                let item = reader.next_item()?.ok_or(InputSetProblem::ChangedBetweenPasses)?;
                run.count(item.digest());
                next += 1;
                match checked(item, run.job.dedup.confirm) {
                    Item::Bad(bad) => run.reject(&bad)?,
                    Item::Record(record) if next > position => write_outcome(run, &record, outcome, names)?,
                    Item::Record(_) => return Err(InputSetProblem::ChangedBetweenPasses.into()),
                }
            }
        }
        run.checkpoint_if_due()?;
        let at: Position = reader.position();
        report_progress(report, &run.counts, at)
    })?;
    while let Some(item) = reader.next_item()? {
        run.count(item.digest());
        match checked(item, run.job.dedup.confirm) {
            Item::Bad(bad) => run.reject(&bad)?,
            Item::Record(_) => return Err(InputSetProblem::ChangedBetweenPasses.into()),
        }
    }
    Ok(())
}

fn write_outcome<F: Fingerprint>(
    run: &mut FileRun<'_, F>,
    record: &Record,
    &SortRow([position, outcome, of, flags, similarity], fingerprint): &Outcome<F>,
    names: &mut Names,
) -> Result<()> {
    run.counts.invalid_utf8 += u64::from(record.invalid_utf8);
    if outcome == SHORT {
        return run.set_aside(record.raw());
    }
    let comparable = comparable_of(flags);
    run.counts.push_comparable(comparable);
    run.counts.unconfirmed += u64::from(flags & UNCONFIRMED != 0);
    if outcome == KEPT {
        let Record { key, text, .. } = record;
        let text_hash = names.text_hash(position)?;
        let document = Document { key, text, text_hash, fingerprint, comparable };
        return run.keep(document, record);
    }
    let original = Original {
        key: &names.keys.get(of)?,
        distance: u32::try_from(outcome).map_err(|_| InputSetProblem::ChangedBetweenPasses)?,
        similarity: f64::from_bits(similarity),
        is_copy: flags & COPY != 0,
    };
    run.leave_out(fingerprint, record, &original)
}
