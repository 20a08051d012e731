//! Rows of Parquet files: read in batches, and copied with all their columns.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::interleave::interleave_record_batch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::compressed::bad;
use super::inputs::Input;
use super::output::{STDOUT, is_stdout, sync_file};
use super::parser::{Parts, not_a_key, not_a_number, number};
use super::record::{Content, Fields};
use crate::error::{Error, Result};

/// Rows that are read together, and written together.
const BATCH_ROWS: usize = 1024;
/// Batches that may wait for the rows kept of them to be written.
const BATCHES_WAITING: usize = 16;
/// A row group is ended when it takes so much memory.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// Reads a file.
pub(super) struct Rows {
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
pub(crate) struct Row {
    batch: Arc<RecordBatch>,
    index: usize,
}

impl Rows {
    /// Opens a file that has all the columns.
    pub(super) fn open(input: &Input, fields: &Fields) -> Result<Self> {
        let name = input.name();
        if input.is_stdin() {
            return Err(bad(&name, "Parquet has to be in a file: it begins at its end".into()));
        }
        let file = File::open(&input.path).map_err(Error::io("open", &input.path))?;
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| damaged(&name, &error))?;
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
        let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(|error| damaged(&name, &error))?;
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

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next row and its number, from 1. Of the file's bytes those count as read that are its share.
    pub(super) fn next(&mut self, count: &AtomicU64) -> Result<Option<(u64, Content)>> {
        loop {
            if let Some(batch) = self.batch.as_ref().filter(|batch| self.next_in_batch < batch.num_rows()) {
                let row = Row { batch: batch.clone(), index: self.next_in_batch };
                self.next_in_batch += 1;
                self.done += 1;
                return Ok(Some((self.done, Content::Row(row))));
            }
            let batch = self.reader.next().transpose().map_err(|error| damaged(&self.name, &error))?;
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
        let (path, file, target): (PathBuf, _, Box<dyn Write + Send>) = if is_stdout(path) {
            (STDOUT.into(), None, Box::new(io::stdout()))
        } else {
            let failed = || Error::io("create", path);
            let file = File::create(path).map_err(failed())?;
            let again = file.try_clone().map_err(failed())?;
            (path.to_path_buf(), Some(again), Box::new(file))
        };
        let schema = match fingerprints {
            Some(name) => with_field(&self.schema, name),
            None => self.schema.clone(),
        };
        let properties = WriterProperties::builder().set_compression(self.compression).build();
        let writer = ArrowWriter::try_new(target, schema.clone(), Some(properties));
        let writer = writer.map_err(|error| unwritten(&path, error))?;
        let fingerprints = fingerprints.map(|_| Vec::new());
        Ok(RowWriter { writer, schema, path, file, batches: Vec::new(), rows: Vec::new(), fingerprints })
    }
}

fn with_field(schema: &Schema, name: &str) -> SchemaRef {
    let added = Arc::new(Field::new(name, DataType::Utf8, false));
    let fields: Vec<_> = schema.fields().iter().cloned().chain([added]).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn damaged(name: &str, error: &dyn Display) -> Error {
    bad(name, format!("no Parquet file, or a damaged one: {error}"))
}

/// What kept a file from being written.
fn unwritten(path: &Path, error: ParquetError) -> Error {
    let source = match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    };
    Error::io("write", path)(source)
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

    fn value(&self, field: &str) -> std::result::Result<Value<'_>, String> {
        let array = self.batch.column_by_name(field).ok_or_else(|| format!("no field {field:?}"))?;
        Ok(Value::at(&**array, self.index))
    }
}

/// What a cell holds.
enum Value<'a> {
    Text(&'a str),
    /// As it prints, and as it counts.
    Number(String, f64),
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
            _ => Self::Other,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Number(..) => "a number",
            Self::Null => "null",
            Self::Other => "of another type",
        }
    }
}

/// Copies rows to a file.
pub(super) struct RowWriter {
    writer: ArrowWriter<Box<dyn Write + Send>>,
    schema: SchemaRef,
    path: PathBuf,
    /// The same file again, where it is one.
    file: Option<File>,
    /// What waits to be written: batches, the rows wanted of them, and the fingerprints of those.
    batches: Vec<Arc<RecordBatch>>,
    rows: Vec<(usize, usize)>,
    fingerprints: Option<Vec<String>>,
}

impl RowWriter {
    pub(super) fn append(&mut self, content: &Content, fingerprint: &dyn Display) -> Result<()> {
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
        let batch = self.waiting().map_err(|error| unwritten(&self.path, error))?;
        let written = self.writer.write(&batch).and_then(|()| {
            if self.writer.in_progress_size() < ROW_GROUP_BYTES { Ok(()) } else { self.writer.flush() }
        });
        written.map_err(|error| unwritten(&self.path, error))?;
        self.batches.clear();
        self.rows.clear();
        self.fingerprints.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    /// What waits, as one batch.
    fn waiting(&self) -> std::result::Result<RecordBatch, ParquetError> {
        let batches: Vec<&RecordBatch> = self.batches.iter().map(|batch| &**batch).collect();
        let rows = interleave_record_batch(&batches, &self.rows)?;
        let Some(fingerprints) = &self.fingerprints else { return Ok(rows) };
        let added: ArrayRef = Arc::new(StringArray::from_iter_values(fingerprints));
        let columns = rows.columns().iter().cloned().chain([added]).collect();
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    /// Writes what waits and the end of the file, and makes it durable.
    pub(super) fn finish(mut self) -> Result<()> {
        self.write_waiting()?;
        let mut target = self.writer.into_inner().map_err(|error| unwritten(&self.path, error))?;
        let ended = target.flush().and_then(|()| self.file.as_ref().map_or(Ok(()), sync_file));
        ended.map_err(Error::io("write", &self.path))
    }
}
