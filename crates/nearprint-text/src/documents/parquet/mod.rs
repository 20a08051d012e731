//! Rows of Parquet files: read in batches, and copied with all their columns.

mod writer;

use std::fmt::Display;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;

use super::compressed::bad;
use super::inputs::Input;
use super::parser::{Parts, not_a_key, not_a_number, number};
use super::record::Fields;
use crate::error::{Error, Result};

pub(super) use writer::RowWriter;
pub use writer::Table;

/// Rows that are read together, and written together.
const BATCH_ROWS: usize = 1024;
/// Reads a file.
pub struct Rows {
    reader: ParquetRecordBatchReader,
    schema: SchemaRef,
    compression: Compression,
    name: Arc<str>,
    batch: Option<Arc<RecordBatch>>,
    next_in_batch: usize,
    /// Rows read so far, and all there are.
    done: u64,
    total: u64,
    size_bytes: u64,
    counted_bytes: u64,
}

/// A row and the batch that it stands in.
#[derive(Clone, Debug)]
pub struct Row {
    batch: Arc<RecordBatch>,
    index: usize,
}

impl Rows {
    /// Opens a file that has all the columns.
    pub fn open(input: &Input, fields: &Fields) -> Result<Self> {
        let name = input.name();
        if input.is_stdin() {
            return Err(bad(&name, "Parquet has to be in a file: it begins at its end".into()));
        }
        let file = File::open(&input.path).map_err(Error::io("open", &input.path))?;
        let builder = guarded(&name, || ParquetRecordBatchReaderBuilder::try_new(file))?;
        let metadata = builder.metadata();
        let chunk = metadata.row_groups().first().and_then(|group| group.columns().first());
        let compression = chunk.map_or(Compression::SNAPPY, |chunk| chunk.compression());
        let total = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0);
        let schema = builder.schema().clone();
        for field in [Some(&fields.text), fields.key.as_ref(), fields.value.as_ref()].into_iter().flatten() {
            if schema.index_of(field).is_err() {
                return Err(bad(&name, format!("no column named {field:?}")));
            }
        }
        let reader = guarded(&name, || builder.with_batch_size(BATCH_ROWS).build())?;
        let size_bytes = input.size_bytes.unwrap_or(0);
        let (batch, next_in_batch, done, counted_bytes) = (None, 0, 0, 0);
        Ok(Self {
            reader,
            schema,
            compression,
            name,
            batch,
            next_in_batch,
            done,
            total,
            size_bytes,
            counted_bytes,
        })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next row and its number, from 1.
    pub fn next_row(&mut self) -> Result<Option<(u64, Row)>> {
        self.next(&AtomicU64::new(0))
    }

    /// The next row and its number, from 1. Of the file's bytes those count as read that are its share.
    pub(super) fn next(&mut self, count: &AtomicU64) -> Result<Option<(u64, Row)>> {
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|batch| self.next_in_batch < batch.num_rows()) {
                let row = Row { batch: batch.clone(), index: self.next_in_batch };
                self.next_in_batch += 1;
                self.done += 1;
                return Ok(Some((self.done, row)));
            }
            let batch = guarded(&self.name, || self.reader.next().transpose())?;
            let share = if batch.is_some() { self.done as f64 / self.total.max(1) as f64 } else { 1.0 };
            #[expect(clippy::cast_possible_truncation, reason = "a part of the size")]
            #[expect(clippy::cast_sign_loss, reason = "nothing here is negative")]
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

    /// Makes a file with the same columns, and one more for fingerprints where it has a name.
    pub(super) fn writer(&self, path: &Path, fingerprints: Option<&str>) -> Result<RowWriter> {
        RowWriter::new(path, &self.schema, self.compression, fingerprints)
    }
}

/// Reads something. The crate that reads Parquet panics where some numbers in a damaged file make no
/// sense; what it was reading is not used again.
fn guarded<T, E: Display>(name: &str, read: impl FnOnce() -> std::result::Result<T, E>) -> Result<T> {
    let damaged = |why: &dyn Display| bad(name, format!("no Parquet file, or a damaged one: {why}"));
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(|error| damaged(&error)),
        Err(_) => Err(damaged(&"numbers that make no sense")),
    }
}

impl Row {
    /// The row's share of its batch in memory.
    pub(super) fn len_bytes(&self) -> usize {
        self.batch.get_array_memory_size() / self.batch.num_rows().max(1)
    }

    pub(super) fn parts(&self, fields: &Fields) -> std::result::Result<Parts, String> {
        let mut parts = Parts::default();
        let text = self.value(&fields.text)?;
        let Value::Text(text) = text else {
            return Err(format!("field {:?} is {}, and not a string", fields.text, text.kind()));
        };
        parts.text = text.to_string();
        if let Some(field) = &fields.key {
            parts.key = Some(match self.value(field)? {
                Value::Text(text) => text.to_string(),
                Value::Number(number, _) => number,
                Value::Null if fields.key_is_optional => String::new(),
                other => return Err(not_a_key(field, other.kind())),
            });
        }
        if let Some(field) = &fields.value {
            let found = match self.value(field)? {
                Value::Text(text) => number(text),
                Value::Number(_, number) => Some(number).filter(|number| number.is_finite()),
                _ => None,
            };
            parts.value = Some(found.ok_or_else(|| not_a_number(field))?);
        }
        Ok(parts)
    }

    pub fn value(&self, field: &str) -> std::result::Result<Value<'_>, String> {
        let array = self.batch.column_by_name(field).ok_or_else(|| format!("no field {field:?}"))?;
        Ok(Value::at(&**array, self.index))
    }
}

/// What a cell holds.
pub enum Value<'a> {
    Text(&'a str),
    /// As it prints, and as it counts.
    Number(String, f64),
    Bytes(&'a [u8]),
    Null,
    Other,
}

impl<'a> Value<'a> {
    fn at(array: &'a dyn Array, index: usize) -> Self {
        macro_rules! number {
            ($type:ty) => {{
                let number = array.as_primitive::<$type>().value(index);
                Self::Number(number.to_string(), number as f64)
            }};
        }
        if array.is_null(index) {
            return Self::Null;
        }
        match array.data_type() {
            DataType::Utf8 => Self::Text(array.as_string::<i32>().value(index)),
            DataType::LargeUtf8 => Self::Text(array.as_string::<i64>().value(index)),
            DataType::Utf8View => Self::Text(array.as_string_view().value(index)),
            DataType::Int8 => number!(Int8Type),
            DataType::Int16 => number!(Int16Type),
            DataType::Int32 => number!(Int32Type),
            DataType::Int64 => number!(Int64Type),
            DataType::UInt8 => number!(UInt8Type),
            DataType::UInt16 => number!(UInt16Type),
            DataType::UInt32 => number!(UInt32Type),
            DataType::UInt64 => number!(UInt64Type),
            DataType::Float32 => number!(Float32Type),
            DataType::Float64 => number!(Float64Type),
            DataType::FixedSizeBinary(_) => Self::Bytes(array.as_fixed_size_binary().value(index)),
            DataType::Binary => Self::Bytes(array.as_binary::<i32>().value(index)),
            DataType::LargeBinary => Self::Bytes(array.as_binary::<i64>().value(index)),
            DataType::BinaryView => Self::Bytes(array.as_binary_view().value(index)),
            _ => Self::Other,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Number(..) => "a number",
            Self::Null => "null",
            Self::Bytes(_) => "bytes",
            Self::Other => "of another type",
        }
    }
}
