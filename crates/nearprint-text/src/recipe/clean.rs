//! Cleans a text before tokenization.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

#[cfg(feature = "html")]
use super::html;

/// The steps, in the order of their application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Clean {
    /// Extracts the text of HTML, a feature of the crate.
    pub(super) html: bool,
    /// Unicode normalization form C.
    pub(super) nfc: bool,
    /// Lower case, by Unicode's language-independent rules.
    pub(super) lower: bool,
}

/// Applies the steps, in reused buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Cleaner {
    /// Ends a text, as it is given and without its HTML.
    pub(super) cut_after: Option<String>,
    #[cfg(feature = "html")]
    stripped: String,
    composed: String,
    lowered: String,
}

impl Cleaner {
    pub(super) fn clean<'a>(&'a mut self, steps: Clean, text: &'a str) -> &'a str {
        let marker = self.cut_after.as_deref();
        let mut text = marker.and_then(|marker| text.split_once(marker)).map_or(text, |(before, _)| before);
        #[cfg(feature = "html")]
        if steps.html {
            self.stripped = html::text_of(text, marker);
            text = &self.stripped;
        }
        if steps.nfc && !is_surely_composed(text) {
            compose(text, &mut self.composed);
            text = &self.composed;
        }
        if steps.lower {
            lower(text, &mut self.lowered);
            text = &self.lowered;
        }
        text
    }
}

/// Equals `nfc` of the whole text, but only stretches that may change take this slow way.
fn compose(text: &str, out: &mut String) {
    out.clear();
    for (ascii, other) in stretches(text) {
        out.push_str(ascii);
        if is_surely_composed(other) {
            out.push_str(other);
        } else {
            out.extend(other.nfc());
        }
    }
}

fn is_surely_composed(text: &str) -> bool {
    text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes
}

/// Equals `str::to_lowercase`, faster for mostly ASCII texts.
fn lower(text: &str, out: &mut String) {
    out.clear();
    // The lower case of a sigma depends on whether it ends a word. No other letter depends on its
    // neighbours.
    if !text.is_ascii() && text.contains('Σ') {
        out.push_str(&text.to_lowercase());
        return;
    }
    let mut rest = text;
    loop {
        let (ascii, more) = rest.split_at(ascii_len(rest));
        let start = out.len();
        out.push_str(ascii);
        out[start..].make_ascii_lowercase();
        let Some(char) = more.chars().next() else { return };
        out.extend(char.to_lowercase());
        rest = &more[char.len_utf8()..];
    }
}

/// Splits a text into alternating stretches of ASCII and of any characters.
///
/// Each boundary is before ASCII white space that follows no other white space. Unicode's rules for
/// normalization and for words do not cross such a boundary: white space composes with no character
/// before it, and no word extends over it. A run of white space stays with the stretch after it,
/// because marks can follow and belong to it.
pub(super) fn stretches(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let ascii = ascii_len(rest);
        let start = if ascii == rest.len() { ascii } else { last_space(&rest[..ascii]) };
        let end = next_space(rest, ascii);
        let stretch = (&rest[..start], &rest[start..end]);
        rest = &rest[end..];
        Some(stretch)
    })
}

/// The start of the last run of white space in an ASCII text, or of the text.
fn last_space(text: &str) -> usize {
    let last = text.bytes().rposition(|byte| byte.is_ascii_whitespace()).unwrap_or(0);
    text[..last].trim_ascii_end().len()
}

/// The start of the first run of white space, at or after a place, that begins with an ASCII one;
/// or the end.
fn next_space(text: &str, from: usize) -> usize {
    let begins =
        |at: usize| text.as_bytes()[at].is_ascii_whitespace() && !text[..at].ends_with(char::is_whitespace);
    (from..text.len()).find(|&at| begins(at)).unwrap_or(text.len())
}

/// The length in bytes of the ASCII prefix of a text.
fn ascii_len(text: &str) -> usize {
    const STEP: usize = 32;
    let bytes = text.as_bytes();
    let whole = bytes.chunks_exact(STEP).take_while(|chunk| chunk.is_ascii()).count() * STEP;
    whole + bytes[whole..].iter().take_while(|byte| byte.is_ascii()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cleaned(text: &str) -> String {
        Cleaner::default().clean(Clean { html: false, nfc: true, lower: true }, text).to_string()
    }

    #[test]
    fn composes_and_lowers() {
        assert_eq!(cleaned("E\u{301}COLE, ΟΔΟΣ ΣΟΦΟΣ!"), "\u{e9}cole, οδος σοφος!");
        assert_eq!(cleaned(""), "");
        assert_eq!(cleaned("İ\u{212B}"), "i\u{307}å");
    }

    proptest! {
        #[test]
        fn cleaning_equals_the_plain_way(text in "([A-Za-zÄÉΣσİ<=\n\u{338}\u{300}\u{301}\u{AC00}\u{1100}\u{1161} .]|\\PC){0,80}") {
            prop_assert_eq!(cleaned(&text), text.nfc().collect::<String>().to_lowercase());
            prop_assert_eq!(stretches(&text).map(|(ascii, other)| format!("{ascii}{other}")).collect::<String>(), text.clone());
            prop_assert_eq!(ascii_len(&text), text.find(|c: char| !c.is_ascii()).unwrap_or(text.len()));
        }
    }
}
