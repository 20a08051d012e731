//! Keeps the best of several near-duplicates.
//!
//! One pass reads all documents and ranks them. In the order of their ranks they are then kept or not,
//! as if they came in that order. A second pass writes them in input order.

use std::ops::ControlFlow;

use super::index::Known;
use super::pipeline::{self, What, with_a_key_that_fits};
use super::spool::{self, Strings};
use super::{Keep, Report, Work};
use crate::documents::{Item, Position, Reader, Record};
use crate::error::{Error, Result};
use nearprint::internal::{Sortable, Sorted, Sorter};
use nearprint::{Database, Fingerprint, Match, Schema, Writer};

/// Numbers that are sorted together, and a fingerprint that goes with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Words<F, const N: usize>([u64; N], F);

impl<F: Fingerprint, const N: usize> Sortable for Words<F, N> {
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

/// The best first: rank, position, flags; fingerprint.
type Ranked<F> = Words<F, 3>;
/// By position: position, what became of it, what it is a duplicate of, flags; fingerprint.
type Outcome<F> = Words<F, 4>;

/// What becomes of a document; a duplicate has its distance.
const KEPT: u64 = u64::MAX;
const SHORT: u64 = u64::MAX - 1;
/// Flag of a document without a token.
const EMPTY: u64 = 1;

/// Everything about all documents that has to be known between the passes.
struct Ranking<F> {
    keys: Strings,
    /// Where texts are to be compared.
    texts: Option<Strings>,
    documents: Sorter<Ranked<F>>,
    outcomes: Sorter<Outcome<F>>,
    _folder: tempfile::TempDir,
}

pub(super) fn run<F: Fingerprint>(
    work: &mut Work<'_, F>,
    reader: &mut Reader,
    report: Report<'_>,
) -> Result<()> {
    let mut ranking = Ranking::new(work)?;
    ranking.read(work, reader, report)?;
    let at = reader.position();
    let (outcomes, mut keys) = ranking.decide(work, &mut || report(&work.counts, at))?;
    write(work, &outcomes, &mut keys, report)
}

impl<F: Fingerprint> Ranking<F> {
    fn new(work: &Work<'_, F>) -> Result<Self> {
        let folder = spool::folder()?;
        let options = &work.job.options;
        let memory = options.memory_budget() / 4;
        Ok(Self {
            keys: Strings::new()?,
            texts: work.job.confirm.is_some().then(Strings::new).transpose()?,
            documents: Sorter::in_folder(folder.path(), 0, memory, options.num_threads()),
            outcomes: Sorter::in_folder(folder.path(), 1, memory, options.num_threads()),
            _folder: folder,
        })
    }

    /// The first pass. Every record gets a number, which is its position.
    fn read(&mut self, work: &Work<'_, F>, reader: &mut Reader, report: Report<'_>) -> Result<()> {
        let (job, mut position) = (work.job, 0u64);
        pipeline::each(reader, &work.recipe, job.options.num_threads(), |done, at| {
            for done in done {
                let (key, text) = match &done.what {
                    What::Document(record, _) => (record.key.as_str(), record.text.as_str()),
                    What::Bad(bad) if job.rejects.is_none() => {
                        let (place, why) = (bad.place.to_string(), bad.reason.clone());
                        return Err(Error::Input { place, why });
                    }
                    What::Bad(_) => ("", ""),
                };
                self.keys.push(key)?;
                self.texts.as_mut().map_or(Ok(0), |texts| texts.push(text))?;
                if let What::Document(record, fingerprinted) = &done.what {
                    let flags = if fingerprinted.num_tokens == 0 { EMPTY } else { 0 };
                    if fingerprinted.num_tokens < job.min_tokens {
                        self.outcomes.push(Words([position, SHORT, 0, flags], fingerprinted.value))?;
                    } else {
                        let rank = rank(&job.keep, record);
                        self.documents.push(Words([rank, position, flags], fingerprinted.value))?;
                    }
                }
                position += 1;
            }
            if report(&work.counts, at).is_break() { Err(Error::INTERRUPTED) } else { Ok(()) }
        })
    }

    /// Keeps documents in the order of their ranks. Returns what became of each, by position.
    fn decide(
        self,
        work: &Work<'_, F>,
        goes_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(Sorted<Outcome<F>>, Strings)> {
        let Self { mut keys, mut texts, documents, mut outcomes, _folder: folder } = self;
        let (schema, options) = (Schema::new().k(work.k), work.job.options.clone());
        let path = folder.path().join("decided.np");
        let mut kept = Database::<F>::create_with(path, schema, options)?.writer()?;
        let known = known(work)?;
        documents.finish()?.for_each_block(|block| {
            for &Words([_, position, flags], fingerprint) in block {
                let text = match &mut texts {
                    Some(texts) => texts.get(position)?,
                    None => String::new(),
                };
                let key = keys.get(position)?;
                let before = known.as_ref().map(|known| known.nearest(fingerprint, &key, &text));
                let before = before.transpose()?.flatten();
                let texts = texts.as_mut().map(|texts| (texts, &mut keys));
                let fresh = nearest(&mut kept, work, fingerprint, (&key, &text), texts)?;
                let (outcome, of) = match (before, fresh) {
                    (Some(before), fresh) if fresh.is_none_or(|fresh| before.distance <= fresh.distance) => {
                        (u64::from(before.distance), keys.push(&before.key)?)
                    }
                    (_, Some(fresh)) => (u64::from(fresh.distance), fresh.id),
                    (_, None) => {
                        kept.insert(fingerprint, Some(position))?;
                        (KEPT, 0)
                    }
                };
                outcomes.push(Words([position, outcome, of, flags], fingerprint))?;
            }
            // A commit is needed for memory alone: nobody opens this database again.
            kept.commit()?;
            if goes_on().is_break() { Err(Error::INTERRUPTED) } else { Ok(()) }
        })?;
        Ok((outcomes.finish()?, keys))
    }
}

/// What the database had before this run.
fn known<F: Fingerprint>(work: &Work<'_, F>) -> Result<Option<Known<F>>> {
    if let Some(known) = &work.known {
        return Ok(Some(Known { snapshot: known.snapshot.clone(), ..*known }));
    }
    if work.is_own {
        return Ok(None);
    }
    let (snapshot, confirm) = (work.writer.snapshot()?, work.job.confirm);
    Ok(Some(Known { snapshot, before_sequence: work.first_sequence, k: work.k, confirm }))
}

/// The nearest of the documents kept so far, the earliest in input order of several.
fn nearest<F: Fingerprint>(
    kept: &mut Writer<F>,
    work: &Work<'_, F>,
    fingerprint: F,
    (key, text): (&str, &str),
    texts: Option<(&mut Strings, &mut Strings)>,
) -> Result<Option<Match<F>>> {
    let mut found = kept.query(fingerprint, work.k)?;
    found.sort_by_key(|found| (found.distance, found.id));
    let (Some(confirm), Some((texts, keys))) = (work.job.confirm, texts) else {
        return Ok(found.first().copied());
    };
    for found in found {
        let is_itself = found.distance == 0 && keys.get(found.id)? == key;
        if is_itself || confirm.confirms(text, &texts.get(found.id)?) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Smaller for what is worth more.
fn rank(keep: &Keep, record: &Record) -> u64 {
    match keep {
        Keep::First => 0,
        Keep::Longest => u64::MAX - record.text.chars().count() as u64,
        Keep::Max(_) => {
            // Of a positive number the bits order like numbers do, of a negative one the other way.
            // Zero is added to make one of both zeros.
            let bits = (record.value.unwrap_or(f64::NEG_INFINITY) + 0.0).to_bits();
            let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
            !ascending
        }
    }
}

/// The second pass: writes documents and duplicates in input order.
fn write<F: Fingerprint>(
    work: &mut Work<'_, F>,
    outcomes: &Sorted<Outcome<F>>,
    keys: &mut Strings,
    report: Report<'_>,
) -> Result<()> {
    let mut reader = Reader::open(&work.job.inputs, work.job.reader.clone())?;
    // What an earlier run has written before it was cut off.
    work.skip(&mut reader)?;
    let mut next = work.counts.records;
    outcomes.for_each_block(|block| {
        for &Words([position, outcome, of, flags], fingerprint) in block {
            while next <= position {
                let item = reader.next_item()?.ok_or_else(changed)?;
                work.count(item.digest());
                next += 1;
                match with_a_key_that_fits(item) {
                    Item::Bad(bad) => work.take_bad(&bad)?,
                    Item::Record(record) if next > position => {
                        work.counts.invalid_utf8 += u64::from(record.invalid_utf8);
                        work.counts.empty += u64::from(flags & EMPTY == EMPTY && outcome != SHORT);
                        work.write_outcome(&record, outcome, fingerprint, of, keys)?;
                    }
                    Item::Record(_) => return Err(changed()),
                }
            }
        }
        work.settle()?;
        let at: Position = reader.position();
        if report(&work.counts, at).is_break() { Err(Error::INTERRUPTED) } else { Ok(()) }
    })?;
    while let Some(item) = reader.next_item()? {
        work.count(item.digest());
        match with_a_key_that_fits(item) {
            Item::Bad(bad) => work.take_bad(&bad)?,
            Item::Record(_) => return Err(changed()),
        }
    }
    Ok(())
}

impl<F: Fingerprint> Work<'_, F> {
    fn write_outcome(
        &mut self,
        record: &Record,
        outcome: u64,
        fingerprint: F,
        of: u64,
        keys: &mut Strings,
    ) -> Result<()> {
        match outcome {
            KEPT => self.keep(fingerprint, record),
            SHORT => self.take_short(record.raw()),
            distance => {
                let distance = u32::try_from(distance).map_err(|_| changed())?;
                self.write_duplicate(&record.key, &keys.get(of)?, distance)
            }
        }
    }
}

fn changed() -> Error {
    Error::Option("the inputs have changed between the two passes over them".into())
}
