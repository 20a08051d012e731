//! Files of records, by their content first and then by their names, and the names of pages.

use std::path::Path;

use super::super::format::Format;
use super::compression::Compression;

/// The extensions of HTML pages, in lower case.
pub(super) const HTML_EXTENSIONS: [&str; 3] = ["html", "htm", "xhtml"];

/// The extensions of source text, of which more than what a reader sees is compared, even if it begins as a page.
pub(super) const SOURCE_EXTENSIONS: [&str; 10] =
    ["astro", "erb", "ejs", "jsp", "jsx", "php", "phtml", "svelte", "tsx", "vue"];

/// How a file holds records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Records {
    /// One JSON object a line.
    JsonLines,
    /// JSON in any layout: an array of objects, or one object after the other.
    Json,
    /// Comma-separated, with a header.
    Csv,
    /// Tab-separated, with a header.
    Tsv,
    /// Parquet.
    Parquet,
}

impl Records {
    /// The format that reads them.
    pub(in super::super) fn format(self) -> Format {
        match self {
            Self::JsonLines | Self::Json => Format::Jsonl,
            Self::Csv => Format::Csv,
            Self::Tsv => Format::Tsv,
            Self::Parquet => Format::Parquet,
        }
    }

    /// The name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            other => other.format().name(),
        }
    }

    /// The extensions of names, in lower case.
    pub(super) fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::JsonLines => &["jsonl", "ndjson", "jl", "jsonlines", "ldjson"],
            Self::Json => &["json"],
            Self::Csv => &["csv"],
            Self::Tsv => &["tsv"],
            Self::Parquet => &["parquet"],
        }
    }

    pub(super) const ALL: [Self; 5] = [Self::JsonLines, Self::Json, Self::Csv, Self::Tsv, Self::Parquet];

    /// The records that a file name denotes; the extension of a compression is skipped.
    pub(in super::super) fn of_name(path: &Path) -> Option<Self> {
        let (_, extension) = parts_of(path);
        let extension = extension?;
        Self::ALL.into_iter().find(|records| records.extensions().contains(&&*extension))
    }

    /// The records that decompressed first bytes denote. `is_whole`: they are the whole file.
    pub(super) fn of_content(path: &Path, head: &[u8], is_whole: bool) -> Option<Self> {
        if head.starts_with(b"PAR1") {
            return Some(Self::Parquet);
        }
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        match head.first() {
            Some(b'[') if head[1..].trim_ascii_start().starts_with(b"{\"") => {
                let array = Extent::of(head, b'[');
                (array == Extent::Whole || array == Extent::Open && !is_whole).then_some(Self::Json)
            }
            // Nothing else begins so that has such a name.
            Some(b'{') if Self::of_name(path) == Some(Self::JsonLines) => Some(Self::JsonLines),
            Some(b'{') => is_json_lines(path, head, is_whole).then_some(Self::JsonLines),
            _ => None,
        }
    }
}

/// The format that a file name denotes.
pub(crate) fn format_of_name(path: &Path) -> Format {
    Records::of_name(path).map_or(Format::Text, Records::format)
}

/// Whether the name of a file, compressed or not, is that of an HTML page; `None` if its content decides.
pub(in super::super) fn name_says_html(path: &Path) -> Option<bool> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let extension = Path::new(Compression::strip(name)).extension()?;
    let is_one_of = |names: &[&str]| names.iter().any(|name| extension.eq_ignore_ascii_case(name));
    match () {
        () if is_one_of(&HTML_EXTENSIONS) => Some(true),
        () if is_one_of(&SOURCE_EXTENSIONS) => Some(false),
        () => None,
    }
}

/// The stem and the extension, in lower case, of a file name without the extension of a compression.
fn parts_of(path: &Path) -> (String, Option<String>) {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    match Compression::strip(&name).rsplit_once('.') {
        Some((stem, extension)) => (stem.to_ascii_lowercase(), Some(extension.to_ascii_lowercase())),
        None => (name.to_ascii_lowercase(), None),
    }
}

/// Whether each line is a JSON object with a member: at least two of them, or one if the name says nothing else. Files
/// of settings are often one object.
fn is_json_lines(path: &Path, head: &[u8], is_whole: bool) -> bool {
    let mut num_objects = 0;
    let mut lines = head.split_inclusive(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let is_cut = lines.peek().is_none() && !is_whole;
        let object = line.trim_ascii();
        match Extent::of(object, b'{') {
            _ if object.is_empty() => {}
            Extent::Whole if object != b"{}" => num_objects += 1,
            // An object that goes on behind what was read.
            Extent::Open if is_cut && object[1..].trim_ascii_start().starts_with(b"\"") => num_objects += 1,
            _ if is_cut && num_objects > 0 => {}
            _ => return false,
        }
    }
    let (_, extension) = parts_of(path);
    let is_unnamed = extension.is_none_or(|name| {
        name == "txt" || name.bytes().all(|byte| byte.is_ascii_digit()) || Records::of_name(path).is_some()
    });
    num_objects >= if is_unnamed { 1 } else { 2 }
}

/// How far a JSON value reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    /// It has no end yet.
    Open,
    /// It does not begin as expected, is malformed, or something is behind it.
    Not,
}

impl Extent {
    fn of(bytes: &[u8], first: u8) -> Self {
        if bytes.first() != Some(&first) {
            return Self::Not;
        }
        // Escapes of lone surrogates and NaN, which other programs write, make no other layout.
        match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
            Ok(_) => Self::Whole,
            Err(error) if error.is_eof() => Self::Open,
            Err(_)
                if bytes.ends_with(b"}")
                    && first == b'{'
                    && bytes[1..].trim_ascii_start().starts_with(b"\"") =>
            {
                Self::Whole
            }
            Err(_) => Self::Not,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_denote_formats() {
        for (name, format) in [
            ("a.jsonl", Format::Jsonl),
            ("a.NDJSON.gz", Format::Jsonl),
            ("x/a.json.zst", Format::Jsonl),
            ("a.jl", Format::Jsonl),
            ("a.jsonlines.bz2", Format::Jsonl),
            ("a.ldjson", Format::Jsonl),
            ("a.csv.zstd", Format::Csv),
            ("a.b.tsv", Format::Tsv),
            ("a.parquet", Format::Parquet),
            ("a.txt", Format::Text),
            ("csv", Format::Text),
            ("a.gz", Format::Text),
            ("", Format::Text),
        ] {
            assert_eq!(format_of_name(Path::new(name)), format, "{name}");
        }
    }
}
