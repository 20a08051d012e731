//! Keeps the best of several near-duplicates, and counts them: two passes.
//!
//! The first pass reads all documents and ranks them. They are then decided in the order of their
//! ranks, as if they came in that order. The second pass writes them in input order.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::fingerprinting::{Prepared, bad_record, checked, preparing_documents};
use super::ranked_record::{Outcome, RankedRecord};
use super::writing::WritingJob;
use crate::dedup::decide::{
    AnyMatch, Candidate, Compared, Deduplicator, Document, Judge, KeptDocuments, KnownDocuments, Measure,
    Original, Outlines, Stored, Verdict, nearest_of,
};
use crate::dedup::job::{FileJob, Report, report_progress};
use crate::dedup::order::{Keep, Ranking};
use crate::dedup::temporary::{DECIDED, RecordFile, StringFile, WorkFolder};
use crate::documents::{self, BadRecord, Format, InputFile, Item, Reader, Record};
use crate::error::{Error, InputSetProblem, Result};
use crate::recipe::{AnyFingerprinter, Features, Fingerprinted};
use nearprint::any::{AnyFingerprint, AnyWriter, NewRows};
use nearprint::{BandDistances, KeyStorage, Width};
use xxhash_rust::xxh3::Xxh3;

/// Records of the second pass that are read at once, and between two reports.
const BLOCK_RECORDS: u64 = 1000;

/// Checks that the inputs can be read twice.
///
/// # Errors
/// [`Error::InputSet`] with [`ReadOnce`](InputSetProblem::ReadOnce).
pub(crate) fn check_inputs(inputs: &[PathBuf]) -> Result<()> {
    let is_stream = |path: &PathBuf| path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    match inputs.iter().find(|path| is_stream(path) && *path != Path::new("-")) {
        Some(path) => Err(InputSetProblem::ReadOnce { path: path.clone() }.into()),
        None => Ok(()),
    }
}

/// Ranks all records, decides them, and writes the kept documents.
pub(crate) fn run(run: &mut WritingJob<'_>, reader: &mut Reader, report: Report<'_>) -> Result<()> {
    let mut first = FirstPass::new(run)?;
    let files = reader.inputs().to_vec();
    first.sources = lists_paths(run.job, reader).then(Vec::new);
    first.read(run, &files, reader, report)?;
    let at = reader.position();
    let mut options = run.job.reader.clone();
    if let Some(sources) = first.sources.take() {
        run.counts.invalid_utf8 += first.invalid_utf8;
        options.listed = Some(sources.into());
    }
    let others = run.deduplicator.take_others();
    let mut records = first.decide(run, others, &mut || report(&run.counts, at))?;
    let mut second = reader.again(options)?;
    write(run, &mut second, &mut records, report)
}

/// Whether the second pass needs no more of the documents than their paths.
fn lists_paths(job: &FileJob, reader: &Reader) -> bool {
    let reads_texts = job.dedup.similarity_of_texts(&job.dedup.recipe).is_some();
    reader.format() == Format::Text && job.database.is_none() && !reads_texts
}

/// All records, by position. In temporary files.
struct Records {
    width: Width,
    /// Followed by keys of documents of earlier runs.
    keys: StringFile,
    /// If they are compared.
    texts: Option<StringFile>,
    /// Sets of features, if they are compared.
    features: Option<StringFile>,
    /// See [`RankedRecord`].
    records: RecordFile,
    /// The number of near-duplicates of each document, if that is wanted.
    followers: Option<RecordFile>,
}

impl Records {
    fn new(measure: &Measure, counts_followers: bool) -> Result<Self> {
        let strings = |is_needed: bool| is_needed.then(StringFile::new).transpose();
        let width = measure.recipe.width();
        let records = RecordFile::new(RankedRecord::len_bytes(width) as u64)?;
        Ok(Self {
            width,
            keys: StringFile::new()?,
            texts: strings(matches!(measure.judge, Judge::Texts(_)))?,
            features: strings(measure.makes_features)?,
            records,
            followers: counts_followers.then(|| RecordFile::new(8)).transpose()?,
        })
    }

    fn push(&mut self, (key, text, features): (&str, &str, &Features), record: RankedRecord) -> Result<()> {
        self.keys.push(key)?;
        self.texts.as_mut().map_or(Ok(0), |texts| texts.push(text))?;
        self.features.as_mut().map_or(Ok(0), |sets| sets.push_bytes(&features.to_listed_bytes()))?;
        self.followers.as_mut().map_or(Ok(()), |counts| counts.push(&[0; 8]))?;
        self.records.push(&record.to_bytes())
    }

    fn get(&mut self, position: u64) -> Result<RankedRecord> {
        Ok(RankedRecord::from_bytes(&self.records.get(position..position + 1)?))
    }

    /// The records from a position on, as many as are read at once.
    fn block(&mut self, position: u64) -> Result<Vec<RankedRecord>> {
        let end = (position + BLOCK_RECORDS).min(self.records.count).max(position);
        let bytes = self.records.get(position..end)?;
        Ok(bytes.chunks_exact(RankedRecord::len_bytes(self.width)).map(RankedRecord::from_bytes).collect())
    }

    /// A hash of all records and of what becomes of them.
    fn decisions(&mut self) -> Result<u64> {
        let (mut hash, mut position) = (Xxh3::new(), 0);
        while position < self.records.count {
            for record in self.block(position)? {
                position += 1;
                hash.update(&record.to_bytes());
                // A document that is no input has a key alone.
                if let Outcome::Duplicate { of, .. } = record.outcome
                    && of >= self.records.count
                {
                    hash.update(self.keys.get(of)?.as_bytes());
                }
            }
        }
        Ok(hash.digest())
    }

    /// Empty if texts are not compared.
    fn text(&mut self, position: u64) -> Result<String> {
        self.texts.as_mut().map_or(Ok(String::new()), |texts| texts.get(position))
    }

    /// Counts a near-duplicate of the document at a position.
    fn add_follower(&mut self, position: u64) -> Result<()> {
        let count = self.group_size(position)?;
        self.followers
            .as_mut()
            .zip(count)
            .map_or(Ok(()), |(counts, count)| counts.set(position, &count.to_le_bytes()))
    }

    /// The documents that have the same kept one as the document at a position, if they are counted.
    fn group_size(&mut self, kept: u64) -> Result<Option<u64>> {
        let Some(counts) = &mut self.followers else { return Ok(None) };
        let count = counts.get(kept..kept + 1)?;
        Ok(Some(1 + count.first_chunk().map_or(0, |count| u64::from_le_bytes(*count))))
    }

    /// Empty if no features are compared.
    fn features(&mut self, position: u64) -> Result<Features> {
        let bytes = self.features.as_mut().map_or(Ok(Vec::new()), |sets| sets.get_bytes(position))?;
        Ok(Features::from_listed_bytes(&bytes))
    }
}

/// The first pass: reads all documents and ranks them.
struct FirstPass {
    records: Records,
    ranking: Ranking,
    folder: WorkFolder,
    /// The places of the inputs that have a record, if documents are files, and none of them is bad.
    sources: Option<Vec<usize>>,
    invalid_utf8: u64,
}

impl FirstPass {
    fn new(run: &WritingJob<'_>) -> Result<Self> {
        let records = Records::new(run.deduplicator.measure(), run.job.group_size)?;
        let folder = WorkFolder::new()?;
        let ranking =
            Ranking::new(run.job.keep.as_ref().unwrap_or(&Keep::First), &run.job.dedup.engine, &folder)?;
        Ok(Self { records, ranking, folder, sources: None, invalid_utf8: 0 })
    }

    fn read(
        &mut self,
        run: &WritingJob<'_>,
        files: &[InputFile],
        reader: &mut Reader,
        report: Report<'_>,
    ) -> Result<()> {
        let (fingerprinter, options) = (run.deduplicator.fingerprinter(), &run.job.dedup);
        let (work, threads) = (preparing_documents(options.similarity, true), options.engine.get_threads());
        documents::each(
            reader,
            threads,
            || fingerprinter.clone(),
            work,
            |block, at| {
                block.into_iter().try_for_each(|Prepared { record, .. }| self.add(run, files, record))?;
                report_progress(report, &run.counts, at)
            },
        )
    }

    fn add(
        &mut self,
        run: &WritingJob<'_>,
        files: &[InputFile],
        record: Result<(Record, Fingerprinted<AnyFingerprint>), BadRecord>,
    ) -> Result<()> {
        let (record, fingerprinted) = match record {
            Ok(made) => made,
            Err(bad) if !bad.is_dropped && run.job.rejects.is_none() => return Err(bad_record(&bad)),
            Err(_) => {
                self.sources = None;
                self.ranking.skip(None)?;
                return self
                    .records
                    .push(("", "", &Features::default()), RankedRecord::bad(self.records.width));
            }
        };
        self.invalid_utf8 += u64::from(record.invalid_utf8);
        if let Some(sources) = &mut self.sources {
            sources.push(record.source);
        }
        let mut ranked = RankedRecord::new(&fingerprinted);
        if !record.is_missing && run.deduplicator.is_too_short(&fingerprinted) {
            ranked.outcome = Outcome::SetAside;
            self.ranking.skip(Some(&record))?;
        } else {
            self.ranking.push(&record, fingerprinted.num_tokens, &files[record.source])?;
        }
        self.records.push((&record.key, &record.text, &fingerprinted.features), ranked)
    }

    /// Decides documents in the order of their ranks.
    fn decide(
        self,
        run: &WritingJob<'_>,
        others: Vec<Deduplicator>,
        report: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Records> {
        let Self { records, ranking, folder, .. } = self;
        let measure = run.deduplicator.measure();
        let (path, schema) =
            (folder.path().join(DECIDED), measure.recipe.schema().k(measure.k).keys(KeyStorage::None));
        let mut ranked = RankedDocuments {
            measure,
            fingerprinter: run.deduplicator.fingerprinter(),
            known: run.deduplicator.known_before(run.first_sequence())?,
            others,
            compares_own: run.deduplicator.compares_own(),
            kept: BestDocuments {
                writer: run.job.dedup.engine.create_any(path, measure.recipe.width(), &schema)?.writer()?,
                records,
                outlines: Outlines::default(),
            },
        };
        ranking.for_each_block(|block| {
            block.iter().try_for_each(|&position| ranked.decide(position))?;
            // Commits bound the memory. This database is never opened again.
            ranked.kept.writer.commit()?;
            if report().is_break() { Err(Error::INTERRUPTED) } else { Ok(()) }
        })?;
        Ok(ranked.kept.records)
    }
}

/// The documents kept so far, with their positions as ids.
struct BestDocuments {
    writer: AnyWriter,
    records: Records,
    outlines: Outlines,
}

impl KeptDocuments for BestDocuments {
    fn outlines(&mut self) -> &mut Outlines {
        &mut self.outlines
    }

    fn query(&mut self, fingerprint: AnyFingerprint, k: u32) -> Result<Vec<AnyMatch>> {
        Ok(self.writer.matches(fingerprint, k)?)
    }

    fn query_by_bands(
        &mut self,
        fingerprint: AnyFingerprint,
        distances: &BandDistances,
    ) -> Result<Vec<AnyMatch>> {
        Ok(self.writer.matches_by_bands(fingerprint, distances)?)
    }

    fn candidates(&mut self, row: AnyMatch, document: Document<'_>) -> Result<Vec<Candidate>> {
        Ok(vec![Candidate {
            distance: row.distance,
            has_same_fingerprint: row.fingerprint == document.stored_fingerprint(),
            sequence: row.id,
            is_known: false,
            position: Some(row.id),
            is_read: true,
            key: self.records.keys.get(row.id)?,
            stored: Stored::hash(self.records.get(row.id)?.text_hash),
        }])
    }

    fn text_of(&mut self, candidate: &Candidate) -> Result<String> {
        self.records.text(candidate.sequence)
    }

    fn features_of(&mut self, candidate: &Candidate) -> Result<Option<Features>> {
        self.records.features(candidate.sequence).map(Some)
    }
}

/// Decides documents in the order of their ranks.
struct RankedDocuments<'a> {
    measure: &'a Measure,
    fingerprinter: AnyFingerprinter,
    /// The documents of earlier runs.
    known: Option<KnownDocuments>,
    /// Other collections.
    others: Vec<Deduplicator>,
    /// Whether documents are compared with each other.
    compares_own: bool,
    kept: BestDocuments,
}

impl RankedDocuments<'_> {
    fn decide(&mut self, position: u64) -> Result<()> {
        let records = &mut self.kept.records;
        let mut record = records.get(position)?;
        let (key, text) = (records.keys.get(position)?, records.text(position)?);
        let features = records.features(position)?;
        let document = record.document(&key, &text, &features);
        let Self { measure, fingerprinter, .. } = self;
        let known = match &mut self.known {
            Some(known) => known.nearest(document, measure, fingerprinter)?,
            None => Verdict::New,
        };
        let known = nearest_of(&mut self.others, document, measure)?.or_nearer(known, measure);
        let fresh = match self.compares_own {
            true => self.kept.nearest(document, measure, fingerprinter)?,
            false => Verdict::New,
        };
        record.outcome = match known.or_nearer(fresh, measure).compared(document, fingerprinter)? {
            Compared::Near(Original { key, distance, similarity, is_copy, position, is_read, .. }) => {
                let of = position.map_or_else(|| self.kept.records.keys.push(&key), Ok)?;
                self.kept.records.add_follower(of)?;
                Outcome::Duplicate { of, distance, similarity, is_copy, is_read }
            }
            compared => {
                let fingerprint = document.stored_fingerprint();
                let row = NewRows {
                    fingerprints: fingerprint.words(),
                    ids: Some(&[position]),
                    ..NewRows::default()
                };
                self.kept.writer.insert(&row, &mut |_| Ok(()))?;
                let is_unconfirmed = matches!(compared, Compared::New { is_unconfirmed: true });
                Outcome::Kept { is_unconfirmed }
            }
        };
        self.kept.records.records.set(position, &record.to_bytes())
    }
}

/// The second pass: writes documents and duplicates in input order.
fn write(
    run: &mut WritingJob<'_>,
    reader: &mut Reader,
    records: &mut Records,
    report: Report<'_>,
) -> Result<()> {
    let changed = || InputSetProblem::ChangedBetweenPasses.into();
    // The files of a resumed run have these records already.
    run.skip(reader)?;
    if !run.deduplicator.is_temporary() {
        run.check_decisions(records.decisions()?)?;
    }
    let (count, mut block) = (records.records.count, Vec::new().into_iter());
    while let Some(item) = reader.next_item()? {
        if block.len() == 0 {
            block = records.block(run.counts.records)?.into_iter();
        }
        let ranked: RankedRecord = block.next().ok_or_else(changed)?;
        if let Item::Record(record) = &item {
            run.begin(record.source)?;
        }
        run.count(item.digest());
        match checked(item, run.job.dedup.similarity) {
            Item::Bad(bad) => run.reject(&bad)?,
            Item::Record(_) if ranked.outcome == Outcome::Bad => return Err(changed()),
            Item::Record(record) => write_document(run, &record, ranked, records)?,
        }
        if run.counts.records.is_multiple_of(BLOCK_RECORDS) {
            run.checkpoint_if_due()?;
            report_progress(report, &run.counts, reader.position())?;
        }
    }
    if run.counts.records != count {
        return Err(changed());
    }
    report_progress(report, &run.counts, reader.position())
}

fn write_document(
    run: &mut WritingJob<'_>,
    record: &Record,
    ranked: RankedRecord,
    records: &mut Records,
) -> Result<()> {
    run.counts.invalid_utf8 += u64::from(record.invalid_utf8);
    if ranked.outcome == Outcome::SetAside {
        return run.set_aside(record.raw(), record.may_have_mark());
    }
    run.counts.push_comparable(ranked.comparable);
    match ranked.outcome {
        Outcome::Duplicate { of, distance, similarity, is_copy, is_read } => {
            // A document of a database has a key behind those of all records.
            let is_known = of >= records.records.count;
            let (key, sequence) = (records.keys.get(of)?, if is_known { u64::MAX } else { of });
            let position = None;
            let original =
                Original { key, sequence, is_known, distance, similarity, is_copy, position, is_read };
            run.leave_out(ranked.fingerprint, record, &original, records.group_size(of)?)
        }
        outcome => {
            run.counts.unconfirmed += u64::from(outcome == Outcome::Kept { is_unconfirmed: true });
            // The record was counted before.
            let position = run.counts.records - 1;
            let features = records.features(position)?;
            let size = records.group_size(position)?;
            run.keep(ranked.document(&record.key, &record.text, &features), record, size)
        }
    }
}
