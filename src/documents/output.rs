//! Writes documents as they were read.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::compressed::{Compression, Sink, bad};
use super::csv::with_cell;
use super::inputs::Format;
use super::json::with_member;
use super::parser::Parser;
use super::reader::Reader;
use super::record::Record;
use crate::error::{Error, Result};

/// What stands in messages for standard output.
pub(super) const STDOUT: &str = "standard output";
/// Bytes written at once.
const BUFFER_BYTES: usize = 1 << 18;

/// How documents are written.
#[derive(Clone, Debug, Default)]
pub struct OutputOptions {
    /// Each record gets its fingerprint as a last field of this name. A field of this name that is there
    /// already stays.
    pub add_fingerprint: Option<String>,
    /// Texts will be [read back](Output::read_back). They are kept in a temporary file where the output
    /// itself cannot be read: standard output, compressed files, Parquet.
    pub keep_texts: bool,
}

/// Where a record stands, for [`Output::read_back`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first byte.
    pub offset: u64,
    /// Its length.
    pub len_bytes: u64,
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
    Lines(Lines),
    #[cfg(feature = "parquet")]
    Rows(super::parquet::RowWriter),
}

/// A stream of bytes.
struct Lines {
    sink: Sink<BufWriter<Box<dyn Write + Send>>>,
    /// The same file again, where it is one.
    file: Option<File>,
    /// Bytes given so far, before compression.
    len_bytes: u64,
    /// Whether the last byte ends a line.
    at_line_start: bool,
    folder_synced: bool,
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
        let refused = |why: &str| Error::Option(format!("{}: {why}", path.display()));
        if is_stdout(path) || Compression::of(path).is_some() || reader.format() == Format::Parquet {
            return Err(refused("only a plain file that is not compressed can be continued"));
        }
        let failed = |action| Error::io(action, path);
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(failed("open"))?;
        if file.metadata().map_err(failed("open"))?.len() < len_bytes {
            return Err(refused(&format!("is shorter than the {len_bytes} bytes that were written to it")));
        }
        file.set_len(len_bytes).map_err(failed("truncate"))?;
        let lines = Lines::at(file, len_bytes).map_err(failed("read"))?;
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
            Target::Lines(lines) => lines.write(&self.line).map_err(Error::io("write", &self.path)),
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
        let path = &self.path;
        let failed = || Error::io("read", path);
        let line = match &mut self.target {
            Target::Lines(lines) if lines.can_be_read() => lines.read(span).map_err(failed())?,
            _ => return Err(Error::Option(format!("{}: cannot be read back", path.display()))),
        };
        self.parser.text_of_line(line).map_err(|why| bad(&path.display().to_string(), why))
    }

    /// Makes everything so far durable, and tells how long the file is now: for
    /// [`open_at`](Self::open_at). Standard output is only flushed, and Parquet is complete when it is
    /// finished, not before.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::DiskFull`].
    pub fn flush_and_sync(&mut self) -> Result<u64> {
        match &mut self.target {
            Target::Lines(lines) => {
                lines.sync(&self.path).map_err(Error::io("write", &self.path))?;
                Ok(lines.len_bytes)
            }
            #[cfg(feature = "parquet")]
            Target::Rows(_) => Ok(0),
        }
    }

    /// Writes what ends the file, and makes it durable.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::DiskFull`].
    pub fn finish(self) -> Result<()> {
        match self.target {
            Target::Lines(mut lines) => lines
                .sync_folder(&self.path)
                .and_then(|()| lines.finish())
                .map_err(Error::io("write", &self.path)),
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
            None => Ok(Self::Lines(Lines::create(path)?)),
        }
    }

    #[cfg(not(feature = "parquet"))]
    fn create(path: &Path, _: &Reader, _: &OutputOptions) -> Result<Self> {
        Ok(Self::Lines(Lines::create(path)?))
    }
}

impl Lines {
    fn create(path: &Path) -> Result<Self> {
        if is_stdout(path) {
            let sink =
                Sink::new(buffered(Box::new(io::stdout())), None).map_err(Error::io("write", STDOUT))?;
            return Ok(Self { sink, file: None, len_bytes: 0, at_line_start: true, folder_synced: true });
        }
        let failed = || Error::io("create", path);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(path).map_err(failed())?;
        let again = file.try_clone().map_err(failed())?;
        let sink = Sink::new(buffered(Box::new(again)), Compression::of(path)).map_err(failed())?;
        Ok(Self { sink, file: Some(file), len_bytes: 0, at_line_start: true, folder_synced: false })
    }

    /// Goes on at the end of a file.
    fn at(mut file: File, len_bytes: u64) -> io::Result<Self> {
        io::Seek::seek(&mut file, io::SeekFrom::Start(len_bytes))?;
        let mut last = *b"\n";
        if let Some(offset) = len_bytes.checked_sub(1) {
            file.read_exact_at(&mut last, offset)?;
        }
        let sink = Sink::Plain(buffered(Box::new(file.try_clone()?)));
        let at_line_start = last == *b"\n";
        Ok(Self { sink, file: Some(file), len_bytes, at_line_start, folder_synced: false })
    }

    fn can_be_read(&self) -> bool {
        // What is no regular file, a named pipe say, cannot be read where it is written.
        let regular = |file: &File| file.metadata().is_ok_and(|metadata| metadata.is_file());
        matches!(self.sink, Sink::Plain(_)) && self.file.as_ref().is_some_and(regular)
    }

    fn write(&mut self, line: &[u8]) -> io::Result<Span> {
        if !self.at_line_start {
            self.sink.write_all(b"\n")?;
            self.len_bytes += 1;
        }
        self.sink.write_all(line)?;
        let span = Span { offset: self.len_bytes, len_bytes: line.len() as u64 };
        self.len_bytes += span.len_bytes;
        self.at_line_start = line.last() == Some(&b'\n');
        Ok(span)
    }

    fn read(&mut self, span: Span) -> io::Result<Vec<u8>> {
        let held = self.sink.get_ref().buffer().len() as u64;
        if span.offset + span.len_bytes > self.len_bytes - held {
            self.sink.flush()?;
        }
        match &self.file {
            Some(file) => read_span(file, span),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn sync(&mut self, path: &Path) -> io::Result<()> {
        self.sink.flush()?;
        if let Some(file) = &self.file {
            sync_file(file)?;
        }
        self.sync_folder(path)
    }

    /// Makes the name of a new file durable.
    fn sync_folder(&mut self, path: &Path) -> io::Result<()> {
        if std::mem::replace(&mut self.folder_synced, true) {
            return Ok(());
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }

    fn finish(self) -> io::Result<()> {
        self.sink.finish()?.flush()?;
        self.file.as_ref().map_or(Ok(()), sync_file)
    }
}

/// Makes a file durable; pipes and devices that know no such thing are left alone.
pub(super) fn sync_file(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.sync_all() } else { Ok(()) }
}

fn buffered(inner: Box<dyn Write + Send>) -> BufWriter<Box<dyn Write + Send>> {
    BufWriter::with_capacity(BUFFER_BYTES, inner)
}

pub(super) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

fn read_span(file: &File, span: Span) -> io::Result<Vec<u8>> {
    let len = usize::try_from(span.len_bytes).map_err(io::Error::other)?;
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, span.offset)?;
    Ok(bytes)
}

impl Texts {
    fn new() -> Result<Self> {
        let folder = std::env::temp_dir();
        let failed = || Error::io("create a temporary file in", &folder);
        let number = getrandom::u64().map_err(|error| failed()(io::Error::other(error.to_string())))?;
        let path = folder.join(format!("nearprint-{number:016x}"));
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(&path).map_err(failed())?;
        std::fs::remove_file(&path).map_err(failed())?;
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
