//! Reads the rows of Parquet files.

use std::fmt;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;

use super::super::fields::{Fields, no_field};
use super::super::input_file::InputFile;
use super::row::{BATCH_ROWS, ParquetRow, path_of};
use crate::error::{Error, Result};

/// Reads the rows of one file in batches.
pub struct ParquetReader {
    reader: ParquetRecordBatchReader,
    schema: SchemaRef,
    compression: Compression,
    name: Arc<str>,
    batch: Option<Arc<RecordBatch>>,
    next_in_batch: usize,
    rows_read: u64,
    total_rows: u64,
    size_bytes: u64,
    counted_bytes: u64,
}

impl fmt::Debug for ParquetReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetReader").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ParquetReader {
    /// Opens a file. It has to have a column for each field.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error; [`Error::Input`] if the file is damaged or lacks a
    /// column.
    pub fn open(input: &InputFile, fields: &Fields) -> Result<Self> {
        let name = input.name();
        if input.is_stdin() {
            return Err(Error::input(&*name, "Parquet has to be in a file: it begins at its end"));
        }
        let file = input.open_file().map_err(Error::io("open", &input.path))?;
        let builder = guarded(&name, || ParquetRecordBatchReaderBuilder::try_new(file))?;
        let metadata = builder.metadata();
        let chunk = metadata.row_groups().first().and_then(|group| group.columns().first());
        let compression = chunk.map_or(Compression::SNAPPY, |chunk| chunk.compression());
        let total_rows = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0);
        let schema = builder.schema().clone();
        for field in [Some(&fields.text), fields.key.as_ref(), fields.value.as_ref()].into_iter().flatten() {
            if path_of(schema.fields(), field).is_none() {
                let there = schema.fields().iter().map(|field| field.name());
                return Err(Error::input(&*name, no_field("column named", field, there)));
            }
        }
        Ok(Self {
            reader: guarded(&name, || builder.with_batch_size(BATCH_ROWS).build())?,
            schema,
            compression,
            name,
            batch: None,
            next_in_batch: 0,
            rows_read: 0,
            total_rows,
            size_bytes: input.size_bytes.unwrap_or(0),
            counted_bytes: 0,
        })
    }

    /// Whether there is a column of this name, or a field of a struct.
    #[must_use]
    pub fn has_field(&self, name: &str) -> bool {
        path_of(self.schema.fields(), name).is_some()
    }

    /// The columns of a file, which is not read further.
    pub(super) fn schema_of(input: &InputFile) -> Result<SchemaRef> {
        let file = input.open_file().map_err(Error::io("open", &input.path))?;
        let builder = guarded(&input.name(), || ParquetRecordBatchReaderBuilder::try_new(file))?;
        Ok(builder.schema().clone())
    }

    /// The columns of the file.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The compression of the first column.
    pub(super) fn compression(&self) -> Compression {
        self.compression
    }

    /// The next row and its number, from 1.
    ///
    /// # Errors
    /// [`Error::Input`] if the file is damaged.
    pub fn next_row(&mut self) -> Result<Option<(u64, ParquetRow)>> {
        self.next_counted(&AtomicU64::new(0))
    }

    /// The next row and its number, from 1. Adds the row's share of the bytes of the file to
    /// `count`.
    pub(in super::super) fn next_counted(&mut self, count: &AtomicU64) -> Result<Option<(u64, ParquetRow)>> {
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|batch| self.next_in_batch < batch.num_rows()) {
                let row = ParquetRow { batch: batch.clone(), index: self.next_in_batch };
                self.next_in_batch += 1;
                self.rows_read += 1;
                return Ok(Some((self.rows_read, row)));
            }
            let batch = guarded(&self.name, || self.reader.next().transpose())?;
            let share =
                if batch.is_some() { self.rows_read as f64 / self.total_rows.max(1) as f64 } else { 1.0 };
            #[expect(clippy::cast_possible_truncation, reason = "a part of the size")]
            #[expect(clippy::cast_sign_loss, reason = "neither factor is negative")]
            let bytes = ((self.size_bytes as f64 * share) as u64).max(self.counted_bytes);
            count.fetch_add(bytes - self.counted_bytes, Ordering::Relaxed);
            self.counted_bytes = bytes;
            self.next_in_batch = 0;
            self.batch = batch.map(Arc::new);
            if self.batch.is_none() {
                return Ok(None);
            }
        }
    }
}

/// Calls a function of the parquet crate. It panics on some invalid numbers in damaged files; the
/// reader is not used again after that.
fn guarded<T, E: Display>(name: &str, read: impl FnOnce() -> Result<T, E>) -> Result<T> {
    let damaged =
        |why: &dyn Display| Error::input(name, format!("not a Parquet file, or a damaged one: {why}"));
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(|error| damaged(&error)),
        Err(_) => Err(damaged(&"its numbers contradict each other")),
    }
}
