//! Helpers for the text of a document.

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
#[must_use]
pub fn looks_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(8192)]).is_some()
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
    fn zero_bytes_near_the_start_are_binary() {
        assert!(looks_binary(b"\x7fELF\0"));
        assert!(!looks_binary("plain text".as_bytes()));
        let mut late = vec![b'x'; 8192];
        late.push(0);
        assert!(!looks_binary(&late));
    }
}
