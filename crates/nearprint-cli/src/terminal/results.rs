//! How results are printed: tab-separated lines, or one JSON object a line.

use std::io::{self, Write};

use clap::ValueEnum;

use nearprint::{Error, Fingerprint, Match, Pair, Printed, Row, Snapshot};
pub(crate) use nearprint_text::documents::{escape, unescape};

/// The format of printed results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    /// One tab between columns, no header
    #[default]
    Tsv,
    /// One object a line; fingerprints and ids are strings, because JSON readers round large numbers
    Json,
}

/// The key printed with a row. `None` if the database has no keys: the column is then absent.
pub(crate) type KeyColumn<'a> = Option<&'a str>;

/// Calls `write` once for each key of a row. A row without keys gets one call with an empty key. If
/// no database has keys, there is one call with `None`.
pub(crate) fn each_key<F: Fingerprint, E: From<Error>>(
    snapshots: &[Snapshot<F>],
    row: Row<F>,
    mut write: impl FnMut(KeyColumn<'_>) -> Result<(), E>,
) -> Result<(), E> {
    if snapshots.iter().all(|snapshot| !snapshot.key_storage().has_keys()) {
        return write(None);
    }
    let mut keys = Vec::new();
    for snapshot in snapshots {
        keys.extend(snapshot.keys_of(row)?.into_iter().map(|key| key.key));
    }
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return write(Some(""));
    }
    keys.iter().try_for_each(|key| write(Some(key)))
}

/// A text as a JSON string.
pub(crate) fn json(text: &str) -> String {
    json_of(&text.into())
}

/// A value as JSON on one line. Its strings have no control character that a terminal would
/// interpret.
pub(crate) fn json_of(value: &serde_json::Value) -> String {
    let json = value.to_string();
    if !json.contains(char::is_control) {
        return json;
    }
    let escape = |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { String::from(c) };
    json.chars().map(escape).collect()
}

impl ResultFormat {
    pub(crate) fn row<F: Fingerprint>(
        self,
        out: &mut dyn Write,
        row: &Row<F>,
        key: KeyColumn<'_>,
    ) -> io::Result<()> {
        let Row { fingerprint, id } = row;
        let fingerprint = Printed(*fingerprint);
        match self {
            Self::Tsv => write!(out, "{fingerprint}\t{id}")?,
            Self::Json => write!(out, r#"{{"fingerprint":"{fingerprint}","id":"{id}""#)?,
        }
        self.end_line(out, key)
    }

    pub(crate) fn query_match<F: Fingerprint>(
        self,
        out: &mut dyn Write,
        query: F,
        found: &Match<F>,
        key: KeyColumn<'_>,
    ) -> io::Result<()> {
        let Match { distance, fingerprint, id } = found;
        let (query, fingerprint) = (Printed(query), Printed(*fingerprint));
        match self {
            Self::Tsv => write!(out, "{query}\t{distance}\t{fingerprint}\t{id}")?,
            Self::Json => write!(
                out,
                r#"{{"query":"{query}","distance":{distance},"fingerprint":"{fingerprint}","id":"{id}""#
            )?,
        }
        self.end_line(out, key)
    }

    pub(crate) fn pair<F: Fingerprint>(self, out: &mut dyn Write, pair: &Pair<F>) -> io::Result<()> {
        let Pair { a, b, distance } = pair;
        let (a, b) = (Printed(*a), Printed(*b));
        match self {
            Self::Tsv => writeln!(out, "{a}\t{b}\t{distance}"),
            Self::Json => writeln!(out, r#"{{"a":"{a}","b":"{b}","distance":{distance}}}"#),
        }
    }

    pub(crate) fn id_pair(
        self,
        out: &mut dyn Write,
        (a, b): (u64, u64),
        distance: u32,
        (key_a, key_b): (KeyColumn<'_>, KeyColumn<'_>),
    ) -> io::Result<()> {
        match (self, key_a.zip(key_b)) {
            (Self::Tsv, None) => writeln!(out, "{a}\t{b}\t{distance}"),
            (Self::Tsv, Some((key_a, key_b))) => {
                writeln!(out, "{a}\t{b}\t{distance}\t{}\t{}", escape(key_a), escape(key_b))
            }
            (Self::Json, keys) => {
                write!(out, r#"{{"id_a":"{a}","id_b":"{b}","distance":{distance}"#)?;
                if let Some((key_a, key_b)) = keys {
                    write!(out, r#","key_a":{},"key_b":{}"#, json(key_a), json(key_b))?;
                }
                writeln!(out, "}}")
            }
        }
    }

    pub(crate) fn cluster_member<F: Fingerprint>(
        self,
        out: &mut dyn Write,
        cluster: u64,
        row: &Row<F>,
        key: KeyColumn<'_>,
    ) -> io::Result<()> {
        let Row { fingerprint, id } = row;
        let fingerprint = Printed(*fingerprint);
        match self {
            Self::Tsv => write!(out, "{cluster}\t{fingerprint}\t{id}")?,
            Self::Json => write!(out, r#"{{"cluster":{cluster},"fingerprint":"{fingerprint}","id":"{id}""#)?,
        }
        self.end_line(out, key)
    }

    /// Writes the key, if there is one, and the line end.
    fn end_line(self, out: &mut dyn Write, key: KeyColumn<'_>) -> io::Result<()> {
        match (self, key) {
            (Self::Tsv, None) => writeln!(out),
            (Self::Tsv, Some(key)) => writeln!(out, "\t{}", escape(key)),
            (Self::Json, None) => writeln!(out, "}}"),
            (Self::Json, Some(key)) => writeln!(out, r#","key":{}}}"#, json(key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_strings_stay_on_one_line() {
        assert_eq!(json("a\"\n"), r#""a\"\n""#);
    }

    #[test]
    fn regression_json_has_no_control_characters() {
        let text = "\0\x1b\x7f\u{80}\u{9b}\u{a0}é";
        assert_eq!(json(text), r#""\u0000\u001b\u007f\u0080\u009b"#.to_string() + "\u{a0}é\"");
        assert_eq!(serde_json::from_str::<String>(&json(text)).unwrap(), text);
    }
}
