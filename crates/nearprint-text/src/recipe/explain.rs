//! How one text comes to its fingerprint, step by step.

use std::collections::HashMap;

use super::Fingerprinter;
use super::recipe::Weights;
use super::shingle::Join;
use super::weight::{Weight, bit_sums, majority};
use nearprint::Fingerprint;

/// Everything between a text and its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained<F> {
    /// The tokens, without stop words.
    pub tokens: Vec<String>,
    /// The different features, in the order in which they first stand in the text; keywords from the
    /// heaviest to the lightest.
    pub features: Vec<Feature<F>>,
    /// For each bit, the most significant first: the weights of the features whose hash has it set, less
    /// the others'. The fingerprint has ones where this is positive.
    pub sums: Vec<Weight>,
    /// The fingerprint.
    pub value: F,
}

/// A feature of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature<F> {
    /// Its tokens, joined.
    pub text: String,
    /// What it counts for.
    pub weight: Weight,
    /// Its hash.
    pub hash: F,
}

impl<F: Fingerprint> Fingerprinter<F> {
    /// The way of a text to its fingerprint, by plain sums: slower than
    /// [`fingerprint`](Fingerprinter::fingerprint), and the same result.
    pub fn explain(&mut self, text: &str) -> Explained<F> {
        let features = match self.cut(text) {
            Some(keywords) => keywords
                .into_iter()
                .map(|(text, weight)| Feature { hash: self.hash(&text), text, weight })
                .collect(),
            None => self.counted(),
        };
        let sums = bit_sums(features.iter().map(|feature| (feature.hash, feature.weight)));
        let tokens = self.tokens.iter().map(str::to_string).collect();
        Explained { tokens, value: majority(&sums), features, sums }
    }

    /// The different shingles, with how often each stands in the text.
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
            // Token hashes go round as words; a recipe with `cyclic` has 64 bits.
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
