//! Keeps the first of several near-duplicates: one pass, in input order.

use super::fingerprinting::{Prepared, preparing_documents};
use super::writing::WritingJob;
use crate::dedup::decide::{Document, TOGETHER};
use crate::dedup::job::Report;
use crate::documents::{self, Position, Reader, Record};
use crate::error::Result;
use crate::recipe::Fingerprinted;
use nearprint::any::AnyFingerprint;

/// The most bytes of records that are decided together.
const BYTES_TOGETHER: usize = 16 << 20;

/// Reads the remaining records, and keeps the new documents.
pub(crate) fn run(run: &mut WritingJob<'_>, reader: &mut Reader, report: Report<'_>) -> Result<()> {
    run.skip(reader)?;
    let (fingerprinter, options) = (run.deduplicator.fingerprinter(), &run.job.dedup);
    let keeps_texts = run.deduplicator.reads_texts() || run.job.added.text.is_some();
    let (threads, work) =
        (options.engine.get_threads(), preparing_documents(options.similarity, keeps_texts));
    // Who writes to a pipe may wait for what becomes of each record.
    let may_wait = reader.inputs().iter().any(|input| input.stamp.is_none());
    let mut read = Blocks::default();
    let done = documents::each(
        reader,
        threads,
        || fingerprinter.clone(),
        work,
        |block, at| {
            read.push(block, at);
            // Without runs, deciding at once leaves no thread idle and holds few records.
            let is_due = read.are_many() || may_wait || !run.deduplicator.looks_ahead();
            if is_due { decide(run, &mut read, report) } else { Ok(()) }
        },
    );
    // What was read before an error, if it was no error of a decision.
    decide(run, &mut read, report).and(done)
}

/// Blocks of records that are decided together.
#[derive(Default)]
struct Blocks {
    blocks: Vec<(Vec<Prepared<Fingerprinted<AnyFingerprint>>>, Position)>,
    records: usize,
    bytes: usize,
}

impl Blocks {
    fn push(&mut self, block: Vec<Prepared<Fingerprinted<AnyFingerprint>>>, at: Position) {
        self.records += block.len();
        let len_bytes = |one: &Prepared<_>| match &one.record {
            Ok((record, _)) => record.raw().len(),
            Err(bad) => bad.raw.len(),
        };
        self.bytes += block.iter().map(len_bytes).sum::<usize>();
        self.blocks.push((block, at));
    }

    fn are_many(&self) -> bool {
        self.records >= TOGETHER || self.bytes >= BYTES_TOGETHER
    }
}

/// Decides all records of some blocks, and removes them.
fn decide(run: &mut WritingJob<'_>, read: &mut Blocks, report: Report<'_>) -> Result<()> {
    let Blocks { blocks, .. } = std::mem::take(read);
    if blocks.is_empty() {
        return Ok(());
    }
    let records = blocks.iter().flat_map(|(block, _)| block);
    run.deduplicator.look_ahead(records.filter_map(|one| one.record.as_ref().ok()).map(|(_, made)| made))?;
    blocks.into_iter().try_for_each(|(block, at)| run.take(block, at, report, take))
}

fn take(
    run: &mut WritingJob<'_>,
    record: &Record,
    fingerprinted: Fingerprinted<AnyFingerprint>,
) -> Result<()> {
    if !record.is_missing && run.deduplicator.is_too_short(&fingerprinted) {
        return run.set_aside(record.raw(), record.may_have_mark());
    }
    let document = Document::new(&record.key, &record.text, &fingerprinted);
    match run.original_of(document)? {
        Some(original) => run.leave_out(document.fingerprint, record, &original, None),
        None => run.keep(document, record, None),
    }
}
