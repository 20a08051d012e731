//! Writes documents as they were read.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "parquet")]
use super::compressed::Compression;
use super::compressed::bad;
use super::csv::{names_a_column, with_cell};
use super::inputs::Format;
use super::json::with_member;
use super::line_file::{LineFile, STDOUT, Span, is_stdout, read_span};
use super::parser::Parser;
use super::reader::Reader;
use super::record::Record;
use crate::error::{Error, Result};

/// How documents are written.
#[derive(Clone, Debug, Default)]
pub struct OutputOptions {
    /// Each record gets its fingerprint as a last field of this name. In JSON a field of this name that is
    /// there already stays as well; in CSV and Parquet it is an error.
    pub add_fingerprint: Option<String>,
    /// Texts will be [read back](Output::read_back). They are kept in a temporary file where the output
    /// itself cannot be read: standard output, compressed files, Parquet.
    pub keep_texts: bool,
    /// Standard output gets nothing before [`Output::release`].
    pub hold: bool,
}

#[cfg(feature = "parquet")]
impl Span {
    /// Of a record that is no bytes.
    const NOWHERE: Self = Self { offset: 0, len_bytes: 0 };
}

/// Takes the documents that are kept, and writes them as they stand in the input.
///
/// JSON lines, CSV and lines are copied byte for byte; the header of CSV stands once. A record that ended
/// its input without a line end gets one if another follows. Of plain files the paths are written, one a
/// line. An output named `.gz` or `.zst` is compressed; `-` is standard output.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    parser: Arc<Parser>,
    options: OutputOptions,
    target: Target,
    /// Texts that could not be read back from the target.
    texts: Option<Texts>,
    line: Vec<u8>,
}

/// What records are written to.
enum Target {
    Lines(LineFile),
    #[cfg(feature = "parquet")]
    Rows(super::parquet::RowWriter),
}

/// A temporary file of texts. It has no name, and goes with the program.
#[derive(Debug)]
struct Texts {
    file: File,
    len_bytes: u64,
}

impl Output {
    /// Makes a new file, or replaces one, for what a reader gives. `-` is standard output.
    ///
    /// # Errors
    /// [`Error::Option`] where the file is one of the reader's inputs, or the format cannot be written
    /// there; [`Error::Io`].
    pub fn create(path: &Path, reader: &Reader, options: OutputOptions) -> Result<Self> {
        if reader.reads(path) {
            return Err(Error::Option(format!("{}: is read, and cannot be written to", path.display())));
        }
        let target = Target::create(path, reader, &options)?;
        let mut output = Self::to_target(path, reader, options, target)?;
        if !reader.header().is_empty() {
            let delimiter = reader.format().delimiter();
            if let Some(field) = &output.options.add_fingerprint
                && names_a_column(reader.header(), delimiter, field)
            {
                return Err(Error::Option(format!("there is a column {field:?} already")));
            }
            output.write_header(reader.header())?;
        }
        Ok(output)
    }

    /// Goes on with a file that was written before: what stands behind `len_bytes` is removed.
    ///
    /// # Errors
    /// [`Error::Option`] where the output is no plain file, compressed, or shorter than that;
    /// [`Error::Io`].
    pub fn open_at(path: &Path, len_bytes: u64, reader: &Reader, options: OutputOptions) -> Result<Self> {
        if reader.format() == Format::Parquet {
            return Err(Error::Option(format!("{}: Parquet cannot be continued", path.display())));
        }
        let lines = LineFile::open_at(path, len_bytes)?;
        Self::to_target(path, reader, options, Target::Lines(lines))
    }

    fn to_target(path: &Path, reader: &Reader, options: OutputOptions, target: Target) -> Result<Self> {
        let format = reader.format();
        if options.add_fingerprint.is_some() && matches!(format, Format::Text | Format::Lines) {
            return Err(Error::Option(format!("{format} has no fields, and so none for a fingerprint")));
        }
        let texts = match &target {
            Target::Lines(lines) if lines.can_be_read() => None,
            _ if options.keep_texts => Some(Texts::new()?),
            _ => None,
        };
        let path = if is_stdout(path) { STDOUT.into() } else { path.to_path_buf() };
        Ok(Self { path, parser: reader.parser().clone(), options, target, texts, line: Vec::new() })
    }

    fn write_header(&mut self, header: &[u8]) -> Result<()> {
        let delimiter = self.parser.format.delimiter();
        self.line.clear();
        match &self.options.add_fingerprint {
            Some(field) => with_cell(header, delimiter, field, &mut self.line),
            None => self.line.extend(header),
        }
        self.write_line().map(drop)
    }

    /// Writes a record. The fingerprint is looked at only where one is to be added.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::DiskFull`].
    pub fn append(&mut self, record: &Record, fingerprint: &dyn Display) -> Result<Span> {
        let written = match &mut self.target {
            #[cfg(feature = "parquet")]
            Target::Rows(rows) => {
                rows.append(&record.content, fingerprint)?;
                Span::NOWHERE
            }
            Target::Lines(_) => {
                self.line.clear();
                match &self.options.add_fingerprint {
                    Some(field) => self.parser.add(record.raw(), field, fingerprint, &mut self.line),
                    None => self.line.extend(record.raw()),
                }
                self.write_line()?
            }
        };
        match &mut self.texts {
            Some(texts) => texts.append(&record.text),
            None => Ok(written),
        }
    }

    fn write_line(&mut self) -> Result<Span> {
        match &mut self.target {
            Target::Lines(lines) => lines.append(&self.line),
            #[cfg(feature = "parquet")]
            Target::Rows(_) => Ok(Span::NOWHERE),
        }
    }

    /// The text of a record that was written.
    ///
    /// # Errors
    /// [`Error::Option`] where texts were not to be kept and the output cannot be read; [`Error::Io`];
    /// [`Error::Input`] where somebody else has changed the output, or a plain file that it names.
    pub fn read_back(&mut self, span: Span) -> Result<String> {
        if let Some(texts) = &self.texts {
            return texts.read(span);
        }
        match &mut self.target {
            Target::Lines(lines) => {
                let line = lines.read(span)?;
                let text = self.parser.text_of_line(line);
                text.map_err(|why| bad(&self.path.display().to_string(), why))
            }
            #[cfg(feature = "parquet")]
            Target::Rows(_) => Err(Error::Option(format!("{}: cannot be read back", self.path.display()))),
        }
    }

    /// Makes everything so far durable, and tells how long the file is now: for
    /// [`open_at`](Self::open_at). Standard output is only flushed, and Parquet is complete when it is
    /// finished, not before.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::DiskFull`].
    pub fn flush_and_sync(&mut self) -> Result<u64> {
        match &mut self.target {
            Target::Lines(lines) => lines.flush_and_sync(),
            #[cfg(feature = "parquet")]
            Target::Rows(_) => Ok(0),
        }
    }

    /// Hands over what was [held back](OutputOptions::hold).
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn release(&mut self) -> Result<()> {
        match &mut self.target {
            Target::Lines(lines) => lines.release(),
            #[cfg(feature = "parquet")]
            Target::Rows(_) => Ok(()),
        }
    }

    /// Writes what ends the file, and makes it durable.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::DiskFull`].
    pub fn finish(self) -> Result<()> {
        match self.target {
            Target::Lines(lines) => lines.finish(),
            #[cfg(feature = "parquet")]
            Target::Rows(rows) => rows.finish(),
        }
    }
}

impl Parser {
    /// A line with a fingerprint in it.
    fn add(&self, line: &[u8], field: &str, fingerprint: &dyn Display, out: &mut Vec<u8>) {
        let fingerprint = fingerprint.to_string();
        match self.format {
            Format::Jsonl => drop(with_member(line, field, &fingerprint, out)),
            _ => with_cell(line, self.format.delimiter(), &fingerprint, out),
        }
    }
}

impl Target {
    #[cfg(feature = "parquet")]
    fn create(path: &Path, reader: &Reader, options: &OutputOptions) -> Result<Self> {
        match reader.rows() {
            Some(_) if Compression::of(path).is_some() => {
                Err(Error::Option(format!("{}: Parquet compresses by itself", path.display())))
            }
            Some(rows) => Ok(Self::Rows(rows.writer(path, options.add_fingerprint.as_deref())?)),
            None => Self::lines(path, options),
        }
    }

    #[cfg(not(feature = "parquet"))]
    fn create(path: &Path, _: &Reader, options: &OutputOptions) -> Result<Self> {
        Self::lines(path, options)
    }

    fn lines(path: &Path, options: &OutputOptions) -> Result<Self> {
        let is_held = options.hold && is_stdout(path);
        Ok(Self::Lines(if is_held { LineFile::held_stdout()? } else { LineFile::create(path)? }))
    }
}

impl Texts {
    fn new() -> Result<Self> {
        let file = tempfile::tempfile().map_err(Error::io("create", "a temporary file"))?;
        Ok(Self { file, len_bytes: 0 })
    }

    fn append(&mut self, text: &str) -> Result<Span> {
        let span = Span { offset: self.len_bytes, len_bytes: text.len() as u64 };
        let written = self.file.write_all_at(text.as_bytes(), span.offset);
        written.map_err(Error::io("write", "a temporary file"))?;
        self.len_bytes += span.len_bytes;
        Ok(span)
    }

    fn read(&self, span: Span) -> Result<String> {
        let bytes = read_span(&self.file, span).map_err(Error::io("read", "a temporary file"))?;
        String::from_utf8(bytes)
            .map_err(|error| Error::io("read", "a temporary file")(io::Error::other(error)))
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Lines(_) => "Lines",
            #[cfg(feature = "parquet")]
            Self::Rows(_) => "Rows",
        })
    }
}
