//! The passages of a text that can be removed from it: runs of words.

use std::collections::HashSet;
use std::ops::Range;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::recipe::{Tokens, pieces};

/// The words of a text, and its windows: all runs of a number of words.
pub(crate) struct Words {
    places: Vec<Range<usize>>,
    /// The hashes of the words, eight bytes each.
    hashes: Vec<u8>,
    /// The hashes of the windows that begin at the first words.
    windows: Vec<u128>,
    min_words: usize,
}

impl Words {
    pub(crate) fn of(text: &str, min_words: usize) -> Self {
        let (mut places, mut hashes) = (Vec::new(), Vec::new());
        let (mut start, mut lower) = (0, String::new());
        for (piece, is_word) in pieces(text) {
            if is_word {
                places.push(start..start + piece.len());
                hashes.extend(hash_of(piece, &mut lower).to_le_bytes());
            }
            start += piece.len();
        }
        let windows = hashes.windows(8 * min_words).step_by(8).map(xxh3_128).collect();
        Self { places, hashes, windows, min_words }
    }

    pub(crate) fn count(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn windows(&self) -> &[u128] {
        &self.windows
    }

    /// The hash of a run of words.
    pub(crate) fn hash_of_run(&self, run: &Range<usize>) -> u128 {
        xxh3_128(&self.hashes[8 * run.start..8 * run.end])
    }

    /// The place of a run of words in the text.
    pub(crate) fn place_of(&self, run: &Range<usize>) -> Range<usize> {
        self.places[run.start].start..self.places[run.end - 1].end
    }

    /// The place in the text that goes with a run: its words, and what separates it from the next word.
    fn place_with_end(&self, run: &Range<usize>) -> Range<usize> {
        let Range { start, end } = self.place_of(run);
        start..self.places.get(run.end).map_or(end, |next| next.start)
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
pub(crate) enum Source {
    /// The document with this id.
    Earlier(u64),
    /// The same document.
    Own,
}

/// Which words of a text are removed.
pub(crate) struct RemovedWords<'a> {
    words: &'a Words,
    sources: Vec<Option<Source>>,
}

impl<'a> RemovedWords<'a> {
    /// None yet.
    pub(crate) fn new(words: &'a Words) -> Self {
        Self { words, sources: vec![None; words.count()] }
    }

    /// Removes the words of the window that begins at a word, unless they are removed.
    pub(crate) fn remove(&mut self, first: usize, source: Source) {
        let window = &mut self.sources[first..first + self.words.min_words];
        window.iter_mut().for_each(|word| *word = word.or(Some(source)));
    }

    /// Removes the windows whose words the document has already had, in words that are kept.
    pub(crate) fn remove_own_repeats(&mut self) {
        let min_words = self.words.min_words;
        let (mut known, mut num_kept) = (HashSet::new(), 0);
        for (first, window) in self.words.windows.iter().enumerate() {
            if num_kept >= min_words {
                known.insert(self.words.windows[first - min_words]);
            }
            if known.contains(window) {
                self.remove(first, Source::Own);
            }
            num_kept = if self.sources[first].is_none() { num_kept + 1 } else { 0 };
        }
    }

    /// The windows without a removed word.
    pub(crate) fn kept_windows(&self) -> Vec<u128> {
        let (mut kept, mut num_kept) = (Vec::new(), 0);
        for (last, source) in self.sources.iter().enumerate() {
            num_kept = if source.is_none() { num_kept + 1 } else { 0 };
            if num_kept >= self.words.min_words {
                kept.push(self.words.windows[last + 1 - self.words.min_words]);
            }
        }
        kept
    }

    /// The runs of words that are removed, each with who has its first word.
    pub(crate) fn runs(&self) -> Vec<(Range<usize>, Source)> {
        let mut runs: Vec<(Range<usize>, Source)> = Vec::new();
        for (word, source) in self.sources.iter().enumerate() {
            match (source, runs.last_mut()) {
                (None, _) => {}
                (Some(_), Some((last, _))) if last.end == word => last.end += 1,
                (Some(source), _) => runs.push((word..word + 1, *source)),
            }
        }
        runs
    }

    /// How many bytes of the text are removed.
    pub(crate) fn bytes(&self) -> usize {
        self.runs().iter().map(|(run, _)| self.words.place_with_end(run).len()).sum()
    }

    /// The text without the words that are removed.
    pub(crate) fn rest_of(&self, text: &str) -> String {
        let (mut rest, mut end) = (String::with_capacity(text.len()), 0);
        for (run, _) in self.runs() {
            let place = self.words.place_with_end(&run);
            rest.push_str(&text[end..place.start]);
            end = place.end;
        }
        rest.push_str(&text[end..]);
        rest
    }
}
