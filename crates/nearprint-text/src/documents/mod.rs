//! Documents: reads them from JSON lines, CSV, Parquet and plain files, and writes them unchanged or in another format.
//!
//! ```
//! use nearprint_text::documents::{Item, Reader, ReaderOptions};
//!
//! # let home = tempfile::tempdir()?;
//! # let path = home.path().join("pages.jsonl");
//! std::fs::write(&path, "{\"url\": \"a\", \"text\": \"first\"}\n{\"url\": \"b\"}\n")?;
//! let mut options = ReaderOptions::default();
//! options.fields.key = Some("url".into());
//! let mut reader = Reader::open(&[path], options)?;
//! while let Some(item) = reader.next_item()? {
//!     match item {
//!         Item::Record(record) => println!("{}: {}", record.key, record.text),
//!         Item::Bad(bad) => eprintln!("{}: {}", bad.place, bad.reason),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Reading has two steps. [`Reader::next_raw`] finds the boundaries of a record, which is cheap;
//! [`RawRecord::parse`] finds its fields, on any thread. [`each`] runs the second step on all
//! cores.
//!
//! Each of the modules uses only those before it: `system`, `escape`, `delimiter`, `format`, `kind`, `compression`,
//! `output_file`, `regular`, `stamp`, `stdin`, `folder`, `preprocessor`, `input_file`, `transcoder`, `input_bytes`,
//! `line_file`;
//! `fields`, `lines`, `json_values`, `text`, `csv`, `json`, `cell`, `parquet`; `outputs`, `file_content`,
//! `common_format`, `copies`, `record`, `conversion`, `parser`, `reader`, `conversion_plan`; `output_name`, `added`,
//! `writer`, `each`.

mod added;
mod cell;
mod common_format;
mod compression;
mod conversion;
mod conversion_plan;
mod copies;
mod csv;
mod delimiter;
mod each;
mod escape;
mod fields;
mod file_content;
mod folder;
mod format;
mod input_bytes;
mod input_file;
mod json;
mod json_values;
mod kind;
mod line_file;
mod lines;
mod list_format;
mod output_file;
mod output_name;
mod outputs;
mod own_files;
#[cfg(feature = "parquet")]
mod parquet;
mod parser;
mod preprocessor;
mod reader;
mod record;
mod regular;
mod stamp;
mod stdin;
mod system;
mod text;
mod transcoder;
mod writer;

pub use added::{AddedField, FieldKind, FieldValue};
pub use cell::Nested;
pub use copies::find_copies;
pub use delimiter::Delimiter;
pub use each::each;
pub use escape::{escape, unescape};
pub(crate) use escape::{escape_bytes, unescape_bytes};
pub use fields::{Fields, Missing, RankValue};
pub(crate) use file_content::have_same_content;
pub use file_content::{FileContent, have_same_bytes, look_at, read_file};
pub use folder::{FolderRules, LeftOut};
pub use format::Format;
pub use input_file::{InputFile, list_files};
pub(crate) use kind::format_of_name;
pub use kind::{
    Class, Compression, Decoded, Encoding, Kind, Recognized, Records, Unread, decode, looks_compressed,
    reader_of, recognize,
};
pub(crate) use line_file::read_span;
pub use line_file::{LineFile, Span};
pub use output_file::{OutputFile, Written};
pub(crate) use output_file::{digest_of, refuse_device};
pub(crate) use output_name::{format_of_output, format_of_records};
pub use outputs::check_outputs;
pub(crate) use outputs::is_database;
pub(crate) use own_files::is_undo_list;
pub use parser::RawRecord;
pub use preprocessor::{Decoding, Preprocessing};
pub use reader::{Position, Reader, ReaderOptions};
pub(crate) use record::path_of_line;
pub use record::{BadRecord, Item, Place, Record, Spot};
pub use regular::open_regular;
pub use stamp::FileStamp;
pub(crate) use stdin::{Recording, Stdin, StdinSource};
pub(crate) use system::{bytes_of as path_bytes, path_of as path_of_bytes};
pub use text::text_of_file;
pub(crate) use writer::OutputShape;
pub(crate) use writer::listed_path;
pub use writer::{DocumentWriter, WriterOptions};

/// What the command line shares with this module.
pub(crate) mod internal {
    pub use super::common_format::names_beside_records;
    pub use super::csv::push_cell;
    pub use super::input_bytes::{open_decompressed, open_regular_decompressed};
    pub use super::json::key_in;
    pub use super::kind::{names_of_compressions, table_of_kinds, table_of_readers};
    pub use super::lines::{Scan as RecordScan, check_first_line, check_header};
    pub use super::list_format::ListFormat;
    pub use super::output_name::{Written as WrittenFormat, check_rejects};
    #[cfg(feature = "parquet")]
    pub use super::parquet::{ParquetReader, ParquetRow, ParquetValue, ParquetWriter};
    pub use super::preprocessor::kill_preprocessors;
    pub use super::stdin::{Stdin, set_end_of_stdin};
}
