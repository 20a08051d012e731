//! A source of random numbers, and a Markov model of sentences.

use std::collections::HashMap;
use std::ops::RangeInclusive;

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[allow(clippy::cast_possible_truncation, reason = "the result is below `end`")]
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * end as u128) >> 64) as usize
    }

    pub(super) fn within(&mut self, range: &RangeInclusive<usize>) -> usize {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    /// True once in `times` on average.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// The successors of words in the sentences of one topic.
pub(super) struct Model {
    words: Vec<String>,
    /// First words of sentences.
    starts: Vec<usize>,
    after_one: HashMap<usize, Vec<usize>>,
    after_two: HashMap<(usize, usize), Vec<usize>>,
}

/// Two words with fewer successors are continued by the last word alone. Otherwise whole sentences
/// of the source would recur in different articles.
const MIN_WAYS: usize = 3;
/// A longer sentence is cut.
const MAX_WORDS: usize = 40;

impl Model {
    pub(super) fn new(sentences: &[Vec<String>]) -> Self {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut model = Self {
            words: Vec::new(),
            starts: Vec::new(),
            after_one: HashMap::new(),
            after_two: HashMap::new(),
        };
        for sentence in sentences {
            let mut number = |word| {
                *numbers.entry(word).or_insert_with(|| {
                    model.words.push(String::from(word));
                    model.words.len() - 1
                })
            };
            let sentence: Vec<usize> = sentence.iter().map(|word| number(word)).collect();
            model.starts.push(sentence[0]);
            for pair in sentence.windows(2) {
                model.after_one.entry(pair[0]).or_default().push(pair[1]);
            }
            for three in sentence.windows(3) {
                model.after_two.entry((three[0], three[1])).or_default().push(three[2]);
            }
        }
        model
    }

    /// A random word, with the frequency of the sources.
    pub(super) fn word(&self, random: &mut Random) -> &str {
        let start = random.pick(&self.starts);
        let next = random.pick(&self.after_one[start]);
        &self.words[*self.after_one.get(next).map_or(next, |ways| random.pick(ways))]
    }

    pub(super) fn sentence(&self, random: &mut Random) -> Vec<&str> {
        let mut sentence = vec![*random.pick(&self.starts)];
        while sentence.len() < MAX_WORDS {
            let last = sentence[sentence.len() - 1];
            let two = sentence.len().checked_sub(2).and_then(|at| self.after_two.get(&(sentence[at], last)));
            let two = two.filter(|ways| ways.iter().any(|way| *way != ways[0]) && ways.len() >= MIN_WAYS);
            let Some(ways) = two.or_else(|| self.after_one.get(&last)) else { break };
            sentence.push(*random.pick(ways));
        }
        sentence.into_iter().map(|word| self.words[word].as_str()).collect()
    }
}
