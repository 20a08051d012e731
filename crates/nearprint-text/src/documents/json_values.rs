//! Splits JSON that is not one object a line into records: the elements of an array, or objects of several
//! lines.

use super::input_bytes::InputBytes;
use super::kind::{AsciiBytes, Encoding};
use super::lines::{Piece, without_mark};
use crate::error::Result;

/// Bytes read at once. The first ones show how the file is laid out.
const CHUNK_BYTES: usize = 1 << 18;
/// Bytes of a value without an end, or of an overlong one, that a bad record has.
const SHOWN_BYTES: usize = 64 << 10;

/// How values stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// One after the other.
    Alone,
    /// In an array, whose end has not come yet.
    InArray,
    /// Behind the array.
    Behind,
}

/// The first bytes of a file, and the rest of it.
pub(super) struct JsonHead {
    source: InputBytes,
    bytes: Vec<u8>,
    source_ended: bool,
}

/// The values of a file.
pub(super) struct JsonValues {
    source: InputBytes,
    source_ended: bool,
    /// What was read and not returned yet begins at `start`.
    buffer: Vec<u8>,
    start: usize,
    /// The line at `start`, from 1.
    line: u64,
    place: Place,
    /// The encoding, if it is not UTF-8.
    encoding: Option<Encoding>,
    max_record_bytes: usize,
    /// The value that was returned last, in one line.
    record: Vec<u8>,
}

impl JsonHead {
    pub(super) fn read(mut source: InputBytes) -> Result<Self> {
        let mut bytes = vec![0; CHUNK_BYTES];
        let mut len = 0;
        while len < CHUNK_BYTES {
            match source.read(&mut bytes[len..])? {
                0 => break,
                more => len += more,
            }
        }
        bytes.truncate(len);
        Ok(Self { source, bytes, source_ended: len < CHUNK_BYTES })
    }

    /// The values, unless there is one on each line. `Err` has what was read. UTF-8 needs no encoding.
    pub(super) fn values(
        self,
        encoding: Option<Encoding>,
        max_record_bytes: usize,
    ) -> Result<JsonValues, (Vec<u8>, InputBytes)> {
        let content = without_mark(&self.bytes);
        let start = content.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(content.len());
        let place = match content.get(start) {
            Some(b'[') => Place::InArray,
            Some(b'{') if goes_on(&content[start..], encoding) => Place::Alone,
            _ => return Err((self.bytes, self.source)),
        };
        let at = self.bytes.len() - content.len() + start;
        let lines = 1 + content[..start].iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(JsonValues {
            source: self.source,
            source_ended: self.source_ended,
            start: at + usize::from(place == Place::InArray),
            buffer: self.bytes,
            line: lines,
            place,
            encoding,
            max_record_bytes,
            record: Vec::new(),
        })
    }
}

/// Whether the object at the start of `content` goes on after its line. One that is cut within a string, or before a
/// line that begins another object, is a bad record among lines.
fn goes_on(content: &[u8], encoding: Option<Encoding>) -> bool {
    let mut lines = content.split_inclusive(|&byte| byte == b'\n');
    let (line, next) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let mut scan = ValueScan::new(encoding);
    if !line.ends_with(b"\n") || scan.end(line).is_some() || scan.in_string {
        return false;
    }
    // Within an object, another one follows a colon only.
    scan.depth > 1 || !next.starts_with(b"{") || line.trim_ascii_end().ends_with(b":")
}

impl JsonValues {
    /// Whether the values are in an array, which often has no line ends.
    pub(super) fn are_in_array(&self) -> bool {
        self.place != Place::Alone
    }

    /// The next value in one line, with the line at which it begins; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Piece<'_>)>> {
        self.skip_separators()?;
        let line = self.line;
        if self.start == self.buffer.len() {
            let is_open = self.place == Place::InArray;
            self.place = Place::Behind;
            return Ok(is_open.then(|| (line, Piece::Broken(&[], "a JSON array without an end".into()))));
        }
        if self.place == Place::Behind {
            self.record = self.buffer[self.start..].iter().copied().take(SHOWN_BYTES).collect();
            while self.fill()? {}
            self.start = self.buffer.len();
            let why = "the file goes on after the end of its JSON array".into();
            return Ok(Some((line, Piece::Broken(&self.record, why))));
        }
        let why = self.take_value()?;
        Ok(Some((
            line,
            match why {
                None => Piece::Record(&self.record),
                Some(why) => Piece::Broken(&self.record, why),
            },
        )))
    }

    /// Skips what stands between values.
    fn skip_separators(&mut self) -> Result<()> {
        loop {
            while let Some(&byte) = self.buffer.get(self.start) {
                match byte {
                    b'\n' => self.line += 1,
                    b',' if self.place == Place::InArray => {}
                    b']' if self.place == Place::InArray => self.place = Place::Behind,
                    byte if byte.is_ascii_whitespace() => {}
                    _ => return Ok(()),
                }
                self.start += 1;
            }
            if !self.fill()? {
                return Ok(());
            }
        }
    }

    /// Takes a value. Returns what is wrong with its length.
    fn take_value(&mut self) -> Result<Option<String>> {
        self.record.clear();
        let (mut scan, mut is_too_long) = (ValueScan::new(self.encoding), false);
        loop {
            let bytes = &self.buffer[self.start..];
            let end = scan.end(bytes);
            let len = end.unwrap_or(bytes.len());
            is_too_long |= self.record.len() + len > self.max_record_bytes;
            let most = if is_too_long { SHOWN_BYTES.min(self.max_record_bytes) } else { usize::MAX };
            let in_one_line =
                bytes[..len].iter().map(|byte| if b"\r\n".contains(byte) { b' ' } else { *byte });
            self.record.extend(in_one_line);
            self.record.truncate(most);
            self.line += bytes[..len].iter().filter(|&&byte| byte == b'\n').count() as u64;
            self.start += len;
            scan.seen = 0;
            if end.is_some() || !self.fill()? {
                self.record.push(b'\n');
                let is_whole = end.is_some() || scan.is_scalar();
                if !is_whole {
                    self.place = Place::Behind;
                }
                return Ok(if is_too_long {
                    Some(format!("a value of more than {} bytes", self.max_record_bytes))
                } else {
                    (!is_whole).then(|| "a JSON value without an end".into())
                });
            }
        }
    }

    /// Reads more bytes, once all others were taken. `false` at the end.
    fn fill(&mut self) -> Result<bool> {
        if self.source_ended {
            return Ok(false);
        }
        self.start = 0;
        self.buffer.resize(CHUNK_BYTES, 0);
        let len = self.source.read(&mut self.buffer)?;
        self.buffer.truncate(len);
        self.source_ended = len == 0;
        Ok(len > 0)
    }
}

/// Scans for the end of a value.
struct ValueScan {
    ascii: Option<AsciiBytes>,
    /// Bytes of the current piece that were looked at.
    seen: usize,
    /// Brackets that are open.
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// Whether any byte was looked at.
    has_begun: bool,
}

impl ValueScan {
    fn new(encoding: Option<Encoding>) -> Self {
        let ascii = encoding.and_then(Encoding::ascii_bytes);
        Self { ascii, seen: 0, depth: 0, in_string: false, escaped: false, has_begun: false }
    }

    /// The length of the value in `bytes`, which go on where the last piece ended.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        while let Some(&byte) = bytes.get(self.seen) {
            let byte = self.ascii.as_mut().map_or(byte, |ascii| ascii.of(byte));
            let has_begun = std::mem::replace(&mut self.has_begun, true);
            if self.in_string {
                (self.in_string, self.escaped) = match byte {
                    _ if self.escaped => (true, false),
                    b'\\' => (true, true),
                    byte => (byte != b'"', false),
                };
                self.seen += 1;
                if !self.in_string && self.depth == 0 {
                    return Some(self.seen);
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                // Behind a number or a word.
                b',' | b']' | b'}' if self.depth == 0 && has_begun => return Some(self.seen),
                byte if self.depth == 0 && byte.is_ascii_whitespace() => return Some(self.seen),
                b']' | b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.seen += 1;
                        return Some(self.seen);
                    }
                }
                _ => {}
            }
            self.seen += 1;
        }
        None
    }

    /// Whether the end of the file ends the value.
    fn is_scalar(&self) -> bool {
        self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Returns a few bytes at a time.
    struct Trickle(Vec<u8>, usize);

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(buffer.len()).min(self.0.len());
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0.drain(..len);
            Ok(len)
        }
    }

    /// Line, text and the reason of a bad record; `None` for a file of lines.
    fn values(text: &str, step: usize, max: usize) -> Option<Vec<(u64, String, Option<String>)>> {
        let source = InputBytes::of_reader(Box::new(Trickle(text.as_bytes().to_vec(), step)));
        let mut values = JsonHead::read(source).unwrap().values(None, max).ok()?;
        let mut found = Vec::new();
        while let Some((line, piece)) = values.next().unwrap() {
            let (bytes, why) = match piece {
                Piece::Record(bytes) => (bytes, None),
                Piece::Broken(bytes, why) => (bytes, Some(why)),
            };
            found.push((line, String::from_utf8(bytes.to_vec()).unwrap(), why));
        }
        Some(found)
    }

    fn whole(text: &str) -> Vec<(u64, String)> {
        let found = values(text, 7, 1 << 20).unwrap();
        assert!(found.iter().all(|(.., why)| why.is_none()), "{found:?}");
        found.into_iter().map(|(line, text, _)| (line, text)).collect()
    }

    #[test]
    fn elements_and_objects_become_lines() {
        let text = "\u{feff}\n[ {\"a\": \"]\\\"}\",\r\n\"b\": [1, {}]} ,\n2,\"x\" ,[3]\n]\n";
        let expected =
            [(2, "{\"a\": \"]\\\"}\",  \"b\": [1, {}]}\n"), (4, "2\n"), (4, "\"x\"\n"), (4, "[3]\n")];
        assert_eq!(whole(text), expected.map(|(line, text)| (line, text.to_string())));
        assert_eq!(
            whole("{\n\"a\": 1\n}\n{\"b\": 2}\n"),
            [(1, "{ \"a\": 1 }\n".into()), (4, "{\"b\": 2}\n".into())]
        );
        assert_eq!(whole("[]"), []);
        for lines in ["{\"a\": 1}\n{\"b\":\n", "{\"a\": 1}", "", " \n", "x\n", "{\"a\":"] {
            assert_eq!(values(lines, 5, 100), None, "{lines}");
        }
    }

    #[test]
    fn regression_a_first_record_that_is_cut_made_all_lines_one_record() {
        for first in ["{\"a\": \"cut", "{\"a\": 1,", "{\"a\": 1, \"b\"", "{"] {
            assert_eq!(values(&format!("{first}\n{{\"a\": 2}}\n"), 5, 100), None, "{first}");
        }
        for objects in ["{\"a\":\n{\"b\": 2}}\n", "{\"a\": [1,\n{\"b\": 2}]}\n", "{\n\n{\"b\": 2}"] {
            assert!(values(objects, 5, 100).is_some(), "{objects}");
        }
    }

    #[test]
    fn what_has_no_end_or_is_too_long_is_told_once() {
        let why = |text: &str| -> Vec<Option<String>> {
            values(text, 3, 40).unwrap().into_iter().map(|(.., why)| why).collect()
        };
        let end = |what: &str| Some(what.to_string());
        assert_eq!(why("[{\"a\": 1}"), [None, end("a JSON array without an end")]);
        assert_eq!(why("[{\"a\": 1}, {\"b\""), [None, end("a JSON value without an end")]);
        assert_eq!(why("[1] [2]"), [None, end("the file goes on after the end of its JSON array")]);
        let long = format!("[{{\"a\": \"{}\"}}, 2]", "x".repeat(1000));
        assert_eq!(why(&long), [end("a value of more than 40 bytes"), None]);
        assert!(values(&long, 3, 40).unwrap()[0].1.len() <= 41);
    }

    fn objects() -> impl Strategy<Value = Vec<Value>> {
        let text = "[a-c\"\\\\\\[\\]{},\n é]{0,12}";
        let object = (text, text, any::<i64>(), prop::collection::vec(text, 0..3)).prop_map(|(name, text, n, list)| {
            json!({ name: text, "n": n, "list": list, "inside": { "list": [list, null, 1.5] } })
        });
        prop::collection::vec(object, 0..8)
    }

    proptest! {
        #[test]
        fn elements_are_those_that_serde_finds(objects in objects(), pretty in any::<bool>(), step in 1usize..50) {
            let text = if pretty { serde_json::to_string_pretty(&objects) } else { serde_json::to_string(&objects) };
            let found = values(&text.unwrap(), step, 1 << 20).unwrap();
            let parsed: Vec<Value> = found.iter().map(|(_, line, why)| {
                assert!(why.is_none() && line.ends_with('\n') && line.matches('\n').count() == 1);
                serde_json::from_str(line).unwrap()
            }).collect();
            prop_assert_eq!(&parsed, &objects);
            let alone: Vec<String> = objects.iter().map(|object| serde_json::to_string_pretty(object).unwrap()).collect();
            let parsed: Option<Vec<Value>> = values(&alone.join("\n"), step, 1 << 20)
                .map(|found| found.iter().map(|(_, line, _)| serde_json::from_str(line).unwrap()).collect());
            prop_assert_eq!(parsed.unwrap_or_default(), objects);
        }
    }
}
