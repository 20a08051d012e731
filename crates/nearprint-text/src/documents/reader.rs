//! Reads the records of all inputs in order.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(feature = "parquet")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use nearprint::internal::file;

use super::common_format::{common_format, settle_records};
use super::conversion::Conversion;
use super::csv::{CsvColumns, Header};
use super::delimiter::Delimiter;
use super::escape::escape;
use super::fields::Fields;
use super::folder::{FolderRules, LeftOut};
use super::format::Format;
use super::input_bytes::InputBytes;
use super::input_file::{self, InputFile};
use super::json_values::{JsonHead, JsonValues};
use super::kind::{Encoding, Records};
use super::lines::{Piece, Splitter, check_first_line, check_header, without_line_end, without_mark};
#[cfg(feature = "parquet")]
use super::parquet::{ParquetReader, ParquetShape};
use super::parser::{Parser, RawRecord};
use super::preprocessor::{Decoding, Preprocessing};
use super::record::{Content, Item, Place, Spot};
use super::stdin::StdinSource;
use crate::error::{Error, InputSetProblem, Result};

/// How documents are read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReaderOptions {
    /// The fields of a record.
    pub fields: Fields,
    /// The format of all inputs; by default the one that their extensions denote.
    pub format: Option<Format>,
    /// The format of standard input without `format`. By default JSON lines.
    pub stdin_format: Format,
    /// The encoding of all inputs; by default, each file tells its own one.
    pub encoding: Option<Encoding>,
    /// What stands between the cells of CSV and TSV. By default, the header of the first table tells: a comma, and in
    /// TSV a tab, if the header then has the columns of [`fields`](Self::fields); otherwise the only one among comma,
    /// tab, semicolon and bar with which it has them. Has no meaning for other formats.
    pub delimiter: Option<Delimiter>,
    /// The program that writes the texts of files which are documents; by default none.
    pub pre: Preprocessing,
    /// The longest record in bytes; a longer one is bad. By default 256 MiB. Records are held in
    /// memory.
    pub max_record_bytes: usize,
    /// Which files of folders are documents.
    pub folder: FolderRules,
    /// Reads a file as often as it is named, for comparisons of a file with itself. By default, a file is read once,
    /// under the first of its names.
    pub repeats: bool,
    /// Whether a file that cannot be read, or not to its end, is a bad record, after which the next file is read. By
    /// default it is an error.
    pub rejects_files: bool,
    pub(crate) stdin: StdinSource,
    /// The places of the inputs that have a record, in ascending order, where documents are files: no file is read, and
    /// each of these records has its path alone.
    pub(crate) listed: Option<Arc<[usize]>>,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self {
            fields: Fields::default(),
            format: None,
            stdin_format: Format::Jsonl,
            encoding: None,
            delimiter: None,
            pre: Preprocessing::default(),
            max_record_bytes: 256 << 20,
            folder: FolderRules::default(),
            repeats: false,
            rejects_files: false,
            stdin: StdinSource::Stream,
            listed: None,
        }
    }
}

/// The position of a [`Reader`] in its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// Records read so far, bad ones included.
    pub records: u64,
    /// Bytes read so far, before decompression.
    pub bytes: u64,
    /// The bytes of all inputs; `None` with a pipe among them.
    pub total_bytes: Option<u64>,
}

/// Reads the records of files, folders and standard input in order.
///
/// A path is a file, a folder, or `-` for standard input. A folder denotes the files below it that its
/// [rules](FolderRules) choose, in the order of their paths; links in it are not followed. All inputs have one format,
/// which [`look_at`](super::look_at) finds: JSON lines or an array, CSV or TSV with equal headers, Parquet; any other
/// file is one document. A folder is records if all its files are, apart from hidden ones, those that begin with `_`,
/// and README or the like, which are left out. In a folder with other files, each is one document. Any input except
/// Parquet may be compressed with gzip, Zstandard, bzip2 or xz; its first bytes denote the compression.
///
/// Files that are no text are [left out](Self::left_out), and in folders also those that are empty, too large or
/// unreadable. Texts are decoded as [`decode`](super::decode) says, records of texts as UTF-8 unless they begin with a
/// byte order mark, or a table is in another encoding.
///
/// A record ends with a line feed, or a carriage return and a line feed. CSV and TSV are quoted as
/// in RFC 4180. Empty lines are skipped, except in [`Format::Lines`]. The last of several JSON
/// members with one name counts.
///
/// Memory: the longest record, and 256 KiB.
pub struct Reader {
    inputs: Vec<InputFile>,
    /// What the listing has left out.
    listed_without: LeftOut,
    /// The same, with what reading has left out so far.
    left_out: LeftOut,
    waiting: VecDeque<InputFile>,
    /// Records that were read ahead.
    ahead: VecDeque<RawRecord>,
    current: Option<Current>,
    parser: Arc<Parser>,
    /// Whether a format was given, so that no file is looked at for one.
    is_format_given: bool,
    /// Of CSV: the header of the first input, with its line end, and its encoding if that is not UTF-8.
    header: Vec<u8>,
    header_encoding: Option<Encoding>,
    max_record_bytes: usize,
    decoding: Decoding,
    /// Of Parquet: what was found out about the columns of all inputs.
    #[cfg(feature = "parquet")]
    shape: OnceLock<ParquetShape>,
    /// See [`ReaderOptions::rejects_files`].
    rejects_files: bool,
    /// The files that were rejected, and not returned yet.
    rejected: VecDeque<RawRecord>,
    /// See [`ReaderOptions::delimiter`].
    delimiter: Option<Delimiter>,
    /// See [`ReaderOptions::listed`].
    listed: Option<Arc<[usize]>>,
    records: u64,
    bytes: Arc<AtomicU64>,
}

/// The input that is read now.
struct Current {
    records: RecordSource,
    input: InputFile,
    name: Arc<str>,
    in_keys: Arc<str>,
    /// The place among all inputs.
    source: usize,
    /// Records of this input so far.
    number: u64,
}

/// The records of one input.
enum RecordSource {
    Split(Splitter),
    Values(JsonValues),
    File(Option<InputFile>),
    /// A file that is not read.
    Path(Option<InputFile>),
    #[cfg(feature = "parquet")]
    Rows(ParquetReader),
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("inputs", &self.inputs.len()).finish_non_exhaustive()
    }
}

impl Reader {
    /// Lists the inputs, and opens the first one.
    ///
    /// # Errors
    /// [`Error::Engine`] if a file or folder cannot be opened; [`Error::InputSet`] if there is no
    /// path, if the files have different formats, or if a format without fields is to have some;
    /// [`Error::Input`] if the first file is damaged or lacks a column.
    pub fn open(paths: &[PathBuf], options: ReaderOptions) -> Result<Self> {
        if paths.is_empty() {
            return Err(InputSetProblem::Empty.into());
        }
        let (mut inputs, mut left_out) =
            input_file::list(paths, &options.folder, &options.stdin, options.repeats)?;
        if options.format.is_none() {
            let decoding = Decoding::new(options.encoding, &options.pre)?;
            settle_records(&mut inputs, &mut left_out, &decoding);
        }
        Self::of_files(inputs, left_out, options)
    }

    /// Reads the same files again, from the beginning: not what has come into their folders since.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn again(&self, options: ReaderOptions) -> Result<Self> {
        let mut inputs = self.inputs.clone();
        for input in inputs.iter_mut().filter(|input| input.is_stdin()) {
            input.stdin = options.stdin.clone();
        }
        let mut again = Self::of_files(inputs, self.listed_without.clone(), options)?;
        self.parser.conversion.iter().for_each(|conversion| again.convert(conversion.clone()));
        Ok(again)
    }

    fn of_files(inputs: Vec<InputFile>, left_out: LeftOut, options: ReaderOptions) -> Result<Self> {
        let ReaderOptions {
            fields,
            format,
            stdin_format,
            encoding,
            delimiter,
            pre,
            max_record_bytes,
            rejects_files,
            listed,
            ..
        } = options;
        let is_format_given = format.is_some();
        let format = common_format(&inputs, format, stdin_format)?;
        let text = Some(&fields.text).filter(|text| **text != Fields::default().text);
        let field = text.or(fields.key.as_ref()).or(fields.value.as_ref());
        if let Some(field) = field.filter(|_| !format.has_fields() && !inputs.is_empty()) {
            let field = field.clone();
            return Err(InputSetProblem::NoFields { format: format.name(), field }.into());
        }
        let mut reader = Self {
            waiting: inputs.clone().into(),
            inputs,
            listed_without: left_out.clone(),
            left_out,
            current: None,
            parser: Arc::new(Parser { format, fields, encoding: None, columns: None, conversion: None }),
            ahead: VecDeque::new(),
            is_format_given,
            header: Vec::new(),
            header_encoding: None,
            max_record_bytes,
            decoding: Decoding::new(encoding, &pre)?,
            #[cfg(feature = "parquet")]
            shape: OnceLock::new(),
            rejects_files,
            rejected: VecDeque::new(),
            delimiter,
            listed,
            records: 0,
            bytes: Arc::default(),
        };
        reader.open_next()?;
        Ok(reader)
    }

    /// The next record, parsed; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Engine`] if a file cannot be read, [`Error::Input`] if its compression is damaged
    /// or its header differs. Earlier calls have returned the records before that.
    pub fn next_item(&mut self) -> Result<Option<Item>> {
        Ok(self.next_raw()?.map(RawRecord::parse))
    }

    /// The next record, not yet parsed; `None` at the end. Cheap enough for one thread to supply
    /// many.
    ///
    /// # Errors
    /// As [`next_item`](Self::next_item).
    pub fn next_raw(&mut self) -> Result<Option<RawRecord>> {
        match self.ahead.pop_front() {
            Some(raw) => Ok(Some(raw)),
            None => self.read_raw(),
        }
    }

    /// Reads records ahead, at most so many with so many bytes together, and calls `visit` with each that is a line.
    pub(super) fn look_ahead(
        &mut self,
        (max_records, max_bytes): (usize, usize),
        mut visit: impl FnMut(&str),
    ) -> Result<()> {
        let mut num_bytes = 0;
        while self.ahead.len() < max_records
            && num_bytes < max_bytes
            && let Some(raw) = self.read_raw()?
        {
            num_bytes += raw.len_bytes();
            self.ahead.push_back(raw);
        }
        self.ahead.iter().filter_map(RawRecord::line).for_each(|line| visit(&line));
        Ok(())
    }

    /// The next record, which the next call reads, too: the inputs may be pipes.
    pub(crate) fn peek_item(&mut self) -> Result<Option<Item>> {
        self.look_ahead((1, usize::MAX), |_| ())?;
        Ok(self.ahead.front().cloned().map(RawRecord::parse))
    }

    /// Takes records that are no rows of another format for bad ones, also those that were read ahead.
    pub(super) fn convert(&mut self, conversion: Arc<Conversion>) {
        let parser = Parser { conversion: Some(conversion), ..(*self.parser).clone() };
        self.parser = Arc::new(parser);
        for raw in &mut self.ahead {
            let encoding = raw.parser.encoding;
            raw.parser = match encoding == self.parser.encoding {
                true => self.parser.clone(),
                false => Arc::new(Parser { encoding, ..(*self.parser).clone() }),
            };
        }
    }

    /// Adds to what was found out about the inputs.
    pub(super) fn note(&mut self, note: String) {
        self.left_out.notes.push(note);
    }

    fn read_raw(&mut self) -> Result<Option<RawRecord>> {
        loop {
            if let Some(rejected) = self.rejected.pop_front() {
                self.records += 1;
                return Ok(Some(rejected));
            }
            let Some(current) = &mut self.current else { return Ok(None) };
            let limits = (self.max_record_bytes, &self.decoding);
            let mut next = current.records.next(limits, &self.bytes, &mut self.left_out);
            if let Ok(Some((Some(1), Content::Bytes(line)))) = &mut next
                && self.parser.format == Format::Lines
                && let Err(reason) = check_first_line(line)
            {
                let bytes = std::mem::take(line);
                next = Ok(Some((Some(1), Content::Broken { bytes, reason })));
            }
            match next {
                Ok(Some((line, content))) if is_blank(line, &content, &self.parser) => {}
                Ok(Some((line, content))) => {
                    current.number += 1;
                    self.records += 1;
                    let number = current.number;
                    let spot = line.map_or(Spot::Record(number), Spot::Line);
                    let place = Place { name: current.name.clone(), spot };
                    let (source, input, parser) =
                        (current.source, current.in_keys.clone(), self.parser.clone());
                    #[cfg(feature = "parquet")]
                    let content = match content {
                        Content::Row { row, .. } if self.inputs.len() > 1 => {
                            Content::Row { row, line: format!("{}:{number}\n", place.name).into_bytes() }
                        }
                        Content::Row { row, .. } => {
                            Content::Row { row, line: format!("{number}\n").into_bytes() }
                        }
                        other => other,
                    };
                    return Ok(Some(RawRecord { content, place, number, input, source, parser }));
                }
                Ok(None) => self.open_next()?,
                Err(error) => {
                    let (input, source) = (current.input.clone(), current.source);
                    self.reject_file(error, &input, source)?;
                    self.open_next()?;
                }
            }
        }
    }

    /// Makes a bad record of a file that cannot be read, or not to its end.
    ///
    /// # Errors
    /// The same one, if it ends the run.
    fn reject_file(&mut self, error: Error, input: &InputFile, source: usize) -> Result<()> {
        if !self.rejects_files {
            return Err(error);
        }
        let reason = match &error {
            Error::Input { why, .. } => why.clone(),
            other => other.to_string(),
        };
        self.left_out.add_rejected(error)?;
        self.rejected.push_back(RawRecord {
            content: Content::broken(input, reason),
            place: Place { name: input.name(), spot: Spot::File },
            number: 0,
            input: input.in_keys(),
            source,
            parser: self.parser.clone(),
        });
        Ok(())
    }

    /// Skips records, bad ones included, without parsing them. Returns their number, which is
    /// smaller than requested at the end.
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

    /// All input files, those in folders included.
    #[must_use]
    pub fn inputs(&self) -> &[InputFile] {
        &self.inputs
    }

    /// What was found in folders so far, and is no document.
    #[must_use]
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// The format of the inputs.
    #[must_use]
    pub fn format(&self) -> Format {
        self.parser.format
    }

    /// The current position. Its bytes include what is still in buffers.
    #[must_use]
    pub fn position(&self) -> Position {
        let total_bytes = self.inputs.iter().map(|input| input.size_bytes).sum();
        let records = self.records - self.ahead.len() as u64;
        Position { records, bytes: self.bytes.load(Ordering::Relaxed), total_bytes }
    }

    /// Whether a file is one of the inputs, under the same name or another.
    #[must_use]
    pub fn reads(&self, path: &Path) -> bool {
        let identity = |path: &Path| file::identity_of(path).ok();
        let wanted = identity(path);
        let same = |input: &InputFile| !input.is_stdin() && identity(&input.path) == wanted;
        wanted.is_some() && self.inputs.iter().any(same)
    }

    pub(super) fn parser(&self) -> &Arc<Parser> {
        &self.parser
    }

    pub(super) fn header(&self) -> Header<'_> {
        Header { line: &self.header, delimiter: self.parser.delimiter(), encoding: self.header_encoding }
    }

    /// The columns of all Parquet inputs, united by name, and the compression of the current one.
    ///
    /// # Errors
    /// [`Error::Output`] if a column has two types that no column can have; those of opening the files.
    #[cfg(feature = "parquet")]
    pub(super) fn parquet(&self) -> Result<Option<ParquetShape>> {
        let Some(Current { records: RecordSource::Rows(rows), .. }) = &self.current else { return Ok(None) };
        let shape = match self.shape.get() {
            Some(shape) => shape.clone(),
            None => ParquetShape::of(rows, &self.inputs, self.rejects_files)?,
        };
        Ok(Some(self.shape.get_or_init(|| shape).clone()))
    }

    /// Opens the next input that has a record or a header.
    fn open_next(&mut self) -> Result<()> {
        self.current = None;
        while let Some(input) = self.waiting.pop_front() {
            let (name, in_keys) = (input.name(), input.in_keys());
            let source = self.inputs.len() - self.waiting.len() - 1;
            match self.records(input.clone(), source) {
                Ok(None) => {}
                Ok(Some(records)) => {
                    self.current = Some(Current { records, input, name, in_keys, source, number: 0 });
                    break;
                }
                Err(error) => self.reject_file(error, &input, source)?,
            }
        }
        Ok(())
    }

    /// The records of an input. `None` for a table without a byte, as exports write of a part without rows.
    fn records(&mut self, input: InputFile, source: usize) -> Result<Option<RecordSource>> {
        Ok(Some(match self.parser.format {
            Format::Text => match &self.listed {
                Some(listed) => RecordSource::Path(listed.binary_search(&source).is_ok().then_some(input)),
                None => RecordSource::File(Some(input)),
            },
            Format::Parquet if input.size_bytes == Some(0) => return Ok(None),
            Format::Parquet => self.open_parquet(&input)?,
            Format::Jsonl if !self.is_format_given && input.records == Some(Records::Json) => {
                let head = JsonHead::read(self.open_text(&input)?)?;
                let max = self.max_record_bytes;
                let lines = |(read, source)| RecordSource::Split(Splitter::after(read, source, None, max));
                head.values(self.parser.encoding, max).map_or_else(lines, RecordSource::Values)
            }
            format => {
                let bytes = self.open_text(&input)?;
                let mut splitter = Splitter::new(bytes, None, self.max_record_bytes);
                if let Some(usual) = format.delimiter() {
                    let delimiter = self.find_delimiter(&mut splitter, usual, &input)?;
                    splitter.set_delimiter(delimiter);
                    if !self.read_header(&mut splitter, delimiter, &input.name())? {
                        return Ok(None);
                    }
                }
                RecordSource::Split(splitter)
            }
        }))
    }

    /// Opens an input of records that are texts. JSON is UTF-8 unless something says otherwise.
    fn open_text(&mut self, input: &InputFile) -> Result<InputBytes> {
        let guesses = self.parser.format != Format::Jsonl;
        let (bytes, encoding) =
            InputBytes::open(input, &self.bytes)?.with_encoding(self.decoding.encoding, guesses)?;
        self.left_out.count_encoding(encoding.map(Encoding::name));
        let encoding = encoding.filter(|encoding| encoding.is_ascii_compatible());
        self.parser = self.parser.with_encoding(encoding);
        Ok(bytes)
    }

    #[cfg(feature = "parquet")]
    fn open_parquet(&self, input: &InputFile) -> Result<RecordSource> {
        Ok(RecordSource::Rows(ParquetReader::open(input, &self.parser.fields)?))
    }

    #[cfg(not(feature = "parquet"))]
    fn open_parquet(&self, input: &InputFile) -> Result<RecordSource> {
        Err(Error::input(&*input.name(), "this program was built without Parquet"))
    }

    /// What stands between the cells of a table: as in the table before it, else what was given, else what its header
    /// tells.
    fn find_delimiter(&mut self, splitter: &mut Splitter, usual: Delimiter, input: &InputFile) -> Result<u8> {
        if let Some(columns) = &self.parser.columns {
            return Ok(columns.delimiter());
        }
        // In some encodings, a byte of ASCII may be a part of another character.
        let encoding = self.parser.encoding;
        let is_alone = |found: &Delimiter| encoding.is_none_or(|encoding| encoding.is_alone(found.byte()));
        if let Some(given) = self.delimiter {
            return match is_alone(&given) {
                true => Ok(given.byte()),
                false => {
                    Err(Error::input(&*input.name(), "its encoding has this delimiter in other characters"))
                }
            };
        }
        let mut found = Vec::new();
        for delimiter in usual.and_others().filter(is_alone) {
            let line = splitter.header(delimiter.byte())?;
            let header = Header { line, delimiter: delimiter.byte(), encoding };
            if CsvColumns::new(header, &self.parser.fields, "").is_ok() {
                if delimiter == usual {
                    return Ok(usual.byte());
                }
                found.push(delimiter);
            }
        }
        let &[found] = &*found else { return Ok(usual.byte()) };
        self.left_out.notes.push(format!("{}: fields separated by {found}", escape(&input.name())));
        Ok(found.byte())
    }

    /// Fails if a delimiter was given, and there are no cells.
    ///
    /// # Errors
    /// [`InputSetProblem::NoCells`].
    pub fn check_delimiter(&self) -> Result<()> {
        match self.delimiter.filter(|_| !self.is_table() && !self.inputs.is_empty()) {
            Some(_) => Err(InputSetProblem::NoCells { format: self.format().name() }.into()),
            None => Ok(()),
        }
    }

    /// Whether the records have cells.
    #[must_use]
    pub fn is_table(&self) -> bool {
        self.format().delimiter().is_some()
    }

    /// Reads the header of a table. Returns whether there is one; an empty table has none.
    fn read_header(&mut self, splitter: &mut Splitter, delimiter: u8, name: &str) -> Result<bool> {
        let place = || format!("{name}:1");
        let line = match splitter.next()? {
            None => return Ok(false),
            Some(Piece::Broken(_, why)) => return Err(Error::input(place(), why)),
            Some(Piece::Record(line)) if without_mark(line).is_empty() => return Ok(false),
            Some(Piece::Record(line)) => line,
        };
        check_header(line).map_err(|why| Error::input(place(), why))?;
        let header = Header { line, delimiter, encoding: self.parser.encoding };
        let first = Header { line: &self.header, delimiter, encoding: self.header_encoding };
        if self.header.is_empty() {
            let columns = CsvColumns::new(header, &self.parser.fields, name)?;
            (self.header, self.header_encoding) = (line.to_vec(), header.encoding);
            self.parser = Arc::new(Parser { columns: Some(columns), ..(*self.parser).clone() });
        } else if !header.is_as(first) {
            let names = first.names();
            let first = self.inputs[0].name();
            let is_separated =
                |other: &Delimiter| Header { delimiter: other.byte(), ..header }.names() == names;
            let why = match Delimiter::COMMA.and_others().find(is_separated) {
                Some(other) => format!("its fields are separated by {other}, but those of {first} are not"),
                None => format!("its header differs from {first}"),
            };
            return Err(Error::input(place(), why));
        }
        Ok(true)
    }
}

impl RecordSource {
    /// The next record and its line, if records have lines.
    fn next(
        &mut self,
        limits: (usize, &Decoding),
        count: &Arc<AtomicU64>,
        left_out: &mut LeftOut,
    ) -> Result<Option<(Option<u64>, Content)>> {
        match self {
            Self::Split(splitter) => {
                let line = splitter.line();
                Ok(splitter.next()?.map(|piece| (Some(line), piece.into())))
            }
            Self::Values(values) => {
                let has_lines = !values.are_in_array();
                Ok(values.next()?.map(|(line, piece)| (has_lines.then_some(line), piece.into())))
            }
            Self::File(input) => {
                let Some(input) = input.take() else { return Ok(None) };
                let found = Content::of_file(&input, limits, count, left_out)?;
                Ok(found.map(|content| (Some(1), content)))
            }
            Self::Path(input) => Ok(input.take().map(|input| (Some(1), Content::of_path(&input)))),
            #[cfg(feature = "parquet")]
            Self::Rows(rows) => {
                Ok(rows.next_counted(count)?.map(|(_, row)| (None, Content::Row { row, line: Vec::new() })))
            }
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

/// Whether what is at a line is no record. A byte order mark belongs to no record.
fn is_blank(line: Option<u64>, content: &Content, parser: &Parser) -> bool {
    match (content, parser.format) {
        (Content::Bytes(bytes), Format::Jsonl) => without_mark(bytes).trim_ascii().is_empty(),
        (Content::Bytes(bytes), Format::Csv | Format::Tsv) => without_line_end(bytes).is_empty(),
        // Without a line end, it is all of the file.
        (Content::Bytes(bytes), Format::Lines) => {
            line == Some(1) && parser.encoding.is_none() && without_mark(bytes).is_empty()
        }
        _ => false,
    }
}
