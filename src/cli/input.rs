//! Files of fingerprints: text lines, raw numbers, CSV and TSV, JSON lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::Value;

use super::failure::{Failure, STDIN};
use crate::{Error, Fingerprint};

/// How to read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum InputFormat {
    /// FINGERPRINT[<tab, comma or spaces>ID] on each line
    Text,
    /// Raw 64-bit little-endian numbers
    U64,
    /// Comma-separated; a first line that starts with no fingerprint names the columns
    Csv,
    /// The same, tab-separated
    Tsv,
    /// One JSON object a line
    Jsonl,
}

/// Options about inputs, the same for every command that reads fingerprints.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct InputArgs {
    /// How to read the inputs [default: by extension: .u64 .csv .tsv .jsonl, anything else text]
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<InputFormat>,
    /// Name of the CSV column or JSON field that holds the fingerprint
    #[arg(long, value_name = "NAME", default_value = "fingerprint")]
    fingerprint_field: String,
    /// Name of the CSV column or JSON field that holds the id; where it is missing, ids are numbered on
    #[arg(long, value_name = "NAME", default_value = "id")]
    id_field: String,
}

/// Takes what a reader finds.
pub(super) trait RowSink {
    /// The next row; `None` where the input gives no id.
    fn row(&mut self, fingerprint: u64, id: Option<u64>) -> Result<(), Failure>;

    /// Nothing more can be had without waiting: a good moment to answer.
    fn idle(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<T: FnMut(u64, Option<u64>) -> Result<(), Failure>> RowSink for T {
    fn row(&mut self, fingerprint: u64, id: Option<u64>) -> Result<(), Failure> {
        self(fingerprint, id)
    }
}

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
        let (name, file): (PathBuf, Box<dyn Read>) = if path == Path::new("-") {
            (STDIN.into(), Box::new(io::stdin()))
        } else {
            let failed = |source| Error::Io { action: "open", path: path.to_path_buf(), source };
            (path.to_path_buf(), Box::new(File::open(path).map_err(failed)?))
        };
        let mut input = Input { name, reader: BufReader::with_capacity(BUFFER_BYTES, file), line: 0 };
        match self.input_format.unwrap_or_else(|| by_extension(path)) {
            InputFormat::Text => input.text(sink),
            InputFormat::U64 => input.raw(sink),
            InputFormat::Csv => self.csv(input, b',', sink),
            InputFormat::Tsv => self.csv(input, b'\t', sink),
            InputFormat::Jsonl => self.jsonl(input, sink),
        }
    }

    fn csv(&self, mut input: Input, delimiter: u8, sink: &mut dyn RowSink) -> Result<(), Failure> {
        input.skip_byte_order_mark()?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .quoting(delimiter == b',')
            .from_reader(input.reader);
        let name = input.name.display();
        let mut columns = None;
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(|error| csv_failure(&input.name, error))? {
            let line = record.position().map_or(0, csv::Position::line);
            let text = record.iter().collect::<Vec<_>>().join(if delimiter == b',' { "," } else { "\t" });
            let bad = |why: String| Failure::line(&name, line, why, &text);
            let first = record.get(0).unwrap_or_default().trim();
            let (at, id_at) = match columns {
                Some(columns) => columns,
                None if u64::parse(first).is_ok() => *columns.insert((0, Some(1))),
                None => {
                    let position = |field: &str| record.iter().position(|cell| cell.trim() == field);
                    let field = &self.fingerprint_field;
                    let at = position(field).ok_or_else(|| bad(format!("no column named {field:?}")))?;
                    columns = Some((at, position(&self.id_field)));
                    continue;
                }
            };
            let cell = record.get(at).unwrap_or_default().trim();
            let fingerprint = u64::parse(cell).map_err(|error| bad(error.to_string()))?;
            let id = id_at.and_then(|at| record.get(at)).map(str::trim).filter(|cell| !cell.is_empty());
            let id = id.map(parse_id).transpose().map_err(bad)?;
            sink.row(fingerprint, id)?;
        }
        Ok(())
    }

    fn jsonl(&self, mut input: Input, sink: &mut dyn RowSink) -> Result<(), Failure> {
        input.lines(sink, |text, sink| {
            let object: Value = serde_json::from_str(text).map_err(|error| format!("not JSON ({error})"))?;
            let field = &self.fingerprint_field;
            let fingerprint = match object.get(field) {
                Some(Value::String(text)) => u64::parse(text).map_err(|error| error.to_string())?,
                Some(Value::Number(number)) => {
                    number.as_u64().ok_or_else(|| format!("field {field:?} is not a 64-bit fingerprint"))?
                }
                Some(_) => return Err(format!("field {field:?} is neither a number nor a string").into()),
                None => return Err(format!("no field {field:?}").into()),
            };
            let id = match object.get(&self.id_field) {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(parse_id(text)?),
                Some(other) => Some(other.as_u64().ok_or_else(|| not_an_id(&other.to_string()))?),
            };
            Ok(sink.row(fingerprint, id)?)
        })
    }
}

fn by_extension(path: &Path) -> InputFormat {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("u64") => InputFormat::U64,
        Some("csv") => InputFormat::Csv,
        Some("tsv") => InputFormat::Tsv,
        Some("jsonl") => InputFormat::Jsonl,
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
    fn text(&mut self, sink: &mut dyn RowSink) -> Result<(), Failure> {
        self.lines(sink, |text, sink| {
            let (fingerprint, id) = parse_line(text)?;
            Ok(sink.row(fingerprint, id)?)
        })
    }

    /// Visits the lines. Blank ones are allowed at the end only: elsewhere they may stand for a
    /// fingerprint that is missing, and leaving them out would shift the ids of all that follow.
    fn lines(
        &mut self,
        sink: &mut dyn RowSink,
        mut visit: impl FnMut(&str, &mut dyn RowSink) -> Result<(), LineFailure>,
    ) -> Result<(), Failure> {
        self.skip_byte_order_mark()?;
        let mut bytes = Vec::new();
        let mut blank = None;
        loop {
            if self.reader.buffer().is_empty() {
                sink.idle()?;
            }
            bytes.clear();
            let len = self.reader.read_until(b'\n', &mut bytes).map_err(|source| self.unreadable(source))?;
            if len == 0 {
                return Ok(());
            }
            self.line += 1;
            let text = std::str::from_utf8(bytes.trim_ascii());
            let text = text.map_err(|_| self.bad("not UTF-8 text", &String::from_utf8_lossy(&bytes)))?;
            if text.is_empty() {
                blank = blank.or(Some(self.line));
                continue;
            }
            if let Some(line) = blank {
                return Err(Failure::line(self.name.display(), line, "an empty line among the others", ""));
            }
            visit(text, sink).map_err(|failure| match failure {
                LineFailure::Wrong(why) => self.bad(why, text),
                LineFailure::Sink(failure) => failure,
            })?;
        }
    }

    fn raw(&mut self, sink: &mut dyn RowSink) -> Result<(), Failure> {
        let mut total = 0u64;
        loop {
            let buffer = self.reader.fill_buf();
            let available = match buffer {
                Ok(buffer) => buffer.len(),
                Err(source) => return Err(self.unreadable(source)),
            };
            let whole = available / 8 * 8;
            if whole == 0 {
                let mut rest = Vec::new();
                (&mut self.reader)
                    .take(8)
                    .read_to_end(&mut rest)
                    .map_err(|source| self.unreadable(source))?;
                match rest.first_chunk::<8>() {
                    Some(number) => sink.row(u64::from_le_bytes(*number), None)?,
                    None if rest.is_empty() => return Ok(()),
                    None => {
                        let why = format!("{} bytes behind the last 64-bit number", rest.len());
                        return Err(Failure::Input {
                            place: format!("{}:{total}", self.name.display()),
                            why,
                        });
                    }
                }
                total += 8;
                continue;
            }
            for number in self.reader.buffer()[..whole].as_chunks::<8>().0 {
                sink.row(u64::from_le_bytes(*number), None)?;
            }
            self.reader.consume(whole);
            total += whole as u64;
        }
    }

    /// Steps over the mark that some programs put before UTF-8 text.
    fn skip_byte_order_mark(&mut self) -> Result<(), Failure> {
        let marked = match self.reader.fill_buf() {
            Ok(buffer) => buffer.starts_with(b"\xef\xbb\xbf"),
            Err(source) => return Err(self.unreadable(source)),
        };
        self.reader.consume(if marked { 3 } else { 0 });
        Ok(())
    }

    fn bad(&self, why: impl std::fmt::Display, text: &str) -> Failure {
        Failure::line(self.name.display(), self.line, why, text)
    }

    fn unreadable(&self, source: io::Error) -> Failure {
        Error::Io { action: "read", path: self.name.clone(), source }.into()
    }
}

fn csv_failure(name: &Path, error: csv::Error) -> Failure {
    let line = error.position().map_or(0, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(source) => Error::Io { action: "read", path: name.to_path_buf(), source }.into(),
        csv::ErrorKind::Utf8 { .. } => Failure::line(name.display(), line, "not UTF-8 text", ""),
        other => Failure::Input { place: format!("{}:{line}", name.display()), why: format!("{other:?}") },
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
