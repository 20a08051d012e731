//! Keys and paths in columns between tabs.

use std::borrow::Cow;

/// A key as it stands in a column: what would end the column or the line is escaped.
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

/// Undoes [`escape`]. A backslash before anything else stands for itself.
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
    fn keys_keep_to_their_column() {
        assert_eq!(escape("a b"), "a b");
        assert_eq!(escape("a\tb\\\r\n"), r"a\tb\\\r\n");
        for key in ["", "a b ", "a\tb\\\r\n", "\\t", "\\\\n\\"] {
            assert_eq!(unescape(&escape(key)), key);
        }
        assert_eq!(unescape(r"C:\x\"), r"C:\x\");
    }
}
