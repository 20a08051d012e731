//! Confirmation of near-duplicates by their texts.
//!
//! Fingerprints narrow millions of documents down to a few candidates. Comparing texts removes the
//! false positives among them.

use std::fmt;
use std::str::FromStr;

use rapidfuzz::distance::levenshtein;

use crate::jaccard::ShingleSet;
use crate::recipe::{Candidates, Recipe, Tokens};

/// A similarity of texts that confirms near-duplicates.
///
/// All measures compare words, as the [default recipe](crate::Recipe::DEFAULT) defines them: runs of
/// letters and digits, in lower case. Each character of Chinese and Japanese, which are written
/// without spaces, and of Korean counts as a word.
///
/// ```
/// use nearprint_text::dedup::Confirm;
///
/// let confirm: Confirm = "jaccard:0.3".parse()?;
/// assert!(confirm.confirms("One two, three FOUR", "zero two three four"));
/// assert!(!confirm.confirms("One two, three FOUR", "two three"));
/// # Ok::<(), nearprint_text::dedup::ParseConfirmError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Confirm {
    /// The sets of [shingles](ShingleSet) have at least this Jaccard similarity, from 0 to 1: the size
    /// of their intersection divided by the size of their union.
    Jaccard(f64),
    /// At least this share, from 0 to 1, of the [shingles](ShingleSet) of the new text is in the kept one: the
    /// size of the intersection divided by the size of the set of the new text. A short text that is a part
    /// of a long one is near it, but the long one is not near the short one.
    Contained(f64),
    /// The edit distance is at most this share, from 0 to 1, of the characters of the longer text
    /// (Levenshtein 1966). Characters are words in lower case, with one space between them, and with none
    /// between characters of Chinese, Japanese, Korean, Thai and other scripts without spaces. Takes time in
    /// proportion to the product of the longer text and of the distance, or of the largest distance that
    /// confirms, divided by 64 (Ukkonen 1985, Myers 1999): up to ten seconds for two texts of
    /// [`MAX_EDIT_CHARS`](Confirm::MAX_EDIT_CHARS) with a share of 0.2. Longer texts are [not
    /// accepted](Confirm::accepts).
    Edit(f64),
}

/// The text is none of `jaccard:X`, `contained:X` and `edit:X` with X from 0 to 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseConfirmError {
    text: String,
}

impl fmt::Display for ParseConfirmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: not jaccard:X, contained:X or edit:X with X from 0 to 1", self.text)
    }
}

impl std::error::Error for ParseConfirmError {}

impl FromStr for Confirm {
    type Err = ParseConfirmError;

    fn from_str(text: &str) -> Result<Self, ParseConfirmError> {
        let wrong = || ParseConfirmError { text: text.to_string() };
        let (measure, limit) = text.split_once(':').ok_or_else(wrong)?;
        let limit = limit.parse().ok().filter(|limit| (0.0..=1.0).contains(limit)).ok_or_else(wrong)?;
        match measure {
            "jaccard" => Ok(Self::Jaccard(limit)),
            "contained" => Ok(Self::Contained(limit)),
            "edit" => Ok(Self::Edit(limit)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Confirm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jaccard(least) => write!(f, "jaccard:{least}"),
            Self::Contained(least) => write!(f, "contained:{least}"),
            Self::Edit(most) => write!(f, "edit:{most}"),
        }
    }
}

impl Confirm {
    /// The most characters of a text that [`Edit`](Confirm::Edit) is meant for.
    pub const MAX_EDIT_CHARS: usize = 1 << 20;

    /// Whether a text can be compared: any by shingles, by edits one of at most
    /// [`MAX_EDIT_CHARS`](Confirm::MAX_EDIT_CHARS). A deduplication takes a longer text for a bad
    /// record.
    #[must_use]
    pub fn accepts(&self, text: &str) -> bool {
        match self {
            Self::Jaccard(_) | Self::Contained(_) => true,
            Self::Edit(_) => {
                text.len() <= Self::MAX_EDIT_CHARS || text.chars().count() <= Self::MAX_EDIT_CHARS
            }
        }
    }

    /// Why a text is not [accepted](Confirm::accepts), for messages.
    #[must_use]
    pub fn refusal() -> String {
        format!("a text of more than {} characters, the most that edit:X compares", Self::MAX_EDIT_CHARS)
    }

    /// The pairs whose texts are compared, for MinHash: those of the wider limit of this one and of a `similarity` beside
    /// it. `None` where fingerprints choose them by their distance.
    #[must_use]
    pub fn candidates(self, recipe: &Recipe, similarity: Option<f64>) -> Option<Candidates> {
        let own = self.candidate_similarity();
        recipe.candidates(similarity.map_or(own, |similarity| Some(self.wider(similarity)))?)
    }

    /// The wider limit of candidates: this `similarity`, or that of this measure.
    #[must_use]
    pub fn wider(self, similarity: f64) -> f64 {
        self.candidate_similarity().map_or(similarity, |own| own.min(similarity))
    }

    /// The Jaccard similarity from which on candidates are looked up: for containment, the similarity of a
    /// text and a kept one of twice its length. `None` for edits, which are no similarity of sets.
    fn candidate_similarity(self) -> Option<f64> {
        match self {
            Self::Jaccard(least) => Some(least),
            Self::Contained(least) => Some(least / (3.0 - least)),
            Self::Edit(_) => None,
        }
    }

    /// Whether a new text, `a`, is a near-duplicate of a kept one, `b`.
    #[must_use]
    pub fn confirms(&self, a: &str, b: &str) -> bool {
        self.similarity(a, b).is_some()
    }

    /// The similarity of a new text, `a`, and a kept one, `b`, from 0 to 1, if they are near-duplicates: the
    /// Jaccard similarity, the share of the shingles of `a` that are in `b`, or the share of characters that
    /// are not changed. Texts without words are similar only if they are
    /// equal.
    #[must_use]
    pub fn similarity(&self, a: &str, b: &str) -> Option<f64> {
        match *self {
            Self::Jaccard(least) => of_sets(a, b, least, ShingleSet::similarity),
            Self::Contained(least) => of_sets(a, b, least, ShingleSet::contained_in),
            Self::Edit(most) => {
                let [of_a, of_b] = [a, b].map(|text| Tokens::of_text(text).characters());
                match of_a == of_b {
                    true => (!of_a.is_empty() || a == b).then_some(1.0),
                    false => unchanged(&of_a, &of_b, most),
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

/// The edit distance that is tried first.
const FIRST_BAND: usize = 64;

/// The share of unchanged characters, if at most the share `most` is changed.
fn unchanged(a: &str, b: &str, most: f64) -> Option<f64> {
    let longer = a.chars().count().max(b.chars().count());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
    let most = (longer as f64 * most) as usize;
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
        let jaccard = |least| Confirm::Jaccard(least);
        assert!(jaccard(1.0).confirms("One two, three FOUR", "one  two\nthree-four"));
        // Two shingles each, one of them the same.
        assert!(jaccard(0.33).confirms("a b c d", "x b c d"));
        assert!(!jaccard(0.34).confirms("a b c d", "x b c d"));
        assert!(jaccard(1.0).confirms("a", "A"));
        assert!(!jaccard(0.1).confirms("a", "b"));
        assert!(jaccard(1.0).confirms("...", "..."));
        assert!(!jaccard(0.0).confirms("", "..."), "texts without words have nothing in common");
        assert!(!jaccard(0.1).confirms("", "a"));
        let contained = |least| Confirm::Contained(least);
        assert_eq!(contained(0.5).similarity("a b c d", "x a b c y"), Some(0.5));
        assert!(
            contained(1.0).confirms("a b c d", "x a b c d y z")
                && !contained(0.6).confirms("x a b c d y z", "a b c d")
        );
        assert!(!contained(0.1).confirms("", "a") && contained(1.0).confirms("...", "..."));
        let edit = |most| Confirm::Edit(most);
        assert!(edit(0.1).confirms("0123456789", "0123456780"));
        assert!(!edit(0.09).confirms("0123456789", "0123456780"));
        assert!(edit(0.0).confirms("Same.", "same"));
        assert!(edit(1.0).confirms("abc", "xyz"));
        assert_eq!(edit(0.5).similarity("0123456789", "0123456780"), Some(0.9));
        assert_eq!(jaccard(0.3).similarity("a b c d", "x b c d"), Some(1.0 / 3.0));
        // Ten characters each, and not nineteen.
        assert_eq!(edit(0.2).similarity("一二三四五六七八九十", "一二三四五六七八九百"), Some(0.9));
        assert_eq!(edit(0.2).similarity("ab 一二 cd", "ab一二, CE"), Some(1.0 - 1.0 / 8.0));
        assert_eq!(edit(0.0).similarity(".", "."), Some(1.0));
        assert_eq!(edit(1.0).similarity("", "."), None);
    }

    #[test]
    fn regression_commas_and_underscores_have_the_same_words_as_in_fingerprints() {
        assert!(Confirm::Jaccard(1.0).confirms("rows 1,2 of snake_case", "rows 1, 2 of SNAKE_CASE"));
        assert!(!Confirm::Jaccard(0.1).confirms("snake_case", "snake case"));
    }

    #[test]
    fn characters_are_words_in_scripts_without_spaces() {
        // Characters and their pairs: six of eight, and five of seven.
        assert!(Confirm::Jaccard(0.73).confirms("一二三四五六七", "一二三四五六八"));
        assert!(!Confirm::Jaccard(0.74).confirms("一二三四五六七", "一二三四五六八"));
    }

    #[test]
    fn regression_texts_too_long_for_edits_are_not_accepted() {
        let (edit, jaccard) = (Confirm::Edit(0.2), Confirm::Jaccard(0.8));
        let longest = "é".repeat(Confirm::MAX_EDIT_CHARS);
        let longer = longest.clone() + "x";
        assert!(edit.accepts(&longest) && !edit.accepts(&longer) && jaccard.accepts(&longer));
        // The longest ones take little where little differs.
        let near = edit.similarity(&longest, &longest.replacen("éé", "ée", 1)).unwrap();
        assert!((0.999..1.0).contains(&near), "{near}");
    }

    #[test]
    fn limits_are_between_0_and_1() {
        for text in ["jaccard:0.8", "edit:0.25", "edit:0", "jaccard:1"] {
            assert_eq!(text.parse::<Confirm>().unwrap().to_string(), text);
        }
        for text in ["jaccard", "jaccard:", "jaccard:1.1", "edit:-1", "edit:nan", "cosine:0.5", ""] {
            assert!(text.parse::<Confirm>().is_err(), "{text}");
        }
    }
}
