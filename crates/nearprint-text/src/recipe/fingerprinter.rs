//! Makes fingerprints by a recipe.

use std::marker::PhantomData;

#[cfg(feature = "chinese")]
use super::chinese;
use super::clean::{Clean, Cleaner, Html};
use super::definition::Recipe;
use super::error::RecipeError;
use super::features::Features;
use super::hash;
use super::minhash::MinHash;
use super::parts::{HashFunction, Weights};
use super::stop_words::StopWords;
use super::tally::Tally;
use super::tokenize::{Tokenizer, Tokens};
use super::weight::{Weight, bit_sums, majority};
use nearprint::any::AnyFingerprint;
use nearprint::internal::{OfWords, mix64};
use nearprint::{Fingerprint, Width};
use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

/// Makes fingerprints of texts, of the width of the recipe. Created by [`Recipe::any_fingerprinter`].
///
/// It reuses its buffers from text to text. Each thread needs its own; cloning is cheap.
#[derive(Clone, Debug)]
pub struct AnyFingerprinter {
    pub(super) recipe: Recipe,
    cleaner: Cleaner,
    pub(super) tokens: Tokens,
    minhash: Option<MinHash>,
    makes_features: bool,
    /// Scratch space: the hashes of the features.
    hashes: Vec<u64>,
}

/// An [`AnyFingerprinter`] for fingerprints of one type. Created by [`Recipe::fingerprinter`].
#[derive(Clone, Debug)]
pub struct Fingerprinter<F> {
    any: AnyFingerprinter,
    width: PhantomData<F>,
}

/// The fingerprint of a text, with the numbers of its tokens and features and a hash of its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprinted<F> {
    /// The fingerprint; 0 for a text without features.
    pub value: F,
    /// The number of tokens, without stop words.
    pub num_tokens: usize,
    /// The number of features, each counted as often as it occurs. Tokens need not make a feature: a
    /// text may have fewer than a shingle, or no keyword.
    pub num_features: usize,
    /// A hash of the tokens in their order (xxh3 of 128 bits), of HTML with those of its markup, and of HTML without a
    /// visible token of all its bytes. Texts that differ only in what else the recipe cleans have the same one; texts
    /// with other tokens have another one.
    pub text_hash: u128,
    /// Whether it is HTML for the recipe, and has markup.
    pub has_markup: bool,
    /// The set of its features, if the fingerprinter [makes it](Fingerprinter::with_features); otherwise
    /// empty.
    pub features: Features,
}

/// The part of a text that can be compared with another text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Comparable {
    /// Its features: texts with similar features are near.
    Features,
    /// It has no feature, so that only a text with the same tokens, markup included, is near: a copy. HTML without a
    /// visible token is near its copies byte for byte.
    Tokens,
    /// It has no token, not even in markup. Nothing is near it.
    Nothing,
}

impl<F: OfWords> Fingerprinted<F> {
    /// The part of the text that can be compared.
    #[must_use]
    pub fn comparable(&self) -> Comparable {
        match self.num_features {
            1.. => Comparable::Features,
            0 if has_tokens(self.text_hash) => Comparable::Tokens,
            0 => Comparable::Nothing,
        }
    }

    /// The fingerprint under which a deduplication stores the text with a key: its
    /// [`value`](Self::value); for a text without features one that is made of the hash of its tokens;
    /// for a text without tokens one that is made of the key.
    ///
    /// The value 0, which all texts without features have, would make them near-duplicates of each
    /// other. The stored fingerprints of two texts without features are equal if their tokens are, and
    /// near others only by chance.
    ///
    /// ```
    /// let recipe: nearprint_text::Recipe = "simhash-py".parse()?;
    /// let mut fingerprinter = recipe.fingerprinter::<u64>()?;
    /// let [a, b, copy] =
    ///     ["red car sale", "two more words", "red car sale"].map(|text| fingerprinter.fingerprint(text));
    /// assert_eq!((a.num_features, a.value, b.value), (0, 0, 0));
    /// assert_eq!(a.stored("a"), copy.stored("copy"));
    /// assert_ne!(a.stored("a"), b.stored("b"));
    /// # Ok::<(), nearprint_text::recipe::RecipeError>(())
    /// ```
    #[must_use]
    pub fn stored(&self, key: &str) -> F {
        stored_fingerprint(self.comparable(), self.value, self.text_hash, key)
    }
}

impl Fingerprinted<AnyFingerprint> {
    /// The same with a fingerprint of the type of its width.
    pub(crate) fn typed<F: Fingerprint>(self) -> Fingerprinted<F> {
        let Self { value, num_tokens, num_features, text_hash, has_markup, features } = self;
        Fingerprinted { value: value.typed(), num_tokens, num_features, text_hash, has_markup, features }
    }
}

/// Whether a [hash of tokens](Fingerprinted::text_hash) is that of any.
pub(crate) fn has_tokens(text_hash: u128) -> bool {
    text_hash != xxh3_128(b"")
}

/// The seed of the hash of a key that stands for a text without tokens.
const KEY_SEED: u64 = 1;

/// See [`Fingerprinted::stored`].
#[expect(clippy::cast_possible_truncation, reason = "takes both words")]
pub(crate) fn stored_fingerprint<F: OfWords>(
    comparable: Comparable,
    value: F,
    text_hash: u128,
    key: &str,
) -> F {
    let hash = match comparable {
        Comparable::Features => return value,
        Comparable::Tokens => text_hash,
        Comparable::Nothing => xxh3_128_with_seed(key.as_bytes(), KEY_SEED),
    };
    let (high, low) = ((hash >> 64) as u64, hash as u64);
    value.of_words(&[low, high, mix64(low), mix64(high)])
}

impl Recipe {
    /// Creates a fingerprinter. Each thread needs its own.
    #[must_use]
    pub fn any_fingerprinter(&self) -> AnyFingerprinter {
        let minhash = match self.hash {
            HashFunction::MinHash { bands, rows } => Some(MinHash::new(bands, rows, self.width().bits())),
            _ => None,
        };
        AnyFingerprinter {
            minhash,
            makes_features: false,
            hashes: Vec::new(),
            recipe: self.clone(),
            cleaner: Cleaner::new(self.marker.clone()),
            tokens: Tokens::default(),
        }
    }

    /// Creates a fingerprinter for fingerprints of a type. Each thread needs its own.
    ///
    /// # Errors
    /// [`RecipeError`] if the recipe's fingerprints have another width than `F`.
    pub fn fingerprinter<F: Fingerprint>(&self) -> Result<Fingerprinter<F>, RecipeError> {
        self.check_width(F::WIDTH)?;
        Ok(Fingerprinter { any: self.any_fingerprinter(), width: PhantomData })
    }
}

impl<F: Fingerprint> Fingerprinter<F> {
    /// The recipe.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        self.any.recipe()
    }

    /// As [`AnyFingerprinter::with_features`].
    #[must_use]
    pub fn with_features(self) -> Self {
        Self { any: self.any.with_features(), ..self }
    }

    /// As [`AnyFingerprinter::cleaned`].
    pub fn cleaned<'a>(&'a mut self, text: &'a str) -> &'a str {
        self.any.cleaned(text)
    }

    /// The fingerprint of a text.
    pub fn fingerprint(&mut self, text: &str) -> Fingerprinted<F> {
        self.any.fingerprint(text).typed()
    }

    /// As [`AnyFingerprinter::hash`].
    #[must_use]
    pub fn hash(&self, feature: &str) -> F {
        self.any.hash(feature).typed()
    }
}

impl AnyFingerprinter {
    /// The recipe.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Makes the [set of features](Fingerprinted::features) of every text too, if the recipe is for
    /// MinHash.
    #[must_use]
    pub fn with_features(mut self) -> Self {
        self.makes_features = self.minhash.is_some();
        self
    }

    /// The text as the recipe cleans it: up to the marker, without HTML, normalized, in lower case, whichever of
    /// these it has.
    pub fn cleaned<'a>(&'a mut self, text: &'a str) -> &'a str {
        self.cleaner.clean(self.recipe.clean, text)
    }

    /// The fingerprint of a text.
    pub fn fingerprint(&mut self, text: &str) -> Fingerprinted<AnyFingerprint> {
        let keywords = self.tokenize(text);
        let window = self.recipe.window;
        let width = self.recipe.width();
        let (value, num_features) = match (&keywords, self.minhash.as_mut()) {
            (Some(keywords), _) => {
                let hashes = keywords.iter().map(|(word, weight)| (self.hash(word), *weight));
                (majority(width, &bit_sums(width, hashes)), keywords.len())
            }
            (None, Some(minhash)) => {
                let hashes = &mut self.hashes;
                hashes.clear();
                window.for_each(&self.tokens, hash::xxh3_64, |_, _, [hash]| hashes.push(hash));
                (minhash.fingerprint(hashes, width), hashes.len())
            }
            (None, None) => (self.unweighted(), window.count(&self.tokens)),
        };
        let num_tokens = self.tokens.len();
        let has_markup = self.cleaner.has_markup(self.recipe.clean, text);
        let text_hash = if has_markup && num_tokens == 0 {
            xxh3_128(text.as_bytes())
        } else {
            if has_markup {
                self.cut(Clean { html: Html::None, ..self.recipe.clean }, text);
            }
            xxh3_128(self.tokens.as_bytes())
        };
        let features = match self.makes_features {
            true => Features::of_hashes(&self.hashes),
            false => Features::default(),
        };
        Fingerprinted { value, num_tokens, num_features, text_hash, has_markup, features }
    }

    /// The hashes of the features of a text, each as often as it occurs; none by a recipe of other fingerprints than
    /// MinHash.
    pub(crate) fn feature_hashes(&mut self, text: &str) -> &[u64] {
        self.fingerprint(text);
        &self.hashes
    }

    /// The hash of one feature, by the hash function of the recipe.
    #[must_use]
    pub fn hash(&self, feature: &str) -> AnyFingerprint {
        let bytes = feature.as_bytes();
        match (self.recipe.hash, self.recipe.width()) {
            (HashFunction::Xxh3, Width::W64) => of_words(hash::xxh3_64(bytes)),
            (HashFunction::Xxh3, Width::W128) => of_words(hash::xxh3_128(bytes)),
            (HashFunction::Xxh3, _) => of_words(hash::xxh3_256(bytes)),
            (HashFunction::Md5Be64, _) => of_words(hash::md5_be64(bytes)),
            (HashFunction::Md5 { bits }, Width::W64) => of_words(low_bits(hash::md5_low64(bytes), bits)),
            (HashFunction::Md5 { bits }, _) => of_words(low_bits(hash::md5_128(bytes), bits)),
            (HashFunction::Jenkins, _) => of_words(hash::jenkins_64(bytes)),
            (HashFunction::MinHash { .. }, width) => AnyFingerprint::new(width, &hash::xxh3_64(bytes)),
        }
    }

    /// Tokenizes a text. Returns the keywords if the recipe weights them.
    pub(super) fn tokenize(&mut self, text: &str) -> Option<Vec<(String, Weight)>> {
        match self.cut(self.recipe.clean, text) {
            #[cfg(feature = "chinese")]
            (Recipe { weights: Weights::TfIdf { top }, stop, .. }, Some(clean)) => {
                Some(chinese::keywords(clean, *top, |word| !stop.contains(word)))
            }
            _ => None,
        }
    }

    /// Makes the tokens of a text with these steps. Returns the clean text, unless it is never whole.
    fn cut<'a>(&'a mut self, clean: Clean, text: &'a str) -> (&'a Recipe, Option<&'a str>) {
        let Self { recipe, cleaner, tokens, .. } = self;
        tokens.clear(recipe.window.join.separator());
        let clean = if recipe.tokens == Tokenizer::Words {
            tokens.cut_words(cleaner, clean, text);
            None
        } else {
            let clean = cleaner.clean(clean, text);
            tokens.cut(recipe.tokens, clean);
            Some(clean)
        };
        if recipe.stop != StopWords::None {
            tokens.retain(|word| !recipe.stop.contains(word));
        }
        (recipe, clean)
    }

    /// The simhash of the shingles, which have equal weights at all places.
    fn unweighted(&self) -> AnyFingerprint {
        match (self.recipe.hash, self.recipe.width()) {
            (HashFunction::Xxh3, Width::W64) => of_words(self.majority(hash::xxh3_64)),
            (HashFunction::Xxh3, Width::W128) => of_words(self.majority(hash::xxh3_128)),
            (HashFunction::Xxh3, _) => of_words(self.majority(hash::xxh3_256)),
            (HashFunction::Md5Be64, _) => of_words(self.majority(hash::md5_be64)),
            (HashFunction::Md5 { bits }, Width::W64) => {
                of_words(low_bits(self.majority(hash::md5_low64), bits))
            }
            (HashFunction::Md5 { bits }, _) => of_words(low_bits(self.majority(hash::md5_128), bits)),
            (HashFunction::Jenkins, _) => of_words(self.majority(hash::jenkins_64)),
            (HashFunction::MinHash { .. }, width) => AnyFingerprint::new(width, &[]),
        }
    }

    fn majority<const W: usize>(&self, hash: impl Fn(&[u8]) -> [u64; W]) -> [u64; W] {
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
        tally.majority()
    }
}

/// The fingerprint of 64-bit words, the most significant first, which are as many as its width has.
fn of_words<const W: usize>(mut words: [u64; W]) -> AnyFingerprint {
    words.reverse();
    let width = match W {
        1 => Width::W64,
        2 => Width::W128,
        _ => Width::W256,
    };
    AnyFingerprint::new(width, &words)
}

/// Only the lowest bits of words, the most significant word first.
fn low_bits<const W: usize>(mut words: [u64; W], bits: u32) -> [u64; W] {
    for (word, before) in words.iter_mut().rev().zip((0..).step_by(64)) {
        *word &= u64::MAX.checked_shr(64 - bits.saturating_sub(before).min(64)).unwrap_or_default();
    }
    words
}

#[cfg(test)]
#[cfg(feature = "chinese")]
mod tests {
    use super::*;
    use unicode_normalization::UnicodeNormalization;

    #[test]
    fn texts_end_at_the_marker() {
        for (marker, steps, text, before) in [
            ("收录：", "html,lower", "one 收录：two", "one "),
            ("收录：", "html,lower", "<p>One</p> 收<b>录：</b>two", "one"),
            ("收录：", "html,lower", "<p>One &#x6536;录：two</p>", "one"),
            ("收录：", "html,lower", "One <i>two", "one two"),
            ("收录：", "lower", "One 收<b>录：</b>", "one 收<b>录：</b>"),
            ("收录：", "lower", "ONE收录：收录：two", "one"),
            ("收录：", "detect-html,lower", "<html><p>One</p> 收<b>录：</b>two", "one"),
            ("收录：", "detect-html,lower", "<p>One</p> 收<b>录：</b>two", "<p>one</p> 收<b>录：</b>two"),
            // The whole text, and a text without the marker.
            ("One", "lower", "One two", ""),
            ("One", "lower", "two", "two"),
            // The marker is compared as it is written: not in lower case, and not composed.
            ("END", "nfc,lower", "one End END two", "one end "),
            ("%C3%A9", "nfc,lower", "one e\u{301} \u{e9} two", "one \u{e9} "),
            ("e%CC%81", "nfc,lower", "one \u{e9} e\u{301} two", "one \u{e9} "),
            ("%00", "lower", "one\0two", "one"),
            ("%0A--", "lower", "one -- two\r\n--\n-- three", "one -- two\r"),
            ("a%20b", "lower", "one a b two", "one "),
            // In HTML, the visible text has single spaces, and each block is a line.
            ("a%20b", "html,lower", "<p>one a\n b two</p>", "one"),
            ("one%0Atwo", "html,lower", "<p>zero one</p><p>two", "zero"),
        ] {
            let recipe: Recipe = format!("cjk clean=cut:{marker},{steps}").parse().unwrap();
            let plain: Recipe = format!("cjk clean={steps}").parse().unwrap();
            let mut cutting = recipe.fingerprinter::<u64>().unwrap();
            let mut plain = plain.fingerprinter::<u64>().unwrap();
            assert_eq!(cutting.cleaned(text).trim(), before.trim(), "{marker} {text}");
            assert_eq!(cutting.fingerprint(text), plain.fingerprint(before), "{marker} {text}");
            let read: String = recipe.as_read(text).to_lowercase().nfc().collect();
            assert_eq!(read.trim(), before.trim(), "{marker} {text}");
        }
    }

    #[test]
    fn the_width_has_to_be_that_of_the_recipe() {
        let recipe: Recipe = "width=128".parse().unwrap();
        assert_eq!(recipe.fingerprinter::<u64>().unwrap_err().part(), "width");
        assert!(recipe.fingerprinter::<u128>().is_ok());
    }
}
