//! Writes rows of a database to a Parquet file.

use std::path::Path;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{StringBuilder, UInt64Builder};
use arrow_schema::{DataType, Field, Schema};
use parquet::basic::{Compression, ZstdLevel};

use nearprint::any::AnyFingerprint;
use nearprint::{Row, Width};
use nearprint_text::Result;
use nearprint_text::internal::ParquetWriter;

/// Rows per batch.
const BATCH_ROWS: usize = 1 << 16;

/// The column of fingerprints.
enum FingerprintColumn {
    /// 64-bit fingerprints.
    Numbers(UInt64Builder),
    /// Wider fingerprints in their printed form. Parquet has no numbers of these widths.
    Strings(StringBuilder),
}

impl FingerprintColumn {
    fn of(width: Width) -> Self {
        match width {
            Width::W64 => Self::Numbers(UInt64Builder::new()),
            _ => Self::Strings(StringBuilder::new()),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Numbers(_) => DataType::UInt64,
            Self::Strings(_) => DataType::Utf8,
        }
    }

    fn push(&mut self, fingerprint: AnyFingerprint) {
        match self {
            Self::Numbers(column) => column.append_value(fingerprint.words()[0]),
            Self::Strings(column) => column.append_value(fingerprint.to_string()),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Numbers(column) => Arc::new(column.finish()),
            Self::Strings(column) => Arc::new(column.finish()),
        }
    }
}

/// Writes a file of rows.
pub(super) struct ParquetExport {
    file: ParquetWriter,
    fingerprints: FingerprintColumn,
    ids: UInt64Builder,
    /// The number of rows in the current batch.
    rows: usize,
    /// `None` if the database has no keys.
    keys: Option<StringBuilder>,
}

impl ParquetExport {
    /// Creates a file. `-` and `None` are standard output.
    pub(super) fn create(width: Width, path: Option<&Path>, with_keys: bool) -> Result<Self> {
        let fingerprints = FingerprintColumn::of(width);
        let mut fields = vec![
            Field::new("fingerprint", fingerprints.data_type(), false),
            Field::new("id", DataType::UInt64, false),
        ];
        fields.extend(with_keys.then(|| Field::new("key", DataType::Utf8, true)));
        let schema = Arc::new(Schema::new(fields));
        let compression = Compression::ZSTD(ZstdLevel::default());
        let file = ParquetWriter::create(path.unwrap_or(Path::new("-")), &schema, compression)?;
        let keys = with_keys.then(StringBuilder::new);
        Ok(Self { file, fingerprints, ids: UInt64Builder::new(), rows: 0, keys })
    }

    /// Adds a row with one of its keys.
    pub(super) fn push(&mut self, row: Row<AnyFingerprint>, key: Option<&str>) -> Result<()> {
        if let Some(keys) = &mut self.keys {
            keys.append_option(key);
        }
        self.fingerprints.push(row.fingerprint);
        self.ids.append_value(row.id);
        self.rows += 1;
        if self.rows < BATCH_ROWS { Ok(()) } else { self.write_batch() }
    }

    fn write_batch(&mut self) -> Result<()> {
        self.rows = 0;
        let mut columns = vec![self.fingerprints.finish(), Arc::new(self.ids.finish()) as ArrayRef];
        columns.extend(self.keys.as_mut().map(|keys| Arc::new(keys.finish()) as ArrayRef));
        self.file.write(columns)
    }

    /// Writes the last batch and the end of the file.
    pub(super) fn finish(mut self) -> Result<()> {
        self.write_batch()?;
        self.file.finish()
    }
}
