//! Recipes carried out.

use std::marker::PhantomData;

use super::clean::Cleaner;
use super::recipe::{Hash, Recipe, StopWords, Weights};
use super::tally::Tally;
use super::tokenize::Tokens;
use super::weight::{Weight, weighted};
use super::{hash, keywords, stop_words};
use nearprint::Fingerprint;

/// Makes fingerprints of texts, one after the other, in buffers that it keeps; so each thread should have
/// its own. Made by [`Recipe::fingerprinter`].
#[derive(Clone, Debug)]
pub struct Fingerprinter<F> {
    pub(super) recipe: Recipe,
    cleaner: Cleaner,
    pub(super) tokens: Tokens,
    width: PhantomData<F>,
}

/// What a text came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprinted<F> {
    /// The fingerprint; 0 for a text without tokens.
    pub value: F,
    /// How many tokens the text has, stop words not counted.
    pub num_tokens: usize,
}

impl<F: Fingerprint> Fingerprinter<F> {
    pub(super) fn new(recipe: Recipe) -> Self {
        Self { recipe, cleaner: Cleaner::default(), tokens: Tokens::default(), width: PhantomData }
    }

    /// The recipe.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The fingerprint of a text.
    pub fn fingerprint(&mut self, text: &str) -> Fingerprinted<F> {
        let keywords = self.cut(text);
        let value = match keywords {
            Some(keywords) => weighted(keywords.iter().map(|(word, weight)| (self.hash(word), *weight))),
            None => self.unweighted(),
        };
        Fingerprinted { value, num_tokens: self.tokens.len() }
    }

    /// The hash of one feature, as the recipe has it.
    #[must_use]
    pub fn hash(&self, feature: &str) -> F {
        let bytes = feature.as_bytes();
        match (self.recipe.hash, F::BITS) {
            (Hash::Xxh3, 64) => from_words(hash::xxh3_64(bytes)),
            (Hash::Xxh3, 128) => from_words(hash::xxh3_128(bytes)),
            (Hash::Xxh3, _) => from_words(hash::xxh3_256(bytes)),
            (Hash::Md5Be64, _) => from_words(hash::md5_be64(bytes)),
            (Hash::Md5 { bits: 128 }, _) => from_words(hash::md5_128(bytes)),
            (Hash::Md5 { bits }, _) => low_bits(from_words(hash::md5_low64(bytes)), bits),
            (Hash::Jenkins, _) => from_words(hash::jenkins_64(bytes)),
        }
    }

    /// Fills the list of tokens. Gives the keywords where the recipe weighs such.
    pub(super) fn cut(&mut self, text: &str) -> Option<Vec<(String, Weight)>> {
        let Self { recipe, cleaner, tokens, .. } = self;
        let clean = cleaner.clean(recipe.clean, text);
        tokens.clear(recipe.window.join.separator());
        tokens.cut(recipe.tokens, clean);
        let wanted = |word: &str| recipe.stop == StopWords::None || !stop_words::is_english(word);
        if recipe.stop != StopWords::None {
            tokens.retain(wanted);
        }
        match recipe.weights {
            Weights::TfIdf { top } => Some(keywords::keywords(clean, top, wanted)),
            Weights::One | Weights::Frequency => None,
        }
    }

    /// The simhash of the shingles, each of which counts the same wherever it stands.
    fn unweighted(&self) -> F {
        match (self.recipe.hash, F::BITS) {
            (Hash::Xxh3, 64) => self.majority(hash::xxh3_64),
            (Hash::Xxh3, 128) => self.majority(hash::xxh3_128),
            (Hash::Xxh3, _) => self.majority(hash::xxh3_256),
            (Hash::Md5Be64, _) => self.majority(hash::md5_be64),
            (Hash::Md5 { bits: 128 }, _) => self.majority(hash::md5_128),
            (Hash::Md5 { bits }, _) => low_bits(self.majority(hash::md5_low64), bits),
            (Hash::Jenkins, _) => self.majority(hash::jenkins_64),
        }
    }

    fn majority<const W: usize>(&self, hash: impl Fn(&[u8]) -> [u64; W]) -> F {
        let window = self.recipe.window;
        let mut tally = Tally::<W>::new();
        if self.recipe.weights == Weights::One {
            let mut hashes = Vec::new();
            window.for_each(&self.tokens, hash, |_, _, hash| hashes.push(hash));
            hashes.sort_unstable();
            hashes.dedup();
            hashes.into_iter().for_each(|hash| tally.add(hash));
        } else {
            window.for_each(&self.tokens, hash, |_, _, hash| tally.add(hash));
        }
        from_words(tally.majority())
    }
}

/// The fingerprint of as many words as it has, the most significant first.
pub(super) fn from_words<F: Fingerprint, const W: usize>(words: [u64; W]) -> F {
    debug_assert_eq!(F::BITS as usize, 64 * W, "the recipe's width was checked");
    let starts = (0..F::BITS).step_by(64);
    starts.zip(words).fold(F::default(), |value, (start, word)| value | F::from_bits(word, start, 64))
}

/// Keeps the lowest bits.
fn low_bits<F: Fingerprint>(value: F, bits: u32) -> F {
    value & F::ones(F::BITS - bits, bits)
}
