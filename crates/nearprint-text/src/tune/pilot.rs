//! How many documents a sample may have, where many pairs are similar.

use super::study::sample;
use crate::jaccard::{ShingleSet, similar_pairs};

/// The similar pairs that a sample is to have, about: each is compared, and takes some 100 bytes.
const SIMILAR_PAIRS: usize = 250_000;
/// The documents that tell how many there are.
const PILOT: usize = 50;
/// The least size of a smaller sample. Each of its documents may be similar to all others.
const LEAST_SAMPLE: usize = 100;

/// The size of a [`sample`] of at most `size` documents that has about 250,000 similar pairs, at least 100 documents.
/// Fifty of its documents are compared with all others, and tell how many pairs of a similarity of `least`, above 0,
/// there are.
///
/// So time and memory grow with the documents, not with their pairs, where many are versions of one. What is measured
/// on a smaller sample is the same but for chance, which its [intervals](super::Interval) tell.
#[must_use]
pub fn affordable_sample(sets: &[ShingleSet], size: usize, least: f64, threads: usize) -> usize {
    let size = size.min(sets.len());
    if size <= LEAST_SAMPLE {
        return size;
    }
    let pairs = similar_pairs(sets, &sample(sets.len(), PILOT), least, threads).len();
    size.min((SIMILAR_PAIRS * PILOT / pairs.max(1)).max(LEAST_SAMPLE))
}

#[cfg(test)]
mod tests {
    use super::super::{Labels, Study};
    use super::*;

    /// Texts of 60 words, of which two differ from those of the first text. `alone` more have no word of another.
    fn near_equal(len: usize, alone: usize) -> Vec<ShingleSet> {
        let text = |document: usize| {
            let word = |at: usize| match at {
                20 | 50 => format!("own{}x{at} ", document % 50),
                _ => format!("word{at} "),
            };
            (0..60).map(word).collect::<String>()
        };
        let other = |document: usize| (0..60).map(|at| format!("d{document}w{at} ")).collect::<String>();
        let texts = (0..len).map(text).chain((0..alone).map(other));
        texts.map(|text| ShingleSet::of_text(&text)).collect()
    }

    fn similar(sets: &[ShingleSet], size: usize) -> Vec<(usize, usize)> {
        similar_pairs(sets, &sample(sets.len(), size), 0.7, 2)
    }

    /// Counts pairs instead of time: they are what is compared and held.
    #[test]
    fn regression_pairs_do_not_grow_with_the_square_of_near_equal_documents() {
        let pairs = [500, 1000, 2000, 4000].map(|len| {
            let sets = near_equal(len, 0);
            similar(&sets, affordable_sample(&sets, len, 0.7, 2)).len()
        });
        assert_eq!(pairs[0], 500 * 499 / 2, "all of a few");
        assert!(pairs[1..].iter().all(|&pairs| pairs <= 2 * SIMILAR_PAIRS), "{pairs:?}");
        // A part of the documents is as bad.
        let sets = near_equal(2000, 2000);
        let size = affordable_sample(&sets, 4000, 0.7, 2);
        assert!(similar(&sets, size).len() <= 2 * SIMILAR_PAIRS && size >= 2 * LEAST_SAMPLE, "{size}");
    }

    #[test]
    fn samples_stay_as_they_are_where_few_are_similar() {
        let sets = near_equal(20, 3000);
        assert_eq!(affordable_sample(&sets, 2000, 0.7, 2), 2000);
        assert_eq!(affordable_sample(&sets, usize::MAX, 0.7, 2), 3020);
        assert_eq!(affordable_sample(&[], 2000, 0.7, 2), 0);
    }

    /// A smaller sample has the same share of near-duplicates.
    #[test]
    fn smaller_samples_tell_the_same() {
        let sets = near_equal(1500, 500);
        let share = |size: usize| {
            let study = Study::new(Labels::Pairs(similar(&sets, size)), sets.len(), size);
            study.num_positives() as f64 / study.num_pairs() as f64
        };
        let size = affordable_sample(&sets, 2000, 0.7, 2);
        assert!(size < 500, "{size}");
        let (few, all) = (share(size), share(2000));
        assert!((few / all - 1.0).abs() < 0.15, "{few} {all}");
    }
}
