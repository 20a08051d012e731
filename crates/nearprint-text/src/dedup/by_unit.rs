//! Removes repeated units from documents: one pass, in input order.

use std::ops::Range;

use super::candidates::{Document, Verdict};
use super::file_run::{FileRun, Original};
use super::fingerprinting::with_valid_key;
use super::recent::RecentTexts;
use super::report::{Report, report_progress};
use super::units::Unit;
use crate::documents::{self, BadRecord, Item, Reader, Record};
use crate::error::Result;
use crate::recipe::{Fingerprinted, Fingerprinter};
use nearprint::Fingerprint;

/// A record with the fingerprints of its units.
struct Prepared<F> {
    /// See [`Item::digest`].
    digest: u64,
    record: PreparedRecord<F>,
}

enum PreparedRecord<F> {
    Document(Record, Vec<PreparedUnit<F>>),
    Bad(BadRecord),
}

/// A unit that has enough tokens and features.
struct PreparedUnit<F> {
    /// Its number in the text, from 1.
    number: u64,
    place: Range<usize>,
    fingerprinted: Fingerprinted<F>,
}

/// Reads the remaining records, and writes them without the units that were there before.
pub(super) fn run<F: Fingerprint>(
    run: &mut FileRun<'_, F>,
    unit: Unit,
    reader: &mut Reader,
    report: Report<'_>,
) -> Result<()> {
    run.skip(reader)?;
    let (fingerprinter, recent) = (run.deduplicator.fingerprinter(), RecentTexts::new());
    let (threads, options) = (run.job.dedup.engine.get_threads(), &run.job.dedup);
    let prepare = |item: Item, fingerprinter: &mut Fingerprinter<F>| {
        let digest = item.digest();
        let record = match with_valid_key(item, Unit::MORE_KEY_BYTES) {
            Item::Record(record) => {
                let mut units = Vec::new();
                let mut number = 0;
                unit.for_each(&record.text, |place| {
                    number += 1;
                    let fingerprinted = recent.fingerprint(&record.text[place.clone()], fingerprinter);
                    if fingerprinted.num_tokens > 0 && !options.sets_aside(&fingerprinted) {
                        units.push(PreparedUnit { number, place, fingerprinted });
                    }
                });
                PreparedRecord::Document(record, units)
            }
            Item::Bad(bad) => PreparedRecord::Bad(bad),
        };
        Prepared { digest, record }
    };
    documents::each(
        reader,
        threads,
        || fingerprinter.clone(),
        prepare,
        |block, position| {
            for Prepared { digest, record } in block {
                run.count(digest);
                match record {
                    PreparedRecord::Document(record, units) => take(run, unit, &record, &units)?,
                    PreparedRecord::Bad(bad) => run.reject(&bad)?,
                }
            }
            run.checkpoint_if_due()?;
            report_progress(report, &run.counts, position)
        },
    )
}

/// Decides the units of a document, and writes what stays.
fn take<F: Fingerprint>(
    run: &mut FileRun<'_, F>,
    unit: Unit,
    record: &Record,
    units: &[PreparedUnit<F>],
) -> Result<()> {
    run.counts.invalid_utf8 += u64::from(record.invalid_utf8);
    run.counts.units.text_bytes += record.text.len() as u64;
    let mut removed = Vec::new();
    for PreparedUnit { number, place, fingerprinted } in units {
        let (key, text) = (Unit::key(&record.key, *number), &record.text[place.clone()]);
        let document = Document::new(&key, text, fingerprinted);
        run.counts.units.compared += 1;
        run.counts.push_comparable(document.comparable);
        match run.nearest_unit(document)? {
            Verdict::Near(near, similarity) => {
                let is_copy = run.deduplicator.is_copy(document, &near)?;
                let original = Original { key: &near.key, distance: near.distance, similarity, is_copy };
                run.remove_unit(document, &original)?;
                removed.push(place.clone());
            }
            verdict => {
                run.counts.unconfirmed += u64::from(verdict == Verdict::Unconfirmed);
                run.keep_unit(document)?;
            }
        }
    }
    if removed.is_empty() {
        return run.write_rest(record, None);
    }
    let rest = unit.without(&record.text, &removed);
    if rest.trim().is_empty() {
        run.counts.duplicates += 1;
        return Ok(());
    }
    run.write_rest(record, Some(&rest))
}
