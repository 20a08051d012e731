//! Documents that contain given texts, or passages of them: which training documents have the
//! questions of an evaluation.
//!
//! Containment by word n-grams is Broder's ("On the resemblance and containment of documents", 1997);
//! n-grams of 13 words are those by which GPT-3's training data was compared with its evaluations
//! (Brown et al., "Language Models are Few-Shot Learners", 2020).
//!
//! ```
//! use nearprint_text::passages::PassageIndex;
//!
//! let mut texts = PassageIndex::builder(8);
//! texts.push("Which of these planets has the largest number of known moons today?");
//! let texts = texts.finish();
//! let found = texts.find("A quiz: which of these planets has the largest number of known moons, then?");
//! assert_eq!((found[0].text, found[0].start, found[0].words), (0, 2, 11));
//! assert_eq!(found[0].share, 0.8);
//! ```

use std::collections::{HashMap, HashSet};

use xxhash_rust::xxh3::xxh3_64;

use crate::postings::Postings;
use crate::recipe::Tokens;

/// Texts of fewer words are not looked for, unless n-grams are shorter: they occur by chance.
pub const MIN_WORDS: usize = 8;
/// The words of an n-gram, unless another number is given.
pub const DEFAULT_NGRAM: usize = 13;
/// Of the texts that have an n-gram, this many are named.
const MAX_TEXTS: usize = 64;

/// Texts that documents may contain.
///
/// The [default recipe](crate::Recipe::DEFAULT) defines words: runs of letters and digits, in
/// lower case; each character of Chinese and Japanese. A text is found by its runs of n neighbouring
/// words. One of fewer words is found as a whole, if it has at least [`MIN_WORDS`], or n. Takes 24 bytes for each
/// n-gram and the words of all texts.
#[derive(Debug)]
pub struct PassageIndex {
    texts: Vec<Tokens>,
    /// The distinct n-grams of each text.
    num_grams: Vec<usize>,
    /// For each n-gram the texts that have it, and its first word in them.
    grams: Postings<(u32, u32)>,
    /// The lengths of n-grams in words, ascending.
    lengths: Vec<usize>,
}

/// Collects the texts of a [`PassageIndex`].
#[derive(Debug)]
pub struct PassageIndexBuilder {
    ngram: usize,
    texts: Vec<Tokens>,
    num_grams: Vec<usize>,
    grams: Vec<(u64, (u32, u32))>,
    lengths: Vec<usize>,
}

/// A text that a document contains, whole or in part.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Contained {
    /// The number of the text, from 0.
    pub text: usize,
    /// The share of its distinct n-grams that the document has, above 0 to 1.
    pub share: f64,
    /// The first word of the longest passage in the document, from 0.
    pub start: usize,
    /// The words of the longest passage.
    pub words: usize,
    /// The longest passage: its words, separated by single spaces.
    pub passage: String,
}

impl PassageIndexBuilder {
    /// Adds a text, with the next number. Returns whether it is long enough to be looked for.
    pub fn push(&mut self, text: &str) -> bool {
        let words = Tokens::of_text(text);
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let len = self.ngram.min(words.len());
        let mut distinct = HashSet::new();
        if len >= self.ngram.min(MIN_WORDS) {
            for first in 0..=words.len() - len {
                let gram = words.text(first..first + len);
                if distinct.insert(gram) {
                    let place = (number, u32::try_from(first).unwrap_or(u32::MAX));
                    self.grams.push((xxh3_64(gram.as_bytes()), place));
                }
            }
            if let Err(at) = self.lengths.binary_search(&len) {
                self.lengths.insert(at, len);
            }
        }
        let num_grams = distinct.len();
        self.num_grams.push(num_grams);
        self.texts.push(words);
        num_grams > 0
    }

    /// The index of the texts.
    #[must_use]
    pub fn finish(self) -> PassageIndex {
        let Self { texts, num_grams, grams, lengths, .. } = self;
        PassageIndex { texts, num_grams, grams: Postings::new(grams), lengths }
    }
}

/// What was found of a text so far.
#[derive(Debug, Default)]
struct Found {
    /// The first words of its n-grams that the document has.
    grams: HashSet<u32>,
    /// The passage at hand: where it begins in the document and in the text, and its n-grams.
    current: (usize, u32, usize),
    /// The words of the longest passage, and where it begins in the document.
    longest: (usize, usize),
}

impl Found {
    /// Adds an n-gram of `len` words, which begins at `start` in the document and at `first` in the text.
    fn push(&mut self, start: usize, first: u32, len: usize) {
        self.grams.insert(first);
        let (begin, begin_in_text, grams) = self.current;
        let continues =
            grams > 0 && begin + grams == start && begin_in_text as usize + grams == first as usize;
        self.current = if continues { (begin, begin_in_text, grams + 1) } else { (start, first, 1) };
        let (begin, _, grams) = self.current;
        let words = grams - 1 + len;
        if words > self.longest.0 {
            self.longest = (words, begin);
        }
    }
}

impl PassageIndex {
    /// Collects texts, to be found by n-grams of `ngram` words, at least 1.
    #[must_use]
    pub fn builder(ngram: usize) -> PassageIndexBuilder {
        let (texts, num_grams, grams, lengths) = <(Vec<_>, Vec<_>, Vec<_>, Vec<_>)>::default();
        PassageIndexBuilder { ngram: ngram.max(1), texts, num_grams, grams, lengths }
    }

    /// The texts that a document contains, whole or in part. The text with the largest share comes
    /// first; of equal shares the smallest number.
    ///
    /// Equal words decide, and not their hashes alone. Of more than 64 texts with the same n-gram, it
    /// counts for the first 64. Takes time in proportion to the words of the document, and memory for its
    /// words and the n-grams of what is found.
    #[must_use]
    pub fn find(&self, document: &str) -> Vec<Contained> {
        if self.lengths.is_empty() {
            return Vec::new();
        }
        let document = Tokens::of_text(document);
        let mut found: HashMap<u32, Found> = HashMap::new();
        for &len in &self.lengths {
            for start in 0..(document.len() + 1).saturating_sub(len) {
                let gram = document.text(start..start + len);
                for (text, first) in self.texts_with(gram, len).take(MAX_TEXTS) {
                    found.entry(text).or_default().push(start, first, len);
                }
            }
        }
        let contained = |(text, found): (u32, Found)| {
            let (text, (words, start)) = (text as usize, found.longest);
            let share = found.grams.len() as f64 / self.num_grams[text] as f64;
            Contained { text, share, start, words, passage: document.text(start..start + words).to_string() }
        };
        let mut found: Vec<Contained> = found.into_iter().map(contained).collect();
        found.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.text.cmp(&b.text)));
        found
    }

    /// The texts that have an n-gram of `len` words, and its first word in them.
    fn texts_with(&self, gram: &str, len: usize) -> impl Iterator<Item = (u32, u32)> {
        let equal = self.grams.with_hash(xxh3_64(gram.as_bytes())).iter().map(|&(_, place)| place);
        equal.filter(move |&(text, first)| {
            let (text, first) = (&self.texts[text as usize], first as usize);
            first + len <= text.len() && text.text(first..first + len) == gram
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The texts with the shares of their n-grams, by comparing all.
    fn brute_force(texts: &[String], document: &str, ngram: usize) -> Vec<(usize, f64)> {
        let joined = |text: &str| Tokens::of_text(text).all().to_string();
        let split = |text: &str| joined(text).split_whitespace().map(str::to_string).collect::<Vec<_>>();
        let document = split(document);
        let share = |text: &String| {
            let text = split(text);
            let len = ngram.min(text.len());
            if len < ngram.min(MIN_WORDS) {
                return 0.0;
            }
            let grams: HashSet<&[String]> = text.windows(len).collect();
            let shared = grams.iter().filter(|gram| document.windows(len).any(|window| window == **gram));
            shared.count() as f64 / grams.len() as f64
        };
        let mut found: Vec<(usize, f64)> =
            texts.iter().map(share).enumerate().filter(|(_, share)| *share > 0.0).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found
    }

    proptest! {
        #[test]
        fn what_is_contained_is_what_brute_force_finds(
            texts in prop::collection::vec("([ab] ){0,14}", 0..12),
            document in "([ab] ){0,60}",
            ngram in 1usize..12,
        ) {
            let mut builder = PassageIndex::builder(ngram);
            for text in &texts {
                builder.push(text);
            }
            let found = builder.finish().find(&document);
            let shares: Vec<(usize, f64)> = found.iter().map(|found| (found.text, found.share)).collect();
            prop_assert_eq!(shares, brute_force(&texts, &document, ngram));
            let all = Tokens::of_text(&document);
            for Contained { text, start, words: len, passage, .. } in found {
                prop_assert_eq!(&passage, all.text(start..start + len));
                prop_assert!(Tokens::of_text(&texts[text]).all().contains(&passage));
                prop_assert!(len >= ngram.min(Tokens::of_text(&texts[text]).len()));
            }
        }
    }

    #[test]
    fn the_longest_passage_is_named() {
        let mut builder = PassageIndex::builder(3);
        assert!(builder.push("One two three four, five six seven; eight nine ten."));
        assert!(!builder.push("too short"));
        let found = builder.finish().find("x ONE TWO THREE x four five six seven eight x");
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!((only.text, only.start, only.words), (0, 5, 5));
        assert_eq!(only.passage, "four five six seven eight");
        assert_eq!(only.share, 4.0 / 8.0);
    }

    #[test]
    fn an_n_gram_of_many_texts_counts_for_the_first_ones() {
        let mut builder = PassageIndex::builder(8);
        for number in 0..100 {
            builder.push(&format!("choose one of these answers to this question {number}"));
        }
        let found = builder.finish().find("choose one of these answers to this question");
        assert_eq!(
            found.iter().map(|found| found.text).collect::<Vec<_>>(),
            (0..MAX_TEXTS).collect::<Vec<_>>()
        );
    }
}
