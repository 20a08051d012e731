//! Helpers for the text of a document.

use std::path::Path;

use super::fields::lossy;
use super::lines::without_mark;
use crate::recipe::begins_as_html;

/// The part of a text before the first occurrence of a marker; the whole text without one.
///
/// ```
/// assert_eq!(nearprint_text::documents::cut_after("news -- signature -- x", " --"), "news");
/// ```
#[must_use]
pub fn cut_after<'a>(text: &'a str, marker: &str) -> &'a str {
    match memchr::memmem::find(text.as_bytes(), marker.as_bytes()) {
        Some(at) => &text[..at],
        None => text,
    }
}

/// Whether bytes are unlikely to be text: whether one of the first 8,192 is zero.
///
/// Executables, images and archives have zero bytes near their start; text files have none.
pub(super) fn looks_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(8192)]).is_some()
}

/// The text of a file as it is compared, and whether it has invalid UTF-8, which is replaced. A file
/// with the name of an HTML page begins with a document type, its own or this one, so that everything
/// takes it for HTML.
///
/// ```
/// use nearprint_text::documents::text_of_file;
///
/// assert_eq!(text_of_file("a.htm".as_ref(), b"One <b>two").0, "<!doctype html>One <b>two");
/// assert_eq!(text_of_file("a.txt".as_ref(), b"One <b>two\xff"), ("One <b>two\u{fffd}".into(), true));
/// ```
#[must_use]
pub fn text_of_file(path: &Path, bytes: &[u8]) -> (String, bool) {
    let is = |path: &Path, names: &[&str]| {
        path.extension()
            .is_some_and(|extension| names.iter().any(|name| extension.eq_ignore_ascii_case(name)))
    };
    let stem = path.file_stem().filter(|_| is(path, &["gz", "zst", "bz2", "xz"]));
    let is_html = is(stem.map_or(path, Path::new), &["html", "htm", "xhtml"]);
    let (text, invalid_utf8) = lossy(without_mark(bytes));
    let text = match is_html && !begins_as_html(&text) {
        true => format!("<!doctype html>{text}"),
        false => text.into_owned(),
    };
    (text, invalid_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_at_the_first_marker() {
        assert_eq!(cut_after("a--b--c", "--"), "a");
        assert_eq!(cut_after("a-b", "--"), "a-b");
    }

    #[test]
    fn files_with_names_of_pages_are_html() {
        let is_html =
            |path: &str, text: &str| begins_as_html(&text_of_file(Path::new(path), text.as_bytes()).0);
        for path in ["a.html", "b/c.HTM", "d.xhtml.gz"] {
            assert!(is_html(path, "{% extends %}"), "{path}");
        }
        for path in ["a.txt", "html", "a.html.txt", "a.gz", ".html"] {
            assert!(!is_html(path, "{% extends %}"), "{path}");
        }
        assert_eq!(text_of_file(Path::new("a.html"), b"<p>x").0, "<p>x");
    }

    #[test]
    fn zero_bytes_near_the_start_are_binary() {
        assert!(looks_binary(b"\x7fELF\0"));
        assert!(!looks_binary("plain text".as_bytes()));
        let mut late = vec![b'x'; 8192];
        late.push(0);
        assert!(!looks_binary(&late));
    }
}
