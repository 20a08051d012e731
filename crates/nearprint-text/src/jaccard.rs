//! The exact Jaccard similarity of texts, by the sets of their shingles: the features of the default
//! recipe.
//!
//! It is the measure of [`Similarity::Jaccard`](crate::dedup::Similarity::Jaccard), and the yardstick for
//! fingerprints, which estimate it.
//!
//! ```
//! use nearprint_text::jaccard::{ShingleSet, similar_pairs};
//!
//! let texts = ["one two three four", "zero two three four", "One, two; three FOUR!"];
//! let sets = texts.map(ShingleSet::of_text);
//! assert_eq!(sets[0].similarity(&sets[1]), 1.0 / 3.0);
//! assert_eq!(similar_pairs(&sets, &[0, 1, 2], 0.5, 1), [(0, 2)]);
//! ```

use crate::postings::Postings;
use crate::recipe::{AnyFingerprinter, default_features};
use nearprint::internal as parallel;

/// Documents whose similar ones a thread looks up at a time.
const DOCUMENTS_AT_ONCE: usize = 64;

/// The set of shingles of a text: the features of the [default recipe](crate::Recipe::DEFAULT), by
/// their hashes.
///
/// These are the runs of three words, and in scripts without spaces between words the characters and
/// the runs of two; docs/minhash.md is the definition. In a text without such a run each word is a
/// shingle; a text without words has none. Takes 8 bytes a shingle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShingleSet {
    /// Ascending, without repetition.
    hashes: Box<[u64]>,
}

impl ShingleSet {
    /// The set of a text.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self::of_hashes(default_features(text))
    }

    /// The set of features of a text by any recipe of MinHash fingerprints; empty by another one.
    #[must_use]
    pub fn of_recipe(text: &str, fingerprinter: &mut AnyFingerprinter) -> Self {
        Self::of_hashes(fingerprinter.feature_hashes(text).to_vec())
    }

    /// `hashes` may have repetitions.
    fn of_hashes(mut hashes: Vec<u64>) -> Self {
        hashes.sort_unstable();
        hashes.dedup();
        Self { hashes: hashes.into() }
    }

    /// The number of shingles.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether the text has no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The size of the intersection divided by the size of the union, from 0 to 1. For two empty sets 0,
    /// because texts without words have nothing in common.
    #[must_use]
    pub fn similarity(&self, other: &Self) -> f64 {
        let shared = self.shared(other);
        shared as f64 / (self.len() + other.len() - shared).max(1) as f64
    }

    /// The share of its shingles that are in another set, from 0 to 1; 0 for an empty set.
    #[must_use]
    pub fn contained_in(&self, other: &Self) -> f64 {
        self.shared(other) as f64 / self.len().max(1) as f64
    }

    /// The size of the intersection.
    fn shared(&self, other: &Self) -> usize {
        let (mut a, mut b) = (self.hashes.iter().peekable(), other.hashes.iter().peekable());
        let mut shared = 0;
        while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
            let (left, right) = (*left, *right);
            shared += usize::from(left == right);
            a.next_if(|_| left <= right);
            b.next_if(|_| right <= left);
        }
        shared
    }

    /// The least number of its shingles that a set shares with one of a similarity.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
    fn required(&self, least: f64) -> usize {
        ((least * self.len() as f64 - 1e-9).ceil() as usize).clamp(1, self.len())
    }
}

/// An inverted index of some sets, which finds all of them that are similar to a set.
///
/// Sets of similarity s share at least s n of the n shingles of one. They share one of the n - s n + 1
/// shingles that are rarest in the index, so only the sets with one of these are compared: prefix
/// filtering (Bayardo, Ma and Srikant, "Scaling Up All Pairs Similarity Search", WWW 2007). No set is
/// missed. Takes up to 24 bytes for each shingle of an indexed set.
#[derive(Debug)]
pub struct Index<'a> {
    sets: &'a [ShingleSet],
    /// For each shingle the numbers of the sets that have it.
    postings: Postings<usize>,
}

impl<'a> Index<'a> {
    /// Indexes the sets at these positions.
    ///
    /// # Panics
    /// If there is no set at a position.
    pub fn new(sets: &'a [ShingleSet], members: impl IntoIterator<Item = usize>) -> Self {
        let of_member = |number: usize| sets[number].hashes.iter().map(move |&hash| (hash, number));
        Self { sets, postings: Postings::new(members.into_iter().flat_map(of_member).collect()) }
    }

    /// The numbers of the indexed sets with at least a similarity, which is above 0, ascending. An
    /// empty set is similar to none.
    #[must_use]
    pub fn similar(&self, set: &ShingleSet, least: f64) -> Vec<usize> {
        self.with_similarities(set, least).map(|(number, _)| number).collect()
    }

    /// The same with their similarities.
    fn with_similarities(&self, set: &ShingleSet, least: f64) -> impl Iterator<Item = (usize, f64)> {
        let found = self.candidates(set, least).into_iter();
        found.map(|number| (number, set.similarity(&self.sets[number]))).filter(move |found| found.1 >= least)
    }

    /// The sets that have one of the rarest shingles.
    fn candidates(&self, set: &ShingleSet, least: f64) -> Vec<usize> {
        if set.is_empty() {
            return Vec::new();
        }
        let mut lists: Vec<&[(u64, usize)]> =
            set.hashes.iter().map(|&shingle| self.postings.with_hash(shingle)).collect();
        lists.sort_unstable_by_key(|list| list.len());
        let rarest = &lists[..=set.len() - set.required(least)];
        let mut found: Vec<usize> =
            rarest.iter().flat_map(|list| list.iter().map(|(_, number)| *number)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// All pairs of sets with at least a similarity, above 0, where `members` has the position of at least
/// one of the two; the smaller position first, in ascending order. A set without shingles is in
/// no pair.
///
/// # Panics
/// If there is no set at a position.
#[must_use]
pub fn similar_pairs(
    sets: &[ShingleSet],
    members: &[usize],
    least: f64,
    threads: usize,
) -> Vec<(usize, usize)> {
    similarities(sets, members, least, threads).into_iter().map(|(a, b, _)| (a, b)).collect()
}

/// The same pairs with their similarity.
///
/// # Panics
/// If there is no set at a position.
#[must_use]
pub fn similarities(
    sets: &[ShingleSet],
    members: &[usize],
    least: f64,
    threads: usize,
) -> Vec<(usize, usize, f64)> {
    let index = Index::new(sets, members.iter().copied());
    let mut pairs = Vec::new();
    let similar = |item: usize, (): &mut (), sink: parallel::Sink<'_, Vec<(usize, usize, f64)>>| {
        let first = item * DOCUMENTS_AT_ONCE;
        let mut block = Vec::new();
        for (number, set) in sets.iter().enumerate().skip(first).take(DOCUMENTS_AT_ONCE) {
            let others = index.with_similarities(set, least).filter(|&(other, _)| other != number);
            let pair = |(other, similarity): (usize, f64)| (number.min(other), number.max(other), similarity);
            block.extend(others.map(pair));
        }
        // The consumer never stops.
        let _ = sink(block);
        Ok(())
    };
    let collected = parallel::ordered(
        threads,
        sets.len().div_ceil(DOCUMENTS_AT_ONCE),
        || (),
        similar,
        |block| {
            pairs.extend(block);
            Ok::<(), std::convert::Infallible>(())
        },
    );
    let Ok(()) = collected;
    pairs.sort_unstable_by_key(|&(a, b, _)| (a, b));
    pairs.dedup_by_key(|&mut (a, b, _)| (a, b));
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn short_texts_have_their_words_and_empty_ones_nothing() {
        let len = |text: &str| ShingleSet::of_text(text).len();
        assert_eq!(["", "...", "a", "a b", "a b c", "a b c d", "a a a a"].map(len), [0, 0, 1, 2, 1, 2, 1]);
        assert_eq!(["日本", "日本語日本", "日本語日本語", "v2 日本 x"].map(len), [3, 6, 6, 5]);
    }

    proptest! {
        #[test]
        fn no_similar_pair_is_missed(
            texts in prop::collection::vec("([a-c] ){0,9}", 0..40), percent in 1u32..=100, step in 1usize..4,
        ) {
            let least = f64::from(percent) / 100.0;
            let sets: Vec<ShingleSet> = texts.iter().map(|text| ShingleSet::of_text(text)).collect();
            let members: Vec<usize> = (0..sets.len()).step_by(step).collect();
            let mut expected = Vec::new();
            for a in 0..sets.len() {
                for b in a + 1..sets.len() {
                    let is_asked = a % step == 0 || b % step == 0;
                    let similarity = sets[a].similarity(&sets[b]);
                    if is_asked && !sets[a].is_empty() && similarity >= least {
                        expected.push((a, b, similarity));
                    }
                }
            }
            prop_assert_eq!(similarities(&sets, &members, least, 2), expected);
        }
    }
}
