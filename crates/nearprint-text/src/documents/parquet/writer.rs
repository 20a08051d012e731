//! Writes new columns to a Parquet file.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::super::line_file::{STDOUT, is_stdout};
use super::super::output_file::OutputFile;
use crate::error::{Error, Result};

/// The memory of a row group at which it is written.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// Writes the columns of a new file.
pub struct ParquetWriter {
    writer: ArrowWriter<Box<dyn Write + Send>>,
    schema: SchemaRef,
    path: PathBuf,
    /// `None` for standard output.
    output: Option<OutputFile>,
}

impl fmt::Debug for ParquetWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ParquetWriter {
    /// Creates a file, which has its name when it is [finished](Self::finish). `-` is standard
    /// output.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn create(path: &Path, schema: &SchemaRef, compression: Compression) -> Result<Self> {
        let (path, output, target): (PathBuf, _, Box<dyn Write + Send>) = if is_stdout(path) {
            (STDOUT.into(), None, Box::new(io::stdout()))
        } else {
            let output = OutputFile::create(path)?;
            let again = output.file().try_clone().map_err(Error::io("create", path))?;
            (path.to_path_buf(), Some(output), Box::new(again))
        };
        let properties = WriterProperties::builder().set_compression(compression).build();
        let writer = ArrowWriter::try_new(target, schema.clone(), Some(properties));
        Ok(Self { writer: writer.map_err(write_error(&path))?, schema: schema.clone(), path, output })
    }

    /// Writes rows, given as columns.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let rows = RecordBatch::try_new(self.schema.clone(), columns).map_err(ParquetError::from);
        let written = rows.and_then(|rows| self.writer.write(&rows)).and_then(|()| {
            if self.writer.in_progress_size() < ROW_GROUP_BYTES { Ok(()) } else { self.writer.flush() }
        });
        written.map_err(write_error(&self.path))
    }

    /// Writes the end of the file, makes it durable, and gives it its name.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn finish(self) -> Result<()> {
        self.end()?.map_or(Ok(()), OutputFile::complete)
    }

    /// The path in messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Writes the end of the file. Returns the file, which is to get its name; `None` for standard output.
    pub(super) fn end(self) -> Result<Option<OutputFile>> {
        let mut target = self.writer.into_inner().map_err(write_error(&self.path))?;
        target.flush().map_err(Error::io("write", &self.path))?;
        Ok(self.output)
    }
}

/// Wraps a write error, with the I/O error inside it if there is one.
pub(super) fn write_error(path: &Path) -> impl FnOnce(ParquetError) -> Error {
    let failed = Error::io("write", path);
    |error| {
        failed(match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(source) => *source,
                Err(other) => io::Error::other(other),
            },
            other => io::Error::other(other),
        })
    }
}
