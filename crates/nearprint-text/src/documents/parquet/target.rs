//! Where rows of a Parquet file go until its end.

use std::path::Path;

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use parquet::basic::Compression;

use super::super::line_file::is_stdout;
use super::super::output_file::{OutputFile, Written};
use super::super::system;
use super::spool::RowSpool;
use super::writer::ParquetWriter;
use crate::error::{Error, Result};

/// Where rows go.
#[expect(clippy::large_enum_variant, reason = "there is one of each output")]
pub(super) enum RowTarget {
    File(ParquetWriter),
    Spool(RowSpool),
}

impl RowTarget {
    /// Creates a file with these columns and this compression. One that is to be resumable has its rows in a file of
    /// their own. An earlier run may have `written` some of it.
    pub(super) fn create(
        path: &Path,
        (schema, compression): (&SchemaRef, Compression),
        (is_resumable, written): (bool, Option<Written>),
    ) -> Result<Self> {
        let writer = ParquetWriter::create(path, schema, compression)?;
        let is_stream = is_stdout(path) || system::is_stream(path).map_err(Error::io("create", path))?;
        Ok(match is_resumable && !is_stream {
            true => Self::Spool(RowSpool::open(path, writer, written)?),
            false => Self::File(writer),
        })
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(writer) => writer.path(),
            Self::Spool(spool) => spool.path(),
        }
    }

    pub(super) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        match self {
            Self::File(writer) => writer.write(columns),
            Self::Spool(spool) => spool.write(columns),
        }
    }

    /// Whether the rows are in their file, which can be read only with its end.
    pub(super) fn needs_its_end(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// Makes the rows durable, and returns where they end. Does nothing if they go to the file itself.
    pub(super) fn flush_and_sync(&mut self) -> Result<Written> {
        match self {
            Self::File(_) => Ok(Written::default()),
            Self::Spool(spool) => spool.flush_and_sync(),
        }
    }

    /// Writes the end of the file. Returns the file, as [`ParquetWriter::end`].
    pub(super) fn end(self) -> Result<Option<OutputFile>> {
        match self {
            Self::File(writer) => writer.end(),
            Self::Spool(spool) => spool.end(),
        }
    }
}
