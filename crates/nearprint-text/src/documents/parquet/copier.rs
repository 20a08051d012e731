//! Copies rows of Parquet files, with more columns.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave_record_batch;
use parquet::basic::Compression;
use parquet::errors::ParquetError;

use super::super::added::{AddedField, FieldValue};
use super::super::input_file::InputFile;
use super::super::output_file::{OutputFile, Written};
use super::added::{AddedColumn, with_fields};
use super::reader::ParquetReader;
use super::row::{BATCH_ROWS, ParquetRow, ParquetValue, path_of};
use super::target::RowTarget;
use super::united::{in_schema, strings, united};
use super::writer::write_error;
use crate::error::Result;

/// The most batches in memory whose rows wait to be written.
const BATCHES_WAITING: usize = 16;
/// The most memory of several such batches. A column has 2 GiB of strings at most.
const WAITING_BYTES: usize = 1 << 30;

/// The columns and the compression of a file.
#[derive(Clone)]
pub(in super::super) struct ParquetShape {
    pub(in super::super) schema: SchemaRef,
    compression: Compression,
}

impl ParquetShape {
    /// The columns of all inputs, united by name, and the compression of the reader's. Inputs without a byte have no
    /// columns. If `skips_damaged`, neither have those that cannot be read.
    ///
    /// # Errors
    /// [`Error::Output`] if a column has types that no column can have, or two have one name; those of opening the inputs.
    pub(in super::super) fn of(
        reader: &ParquetReader,
        inputs: &[InputFile],
        skips_damaged: bool,
    ) -> Result<Self> {
        let mut schema: Option<(SchemaRef, &Path)> = None;
        let others = if inputs.len() > 1 { inputs } else { &[] };
        for input in others.iter().filter(|input| input.size_bytes != Some(0)) {
            schema = match (schema, ParquetReader::schema_of(input)) {
                (schema, Err(_)) if skips_damaged => schema,
                (None, found) => Some((found?, &input.path)),
                (Some((before, first)), found) => {
                    Some((united((&before, first), (&*found?, &input.path))?, first))
                }
            };
        }
        let schema = schema.map_or_else(|| reader.schema().clone(), |(schema, _)| schema);
        Ok(Self { schema, compression: reader.compression() })
    }
}

/// Copies rows of other files, with more columns.
pub(in super::super) struct RowCopier {
    target: RowTarget,
    /// Rows that wait to be written: their batches, (batch, row), and the added columns.
    batches: Vec<RecordBatch>,
    batches_bytes: usize,
    /// The batch that was read last of them.
    last_read: Option<Arc<RecordBatch>>,
    rows: Vec<(usize, usize)>,
    added: Vec<AddedColumn>,
    /// The columns of all inputs.
    schema: SchemaRef,
    /// The columns that are copied; all if it is empty.
    columns: Vec<usize>,
    /// The way to the text in the copied columns and the structs in them.
    text_path: Option<Vec<usize>>,
    /// Other texts of rows that wait: (place among `rows`, text).
    texts: Vec<(usize, String)>,
}

impl RowCopier {
    /// Creates a file with these columns of `source`, all if there are none, and its compression,
    /// and one more column for each added field. One that is to be resumable has its rows in a file of their own.
    /// An earlier run may have `written` some of it.
    pub(in super::super) fn create(
        path: &Path,
        (source, text_field): (&ParquetShape, &str),
        (added, columns): (&[AddedField], &[usize]),
        resumes: (bool, Option<Written>),
    ) -> Result<Self> {
        let kept;
        let schema = match columns {
            [] => &source.schema,
            columns => {
                kept = source.schema.project(columns).map_err(ParquetError::from);
                &kept.map_err(write_error(path))?
            }
        };
        let text_path = path_of(schema.fields(), text_field);
        let schema = with_fields(schema, added);
        let target = RowTarget::create(path, (&schema, source.compression), resumes)?;
        let added = added.iter().map(AddedColumn::of).collect();
        let (batches, rows, texts) = <(Vec<_>, Vec<_>, Vec<_>)>::default();
        let (columns, schema) = (columns.to_vec(), source.schema.clone());
        let (batches_bytes, last_read) = (0, None);
        Ok(Self { target, batches, batches_bytes, last_read, rows, added, schema, columns, text_path, texts })
    }

    /// Copies a row, with another text if there is one.
    pub(in super::super) fn append(
        &mut self,
        row: &ParquetRow,
        text: Option<&str>,
        values: &[FieldValue<'_>],
    ) -> Result<()> {
        let ParquetRow { batch, index } = row;
        if !self.last_read.as_ref().is_some_and(|last| Arc::ptr_eq(last, batch)) || self.batches.is_empty() {
            let united = in_schema(batch, &self.schema).map_err(write_error(self.target.path()))?;
            let len_bytes = united.get_array_memory_size();
            if self.batches.len() == BATCHES_WAITING || self.batches_bytes + len_bytes > WAITING_BYTES {
                self.write_waiting()?;
            }
            self.batches.push(united);
            self.batches_bytes += len_bytes;
            self.last_read = Some(batch.clone());
        }
        self.texts.extend(text.map(|text| (self.rows.len(), text.to_string())));
        self.rows.push((self.batches.len() - 1, *index));
        self.added.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        if self.rows.len() < BATCH_ROWS { Ok(()) } else { self.write_waiting() }
    }

    fn write_waiting(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let kept = |batch: &RecordBatch| match &*self.columns {
            [] => Ok(batch.clone()),
            columns => batch.project(columns).map_err(ParquetError::from),
        };
        let kept = self.batches.iter().map(kept).collect::<std::result::Result<Vec<_>, _>>();
        let kept = kept.map_err(write_error(self.target.path()))?;
        let batches: Vec<&RecordBatch> = kept.iter().collect();
        let rows = interleave_record_batch(&batches, &self.rows).map_err(ParquetError::from);
        let mut columns = rows.map_err(write_error(self.target.path()))?.columns().to_vec();
        if let Some((column, inside)) = self.text_path.as_ref().and_then(|path| path.split_first())
            && !self.texts.is_empty()
        {
            let changed = with_texts(&columns[*column], inside, &self.texts);
            columns[*column] = changed.map_err(write_error(self.target.path()))?;
        }
        self.texts.clear();
        columns.extend(self.added.iter_mut().map(AddedColumn::take));
        self.target.write(columns)?;
        self.batches.clear();
        self.batches_bytes = 0;
        self.rows.clear();
        Ok(())
    }

    /// Makes the rows durable, and returns where they end. Does nothing if they go to the file itself.
    pub(in super::super) fn flush_and_sync(&mut self) -> Result<Written> {
        self.write_waiting()?;
        self.target.flush_and_sync()
    }

    /// See [`RowTarget::needs_its_end`].
    pub(in super::super) fn needs_its_end(&self) -> bool {
        self.target.needs_its_end()
    }

    /// Writes the waiting rows and the end of the file. Returns the file, as [`ParquetWriter::end`].
    pub(in super::super) fn end(mut self) -> Result<Option<OutputFile>> {
        self.write_waiting()?;
        self.target.end()
    }
}

/// A column of strings, or one with them at a path inside it, with other values at some places.
fn with_texts(
    column: &ArrayRef,
    path: &[usize],
    texts: &[(usize, String)],
) -> std::result::Result<ArrayRef, ParquetError> {
    if let (Some((first, inside)), Some(whole)) = (path.split_first(), column.as_struct_opt()) {
        let (fields, mut columns, nulls) = whole.clone().into_parts();
        columns[*first] = with_texts(&columns[*first], inside, texts)?;
        return Ok(Arc::new(StructArray::try_new(fields, columns, nulls)?));
    }
    let mut texts = texts.iter().peekable();
    let values: Vec<Option<&str>> = (0..column.len())
        .map(|row| match texts.next_if(|(changed, _)| *changed == row) {
            Some((_, text)) => Some(&**text),
            None => match ParquetValue::at(column, row) {
                ParquetValue::Text(text) => Some(text),
                _ => None,
            },
        })
        .collect();
    strings(values, column.data_type()).ok_or_else(|| {
        let why = format!("columns of the type {} cannot be changed, only strings", column.data_type());
        ParquetError::General(why)
    })
}
