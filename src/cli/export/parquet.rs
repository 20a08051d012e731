//! Rows of a database as a Parquet file.

use std::path::Path;
use std::sync::Arc;

use arrow_array::UInt64Array;
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
}

impl ParquetRows {
    /// A new file, or standard output for `-` and nothing.
    pub(super) fn create(path: Option<&Path>) -> Result<Self> {
        let field = |name| Field::new(name, DataType::UInt64, false);
        let schema = Arc::new(Schema::new(vec![field("fingerprint"), field("id")]));
        let compression = Compression::ZSTD(ZstdLevel::default());
        let table = Table::create(path.unwrap_or(Path::new("-")), &schema, compression)?;
        Ok(Self { table, fingerprints: Vec::new(), ids: Vec::new() })
    }

    pub(super) fn push(&mut self, row: Row<u64>) -> Result<()> {
        self.fingerprints.push(row.fingerprint);
        self.ids.push(row.id);
        if self.ids.len() < BATCH_ROWS { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<()> {
        let column = |values: &mut Vec<u64>| Arc::new(UInt64Array::from(std::mem::take(values))) as _;
        self.table.write(vec![column(&mut self.fingerprints), column(&mut self.ids)])
    }

    /// Writes the rest and the end of the file.
    pub(super) fn finish(mut self) -> Result<()> {
        self.write()?;
        self.table.finish()
    }
}
