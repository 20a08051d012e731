//! Rows of a Parquet file that is not finished.
//!
//! A Parquet file ends with an index of all its parts, so it cannot be written to after a kill. The rows of a file
//! that is to be resumed go to a file of their own, `NAME.rows.zst.partial`: streams of Arrow, one after another, with
//! one or more batches each. At the end they become the Parquet file.

use std::io::{BufRead, BufReader, Seek};
use std::path::{Path, PathBuf};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_select::coalesce::BatchCoalescer;
use parquet::errors::ParquetError;

use super::super::compression::decoder;
use super::super::kind::Compression;
use super::super::line_file::LineFile;
use super::super::output_file::{OutputFile, Written, rows_path};
use super::row::BATCH_ROWS;
use super::writer::{ParquetWriter, write_error};
use crate::error::{Error, Result};

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
        batches.push_batch(rows?)?;
    }
    Ok(())
}

fn write_completed(batches: &mut BatchCoalescer, output: &mut ParquetWriter) -> Result<()> {
    while let Some(rows) = batches.next_completed_batch() {
        output.write(rows.columns().to_vec())?;
    }
    Ok(())
}
