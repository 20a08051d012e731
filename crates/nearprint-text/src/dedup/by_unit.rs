//! Removes repeated units from documents: one pass, in input order.

use std::ops::Range;

use super::candidates::Document;
use super::fingerprinting::{preparing, with_valid_key};
use super::recent::RecentTexts;
use super::report::Report;
use super::units::Unit;
use super::writing::WritingJob;
use crate::documents::{self, Reader, Record};
use crate::error::Result;
use crate::recipe::{Fingerprinted, Fingerprinter};
use nearprint::Fingerprint;

/// The fingerprint of a unit that has enough tokens and features.
struct UnitFingerprint<F> {
    /// Its number in the text, from 1.
    number: u64,
    place: Range<usize>,
    fingerprinted: Fingerprinted<F>,
}

/// Reads the remaining records, and writes them without the units that were there before.
pub(super) fn run<F: Fingerprint>(
    run: &mut WritingJob<'_, F>,
    unit: Unit,
    reader: &mut Reader,
    report: Report<'_>,
) -> Result<()> {
    run.skip(reader)?;
    let (fingerprinter, options) = (run.deduplicator.fingerprinter(), &run.job.dedup);
    let make = |record: &Record, recent: &RecentTexts<F>, fingerprinter: &mut Fingerprinter<F>| {
        let (mut units, mut number) = (Vec::new(), 0);
        unit.for_each(&record.text, |place| {
            number += 1;
            let fingerprinted = recent.fingerprint(&record.text[place.clone()], fingerprinter);
            if fingerprinted.num_tokens > 0 && !options.sets_aside(&fingerprinted) {
                units.push(UnitFingerprint { number, place, fingerprinted });
            }
        });
        units
    };
    let work = preparing(|item| with_valid_key(item, Unit::MORE_KEY_BYTES), make);
    documents::each(
        reader,
        options.engine.get_threads(),
        || fingerprinter.clone(),
        work,
        |block, at| run.take(block, at, report, |run, record, units| take(run, unit, record, &units)),
    )
}

/// Decides the units of a document, and writes what stays.
fn take<F: Fingerprint>(
    run: &mut WritingJob<'_, F>,
    unit: Unit,
    record: &Record,
    units: &[UnitFingerprint<F>],
) -> Result<()> {
    run.counts.units.text_bytes += record.text.len() as u64;
    let mut removed = Vec::new();
    for UnitFingerprint { number, place, fingerprinted } in units {
        let (key, text) = (Unit::key(&record.key, *number), &record.text[place.clone()]);
        let document = Document::new(&key, text, fingerprinted);
        run.counts.units.compared += 1;
        match run.nearest(document)? {
            Some(original) => {
                run.remove_unit(document, &original)?;
                removed.push(place.clone());
            }
            None => run.keep_unit(document)?,
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
