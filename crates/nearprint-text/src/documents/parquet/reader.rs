//! Reads the rows of Parquet files.

use std::fmt;
use std::fmt::Display;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Fields as ArrowFields, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;

use super::super::fields::{Fields, no_field};
use super::super::input_file::InputFile;
use super::row::{BATCH_ROWS, ParquetRow, path_of};
use crate::error::{Error, Result};

/// What the rows of a batch are divided by where they were too many.
const SMALLER_BY: usize = 32;

/// Reads the rows of one file in batches.
pub struct ParquetReader {
    file: File,
    metadata: ArrowReaderMetadata,
    reader: ParquetRecordBatchReader,
    batch_rows: usize,
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
        let metadata = guarded(&name, || metadata_of(&file))?;
        let parts = metadata.metadata();
        let chunk = parts.row_groups().first().and_then(|group| group.columns().first());
        let compression = chunk.map_or(Compression::SNAPPY, |chunk| chunk.compression());
        let total_rows = u64::try_from(parts.file_metadata().num_rows()).unwrap_or(0);
        let schema = metadata.schema();
        for field in [Some(&fields.text), fields.key.as_ref(), fields.value.as_ref()].into_iter().flatten() {
            if path_of(schema.fields(), field).is_none() {
                let there = schema.fields().iter().map(|field| field.name());
                return Err(Error::input(&*name, no_field("column named", field, there)));
            }
        }
        let reader = guarded(&name, || reader_from(0, &file, &metadata, BATCH_ROWS))?;
        Ok(Self {
            file,
            metadata,
            reader,
            batch_rows: BATCH_ROWS,
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
        path_of(self.schema().fields(), name).is_some()
    }

    /// The columns of a file, which is not read further.
    pub(super) fn schema_of(input: &InputFile) -> Result<SchemaRef> {
        let file = input.open_file().map_err(Error::io("open", &input.path))?;
        Ok(guarded(&input.name(), || metadata_of(&file))?.schema().clone())
    }

    /// The columns of the file.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
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
            let batch = self.next_batch()?;
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

    /// The next batch. One that cannot be read is read in smaller ones: strings of more than 2 GiB have no room in a
    /// column.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match guarded(&self.name, || self.reader.next().transpose()) {
                Err(_) if self.batch_rows > 1 => self.read_smaller()?,
                batch => return batch,
            }
        }
    }

    /// Reads on behind the rows of the last batch, in smaller ones.
    fn read_smaller(&mut self) -> Result<()> {
        self.batch_rows /= SMALLER_BY;
        let Self { file, metadata, batch_rows, .. } = self;
        self.reader = guarded(&self.name, || reader_from(self.rows_read, file, metadata, *batch_rows))?;
        Ok(())
    }
}

/// What a file tells of its rows. Keys of 8 or 16 bits become wider, because the dictionaries of several row groups may
/// have more values together than such keys can count.
fn metadata_of(file: &File) -> Result<ArrowReaderMetadata, ParquetError> {
    let metadata = ArrowReaderMetadata::load(file, ArrowReaderOptions::default())?;
    let schema = metadata.schema();
    let wide: ArrowFields = schema.fields().iter().map(with_wide_keys).collect();
    if wide == *schema.fields() {
        return Ok(metadata);
    }
    let wide = Schema::new_with_metadata(wide, schema.metadata().clone());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(wide));
    ArrowReaderMetadata::try_new(metadata.metadata().clone(), options)
}

/// The same column. The keys of dictionaries have at least 32 bits.
fn with_wide_keys(field: &FieldRef) -> FieldRef {
    let wide = with_wide_keys;
    let kind = match field.data_type() {
        DataType::Dictionary(keys, values) if keys.primitive_width() < Some(4) => {
            DataType::Dictionary(Box::new(DataType::Int32), values.clone())
        }
        DataType::List(item) => DataType::List(wide(item)),
        DataType::LargeList(item) => DataType::LargeList(wide(item)),
        DataType::FixedSizeList(item, len) => DataType::FixedSizeList(wide(item), *len),
        DataType::Map(entries, is_sorted) => DataType::Map(wide(entries), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(wide).collect()),
        _ => return field.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(kind))
}

/// Reads the rows of a file from one of them on.
fn reader_from(
    first: u64,
    file: &File,
    metadata: &ArrowReaderMetadata,
    batch_rows: usize,
) -> Result<ParquetRecordBatchReader, ParquetError> {
    let first = usize::try_from(first).unwrap_or(usize::MAX);
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.try_clone()?, metadata.clone());
    builder.with_offset(first).with_batch_size(batch_rows).build()
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

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;
    use parquet::arrow::ArrowWriter;

    use super::super::row::ParquetValue;
    use super::*;

    #[test]
    fn smaller_batches_go_on_behind_the_last_row() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.parquet");
        let numbers = Int64Array::from_iter_values(1..3001);
        let rows = RecordBatch::try_from_iter([("text", Arc::new(numbers) as _)]).unwrap();
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), rows.schema(), None).unwrap();
        for part in [rows.slice(0, 1500), rows.slice(1500, 1500)] {
            writer.write(&part).unwrap();
            writer.flush().unwrap();
        }
        writer.close().unwrap();

        let mut reader = ParquetReader::open(&InputFile::new(&path), &Fields::default()).unwrap();
        let mut sizes = Vec::new();
        for expected in 1..=3000 {
            if [BATCH_ROWS, BATCH_ROWS + SMALLER_BY].contains(&(expected - 1)) {
                reader.read_smaller().unwrap();
            }
            let (number, row) = reader.next_row().unwrap().unwrap();
            let value = row.value("text").unwrap();
            assert!(matches!(value, ParquetValue::Number(found, _) if found == expected.to_string()));
            assert_eq!(number, expected as u64);
            sizes.push(row.batch.num_rows());
        }
        sizes.dedup();
        assert_eq!(sizes, [BATCH_ROWS, SMALLER_BY, 1]);
        assert!(reader.next_row().unwrap().is_none());
    }
}
