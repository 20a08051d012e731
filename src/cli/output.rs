//! Results on standard output: tab-separated lines, or one JSON object a line.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::failure::STDOUT;
use crate::{Error, Fingerprint, Match, Pair, Printed, Row};

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

impl Format {
    pub(super) fn row<F: Fingerprint>(self, out: &mut dyn Write, row: &Row<F>) -> io::Result<()> {
        let Row { fingerprint, id } = row;
        let fingerprint = Printed(*fingerprint);
        match self {
            Self::Tsv => writeln!(out, "{fingerprint}\t{id}"),
            Self::Json => writeln!(out, r#"{{"fingerprint":"{fingerprint}","id":{id}}}"#),
        }
    }

    pub(super) fn found<F: Fingerprint>(
        self,
        out: &mut dyn Write,
        query: F,
        found: &Match<F>,
    ) -> io::Result<()> {
        let Match { distance, fingerprint, id } = found;
        let (query, fingerprint) = (Printed(query), Printed(*fingerprint));
        match self {
            Self::Tsv => writeln!(out, "{query}\t{distance}\t{fingerprint}\t{id}"),
            Self::Json => writeln!(
                out,
                r#"{{"query":"{query}","distance":{distance},"fingerprint":"{fingerprint}","id":{id}}}"#
            ),
        }
    }

    pub(super) fn pair<F: Fingerprint>(self, out: &mut dyn Write, pair: &Pair<F>) -> io::Result<()> {
        let Pair { a, b, distance } = pair;
        let (a, b) = (Printed(*a), Printed(*b));
        match self {
            Self::Tsv => writeln!(out, "{a}\t{b}\t{distance}"),
            Self::Json => writeln!(out, r#"{{"a":"{a}","b":"{b}","distance":{distance}}}"#),
        }
    }

    pub(super) fn id_pair(self, out: &mut dyn Write, a: u64, b: u64, distance: u32) -> io::Result<()> {
        match self {
            Self::Tsv => writeln!(out, "{a}\t{b}\t{distance}"),
            Self::Json => writeln!(out, r#"{{"id_a":{a},"id_b":{b},"distance":{distance}}}"#),
        }
    }

    pub(super) fn member<F: Fingerprint>(
        self,
        out: &mut dyn Write,
        cluster: u64,
        row: &Row<F>,
    ) -> io::Result<()> {
        let Row { fingerprint, id } = row;
        let fingerprint = Printed(*fingerprint);
        match self {
            Self::Tsv => writeln!(out, "{cluster}\t{fingerprint}\t{id}"),
            Self::Json => writeln!(out, r#"{{"cluster":{cluster},"fingerprint":"{fingerprint}","id":{id}}}"#),
        }
    }
}
