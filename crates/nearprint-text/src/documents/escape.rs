//! Keys and paths as columns of tab-separated lines.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes a key for a tab-separated line, and for a terminal.
///
/// Tab, line feed, carriage return and backslash become `\t`, `\n`, `\r` and `\\`. Other control
/// characters, U+0000 to U+001F and U+007F to U+009F, become `\x` and two hexadecimal digits.
///
/// ```
/// assert_eq!(nearprint_text::documents::escape("a\tb\x1b[2J"), r"a\tb\x1b[2J");
/// ```
#[must_use]
pub fn escape(key: &str) -> Cow<'_, str> {
    if !key.contains(|c: char| c.is_control() || c == '\\') {
        return Cow::Borrowed(key);
    }
    let mut escaped = String::with_capacity(key.len() + 8);
    for c in key.chars() {
        match c {
            '\t' => escaped.push_str("\\t"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\\' => escaped.push_str("\\\\"),
            other if other.is_control() => {
                let _ = write!(escaped, "\\x{:02x}", u32::from(other));
            }
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

/// Reverses [`escape`]. A backslash before anything else is literal.
#[must_use]
pub fn unescape(cell: &str) -> Cow<'_, str> {
    if !cell.contains('\\') {
        return Cow::Borrowed(cell);
    }
    let (mut key, mut rest) = (String::with_capacity(cell.len()), cell);
    while let Some(at) = rest.find('\\') {
        key.push_str(&rest[..at]);
        let (c, len_bytes) = escaped_char(&rest[at + 1..]).unwrap_or(('\\', 0));
        key.push(c);
        rest = &rest[at + 1 + len_bytes..];
    }
    key.push_str(rest);
    Cow::Owned(key)
}

/// Escapes bytes as [`escape`] does the text that they are. A byte that is not UTF-8 becomes `\\xHH`, from `\\x80` on.
/// So that they are told from those, U+0080 to U+009F are escaped byte by byte.
pub(crate) fn escape_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains(|c: char| c.is_control() || c == '\\')
    {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\u{80}'..='\u{9f}' => push_bytes(&mut escaped, c.encode_utf8(&mut [0; 4]).as_bytes()),
                c => escaped.push_str(&escape(c.encode_utf8(&mut [0; 4]))),
            }
        }
        push_bytes(&mut escaped, chunk.invalid());
    }
    Cow::Owned(escaped)
}

fn push_bytes(escaped: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(escaped, "\\x{byte:02x}");
    }
}

/// Reverses [`escape_bytes`].
pub(crate) fn unescape_bytes(cell: &str) -> Cow<'_, [u8]> {
    if !cell.contains('\\') {
        return Cow::Borrowed(cell.as_bytes());
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(cell.len()), cell);
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let sequence = &rest[at + 1..];
        let high = sequence.strip_prefix('x').and_then(|digits| digits.get(..2));
        let high = high.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|byte| *byte >= 0x80);
        let (byte, len_bytes) = match (high, escaped_char(sequence)) {
            (Some(byte), _) => (byte, 3),
            (None, Some((c, len_bytes))) => (u8::try_from(c).unwrap_or(b'\\'), len_bytes),
            (None, None) => (b'\\', 0),
        };
        bytes.push(byte);
        rest = &sequence[len_bytes..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Cow::Owned(bytes)
}

/// The character that an escape sequence means, after its backslash, and the length of the
/// sequence.
fn escaped_char(sequence: &str) -> Option<(char, usize)> {
    match sequence.as_bytes().first()? {
        b't' => Some(('\t', 1)),
        b'n' => Some(('\n', 1)),
        b'r' => Some(('\r', 1)),
        b'\\' => Some(('\\', 1)),
        b'x' => {
            let digits = sequence.get(1..3).filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()))?;
            let c = char::from(u8::from_str_radix(digits, 16).ok()?);
            c.is_control().then_some((c, 3))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_keys_fit_one_column_and_are_restored() {
        assert_eq!(escape("a b"), "a b");
        assert_eq!(escape("a\tb\\\r\n"), r"a\tb\\\r\n");
        assert_eq!(escape("\0\x1b[31m\x0b\x0c\x7f\u{9b}"), r"\x00\x1b[31m\x0b\x0c\x7f\x9b");
        for key in [
            "",
            "a b ",
            "a\tb\\\r\n",
            "\\t",
            "\\\\n\\",
            "\0\x1b[31m\x0b\x0c\x7f\u{9b}é",
            "\\x1b",
            "\\x",
            "\\xé",
        ] {
            assert_eq!(unescape(&escape(key)), key);
        }
        for literal in [r"C:\x\", r"\x41", r"\x9é", r"\x+1"] {
            assert_eq!(unescape(literal), literal);
        }
    }
}
