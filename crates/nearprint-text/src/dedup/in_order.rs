//! Keeps the first of several near-duplicates: one pass, in input order.

use super::candidates::{Document, Verdict};
use super::file_run::{FileRun, Original};
use super::fingerprinting::{self, Prepared, PreparedRecord};
use super::report::{Report, report_progress};
use crate::documents::Reader;
use crate::error::Result;
use nearprint::Fingerprint;

/// Reads the remaining records, and keeps the new documents.
pub(super) fn run<F: Fingerprint>(
    run: &mut FileRun<'_, F>,
    reader: &mut Reader,
    report: Report<'_>,
) -> Result<()> {
    run.skip(reader)?;
    let fingerprinter = run.deduplicator.fingerprinter();
    let (threads, confirm) = (run.job.dedup.engine.get_threads(), run.job.dedup.confirm);
    fingerprinting::each(reader, &fingerprinter, confirm, threads, |block, position| {
        for prepared in block {
            take(run, prepared)?;
        }
        run.checkpoint_if_due()?;
        report_progress(report, &run.counts, position)
    })
}

fn take<F: Fingerprint>(run: &mut FileRun<'_, F>, prepared: Prepared<F>) -> Result<()> {
    run.count(prepared.digest);
    let (record, fingerprinted) = match prepared.record {
        PreparedRecord::Document(record, fingerprinted) => (record, fingerprinted),
        PreparedRecord::Bad(bad) => return run.reject(&bad),
    };
    run.counts.invalid_utf8 += u64::from(record.invalid_utf8);
    if run.deduplicator.is_too_short(&fingerprinted) {
        return run.set_aside(record.raw());
    }
    run.counts.push_comparable(fingerprinted.comparable());
    let document = Document::new(&record.key, &record.text, &fingerprinted);
    let verdict = run.nearest(document)?;
    run.counts.unconfirmed += u64::from(verdict == Verdict::Unconfirmed);
    let Verdict::Near(near, similarity) = verdict else { return run.keep(document, &record) };
    let is_copy = run.deduplicator.is_copy(document, &near)?;
    let original = Original { key: &near.key, distance: near.distance, similarity, is_copy };
    run.leave_out(document.fingerprint, &record, &original)
}
