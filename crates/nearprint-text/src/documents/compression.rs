//! gzip and Zstandard: how they are recognized, and how they are written.

use std::io::{self, Write};
use std::path::Path;

use flate2::write::GzEncoder;

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// gzip, `.gz`
    Gzip,
    /// Zstandard, `.zst` or `.zstd`
    Zstd,
}

const EXTENSIONS: [(&str, Compression); 3] =
    [(".gz", Compression::Gzip), (".zst", Compression::Zstd), (".zstd", Compression::Zstd)];

impl Compression {
    /// The compression that the extension of a file name denotes.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        EXTENSIONS.iter().find(|(extension, _)| name.ends_with(extension)).map(|&(_, found)| found)
    }

    /// A file name without the extension of a compression.
    #[must_use]
    pub fn strip(name: &str) -> &str {
        EXTENSIONS.iter().find_map(|(extension, _)| name.strip_suffix(extension)).unwrap_or(name)
    }

    /// The compression that the first bytes of a stream denote.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "Zstandard",
        }
    }
}

/// Writes a stream, compressed or not.
pub(super) enum Encoder<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> Encoder<W> {
    pub(super) fn new(inner: W, compression: Option<Compression>) -> io::Result<Self> {
        Ok(match compression {
            None => Self::Plain(inner),
            Some(Compression::Gzip) => Self::Gzip(GzEncoder::new(inner, flate2::Compression::default())),
            Some(Compression::Zstd) => {
                let mut encoder = zstd::stream::write::Encoder::new(inner, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
        })
    }

    pub(super) fn get_ref(&self) -> &W {
        match self {
            Self::Plain(inner) => inner,
            Self::Gzip(encoder) => encoder.get_ref(),
            Self::Zstd(encoder) => encoder.get_ref(),
        }
    }

    /// Writes the end of the compressed stream.
    pub(super) fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(inner) => Ok(inner),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(inner) => inner.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(inner) => inner.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}
