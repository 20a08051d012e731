//! Files of fingerprints: text lines, raw numbers, CSV and TSV, JSON lines, NumPy arrays, Parquet.

#[cfg(feature = "parquet")]
mod parquet;
mod raw;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::Value;

use super::failure::{Failure, STDIN};
use super::output::unescape;
use crate::documents;
use crate::format::keys::MAX_KEY_BYTES;
use crate::{Error, Fingerprint};

pub(crate) use raw::npy_header;

/// How to read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// FINGERPRINT[<tab, comma or spaces>ID] on each line
    #[value(alias = "txt")]
    Text,
    /// Raw 64-bit little-endian numbers
    U64,
    /// Comma-separated; a first line that starts with no fingerprint names the columns, else they are
    /// fingerprint, id and key
    Csv,
    /// The same, tab-separated; in keys \t \n \r \\ stand for tab, line feed, carriage return, backslash
    Tsv,
    /// One JSON object a line
    Jsonl,
    /// A NumPy array of uint64, shape (n,)
    Npy,
    /// Parquet, numbers or strings
    #[cfg(feature = "parquet")]
    Parquet,
}

/// Options about inputs, the same for every command that reads fingerprints.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct InputArgs {
    /// How to read the inputs [default: by extension: .u64 .csv .tsv .jsonl .npy .parquet, anything else text]
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<InputFormat>,
    /// Name of the column or JSON field that holds the fingerprint
    #[arg(long, value_name = "NAME", default_value = "fingerprint")]
    fingerprint_field: String,
    /// Name of the column or JSON field that holds the id; where it is missing, ids are numbered on
    #[arg(long, value_name = "NAME", default_value = "id")]
    id_field: String,
    /// Name of the column or JSON field that holds the key, for databases that keep keys [default: key]
    #[arg(long, value_name = "NAME")]
    key_field: Option<String>,
}

/// What becomes of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// They are handed on.
    Kept,
    /// Nobody asked for them: they are left out.
    Unused,
    /// The database has no place for them. What a header or JSON calls a key may be meant for others and is
    /// left out; a third column without a name is wrong.
    Refused,
}

impl Keys {
    /// What a database does with them.
    pub(super) fn kept_if(kept: bool) -> Self {
        if kept { Self::Kept } else { Self::Refused }
    }
}

/// Takes what a reader finds.
pub(super) trait RowSink {
    /// The next row; `None` where the input gives no id, or no key.
    fn row(&mut self, fingerprint: u64, id: Option<u64>, key: Option<&str>) -> Result<(), Failure>;

    /// What becomes of keys.
    fn keys(&self) -> Keys {
        Keys::Unused
    }

    /// Nothing more can be had without waiting: a good moment to answer.
    fn idle(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<T: FnMut(u64, Option<u64>) -> Result<(), Failure>> RowSink for T {
    fn row(&mut self, fingerprint: u64, id: Option<u64>, _: Option<&str>) -> Result<(), Failure> {
        self(fingerprint, id)
    }
}

/// A row as an input has it.
struct FoundRow<'a> {
    fingerprint: u64,
    id: Option<u64>,
    /// An empty one is none.
    key: Option<Cow<'a, str>>,
    /// Whether the input says by name which of its columns or fields the key is.
    has_names: bool,
}

impl FoundRow<'_> {
    /// Hands the row on, with its key where that is kept.
    fn give(self, sink: &mut dyn RowSink) -> Result<(), LineFailure> {
        let key = self.key.as_deref().filter(|key| !key.is_empty());
        let key = match (sink.keys(), key) {
            (Keys::Kept, Some(key)) if key.len() > MAX_KEY_BYTES => {
                return Err(format!("a key of more than {MAX_KEY_BYTES} bytes").into());
            }
            (Keys::Kept, key) => key,
            (Keys::Refused, Some(_)) if !self.has_names => {
                let why =
                    "a key in the third column, and the database keeps none (--keys makes one that does)";
                return Err(why.to_string().into());
            }
            _ => None,
        };
        Ok(sink.row(self.fingerprint, self.id, key)?)
    }
}

/// Where the columns of a file are.
#[derive(Clone, Copy)]
struct Columns {
    fingerprint: usize,
    id: Option<usize>,
    key: Option<usize>,
    has_names: bool,
}

/// The name of the column or field of keys where nothing is said.
const DEFAULT_KEY_FIELD: &str = "key";

/// A longer line is refused: it would be held in memory whole.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// Bytes read at once.
const BUFFER_BYTES: usize = 1 << 18;

impl InputArgs {
    /// Reads all inputs one after the other; standard input where there are none.
    pub(super) fn read_all(&self, inputs: &[PathBuf], sink: &mut dyn RowSink) -> Result<(), Failure> {
        if inputs.is_empty() {
            return self.read(Path::new("-"), sink);
        }
        inputs.iter().try_for_each(|input| self.read(input, sink))
    }

    fn read(&self, path: &Path, sink: &mut dyn RowSink) -> Result<(), Failure> {
        let format = self.input_format.unwrap_or_else(|| by_extension(path));
        #[cfg(feature = "parquet")]
        if format == InputFormat::Parquet {
            return parquet::read(path, self, sink);
        }
        self.read_as(format, Input::open(path)?, sink)
    }

    fn read_as(&self, format: InputFormat, mut input: Input, sink: &mut dyn RowSink) -> Result<(), Failure> {
        match format {
            InputFormat::Text => input.text(sink),
            InputFormat::U64 => input.raw(0, None, sink),
            InputFormat::Csv => self.csv(input, ',', sink),
            InputFormat::Tsv => self.csv(input, '\t', sink),
            InputFormat::Jsonl => self.jsonl(input, sink),
            InputFormat::Npy => input.npy(sink),
            #[cfg(feature = "parquet")]
            InputFormat::Parquet => Err(input.bad("Parquet has to be in a file", "")),
        }
    }

    fn csv(&self, mut input: Input, delimiter: char, sink: &mut dyn RowSink) -> Result<(), Failure> {
        let mut columns = None;
        input.lines(delimiter == ',', sink, |text, sink| {
            let record = Record::new(text, delimiter)?;
            let columns = match columns {
                Some(columns) => columns,
                None => {
                    let found = columns.insert(self.columns(&record)?);
                    if found.has_names {
                        return Ok(());
                    }
                    *found
                }
            };
            let fingerprint = record.cell(columns.fingerprint).unwrap_or_default();
            let fingerprint = u64::parse(fingerprint).map_err(|error| error.to_string())?;
            let id = columns.id.and_then(|at| record.cell(at)).filter(|cell| !cell.is_empty());
            let id = id.map(parse_id).transpose()?;
            let key = columns.key.and_then(|at| record.key(at));
            FoundRow { fingerprint, id, key, has_names: columns.has_names }.give(sink)
        })
    }

    /// Where the columns are, by the first record: it names them, or it is a row.
    fn columns(&self, first: &Record<'_>) -> Result<Columns, String> {
        if u64::parse(first.cell(0).unwrap_or_default()).is_ok() {
            return Ok(Columns { fingerprint: 0, id: Some(1), key: Some(2), has_names: false });
        }
        let named = |field: &str| first.position(field).ok_or_else(|| format!("no column named {field:?}"));
        let key = match &self.key_field {
            Some(field) => Some(named(field)?),
            None => first.position(DEFAULT_KEY_FIELD),
        };
        let id = first.position(&self.id_field);
        Ok(Columns { fingerprint: named(&self.fingerprint_field)?, id, key, has_names: true })
    }

    fn jsonl(&self, mut input: Input, sink: &mut dyn RowSink) -> Result<(), Failure> {
        input.lines(false, sink, |text, sink| {
            let object: Value = serde_json::from_str(text).map_err(|error| format!("not JSON ({error})"))?;
            let field = &self.fingerprint_field;
            let fingerprint = match member(&object, field) {
                Some(Value::String(text)) => u64::parse(text).map_err(|error| error.to_string())?,
                Some(Value::Number(number)) => {
                    number.as_u64().ok_or_else(|| format!("field {field:?} is not a 64-bit fingerprint"))?
                }
                Some(_) => return Err(format!("field {field:?} is neither a number nor a string").into()),
                None => return Err(format!("no field {field:?}").into()),
            };
            let id = match member(&object, &self.id_field) {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(parse_id(text)?),
                Some(other) => Some(other.as_u64().ok_or_else(|| not_an_id(&other.to_string()))?),
            };
            let key = self.json_key(text, &object)?;
            FoundRow { fingerprint, id, key, has_names: true }.give(sink)
        })
    }

    /// The key in an object: a string, or a number or an object as it stands.
    fn json_key<'a>(&self, text: &'a str, object: &Value) -> Result<Option<Cow<'a, str>>, String> {
        let field = self.key_field.as_deref().unwrap_or(DEFAULT_KEY_FIELD);
        match member(object, field) {
            None if self.key_field.is_some() => Err(format!("no field {field:?}")),
            None | Some(Value::Null) => Ok(None),
            Some(_) => documents::key_in(text, field),
        }
    }
}

/// A member of an object; dots reach into members that are objects, where no name has them.
fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get(name).or_else(|| name.split('.').try_fold(object, |object, part| object.get(part)))
}

/// Reads ids, one on each line.
pub(super) fn read_ids(
    path: &Path,
    visit: &mut dyn FnMut(u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    struct NoRows;
    impl RowSink for NoRows {
        fn row(&mut self, _: u64, _: Option<u64>, _: Option<&str>) -> Result<(), Failure> {
            Ok(())
        }
    }
    Input::open(path)?.lines(false, &mut NoRows, |text, _| Ok(visit(parse_id(text.trim())?)?))
}

/// A fingerprint and, where the input gives them, its id and key.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) type RowRead = (u64, Option<u64>, Option<String>);

/// Reads bytes as a file of a format: the rows before the first bad one, and what is wrong with that.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read_bytes(format: InputFormat, bytes: Vec<u8>) -> (Vec<RowRead>, Result<(), String>) {
    let reader: Box<dyn Read> = Box::new(io::Cursor::new(bytes));
    let reader = BufReader::with_capacity(BUFFER_BYTES, reader);
    let input = Input { name: "input".into(), reader, line: 0 };
    let args = InputArgs {
        input_format: None,
        fingerprint_field: "fingerprint".into(),
        id_field: "id".into(),
        key_field: None,
    };
    let mut rows = Collected(Vec::new());
    let end = args.read_as(format, input, &mut rows).map_err(|failure| format!("{failure:?}"));
    (rows.0, end)
}

#[cfg(any(test, feature = "fuzzing"))]
struct Collected(Vec<RowRead>);

#[cfg(any(test, feature = "fuzzing"))]
impl RowSink for Collected {
    fn row(&mut self, fingerprint: u64, id: Option<u64>, key: Option<&str>) -> Result<(), Failure> {
        self.0.push((fingerprint, id, key.map(str::to_string)));
        Ok(())
    }

    fn keys(&self) -> Keys {
        Keys::Kept
    }
}

fn by_extension(path: &Path) -> InputFormat {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("u64") => InputFormat::U64,
        Some("csv") => InputFormat::Csv,
        Some("tsv") => InputFormat::Tsv,
        Some("jsonl") => InputFormat::Jsonl,
        Some("npy") => InputFormat::Npy,
        #[cfg(feature = "parquet")]
        Some("parquet") => InputFormat::Parquet,
        _ => InputFormat::Text,
    }
}

/// Why a line was not taken: it is wrong, or the sink failed.
enum LineFailure {
    Wrong(String),
    Sink(Failure),
}

impl From<String> for LineFailure {
    fn from(why: String) -> Self {
        Self::Wrong(why)
    }
}

impl From<Failure> for LineFailure {
    fn from(failure: Failure) -> Self {
        Self::Sink(failure)
    }
}

/// An open input and where in it we are.
struct Input {
    name: PathBuf,
    reader: BufReader<Box<dyn Read>>,
    line: u64,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    fn open(path: &Path) -> Result<Self, Failure> {
        let (name, file): (PathBuf, Box<dyn Read>) = if path == Path::new("-") {
            (STDIN.into(), Box::new(io::stdin()))
        } else {
            let failed = |source| Error::Io { action: "open", path: path.to_path_buf(), source };
            (path.to_path_buf(), Box::new(File::open(path).map_err(failed)?))
        };
        Ok(Self { name, reader: BufReader::with_capacity(BUFFER_BYTES, file), line: 0 })
    }

    fn text(&mut self, sink: &mut dyn RowSink) -> Result<(), Failure> {
        self.lines(false, sink, |text, sink| {
            let (fingerprint, id) = parse_line(text.trim())?;
            Ok(sink.row(fingerprint, id, None)?)
        })
    }

    /// Visits the lines, without their ends. Where `quoted`, a line goes on behind its end as long as
    /// a quotation mark is open.
    ///
    /// Blank lines are allowed at the end only: elsewhere they may stand for a fingerprint that is
    /// missing, and leaving them out would shift the ids of all that follow.
    fn lines(
        &mut self,
        quoted: bool,
        sink: &mut dyn RowSink,
        mut visit: impl FnMut(&str, &mut dyn RowSink) -> Result<(), LineFailure>,
    ) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        let mut blank = None;
        let mut next_line = 1;
        loop {
            if !self.reader.buffer().contains(&b'\n') {
                sink.idle()?;
            }
            self.line = next_line;
            bytes.clear();
            if !self.read_line(&mut bytes)? {
                return Ok(());
            }
            next_line += 1;
            while quoted && bytes.iter().filter(|&&byte| byte == b'"').count() % 2 == 1 {
                if !self.read_line(&mut bytes)? {
                    return Err(
                        self.bad("a quotation mark that is never closed", &String::from_utf8_lossy(&bytes))
                    );
                }
                next_line += 1;
            }
            let text = std::str::from_utf8(&bytes);
            let text = text.map_err(|_| self.bad("not UTF-8 text", &String::from_utf8_lossy(&bytes)))?;
            let text = if self.line == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
            let text = text.trim_end_matches(['\n', '\r']);
            if text.trim().is_empty() {
                blank = blank.or(Some(self.line));
                continue;
            }
            if let Some(line) = blank {
                return Err(Failure::line(self.name.display(), line, "an empty line among the others", ""));
            }
            visit(text, sink).map_err(|failure| match failure {
                LineFailure::Wrong(why) => self.bad(why, text),
                LineFailure::Sink(Failure::Engine(Error::Limit(what))) => self.bad(what, text),
                LineFailure::Sink(failure) => failure,
            })?;
        }
    }

    /// Appends a line with its end; false where there is none.
    fn read_line(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Failure> {
        let room = MAX_LINE_BYTES - bytes.len() as u64;
        let read = (&mut self.reader).take(room).read_until(b'\n', bytes);
        let len = read.map_err(|source| self.unreadable(source))?;
        if len as u64 == room && bytes.last() != Some(&b'\n') {
            let why = format!("a line of more than {} MiB", MAX_LINE_BYTES >> 20);
            return Err(self.bad(why, &String::from_utf8_lossy(&bytes[..1000])));
        }
        Ok(len > 0)
    }

    fn bad(&self, why: impl std::fmt::Display, text: &str) -> Failure {
        Failure::line(self.name.display(), self.line, why, text)
    }

    fn unreadable(&self, source: io::Error) -> Failure {
        Error::Io { action: "read", path: self.name.clone(), source }.into()
    }
}

/// The cells of a line.
enum Record<'a> {
    Plain {
        text: &'a str,
        delimiter: char,
    },
    /// A line with quotation marks.
    Quoted(csv::StringRecord),
}

impl<'a> Record<'a> {
    fn new(text: &'a str, delimiter: char) -> Result<Self, String> {
        if delimiter != ',' || !text.contains('"') {
            return Ok(Self::Plain { text, delimiter });
        }
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let mut record = csv::StringRecord::new();
        reader.read_record(&mut record).map_err(|error| error.to_string())?;
        Ok(Self::Quoted(record))
    }

    /// A cell, trimmed.
    fn cell(&self, index: usize) -> Option<&str> {
        self.whole_cell(index).map(str::trim)
    }

    fn whole_cell(&self, index: usize) -> Option<&str> {
        match self {
            Self::Plain { text, delimiter } => text.split(*delimiter).nth(index),
            Self::Quoted(record) => record.get(index),
        }
    }

    /// The key in a cell: as it stands, white space too, but for the escapes of TSV.
    fn key(&self, index: usize) -> Option<Cow<'_, str>> {
        let cell = self.whole_cell(index)?;
        match self {
            Self::Plain { delimiter: '\t', .. } => Some(unescape(cell)),
            _ => Some(cell.into()),
        }
    }

    /// The index of the cell with a given content.
    fn position(&self, content: &str) -> Option<usize> {
        (0..).map_while(|index| self.cell(index)).position(|cell| cell == content)
    }
}

/// Reads `FINGERPRINT[<tab, comma or spaces>ID]`, trimmed.
fn parse_line(text: &str) -> Result<(u64, Option<u64>), String> {
    let separator = |c: char| c == ',' || c == '\t' || c == ' ';
    let (first, rest) = text.split_at(text.find(separator).unwrap_or(text.len()));
    let fingerprint = u64::parse(first).map_err(|error| error.to_string())?;
    let rest = rest.trim_start();
    let id = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    match id {
        "" if rest.is_empty() => Ok((fingerprint, None)),
        id => Ok((fingerprint, Some(parse_id(id)?))),
    }
}

/// Reads an id: decimal digits, up to 2^64 - 1.
fn parse_id(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| not_an_id(text))
}

fn not_an_id(text: &str) -> String {
    format!("{text:?} is no id (a number from 0 to 2^64 - 1)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_a_fingerprint_and_perhaps_an_id() {
        for (text, row) in [
            ("7", (7, None)),
            ("0xff", (255, None)),
            ("7\t1", (7, Some(1))),
            ("7,1", (7, Some(1))),
            ("7   1", (7, Some(1))),
            ("7, 1", (7, Some(1))),
            ("7 , 18446744073709551615", (7, Some(u64::MAX))),
        ] {
            assert_eq!(parse_line(text), Ok(row), "{text}");
        }
        for text in ["x", "7 x", "7,", "7,,1", "7 1 2", "7 -1", "7 +1", "7;1", "-7", "7 18446744073709551616"]
        {
            assert!(parse_line(text).is_err(), "{text}");
        }
    }
}
