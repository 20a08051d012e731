//! Formats that are known and not read, by their first bytes.

use infer::MatcherType;

/// What a file of a format that is not read holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// Text with a layout: PDF, office, e-books.
    Document,
    /// Files within a file, or compressed data.
    Archive,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// A font.
    Font,
    /// A program or a library.
    Program,
    /// Rows and arrays of another program.
    Data,
    /// Bytes that are no text and of no known format.
    Binary,
}

/// A format that is known and not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unread {
    /// What it holds.
    pub class: Class,
    /// Its name in counts: that of the format or, where nobody would convert it to text, that of the class.
    pub name: &'static str,
}

impl Class {
    pub(super) const ALL: [Self; 8] = [
        Self::Document,
        Self::Archive,
        Self::Audio,
        Self::Video,
        Self::Font,
        Self::Program,
        Self::Data,
        Self::Binary,
    ];
}

impl Unread {
    /// Bytes that are no text and of no known format.
    pub(in super::super) const BINARY: Self = Self::new(Class::Binary, "binary");

    /// Compressed data of a format with this name.
    pub(in super::super) const fn archive(name: &'static str) -> Self {
        Self::new(Class::Archive, name)
    }

    const fn new(class: Class, name: &'static str) -> Self {
        Self { class, name }
    }
}

/// A command that writes the text of a file to standard output, by the name of its format.
///
/// ```
/// assert_eq!(nearprint_text::documents::reader_of("pdf"), Some("pdftotext FILE -"));
/// ```
#[must_use]
pub fn reader_of(name: &str) -> Option<&'static str> {
    READERS.iter().find(|(names, _)| names.contains(&name)).map(|(_, reader)| *reader)
}

/// Programs that make text of formats.
pub(super) const READERS: [(&[&str], &str); 5] = [
    (&["pdf"], "pdftotext FILE -"),
    (&["ps"], "ps2ascii FILE"),
    (&["docx", "odt", "epub", "rtf"], "pandoc -t plain FILE"),
    (&["tar"], "tar -xOf FILE"),
    (&["zip"], "unzip -p FILE"),
];

/// Formats that may be printable from begin to end, so that nothing but their first bytes tells them from texts.
pub(super) const PRINTABLE: [(&[u8], Unread); 4] = [
    (b"%PDF-", Unread::new(Class::Document, "pdf")),
    (b"%!PS", Unread::new(Class::Document, "ps")),
    (b"{\\rtf", Unread::new(Class::Document, "rtf")),
    (b"\xc5\xd0\xd3\xc6", Unread::new(Class::Document, "ps")),
];

/// Names of files in archives of the office.
const OFFICE: [(&str, Unread); 3] = [
    ("word/document.xml", Unread::new(Class::Document, "docx")),
    ("xl/workbook.xml", Unread::new(Class::Document, "xlsx")),
    ("ppt/presentation.xml", Unread::new(Class::Document, "pptx")),
];

/// Formats that the crate does not know.
const OTHERS: [(&[u8], Unread); 6] = [
    (b"ORC", Unread::new(Class::Data, "orc")),
    (b"Obj\x01", Unread::new(Class::Data, "avro")),
    (b"ARROW1", Unread::new(Class::Data, "arrow")),
    (b"\x93NUMPY", Unread::new(Class::Data, "npy")),
    (b"\x89HDF\r\n\x1a\n", Unread::new(Class::Data, "hdf5")),
    (b"!<arch>\n", Unread::new(Class::Archive, "ar")),
];

/// The bytes behind which PDF may begin.
const SPACE: [u8; 5] = *b" \t\r\n\0";

/// The format of bytes that may look like a text.
pub(super) fn printable(head: &[u8]) -> Option<Unread> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let start = head.iter().position(|byte| !SPACE.contains(byte)).unwrap_or(head.len());
    PRINTABLE.iter().find(|(mark, _)| head[start..].starts_with(mark)).map(|&(_, found)| found)
}

/// The format of bytes that are no text, and whether it is a picture.
pub(super) fn binary(head: &[u8]) -> Known {
    match infer::get(head) {
        Some(found) if found.matcher_type() == MatcherType::Image => Known::Picture(found.extension()),
        Some(found) if found.extension() == "zip" => Known::Unread(of_zip(head)),
        Some(found) => Known::Unread(of_crate(found.matcher_type(), found.extension())),
        None => {
            let other = OTHERS.iter().find(|(mark, _)| head.starts_with(mark));
            Known::Unread(other.map_or(Unread::BINARY, |&(_, found)| found))
        }
    }
}

/// A format that bytes tell.
pub(super) enum Known {
    Picture(&'static str),
    Unread(Unread),
}

/// Archives of the office, by the names of files in them, in whatever order they are.
fn of_zip(head: &[u8]) -> Unread {
    let has = |(part, _): &&(&str, _)| memchr::memmem::find(head, part.as_bytes()).is_some();
    OFFICE.iter().find(has).map_or(Unread::archive("zip"), |&(_, found)| found)
}

fn of_crate(kind: MatcherType, extension: &'static str) -> Unread {
    match (kind, extension) {
        (MatcherType::Audio, _) => Unread::new(Class::Audio, "audio"),
        (MatcherType::Video, _) => Unread::new(Class::Video, "video"),
        (MatcherType::Font, _) | (_, "eot") => Unread::new(Class::Font, "font"),
        (MatcherType::App, "der" | "pem") => Unread::BINARY,
        (MatcherType::App, _) | (_, "swf" | "nes") => Unread::new(Class::Program, "program"),
        // One container for all of them.
        (_, "doc" | "xls" | "ppt" | "msi") => Unread::new(Class::Document, "doc, xls or ppt"),
        (MatcherType::Doc | MatcherType::Book, name) => Unread::new(Class::Document, name),
        (_, "epub" | "pdf" | "rtf" | "ps") => Unread::new(Class::Document, extension),
        (_, "sqlite" | "dcm") => Unread::new(Class::Data, extension),
        (MatcherType::Archive, name) => Unread::new(Class::Archive, name),
        _ => Unread::BINARY,
    }
}
