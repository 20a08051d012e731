//! Documents: reading them from JSON lines, CSV, Parquet and plain files, and writing the ones that are
//! kept, unchanged.
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
//! Reading has two halves. [`Reader::next_raw`] finds where records begin and end, which is cheap;
//! [`RawRecord::parse`] finds the fields in one, on any thread.

mod columns;
pub(crate) mod compressed;
mod csv;
mod each;
mod inputs;
pub(crate) mod json;
mod line_file;
mod lines;
mod output;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod parser;
mod reader;
mod record;

pub use columns::{escape, unescape};
pub use compressed::Compression;
pub use each::each;
pub use inputs::{Format, Input};
pub use line_file::{LineFile, Span};
pub use output::{Output, OutputOptions};
pub use reader::{Position, Reader, ReaderOptions};
pub use record::{BadRecord, Fields, Item, Place, RawRecord, Record};

/// The part of a text before the first occurrence of a marker; all of it where there is none.
///
/// ```
/// assert_eq!(nearprint_text::documents::cut_after("news -- signature -- x", " --"), "news");
/// ```
#[must_use]
pub fn cut_after<'a>(text: &'a str, marker: &str) -> &'a str {
    match memchr::memmem::find(text.as_bytes(), marker.as_bytes()) {
        Some(at) => &text[..at],
        None => text,
    }
}

/// Whether bytes look like something else than text: a zero byte among the first 8,192, where compilers,
/// cameras and archivers put many, and writers of text none.
#[must_use]
pub fn looks_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(8192)]).is_some()
}
