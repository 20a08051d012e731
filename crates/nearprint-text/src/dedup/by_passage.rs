//! Removes repeated passages from documents: one pass, in input order.
//!
//! A passage is a run of words. Each run of [`min_words`](super::UnitRules::min_words) words, a *window*, that is kept
//! is stored by its hash of 128 bits; a window that is stored already is removed. So a repeated run is found
//! wherever it begins and ends, and what is removed stands, word for word, in what an earlier document keeps.
//! Exact substrings are what Lee et al. remove ("Deduplicating Training Data Makes Language Models Better", 2022) by a
//! suffix array of the whole corpus in memory.

use std::collections::HashSet;
use std::ops::Range;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::fingerprinting::{preparing, with_valid_key};
use super::recent::RecentTexts;
use super::report::Report;
use super::units::Unit;
use super::writing::WritingJob;
use crate::documents::{self, Reader, Record};
use crate::error::Result;
use crate::recipe::{Fingerprinter, Tokens, pieces};
use nearprint::Fingerprint;

/// The words of a text, and its windows.
struct Words<F> {
    places: Vec<Range<usize>>,
    /// The hashes of the windows that begin at the first words.
    windows: Vec<F>,
}

impl<F: Fingerprint> Words<F> {
    fn of(text: &str, min_words: usize) -> Self {
        let (mut places, mut hashes) = (Vec::new(), Vec::new());
        let (mut start, mut lower) = (0, String::new());
        for (piece, is_word) in pieces(text) {
            if is_word {
                places.push(start..start + piece.len());
                hashes.extend(hash_of(piece, &mut lower).to_le_bytes());
            }
            start += piece.len();
        }
        let windows = hashes.windows(8 * min_words).step_by(8).map(|window| {
            let hash = xxh3_128(window);
            #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
            let words = [hash as u64, (hash >> 64) as u64, 0, 0];
            F::from_le_words(&words[..F::WIDTH.words()])
        });
        Self { windows: windows.collect(), places }
    }
}

/// The hash of a word in lower case, as the default recipe cleans it.
fn hash_of(word: &str, lower: &mut String) -> u64 {
    if !word.is_ascii() {
        return xxh3_64(Tokens::of_text(word).all().as_bytes());
    }
    lower.clear();
    lower.push_str(word);
    lower.make_ascii_lowercase();
    xxh3_64(lower.as_bytes())
}

/// Who has a word that is removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The document with this id.
    Earlier(u64),
    /// The same document.
    Own,
}

/// Reads the remaining records, and writes them without the passages that were there before.
pub(super) fn run<F: Fingerprint>(
    run: &mut WritingJob<'_, F>,
    reader: &mut Reader,
    report: Report<'_>,
) -> Result<()> {
    run.skip(reader)?;
    let (fingerprinter, min_words) = (run.deduplicator.fingerprinter(), run.job.unit_rules.min_words);
    let make = |record: &mut Record, _: &RecentTexts<F>, _: &mut Fingerprinter<F>| {
        Words::<F>::of(&record.text, min_words)
    };
    let work = preparing(|item| with_valid_key(item, Unit::MORE_KEY_BYTES), make);
    documents::each(
        reader,
        run.job.dedup.engine.get_threads(),
        || fingerprinter.clone(),
        work,
        |block, at| run.take(block, at, report, |run, record, words| take(run, record, &words)),
    )
}

/// Decides the passages of a document, and writes what stays.
fn take<F: Fingerprint>(run: &mut WritingJob<'_, F>, record: &Record, words: &Words<F>) -> Result<()> {
    let rules = run.job.unit_rules;
    run.counts.units.text_bytes += record.text.len() as u64;
    run.counts.units.compared += words.places.len() as u64;
    let mut sources = vec![None; words.places.len()];
    for (first, window) in words.windows.iter().enumerate() {
        if let Some(id) = run.deduplicator.id_with_passage(*window)? {
            mark(&mut sources, first..first + rules.min_words, Source::Earlier(id));
        }
    }
    let gone = bytes_of(&runs(&sources), words);
    let share_left = (record.text.len() - gone) as f64 / (record.text.len() as f64).max(1.0);
    let is_hollow = share_left < rules.min_left;
    run.counts.units.hollow += u64::from(is_hollow);
    if is_hollow && rules.keeps_hollow {
        run.deduplicator.remember_passages(&record.key, &kept_windows(&sources, words, rules.min_words))?;
        return run.write_rest(record, None);
    }
    if !is_hollow {
        mark_own_repeats(&mut sources, words, rules.min_words);
    }
    let removed = runs(&sources);
    for passage in &removed {
        let place = words.places[passage.start].start..words.places[passage.end - 1].end;
        let key = Unit::key(&record.key, passage.start as u64 + 1);
        let of = match sources[passage.start] {
            Some(Source::Earlier(id)) => run.deduplicator.key_with_passages(id)?,
            _ => None,
        };
        run.remove_passage(&key, &record.text[place], of.as_deref(), &record.key)?;
    }
    if is_hollow {
        run.counts.units.removed_bytes += (record.text.len() - gone) as u64;
        run.counts.duplicates += 1;
        return Ok(());
    }
    run.deduplicator.remember_passages(&record.key, &kept_windows(&sources, words, rules.min_words))?;
    if removed.is_empty() {
        return run.write_rest(record, None);
    }
    let rest = without(&record.text, &removed, words);
    if rest.trim().is_empty() {
        run.counts.duplicates += 1;
        return Ok(());
    }
    run.counts.units.push_left(rest.len() as f64 / (record.text.len() as f64).max(1.0));
    run.write_rest(record, Some(&rest))
}

/// Marks words, unless they are marked.
fn mark(sources: &mut [Option<Source>], words: Range<usize>, source: Source) {
    sources[words].iter_mut().for_each(|word| *word = word.or(Some(source)));
}

/// Marks the windows whose words the document has already had, in words that are kept.
fn mark_own_repeats<F: Fingerprint>(sources: &mut [Option<Source>], words: &Words<F>, min_words: usize) {
    let (mut known, mut num_kept) = (HashSet::new(), 0);
    for (first, window) in words.windows.iter().enumerate() {
        if num_kept >= min_words {
            known.insert(words.windows[first - min_words]);
        }
        if known.contains(window) {
            mark(sources, first..first + min_words, Source::Own);
        }
        num_kept = if sources[first].is_none() { num_kept + 1 } else { 0 };
    }
}

/// The windows without a removed word.
fn kept_windows<F: Fingerprint>(sources: &[Option<Source>], words: &Words<F>, min_words: usize) -> Vec<F> {
    let (mut kept, mut num_kept) = (Vec::new(), 0);
    for (last, source) in sources.iter().enumerate() {
        num_kept = if source.is_none() { num_kept + 1 } else { 0 };
        if num_kept >= min_words {
            kept.push(words.windows[last + 1 - min_words]);
        }
    }
    kept
}

/// The runs of words that are removed.
fn runs(sources: &[Option<Source>]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (word, _) in sources.iter().enumerate().filter(|(_, source)| source.is_some()) {
        match runs.last_mut() {
            Some(last) if last.end == word => last.end += 1,
            _ => runs.push(word..word + 1),
        }
    }
    runs
}

/// The place in the text that goes with a run: its words, and what separates it from the next word.
fn place_of<F>(run: &Range<usize>, words: &Words<F>) -> Range<usize> {
    let end = words.places.get(run.end).map_or(words.places[run.end - 1].end, |next| next.start);
    words.places[run.start].start..end
}

fn bytes_of<F>(runs: &[Range<usize>], words: &Words<F>) -> usize {
    runs.iter().map(|run| place_of(run, words).len()).sum()
}

/// The text without the words of some runs.
fn without<F>(text: &str, runs: &[Range<usize>], words: &Words<F>) -> String {
    let (mut rest, mut end) = (String::with_capacity(text.len()), 0);
    for run in runs {
        let place = place_of(run, words);
        rest.push_str(&text[end..place.start]);
        end = place.end;
    }
    rest.push_str(&text[end..]);
    rest
}
