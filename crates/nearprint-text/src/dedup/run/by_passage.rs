//! Removes repeated passages from documents: one pass, in input order.
//!
//! A passage is a run of words. Each run of [`length`](crate::dedup::TrimRules::length) words, a *window*, that
//! is kept is stored by its hash of 128 bits; a window that is stored already is removed. So a repeated run is found
//! wherever it begins and ends, and what is removed stands, word for word, in what an earlier document keeps. Exact
//! substrings are what Lee et al. remove ("Deduplicating Training Data Makes Language Models Better", 2022) by a suffix
//! array of the whole corpus in memory.

use super::by_unit::share_left;
use super::fingerprinting::{preparing, with_valid_key};
use super::recent::RecentTexts;
use super::writing::WritingJob;
use crate::dedup::job::Report;
use crate::dedup::unit::{RemovedWords, Source, TrimRules, Unit, Words};
use crate::documents::{self, Reader, Record};
use crate::error::Result;
use crate::recipe::AnyFingerprinter;

/// Reads the remaining records, and writes them without the passages that were there before.
pub(crate) fn run(
    run: &mut WritingJob<'_>,
    rules: TrimRules,
    reader: &mut Reader,
    report: Report<'_>,
) -> Result<()> {
    run.skip(reader)?;
    let fingerprinter = run.deduplicator.fingerprinter();
    let make = |record: &mut Record, _: &RecentTexts, _: &mut AnyFingerprinter| {
        Words::of(&record.text, rules.length())
    };
    let work = preparing(|item| with_valid_key(item, Unit::MORE_KEY_BYTES), make);
    documents::each(
        reader,
        run.job.dedup.engine.get_threads(),
        || fingerprinter.clone(),
        work,
        |block, at| run.take(block, at, report, |run, record, words| take(run, rules, record, &words)),
    )
}

/// Decides the passages of a document, and writes what stays.
fn take(run: &mut WritingJob<'_>, rules: TrimRules, record: &Record, words: &Words) -> Result<()> {
    run.counts.units.text_bytes += record.text.len() as u64;
    run.counts.units.compared += words.count() as u64;
    let mut removed = RemovedWords::new(words);
    for (first, window) in words.windows().iter().enumerate() {
        if let Some(id) = run.deduplicator.id_with_passage(*window)? {
            removed.remove(first, Source::Earlier(id));
        }
    }
    let gone = removed.bytes();
    let is_hollow = share_left(record, record.text.len() - gone) < rules.min_left;
    run.counts.units.hollow += u64::from(is_hollow);
    if is_hollow && rules.keeps_hollow {
        run.deduplicator.remember_passages(&record.key, &removed.kept_windows())?;
        return run.write_rest(record, None);
    }
    if !is_hollow {
        removed.remove_own_repeats();
    }
    let runs = removed.runs();
    for (passage, source) in &runs {
        let number = (passage.start + 1).to_string();
        let of = match source {
            Source::Earlier(id) => run.deduplicator.key_with_passages(*id)?,
            Source::Own => None,
        };
        let (first, is_own) = (of.as_deref().unwrap_or(&record.key), of.is_none());
        let removed = (&*record.key, &*number);
        let (text, group) = (&record.text[words.place_of(passage)], words.hash_of_run(passage));
        run.remove((text, (&format!("{group:x}"), 0)), removed, (first, ""), is_own)?;
        run.counts.push_similarity(1.0, true);
    }
    if is_hollow {
        run.counts.units.removed_bytes += (record.text.len() - gone) as u64;
        run.counts.duplicates += 1;
        return Ok(());
    }
    run.deduplicator.remember_passages(&record.key, &removed.kept_windows())?;
    if runs.is_empty() {
        return run.write_rest(record, None);
    }
    let rest = removed.rest_of(&record.text);
    if !rest.contains(char::is_alphanumeric) {
        run.counts.duplicates += 1;
        return Ok(());
    }
    run.counts.units.push_left(share_left(record, rest.len()));
    run.write_rest(record, Some(&rest))
}
