//! Reads documents from files, one after the other.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::compressed::{Source, bad};
use super::csv::Columns;
use super::inputs::{self, Format, Input};
use super::lines::{Piece, Splitter, without_line_end, without_mark};
#[cfg(feature = "parquet")]
use super::parquet::Rows;
use super::parser::Parser;
use super::record::{Content, Fields, Item, Place, RawRecord};
use crate::error::{Error, Result};

/// How documents are read.
#[derive(Clone, Debug)]
pub struct ReaderOptions {
    /// Where in a record its text and its key are.
    pub fields: Fields,
    /// What the inputs are; by default their extensions tell.
    pub format: Option<Format>,
    /// What standard input is where `format` does not say. By default JSON lines.
    pub stdin_format: Format,
    /// Text is cut where this first occurs.
    pub cut_after: Option<String>,
    /// A longer record, or a longer file that is one document, is bad. By default 256 MiB. It is held
    /// in memory whole.
    pub max_record_bytes: usize,
    /// A file that holds what standard input gave, to be read in its place: for reading it twice.
    pub spooled_stdin: Option<PathBuf>,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self {
            fields: Fields::default(),
            format: None,
            stdin_format: Format::Jsonl,
            cut_after: None,
            max_record_bytes: 256 << 20,
            spooled_stdin: None,
        }
    }
}

/// How far reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Records so far, good and bad.
    pub records: u64,
    /// Bytes read of the inputs as they stand, compressed or not.
    pub bytes: u64,
    /// All bytes of the inputs; `None` where a pipe is among them.
    pub total_bytes: Option<u64>,
}

/// Reads documents from files, folders and standard input, one after the other.
///
/// Paths stand for files, for folders, which are walked in the order of paths without following links,
/// or, if `-`, for standard input. All inputs of one run are of one kind: JSON lines (`.jsonl`,
/// `.ndjson`, `.json`), CSV or TSV with equal headers (`.csv`, `.tsv`), Parquet (`.parquet`), or, with
/// any other extension, files that are one document each. Each of them may be compressed with gzip or
/// Zstandard, which shows in the first bytes, except Parquet, which compresses by itself.
///
/// Records end with a line feed, before which a carriage return belongs to the line end. CSV is quoted
/// as in RFC 4180; TSV too. Empty lines are left out, except where each line is a document. Of JSON
/// members with one name the last one counts.
///
/// Memory: the longest record, and 256 KiB.
pub struct Reader {
    inputs: Vec<Input>,
    waiting: VecDeque<Input>,
    current: Option<Current>,
    parser: Arc<Parser>,
    /// Of CSV, as it stands in the first input.
    header: Vec<u8>,
    /// Of Parquet, that of the first input.
    #[cfg(feature = "parquet")]
    schema: Option<arrow_schema::SchemaRef>,
    max_record_bytes: usize,
    records: u64,
    bytes: Arc<AtomicU64>,
}

/// An input that is being read.
struct Current {
    records: Records,
    name: Arc<str>,
    in_keys: Arc<str>,
    /// Records of this input so far.
    number: u64,
}

enum Records {
    Split(Splitter),
    File(Option<Input>),
    #[cfg(feature = "parquet")]
    Rows(Rows),
}

impl Reader {
    /// Lists the inputs, and opens the first of them.
    ///
    /// # Errors
    /// [`Error::Io`] for a file or folder that cannot be opened, [`Error::Option`] where there is no
    /// file, or files of several kinds, or fields where there can be none; [`Error::Input`] where the
    /// first file is damaged or has no column of a name asked for.
    pub fn open(paths: &[PathBuf], options: ReaderOptions) -> Result<Self> {
        let ReaderOptions {
            fields,
            format,
            stdin_format,
            cut_after: marker,
            max_record_bytes,
            spooled_stdin,
        } = options;
        let inputs = inputs::list(paths, spooled_stdin.as_deref())?;
        let format = inputs::common_format(&inputs, format, stdin_format)?;
        let fieldless = matches!(format, Format::Text | Format::Lines);
        if let Some(field) = fields.key.as_ref().or(fields.value.as_ref()).filter(|_| fieldless) {
            return Err(Error::Option(format!("{format} has no fields, and so no {field:?}")));
        }
        let mut reader = Self {
            waiting: inputs.clone().into(),
            inputs,
            current: None,
            parser: Arc::new(Parser { format, fields, marker, columns: None }),
            header: Vec::new(),
            #[cfg(feature = "parquet")]
            schema: None,
            max_record_bytes,
            records: 0,
            bytes: Arc::default(),
        };
        reader.open_next()?;
        Ok(reader)
    }

    /// The next record, good or bad; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Io`] where a file cannot be read, [`Error::Input`] where its compression or its header
    /// is wrong. The records before that have been given.
    pub fn next_item(&mut self) -> Result<Option<Item>> {
        Ok(self.next_raw()?.map(RawRecord::parse))
    }

    /// The next record, without looking for the fields in it: so cheap that one thread can feed many.
    ///
    /// # Errors
    /// As [`next_item`](Self::next_item).
    pub fn next_raw(&mut self) -> Result<Option<RawRecord>> {
        while let Some(current) = &mut self.current {
            if let Some((line, content)) = current.records.next(self.max_record_bytes, &self.bytes)? {
                if is_blank(&content, self.parser.format) {
                    continue;
                }
                current.number += 1;
                self.records += 1;
                let place = Place { name: current.name.clone(), line };
                let (number, input) = (current.number, current.in_keys.clone());
                return Ok(Some(RawRecord { content, place, number, input, parser: self.parser.clone() }));
            }
            self.open_next()?;
        }
        Ok(None)
    }

    /// Leaves out the next records, good and bad, and tells how many there were. Only their boundaries
    /// are looked for.
    ///
    /// # Errors
    /// As [`next_item`](Self::next_item).
    pub fn skip(&mut self, records: u64) -> Result<u64> {
        for skipped in 0..records {
            if self.next_raw()?.is_none() {
                return Ok(skipped);
            }
        }
        Ok(records)
    }

    /// All inputs: folders stand for the files in them.
    #[must_use]
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// What the inputs are.
    #[must_use]
    pub fn format(&self) -> Format {
        self.parser.format
    }

    /// How far reading has come. It runs ahead of the records by what is in buffers.
    #[must_use]
    pub fn position(&self) -> Position {
        let total_bytes = self.inputs.iter().map(|input| input.size_bytes).sum();
        Position { records: self.records, bytes: self.bytes.load(Ordering::Relaxed), total_bytes }
    }

    /// Whether a file is among the inputs, by whatever name.
    #[must_use]
    pub fn reads(&self, path: &Path) -> bool {
        let identity = |path: &Path| path.metadata().ok().map(|file| (file.dev(), file.ino()));
        let wanted = identity(path);
        let same = |input: &Input| !input.is_stdin() && identity(&input.path) == wanted;
        wanted.is_some() && self.inputs.iter().any(same)
    }

    /// Refuses outputs that would destroy an input or each other: each is the name of an option, and a path.
    ///
    /// # Errors
    /// [`Error::Option`].
    pub fn check_outputs<'a>(&self, outputs: impl IntoIterator<Item = (&'a str, &'a Path)>) -> Result<()> {
        let mut known: Vec<(PathBuf, &str)> = Vec::new();
        for (name, path) in outputs {
            if self.reads(path) {
                return Err(Error::Option(format!(
                    "{name} {}: is read, and cannot be written to",
                    path.display()
                )));
            }
            // Devices take whatever comes from whomever.
            if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
                continue;
            }
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize();
            let whole =
                path.canonicalize().or_else(|_| Ok(folder?.join(path.file_name().unwrap_or_default())));
            let whole = if path == Path::new("-") {
                path.to_path_buf()
            } else {
                whole.map_err(Error::io("open", path))?
            };
            if let Some((_, other)) = known.iter().find(|(known, _)| *known == whole) {
                return Err(Error::Option(format!(
                    "{other} and {name} are the same file, {}",
                    path.display()
                )));
            }
            known.push((whole, name));
        }
        Ok(())
    }

    pub(super) fn parser(&self) -> &Arc<Parser> {
        &self.parser
    }

    pub(super) fn header(&self) -> &[u8] {
        &self.header
    }

    #[cfg(feature = "parquet")]
    pub(super) fn rows(&self) -> Option<&Rows> {
        match self.current.as_ref().map(|current| &current.records) {
            Some(Records::Rows(rows)) => Some(rows),
            _ => None,
        }
    }

    fn open_next(&mut self) -> Result<()> {
        self.current = None;
        let Some(input) = self.waiting.pop_front() else { return Ok(()) };
        let (name, in_keys) = (input.name(), input.in_keys());
        let records = match self.parser.format {
            Format::Text => Records::File(Some(input)),
            Format::Parquet => self.open_parquet(&input)?,
            format => {
                let delimiter = matches!(format, Format::Csv | Format::Tsv).then(|| format.delimiter());
                let source = Source::open(&input, &self.bytes)?;
                let mut splitter = Splitter::new(source, delimiter, self.max_record_bytes);
                if let Some(delimiter) = delimiter {
                    self.read_header(&mut splitter, delimiter, &name)?;
                }
                Records::Split(splitter)
            }
        };
        self.current = Some(Current { records, name, in_keys, number: 0 });
        Ok(())
    }

    #[cfg(feature = "parquet")]
    fn open_parquet(&mut self, input: &Input) -> Result<Records> {
        let rows = Rows::open(input, &self.parser.fields)?;
        let schema = self.schema.get_or_insert_with(|| rows.schema().clone());
        if schema.fields() != rows.schema().fields() {
            let first = self.inputs[0].name();
            return Err(bad(&input.name(), format!("its columns are not those of {first}")));
        }
        Ok(Records::Rows(rows))
    }

    #[cfg(not(feature = "parquet"))]
    fn open_parquet(&self, input: &Input) -> Result<Records> {
        Err(bad(&input.name(), "this program was built without Parquet".into()))
    }

    fn read_header(&mut self, splitter: &mut Splitter, delimiter: u8, name: &str) -> Result<()> {
        let place = || format!("{name}:1");
        let header = match splitter.next()? {
            None => return Err(bad(&place(), "no header".into())),
            Some(Piece::Broken(_, why)) => return Err(bad(&place(), why)),
            Some(Piece::Record(header)) => header,
        };
        let bare = |header| without_mark(without_line_end(header));
        if self.header.is_empty() {
            let columns = Columns::new(header, delimiter, &self.parser.fields, name)?;
            self.header = header.to_vec();
            self.parser = Arc::new(Parser { columns: Some(columns), ..(*self.parser).clone() });
        } else if bare(header) != bare(&self.header) {
            let first = self.inputs[0].name();
            return Err(bad(&place(), format!("its header is not that of {first}")));
        }
        Ok(())
    }
}

impl Records {
    /// The next record and its line.
    fn next(&mut self, max_bytes: usize, count: &Arc<AtomicU64>) -> Result<Option<(u64, Content)>> {
        match self {
            Self::Split(splitter) => {
                let line = splitter.line();
                Ok(splitter.next()?.map(|piece| (line, piece.into())))
            }
            Self::File(input) => match input.take() {
                Some(input) => Ok(Some((1, read_file(&input, max_bytes, count)?))),
                None => Ok(None),
            },
            #[cfg(feature = "parquet")]
            Self::Rows(rows) => Ok(rows.next(count)?.map(|(number, row)| (number, Content::Row(row)))),
        }
    }
}

impl From<Piece<'_>> for Content {
    fn from(piece: Piece<'_>) -> Self {
        match piece {
            Piece::Record(bytes) => Self::Bytes(bytes.to_vec()),
            Piece::Broken(bytes, reason) => Self::Broken { bytes: bytes.to_vec(), reason },
        }
    }
}

/// Reads a file that is one document.
pub(super) fn read_file(input: &Input, max_bytes: usize, count: &Arc<AtomicU64>) -> Result<Content> {
    let mut line = input.path.as_os_str().as_bytes().to_vec();
    line.push(b'\n');
    if line[..line.len() - 1].contains(&b'\n') {
        let reason = "a line feed in the name, which no list of paths can hold".into();
        return Ok(Content::Broken { bytes: line, reason });
    }
    let bytes = Source::open(input, count)?.read_all(max_bytes)?;
    Ok(match bytes {
        Some(bytes) => Content::File { line, bytes },
        None => Content::Broken { bytes: line, reason: format!("a document of more than {max_bytes} bytes") },
    })
}

fn is_blank(content: &Content, format: Format) -> bool {
    match (content, format) {
        (Content::Bytes(bytes), Format::Jsonl) => bytes.trim_ascii().is_empty(),
        (Content::Bytes(bytes), Format::Csv | Format::Tsv) => without_line_end(bytes).is_empty(),
        _ => false,
    }
}
