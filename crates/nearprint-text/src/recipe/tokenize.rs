//! Splits a text into tokens.

use std::ops::Range;

use super::categories::{Category, is_assigned};
#[cfg(feature = "chinese")]
use super::chinese;
use super::clean::{Clean, Cleaner, Html};

/// The definition of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tokenizer {
    /// Runs of ASCII letters.
    NonAlpha,
    /// `\w+` as in Python: runs of letters, numbers and underscores.
    Word,
    /// Runs of letters, numbers, marks and connectors; single characters of scripts without spaces
    /// between words, and of Hangul. docs/minhash.md is the definition.
    Words,
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
pub(crate) struct Tokens {
    /// UTF-8.
    text: Vec<u8>,
    /// The start of each token, and the end of the text.
    starts: Vec<usize>,
    separator: &'static str,
    /// Whether a token may be a single character of a script without spaces.
    may_have_singles: bool,
}

impl Tokens {
    /// The words of a text, as the default recipe defines them, with spaces between them.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut tokens = Self::default();
        tokens.clear(" ");
        tokens.cut_words(
            &mut Cleaner::default(),
            Clean { html: Html::Detected, nfc: true, lower: true, ..Clean::default() },
            text,
        );
        tokens
    }

    /// Empties the list, and sets the separator.
    pub(super) fn clear(&mut self, separator: &'static str) {
        self.text.clear();
        self.starts.clear();
        self.starts.push(0);
        self.separator = separator;
        self.may_have_singles = false;
    }

    #[inline]
    fn push(&mut self, token: &str) {
        self.may_have_singles |= !token.is_ascii();
        self.text.extend_from_slice(token.as_bytes());
        self.end_token();
    }

    #[inline]
    fn end_token(&mut self) {
        self.text.extend_from_slice(self.separator.as_bytes());
        self.starts.push(self.text.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// `count` neighbouring tokens from index `first` on, with separators between them. There is at
    /// least one.
    #[inline]
    pub(super) fn joined(&self, first: usize, count: usize) -> &[u8] {
        let end = self.starts[first + count] - self.separator.len();
        &self.text[self.starts[first]..end]
    }

    /// A range of tokens, with separators between them.
    pub(crate) fn text(&self, tokens: Range<usize>) -> &str {
        let bytes = if tokens.is_empty() { &[] } else { self.joined(tokens.start, tokens.len()) };
        // Tokens are whole texts, so this never fails.
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// All tokens, with separators between them.
    pub(crate) fn all(&self) -> &str {
        self.text(0..self.len())
    }

    /// All tokens, with separators between them, but not between characters of scripts without spaces: what a
    /// reader counts as characters.
    pub(crate) fn characters(&self) -> String {
        let mut characters = String::with_capacity(self.text.len());
        let mut after_single = false;
        for (at, token) in self.iter().enumerate() {
            let is_single = self.is_single(at);
            if at > 0 && !(after_single && is_single) {
                characters.push_str(self.separator);
            }
            characters.push_str(token);
            after_single = is_single;
        }
        characters
    }

    /// The tokens, with a separator behind each.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|at| self.text(at..at + 1))
    }

    /// Whether a token may be a single character of a script without spaces.
    pub(super) fn may_have_singles(&self) -> bool {
        self.may_have_singles
    }

    /// Whether a token is a single character of a script without spaces between words, and no word.
    #[inline]
    pub(super) fn is_single(&self, at: usize) -> bool {
        // The first such character is U+0E00, and others have no smaller first byte.
        self.may_have_singles
            && self.text[self.starts[at]] >= 0xe0
            && self.text(at..at + 1).starts_with(is_of_script_without_spaces)
    }

    /// Removes all other tokens than the wanted ones.
    pub(super) fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        let mut kept = Self::default();
        kept.clear(self.separator);
        self.iter().filter(|token| wanted(token)).for_each(|token| kept.push(token));
        *self = kept;
    }

    /// Appends the tokens of a cleaned text.
    pub(super) fn cut(&mut self, tokenizer: Tokenizer, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut push = |token: &str| self.push(token);
        match tokenizer {
            Tokenizer::NonAlpha => runs(text, |c| c.is_ascii_alphabetic(), push),
            Tokenizer::Word => runs(text, is_word, push),
            Tokenizer::Words => tokens_of(text).for_each(push),
            Tokenizer::Whitespace => text.split_whitespace().for_each(push),
            Tokenizer::Space => text.split(' ').for_each(push),
            Tokenizer::Char => {
                let mut buffer = [0; 4];
                let kept = |c: &char| c.is_alphanumeric() && is_assigned(*c);
                text.chars().filter(kept).for_each(|c| push(c.encode_utf8(&mut buffer)));
            }
            #[cfg(feature = "chinese")]
            Tokenizer::Jieba => chinese::cut(text, push),
            // No recipe has it.
            #[cfg(not(feature = "chinese"))]
            Tokenizer::Jieba => {}
        }
    }

    /// Cleans a text, and appends its [`Words`](Tokenizer::Words). ASCII is cleaned on its way.
    pub(super) fn cut_words(&mut self, cleaner: &mut Cleaner, steps: Clean, text: &str) {
        cleaner.for_each_stretch(steps, text, |ascii, other| {
            self.cut_ascii(ascii, steps.lower);
            tokens_of(other).for_each(|token| self.push(token));
        });
    }

    /// Appends the words of ASCII.
    fn cut_ascii(&mut self, text: &str, lower: bool) {
        let bytes = text.as_bytes();
        // Words and separators are no longer than the text with a separator. A word is copied with what is
        // behind it, up to a whole piece.
        let mut end = self.text.len();
        self.text.resize(end + bytes.len() + 1 + PIECE, 0);
        for_each_word(bytes, |word| {
            if bytes[word.start] == b'_' && bytes[word.clone()].iter().all(|&byte| byte == b'_') {
                return;
            }
            let target = &mut self.text[end..];
            match (bytes[word.start..].first_chunk::<PIECE>(), target.first_chunk_mut::<PIECE>()) {
                (Some(source), Some(target)) if word.len() <= PIECE => {
                    *target = source.map(|c| clean(c, lower))
                }
                _ => target
                    .iter_mut()
                    .zip(&bytes[word.clone()])
                    .for_each(|(to, &from)| *to = clean(from, lower)),
            }
            end += word.len();
            if let [separator] = self.separator.as_bytes() {
                self.text[end] = *separator;
                end += 1;
            }
            self.starts.push(end);
        });
        self.text.truncate(end);
    }
}

/// The bytes of a word that are copied at once. Few words are longer.
const PIECE: usize = 16;

/// A byte of ASCII, in lower case if that is a step.
#[inline]
fn clean(byte: u8, lower: bool) -> u8 {
    byte | u8::from(lower & byte.is_ascii_uppercase()) << 5
}

/// Visits the runs of letters, digits and underscores in ASCII.
///
/// Where words end is random for the processor, so that no branch depends on single bytes.
#[inline]
fn for_each_word(text: &[u8], mut visit: impl FnMut(Range<usize>)) {
    let (blocks, rest) = text.as_chunks::<64>();
    // It ends with a gap.
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    let (mut start, mut is_inside) = (0, false);
    for (at, block) in blocks.iter().chain([&last]).enumerate() {
        let words = word_bytes(block);
        let mut edges = words ^ (words << 1 | u64::from(is_inside));
        while edges != 0 {
            let edge = 64 * at + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            if is_inside {
                visit(start..edge);
            }
            (start, is_inside) = (edge, !is_inside);
        }
    }
}

/// A bit for each byte, from the lowest on, whether it is a letter, a digit or an underscore.
#[inline]
fn word_bytes(block: &[u8; 64]) -> u64 {
    let are_words = block.map(|byte| {
        let is_letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        u8::from(is_letter | (byte.wrapping_sub(b'0') < 10) | (byte == b'_'))
    });
    // The product has the lowest bits of eight bytes next to each other.
    let eight_bits = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    are_words.as_chunks::<8>().0.iter().rev().fold(0, |all, bytes| all << 8 | eight_bits(bytes))
}

/// What a character is in a text that is split into words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A letter or a number of a word.
    Letter,
    /// A mark, a connector such as `_`, or a joiner: a part of a word that makes no word alone.
    Extender,
    /// A token of its own.
    Single,
    /// No part of a token.
    Gap,
}

fn role(c: char) -> Role {
    if c.is_ascii() {
        return match c {
            '_' => Role::Extender,
            _ if c.is_ascii_alphanumeric() => Role::Letter,
            _ => Role::Gap,
        };
    }
    // The most frequent ones, without a search in tables: Hiragana, Katakana, Han, Hangul.
    if matches!(c, '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
    {
        return Role::Single;
    }
    let role = match Category::of(c) {
        Category::Letter | Category::Number => Role::Letter,
        Category::Mark | Category::Connector => Role::Extender,
        _ if matches!(c, '\u{200c}' | '\u{200d}') => Role::Extender,
        _ => Role::Gap,
    };
    if role != Role::Gap && is_of_script_without_spaces(c) { Role::Single } else { role }
}

/// Blocks of scripts that are written without spaces between words, and of Hangul.
fn is_of_script_without_spaces(c: char) -> bool {
    matches!(
        c,
        // Thai, Lao; Myanmar; Hangul Jamo.
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}'
        // Khmer; Tai Le, New Tai Lue; Tai Tham.
        | '\u{1780}'..='\u{17ff}' | '\u{1950}'..='\u{19df}' | '\u{1a20}'..='\u{1aaf}'
        // From CJK radicals to Yi: Kana, Bopomofo, Han.
        | '\u{2e80}'..='\u{a4cf}'
        // Hangul Jamo A; Myanmar B; Myanmar A, Tai Viet; Hangul.
        | '\u{a960}'..='\u{a97f}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aadf}' | '\u{ac00}'..='\u{d7ff}'
        // Compatibility ideographs; half-width Katakana and Hangul.
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ffdf}'
        // Tangut, Khitan, Nushu, more Kana; more Han.
        | '\u{16fe0}'..='\u{1b2ff}' | '\u{20000}'..='\u{3ffff}'
    )
}

/// Splits a text into its words and single characters, and what is between them: white space, and
/// other characters one by one. The second value is whether a piece is a token by `tokens=words`.
pub fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut others = rest.char_indices();
        let (_, first) = others.next()?;
        let first_role = role(first);
        let mut is_token = matches!(first_role, Role::Letter | Role::Single);
        let mut goes_on = |c: char| match first_role {
            Role::Letter | Role::Extender => {
                let role = role(c);
                is_token |= role == Role::Letter;
                matches!(role, Role::Letter | Role::Extender)
            }
            Role::Gap => first.is_whitespace() && c.is_whitespace(),
            Role::Single => false,
        };
        let len = others.find(|(_, c)| !goes_on(*c)).map_or(rest.len(), |(at, _)| at);
        let (piece, more) = rest.split_at(len);
        rest = more;
        Some((piece, is_token))
    })
}

/// The tokens of a cleaned text by [`Tokenizer::Words`].
fn tokens_of(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter(|(_, is_token)| *is_token).map(|(token, _)| token)
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
    matches!(Category::of(c), Category::Letter | Category::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::begins_as_html;
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    fn cut(tokenizer: Tokenizer, text: &str) -> Vec<String> {
        let mut tokens = Tokens::default();
        tokens.clear(" ");
        tokens.cut(tokenizer, text);
        tokens.iter().map(str::to_string).collect()
    }

    #[test]
    fn each_tokenizer_splits_by_its_definition() {
        let text = "Don't  stop: 3.14 is_π naïve\tx\u{301}y! __";
        for (tokenizer, expected) in [
            (Tokenizer::NonAlpha, "Don t stop is na ve x y"),
            (Tokenizer::Word, "Don t stop 3 14 is_π naïve x y __"),
            (Tokenizer::Words, "Don t stop 3 14 is_π naïve x\u{301}y"),
            (Tokenizer::Whitespace, "Don't stop: 3.14 is_π naïve x\u{301}y! __"),
            (Tokenizer::Space, "Don't  stop: 3.14 is_π naïve\tx\u{301}y! __"),
            (Tokenizer::Char, "D o n t s t o p 3 1 4 i s π n a ï v e x y"),
        ] {
            assert_eq!(cut(tokenizer, text).join(" "), expected, "{tokenizer:?}");
            assert!(cut(tokenizer, "").is_empty());
        }
    }

    #[cfg(feature = "chinese")]
    #[test]
    fn chinese_is_split_into_words() {
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
    fn words_are_runs_and_single_characters() {
        for (text, expected) in [
            ("snake_case _x__ ___ \u{301} a\u{301}", "snake_case _x__ a\u{301}"),
            ("1,2 1, 2 don't 3.14 x-y", "1 2 1 2 don t 3 14 x y"),
            ("Debianの 日本語v2、テスト!", "Debian の 日 本 語 v2 テ ス ト"),
            ("한국 ที่\u{200b}ນ ⅫⅫ ½ می\u{200c}خواهم", "한 국 ท ี ่ ນ ⅫⅫ ½ می\u{200c}خواهم"),
            ("人\u{fe0f}口 👩\u{200d}👩 Ⓐ a\u{ad}b ‿ x‿y", "人 口 a b x‿y"),
        ] {
            assert_eq!(cut(Tokenizer::Words, text).join(" "), expected);
        }
        assert_eq!(Tokens::of_text("E\u{301}T\u{c9}, 한").iter().collect::<Vec<_>>(), ["été", "한"]);
        let pieces: Vec<&str> = pieces("Don't \t go, 日本!").map(|(piece, _)| piece).collect();
        assert_eq!(pieces, ["Don", "'", "t", " \t ", "go", ",", " ", "日", "本", "!"]);
    }

    /// The definition of docs/minhash.md, character by character.
    fn defined(text: &str) -> Vec<String> {
        let text: String = text.nfc().collect::<String>().to_lowercase();
        let is_letter = |c: &char| matches!(Category::of(*c), Category::Letter | Category::Number);
        let is_word = |c: &char| {
            is_letter(c)
                || matches!(Category::of(*c), Category::Mark | Category::Connector)
                || *c == '\u{200c}'
                || *c == '\u{200d}'
        };
        let (mut tokens, mut run) = (Vec::new(), String::new());
        for c in text.chars().chain([' ']) {
            let is_single = is_word(&c) && is_of_script_without_spaces(c);
            if is_word(&c) && !is_single {
                run.push(c);
                continue;
            }
            let word = std::mem::take(&mut run);
            tokens.extend(word.contains(|c| is_letter(&c)).then_some(word));
            tokens.extend(is_single.then(|| c.to_string()));
        }
        tokens
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn words_are_as_defined(text in "([a-cA-C0-1_.:;,' \t\n\r\u{b}\u{c}-]{1,4}|[éאΣςİ_\u{300}\u{200c}\u{200d}\u{ad}\u{3000}\u{1171d}\u{2019}日カ한\u{1100}\u{1161}ท\u{e35}\u{fe0f}🇩🇪👩]|\\PC){0,40}") {
            prop_assume!(!begins_as_html(&text));
            let tokens = Tokens::of_text(&text);
            let expected = defined(&text);
            prop_assert_eq!(tokens.iter().collect::<Vec<_>>(), expected.clone());
            let singles = expected.iter().map(|token| token.starts_with(is_of_script_without_spaces));
            prop_assert_eq!((0..tokens.len()).map(|at| tokens.is_single(at)).collect::<Vec<_>>(), singles.collect::<Vec<_>>());
            prop_assert_eq!(pieces(&text).map(|(piece, _)| piece).collect::<String>(), text);
        }
    }
}
