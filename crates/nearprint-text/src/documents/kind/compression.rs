//! Compressed data, by the first bytes and the extensions of names.

use std::path::Path;

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// gzip, `.gz`
    Gzip,
    /// Zstandard, `.zst` or `.zstd`
    Zstd,
    /// bzip2, `.bz2`; is read only
    Bzip2,
    /// xz, `.xz`; is read only
    Xz,
}

const EXTENSIONS: [(&str, Compression); 5] = [
    (".gz", Compression::Gzip),
    (".zst", Compression::Zstd),
    (".zstd", Compression::Zstd),
    (".bz2", Compression::Bzip2),
    (".xz", Compression::Xz),
];

/// The longest of the first bytes that denote a compression.
pub(in super::super) const START_BYTES: usize = 10;
/// After `BZh` and a digit: the first block, or the end of an empty file.
const BZIP2_BLOCKS: [&[u8]; 2] = [b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"];
const XZ: &[u8] = b"\xfd7zXZ\0";

/// A format of compressed data that is not read.
#[derive(Debug)]
pub(in super::super) struct Unread {
    /// The name in messages.
    pub(in super::super) name: &'static str,
    /// The first bytes of a file; empty if any bytes are possible.
    start: &'static [u8],
    /// The extension of file names that alone denotes the format.
    extension: Option<&'static str>,
    /// A program that writes the content of a file to standard output.
    pub(in super::super) program: &'static str,
}

impl Unread {
    const fn new(name: &'static str, start: &'static [u8], program: &'static str) -> Self {
        Self { name, start, extension: None, program }
    }
}

/// The extensions of formats that are not read, and their names.
const UNREAD_EXTENSIONS: [(&str, &str); 9] = [
    (".zip", "zip"),
    (".7z", "7-Zip"),
    (".rar", "RAR"),
    (".lz4", "LZ4"),
    (".lzma", "LZMA"),
    (".lz", "lzip"),
    (".lzo", "lzop"),
    (".Z", "compress"),
    (".br", "Brotli"),
];

static UNREAD: [Unread; 11] = [
    Unread::new("zip", b"PK\x03\x04", "unzip -p"),
    Unread::new("zip", b"PK\x05\x06", "unzip -p"),
    Unread::new("7-Zip", b"7z\xbc\xaf\x27\x1c", "7z x -so"),
    Unread::new("RAR", b"Rar!\x1a\x07", "unrar p -inul"),
    Unread::new("LZ4", b"\x04\x22\x4d\x18", "lz4 -dc"),
    Unread::new("LZMA", b"\x5d\0\0", "xz --format=lzma -dc"),
    Unread::new("lzip", b"LZIP\x01", "lzip -dc"),
    Unread::new("lzop", b"\x89LZO\0\r\n\x1a\n", "lzop -dc"),
    Unread::new("compress", b"\x1f\x9d", "gzip -dc"),
    Unread::new("Snappy", b"\xff\x06\0\0sNaPpY", "snzip -dc"),
    Unread { name: "Brotli", start: b"", extension: Some(".br"), program: "brotli -dc" },
];

/// Whether more bytes than these, the first of a stream, are needed to recognize a format.
pub(in super::super) fn is_undecided(head: &[u8]) -> bool {
    let agrees = |start: &[u8]| head.iter().zip(start).all(|(byte, expected)| byte == expected);
    let may_be_skippable = head.first().is_none_or(is_skippable) && agrees_after_first(head);
    head.len() < START_BYTES
        && (may_be_skippable
            || [b"\x1f\x8b", &b"\x28\xb5\x2f\xfd"[..], b"BZh", XZ].into_iter().any(agrees)
            || UNREAD.iter().filter(|format| !format.start.is_empty()).any(|format| agrees(format.start)))
}

/// Whether a byte begins a skippable frame of Zstandard, with three further ones.
fn is_skippable(first: &u8) -> bool {
    (0x50..=0x5f).contains(first)
}

fn agrees_after_first(head: &[u8]) -> bool {
    head.iter().skip(1).zip(b"\x2a\x4d\x18").all(|(byte, expected)| byte == expected)
}

impl Compression {
    /// The compression that the extension of a file name denotes.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        EXTENSIONS.iter().find(|(extension, _)| without(name, extension).is_some()).map(|&(_, found)| found)
    }

    /// The extensions of compressed files that are read.
    pub(super) fn extensions() -> impl Iterator<Item = &'static str> {
        EXTENSIONS.iter().map(|(extension, _)| *extension)
    }

    /// A file name without the extension of a compression.
    #[must_use]
    pub fn strip(name: &str) -> &str {
        let extensions = Self::extensions().chain(UNREAD_EXTENSIONS.iter().map(|(extension, _)| *extension));
        extensions.filter_map(|extension| without(name, extension)).next().unwrap_or(name)
    }

    /// The compression that the first bytes of a stream denote.
    pub(in super::super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [first, 0x2a, 0x4d, 0x18, ..] if is_skippable(first) => Some(Self::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', block @ ..]
                if BZIP2_BLOCKS.iter().any(|start| block.starts_with(start)) =>
            {
                Some(Self::Bzip2)
            }
            _ => bytes.starts_with(XZ).then_some(Self::Xz),
        }
    }

    /// The compression that a name denotes and that is not written, read or not.
    pub(in super::super) fn unwritten(path: &Path) -> Option<&'static str> {
        if let Some(found) = Self::of(path) {
            return (!found.is_written()).then(|| found.name());
        }
        let name = path.file_name()?.to_str()?;
        let found = UNREAD_EXTENSIONS.iter().find(|(extension, _)| without(name, extension).is_some());
        found.map(|(_, found)| *found)
    }

    /// Whether nearprint writes it.
    pub(crate) fn is_written(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd)
    }

    /// The name in messages.
    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "Zstandard",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }
}

/// The name of a file without an extension, in letters of either case.
fn without<'a>(name: &'a str, extension: &str) -> Option<&'a str> {
    let (stem, end) = name.split_at_checked(name.len().checked_sub(extension.len())?)?;
    end.eq_ignore_ascii_case(extension).then_some(stem)
}

/// Whether bytes are the first ones of compressed data, read or not.
///
/// ```
/// assert!(nearprint_text::documents::looks_compressed(b"PK\x03\x04..."));
/// assert!(!nearprint_text::documents::looks_compressed(b"PK is a name"));
/// ```
#[must_use]
pub fn looks_compressed(bytes: &[u8]) -> bool {
    Compression::of_bytes(bytes).is_some() || unread_format(Path::new(""), bytes).is_some()
}

/// The format that is not read, of a file with this name and these first bytes.
pub(in super::super) fn unread_format(path: &Path, head: &[u8]) -> Option<&'static Unread> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    UNREAD.iter().find(|format| match format.extension {
        // In capitals, it may be another one: `.BR` is Brazil.
        Some(extension) => name.ends_with(extension),
        None => head.starts_with(format.start),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognized_by_their_first_bytes() {
        let of = |bytes: &[u8]| Compression::of_bytes(bytes);
        assert_eq!(of(b"\x1f\x8b\x08"), Some(Compression::Gzip));
        assert_eq!(of(b"\x28\xb5\x2f\xfd"), Some(Compression::Zstd));
        assert_eq!(of(b"\x5a\x2a\x4d\x18\x04"), Some(Compression::Zstd));
        assert_eq!(of(b"BZh91AY&SY"), Some(Compression::Bzip2));
        assert_eq!(of(b"\xfd7zXZ\0\0\x04"), Some(Compression::Xz));
        for text in [&b"BZh91 is a word"[..], b"LZIP is a program", b"Z*", b"]", b""] {
            assert!(!looks_compressed(text), "{text:?}");
        }
        let name = |path: &str, head: &[u8]| unread_format(Path::new(path), head).map(|format| format.name);
        assert_eq!(name("a", b"PK\x03\x04\x14"), Some("zip"));
        assert_eq!(name("a.jsonl.br", b"{"), Some("Brotli"));
        assert_eq!(name("a.lz4", b"{"), None);
        for format in &UNREAD {
            assert!(
                format.start.len() <= START_BYTES && format.start.is_empty() == format.extension.is_some()
            );
        }
    }

    #[test]
    fn a_line_decides_before_more_is_read() {
        for undecided in [&b""[..], b"P", b"Z*M", b"BZh9", b"\x1f", b"\xff\x06", b"7z"] {
            assert!(is_undecided(undecided), "{undecided:?}");
        }
        for decided in [&b"7\n"[..], b"{", b"PA", b"BZ1", b"Rat", b"1234567890"] {
            assert!(!is_undecided(decided), "{decided:?}");
        }
    }
}
