//! What is this? The kind of a file or stream, by its first bytes and its name: content first, name second.
//!
//! Every command asks here, and then reads the file, refuses it with the command that would do, or leaves it out and
//! counts it. Nothing in this folder opens a file.

mod compression;
mod encoding;
mod known;
mod records;
mod table;

use std::path::Path;

pub use compression::{Compression, looks_compressed};
pub(super) use compression::{START_BYTES, is_undecided, unread_format};
pub(super) use encoding::AsciiBytes;
pub(super) use encoding::HEAD_BYTES;
pub use encoding::{Decoded, Encoding, decode};
pub use known::{Class, Unread, reader_of};
pub use records::Records;
pub(crate) use records::format_of_name;
pub(super) use records::name_says_html;
pub use table::{names_of_compressions, table_of_kinds, table_of_readers};

use known::Known;

/// The most bytes of a character that the end of a head may have cut.
const CUT_BYTES: usize = 4;
/// The first bytes of the files of a database, around the letter that tells which one it is.
const DATABASE: [&[u8]; 2] = [b"\x89NP", b"\r\n\x1a\n"];

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// No byte.
    Empty,
    /// Records with fields.
    Records(Records),
    /// A text.
    Text,
    /// A text that is an HTML page, of which the visible part is compared.
    Html,
    /// A picture of the format with this extension.
    Picture(&'static str),
    /// A file of a nearprint database.
    Database,
    /// A format that is known and not read, or no known format.
    Unread(Unread),
    /// A named pipe, a socket or a device.
    Special,
}

impl Kind {
    /// The name in messages and counts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Records(records) => records.name(),
            Self::Text => "text",
            Self::Html => "HTML",
            Self::Picture(_) => "images",
            Self::Database => "nearprint databases",
            Self::Unread(format) => format.name,
            Self::Special => "pipe, socket or device",
        }
    }
}

/// What a file is, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recognized {
    /// What it is.
    pub kind: Kind,
    /// How it is compressed.
    pub compression: Option<Compression>,
    /// The encoding of a text.
    pub encoding: Option<Encoding>,
    /// What has decided.
    pub why: &'static str,
}

impl Recognized {
    pub(super) const DATABASE: Self = Self::new(Kind::Database, "its files");
    pub(super) const SPECIAL: Self = Self::new(Kind::Special, "its type");

    const fn new(kind: Kind, why: &'static str) -> Self {
        Self { kind, compression: None, encoding: None, why }
    }

    /// Whether the file is a text, records of text included.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.encoding.is_some()
    }
}

/// Recognizes a file by its first bytes, decompressed, and its name. `is_whole`: there are no more bytes. 8,192 bytes
/// are enough. `given` is the encoding of texts, where it is known.
///
/// ```
/// use nearprint_text::documents::{Kind, recognize};
///
/// let pdf = recognize("letter.txt".as_ref(), b"%PDF-1.7\n...", false, None);
/// assert_eq!((pdf.kind.name(), pdf.why), ("pdf", "its first bytes"));
/// let table = recognize("table.csv".as_ref(), b"id,text\n1,one\n", true, None);
/// assert_eq!(table.kind.name(), "CSV");
/// assert_eq!(recognize("part-00000".as_ref(), b"{\"text\": \"one\"}\n", true, None).kind.name(), "JSON lines");
/// # let _ = Kind::Text;
/// ```
#[must_use]
pub fn recognize(path: &Path, head: &[u8], is_whole: bool, given: Option<Encoding>) -> Recognized {
    const BYTES: &str = "its first bytes";
    const NAME: &str = "its name";
    if head.is_empty() && is_whole {
        return Recognized::new(Kind::Empty, "its size");
    }
    if head.starts_with(b"PAR1") {
        return Recognized::new(Kind::Records(Records::Parquet), BYTES);
    }
    if let Some(found) = known::printable(head) {
        return Recognized::new(Kind::Unread(found), BYTES);
    }
    let head = &head[..head.len().min(HEAD_BYTES)];
    let Some(found) = decode(whole_characters(head, is_whole), given) else {
        return Recognized::new(binary(head), BYTES);
    };
    let text = |kind, why| Recognized { encoding: Some(found.encoding), ..Recognized::new(kind, why) };
    if let Some(records) = Records::of_content(path, found.text.as_bytes(), is_whole) {
        // A name says whether JSON may have another layout than that of its first bytes.
        let named = Records::of_name(path).filter(|named| named.format() == records.format());
        return text(Kind::Records(named.filter(|named| *named == Records::Json).unwrap_or(records)), BYTES);
    }
    if let Some(named) = Records::of_name(path) {
        return text(Kind::Records(named), NAME);
    }
    match (name_says_html(path), crate::recipe::begins_as_html(&found.text)) {
        (Some(true) | None, true) => text(Kind::Html, BYTES),
        (Some(true), false) => text(Kind::Html, NAME),
        (Some(false), true) => text(Kind::Text, NAME),
        (Some(false) | None, false) => text(Kind::Text, BYTES),
    }
}

/// The first bytes without a character that is cut at their end.
pub(super) fn whole_characters(head: &[u8], is_whole: bool) -> &[u8] {
    if is_whole {
        return head;
    }
    match std::str::from_utf8(head) {
        Err(error) if error.error_len().is_none() => &head[..error.valid_up_to()],
        Err(_) => &head[..head.len() - head.len() % CUT_BYTES],
        Ok(_) => head,
    }
}

/// Whether a file is one of a database, by its first bytes.
pub(super) fn is_head_of_database(head: &[u8]) -> bool {
    let [start, end] = DATABASE;
    head.starts_with(start) && head.get(start.len() + 1..).is_some_and(|rest| rest.starts_with(end))
}

fn binary(head: &[u8]) -> Kind {
    if is_head_of_database(head) {
        return Kind::Database;
    }
    match known::binary(head) {
        Known::Picture(extension) => Kind::Picture(extension),
        Known::Unread(format) => Kind::Unread(format),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, head: &[u8]) -> &'static str {
        recognize(Path::new(name), head, head.len() < HEAD_BYTES, None).kind.name()
    }

    fn padded(start: &[u8]) -> Vec<u8> {
        [start, &[0, 1, 2, 0xff].repeat(200)].concat()
    }

    #[test]
    fn printable_formats_are_known_by_their_first_bytes() {
        for (start, name) in [
            (&b"%PDF-1.4\n1 0 obj"[..], "pdf"),
            (b"\n%PDF-1.7", "pdf"),
            (b"%!PS-Adobe-3.0 EPSF", "ps"),
            (b"{\\rtf1\\ansi one}", "rtf"),
        ] {
            assert_eq!(kind("a.txt", start), name);
        }
        assert_eq!(kind("a.txt", b"PDF is a format. %PDF-1.4"), "text");
    }

    #[test]
    fn formats_of_binary_bytes_are_known_by_their_first_bytes() {
        let tar = [b"a.txt".to_vec(), vec![0; 252], b"ustar\x0000".to_vec(), vec![0; 248]].concat();
        assert_eq!(kind("a", &tar), "tar");
        for (start, name) in [
            (&b"PK\x03\x04\x14"[..], "zip"),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "doc, xls or ppt"),
            (b"\x7fELF\x02\x01\x01", "program"),
            (b"\0\0\0\x18ftypmp42", "video"),
            (b"ID3\x03\0\0", "audio"),
            (b"wOF2\0\x01\0\0", "font"),
            (b"\x89PNG\r\n\x1a\n\0", "images"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "images"),
            (b"SQLite format 3\0", "sqlite"),
            (b"\x93NUMPY\x01\0", "npy"),
            (b"\x89NPS\r\n\x1a\n\0", "nearprint databases"),
            (b"\x05\x06\x07", "binary"),
        ] {
            assert_eq!(kind("a.txt", &padded(start)), name, "{start:?}");
        }
        // The same letters at the start of a text are a text.
        for text in ["MZ is a prefix", "BM", "ID3 tags", "GIF89a, a format", "SQLite format 3"] {
            assert_eq!(kind("a.txt", text.as_bytes()), "text", "{text}");
        }
    }

    #[test]
    fn office_documents_are_told_from_archives() {
        for (entry, name) in [("word/document.xml", "docx"), ("xl/workbook.xml", "xlsx"), ("x.txt", "zip")] {
            let mut head = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0\x08\0\0\0\x13\0\0\0".to_vec();
            head.extend_from_slice(b"[Content_Types].xml<Types/>PK\x03\x04\0\0\0\0");
            head.extend_from_slice(entry.as_bytes());
            assert_eq!(kind("a.zip", &head), name);
        }
    }

    #[test]
    fn records_are_known_by_content_and_then_by_name() {
        let lines = b"{\"text\": \"one\"}\n{\"text\": \"two\"}\n";
        for name in ["a.jl", "part-00000", "a.json.1", "a.txt", "a.xyz", "a.csv", "a.parquet"] {
            assert_eq!(kind(name, lines), "JSON lines", "{name}");
        }
        assert_eq!(kind("part-00000", b"{\"text\": \"one\"}"), "JSON lines");
        assert_eq!(kind("a.map", b"{\"text\": \"one\"}"), "text", "settings");
        assert_eq!(kind("a.txt", b"{\n \"text\": \"one\"\n}\n"), "text", "an object of several lines");
        assert_eq!(kind("a.json", b"{\n \"text\": \"one\"\n}\n"), "JSON");
        assert_eq!(kind("a.json", lines), "JSON");
        assert_eq!(kind("a", b"[{\"text\": \"one\"},\n {\"text\""), "text", "no array");
        assert_eq!(kind("a.jsonl", b"[ {\"text\": \"one\"} ]"), "JSON");
        assert_eq!(kind("a", b"PAR1\x15\x04"), "Parquet");
        assert_eq!(kind("a.parquet", b"one"), "Parquet");
        assert_eq!(kind("a.csv.gz", b"id,text\n1,one\n"), "CSV");
        assert_eq!(kind("a.TSV", b"id\ttext\n"), "TSV");
        assert_eq!(kind("a.csv", &padded(b"\x7fELF")), "program");
        assert_eq!(kind("a.txt", b"{}\n{}\n"), "text");
        assert_eq!(kind("a.txt", b"{\"a\": 1}\nand words\n"), "text");
    }

    #[test]
    fn long_records_are_known_by_what_was_read_of_them() {
        let object = format!("{{\"text\": \"{}", "one ".repeat(HEAD_BYTES / 4));
        let array = format!("[{object}");
        assert_eq!(kind("a", &object.as_bytes()[..HEAD_BYTES]), "JSON lines");
        assert_eq!(kind("a", &array.as_bytes()[..HEAD_BYTES]), "JSON");
    }

    #[test]
    fn regression_python_s_escapes_and_nan_are_json_lines() {
        assert_eq!(kind("a", b"{\"text\": \"a \\ud83d b\"}\n{\"x\": NaN}\n"), "JSON lines");
    }

    #[test]
    fn pages_are_known_by_content_and_by_name() {
        assert_eq!(kind("a.txt", b"<!DOCTYPE html><p>one"), "HTML");
        assert_eq!(kind("a.HTM.gz", b"<p>one"), "HTML");
        for name in ["a.svelte", "a.vue", "a.jsx", "a.txt"] {
            assert_eq!(kind(name, b"<script>let x</script>\n<h1>One</h1>"), "text", "{name}");
        }
    }

    #[test]
    fn texts_have_an_encoding_and_the_reason_is_said() {
        let found = recognize(Path::new("a.txt"), b"\xff\xfeo\0n\0", true, None);
        assert_eq!((found.kind, found.encoding.unwrap().name()), (Kind::Text, "UTF-16LE"));
        assert_eq!(found.why, "its first bytes");
        let given = recognize(Path::new("a.csv"), b"a\xe9", true, "koi8-r".parse().ok());
        assert_eq!(
            (given.kind.name(), given.encoding.unwrap().name(), given.why),
            ("CSV", "KOI8-R", "its name")
        );
        assert_eq!(kind("a.jsonl", b""), "empty");
        assert_eq!(kind("a", "\u{e9}".repeat(HEAD_BYTES).as_bytes().get(1..=HEAD_BYTES).unwrap()), "text");
    }

    #[test]
    fn a_head_that_cuts_a_character_is_utf_8() {
        let text = format!("x{}", "\u{e9}".repeat(HEAD_BYTES));
        let found = recognize(Path::new("a"), &text.as_bytes()[..HEAD_BYTES], false, None);
        assert_eq!(found.encoding, Some(Encoding::UTF_8));
    }
}
