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
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::postings::Postings;
use crate::recipe::Tokens;

/// Texts of fewer words are not looked for, unless n-grams are shorter: they occur by chance.
pub const MIN_WORDS: usize = 8;
/// The words of an n-gram, unless another number is given.
pub const DEFAULT_NGRAM: usize = 13;

/// Texts that documents may contain.
///
/// The [default recipe](crate::Recipe::DEFAULT) defines words: runs of letters and digits, in
/// lower case; each character of Chinese and Japanese. A text is found by its runs of n neighbouring
/// words. One of fewer words is found as a whole, if it has at least [`MIN_WORDS`], or n. Takes 24 bytes for each
/// n-gram and the words of all texts.
#[derive(Debug)]
pub struct PassageIndex {
    ngram: usize,
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
    /// The first word of the longest passage in the document, from 0; of equally long ones of the first.
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
        let Self { ngram, texts, num_grams, grams, lengths } = self;
        PassageIndex { ngram, texts, num_grams, grams: Postings::new(grams), lengths }
    }
}

/// What was found of a text so far.
#[derive(Debug, Default)]
struct Found {
    /// The first words of its distinct n-grams that the document has.
    grams: HashSet<u32>,
    /// Where its n-grams begin in the document.
    starts: Vec<Range<usize>>,
}

impl Found {
    /// Adds an n-gram, which begins at `start` in the document and first at `first` in the text.
    fn push(&mut self, start: usize, first: u32) {
        self.grams.insert(first);
        match self.starts.last_mut() {
            Some(last) if last.end == start => last.end += 1,
            _ => self.starts.push(start..start + 1),
        }
    }

    /// The longest run of words that a document shares with a text of n-grams of `len` words: its first word in the
    /// document, and its words. N-grams recur, so that two neighbours in the document need be none in the text.
    fn longest(&self, document: &Tokens, text: &Tokens, len: usize) -> (usize, usize) {
        let first_shared = |words: usize| {
            let in_text: HashSet<&str> =
                (0..=text.len() - words).map(|first| text.text(first..first + words)).collect();
            let last_start = |run: &Range<usize>| (run.end + len).saturating_sub(words);
            let mut starts = self.starts.iter().flat_map(|run| run.start..last_start(run));
            starts.find(|&start| in_text.contains(document.text(start..start + words)))
        };
        // Of equally long runs, this is the first one. Nearly always, the text has all of it.
        let run = self.starts.iter().rev().max_by_key(|run| run.len()).cloned().unwrap_or_default();
        let most = run.len().saturating_sub(1) + len;
        let has = |words: &str| (0..=text.len() - most).any(|first| text.text(first..first + most) == words);
        if most <= text.len() && has(document.text(run.start..run.start + most)) {
            return (run.start, most);
        }
        let (mut least, mut most) = (len, most.min(text.len()));
        let mut begin = self.starts.first().map_or(0, |run| run.start);
        // What shares a run of words shares all shorter ones.
        while least < most {
            let words = (least + most).div_ceil(2);
            match first_shared(words) {
                Some(start) => (begin, least) = (start, words),
                None => most = words - 1,
            }
        }
        (begin, least)
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
    /// Equal words decide, and not their hashes alone. Takes time in proportion to the words of the document and
    /// the texts that have its n-grams, and memory for its words and the n-grams of what is found.
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
                for (text, first) in self.texts_with(gram, len) {
                    found.entry(text).or_default().push(start, first);
                }
            }
        }
        let contained = |(text, found): (u32, Found)| {
            let text = text as usize;
            let (words_of_text, len) = (&self.texts[text], self.ngram.min(self.texts[text].len()));
            let (start, words) = found.longest(&document, words_of_text, len);
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

    /// The first of the longest runs of words that a document shares with a text, and its words.
    fn longest_by_brute_force(text: &str, document: &str) -> (usize, usize) {
        let [text, document] = [text, document].map(|of| of.split_whitespace().collect::<Vec<_>>());
        let lens = (1..=text.len().min(document.len())).rev();
        let shared = |len: usize| {
            let is_shared = |window: &[&str]| text.windows(len).any(|of_text| of_text == window);
            document.windows(len).position(is_shared).map(|start| (start, len))
        };
        lens.filter_map(shared).next().unwrap_or_default()
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
            for Contained { text, start, words, .. } in &found {
                prop_assert_eq!((*start, *words), longest_by_brute_force(&texts[*text], &document));
            }
            let shares: Vec<(usize, f64)> = found.iter().map(|found| (found.text, found.share)).collect();
            prop_assert_eq!(shares, brute_force(&texts, &document, ngram));
            let all = Tokens::of_text(&document);
            for Contained { text, start, words: len, passage, .. } in found {
                prop_assert_eq!(&passage, all.text(start..start + len));
                prop_assert!(Tokens::of_text(&texts[text]).all().contains(&passage));
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
    fn regression_an_n_gram_counts_for_all_texts_that_have_it() {
        let mut builder = PassageIndex::builder(8);
        for number in 0..100 {
            builder.push(&format!("choose one of these answers to this question {number}"));
        }
        let texts = builder.finish();
        let found = texts.find("choose one of these answers to this question 99");
        let shares: Vec<(usize, f64)> = found.iter().map(|found| (found.text, found.share)).collect();
        let others = (0..99).map(|text| (text, 0.5));
        assert_eq!(shares, [(99, 1.0)].into_iter().chain(others).collect::<Vec<_>>());
    }

    #[test]
    fn regression_the_longest_passage_may_begin_with_an_n_gram_that_recurs() {
        let mut builder = PassageIndex::builder(2);
        builder.push("a b c a b d e a b f");
        let found = builder.finish().find("x a b f x c a b d e x");
        assert_eq!((found[0].start, found[0].words, &*found[0].passage), (5, 5, "c a b d e"));
    }
}
