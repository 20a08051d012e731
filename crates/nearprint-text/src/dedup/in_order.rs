//! Keeps the first of several near-duplicates: one pass, in input order.

use super::candidates::Document;
use super::fingerprinting::preparing_documents;
use super::report::Report;
use super::writing::WritingJob;
use crate::documents::{self, Reader, Record};
use crate::error::Result;
use crate::recipe::Fingerprinted;
use nearprint::Fingerprint;

/// Reads the remaining records, and keeps the new documents.
pub(super) fn run<F: Fingerprint>(
    run: &mut WritingJob<'_, F>,
    reader: &mut Reader,
    report: Report<'_>,
) -> Result<()> {
    run.skip(reader)?;
    let (fingerprinter, options) = (run.deduplicator.fingerprinter(), &run.job.dedup);
    let (threads, work) = (options.engine.get_threads(), preparing_documents(options.confirm));
    documents::each(
        reader,
        threads,
        || fingerprinter.clone(),
        work,
        |block, at| run.take(block, at, report, take),
    )
}

fn take<F: Fingerprint>(
    run: &mut WritingJob<'_, F>,
    record: &Record,
    fingerprinted: Fingerprinted<F>,
) -> Result<()> {
    if run.deduplicator.is_too_short(&fingerprinted) {
        return run.set_aside(record.raw());
    }
    let document = Document::new(&record.key, &record.text, &fingerprinted);
    match run.nearest(document)? {
        Some(original) => run.leave_out(document.fingerprint, record, &original, None),
        None => run.keep(document, record, None),
    }
}
