//! Makes rows of Parquet of values from records of other formats.

use std::path::Path;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, UInt64Builder};
use arrow_schema::{DataType, Field, Schema};
use parquet::basic::Compression;

use super::super::added::{AddedField, FieldValue};
use super::super::cell::{Cell, CellKind};
use super::super::output_file::{OutputFile, Written};
use super::added::{AddedColumn, with_fields};
use super::row::BATCH_ROWS;
use super::target::RowTarget;
use crate::error::Result;

/// The bytes of strings at which rows are written.
const WAITING_BYTES: usize = 64 << 20;

/// Writes rows of values, with more columns.
pub(in super::super) struct RowBuilder {
    target: RowTarget,
    columns: Vec<ColumnBuilder>,
    added: Vec<AddedColumn>,
    /// Rows that wait to be written, and the bytes of their strings.
    num_rows: usize,
    num_bytes: usize,
}

/// The values of a column in rows that wait to be written.
enum ColumnBuilder {
    Text(StringBuilder),
    Integer(Int64Builder),
    Unsigned(UInt64Builder),
    Float(Float64Builder),
    Flag(BooleanBuilder),
}

impl ColumnBuilder {
    fn of(kind: CellKind) -> Self {
        match kind {
            CellKind::Text => Self::Text(StringBuilder::new()),
            CellKind::Integer => Self::Integer(Int64Builder::new()),
            CellKind::Unsigned => Self::Unsigned(UInt64Builder::new()),
            CellKind::Float => Self::Float(Float64Builder::new()),
            CellKind::Flag => Self::Flag(BooleanBuilder::new()),
        }
    }

    /// Adds a value, which the kind of the column holds.
    fn push(&mut self, cell: &Cell<'_>) {
        match self {
            Self::Text(column) => column.append_option(cell.content()),
            Self::Integer(column) => column.append_option(cell.number(CellKind::Integer)),
            Self::Unsigned(column) => column.append_option(cell.number(CellKind::Unsigned)),
            Self::Float(column) => column.append_option(cell.number(CellKind::Float)),
            Self::Flag(column) => column.append_option(cell.number(CellKind::Flag)),
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::Text(column) => Arc::new(column.finish()),
            Self::Integer(column) => Arc::new(column.finish()),
            Self::Unsigned(column) => Arc::new(column.finish()),
            Self::Float(column) => Arc::new(column.finish()),
            Self::Flag(column) => Arc::new(column.finish()),
        }
    }
}

fn type_of(kind: CellKind) -> DataType {
    match kind {
        CellKind::Text => DataType::Utf8,
        CellKind::Integer => DataType::Int64,
        CellKind::Unsigned => DataType::UInt64,
        CellKind::Float => DataType::Float64,
        CellKind::Flag => DataType::Boolean,
    }
}

impl RowBuilder {
    /// Creates a file with these columns, and one more for each added field, as [`RowTarget::create`].
    pub(in super::super) fn create<'a>(
        path: &Path,
        columns: impl Iterator<Item = (&'a str, CellKind)> + Clone,
        added: &[AddedField],
        resumes: (bool, Option<Written>),
    ) -> Result<Self> {
        let fields = columns.clone().map(|(name, kind)| Field::new(name, type_of(kind), true));
        let schema = with_fields(&Schema::new(fields.collect::<Vec<_>>()), added);
        Ok(Self {
            target: RowTarget::create(path, (&schema, Compression::SNAPPY), resumes)?,
            columns: columns.map(|(_, kind)| ColumnBuilder::of(kind)).collect(),
            added: added.iter().map(AddedColumn::of).collect(),
            num_rows: 0,
            num_bytes: 0,
        })
    }

    /// Adds a row with a value for each column, and one for each added field.
    pub(in super::super) fn append(&mut self, row: &[Cell<'_>], values: &[FieldValue<'_>]) -> Result<()> {
        self.columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
        self.added.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        self.num_rows += 1;
        self.num_bytes += row.iter().filter_map(Cell::content).map(str::len).sum::<usize>();
        let is_full = self.num_rows == BATCH_ROWS || self.num_bytes >= WAITING_BYTES;
        if is_full { self.write_waiting() } else { Ok(()) }
    }

    fn write_waiting(&mut self) -> Result<()> {
        if self.num_rows == 0 {
            return Ok(());
        }
        (self.num_rows, self.num_bytes) = (0, 0);
        let columns = self.columns.iter_mut().map(ColumnBuilder::take);
        self.target.write(columns.chain(self.added.iter_mut().map(AddedColumn::take)).collect())
    }

    /// Makes the rows durable, as [`RowTarget::flush_and_sync`].
    pub(in super::super) fn flush_and_sync(&mut self) -> Result<Written> {
        self.write_waiting()?;
        self.target.flush_and_sync()
    }

    /// See [`RowTarget::needs_its_end`].
    pub(in super::super) fn needs_its_end(&self) -> bool {
        self.target.needs_its_end()
    }

    /// Writes the waiting rows and the end of the file. Returns the file, as [`RowTarget::end`].
    pub(in super::super) fn end(mut self) -> Result<Option<OutputFile>> {
        self.write_waiting()?;
        self.target.end()
    }
}
