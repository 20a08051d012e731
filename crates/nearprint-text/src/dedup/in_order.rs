//! Keeps the first of several near-duplicates: one pass, in input order.

use super::candidates::Document;
use super::fingerprinting;
use super::report::Report;
use super::writing::WritingJob;
use crate::documents::{Reader, Record};
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
    let (fingerprinter, confirm) = (run.deduplicator.fingerprinter(), run.job.dedup.confirm);
    let by = (&fingerprinter, run.job.dedup.engine.get_threads());
    fingerprinting::each_document(reader, by, confirm, |block, at| run.take(block, at, report, take))
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
        Some(original) => run.leave_out(document.fingerprint, record, &original),
        None => run.keep(document, record),
    }
}
