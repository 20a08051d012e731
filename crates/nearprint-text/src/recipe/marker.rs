//! The text at which a recipe ends texts, and its form in the line of the recipe.

use std::fmt::{self, Write as _};
use std::sync::Arc;

/// Ends a text at its first occurrence. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Marker(Arc<str>);

impl Marker {
    /// Reads the form in a line, in which `%2C` stands for the byte with this number in hexadecimal.
    pub(super) fn parse(encoded: &str) -> Result<Self, String> {
        let mut bytes = Vec::with_capacity(encoded.len());
        let mut parts = encoded.split('%');
        bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
        for part in parts {
            let digits = part.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            bytes.push(byte.ok_or("cut: write % as %25, and other bytes as % with two hexadecimal digits")?);
            bytes.extend_from_slice(&part.as_bytes()[2..]);
        }
        match String::from_utf8(bytes) {
            Ok(text) if text.is_empty() => Err("cut: needs a text; an empty one begins every text".into()),
            Ok(text) => Ok(Self(text.into())),
            Err(_) => Err(format!("cut:{encoded} is not valid UTF-8")),
        }
    }

    /// The part of a text before the first occurrence; the whole text without one.
    pub(super) fn cut<'a>(&self, text: &'a str) -> &'a str {
        match memchr::memmem::find(text.as_bytes(), self.0.as_bytes()) {
            Some(at) => &text[..at],
            None => text,
        }
    }
}

impl fmt::Display for Marker {
    /// Writes what would end the value, the step or a quotation in a shell, and what a terminal obeys, as `%` and
    /// digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            if !(matches!(c, '%' | ',' | '=' | '\'') || c.is_whitespace() || c.is_control()) {
                f.write_char(c)?;
                continue;
            }
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                write!(f, "%{byte:02X}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_has_one_form_of_a_marker() {
        for (encoded, text, canonical) in [
            ("Editor:", "Editor:", "Editor:"),
            ("%45ditor%3a", "Editor:", "Editor:"),
            ("a%20b%2cc%3Dd%25", "a b,c=d%", "a%20b%2Cc%3Dd%25"),
            ("a=b", "a=b", "a%3Db"),
            ("it's", "it's", "it%27s"),
            ("收录：", "收录：", "收录："),
            ("%E6%94%B6录", "收录", "收录"),
            ("%0A--", "\n--", "%0A--"),
            ("%00%e3%80%80%C2%A0", "\0\u{3000}\u{a0}", "%00%E3%80%80%C2%A0"),
        ] {
            let marker = Marker::parse(encoded).unwrap();
            assert_eq!((&*marker.0, &*marker.to_string()), (text, canonical));
        }
        for (encoded, why) in [
            ("", "needs a text"),
            ("%", "%25"),
            ("a%2", "%25"),
            ("100%", "%25"),
            ("%+1", "%25"),
            ("%é", "%25"),
            ("%ff", "UTF-8"),
            ("%E6%94", "UTF-8"),
        ] {
            assert!(Marker::parse(encoded).unwrap_err().contains(why), "{encoded}");
        }
    }

    #[test]
    fn the_first_occurrence_ends_a_text() {
        let marker = Marker::parse("--").unwrap();
        for (text, before) in [("a--b--c", "a"), ("a-b", "a-b"), ("--", ""), ("", ""), ("é---", "é")] {
            assert_eq!(marker.cut(text), before);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_written_as_one_word_and_read_again(text in "(\\PC|[ ,=%'\0\n\t\u{85}\u{3000}]){1,9}") {
            let line = Marker(text.as_str().into()).to_string();
            prop_assert!(!line.contains([',', '=', '\'']) && !line.contains(char::is_whitespace), "{line}");
            let marker = Marker::parse(&line).unwrap();
            prop_assert_eq!((&*marker.0, marker.to_string()), (&*text, line));
        }
    }
}
