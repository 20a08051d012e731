//! Parquet files: reading their rows, copying rows with all columns, and making rows of other records.

mod added;
mod builder;
mod copier;
mod reader;
mod row;
mod spool;
mod target;
mod united;
mod values;
mod writer;

pub(super) use builder::RowBuilder;
pub(super) use copier::{ParquetShape, RowCopier};
pub use reader::ParquetReader;
pub use row::{ParquetRow, ParquetValue};
pub(super) use values::{cell_at, check_type};
pub use writer::ParquetWriter;
