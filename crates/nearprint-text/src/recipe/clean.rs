//! What is done to a text before it is cut into tokens.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::html;

/// The steps wanted, in the order in which they are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Clean {
    /// Take the text out of HTML.
    pub(super) html: bool,
    /// Unicode normalisation form C.
    pub(super) nfc: bool,
    /// Lower case, by Unicode's rules for no language in particular.
    pub(super) lower: bool,
}

/// Takes the steps, in buffers of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Cleaner {
    stripped: String,
    composed: String,
    lowered: String,
}

impl Cleaner {
    pub(super) fn clean<'a>(&'a mut self, steps: Clean, text: &'a str) -> &'a str {
        let mut text = text;
        if steps.html {
            self.stripped = html::text_of(text);
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

/// Same as `nfc` of the whole, but only what may need it goes that slow way.
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

/// Same as `str::to_lowercase`, faster where most is ASCII.
fn lower(text: &str, out: &mut String) {
    out.clear();
    // The only letter that depends on its neighbours: a sigma at the end of a word.
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

/// Cuts a text into stretches of ASCII and of anything, by turns. What is cut off there starts with ASCII
/// white space that has no white space before it, so that nothing in Unicode's rules for normalisation and
/// for words reaches across: white space composes with nothing, and no word takes in what stands before
/// it. All of it stays in front because marks behind it do belong to it.
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

/// Where the last white space of an ASCII text begins, or the start.
fn last_space(text: &str) -> usize {
    let last = text.bytes().rposition(|byte| byte.is_ascii_whitespace()).unwrap_or(0);
    text[..last].trim_ascii_end().len()
}

/// Where the first white space at or after a place begins, if with an ASCII one, or the end.
fn next_space(text: &str, from: usize) -> usize {
    let begins =
        |at: usize| text.as_bytes()[at].is_ascii_whitespace() && !text[..at].ends_with(char::is_whitespace);
    (from..text.len()).find(|&at| begins(at)).unwrap_or(text.len())
}

/// Length in bytes of the ASCII at the start of a text.
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
        fn equals_the_plain_way(text in "([A-Za-zÄÉΣσİ<=\n\u{338}\u{300}\u{301}\u{AC00}\u{1100}\u{1161} .]|\\PC){0,80}") {
            prop_assert_eq!(cleaned(&text), text.nfc().collect::<String>().to_lowercase());
            prop_assert_eq!(stretches(&text).map(|(ascii, other)| format!("{ascii}{other}")).collect::<String>(), text.clone());
            prop_assert_eq!(ascii_len(&text), text.find(|c: char| !c.is_ascii()).unwrap_or(text.len()));
        }
    }
}
