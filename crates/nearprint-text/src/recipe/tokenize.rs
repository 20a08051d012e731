//! Splits a text into tokens.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

#[cfg(feature = "chinese")]
use super::chinese;
use super::clean::stretches;

/// The definition of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tokenizer {
    /// Runs of ASCII letters.
    NonAlpha,
    /// `\w+` as in Python: runs of letters, numbers and underscores.
    Word,
    /// The words of Unicode Standard Annex 29.
    Unicode,
    /// Runs of characters between white space.
    Whitespace,
    /// Strings between single spaces. Two adjacent spaces have an empty token between them.
    Space,
    /// Each letter and digit; other characters are ignored.
    Char,
    /// Chinese words by jieba, a feature of the crate.
    Jieba,
}

/// A list of tokens, stored as one text with a separator after each. Neighbouring tokens are
/// already joined.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokens {
    text: String,
    /// The start of each token, and the end of the text.
    starts: Vec<usize>,
    separator: &'static str,
}

impl Tokens {
    /// Empties the list, and sets the separator.
    pub(super) fn clear(&mut self, separator: &'static str) {
        self.text.clear();
        self.starts.clear();
        self.starts.push(0);
        self.separator = separator;
    }

    #[inline]
    fn push(&mut self, token: &str) {
        self.text.push_str(token);
        self.text.push_str(self.separator);
        self.starts.push(self.text.len());
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// `count` neighbouring tokens from index `first` on, with separators between them.
    #[inline]
    pub(super) fn joined(&self, first: usize, count: usize) -> &[u8] {
        let end = self.starts[first + count] - self.separator.len();
        &self.text.as_bytes()[self.starts[first]..end]
    }

    /// The tokens, with a separator behind each.
    pub(super) fn as_text(&self) -> &str {
        &self.text
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.starts.windows(2).map(|ends| &self.text[ends[0]..ends[1] - self.separator.len()])
    }

    /// Removes all other tokens than the wanted ones.
    pub(super) fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        let mut kept = Self::default();
        kept.clear(self.separator);
        self.iter().filter(|token| wanted(token)).for_each(|token| kept.push(token));
        *self = kept;
    }

    /// Appends the tokens of a text.
    pub(super) fn cut(&mut self, tokenizer: Tokenizer, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut push = |token: &str| self.push(token);
        match tokenizer {
            Tokenizer::NonAlpha => runs(text, |c| c.is_ascii_alphabetic(), push),
            Tokenizer::Word => runs(text, is_word, push),
            Tokenizer::Unicode => unicode_words(text, &mut push),
            Tokenizer::Whitespace => text.split_whitespace().for_each(push),
            Tokenizer::Space => text.split(' ').for_each(push),
            Tokenizer::Char => {
                let mut buffer = [0; 4];
                text.chars().filter(|c| c.is_alphanumeric()).for_each(|c| push(c.encode_utf8(&mut buffer)));
            }
            #[cfg(feature = "chinese")]
            Tokenizer::Jieba => chinese::cut(text, push),
            // No recipe has it.
            #[cfg(not(feature = "chinese"))]
            Tokenizer::Jieba => {}
        }
    }
}

/// The runs of characters with a property.
fn runs(text: &str, is_inside: impl Fn(char) -> bool, push: impl FnMut(&str)) {
    text.split(|c| !is_inside(c)).filter(|run| !run.is_empty()).for_each(push);
}

/// Python's `\w`, which, unlike other definitions, excludes marks.
fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    matches!(c.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number)
}

/// The words of Unicode Standard Annex 29 with a letter or a digit.
fn unicode_words(text: &str, push: &mut impl FnMut(&str)) {
    for (ascii, other) in stretches(text) {
        ascii_words(ascii, push);
        other.unicode_words().for_each(&mut *push);
    }
}

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const UNDERSCORE: u8 = 4;
/// Joins letters on both sides.
const IN_LETTERS: u8 = 8;
/// Joins digits on both sides.
const IN_DIGITS: u8 = 16;

/// The Word_Break property of ASCII characters in words.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'A'..=b'Z' | b'a'..=b'z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b':' => IN_LETTERS,
            b',' | b';' => IN_DIGITS,
            b'.' | b'\'' => IN_LETTERS | IN_DIGITS,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// [`unicode_words`] of ASCII: rules WB5 to WB13b of the annex.
fn ascii_words(text: &str, push: &mut impl FnMut(&str)) {
    let class = |at: usize| text.as_bytes().get(at).map_or(0, |&byte| CLASSES[byte as usize]);
    let mut at = 0;
    while at < text.len() {
        let start = at;
        let (mut kinds, mut last) = (0, 0);
        loop {
            let next = class(at);
            if next & (LETTER | DIGIT | UNDERSCORE) != 0 {
                at += 1;
                last = next;
            } else if joins(last, next, class(at + 1)) {
                at += 1;
            } else {
                break;
            }
            kinds |= last;
        }
        if kinds & (LETTER | DIGIT) != 0 {
            push(&text[start..at]);
        }
        at += 1;
    }
}

/// Whether a punctuation mark joins the characters on both sides to one word.
#[inline]
fn joins(before: u8, mark: u8, after: u8) -> bool {
    let both = before & after;
    (both & LETTER != 0 && mark & IN_LETTERS != 0) || (both & DIGIT != 0 && mark & IN_DIGITS != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(tokenizer: Tokenizer, text: &str) -> Vec<String> {
        let mut tokens = Tokens::default();
        tokens.clear(" ");
        tokens.cut(tokenizer, text);
        tokens.iter().map(str::to_string).collect()
    }

    #[test]
    fn each_tokenizer_splits_by_its_definition() {
        let text = "Don't  stop: 3.14 is_π naïve\tx\u{301}y!";
        for (tokenizer, expected) in [
            (Tokenizer::NonAlpha, "Don t stop is na ve x y"),
            (Tokenizer::Word, "Don t stop 3 14 is_π naïve x y"),
            (Tokenizer::Unicode, "Don't stop 3.14 is_π naïve x\u{301}y"),
            (Tokenizer::Whitespace, "Don't stop: 3.14 is_π naïve x\u{301}y!"),
            (Tokenizer::Space, "Don't  stop: 3.14 is_π naïve\tx\u{301}y!"),
            (Tokenizer::Char, "D o n t s t o p 3 1 4 i s π n a ï v e x y"),
        ] {
            assert_eq!(cut(tokenizer, text).join(" "), expected, "{tokenizer:?}");
            assert!(cut(tokenizer, "").is_empty());
        }
        assert_eq!(cut(Tokenizer::Jieba, "我们中出了一个叛徒"), ["我们", "中出", "了", "一个", "叛徒"]);
    }

    #[test]
    fn neighbours_are_joined() {
        let mut tokens = Tokens::default();
        tokens.clear(" ");
        tokens.cut(Tokenizer::Space, "a  bc");
        assert_eq!((tokens.len(), tokens.joined(0, 3), tokens.joined(1, 1)), (3, &b"a  bc"[..], &b""[..]));
        tokens.retain(|token| token != "a");
        assert_eq!((tokens.len(), tokens.joined(0, 2)), (2, &b" bc"[..]));
        tokens.clear("");
        tokens.cut(Tokenizer::Char, "ab, c");
        assert_eq!(tokens.joined(1, 2), b"bc");
    }

    #[test]
    fn regression_a_letter_that_is_a_mark_extends_over_all_spaces_before_it() {
        for text in ["\u{3000} \u{1171d}", "  \u{1171d}", "a \u{2003}\u{1171d}", "é\u{3000} \u{1171d} b"] {
            assert_eq!(cut(Tokenizer::Unicode, text), text.unicode_words().collect::<Vec<_>>(), "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn unicode_words_are_those_of_the_library(text in "(can't|3\\.14|a_b|x:y|1,000|U\\.S\\.A\\.|[a-c0-1_.:;,' \t\n\r\u{b}\u{c}-]{1,3}|[éא\u{300}\u{200d}\u{ad}\u{3000}\u{1171d}\u{2019}日カ🇩🇪👩\"]|\\PC){0,40}") {
            prop_assert_eq!(cut(Tokenizer::Unicode, &text), text.unicode_words().collect::<Vec<_>>());
        }

        #[test]
        fn ascii_words_are_those_of_the_library(text in "([a-b0-1_.:;,' ]|[\0-\x7f]){0,40}") {
            prop_assert_eq!(cut(Tokenizer::Unicode, &text), text.unicode_words().collect::<Vec<_>>());
        }
    }
}
