//! Keys and paths as columns of tab-separated lines.

use std::borrow::Cow;

/// Escapes a key for a tab-separated line: tab, line feed, carriage return and backslash become
/// `\t`, `\n`, `\r` and `\\`.
///
/// ```
/// assert_eq!(nearprint_text::documents::escape("a\tb"), r"a\tb");
/// ```
#[must_use]
pub fn escape(key: &str) -> Cow<'_, str> {
    if !key.contains(['\t', '\n', '\r', '\\']) {
        return Cow::Borrowed(key);
    }
    let mut escaped = String::with_capacity(key.len() + 8);
    for c in key.chars() {
        match c {
            '\t' => escaped.push_str("\\t"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\\' => escaped.push_str("\\\\"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

/// Reverses [`escape`]. A backslash before any other character is literal.
#[must_use]
pub fn unescape(cell: &str) -> Cow<'_, str> {
    if !cell.contains('\\') {
        return Cow::Borrowed(cell);
    }
    let mut key = String::with_capacity(cell.len());
    let mut chars = cell.chars();
    while let Some(c) = chars.next() {
        let after = chars.clone().next();
        let meant = match (c, after) {
            ('\\', Some('t')) => '\t',
            ('\\', Some('n')) => '\n',
            ('\\', Some('r')) => '\r',
            ('\\', Some('\\')) => '\\',
            _ => {
                key.push(c);
                continue;
            }
        };
        key.push(meant);
        chars.next();
    }
    Cow::Owned(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_keys_fit_one_column_and_are_restored() {
        assert_eq!(escape("a b"), "a b");
        assert_eq!(escape("a\tb\\\r\n"), r"a\tb\\\r\n");
        for key in ["", "a b ", "a\tb\\\r\n", "\\t", "\\\\n\\"] {
            assert_eq!(unescape(&escape(key)), key);
        }
        assert_eq!(unescape(r"C:\x\"), r"C:\x\");
    }
}
