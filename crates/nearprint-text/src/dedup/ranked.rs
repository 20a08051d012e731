//! Keeps the best of several near-duplicates: two passes.
//!
//! The first pass reads all documents and ranks them. They are then decided in the order of their
//! ranks, as if they came in that order. The second pass writes them in input order.

use std::ops::ControlFlow;
use std::path::Path;

use super::candidates::{Candidate, Document, KeptDocuments, KnownDocuments, Measure, Verdict};
use super::fingerprinting::{self, Prepared, checked};
use super::job::{FileJob, Keep};
use super::job_outputs::Original;
use super::report::{Report, report_progress};
use super::sort_row::{Packed, SortRow};
use super::stored::Stored;
use super::temporary::{DECIDED, NumberFile, StringFile, WorkFolder};
use super::writing::{WritingJob, bad_record};
use crate::documents::{InputFile, Item, Reader, Record};
use crate::error::{Error, InputSetProblem, Result};
use crate::recipe::{Comparable, Fingerprinted, Fingerprinter};
use nearprint::internal::{Sortable, Sorted, Sorter};
use nearprint::{Fingerprint, Match, Row, Writer};

/// A document that is to be decided, by rank and position. The best ones sort first.
type Ranked<F> = SortRow<2, Print<F>>;
/// A document that is decided, by position.
type Decided<F> = SortRow<1, (Print<F>, Outcome)>;

/// The fingerprint of a document.
#[derive(Clone, Copy, Debug)]
struct Print<F> {
    fingerprint: F,
    comparable: Comparable,
}

/// What becomes of a document.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// It has too few tokens or features.
    SetAside,
    Kept {
        /// It is near others, but no text confirms it.
        is_unconfirmed: bool,
    },
    Duplicate {
        /// The index of the key of the original.
        of: u64,
        distance: u32,
        similarity: f64,
        is_copy: bool,
    },
}

impl<F: Fingerprint> Packed for Print<F> {
    const LEN_BYTES: usize = 1 + F::LEN_BYTES;

    fn write_le(self, out: &mut Vec<u8>) {
        out.push(self.comparable as u8);
        Sortable::write_le(self.fingerprint, out);
    }

    fn read_le(bytes: &[u8]) -> Self {
        const TOKENS: u8 = Comparable::Tokens as u8;
        const NOTHING: u8 = Comparable::Nothing as u8;
        let comparable = match bytes[0] {
            TOKENS => Comparable::Tokens,
            NOTHING => Comparable::Nothing,
            _ => Comparable::Features,
        };
        Self { fingerprint: <F as Sortable>::read_le(&bytes[1..]), comparable }
    }
}

impl<F: Fingerprint> Packed for (Print<F>, Outcome) {
    const LEN_BYTES: usize = 2 + 8 + 4 + 8 + Print::<F>::LEN_BYTES;

    fn write_le(self, out: &mut Vec<u8>) {
        let (kind, flag, of, distance, similarity) = match self.1 {
            Outcome::SetAside => (0, false, 0, 0, 0.0),
            Outcome::Kept { is_unconfirmed } => (1, is_unconfirmed, 0, 0, 0.0),
            Outcome::Duplicate { of, distance, similarity, is_copy } => {
                (2, is_copy, of, distance, similarity)
            }
        };
        out.extend([kind, u8::from(flag)]);
        out.extend(of.to_le_bytes());
        out.extend(distance.to_le_bytes());
        out.extend(f64::to_le_bytes(similarity));
        self.0.write_le(out);
    }

    fn read_le(bytes: &[u8]) -> Self {
        let (kind, flag) = (bytes[0], bytes[1] != 0);
        let outcome = match kind {
            0 => Outcome::SetAside,
            1 => Outcome::Kept { is_unconfirmed: flag },
            _ => Outcome::Duplicate {
                of: u64::from_le_bytes(array(&bytes[2..])),
                distance: u32::from_le_bytes(array(&bytes[10..])),
                similarity: f64::from_le_bytes(array(&bytes[14..])),
                is_copy: flag,
            },
        };
        (Print::read_le(&bytes[22..]), outcome)
    }
}

/// The first bytes.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|at| bytes[at])
}

/// The keys, texts and hashes of texts of all records, by position.
struct Texts {
    /// Followed by keys of documents of earlier runs.
    keys: StringFile,
    hashes: NumberFile<16>,
    /// For confirmation.
    texts: Option<StringFile>,
}

impl Texts {
    fn new(job: &FileJob) -> Result<Self> {
        let texts = job.dedup.confirm.is_some().then(StringFile::new).transpose()?;
        Ok(Self { keys: StringFile::new()?, hashes: NumberFile::new()?, texts })
    }

    fn push(&mut self, key: &str, text: &str, text_hash: u128) -> Result<()> {
        self.keys.push(key)?;
        self.hashes.push(text_hash.to_le_bytes())?;
        self.texts.as_mut().map_or(Ok(0), |texts| texts.push(text)).map(drop)
    }

    fn hash(&mut self, position: u64) -> Result<u128> {
        self.hashes.get(position).map(u128::from_le_bytes)
    }

    /// Empty without confirmation.
    fn text(&mut self, position: u64) -> Result<String> {
        self.texts.as_mut().map_or(Ok(String::new()), |texts| texts.get(position))
    }
}

/// The data of all documents between the passes.
struct Ranking<F> {
    texts: Texts,
    documents: Sorter<Ranked<F>>,
    decided: Sorter<Decided<F>>,
    folder: WorkFolder,
}

/// Ranks all records, decides them, and writes the kept documents.
pub(super) fn run<F: Fingerprint>(
    run: &mut WritingJob<'_, F>,
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
    let (decided, mut texts) = ranking.decide(run, &mut || report(&run.counts, at))?;
    let mut second = reader.again(run.job.reader.clone())?;
    write(run, &mut second, &decided, &mut texts, report)
}

impl<F: Fingerprint> Ranking<F> {
    fn new(job: &FileJob) -> Result<Self> {
        let folder = WorkFolder::new()?;
        let options = &job.dedup.engine;
        let memory = options.get_memory_bytes() / 4;
        Ok(Self {
            texts: Texts::new(job)?,
            documents: Sorter::in_folder(folder.path(), 0, memory, options.get_threads())?,
            decided: Sorter::in_folder(folder.path(), 1, memory, options.get_threads())?,
            folder,
        })
    }

    /// The first pass. Numbers all records by their positions.
    fn read(&mut self, run: &WritingJob<'_, F>, reader: &mut Reader, report: Report<'_>) -> Result<()> {
        let fingerprinter = run.deduplicator.fingerprinter();
        let (by, mut position) = ((&fingerprinter, run.job.dedup.engine.get_threads()), 0u64);
        fingerprinting::each_document(reader, by, run.job.dedup.confirm, |block, at| {
            for prepared in block {
                self.add(run, position, prepared)?;
                position += 1;
            }
            report_progress(report, &run.counts, at)
        })
    }

    fn add(
        &mut self,
        run: &WritingJob<'_, F>,
        position: u64,
        prepared: Prepared<Fingerprinted<F>>,
    ) -> Result<()> {
        let (record, fingerprinted) = match prepared.record {
            Ok(made) => made,
            Err(bad) if run.job.rejects.is_none() => return Err(bad_record(&bad)),
            Err(_) => return self.texts.push("", "", 0),
        };
        self.texts.push(&record.key, &record.text, fingerprinted.text_hash)?;
        let print = Print { fingerprint: fingerprinted.value, comparable: fingerprinted.comparable() };
        if run.deduplicator.is_too_short(&fingerprinted) {
            self.decided.push(SortRow { by: [position], value: (print, Outcome::SetAside) })?;
        } else {
            self.documents.push(SortRow { by: [rank(&run.job.keep, &record), position], value: print })?;
        }
        Ok(())
    }

    /// Decides documents in the order of their ranks. Returns the outcomes by position, and the
    /// keys that they refer to.
    fn decide(
        self,
        run: &WritingJob<'_, F>,
        report: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<(Sorted<Decided<F>>, Texts)> {
        let Self { texts, documents, mut decided, folder } = self;
        let measure = run.deduplicator.measure();
        let (path, schema) = (folder.path().join(DECIDED), measure.recipe.schema().k(measure.k));
        let writer = run.job.dedup.engine.create::<F>(path, &schema)?.writer()?;
        let mut decider = Decider {
            measure,
            fingerprinter: run.deduplicator.fingerprinter(),
            known: run.deduplicator.known_before(run.first_sequence())?,
            kept: BestDocuments { writer, texts },
        };
        documents.finish()?.for_each_block(|block| {
            for &SortRow { by: [_, position], value: print } in block {
                let outcome = decider.decide(position, print)?;
                decided.push(SortRow { by: [position], value: (print, outcome) })?;
            }
            // Commits bound the memory. This database is never opened again.
            decider.kept.writer.commit()?;
            if report().is_break() { Err(Error::INTERRUPTED) } else { Ok(()) }
        })?;
        Ok((decided.finish()?, decider.kept.texts))
    }
}

/// The documents kept so far, with their positions as ids.
struct BestDocuments<F: Fingerprint> {
    writer: Writer<F>,
    texts: Texts,
}

impl<F: Fingerprint> KeptDocuments<F> for BestDocuments<F> {
    fn query(&mut self, fingerprint: F, k: u32) -> Result<Vec<Match<F>>> {
        let mut found = self.writer.query(fingerprint, k)?;
        found.sort_by_key(|found| found.distance);
        Ok(found)
    }

    fn candidates(&mut self, row: Match<F>, document: Document<'_, F>) -> Result<Vec<Candidate>> {
        Ok(vec![Candidate {
            distance: row.distance,
            has_same_fingerprint: row.fingerprint == document.stored_fingerprint(),
            sequence: row.id,
            key: self.texts.keys.get(row.id)?,
            stored: Stored::hash(self.texts.hash(row.id)?),
        }])
    }

    fn text_of(&mut self, candidate: &Candidate) -> Result<String> {
        self.texts.text(candidate.sequence)
    }
}

/// Decides documents in the order of their ranks.
struct Decider<'a, F: Fingerprint> {
    measure: &'a Measure,
    fingerprinter: Fingerprinter<F>,
    /// The documents of earlier runs.
    known: Option<KnownDocuments<F>>,
    kept: BestDocuments<F>,
}

impl<F: Fingerprint> Decider<'_, F> {
    fn decide(&mut self, position: u64, Print { fingerprint, comparable }: Print<F>) -> Result<Outcome> {
        let texts = &mut self.kept.texts;
        let (key, text) = (texts.keys.get(position)?, texts.text(position)?);
        let text_hash = texts.hash(position)?;
        let document = Document { key: &key, text: &text, text_hash, fingerprint, comparable };
        let known = match &mut self.known {
            Some(known) => known.nearest(document, self.measure)?.map(|near| (near, true)),
            None => Verdict::New,
        };
        let fresh = self.kept.nearest(document, self.measure)?.map(|near| (near, false));
        let verdict = known.or_nearer(fresh, |(near, _)| near.distance);
        let Verdict::Near((near, is_known), similarity) = verdict else {
            self.kept.writer.insert(Row { fingerprint: document.stored_fingerprint(), id: position })?;
            return Ok(Outcome::Kept { is_unconfirmed: verdict == Verdict::Unconfirmed });
        };
        let is_copy = near.is_copied_by(document, &mut self.fingerprinter)?;
        let of = if is_known { self.kept.texts.keys.push(&near.key)? } else { near.sequence };
        Ok(Outcome::Duplicate { of, distance: near.distance, similarity, is_copy })
    }
}

/// The rank of a document; smaller is better.
fn rank(keep: &Keep, record: &Record) -> u64 {
    match keep {
        Keep::First => 0,
        Keep::Longest => u64::MAX - record.text.chars().count() as u64,
        Keep::Max(_) => {
            // The bits of positive floats are in the order of the numbers, the bits of negative floats
            // in the reverse order. Adding zero turns the negative zero into the positive one.
            let bits = (record.value.unwrap_or(f64::NEG_INFINITY) + 0.0).to_bits();
            let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
            !ascending
        }
    }
}

/// The second pass: writes documents and duplicates in input order.
fn write<F: Fingerprint>(
    run: &mut WritingJob<'_, F>,
    reader: &mut Reader,
    decided: &Sorted<Decided<F>>,
    texts: &mut Texts,
    report: Report<'_>,
) -> Result<()> {
    // The files of a resumed run have these records already.
    run.skip(reader)?;
    let mut next = run.counts.records;
    decided.for_each_block(|block| {
        for decided in block {
            let [position] = decided.by;
            while next <= position {
                let item = reader.next_item()?.ok_or(InputSetProblem::ChangedBetweenPasses)?;
                run.count(item.digest());
                next += 1;
                match checked(item, run.job.dedup.confirm) {
                    Item::Bad(bad) => run.reject(&bad)?,
                    Item::Record(record) if next > position => write_document(run, &record, decided, texts)?,
                    Item::Record(_) => return Err(InputSetProblem::ChangedBetweenPasses.into()),
                }
            }
        }
        run.checkpoint_if_due()?;
        report_progress(report, &run.counts, reader.position())
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

fn write_document<F: Fingerprint>(
    run: &mut WritingJob<'_, F>,
    record: &Record,
    &SortRow { by: [position], value: (Print { fingerprint, comparable }, outcome) }: &Decided<F>,
    texts: &mut Texts,
) -> Result<()> {
    run.counts.invalid_utf8 += u64::from(record.invalid_utf8);
    if outcome != Outcome::SetAside {
        run.counts.push_comparable(comparable);
    }
    match outcome {
        Outcome::SetAside => run.set_aside(record.raw()),
        Outcome::Kept { is_unconfirmed } => {
            run.counts.unconfirmed += u64::from(is_unconfirmed);
            let Record { key, text, .. } = record;
            let text_hash = texts.hash(position)?;
            run.keep(Document { key, text, text_hash, fingerprint, comparable }, record)
        }
        Outcome::Duplicate { of, distance, similarity, is_copy } => {
            let original = Original { key: texts.keys.get(of)?, distance, similarity, is_copy };
            run.leave_out(fingerprint, record, &original)
        }
    }
}
