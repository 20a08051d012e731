//! Writes compressed streams, and reads them back.

use std::io::{self, Read, Write};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::kind::Compression;

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
            Some(Compression::Bzip2 | Compression::Xz) => return Err(io::ErrorKind::Unsupported.into()),
        })
    }

    /// Whether bytes are written as they are.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
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

/// Reads back what an [`Encoder`] has written, also several times.
pub(super) fn decoder<'a>(
    inner: impl Read + 'a,
    compression: Option<Compression>,
) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match compression {
        None => Box::new(inner),
        Some(Compression::Gzip) => Box::new(MultiGzDecoder::new(inner)),
        Some(Compression::Zstd) => Box::new(zstd::stream::read::Decoder::new(inner)?),
        Some(Compression::Bzip2 | Compression::Xz) => return Err(io::ErrorKind::Unsupported.into()),
    })
}
