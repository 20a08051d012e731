//! Writes Parquet files: any batches, and rows copied from other files.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::interleave::interleave_record_batch;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::super::line_file::{STDOUT, is_stdout, sync_file};
use super::super::record::Content;
use super::{BATCH_ROWS, Row};
use crate::error::{Error, Result};

/// Batches that may wait for the rows kept of them to be written.
const BATCHES_WAITING: usize = 16;
/// A row group is ended when it takes so much memory.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// A file in the making.
pub struct Table {
    writer: ArrowWriter<Box<dyn Write + Send>>,
    schema: SchemaRef,
    path: PathBuf,
    /// The same file again, where it is one.
    file: Option<File>,
}

impl Table {
    /// Makes a file, or replaces one. `-` is standard output.
    pub fn create(path: &Path, schema: &SchemaRef, compression: Compression) -> Result<Self> {
        let (path, file, target): (PathBuf, _, Box<dyn Write + Send>) = if is_stdout(path) {
            (STDOUT.into(), None, Box::new(io::stdout()))
        } else {
            let failed = || Error::io("create", path);
            let file = File::create(path).map_err(failed())?;
            let again = file.try_clone().map_err(failed())?;
            (path.to_path_buf(), Some(again), Box::new(file))
        };
        let properties = WriterProperties::builder().set_compression(compression).build();
        let writer = ArrowWriter::try_new(target, schema.clone(), Some(properties));
        Ok(Self { writer: writer.map_err(unwritten(&path))?, schema: schema.clone(), path, file })
    }

    /// Writes rows: their columns.
    pub fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let rows = RecordBatch::try_new(self.schema.clone(), columns).map_err(ParquetError::from);
        let written = rows.and_then(|rows| self.writer.write(&rows)).and_then(|()| {
            if self.writer.in_progress_size() < ROW_GROUP_BYTES { Ok(()) } else { self.writer.flush() }
        });
        written.map_err(unwritten(&self.path))
    }

    /// Writes the end of the file, and makes it durable.
    pub fn finish(self) -> Result<()> {
        let mut target = self.writer.into_inner().map_err(unwritten(&self.path))?;
        let ended = target.flush().and_then(|()| self.file.as_ref().map_or(Ok(()), sync_file));
        ended.map_err(Error::io("write", &self.path))
    }
}

/// What kept a file from being written.
fn unwritten(path: &Path) -> impl FnOnce(ParquetError) -> Error {
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

/// Copies rows to a file.
pub(in super::super) struct RowWriter {
    table: Table,
    /// What waits to be written: batches, the rows wanted of them, and the fingerprints of those.
    batches: Vec<Arc<RecordBatch>>,
    rows: Vec<(usize, usize)>,
    fingerprints: Option<Vec<String>>,
}

impl RowWriter {
    pub(super) fn new(
        path: &Path,
        schema: &SchemaRef,
        compression: Compression,
        fingerprints: Option<&str>,
    ) -> Result<Self> {
        let schema = match fingerprints {
            Some(name) => with_field(schema, name),
            None => schema.clone(),
        };
        let table = Table::create(path, &schema, compression)?;
        let fingerprints = fingerprints.map(|_| Vec::new());
        Ok(Self { table, batches: Vec::new(), rows: Vec::new(), fingerprints })
    }

    pub(in super::super) fn append(&mut self, content: &Content, fingerprint: &dyn Display) -> Result<()> {
        let Content::Row(Row { batch, index }) = content else { return Ok(()) };
        if !self.batches.last().is_some_and(|last| Arc::ptr_eq(last, batch)) {
            if self.batches.len() == BATCHES_WAITING {
                self.write_waiting()?;
            }
            self.batches.push(batch.clone());
        }
        self.rows.push((self.batches.len() - 1, *index));
        if let Some(fingerprints) = &mut self.fingerprints {
            fingerprints.push(fingerprint.to_string());
        }
        if self.rows.len() < BATCH_ROWS { Ok(()) } else { self.write_waiting() }
    }

    fn write_waiting(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let batches: Vec<&RecordBatch> = self.batches.iter().map(|batch| &**batch).collect();
        let rows = interleave_record_batch(&batches, &self.rows).map_err(ParquetError::from);
        let mut columns = rows.map_err(unwritten(&self.table.path))?.columns().to_vec();
        if let Some(fingerprints) = &mut self.fingerprints {
            columns.push(Arc::new(StringArray::from_iter_values(fingerprints.drain(..))));
        }
        self.table.write(columns)?;
        self.batches.clear();
        self.rows.clear();
        Ok(())
    }

    /// Writes what waits and the end of the file, and makes it durable.
    pub(in super::super) fn finish(mut self) -> Result<()> {
        self.write_waiting()?;
        self.table.finish()
    }
}

fn with_field(schema: &Schema, name: &str) -> SchemaRef {
    let added = Arc::new(Field::new(name, DataType::Utf8, false));
    let fields: Vec<_> = schema.fields().iter().cloned().chain([added]).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
