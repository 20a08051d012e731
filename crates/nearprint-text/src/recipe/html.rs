//! Extracts the visible text of HTML.
//!
//! The tokenizer follows the HTML standard and reads malformed markup as browsers do. No tree is
//! built: it suffices to know which elements have no visible text, and which separate words.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::marker::Marker;

/// Elements without visible text.
const HIDDEN: [&[u8]; 8] =
    [b"iframe", b"noembed", b"noframes", b"noscript", b"object", b"script", b"style", b"template"];

/// Elements inside words and sentences. All others, unknown ones included, separate words.
#[rustfmt::skip]
const INLINE: [&[u8]; 33] = [
    b"a", b"abbr", b"acronym", b"b", b"bdi", b"bdo", b"big", b"cite", b"code", b"data", b"del", b"dfn", b"em",
    b"font", b"i", b"ins", b"kbd", b"mark", b"nobr", b"q", b"s", b"samp", b"small", b"span", b"strike",
    b"strong", b"sub", b"sup", b"time", b"tt", b"u", b"var", b"wbr",
];

/// The visible text of an HTML document or fragment.
///
/// Entities are decoded; markup, comments, scripts and styles are removed. Each block is one line,
/// with single spaces, without empty lines. Malformed markup is read as browsers do. Recipes with
/// `clean=html` make fingerprints of the same words. Takes time in proportion to the length.
///
/// ```
/// let text = nearprint_text::recipe::html_text("<p>One &amp;\n t<b>wo</b><script>x()</script><p>three");
/// assert_eq!(text, "One & two\nthree");
/// ```
#[must_use]
pub fn html_text(html: &str) -> String {
    Text::read(html).lines()
}

/// The visible text with its original white space, and a line feed at the start and the end of each
/// block element. If the visible text as [`html_text`] writes it has the marker, that text before
/// it.
pub(super) fn text_of(html: &str, marker: Option<&Marker>) -> String {
    let text = Text::read(html);
    if let Some(marker) = marker {
        let mut lines = text.lines();
        let before = marker.cut(&lines).len();
        if before < lines.len() {
            lines.truncate(before);
            return lines;
        }
    }
    String::from_utf8(text.out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Whether a text begins as an HTML document does: with `<!doctype html` or `<html`, behind white space, comments and
/// an XML declaration. Fragments, components of web frameworks and templates begin with other tags; in them, more than
/// what a reader sees is to be compared.
pub(crate) fn begins_as_html(text: &str) -> bool {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    while let Some((_, after)) = [("<!--", "-->"), ("<?xml", "?>")]
        .iter()
        .find_map(|(start, end)| rest.strip_prefix(start)?.split_once(end))
    {
        rest = after.trim_start();
    }
    // A tag that never ends would take the whole text with it.
    let Some(tag) = rest.strip_prefix('<').filter(|tag| tag.contains('>')) else { return false };
    let name = &tag[..tag.find([' ', '\t', '\n', '\r', '\u{c}', '/', '>']).unwrap_or(0)];
    let second = || tag[name.len()..].trim_start().get(..4).unwrap_or_default();
    name.eq_ignore_ascii_case("html")
        || name.eq_ignore_ascii_case("!doctype") && second().eq_ignore_ascii_case("html")
}

#[derive(Default)]
struct Text {
    out: Vec<u8>,
    /// The places in it where block elements begin or end.
    breaks: Vec<usize>,
    /// The open element without visible text, and the depth of its nesting.
    hidden: Option<(&'static [u8], usize)>,
}

impl Text {
    fn read(html: &str) -> Self {
        let mut text = Self::default();
        let mut emitter =
            CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
                text.take(&event);
                None
            });
        emitter.naively_switch_states(true);
        let Ok(()) = Tokenizer::new_with_emitter(html, emitter).finish();
        text
    }

    /// A line for each block, with single spaces.
    fn lines(&self) -> String {
        let out = String::from_utf8_lossy(&self.out);
        let mut text = String::with_capacity(out.len());
        let mut start = 0;
        for end in self.breaks.iter().copied().chain([out.len()]) {
            // Breaks are at character boundaries: the input is valid UTF-8.
            let stretch = out.get(start..end).unwrap_or_default();
            start = end;
            for (index, word) in stretch.split_whitespace().enumerate() {
                match index {
                    0 if text.is_empty() => {}
                    0 => text.push('\n'),
                    _ => text.push(' '),
                }
                text.push_str(word);
            }
        }
        text
    }

    fn take(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::String { value } if self.hidden.is_none() => self.out.extend_from_slice(value),
            CallbackEvent::OpenStartTag { name } => {
                self.separate(name);
                self.open(name);
            }
            CallbackEvent::EndTag { name } => {
                self.separate(name);
                self.close(name);
            }
            _ => {}
        }
    }

    fn separate(&mut self, name: &[u8]) {
        if self.hidden.is_none() && !INLINE.contains(&name) {
            self.breaks.push(self.out.len());
            self.out.push(b'\n');
        }
    }

    fn open(&mut self, name: &[u8]) {
        match &mut self.hidden {
            Some((hidden, depth)) => *depth += usize::from(*hidden == name),
            None => {
                let hidden = HIDDEN.into_iter().find(|hidden| *hidden == name);
                self.hidden = hidden.map(|hidden| (hidden, 1));
            }
        }
    }

    fn close(&mut self, name: &[u8]) {
        if let Some((hidden, depth)) = &mut self.hidden
            && *hidden == name
        {
            *depth -= 1;
            if *depth == 0 {
                self.hidden = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(html: &str) -> String {
        text_of(html, None).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn visible_text_remains() {
        for (html, text) in [
            ("<p>One<p>two &amp; th<b>re</b>e", "One two & three"),
            ("<li>a</li><li>b</li><br>c<td>d", "a b c d"),
            ("&lt;p&gt; caf&eacute; &#x4e2d;&#25991; &nosuch;", "<p> café 中文 &nosuch;"),
            ("<SCRIPT>if (a < b) '</p>'</script>x<style>p { }</style>y<!-- z -->", "x y"),
            ("a<template>b<template>c</template>d</template>e<noscript>f</noscript>", "a e"),
            ("<title>T</title><textarea><b></textarea>", "T <b>"),
            ("<a title='x > y' href=\"&quot;\">link</a>ed", "linked"),
            ("1 < 2 <", "1 < 2 <"),
            ("<script>never closed", ""),
            ("", ""),
        ] {
            assert_eq!(words(html), text, "{html}");
        }
    }

    #[test]
    fn html_is_recognized_by_how_it_begins() {
        for html in [
            "<!DOCTYPE html><p>x",
            "\u{feff}\n <!doctype HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\">",
            "<HTML\nlang=de>x",
            "<html/>",
            "<!-- a --> <!-- > --><html>",
            "<?xml version=\"1.0\"?>\n<!DOCTYPE html>",
        ] {
            assert!(begins_as_html(html), "{html}");
        }
        for other in [
            "",
            "<",
            "text <p>",
            "<html and more",
            "<html",
            "<htmlx>",
            "<p>a fragment",
            "<script>let x</script>",
            "<!doctype svg>",
            "<?xml version=\"1.0\"?><rss>",
            "<svg>",
            "<!-- a",
            "a < b",
            "<i32>",
            "<é>",
            "<!doctype é>",
            "#include <a>",
        ] {
            assert!(!begins_as_html(other), "{other}");
        }
    }

    #[test]
    fn each_block_is_a_line() {
        for (html, text) in [
            ("<p>a\n b</p><p>c<b>d</b> e<br>f", "a b\ncd e\nf"),
            (" <div> </div>\n<div>\u{a0}x\u{3000}y </div>", "x y"),
            ("no markup\nat all", "no markup at all"),
            ("", ""),
        ] {
            assert_eq!(html_text(html), text, "{html}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_read(html in "(<[/!]?(p|script|b|template|!--|textarea)?[ a-z=\"'/]{0,4}>?|&[#a-z0-9]{0,4};?|\\PC|\0){0,60}") {
            prop_assert_eq!(html_text(&html).split_whitespace().collect::<String>(), text_of(&html, None).split_whitespace().collect::<String>());
        }
    }
}
