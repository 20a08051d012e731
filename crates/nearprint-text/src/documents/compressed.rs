//! Reading and writing gzip and Zstandard.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::inputs::Input;
use crate::error::{Error, Result};

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip, `.gz`
    Gzip,
    /// Zstandard, `.zst` or `.zstd`
    Zstd,
}

const EXTENSIONS: [(&str, Compression); 3] =
    [(".gz", Compression::Gzip), (".zst", Compression::Zstd), (".zstd", Compression::Zstd)];

impl Compression {
    /// What the extension of a name tells.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        EXTENSIONS.iter().find(|(extension, _)| name.ends_with(extension)).map(|&(_, found)| found)
    }

    /// The name without the extension of a compression.
    pub fn strip(name: &str) -> &str {
        EXTENSIONS.iter().find_map(|(extension, _)| name.strip_suffix(extension)).unwrap_or(name)
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "Zstandard",
        }
    }
}

/// The bytes of an input, decompressed.
pub(super) struct Source {
    inner: Box<dyn Read + Send>,
    compression: Option<Compression>,
    name: Arc<str>,
}

impl Source {
    /// Opens an input. The bytes read of it are added to `count`.
    ///
    /// What is compressed shows in the first bytes, so that standard input may be, too.
    pub(super) fn open(input: &Input, count: &Arc<AtomicU64>) -> Result<Self> {
        let inner: Box<dyn Read + Send> = if input.is_stdin() && input.spooled.is_none() {
            Box::new(io::stdin())
        } else {
            let path = input.spooled.as_ref().unwrap_or(&input.path);
            Box::new(File::open(path).map_err(Error::io("open", path))?)
        };
        let mut source = Self { inner, compression: None, name: input.name() };
        let mut head = Vec::new();
        let mut start = (&mut source.inner).take(4);
        start.read_to_end(&mut head).map_err(|error| source.failed(error))?;
        source.compression = Compression::of_bytes(&head);
        if let Some(named) = Compression::of(&input.path).filter(|_| source.compression.is_none()) {
            return Err(bad(&source.name, format!("named as {} data, and is none", named.name())));
        }
        let inner = Counting { inner: io::Cursor::new(head).chain(source.inner), count: count.clone() };
        source.inner = match source.compression {
            None => Box::new(inner),
            Some(Compression::Gzip) => Box::new(MultiGzDecoder::new(inner)),
            Some(Compression::Zstd) => {
                let decoder = zstd::stream::read::Decoder::new(inner);
                Box::new(decoder.map_err(Error::io("read", &input.path))?)
            }
        };
        Ok(source)
    }

    /// Bytes that are no file.
    #[cfg(test)]
    pub(super) fn of_reader(inner: Box<dyn Read + Send>) -> Self {
        Self { inner, compression: None, name: "input".into() }
    }

    /// Reads bytes; 0 at the end only.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map_err(|error| self.failed(error)),
            }
        }
    }

    /// Reads everything, if it is no more than so many bytes.
    pub(super) fn read_all(mut self, max_bytes: usize) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let read = (&mut self.inner).take(max_bytes as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(error))?;
        Ok((bytes.len() <= max_bytes).then_some(bytes))
    }

    /// What the system reports has a number; everything else comes from a decompressor.
    fn failed(&self, error: io::Error) -> Error {
        match self.compression {
            Some(compression) if error.raw_os_error().is_none() => {
                bad(&self.name, format!("damaged {} data: {error}", compression.name()))
            }
            _ => Error::io("read", &*self.name)(error),
        }
    }
}

/// Opens a compressed file. Errors of reading it are an [`Error`] inside that of the standard library.
pub fn open_compressed(path: &Path) -> Result<impl Read + use<>> {
    Source::open(&Input::file(path), &Arc::default()).map(Bytes)
}

/// What a source reads.
struct Bytes(Source);

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(io::Error::other)
    }
}

/// A whole file that cannot be read for what stands in it.
pub(super) fn bad(name: &str, why: String) -> Error {
    Error::Input { place: name.into(), why }
}

/// Counts what is read.
struct Counting<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(buffer)?;
        self.count.fetch_add(len as u64, Ordering::Relaxed);
        Ok(len)
    }
}

/// Writes a stream, compressed or not.
pub(super) enum Sink<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> Sink<W> {
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

    /// Writes what ends the stream.
    pub(super) fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(inner) => Ok(inner),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Sink<W> {
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
