//! How results are printed: tab-separated lines, or one JSON object a line.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

use clap::ValueEnum;

use nearprint::any::{AnyFingerprint, AnyRow, AnySnapshot};
use nearprint::{Error, Match, Row};
pub(crate) use nearprint_text::documents::{escape, unescape};

/// The format of printed results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    /// One tab between columns
    #[default]
    Tsv,
    /// One object a line; fingerprints and ids are strings, because JSON readers round large numbers
    Json,
}

/// The key printed with a row: `None` if the database has no keys, so that the column is absent; `Some(None)` for a row
/// without a key.
pub(crate) type KeyColumn<'a> = Option<Option<&'a str>>;

/// An empty key in TSV, where an empty cell is no key.
pub(crate) const EMPTY_KEY: &str = "\\e";

/// A key in TSV.
pub(crate) fn escaped_key(key: &str) -> Cow<'_, str> {
    if key.is_empty() { Cow::Borrowed(EMPTY_KEY) } else { escape(key) }
}

/// Calls `write` once for each key of a row. A row without keys gets one call with `Some(None)`. If
/// no database has keys, there is one call with `None`.
pub(crate) fn each_key<E: From<Error>>(
    snapshots: &[AnySnapshot],
    row: Row<AnyFingerprint>,
    mut write: impl FnMut(KeyColumn<'_>) -> Result<(), E>,
) -> Result<(), E> {
    if snapshots.iter().all(|snapshot| !snapshot.key_storage().has_keys()) {
        return write(None);
    }
    let mut keys = Vec::new();
    for snapshot in snapshots {
        keys.extend(snapshot.keys_of(row.fingerprint.words(), row.id)?.into_iter().map(|key| key.key));
    }
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return write(Some(None));
    }
    keys.iter().try_for_each(|key| write(Some(Some(key))))
}

/// A row that a query has found.
pub(crate) fn match_of(row: &AnyRow<'_>) -> Match<AnyFingerprint> {
    let Row { fingerprint, id } = row.row();
    Match { distance: row.distance, fingerprint, id }
}

/// A similarity in percent, rounded down to some digits: only 1 is 100%.
pub(crate) fn percent<const DIGITS: u8>(similarity: f64) -> String {
    let least_step = 0.1f64.powi(i32::from(DIGITS));
    let most = if similarity < 1.0 { 100.0 - least_step } else { 100.0 };
    format!("{:.*}%", usize::from(DIGITS), (100.0 * similarity).min(most))
}

/// A similarity as a number of which only 1 is 1.0000.
pub(crate) fn share(similarity: f64) -> String {
    let most = if similarity < 1.0 { 0.9999 } else { 1.0 };
    format!("{:.4}", similarity.min(most))
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
    /// The names of columns on a line. Objects have names of their own.
    pub(crate) fn header(self, out: &mut dyn Write, columns: &[&str]) -> io::Result<()> {
        match self {
            Self::Tsv => writeln!(out, "{}", columns.join("\t")),
            Self::Json => Ok(()),
        }
    }

    /// A row, whose fingerprint is printed in any base.
    pub(crate) fn row(
        self,
        out: &mut dyn Write,
        (fingerprint, id): (impl Display, u64),
        key: KeyColumn<'_>,
    ) -> io::Result<()> {
        match self {
            Self::Tsv => write!(out, "{fingerprint}\t{id}")?,
            Self::Json => write!(out, r#"{{"fingerprint":"{fingerprint}","id":"{id}""#)?,
        }
        self.end_line(out, key, None)
    }

    pub(crate) fn query_match(
        self,
        out: &mut dyn Write,
        (query, fingerprint): (impl Display, impl Display),
        (distance, id): (u32, u64),
        (key, query_key): (KeyColumn<'_>, KeyColumn<'_>),
    ) -> io::Result<()> {
        match self {
            Self::Tsv => write!(out, "{query}\t{distance}\t{fingerprint}\t{id}")?,
            Self::Json => write!(
                out,
                r#"{{"query":"{query}","distance":{distance},"fingerprint":"{fingerprint}","id":"{id}""#
            )?,
        }
        self.key(out, "key", key)?;
        self.key(out, "query_key", query_key)?;
        self.end_line(out, None, None)
    }

    /// A query that nothing is near, with its key.
    pub(crate) fn unmatched(
        self,
        out: &mut dyn Write,
        query: &str,
        query_key: KeyColumn<'_>,
    ) -> io::Result<()> {
        self.query_key(out, query)?;
        self.key(out, "query_key", query_key)?;
        self.end_line(out, None, None)
    }

    /// A row that is near a picture.
    pub(crate) fn picture_match(
        self,
        out: &mut dyn Write,
        query: &str,
        found: Match<AnyFingerprint>,
        key: KeyColumn<'_>,
    ) -> io::Result<()> {
        self.query_key(out, query)?;
        self.match_columns(out, found)?;
        self.end_line(out, key, None)
    }

    fn query_key(self, out: &mut dyn Write, query: &str) -> io::Result<()> {
        match self {
            Self::Tsv => write!(out, "{}", escape(query)),
            Self::Json => write!(out, r#"{{"query":{}"#, json(query)),
        }
    }

    /// A document that is near a text with a key.
    pub(crate) fn text_match(self, out: &mut dyn Write, query: &str, found: &AnyRow<'_>) -> io::Result<()> {
        self.query_key(out, query)?;
        self.match_columns(out, match_of(found))?;
        self.end_line(out, found.key.map(Some), Some(found.similarity))
    }

    /// The columns of a match after its query.
    fn match_columns(
        self,
        out: &mut dyn Write,
        Match { distance, fingerprint, id }: Match<AnyFingerprint>,
    ) -> io::Result<()> {
        match self {
            Self::Tsv => write!(out, "\t{distance}\t{fingerprint}\t{id}"),
            Self::Json => write!(out, r#","distance":{distance},"fingerprint":"{fingerprint}","id":"{id}""#),
        }
    }

    fn key(self, out: &mut dyn Write, name: &str, key: KeyColumn<'_>) -> io::Result<()> {
        match (self, key) {
            (_, None) => Ok(()),
            (Self::Tsv, Some(key)) => write!(out, "\t{}", key.map(escaped_key).unwrap_or_default()),
            (Self::Json, Some(None)) => write!(out, r#","{name}":null"#),
            (Self::Json, Some(Some(key))) => write!(out, r#","{name}":{}"#, json(key)),
        }
    }

    /// A pair of fingerprints.
    pub(crate) fn pair(
        self,
        out: &mut dyn Write,
        pair: &AnyRow<'_>,
        similarity: Option<f64>,
    ) -> io::Result<()> {
        let (a, b) = (pair.row().fingerprint, pair.other_row().fingerprint);
        let distance = pair.distance;
        match self {
            Self::Tsv => write!(out, "{a}\t{b}\t{distance}")?,
            Self::Json => write!(out, r#"{{"a":"{a}","b":"{b}","distance":{distance}"#)?,
        }
        self.end_line(out, None, similarity)
    }

    pub(crate) fn id_pair(
        self,
        out: &mut dyn Write,
        (a, b): (u64, u64),
        distance: u32,
        (key_a, key_b): (KeyColumn<'_>, KeyColumn<'_>),
        similarity: Option<f64>,
    ) -> io::Result<()> {
        match self {
            Self::Tsv => write!(out, "{a}\t{b}\t{distance}")?,
            Self::Json => write!(out, r#"{{"id_a":"{a}","id_b":"{b}","distance":{distance}"#)?,
        }
        self.key(out, "key_a", key_a)?;
        self.key(out, "key_b", key_b)?;
        self.end_line(out, None, similarity)
    }

    /// A pair with similar documents: of rows with their keys, or of fingerprints.
    pub(crate) fn similar_pair(
        self,
        out: &mut dyn Write,
        pair: &AnyRow<'_>,
        has_ids: bool,
    ) -> io::Result<()> {
        let similarity = Some(pair.similarity);
        if has_ids {
            let keys = (pair.key.map(Some), pair.other_key.map(Some));
            return self.id_pair(out, (pair.id, pair.other_id), pair.distance, keys, similarity);
        }
        self.pair(out, pair, similarity)
    }

    pub(crate) fn cluster_member(
        self,
        out: &mut dyn Write,
        (cluster, Row { fingerprint, id }): (u64, Row<AnyFingerprint>),
        key: KeyColumn<'_>,
        similarity: Option<f64>,
    ) -> io::Result<()> {
        match self {
            Self::Tsv => write!(out, "{cluster}\t{fingerprint}\t{id}")?,
            Self::Json => write!(out, r#"{{"cluster":{cluster},"fingerprint":"{fingerprint}","id":"{id}""#)?,
        }
        self.end_line(out, key, similarity)
    }

    /// Writes the key and the similarity, if there are any, and the line end.
    fn end_line(self, out: &mut dyn Write, key: KeyColumn<'_>, similarity: Option<f64>) -> io::Result<()> {
        self.key(out, "key", key)?;
        match (self, similarity) {
            (_, None) => {}
            (Self::Tsv, Some(similarity)) => write!(out, "\t{}", share(similarity))?,
            (Self::Json, Some(similarity)) => write!(out, r#","similarity":{}"#, share(similarity))?,
        }
        out.write_all(if self == Self::Tsv { b"\n" } else { b"}\n" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_1_is_printed_as_100_percent() {
        let percents = [0.7, 0.57, 0.8507, 0.99999, 1.0].map(percent::<1>);
        assert_eq!(percents, ["70.0%", "57.0%", "85.1%", "99.9%", "100.0%"]);
        assert_eq!([0.996, 1.0].map(percent::<0>), ["99%", "100%"]);
    }

    #[test]
    fn only_1_is_printed_as_1() {
        assert_eq!([0.7, 2.0 / 3.0, 0.99999, 1.0].map(share), ["0.7000", "0.6667", "0.9999", "1.0000"]);
    }

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
