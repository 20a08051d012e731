//! The steps from a text to its fingerprint.

use std::collections::HashMap;

use super::fingerprinter::AnyFingerprinter;
use super::parts::Weights;
use super::shingle::Join;
use super::weight::{Weight, bit_sums, bits, majority};
use nearprint::Width;
use nearprint::any::AnyFingerprint;

/// The steps from a text to its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explained {
    /// The tokens, without stop words.
    pub tokens: Vec<String>,
    /// The distinct features, in the order of their first occurrence; keywords by descending
    /// weight.
    pub features: Vec<Feature>,
    /// For each bit, the most significant first: the weights of the features whose hash has the bit
    /// set, minus the weights of the others. The fingerprint has a one where the sum is positive.
    /// Of `md5:B`, the B bits that it has.
    /// Empty for MinHash, whose bits do not follow from sums.
    pub sums: Vec<Weight>,
    /// The fingerprint.
    pub value: AnyFingerprint,
}

/// A feature of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Feature {
    /// Its tokens, joined.
    pub text: String,
    /// Its weight.
    pub weight: Weight,
    /// Its hash.
    pub hash: AnyFingerprint,
}

impl Feature {
    /// What it adds to the sum of each bit, the most significant bit first: its weight where its
    /// hash has a one, minus its weight elsewhere.
    pub fn contributions(&self) -> impl Iterator<Item = Weight> {
        bits(&self.hash).map(|is_one| if is_one { self.weight } else { -self.weight })
    }
}

impl Explained {
    /// The steps from features with their hashes and weights to the simhash.
    ///
    /// ```
    /// use nearprint::Width;
    /// use nearprint_text::recipe::Explained;
    /// let feature = |text: &str, hash: u64, weight: i64| (text.to_string(), hash.into(), weight.into());
    /// let explained =
    ///     Explained::of_features(Width::W64, [feature("a", 0b100101, 3), feature("b", 0b101011, 5)]);
    /// assert_eq!(explained.value.words(), [0b101011]);
    /// let last_bits: Vec<String> =
    ///     explained.features[0].contributions().skip(61).map(|weight| weight.to_string()).collect();
    /// assert_eq!(last_bits, ["3", "-3", "3"]);
    /// ```
    pub fn of_features(
        width: Width,
        features: impl IntoIterator<Item = (String, AnyFingerprint, Weight)>,
    ) -> Self {
        let feature = |(text, hash, weight)| Feature { text, weight, hash };
        Self::of(width, Vec::new(), features.into_iter().map(feature).collect())
    }

    fn of(width: Width, tokens: Vec<String>, features: Vec<Feature>) -> Self {
        let sums = bit_sums(width, features.iter().map(|feature| (feature.hash, feature.weight)));
        Self { tokens, value: majority(width, &sums), features, sums }
    }
}

impl AnyFingerprinter {
    /// The steps from a text to its fingerprint. Slower than
    /// [`fingerprint`](Self::fingerprint), with the same result.
    ///
    /// ```
    /// let recipe: nearprint_text::Recipe = "simhash shingle=1".parse()?;
    /// let explained = recipe.any_fingerprinter().explain("to be or not to be");
    /// let features: Vec<String> = explained.features.iter().map(|feature| feature.text.clone()).collect();
    /// assert_eq!(features, ["to", "be", "or", "not"]);
    /// assert_eq!(explained.features[0].weight.to_string(), "2");
    /// # Ok::<(), nearprint_text::recipe::RecipeError>(())
    /// ```
    pub fn explain(&mut self, text: &str) -> Explained {
        let features = match self.tokenize(text) {
            Some(keywords) => keywords
                .into_iter()
                .map(|(text, weight)| Feature { hash: self.hash(&text), text, weight })
                .collect(),
            None => self.counted(),
        };
        let tokens = self.tokens.iter().map(str::to_string).collect();
        if self.recipe.bands().is_some() {
            return Explained { tokens, value: self.fingerprint(text).value, features, sums: Vec::new() };
        }
        let mut explained = Explained::of(self.recipe.width(), tokens, features);
        // The bits above those of a narrower hash are always zero.
        let num_unused = explained.sums.len() - self.recipe.compared_bits() as usize;
        explained.sums.drain(..num_unused);
        explained
    }

    /// The distinct shingles, with their frequencies or the weight 1.
    fn counted(&self) -> Vec<Feature> {
        let mut features: Vec<Feature> = Vec::new();
        let mut places = HashMap::new();
        for (text, hash) in self.shingles() {
            let place = *places.entry((text.clone(), hash)).or_insert(features.len());
            match features.get_mut(place) {
                Some(_) if self.recipe.weights == Weights::One => {}
                Some(feature) => feature.weight += Weight::ONE,
                None => features.push(Feature { text, weight: Weight::ONE, hash }),
            }
        }
        features
    }

    fn shingles(&self) -> Vec<(String, AnyFingerprint)> {
        let mut shingles = Vec::new();
        let text = |first, count| String::from_utf8_lossy(self.tokens.joined(first, count)).into_owned();
        let window = self.recipe.window;
        if window.join == Join::Cyclic {
            // The rolling hash takes words; recipes with `cyclic` have 64 bits.
            let word = |token: &[u8]| [self.hash(&String::from_utf8_lossy(token)).words()[0]];
            window.for_each(&self.tokens, word, |first, count, [hash]| {
                shingles.push((text(first, count), hash.into()));
            });
        } else {
            window.for_each(
                &self.tokens,
                |_| [],
                |first, count, []| {
                    let text = text(first, count);
                    shingles.push((text.clone(), self.hash(&text)));
                },
            );
        }
        shingles
    }
}
