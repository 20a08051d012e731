//! Keeps the best of several near-duplicates: two passes.
//!
//! The first pass reads all documents and ranks them. They are then decided in the order of their
//! ranks, as if they came in that order. The second pass writes them in input order.

use std::ops::ControlFlow;

use super::candidates::{Document, KnownDocuments};
use super::file_run::{FileRun, bad_record};
use super::fingerprinting::{self, PreparedRecord, with_valid_key};
use super::job::{FileJob, Keep};
use super::report::{Report, report_progress};
use super::temporary::{StringFile, WorkFolder};
use crate::documents::{Item, Position, Reader, Record};
use crate::error::{Error, InputSetProblem, Result};
use nearprint::internal::{Sortable, Sorted, Sorter};
use nearprint::{Database, Fingerprint, Match, Writer};

/// Numbers to sort by, and a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SortRow<F, const N: usize>([u64; N], F);

impl<F: Fingerprint, const N: usize> Sortable for SortRow<F, N> {
    const LEN_BYTES: usize = 8 * N + F::LEN_BYTES;

    fn write_le(self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        self.1.write_le(out);
    }

    fn read_le(bytes: &[u8]) -> Self {
        let mut words = [0; N];
        words.iter_mut().zip(bytes.as_chunks::<8>().0).for_each(|(to, from)| *to = u64::from_le_bytes(*from));
        Self(words, F::read_le(bytes.get(8 * N..).unwrap_or_default()))
    }
}

/// Rank, position, flags; fingerprint. The best documents sort first.
type Ranked<F> = SortRow<F, 3>;
/// Position, outcome, index of the key of the original, flags; fingerprint.
type Outcome<F> = SortRow<F, 4>;

/// The outcome of a kept document. That of a duplicate is its distance.
const KEPT: u64 = u64::MAX;
/// The outcome of a document with too few tokens.
const SHORT: u64 = u64::MAX - 1;
/// The flag of a document without a token.
const EMPTY: u64 = 1;

/// The data of all documents between the passes.
struct Ranking<F> {
    keys: StringFile,
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
    let mut ranking = Ranking::new(run.job)?;
    ranking.read(run, reader, report)?;
    let at = reader.position();
    let (outcomes, mut keys) = ranking.decide(run, &mut || report(&run.counts, at))?;
    write(run, &outcomes, &mut keys, report)
}

impl<F: Fingerprint> Ranking<F> {
    fn new(job: &FileJob) -> Result<Self> {
        let folder = WorkFolder::new()?;
        let options = &job.dedup.engine;
        let memory = options.memory_budget() / 4;
        Ok(Self {
            keys: StringFile::new()?,
            texts: job.dedup.confirm.is_some().then(StringFile::new).transpose()?,
            documents: Sorter::in_folder(folder.path(), 0, memory, options.num_threads())?,
            outcomes: Sorter::in_folder(folder.path(), 1, memory, options.num_threads())?,
            folder,
        })
    }

    /// The first pass. Numbers all records by their positions.
    fn read(&mut self, run: &FileRun<'_, F>, reader: &mut Reader, report: Report<'_>) -> Result<()> {
        let fingerprinter = run.deduplicator.fingerprinter();
        let (threads, mut position) = (run.job.dedup.engine.num_threads(), 0u64);
        fingerprinting::each(reader, &fingerprinter, threads, |block, at| {
            for prepared in block {
                self.add(run, position, &prepared.record)?;
                position += 1;
            }
            report_progress(report, &run.counts, at)
        })
    }

    fn add(&mut self, run: &FileRun<'_, F>, position: u64, record: &PreparedRecord<F>) -> Result<()> {
        let (key, text) = match record {
            PreparedRecord::Document(record, _) => (record.key.as_str(), record.text.as_str()),
            PreparedRecord::Bad(bad) if run.job.rejects.is_none() => return Err(bad_record(bad)),
            PreparedRecord::Bad(_) => ("", ""),
        };
        self.keys.push(key)?;
        self.texts.as_mut().map_or(Ok(0), |texts| texts.push(text))?;
        if let PreparedRecord::Document(record, fingerprinted) = record {
            let flags = if fingerprinted.num_tokens == 0 { EMPTY } else { 0 };
            if run.deduplicator.is_too_short(fingerprinted) {
                self.outcomes.push(SortRow([position, SHORT, 0, flags], fingerprinted.value))?;
            } else {
                let rank = rank(&run.job.keep, record);
                self.documents.push(SortRow([rank, position, flags], fingerprinted.value))?;
            }
        }
        Ok(())
    }

    /// Decides documents in the order of their ranks. Returns the outcomes by position, and the
    /// keys that they refer to.
    fn decide(
        self,
        run: &FileRun<'_, F>,
        report: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(Sorted<Outcome<F>>, StringFile)> {
        let Self { keys, texts, documents, mut outcomes, folder } = self;
        let (path, schema) =
            (folder.path().join("decided.np"), run.deduplicator.recipe().schema().k(run.deduplicator.k()));
        let kept = Database::<F>::create_with(path, schema, run.job.dedup.engine.clone())?.writer()?;
        let known = run.deduplicator.known_before(run.first_sequence)?;
        let mut decider = Decider { run, known, kept, keys, texts };
        documents.finish()?.for_each_block(|block| {
            for &SortRow([_, position, flags], fingerprint) in block {
                let (outcome, of) = decider.decide(position, fingerprint)?;
                outcomes.push(SortRow([position, outcome, of, flags], fingerprint))?;
            }
            // Commits bound the memory. This database is never opened again.
            decider.kept.commit()?;
            if report().is_break() { Err(Error::INTERRUPTED) } else { Ok(()) }
        })?;
        Ok((outcomes.finish()?, decider.keys))
    }
}

/// Decides documents in the order of their ranks.
struct Decider<'a, 'j, F: Fingerprint> {
    run: &'a FileRun<'j, F>,
    /// The documents of earlier runs.
    known: Option<KnownDocuments<F>>,
    /// The documents kept so far, with their positions as ids.
    kept: Writer<F>,
    keys: StringFile,
    texts: Option<StringFile>,
}

impl<F: Fingerprint> Decider<'_, '_, F> {
    /// The outcome of a document, and the index of the key of its original.
    fn decide(&mut self, position: u64, fingerprint: F) -> Result<(u64, u64)> {
        let text = match &mut self.texts {
            Some(texts) => texts.get(position)?,
            None => String::new(),
        };
        let key = self.keys.get(position)?;
        let document = Document { key: &key, text: &text, fingerprint };
        let known = self.known.as_ref().map(|known| known.nearest(document)).transpose()?.flatten();
        let fresh = self.nearest(document)?;
        Ok(match (known, fresh) {
            (Some(known), fresh) if fresh.is_none_or(|fresh| known.distance <= fresh.distance) => {
                (u64::from(known.distance), self.keys.push(&known.key)?)
            }
            (_, Some(fresh)) => (u64::from(fresh.distance), fresh.id),
            (_, None) => {
                self.kept.insert(fingerprint, Some(position))?;
                (KEPT, 0)
            }
        })
    }

    /// The nearest of the documents kept so far, the earliest in input order of equally near ones.
    fn nearest(&mut self, document: Document<'_, F>) -> Result<Option<Match<F>>> {
        let mut found = self.kept.query(document.fingerprint, self.run.deduplicator.k())?;
        found.sort_by_key(|found| (found.distance, found.id));
        let (Some(confirm), Some(texts)) = (self.run.job.dedup.confirm, &mut self.texts) else {
            return Ok(found.first().copied());
        };
        for found in found {
            let is_same =
                found.fingerprint == document.fingerprint && self.keys.get(found.id)? == document.key;
            if is_same || confirm.confirms(document.text, &texts.get(found.id)?) {
                return Ok(Some(found));
            }
        }
        Ok(None)
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
    outcomes: &Sorted<Outcome<F>>,
    keys: &mut StringFile,
    report: Report<'_>,
) -> Result<()> {
    let mut reader = Reader::open(&run.job.inputs, run.job.reader.clone())?;
    // The files of a resumed run have these records already.
    run.skip(&mut reader)?;
    let mut next = run.counts.records;
    outcomes.for_each_block(|block| {
        for &SortRow([position, outcome, of, flags], fingerprint) in block {
            while next <= position {
                let item = reader.next_item()?.ok_or(InputSetProblem::ChangedBetweenPasses)?;
                run.count(item.digest());
                next += 1;
                match with_valid_key(item) {
                    Item::Bad(bad) => run.reject(&bad)?,
                    Item::Record(record) if next > position => {
                        run.counts.invalid_utf8 += u64::from(record.invalid_utf8);
                        run.counts.empty += u64::from(flags & EMPTY == EMPTY && outcome != SHORT);
                        write_outcome(run, &record, outcome, fingerprint, || keys.get(of))?;
                    }
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
        match with_valid_key(item) {
            Item::Bad(bad) => run.reject(&bad)?,
            Item::Record(_) => return Err(InputSetProblem::ChangedBetweenPasses.into()),
        }
    }
    Ok(())
}

fn write_outcome<F: Fingerprint>(
    run: &mut FileRun<'_, F>,
    record: &Record,
    outcome: u64,
    fingerprint: F,
    original: impl FnOnce() -> Result<String>,
) -> Result<()> {
    match outcome {
        KEPT => run.keep(fingerprint, record),
        SHORT => run.set_aside(record.raw()),
        distance => {
            let distance = u32::try_from(distance).map_err(|_| InputSetProblem::ChangedBetweenPasses)?;
            run.write_duplicate(&record.key, &original()?, distance)
        }
    }
}
