//! Cleans a text before tokenization.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::categories::is_assigned;
use super::html;
use super::marker::Marker;

/// The steps, in the order of their application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Clean {
    /// Extracts the text of HTML.
    pub(super) html: Html,
    /// Unicode normalization form C.
    pub(super) nfc: bool,
    /// Unicode normalization form KC.
    pub(super) nfkc: bool,
    /// Removes the vowel marks of Arabic.
    pub(super) harakat: bool,
    /// Removes the sign that makes Arabic words longer.
    pub(super) tatweel: bool,
    /// Lower case, by Unicode's language-independent rules.
    pub(super) lower: bool,
}

/// Which texts are HTML: only what a reader sees of them counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Html {
    #[default]
    None,
    All,
    /// Texts that [begin as HTML does](html::begins_as_html).
    Detected,
}

impl Html {
    pub(super) fn has(self, text: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Detected => html::begins_as_html(text),
        }
    }
}

/// Applies the steps, in reused buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Cleaner {
    /// Ends a text, as it is given and without its HTML.
    marker: Option<Marker>,
    stripped: String,
    letters: Letters,
}

/// The buffers of the steps that change letters.
#[derive(Clone, Debug, Default)]
struct Letters {
    composed: String,
    bare: String,
    lowered: String,
}

impl Cleaner {
    pub(super) fn new(marker: Option<Marker>) -> Self {
        Self { marker, ..Self::default() }
    }

    pub(super) fn clean<'a>(&'a mut self, steps: Clean, text: &'a str) -> &'a str {
        let (text, letters) = self.visible(steps, text);
        letters.clean(steps, text)
    }

    /// Calls `visit(ascii, other)` for the parts of a text in their order: one of ASCII, in which only
    /// letters are left to be put into lower case, and a clean one of any characters. No word has a
    /// share of two parts.
    pub(super) fn for_each_stretch(&mut self, steps: Clean, text: &str, mut visit: impl FnMut(&str, &str)) {
        let (text, letters) = self.visible(steps, text);
        for (ascii, other) in stretches(text) {
            visit(ascii, if other.is_empty() { "" } else { letters.clean(steps, other) });
        }
    }

    /// Whether a text is HTML for these steps, and has markup. A marker that ends the visible text may stand anywhere
    /// in the markup: with one, none counts.
    pub(super) fn has_markup(&self, steps: Clean, text: &str) -> bool {
        self.marker.is_none()
            && steps.html.has(text)
            && memchr::memchr2(b'<', b'&', text.as_bytes()).is_some()
    }

    /// The text up to the marker, without HTML if that is a step, and the other buffers.
    fn visible<'a>(&'a mut self, steps: Clean, text: &'a str) -> (&'a str, &'a mut Letters) {
        let marker = self.marker.as_ref();
        let text = marker.map_or(text, |marker| marker.cut(text));
        if steps.html.has(text) {
            self.stripped = html::text_of(text, marker);
            return (&self.stripped, &mut self.letters);
        }
        (text, &mut self.letters)
    }
}

impl Letters {
    fn clean<'a>(&'a mut self, steps: Clean, mut text: &'a str) -> &'a str {
        if steps.nfkc && !text.is_ascii() {
            self.composed.clear();
            by_unicode_16(text, &mut self.composed, |known, out| out.extend(known.nfkc()));
            text = &self.composed;
        } else if steps.nfc && !is_surely_composed(text) {
            compose(text, &mut self.composed);
            text = &self.composed;
        }
        let is_gone = |c: char| steps.harakat && is_haraka(c) || steps.tatweel && c == TATWEEL;
        if (steps.harakat || steps.tatweel) && text.contains(is_gone) {
            let kept = text.replace(is_gone, "");
            // A mark now follows the letter that the removed sign kept it from.
            match steps.nfc || steps.nfkc {
                true => compose(&kept, &mut self.bare),
                false => self.bare = kept,
            }
            text = &self.bare;
        }
        if steps.lower {
            lower(text, &mut self.lowered);
            text = &self.lowered;
        }
        text
    }
}

/// The sign that makes Arabic words longer.
const TATWEEL: char = '\u{640}';

/// Whether a character is a vowel mark of Arabic: fathatan to sukun, and the superscript alef.
fn is_haraka(c: char) -> bool {
    matches!(c, '\u{64b}'..='\u{652}' | '\u{670}')
}

/// Equals `nfc` of the whole text, but only stretches that may change take this slow way.
fn compose(text: &str, out: &mut String) {
    out.clear();
    for (ascii, other) in stretches(text) {
        out.push_str(ascii);
        if is_surely_composed(other) {
            out.push_str(other);
        } else {
            by_unicode_16(other, out, |known, out| out.extend(known.nfc()));
        }
    }
}

/// Normalizes a text as Unicode 16 does, by the tables of any later version: those of a character never change, and one
/// that Unicode 16 does not have stays as it is, and composes with nothing.
fn by_unicode_16(text: &str, out: &mut String, normalize: impl Fn(&str, &mut String)) {
    let mut start = 0;
    for (at, newer) in text.match_indices(|c| !is_assigned(c)) {
        normalize(&text[start..at], out);
        out.push_str(newer);
        start = at + newer.len();
    }
    normalize(&text[start..], out);
}

fn is_surely_composed(text: &str) -> bool {
    text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes
}

/// Whether Unicode 16 does not have the lower case that the standard library gives a character.
fn is_lower_case_newer(c: char) -> bool {
    let changes = !c.is_ascii() && !has_no_case(c) && !c.to_lowercase().eq([c]);
    changes && !(is_assigned(c) && c.to_lowercase().all(is_assigned))
}

/// Whether a character is surely without case: Kana, Han, Hangul and their neighbours.
fn has_no_case(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7ff}')
}

/// Equals `str::to_lowercase` with the tables of Unicode 16, faster for mostly ASCII texts.
fn lower(text: &str, out: &mut String) {
    out.clear();
    // The lower case of a sigma depends on whether it ends a word. No other letter depends on its
    // neighbours.
    if !text.is_ascii() && text.contains('Σ') {
        return lower_with_sigma(text, out);
    }
    let mut rest = text;
    loop {
        let (ascii, more) = rest.split_at(ascii_len(rest));
        let start = out.len();
        out.push_str(ascii);
        out[start..].make_ascii_lowercase();
        let Some(char) = more.chars().next() else { return };
        if has_no_case(char) || is_lower_case_newer(char) {
            out.push(char)
        } else {
            out.extend(char.to_lowercase())
        }
        rest = &more[char.len_utf8()..];
    }
}

/// A character that Unicode 16 does not have belongs to no word, so that words end at both sides. So
/// they do at U+0295, which has a case in Unicode 16 and none in 17.
fn lower_with_sigma(text: &str, out: &mut String) {
    let mut start = 0;
    for (at, newer) in text.match_indices(|c| c == '\u{295}' || !is_assigned(c) || is_lower_case_newer(c)) {
        *out += &text[start..at].to_lowercase();
        *out += newer;
        start = at + newer.len();
    }
    *out += &text[start..].to_lowercase();
}

/// Splits a text into alternating stretches of ASCII and of any characters.
///
/// Each boundary is before ASCII white space that follows no other white space. Unicode's rules for
/// normalization and for words do not cross such a boundary: white space composes with no character
/// before it, and no word extends over it. A run of white space stays with the stretch after it,
/// because marks can follow and belong to it.
fn stretches(text: &str) -> impl Iterator<Item = (&str, &str)> {
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
        Cleaner::default().clean(Clean { nfc: true, lower: true, ..Clean::default() }, text).to_string()
    }

    #[test]
    fn composes_and_lowers() {
        assert_eq!(cleaned("E\u{301}COLE, ΟΔΟΣ ΣΟΦΟΣ!"), "\u{e9}cole, οδος σοφος!");
        assert_eq!(cleaned(""), "");
        assert_eq!(cleaned("İ\u{212B}"), "i\u{307}å");
    }

    const ARABIC: Clean =
        Clean { html: Html::None, nfc: false, nfkc: true, harakat: true, tatweel: true, lower: true };

    #[test]
    fn compatible_forms_and_arabic_marks_are_steps() {
        let mut cleaner = Cleaner::default();
        let mut with = |steps: Clean, text: &str| cleaner.clean(steps, text).to_string();
        let none = Clean::default();
        assert_eq!(with(Clean { nfkc: true, ..none }, "ﬁne １２ ｶﾞ ²"), "fine 12 ガ 2");
        let text = "مُحَمَّدٌ كتـــاب هٰذا آ";
        assert_eq!(with(Clean { harakat: true, ..none }, text), "محمد كتـــاب هذا آ");
        assert_eq!(with(Clean { tatweel: true, ..none }, text), "مُحَمَّدٌ كتاب هٰذا آ");
        // A presentation form has its tatweel and its mark only after normalization.
        assert_eq!(with(ARABIC, "ﹷ"), "");
        assert_eq!(with(ARABIC, "ا\u{640}\u{653}"), "آ");
        assert_eq!(with(none, text), text);
    }

    proptest! {
        #[test]
        fn stretches_are_cleaned_as_the_whole(text in "([A-Za-zﬁ１ｶﾞ \u{640}\u{64e}\u{651}مح\u{fdfa}\u{a0}\n.]|\\PC){0,60}") {
            let whole = Cleaner::default().clean(ARABIC, &text).to_string();
            let mut parts = String::new();
            Cleaner::default().for_each_stretch(ARABIC, &text, |ascii, other| {
                parts += &ascii.to_ascii_lowercase();
                parts += other;
            });
            prop_assert_eq!(parts, whole);
        }

        #[test]
        fn cleaning_equals_the_plain_way(text in "([A-Za-zÄÉΣσİ<=\n\u{338}\u{300}\u{301}\u{AC00}\u{1100}\u{1161} .]|\\PC){0,80}") {
            prop_assert_eq!(cleaned(&text), text.nfc().collect::<String>().to_lowercase());
            prop_assert_eq!(stretches(&text).map(|(ascii, other)| format!("{ascii}{other}")).collect::<String>(), text.clone());
            prop_assert_eq!(ascii_len(&text), text.find(|c: char| !c.is_ascii()).unwrap_or(text.len()));
        }
    }
}
