//! Splits a stream into records: lines, or records of CSV, whose quoted cells may have line ends.

use memchr::{memchr, memchr_iter, memchr2};

use super::input_bytes::InputBytes;
use crate::error::Result;

/// Bytes read at once, and the initial size of the buffer.
const BUFFER_BYTES: usize = 1 << 18;
/// Bytes of an overlong line that a bad record has.
const SHOWN_BYTES: usize = 64 << 10;
/// Bytes of a header that are read to find out what separates its cells.
const MAX_HEADER_BYTES: usize = 1 << 20;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The bytes of a record with its line end, or of a malformed one and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Record(&'a [u8]),
    Broken(&'a [u8], String),
}

/// Splits a stream into records.
pub(super) struct Splitter {
    source: InputBytes,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    source_ended: bool,
    /// The line of the stream at `start`, from 1.
    line: u64,
    /// Bytes of the stream before `start`.
    offset: u64,
    /// The stream up to here has been scanned for the end of a CSV record that has none. A later
    /// record that begins before this offset and is in a quoted cell at the end of a line has no
    /// end there either.
    open_until: u64,
    max_record_bytes: usize,
    /// The byte between the cells of CSV.
    delimiter: Option<u8>,
}

impl Splitter {
    /// `delimiter` stands between the cells of CSV; without one every line is a record.
    pub(super) fn new(source: InputBytes, delimiter: Option<u8>, max_record_bytes: usize) -> Self {
        Self::after(Vec::new(), source, delimiter, max_record_bytes)
    }

    /// The same for a source whose first bytes were read.
    pub(super) fn after(
        read: Vec<u8>,
        source: InputBytes,
        delimiter: Option<u8>,
        max_record_bytes: usize,
    ) -> Self {
        Self {
            source,
            end: read.len(),
            buffer: read,
            start: 0,
            source_ended: false,
            line: 1,
            offset: 0,
            open_until: 0,
            max_record_bytes,
            delimiter,
        }
    }

    /// The line at which the next record begins, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The first record of CSV with this delimiter, before any is taken; of one without an end, what was read of it.
    pub(super) fn header(&mut self, delimiter: u8) -> Result<&[u8]> {
        let mut scan = Scan::new(Some(delimiter), 0);
        loop {
            let bytes = &self.buffer[self.start..self.end];
            let is_read = self.source_ended || bytes.len() > self.max_record_bytes.min(MAX_HEADER_BYTES);
            match scan.end(bytes).or_else(|| is_read.then_some(bytes.len())) {
                Some(len) => return Ok(&self.buffer[self.start..self.start + len]),
                None => self.fill()?,
            }
        }
    }

    pub(super) fn set_delimiter(&mut self, delimiter: u8) {
        self.delimiter = Some(delimiter);
    }

    /// The next record; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Piece<'_>>> {
        let looked_at = usize::try_from(self.open_until.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let mut scan = Scan::new(self.delimiter, looked_at);
        loop {
            let bytes = &self.buffer[self.start..self.end];
            let found = scan.end(bytes).or_else(|| self.source_ended.then_some(bytes.len()));
            match found {
                Some(0) => return Ok(None),
                Some(len) if len <= self.max_record_bytes => {
                    if scan.is_open(bytes) {
                        self.open_until = self.offset + bytes.len() as u64;
                        return Ok(Some(self.first_line("a quotation mark that is never closed".into())));
                    }
                    return Ok(Some(Piece::Record(self.take(len))));
                }
                None if bytes.len() <= self.max_record_bytes => self.fill()?,
                _ => {
                    if let Some(inside) = scan.inside_at() {
                        self.open_until = self.open_until.max(self.offset + inside as u64);
                    }
                    return self.too_long().map(Some);
                }
            }
        }
    }

    fn take(&mut self, len: usize) -> &[u8] {
        let taken = &self.buffer[self.start..self.start + len];
        self.start += len;
        self.offset += len as u64;
        self.line += match self.delimiter {
            None => 1,
            Some(_) => memchr_iter(b'\n', taken).count() as u64,
        };
        taken
    }

    /// Takes the first line of a malformed record; reading resumes after it.
    fn first_line(&mut self, why: String) -> Piece<'_> {
        let bytes = &self.buffer[self.start..self.end];
        let len = memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
        Piece::Broken(self.take(len), why)
    }

    fn too_long(&mut self) -> Result<Piece<'_>> {
        let bytes = &self.buffer[self.start..self.end];
        let why = |what: &str| format!("a {what} of more than {} bytes", self.max_record_bytes);
        match memchr(b'\n', bytes) {
            Some(at) if at < self.max_record_bytes => {
                let why = why("record") + ", or a quotation mark that is never closed";
                Ok(self.first_line(why))
            }
            _ => {
                let why = why("line");
                let shown = bytes[..bytes.len().min(SHOWN_BYTES)].to_vec();
                self.skip_line()?;
                // The rest of the buffer is free: the shown bytes are kept there.
                self.buffer.truncate(self.end);
                self.buffer.extend(shown);
                Ok(Piece::Broken(&self.buffer[self.end..], why))
            }
        }
    }

    /// Skips everything up to the next line.
    fn skip_line(&mut self) -> Result<()> {
        self.line += 1;
        loop {
            match memchr(b'\n', &self.buffer[self.start..self.end]) {
                Some(at) => {
                    self.start += at + 1;
                    self.offset += at as u64 + 1;
                    return Ok(());
                }
                None => {
                    self.offset += (self.end - self.start) as u64;
                    self.start = self.end;
                }
            }
            if self.source_ended {
                return Ok(());
            }
            self.fill()?;
        }
    }

    /// Reads more bytes after those in the buffer.
    fn fill(&mut self) -> Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() < self.end + BUFFER_BYTES / 2 {
            self.buffer.resize((2 * self.buffer.len()).max(BUFFER_BYTES), 0);
        }
        let len = self.source.read(&mut self.buffer[self.end..])?;
        self.end += len;
        self.source_ended = len == 0;
        Ok(())
    }
}

/// Scans for the end of one record in a growing buffer.
#[derive(Debug)]
pub struct Scan(State);

#[derive(Debug)]
enum State {
    Line {
        seen: usize,
    },
    /// A quotation mark opens a quoted cell at the start of a cell only; inside, two of them stand
    /// for one (RFC 4180, section 2).
    Csv {
        seen: usize,
        inside: bool,
        delimiter: u8,
        /// A quoted cell that is open at a line end before this place is open at this place too.
        looked_at: usize,
    },
}

impl Scan {
    /// Scans for the end of a record of CSV.
    #[must_use]
    pub fn of_csv(delimiter: u8) -> Self {
        Self::new(Some(delimiter), 0)
    }

    fn new(delimiter: Option<u8>, looked_at: usize) -> Self {
        Self(match delimiter {
            None => State::Line { seen: 0 },
            Some(delimiter) => State::Csv { seen: 0, inside: false, delimiter, looked_at },
        })
    }

    /// The length of the record at the start of `bytes`, which extend the bytes of the previous call.
    pub fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        match &mut self.0 {
            State::Line { seen } => {
                let found = memchr(b'\n', &bytes[*seen..]).map(|at| *seen + at + 1);
                *seen = bytes.len();
                found
            }
            State::Csv { seen, inside, delimiter, looked_at } => loop {
                let rest = &bytes[*seen..];
                let skips = *inside && *seen >= *looked_at;
                let found = if skips { memchr(b'"', rest) } else { memchr2(b'"', b'\n', rest) };
                let Some(at) = found.map(|at| *seen + at) else {
                    *seen = bytes.len();
                    return None;
                };
                *seen = at + 1;
                match (*inside, bytes.get(at + 1)) {
                    (false, _) if bytes[at] == b'\n' => return Some(at + 1),
                    (true, _) if bytes[at] == b'\n' => *seen = (*looked_at).max(at + 1),
                    (false, _) => *inside = starts_a_cell(bytes, at, *delimiter),
                    (true, Some(b'"')) => *seen = at + 2,
                    (true, Some(_)) => *inside = false,
                    (true, None) => {
                        *seen = at;
                        return None;
                    }
                }
            },
        }
    }

    /// The place up to which a quoted cell is open.
    fn inside_at(&self) -> Option<usize> {
        match self.0 {
            State::Csv { seen, inside: true, .. } => Some(seen),
            _ => None,
        }
    }

    /// Whether a quoted cell is open at the end of the stream, which is the end of `bytes`.
    #[must_use]
    pub fn is_open(&self, bytes: &[u8]) -> bool {
        match self.0 {
            State::Line { .. } => false,
            State::Csv { seen, inside, .. } => inside && seen == bytes.len(),
        }
    }
}

fn starts_a_cell(bytes: &[u8], at: usize, delimiter: u8) -> bool {
    at == 0 || bytes[at - 1] == delimiter || &bytes[..at] == BYTE_ORDER_MARK
}

/// What is wrong with lines that no line feed ends.
const CR_ENDS: &str = "its lines end with CR; `tr '\\r' '\\n'` makes lines of them";

/// Checks that a header is one line.
///
/// # Errors
/// The reason, if it has a carriage return between its cells, as where these end the lines.
pub fn check_header(header: &[u8]) -> Result<(), String> {
    let mut is_quoted = false;
    let is_end = |&byte: &u8| {
        is_quoted ^= byte == b'"';
        byte == b'\r' && !is_quoted
    };
    match header.trim_ascii_end().iter().any(is_end) {
        true => Err(CR_ENDS.into()),
        false => Ok(()),
    }
}

/// Checks that the first line of a stream is not all of its lines.
///
/// # Errors
/// The reason, if no line feed ends it and a carriage return is in it.
pub fn check_first_line(line: &[u8]) -> Result<(), String> {
    match line.ends_with(b"\n") || !line.trim_ascii_end().contains(&b'\r') {
        true => Ok(()),
        false => Err(CR_ENDS.into()),
    }
}

/// A record without its line end.
pub(super) fn without_line_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// A record without the byte order mark at the start of a file.
pub(super) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use proptest::prelude::*;

    use super::*;

    /// Returns a few bytes at a time.
    struct Trickle {
        bytes: Vec<u8>,
        at: usize,
        steps: Vec<usize>,
    }

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.steps.rotate_left(1);
            let len = self.steps[0].min(buffer.len()).min(self.bytes.len() - self.at);
            buffer[..len].copy_from_slice(&self.bytes[self.at..self.at + len]);
            self.at += len;
            Ok(len)
        }
    }

    /// Line, bytes, and the reason of a broken piece.
    type Pieces = Vec<(u64, Vec<u8>, Option<String>)>;

    fn pieces(bytes: &[u8], delimiter: Option<u8>, max: usize, steps: &[usize]) -> Pieces {
        let trickle = Trickle { bytes: bytes.to_vec(), at: 0, steps: steps.to_vec() };
        let mut splitter = Splitter::new(InputBytes::of_reader(Box::new(trickle)), delimiter, max);
        let mut found = Vec::new();
        loop {
            let line = splitter.line();
            match splitter.next().unwrap() {
                None => return found,
                Some(Piece::Record(bytes)) => found.push((line, bytes.to_vec(), None)),
                Some(Piece::Broken(bytes, why)) => found.push((line, bytes.to_vec(), Some(why))),
            }
        }
    }

    fn whole(bytes: &str, delimiter: Option<u8>) -> Vec<String> {
        let pieces = pieces(bytes.as_bytes(), delimiter, 1 << 20, &[1000]);
        let text = |(line, bytes, why): (u64, Vec<u8>, Option<String>)| {
            format!("{line} {:?} {}", String::from_utf8(bytes).unwrap(), why.unwrap_or_default())
        };
        pieces.into_iter().map(|piece| text(piece).trim_end().to_string()).collect()
    }

    #[test]
    fn records_end_with_lines_unless_a_cell_is_open() {
        assert_eq!(whole("", None), [""; 0]);
        assert_eq!(whole("a\r\n\nb", None), ["1 \"a\\r\\n\"", "2 \"\\n\"", "3 \"b\""]);
        assert_eq!(whole("a\"\nb\"", Some(b',')), ["1 \"a\\\"\\n\"", "2 \"b\\\"\""]);
        assert_eq!(
            whole("x,\"a\n\"\"\n\",\ny\n", Some(b',')),
            ["1 \"x,\\\"a\\n\\\"\\\"\\n\\\",\\n\"", "4 \"y\\n\""]
        );
        assert_eq!(whole("\u{feff}\"a\n\"", Some(b',')), ["1 \"\\u{feff}\\\"a\\n\\\"\""]);
        assert_eq!(
            whole("x,\"a\n\"", Some(b'\t')),
            ["1 \"x,\\\"a\\n\"", "2 \"\\\"\" a quotation mark that is never closed"]
        );
    }

    #[test]
    fn an_open_quotation_mark_costs_one_line() {
        let found = whole("a,\"b\nc,d\ne,\"\"\"\"f\n", Some(b','));
        assert_eq!(found[0], "1 \"a,\\\"b\\n\" a quotation mark that is never closed");
        assert_eq!(found[1..], ["2 \"c,d\\n\"", "3 \"e,\\\"\\\"\\\"\\\"f\\n\""]);
    }

    #[test]
    fn a_line_without_end_is_no_record_and_fills_no_memory() {
        let mut bytes = b"first\n".to_vec();
        bytes.resize(3 << 20, b'x');
        bytes.extend(b"\nlast\n");
        let found = pieces(&bytes, None, 1000, &[100_000]);
        assert_eq!(found.len(), 3);
        assert_eq!(found[1].0, 2);
        assert_eq!(found[1].2.as_deref(), Some("a line of more than 1000 bytes"));
        assert!(found[1].1.len() <= SHOWN_BYTES && found[1].1.iter().all(|&byte| byte == b'x'));
        assert_eq!(found[2], (3, b"last\n".to_vec(), None));
        bytes.truncate(2 << 20);
        assert_eq!(pieces(&bytes, None, 1000, &[7777]).len(), 2);
    }

    #[test]
    fn a_quoted_cell_without_end_costs_one_line_too() {
        let bytes = format!("a,\"b\n{}c,d\n", "x,y\n".repeat(1000));
        let found = pieces(bytes.as_bytes(), Some(b','), 100, &[64]);
        assert_eq!(found.len(), 1002);
        assert_eq!(found[0].1, b"a,\"b\n");
        assert!(found[0].2.as_deref().unwrap().contains("more than 100 bytes, or a quotation mark"));
        assert_eq!(found[1001], (1002, b"c,d\n".to_vec(), None));
    }

    #[test]
    fn regression_open_quotation_marks_do_not_cost_the_square_of_the_lines() {
        let lines = 200_000;
        let bytes = "x\"x,\"y\n".repeat(lines);
        let found = pieces(bytes.as_bytes(), Some(b','), 1 << 30, &[1 << 16]);
        assert_eq!(found.len(), lines);
        assert!(
            found.iter().all(|(_, _, why)| why.as_deref() == Some("a quotation mark that is never closed"))
        );
        // The same with a limit that every record exceeds.
        assert_eq!(pieces(bytes.as_bytes(), Some(b','), 1 << 20, &[1 << 16]).len(), lines);
    }

    proptest! {
        #[test]
        fn records_joined_are_the_input(
            text in "([a-c,\"\\n]|\\r\\n|é|\u{feff}){0,80}",
            steps in prop::collection::vec(1usize..9, 1..9),
            delimiter in prop::option::of(Just(b',')),
        ) {
            let found = pieces(text.as_bytes(), delimiter, 1 << 20, &steps);
            let joined: Vec<u8> = found.iter().flat_map(|(_, bytes, _)| bytes.clone()).collect();
            prop_assert_eq!(joined, text.as_bytes());
            let mut line = 1;
            for (at, bytes, _) in &found {
                prop_assert_eq!(*at, line);
                line += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
            }
            // The sizes of the reads have no influence.
            prop_assert_eq!(&found, &pieces(text.as_bytes(), delimiter, 1 << 20, &[1000]));
        }

        #[test]
        fn csv_records_are_those_of_the_csv_crate(
            rows in prop::collection::vec(prop::collection::vec("[a-b, \"\\n\té]{0,6}", 2..4), 0..8),
            quoted in any::<bool>(),
            steps in prop::collection::vec(1usize..9, 1..9),
        ) {
            let style = if quoted { ::csv::QuoteStyle::Always } else { ::csv::QuoteStyle::Necessary };
            let mut writer = ::csv::WriterBuilder::new().flexible(true).quote_style(style).from_writer(Vec::new());
            rows.iter().for_each(|row| writer.write_record(row).unwrap());
            let bytes = writer.into_inner().unwrap();
            let found = pieces(&bytes, Some(b','), 1 << 20, &steps);
            prop_assert_eq!(found.len(), rows.len());
            for ((_, bytes, why), row) in found.iter().zip(&rows) {
                prop_assert!(why.is_none());
                let mut reader =
                    ::csv::ReaderBuilder::new().has_headers(false).from_reader(&bytes[..]);
                let record = reader.records().next().unwrap().unwrap();
                prop_assert!(record.iter().eq(row.iter().map(String::as_str)));
            }
        }
    }
}
