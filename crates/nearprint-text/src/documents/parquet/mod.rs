//! Parquet files: reading their rows, and copying rows with all columns.

mod reader;
mod row;
mod spool;
mod writer;

pub use reader::ParquetReader;
pub use row::{ParquetRow, ParquetValue};
pub use writer::ParquetWriter;
pub(super) use writer::{ParquetShape, RowCopier};
