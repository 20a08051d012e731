//! Removes repeated units from documents: one pass, in input order.

use std::ops::Range;

use super::fingerprinting::{preparing, with_valid_key};
use super::recent::RecentTexts;
use super::writing::{Repeats, WritingJob};
use crate::dedup::decide::Document;
use crate::dedup::job::Report;
use crate::dedup::unit::{TrimRules, Unit};
use crate::documents::{self, Reader, Record};
use crate::error::Result;
use crate::recipe::{AnyFingerprinter, Fingerprinted};
use nearprint::any::AnyFingerprint;

/// The fingerprint of a unit that has enough tokens and features.
struct UnitFingerprint {
    key: String,
    place: Range<usize>,
    fingerprinted: Fingerprinted<AnyFingerprint>,
}

impl UnitFingerprint {
    /// The unit of a record as what is compared.
    fn document<'a>(&'a self, record: &'a Record) -> Document<'a> {
        Document::new(&self.key, &record.text[self.place.clone()], &self.fingerprinted)
    }
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
                let key = Unit::key(&record.key, number);
                units.push(UnitFingerprint { key, place, fingerprinted });
            }
        });
        units
    };
    let more_key_bytes = Unit::MORE_KEY_BYTES * if rules.from > 2 { 2 } else { 1 };
    let work = preparing(|item| with_valid_key(item, more_key_bytes), make);
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
    // The document stores its units from here on.
    let own = run.deduplicator.next_sequence();
    if rules.min_left > 0.0 {
        let before = run.counts;
        let repeats = units.iter().map(|unit| repeats_of(run, rules, unit.document(record), own));
        let repeats = repeats.collect::<Result<Vec<_>>>()?;
        let repeated = units.iter().zip(&repeats).filter(|(_, found)| found.original.is_some());
        let gone: usize = repeated.map(|(unit, _)| unit.place.len()).sum();
        if share_left(record, record.text.len() - gone) < rules.min_left {
            return take_hollow(run, rules, record, (units, &repeats), own);
        }
        // Everything is looked up again, together with what the document repeats of itself.
        run.counts = before;
    }
    let mut removed = Vec::new();
    for unit in units {
        let document = unit.document(record);
        let repeats = repeats_of(run, rules, document, own)?;
        match &repeats.original {
            Some(original) => {
                run.remove_unit(document, original, own)?;
                removed.push(unit.place.clone());
            }
            None if repeats.is_kept => {}
            None => keep(run, document, &repeats, own)?,
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

/// What is kept near a unit, whose document stores its units from the sequence number `own` on.
fn repeats_of(
    run: &mut WritingJob<'_>,
    rules: TrimRules,
    document: Document<'_>,
    own: u64,
) -> Result<Repeats> {
    match rules.from {
        0..=2 => Ok(Repeats { original: run.original_of(document)?, ..Repeats::default() }),
        from => run.often_repeated(document, own, from),
    }
}

/// Remembers a unit. Documents are counted by the keys of their units: one with the key of another has a mark.
fn keep(run: &mut WritingJob<'_>, document: Document<'_>, repeats: &Repeats, own: u64) -> Result<()> {
    if !repeats.has_namesake {
        return run.keep_unit(document);
    }
    let key = Unit::marked(document.key, own);
    run.keep_unit(Document { key: &key, ..document })
}

/// Where earlier documents leave too little of one, writes it whole, or leaves it out whole.
fn take_hollow(
    run: &mut WritingJob<'_>,
    rules: TrimRules,
    record: &Record,
    (units, repeats): (&[UnitFingerprint], &[Repeats]),
    own: u64,
) -> Result<()> {
    run.counts.units.hollow += 1;
    let mut rest = record.text.len();
    for (unit, repeats) in units.iter().zip(repeats) {
        let document = unit.document(record);
        match (rules.keeps_hollow, &repeats.original) {
            (true, None) => keep(run, document, repeats, own)?,
            (false, Some(original)) => {
                rest -= document.text.len();
                run.remove_unit(document, original, own)?;
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
