//! The steps from a text to its fingerprint.

use std::collections::HashMap;

use super::fingerprinter::Fingerprinter;
use super::parts::Weights;
use super::shingle::Join;
use super::weight::{Weight, bit_sums, majority};
use nearprint::Fingerprint;

/// The steps from a text to its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explained<F> {
    /// The tokens, without stop words.
    pub tokens: Vec<String>,
    /// The distinct features, in the order of their first occurrence; keywords by descending
    /// weight.
    pub features: Vec<Feature<F>>,
    /// For each bit, the most significant first: the weights of the features whose hash has the bit
    /// set, minus the weights of the others. The fingerprint has a one where the sum is positive.
    /// Empty for MinHash, whose bits do not follow from sums.
    pub sums: Vec<Weight>,
    /// The fingerprint.
    pub value: F,
}

/// A feature of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Feature<F> {
    /// Its tokens, joined.
    pub text: String,
    /// Its weight.
    pub weight: Weight,
    /// Its hash.
    pub hash: F,
}

impl<F: Fingerprint> Feature<F> {
    /// What it adds to the sum of each bit, the most significant bit first: its weight where its
    /// hash has a one, minus its weight elsewhere.
    pub fn contributions(&self) -> impl Iterator<Item = Weight> {
        (0..F::BITS).map(|bit| if self.hash.bits(bit, 1) == 1 { self.weight } else { -self.weight })
    }
}

impl<F: Fingerprint> Explained<F> {
    /// The steps from features with their hashes and weights to the simhash.
    ///
    /// ```
    /// use nearprint_text::recipe::Explained;
    /// let features = [("a".to_string(), 0b100101_u64, 3.into()), ("b".to_string(), 0b101011, 5.into())];
    /// let explained = Explained::of_features(features);
    /// assert_eq!(explained.value, 0b101011);
    /// let last_bits: Vec<String> =
    ///     explained.features[0].contributions().skip(61).map(|weight| weight.to_string()).collect();
    /// assert_eq!(last_bits, ["3", "-3", "3"]);
    /// ```
    pub fn of_features(features: impl IntoIterator<Item = (String, F, Weight)>) -> Self {
        let feature = |(text, hash, weight)| Feature { text, weight, hash };
        Self::of(Vec::new(), features.into_iter().map(feature).collect())
    }

    fn of(tokens: Vec<String>, features: Vec<Feature<F>>) -> Self {
        let sums = bit_sums(features.iter().map(|feature| (feature.hash, feature.weight)));
        Self { tokens, value: majority(&sums), features, sums }
    }
}

impl<F: Fingerprint> Fingerprinter<F> {
    /// The steps from a text to its fingerprint. Slower than
    /// [`fingerprint`](Fingerprinter::fingerprint), with the same result.
    ///
    /// ```
    /// let recipe: nearprint_text::Recipe = "simhash shingle=1".parse()?;
    /// let explained = recipe.fingerprinter::<u64>()?.explain("to be or not to be");
    /// let features: Vec<String> = explained.features.iter().map(|feature| feature.text.clone()).collect();
    /// assert_eq!(features, ["to", "be", "or", "not"]);
    /// assert_eq!(explained.features[0].weight.to_string(), "2");
    /// # Ok::<(), nearprint_text::recipe::RecipeError>(())
    /// ```
    pub fn explain(&mut self, text: &str) -> Explained<F> {
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
        Explained::of(tokens, features)
    }

    /// The distinct shingles, with their frequencies or the weight 1.
    fn counted(&self) -> Vec<Feature<F>> {
        let mut features: Vec<Feature<F>> = Vec::new();
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

    fn shingles(&self) -> Vec<(String, F)> {
        let mut shingles = Vec::new();
        let text = |first, count| String::from_utf8_lossy(self.tokens.joined(first, count)).into_owned();
        let window = self.recipe.window;
        if window.join == Join::Cyclic {
            // The rolling hash takes words; recipes with `cyclic` have 64 bits.
            let word = |token: &[u8]| [self.hash(&String::from_utf8_lossy(token)).bits(0, 64)];
            window.for_each(&self.tokens, word, |first, count, [hash]| {
                shingles.push((text(first, count), F::from_bits(hash, 0, 64)));
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
