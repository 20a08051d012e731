//! Helpers for the text of a document.

use std::path::Path;

use super::kind::{Decoded, decode, name_says_html};
use super::preprocessor::Decoding;
use crate::recipe::begins_as_html;

/// The text of a file as it is compared, and its encoding: that of `decoding`, or the one that [`decode`] finds, which is
/// that of what a program has written. A file with the name of an HTML page begins with a document type, its own or this
/// one, so that everything takes it for HTML. A file with the name of a source text, such as `.php`, that begins as a page
/// gets a zero-width space before it, so that nothing does. `None` if the bytes are no text.
///
/// ```
/// use nearprint_text::documents::{Decoding, text_of_file};
///
/// let page = text_of_file("a.htm".as_ref(), b"One <b>two", &Decoding::default()).unwrap();
/// assert_eq!(page.text, "<!doctype html>One <b>two");
/// let latin = Decoding::of("latin1".parse().ok());
/// let note = text_of_file("a.txt".as_ref(), b"caf\xe9", &latin).unwrap();
/// assert_eq!((&*note.text, note.counted_as()), ("caf\u{e9}", Some("windows-1252")));
/// ```
#[must_use]
pub fn text_of_file<'a>(path: &Path, bytes: &'a [u8], decoding: &Decoding) -> Option<Decoded<'a>> {
    if decoding.is_preprocessed(path) {
        return decode(bytes, None);
    }
    let mut decoded = decode(bytes, decoding.encoding)?;
    match (name_says_html(path), begins_as_html(&decoded.text)) {
        (Some(true), false) => decoded.text.to_mut().insert_str(0, "<!doctype html>"),
        (Some(false), true) => decoded.text.to_mut().insert(0, '\u{200b}'),
        _ => {}
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_names_of_pages_are_html() {
        let is_html = |path: &str, text: &str| {
            begins_as_html(
                &text_of_file(Path::new(path), text.as_bytes(), &Decoding::default()).unwrap().text,
            )
        };
        for path in ["a.html", "b/c.HTM", "d.xhtml.gz"] {
            assert!(is_html(path, "{% extends %}"), "{path}");
        }
        for path in ["a.txt", "html", "a.html.txt", "a.gz", ".html"] {
            assert!(!is_html(path, "{% extends %}"), "{path}");
        }
        let page = "<!DOCTYPE html><p>x";
        assert_eq!(
            text_of_file(Path::new("a.html"), page.as_bytes(), &Decoding::default()).unwrap().text,
            page
        );
    }
}
