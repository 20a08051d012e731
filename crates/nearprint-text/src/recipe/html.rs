//! The text that stands in HTML.
//!
//! Read with a tokenizer that follows the HTML standard, so that what is malformed is read as browsers
//! read it. No tree is built: which elements hold no text for readers, and which keep words apart, is
//! all that matters.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

/// Elements whose content nobody reads as text.
const UNREAD: [&[u8]; 8] =
    [b"iframe", b"noembed", b"noframes", b"noscript", b"object", b"script", b"style", b"template"];

/// Elements that stand inside words and sentences. All others, unknown ones included, keep words apart.
#[rustfmt::skip]
const INLINE: [&[u8]; 33] = [
    b"a", b"abbr", b"acronym", b"b", b"bdi", b"bdo", b"big", b"cite", b"code", b"data", b"del", b"dfn", b"em",
    b"font", b"i", b"ins", b"kbd", b"mark", b"nobr", b"q", b"s", b"samp", b"small", b"span", b"strike",
    b"strong", b"sub", b"sup", b"time", b"tt", b"u", b"var", b"wbr",
];

/// The text of an HTML document or fragment as readers see it: entities decoded, no markup, no comments, no
/// scripts or styles; a line for each stretch between elements that are not part of a line, white space in it
/// as single spaces, none around it, no empty lines.
///
/// Nothing is malformed: everything is read as browsers read it. Its words are those that recipes with
/// `clean=html` make fingerprints of. Time in proportion to the length.
///
/// ```
/// let text = nearprint_text::recipe::html_text("<p>One &amp;\n t<b>wo</b><script>x()</script><p>three");
/// assert_eq!(text, "One & two\nthree");
/// ```
#[must_use]
pub fn html_text(html: &str) -> String {
    let Text { out, breaks, .. } = Text::read(html);
    let out = String::from_utf8_lossy(&out);
    let mut text = String::with_capacity(out.len());
    let mut start = 0;
    for end in breaks.into_iter().chain([out.len()]) {
        // Breaks stand between whole characters, unless something there was no text.
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

/// The same with white space as it stands there, and a line break wherever an element begins or ends that is not
/// part of a line.
pub(super) fn text_of(html: &str) -> String {
    let text = Text::read(html);
    String::from_utf8(text.out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[derive(Default)]
struct Text {
    out: Vec<u8>,
    /// Where in it an element begins or ends that is not part of a line.
    breaks: Vec<usize>,
    /// The element without text that we are in, and how many of its kind are open.
    unread: Option<(&'static [u8], usize)>,
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

    fn take(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::String { value } if self.unread.is_none() => self.out.extend_from_slice(value),
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
        if self.unread.is_none() && !INLINE.contains(&name) {
            self.breaks.push(self.out.len());
            self.out.push(b'\n');
        }
    }

    fn open(&mut self, name: &[u8]) {
        match &mut self.unread {
            Some((unread, depth)) => *depth += usize::from(*unread == name),
            None => {
                let unread = UNREAD.into_iter().find(|unread| *unread == name);
                self.unread = unread.map(|unread| (unread, 1));
            }
        }
    }

    fn close(&mut self, name: &[u8]) {
        if let Some((unread, depth)) = &mut self.unread
            && *unread == name
        {
            *depth -= 1;
            if *depth == 0 {
                self.unread = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(html: &str) -> String {
        text_of(html).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_readers_see_remains() {
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
    fn a_line_is_what_stands_between_elements_that_are_not_part_of_one() {
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
            prop_assert_eq!(html_text(&html).split_whitespace().collect::<String>(), text_of(&html).split_whitespace().collect::<String>());
        }
    }
}
