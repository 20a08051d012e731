//! Parquet files: reading their rows, and copying rows with all columns.

mod copier;
mod reader;
mod row;
mod spool;
mod united;
mod writer;

pub(super) use copier::{ParquetShape, RowCopier};
pub use reader::ParquetReader;
pub use row::{ParquetRow, ParquetValue};
pub use writer::ParquetWriter;
