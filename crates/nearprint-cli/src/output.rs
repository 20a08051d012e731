//! Results on standard output: tab-separated lines, or one JSON object a line.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::failure::STDOUT;
use nearprint::{Error, Fingerprint, Match, Pair, Printed, Row, Snapshot};
pub(super) use nearprint_text::documents::{escape, unescape};

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// One tab between columns, no header
    #[default]
    Tsv,
    /// One object a line; fingerprints are strings, because JSON readers round large numbers
    Json,
}

/// Where results go: buffered, with errors that name the place.
pub(super) struct Output {
    inner: BufWriter<Box<dyn Write>>,
    path: PathBuf,
}

impl Output {
    pub(super) fn stdout() -> Self {
        Self { inner: BufWriter::with_capacity(1 << 16, Box::new(io::stdout().lock())), path: STDOUT.into() }
    }

    /// A new file, or standard output for `-` and nothing.
    pub(super) fn create(path: Option<&Path>) -> Result<Self, Error> {
        match path.filter(|path| *path != Path::new("-")) {
            None => Ok(Self::stdout()),
            Some(path) => {
                let failed = |source| Error::Io { action: "create", path: path.to_path_buf(), source };
                let file = File::create(path).map_err(failed)?;
                Ok(Self {
                    inner: BufWriter::with_capacity(1 << 16, Box::new(file)),
                    path: path.to_path_buf(),
                })
            }
        }
    }

    /// Does something with the writer.
    pub(super) fn write(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Error> {
        write(&mut self.inner).map_err(|source| Error::Io {
            action: "write",
            path: self.path.clone(),
            source,
        })
    }

    /// Hands everything to the system.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.write(|out| out.flush())
    }
}

/// A key beside a row; `None` for databases without keys, which then have no column for it.
pub(super) type Key<'a> = Option<&'a str>;

/// Calls `write` with each key of a row: once with an empty one where it has none, and once with `None`
/// where no database has keys.
pub(super) fn each_key<F: Fingerprint, E: From<Error>>(
    snapshots: &[Snapshot<F>],
    row: Row<F>,
    mut write: impl FnMut(Key<'_>) -> Result<(), E>,
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

/// A text as JSON has it.
pub(super) fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Format {
    pub(super) fn row<F: Fingerprint>(
        self,
        out: &mut dyn Write,
        row: &Row<F>,
        key: Key<'_>,
    ) -> io::Result<()> {
        let Row { fingerprint, id } = row;
        let fingerprint = Printed(*fingerprint);
        match self {
            Self::Tsv => write!(out, "{fingerprint}\t{id}")?,
            Self::Json => write!(out, r#"{{"fingerprint":"{fingerprint}","id":{id}"#)?,
        }
        self.end(out, key)
    }

    pub(super) fn found<F: Fingerprint>(
        self,
        out: &mut dyn Write,
        query: F,
        found: &Match<F>,
        key: Key<'_>,
    ) -> io::Result<()> {
        let Match { distance, fingerprint, id } = found;
        let (query, fingerprint) = (Printed(query), Printed(*fingerprint));
        match self {
            Self::Tsv => write!(out, "{query}\t{distance}\t{fingerprint}\t{id}")?,
            Self::Json => write!(
                out,
                r#"{{"query":"{query}","distance":{distance},"fingerprint":"{fingerprint}","id":{id}"#
            )?,
        }
        self.end(out, key)
    }

    pub(super) fn pair<F: Fingerprint>(self, out: &mut dyn Write, pair: &Pair<F>) -> io::Result<()> {
        let Pair { a, b, distance } = pair;
        let (a, b) = (Printed(*a), Printed(*b));
        match self {
            Self::Tsv => writeln!(out, "{a}\t{b}\t{distance}"),
            Self::Json => writeln!(out, r#"{{"a":"{a}","b":"{b}","distance":{distance}}}"#),
        }
    }

    pub(super) fn id_pair(
        self,
        out: &mut dyn Write,
        (a, b): (u64, u64),
        distance: u32,
        (key_a, key_b): (Key<'_>, Key<'_>),
    ) -> io::Result<()> {
        match (self, key_a.zip(key_b)) {
            (Self::Tsv, None) => writeln!(out, "{a}\t{b}\t{distance}"),
            (Self::Tsv, Some((key_a, key_b))) => {
                writeln!(out, "{a}\t{b}\t{distance}\t{}\t{}", escape(key_a), escape(key_b))
            }
            (Self::Json, keys) => {
                write!(out, r#"{{"id_a":{a},"id_b":{b},"distance":{distance}"#)?;
                if let Some((key_a, key_b)) = keys {
                    write!(out, r#","key_a":{},"key_b":{}"#, json(key_a), json(key_b))?;
                }
                writeln!(out, "}}")
            }
        }
    }

    pub(super) fn member<F: Fingerprint>(
        self,
        out: &mut dyn Write,
        cluster: u64,
        row: &Row<F>,
        key: Key<'_>,
    ) -> io::Result<()> {
        let Row { fingerprint, id } = row;
        let fingerprint = Printed(*fingerprint);
        match self {
            Self::Tsv => write!(out, "{cluster}\t{fingerprint}\t{id}")?,
            Self::Json => write!(out, r#"{{"cluster":{cluster},"fingerprint":"{fingerprint}","id":{id}"#)?,
        }
        self.end(out, key)
    }

    /// Ends a line with a key, where there is one.
    fn end(self, out: &mut dyn Write, key: Key<'_>) -> io::Result<()> {
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
    fn json_keeps_to_its_line() {
        assert_eq!(json("a\"\n"), r#""a\"\n""#);
    }
}
