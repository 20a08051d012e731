//! Rows of a Parquet file that is not finished.
//!
//! A Parquet file ends with an index of all its parts, so it cannot be written to after a kill. The rows of a file
//! that is to be resumed go to a file of their own, `NAME.rows.zst.partial`: streams of Arrow, one after another, with
//! one or more batches each. At the end they become the Parquet file.

use std::io::{BufRead, BufReader, Seek};
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::DataType;
use arrow_select::coalesce::BatchCoalescer;
use parquet::errors::ParquetError;

use super::super::compression::decoder;
use super::super::kind::Compression;
use super::super::line_file::LineFile;
use super::super::output_file::{OutputFile, Written, rows_path};
use super::row::BATCH_ROWS;
use super::writer::{ParquetWriter, write_error};
use crate::error::{Error, Result};

/// The bytes of strings from which on a row is a batch alone: a column has 2 GiB of them at most, so [`BATCH_ROWS`]
/// smaller rows have room in one.
const LARGE_ROW_BYTES: usize = 1 << 20;

/// A Parquet file whose rows are in a file of their own until its end.
pub(super) struct RowSpool {
    rows: LineFile,
    rows_path: PathBuf,
    /// The Parquet file, which has no rows yet.
    output: ParquetWriter,
}

impl RowSpool {
    /// Creates the file of rows, or opens it where it was written to.
    pub(super) fn open(path: &Path, output: ParquetWriter, written: Option<Written>) -> Result<Self> {
        let rows_path = rows_path(path);
        let rows = match written {
            Some(written) => LineFile::resume(&rows_path, written)?,
            None => LineFile::create_resumable(&rows_path)?,
        };
        Ok(Self { rows, rows_path, output })
    }

    /// The path of the Parquet file.
    pub(super) fn path(&self) -> &Path {
        self.output.path()
    }

    pub(super) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let failed = write_error(&self.rows_path);
        let schema = self.output.schema();
        let rows = RecordBatch::try_new(schema.clone(), columns);
        let mut bytes = Vec::new();
        let encoded = rows.and_then(|rows| {
            let mut stream = StreamWriter::try_new(&mut bytes, schema)?;
            stream.write(&rows)?;
            stream.finish()
        });
        encoded.map_err(ParquetError::from).map_err(failed)?;
        self.rows.append_path(&bytes).map(drop)
    }

    pub(super) fn flush_and_sync(&mut self) -> Result<Written> {
        self.rows.flush_and_sync()
    }

    /// Writes the Parquet file, which depends on the rows alone and not on the streams that they were in. The file of
    /// rows stays until the Parquet file gets its name.
    pub(super) fn end(mut self) -> Result<Option<OutputFile>> {
        self.rows.flush_and_sync()?;
        let Self { rows, rows_path, mut output } = self;
        let Some(rows) = rows.end()? else { return output.end() };
        let failed = || Error::io("read", &rows_path);
        let mut batches = BatchCoalescer::new(output.schema().clone(), BATCH_ROWS);
        rows.file().rewind().map_err(failed())?;
        let bytes = decoder(BufReader::new(rows.file()), Some(Compression::Zstd)).map_err(failed())?;
        let mut bytes = BufReader::new(bytes);
        while !bytes.fill_buf().map_err(failed())?.is_empty() {
            push_stream(&mut batches, &mut bytes).map_err(write_error(&rows_path))?;
            write_completed(&mut batches, &mut output)?;
        }
        drop(bytes);
        batches.finish_buffered_batch().map_err(ParquetError::from).map_err(write_error(&rows_path))?;
        write_completed(&mut batches, &mut output)?;
        let mut output = output.end()?;
        if let Some(output) = &mut output {
            output.set_rows(rows);
        }
        Ok(output)
    }
}

/// Takes the batches of a stream.
fn push_stream(
    batches: &mut BatchCoalescer,
    bytes: &mut impl BufRead,
) -> std::result::Result<(), ParquetError> {
    for rows in StreamReader::try_new(bytes, None)? {
        let rows = rows?;
        let mut pushed = 0;
        for large in large_rows(&rows) {
            batches.push_batch(rows.slice(pushed, large - pushed))?;
            batches.finish_buffered_batch()?;
            batches.push_batch(rows.slice(large, 1))?;
            batches.finish_buffered_batch()?;
            pushed = large + 1;
        }
        batches.push_batch(rows.slice(pushed, rows.num_rows() - pushed))?;
    }
    Ok(())
}

/// The rows with [`LARGE_ROW_BYTES`] or more.
fn large_rows(rows: &RecordBatch) -> Vec<usize> {
    let before = |row| rows.columns().iter().map(|column| bytes_before(row, column)).sum::<usize>();
    if before(rows.num_rows()) < LARGE_ROW_BYTES {
        return Vec::new();
    }
    (0..rows.num_rows()).filter(|&row| before(row + 1) - before(row) >= LARGE_ROW_BYTES).collect()
}

/// The bytes of strings before a row of a column.
fn bytes_before(row: usize, column: &ArrayRef) -> usize {
    let at = |offsets: &[i32]| usize::try_from(offsets[row]).unwrap_or(0);
    match column.data_type() {
        DataType::Utf8 => at(column.as_string::<i32>().value_offsets()),
        DataType::Binary => at(column.as_binary::<i32>().value_offsets()),
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            bytes_before(at(list.value_offsets()), list.values())
        }
        DataType::Map(..) => {
            let map = column.as_map();
            map.entries().columns().iter().map(|column| bytes_before(at(map.value_offsets()), column)).sum()
        }
        DataType::Struct(_) => column.as_struct().columns().iter().map(|part| bytes_before(row, part)).sum(),
        _ => 0,
    }
}

fn write_completed(batches: &mut BatchCoalescer, output: &mut ParquetWriter) -> Result<()> {
    while let Some(rows) = batches.next_completed_batch() {
        output.write(rows.columns().to_vec())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{BinaryBuilder, ListBuilder};
    use arrow_array::{StringArray, StructArray};

    use super::*;

    #[test]
    fn large_rows_are_known_within_nested_columns() {
        let half = "x".repeat(LARGE_ROW_BYTES / 2);
        let strings: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some(&*half), Some("b")]));
        let mut lists = ListBuilder::new(BinaryBuilder::new());
        for items in [vec![&*half], vec!["c"], vec![&*half], vec![&*half, &*half, "d"]] {
            lists.append_value(items.into_iter().map(|item| Some(item.as_bytes())));
        }
        let lists: ArrayRef = Arc::new(lists.finish());
        let rows = RecordBatch::try_from_iter([("strings", strings), ("lists", lists)]).unwrap();
        assert_eq!(large_rows(&rows), [2, 3]);
        assert_eq!(large_rows(&rows.slice(1, 3)), [1, 2]);
        assert!(large_rows(&rows.slice(0, 2)).is_empty());
        let whole: ArrayRef = Arc::new(StructArray::from(rows));
        assert_eq!(large_rows(&RecordBatch::try_from_iter([("whole", whole)]).unwrap()), [2, 3]);
    }
}
