//! Removes repeated units from documents: one pass, in input order.

use std::ops::Range;

use super::fingerprinting::{preparing, with_valid_key};
use super::recent::RecentTexts;
use super::writing::WritingJob;
use crate::dedup::decide::{Document, Original};
use crate::dedup::job::Report;
use crate::dedup::unit::{TrimRules, Unit};
use crate::documents::{self, Reader, Record};
use crate::error::Result;
use crate::recipe::{AnyFingerprinter, Fingerprinted};
use nearprint::any::AnyFingerprint;

/// The fingerprint of a unit that has enough tokens and features.
struct UnitFingerprint {
    /// Its number in the text, from 1.
    number: u64,
    place: Range<usize>,
    fingerprinted: Fingerprinted<AnyFingerprint>,
}

/// Reads the remaining records, and writes them without the units that were there before.
pub(crate) fn run(
    run: &mut WritingJob<'_>,
    rules: TrimRules,
    reader: &mut Reader,
    report: Report<'_>,
) -> Result<()> {
    run.skip(reader)?;
    let (fingerprinter, options) = (run.deduplicator.fingerprinter(), &run.job.dedup);
    let make = |record: &mut Record, recent: &RecentTexts, fingerprinter: &mut AnyFingerprinter| {
        let (mut units, mut number) = (Vec::new(), 0);
        rules.by.for_each(&record.text, |place| {
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
        |block, at| run.take(block, at, report, |run, record, units| take(run, rules, record, &units)),
    )
}

/// Decides the units of a document, and writes what stays.
fn take(
    run: &mut WritingJob<'_>,
    rules: TrimRules,
    record: &Record,
    units: &[UnitFingerprint],
) -> Result<()> {
    run.counts.units.text_bytes += record.text.len() as u64;
    run.counts.units.compared += units.len() as u64;
    if rules.min_left > 0.0 {
        let before = run.counts;
        let repeats = repeats_of_others(run, rules, record, units)?;
        let gone: usize = repeats.iter().map(|(unit, _)| unit.place.len()).sum();
        if share_left(record, record.text.len() - gone) < rules.min_left {
            return take_hollow(run, rules, record, units, &repeats);
        }
        // Everything is looked up again, together with what the document repeats of itself.
        run.counts = before;
    }
    let mut removed = Vec::new();
    for found in units {
        let (key, text) = (Unit::key(&record.key, found.number), &record.text[found.place.clone()]);
        let document = Document::new(&key, text, &found.fingerprinted);
        let (original, is_kept) = original_of(run, rules, document, &record.key)?;
        match original {
            Some(original) => {
                run.remove_unit(document, &original)?;
                removed.push(found.place.clone());
            }
            None if is_kept => {}
            None => run.keep_unit(document)?,
        }
    }
    if removed.is_empty() {
        return run.write_rest(record, None);
    }
    let rest = rules.by.without(&record.text, &removed);
    if !rest.contains(char::is_alphanumeric) {
        run.counts.duplicates += 1;
        return Ok(());
    }
    run.counts.units.push_left(share_left(record, rest.len()));
    run.write_rest(record, Some(&rest))
}

/// What a unit repeats, if it is to be removed, and whether its own document has it already and it stays.
fn original_of(
    run: &mut WritingJob<'_>,
    rules: TrimRules,
    document: Document<'_>,
    own: &str,
) -> Result<(Option<Original>, bool)> {
    match rules.from {
        0..=2 => Ok((run.original_of(document)?, false)),
        from => run.often_repeated(document, own, from),
    }
}

/// The units that earlier documents have, with what they repeat. Nothing of this document is remembered yet.
fn repeats_of_others<'a>(
    run: &mut WritingJob<'_>,
    rules: TrimRules,
    record: &Record,
    units: &'a [UnitFingerprint],
) -> Result<Vec<(&'a UnitFingerprint, Original)>> {
    let mut repeats = Vec::new();
    for found in units {
        let (key, text) = (Unit::key(&record.key, found.number), &record.text[found.place.clone()]);
        let document = Document::new(&key, text, &found.fingerprinted);
        let (original, _) = original_of(run, rules, document, &record.key)?;
        repeats.extend(original.map(|original| (found, original)));
    }
    Ok(repeats)
}

/// Where earlier documents leave too little of one, writes it whole, or leaves it out whole.
fn take_hollow(
    run: &mut WritingJob<'_>,
    rules: TrimRules,
    record: &Record,
    units: &[UnitFingerprint],
    repeats: &[(&UnitFingerprint, Original)],
) -> Result<()> {
    run.counts.units.hollow += 1;
    let mut repeats = repeats.iter().peekable();
    let mut rest = record.text.len();
    for found in units {
        let (key, text) = (Unit::key(&record.key, found.number), &record.text[found.place.clone()]);
        let document = Document::new(&key, text, &found.fingerprinted);
        let original = repeats.next_if(|(repeat, _)| repeat.number == found.number);
        match (rules.keeps_hollow, original) {
            (true, None) => run.keep_unit(document)?,
            (false, Some((_, original))) => {
                rest -= text.len();
                run.remove_unit(document, original)?;
            }
            _ => {}
        }
    }
    if rules.keeps_hollow {
        return run.write_rest(record, None);
    }
    run.counts.units.removed_bytes += rest as u64;
    run.counts.duplicates += 1;
    Ok(())
}

/// The share of its text that a document keeps. One without a text keeps all of it.
pub(super) fn share_left(record: &Record, left: usize) -> f64 {
    if record.text.is_empty() { 1.0 } else { left as f64 / record.text.len() as f64 }
}
