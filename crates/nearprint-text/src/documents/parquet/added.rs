//! Columns that a writer adds to rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::super::added::{AddedField, FieldKind, FieldValue};

/// The values of an added column in rows that wait to be written.
pub(super) enum AddedColumn {
    Text(Vec<Option<String>>),
    Number(Vec<Option<f64>>),
    Count(Vec<Option<u64>>),
    Flag(Vec<Option<bool>>),
}

impl AddedColumn {
    pub(super) fn of(field: &AddedField) -> Self {
        match field.kind {
            FieldKind::Text => Self::Text(Vec::new()),
            FieldKind::Number => Self::Number(Vec::new()),
            FieldKind::Count => Self::Count(Vec::new()),
            FieldKind::Flag => Self::Flag(Vec::new()),
        }
    }

    /// Adds a value; none if it has another type.
    pub(super) fn push(&mut self, value: &FieldValue<'_>) {
        match (self, value) {
            (Self::Text(column), FieldValue::Text(text)) => column.push(Some(text.to_string())),
            (Self::Text(column), _) => column.push(None),
            (Self::Number(column), FieldValue::Number(number)) => column.push(Some(*number)),
            (Self::Number(column), _) => column.push(None),
            (Self::Count(column), FieldValue::Count(count)) => column.push(Some(*count)),
            (Self::Count(column), _) => column.push(None),
            (Self::Flag(column), FieldValue::Flag(flag)) => column.push(Some(*flag)),
            (Self::Flag(column), _) => column.push(None),
        }
    }

    pub(super) fn take(&mut self) -> ArrayRef {
        match self {
            Self::Text(column) => Arc::new(StringArray::from_iter(column.drain(..))),
            Self::Number(column) => Arc::new(Float64Array::from_iter(column.drain(..))),
            Self::Count(column) => Arc::new(UInt64Array::from_iter(column.drain(..))),
            Self::Flag(column) => Arc::new(BooleanArray::from_iter(column.drain(..))),
        }
    }
}

/// The columns of a file, and one more for each added field.
pub(super) fn with_fields(schema: &Schema, added: &[AddedField]) -> SchemaRef {
    let added = added.iter().map(|AddedField { name, kind }| {
        let kind = match kind {
            FieldKind::Text => DataType::Utf8,
            FieldKind::Number => DataType::Float64,
            FieldKind::Count => DataType::UInt64,
            FieldKind::Flag => DataType::Boolean,
        };
        Arc::new(Field::new(name, kind, true))
    });
    let fields: Vec<_> = schema.fields().iter().cloned().chain(added).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
