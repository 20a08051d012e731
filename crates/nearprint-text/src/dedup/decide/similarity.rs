//! The similarity of near-duplicates, which their features or their texts decide.

use std::fmt;
use std::str::FromStr;

use rapidfuzz::distance::levenshtein;

use crate::dedup::values::share_of;
use crate::jaccard::ShingleSet;
use crate::recipe::{Candidates, Recipe, Tokens};

/// The least similarity of near-duplicates.
///
/// Parsed of `S`, `jaccard:S`, which is the same, `contained:S` or `edit:S`, S from 0 to 1 or a percentage.
///
/// Sets of features decide about [`Jaccard`](Self::Jaccard) where the recipe makes MinHash fingerprints. Texts decide
/// about all others, by their words as the [default recipe](crate::Recipe::DEFAULT) defines them: runs of letters and
/// digits, in lower case. Each character of Chinese and Japanese, which are written without spaces, and of Korean
/// counts as a word.
///
/// ```
/// use nearprint_text::dedup::Similarity;
///
/// let least: Similarity = "0.3".parse()?;
/// assert!(least.of_texts("One two, three FOUR", "zero two three four").is_some());
/// assert!(least.of_texts("One two, three FOUR", "two three").is_none());
/// # Ok::<(), nearprint_text::dedup::ParseSimilarityError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Similarity {
    /// The sets of [shingles](ShingleSet) have at least this Jaccard similarity, from 0 to 1: the size
    /// of their intersection divided by the size of their union.
    Jaccard(f64),
    /// At least this share, from 0 to 1, of the [shingles](ShingleSet) of the new text is in the kept one: the
    /// size of the intersection divided by the size of the set of the new text. A short text that is a part
    /// of a long one is near it, but the long one is not near the short one.
    Contained(f64),
    /// At least this share, from 0 to 1, of the characters of the longer text is unchanged: 1 minus the edit distance
    /// (Levenshtein 1966) divided by their number. Characters are words in lower case, with one space between them,
    /// and with none between characters of Chinese, Japanese, Korean, Thai and other scripts without spaces. Takes
    /// time in proportion to the product of the longer text and of the distance, or of the largest distance that is
    /// near, divided by 64 (Ukkonen 1985, Myers 1999): up to ten seconds for two texts of
    /// [`MAX_EDIT_CHARS`](Similarity::MAX_EDIT_CHARS) with a share of 0.8. Longer texts are [not
    /// accepted](Similarity::accepts).
    Edit(f64),
}

/// The text is none of `S`, `jaccard:S`, `contained:S` and `edit:S` with S from 0 to 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseSimilarityError {
    text: String,
}

impl fmt::Display for ParseSimilarityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match text.parse::<f64>().ok().filter(|number| *number > 1.0 && *number <= 100.0) {
            Some(_) => write!(f, "{text}: did you mean {text}%? S is from 0 to 1"),
            None => write!(f, "{text}: not S, contained:S or edit:S with S from 0 to 1"),
        }
    }
}

impl std::error::Error for ParseSimilarityError {}

impl FromStr for Similarity {
    type Err = ParseSimilarityError;

    fn from_str(text: &str) -> Result<Self, ParseSimilarityError> {
        let wrong = || ParseSimilarityError { text: text.to_string() };
        let (measure, least) = text.split_once(':').unwrap_or(("jaccard", text));
        let least = share_of(least).ok_or_else(wrong)?;
        match measure {
            "jaccard" => Ok(Self::Jaccard(least)),
            "contained" => Ok(Self::Contained(least)),
            "edit" => Ok(Self::Edit(least)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Similarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jaccard(least) => write!(f, "{least}"),
            Self::Contained(least) => write!(f, "contained:{least}"),
            Self::Edit(least) => write!(f, "edit:{least}"),
        }
    }
}

impl Similarity {
    /// The most characters of a text that [`Edit`](Similarity::Edit) is meant for.
    pub const MAX_EDIT_CHARS: usize = 1 << 20;

    /// Whether texts decide, and not the features of a recipe.
    #[must_use]
    pub fn reads_texts(self, recipe: &Recipe) -> bool {
        !matches!(self, Self::Jaccard(_)) || recipe.bands().is_none()
    }

    /// Whether a text can be compared: any by shingles, by edits one of at most
    /// [`MAX_EDIT_CHARS`](Similarity::MAX_EDIT_CHARS). A deduplication takes a longer text for a bad
    /// record.
    #[must_use]
    pub fn accepts(self, text: &str) -> bool {
        match self {
            Self::Jaccard(_) | Self::Contained(_) => true,
            Self::Edit(_) => {
                text.len() <= Self::MAX_EDIT_CHARS || text.chars().count() <= Self::MAX_EDIT_CHARS
            }
        }
    }

    /// Why a text is not [accepted](Similarity::accepts), for messages.
    #[must_use]
    pub fn refusal() -> String {
        format!("a text of more than {} characters, the most that edit:S compares", Self::MAX_EDIT_CHARS)
    }

    /// The pairs of documents that are compared, for MinHash. `None` where fingerprints choose them by their distance.
    #[must_use]
    pub fn candidates(self, recipe: &Recipe) -> Option<Candidates> {
        recipe.candidates(self.least_jaccard().unwrap_or_else(|| self.least_of_edits()))
    }

    /// The Jaccard similarity that a recipe should find: for containment, that of a text and a kept one of twice its
    /// length. `None` for edits, which are no similarity of sets.
    #[must_use]
    pub fn least_jaccard(self) -> Option<f64> {
        match self {
            Self::Jaccard(least) => Some(least),
            Self::Contained(least) => Some(least / (3.0 - least)),
            Self::Edit(_) => None,
        }
    }

    /// The Jaccard similarity of two texts of which one and a half times as large a share of the words differs as may
    /// differ of the characters, spread evenly, and at least 0.2.
    fn least_of_edits(self) -> f64 {
        let (Self::Jaccard(least) | Self::Contained(least) | Self::Edit(least)) = self;
        // A word is in three shingles.
        let lost = 3.0 * 1.5 * (1.0 - least);
        ((1.0 - lost) / (1.0 + lost)).max(LEAST_OF_EDITS)
    }

    /// Whether a new text, `a`, is a near-duplicate of a kept one, `b`.
    #[must_use]
    pub fn texts_are_near(self, a: &str, b: &str) -> bool {
        self.of_texts(a, b).is_some()
    }

    /// The similarity of a new text, `a`, and a kept one, `b`, from 0 to 1, if they are near-duplicates: the
    /// Jaccard similarity, the share of the shingles of `a` that are in `b`, or the share of characters that
    /// are not changed. Texts without words are similar only if they are
    /// equal.
    #[must_use]
    pub fn of_texts(self, a: &str, b: &str) -> Option<f64> {
        match self {
            Self::Jaccard(least) => of_sets(a, b, least, ShingleSet::similarity),
            Self::Contained(least) => of_sets(a, b, least, ShingleSet::contained_in),
            Self::Edit(least) => {
                let [of_a, of_b] = [a, b].map(|text| Tokens::of_text(text).characters());
                match of_a == of_b {
                    true => (!of_a.is_empty() || a == b).then_some(1.0),
                    false => unchanged(&of_a, &of_b, least),
                }
            }
        }
    }
}

/// A similarity of the sets of shingles, if it is at least `least`.
fn of_sets(a: &str, b: &str, least: f64, of: fn(&ShingleSet, &ShingleSet) -> f64) -> Option<f64> {
    let (of_a, of_b) = (ShingleSet::of_text(a), ShingleSet::of_text(b));
    if of_a.is_empty() && of_b.is_empty() {
        return (a == b).then_some(1.0);
    }
    Some(of(&of_a, &of_b)).filter(|similarity| *similarity >= least)
}

/// The least Jaccard similarity of texts that are compared by edits.
const LEAST_OF_EDITS: f64 = 0.2;

/// The edit distance that is tried first.
const FIRST_BAND: usize = 64;

/// The share of unchanged characters, if it is at least `least`.
fn unchanged(a: &str, b: &str, least: f64) -> Option<f64> {
    let longer = a.chars().count().max(b.chars().count());
    // The most changes are rounded, since 1 - 0.9 is a little less than 0.1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
    let most = (longer as f64 * (1.0 - least) + 1e-6) as usize;
    // Few differences are found first, in a narrow band, which is then widened.
    let limit = levenshtein::Args::default().score_cutoff(most).score_hint(FIRST_BAND);
    let distance = levenshtein::distance_with_args(a.chars(), b.chars(), &limit)?;
    Some(1.0 - distance as f64 / longer as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_by_their_words() {
        let jaccard = |least| Similarity::Jaccard(least);
        assert!(jaccard(1.0).texts_are_near("One two, three FOUR", "one  two\nthree-four"));
        // Two shingles each, one of them the same.
        assert!(jaccard(0.33).texts_are_near("a b c d", "x b c d"));
        assert!(!jaccard(0.34).texts_are_near("a b c d", "x b c d"));
        assert!(jaccard(1.0).texts_are_near("a", "A"));
        assert!(!jaccard(0.1).texts_are_near("a", "b"));
        assert!(jaccard(1.0).texts_are_near("...", "..."));
        assert!(!jaccard(0.0).texts_are_near("", "..."), "texts without words have nothing in common");
        assert!(!jaccard(0.1).texts_are_near("", "a"));
        let contained = |least| Similarity::Contained(least);
        assert_eq!(contained(0.5).of_texts("a b c d", "x a b c y"), Some(0.5));
        assert!(
            contained(1.0).texts_are_near("a b c d", "x a b c d y z")
                && !contained(0.6).texts_are_near("x a b c d y z", "a b c d")
        );
        assert!(!contained(0.1).texts_are_near("", "a") && contained(1.0).texts_are_near("...", "..."));
        let edit = |least| Similarity::Edit(least);
        assert!(edit(0.9).texts_are_near("0123456789", "0123456780"));
        assert!(!edit(0.91).texts_are_near("0123456789", "0123456780"));
        assert!(edit(1.0).texts_are_near("Same.", "same"));
        assert!(edit(0.0).texts_are_near("abc", "xyz"));
        assert_eq!(edit(0.5).of_texts("0123456789", "0123456780"), Some(0.9));
        assert_eq!(jaccard(0.3).of_texts("a b c d", "x b c d"), Some(1.0 / 3.0));
        // Ten characters each, and not nineteen.
        assert_eq!(edit(0.8).of_texts("一二三四五六七八九十", "一二三四五六七八九百"), Some(0.9));
        assert_eq!(edit(0.8).of_texts("ab 一二 cd", "ab一二, CE"), Some(1.0 - 1.0 / 8.0));
        assert_eq!(edit(1.0).of_texts(".", "."), Some(1.0));
        assert_eq!(edit(0.0).of_texts("", "."), None);
    }

    #[test]
    fn regression_commas_and_underscores_have_the_same_words_as_in_fingerprints() {
        assert!(Similarity::Jaccard(1.0).texts_are_near("rows 1,2 of snake_case", "rows 1, 2 of SNAKE_CASE"));
        assert!(!Similarity::Jaccard(0.1).texts_are_near("snake_case", "snake case"));
    }

    #[test]
    fn characters_are_words_in_scripts_without_spaces() {
        // Characters and their pairs: six of eight, and five of seven.
        assert!(Similarity::Jaccard(0.73).texts_are_near("一二三四五六七", "一二三四五六八"));
        assert!(!Similarity::Jaccard(0.74).texts_are_near("一二三四五六七", "一二三四五六八"));
    }

    #[test]
    fn regression_texts_too_long_for_edits_are_not_accepted() {
        let (edit, jaccard) = (Similarity::Edit(0.8), Similarity::Jaccard(0.8));
        let longest = "é".repeat(Similarity::MAX_EDIT_CHARS);
        let longer = longest.clone() + "x";
        assert!(edit.accepts(&longest) && !edit.accepts(&longer) && jaccard.accepts(&longer));
        // The longest ones take little where little differs.
        let near = edit.of_texts(&longest, &longest.replacen("éé", "ée", 1)).unwrap();
        assert!((0.999..1.0).contains(&near), "{near}");
    }

    #[test]
    fn limits_are_between_0_and_1() {
        for text in ["0.8", "edit:0.25", "contained:0", "1"] {
            assert_eq!(text.parse::<Similarity>().unwrap().to_string(), text);
        }
        assert_eq!("jaccard:0.8".parse(), "80%".parse::<Similarity>());
        assert_eq!("edit:90%".parse(), Ok(Similarity::Edit(0.9)));
        let wrong = "80".parse::<Similarity>().unwrap_err();
        assert_eq!(wrong.to_string(), "80: did you mean 80%? S is from 0 to 1");
        for text in ["jaccard", "jaccard:", "jaccard:1.1", "edit:-1", "edit:nan", "cosine:0.5", "", "2"] {
            assert!(text.parse::<Similarity>().is_err(), "{text}");
        }
    }
}
