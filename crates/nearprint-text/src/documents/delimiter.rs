//! What stands between the cells of a table.

use std::fmt;
use std::str::FromStr;

/// The delimiters that are found by themselves, with the names that they may have.
const NAMED: [(u8, &[&str]); 4] =
    [(b',', &["comma"]), (b'\t', &["tab", "\\t"]), (b';', &["semicolon"]), (b'|', &["bar", "pipe"])];

/// The byte between the cells of CSV and TSV.
///
/// As text, it is a character of ASCII, or `comma`, `tab` (also `\t`), `semicolon` or `bar` (also `pipe`).
///
/// ```
/// use nearprint_text::documents::Delimiter;
///
/// assert_eq!("tab".parse(), "\t".parse::<Delimiter>());
/// assert_eq!("semicolon".parse::<Delimiter>()?.to_string(), ";");
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delimiter(u8);

impl Delimiter {
    pub(super) const COMMA: Self = Self(b',');
    pub(super) const TAB: Self = Self(b'\t');

    pub(super) fn byte(self) -> u8 {
        self.0
    }

    /// Those that are looked for in a header, this one first.
    pub(super) fn and_others(self) -> impl Iterator<Item = Self> {
        let others = NAMED.into_iter().map(|(byte, _)| Self(byte)).filter(move |other| *other != self);
        std::iter::once(self).chain(others)
    }
}

impl FromStr for Delimiter {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((byte, _)) = NAMED.iter().find(|(_, names)| names.contains(&text)) {
            return Ok(Self(*byte));
        }
        match *text.as_bytes() {
            // What is left of an unquoted \t is no delimiter.
            [byte] if byte.is_ascii_alphanumeric() => {
                Err("a letter or digit cannot separate fields; write a tab as `tab`")
            }
            [b'"' | b'\n' | b'\r' | 0x80..] => Err("a quotation mark or a line end cannot separate fields"),
            [byte] => Ok(Self(byte)),
            _ => Err("expected one character of ASCII, or comma, tab, semicolon or bar"),
        }
    }
}

impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b'\t' => f.write_str("tab"),
            byte if byte.is_ascii_graphic() => write!(f, "{}", char::from(byte)),
            byte => write!(f, "{:?}", char::from(byte)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_have_names() {
        for (text, byte) in [
            (",", b','),
            ("comma", b','),
            ("tab", b'\t'),
            ("\\t", b'\t'),
            ("\t", b'\t'),
            ("semicolon", b';'),
            ("|", b'|'),
            ("pipe", b'|'),
            ("bar", b'|'),
            ("\u{1}", 1),
            (" ", b' '),
            ("\\", b'\\'),
        ] {
            assert_eq!(text.parse(), Ok(Delimiter(byte)), "{text}");
        }
        for text in ["", "t", "0", "\"", "\n", "\r", ",,", "§", "Tab", "\\x01"] {
            assert!(text.parse::<Delimiter>().is_err(), "{text}");
        }
        assert_eq!(
            ["tab", ";", "\u{1}"].map(|text| text.parse::<Delimiter>().unwrap().to_string()),
            ["tab", ";", "'\\u{1}'"]
        );
    }
}
