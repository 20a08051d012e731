//! Rows of a database as a Parquet file.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::basic::{Compression, ZstdLevel};

use crate::Row;
use crate::documents::parquet::Table;
use crate::error::Result;

/// Rows that are written together.
const BATCH_ROWS: usize = 1 << 16;

/// A file of rows in the making.
pub(super) struct ParquetRows {
    table: Table,
    fingerprints: Vec<u64>,
    ids: Vec<u64>,
    /// Of a database with keys.
    keys: Option<StringBuilder>,
}

impl ParquetRows {
    /// A new file, or standard output for `-` and nothing.
    pub(super) fn create(path: Option<&Path>, with_keys: bool) -> Result<Self> {
        let field = |name| Field::new(name, DataType::UInt64, false);
        let mut fields = vec![field("fingerprint"), field("id")];
        fields.extend(with_keys.then(|| Field::new("key", DataType::Utf8, true)));
        let schema = Arc::new(Schema::new(fields));
        let compression = Compression::ZSTD(ZstdLevel::default());
        let table = Table::create(path.unwrap_or(Path::new("-")), &schema, compression)?;
        let keys = with_keys.then(StringBuilder::new);
        Ok(Self { table, fingerprints: Vec::new(), ids: Vec::new(), keys })
    }

    /// Adds a row, or one more key of it.
    pub(super) fn push(&mut self, row: Row<u64>, key: Option<&str>) -> Result<()> {
        if let Some(keys) = &mut self.keys {
            keys.append_option(key.filter(|key| !key.is_empty()));
        }
        self.fingerprints.push(row.fingerprint);
        self.ids.push(row.id);
        if self.ids.len() < BATCH_ROWS { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<()> {
        let column = |values: &mut Vec<u64>| Arc::new(UInt64Array::from(std::mem::take(values))) as _;
        let mut columns = vec![column(&mut self.fingerprints), column(&mut self.ids)];
        columns.extend(self.keys.as_mut().map(|keys| Arc::new(keys.finish()) as ArrayRef));
        self.table.write(columns)
    }

    /// Writes the rest and the end of the file.
    pub(super) fn finish(mut self) -> Result<()> {
        self.write()?;
        self.table.finish()
    }
}
