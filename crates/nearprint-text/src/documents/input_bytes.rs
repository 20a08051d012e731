//! The bytes of an input, decompressed.

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;

use super::input_file::InputFile;
use super::kind::{
    Compression, Encoding, START_BYTES, decode, is_undecided, unread_format, whole_characters,
};
use super::regular::open_regular;
use super::transcoder::Transcoder;
use crate::error::{Error, Result};

/// The largest window of Zstandard and xz, as a power of two: 128 MiB, which the decoder allocates.
const MAX_WINDOW_LOG: u32 = 27;
/// What the decoder of xz takes besides, in KiB.
const XZ_OVERHEAD_KIB: u32 = 1024;
/// The first bytes of a table by which its encoding is guessed.
const GUESSED_BYTES: usize = 1 << 16;
/// What the decoder of Zstandard says of a larger one.
const WINDOW_TOO_LARGE: &str = "Frame requires too much memory for decoding";

/// Reads the bytes of an input, decompressed.
pub(super) struct InputBytes {
    inner: Box<dyn Read + Send>,
    compression: Option<Compression>,
    name: Arc<str>,
}

impl InputBytes {
    /// Opens an input. The number of bytes read from it, before decompression, is added to `count`.
    ///
    /// The first bytes denote the compression, so that standard input may be compressed too.
    pub(super) fn open(input: &InputFile, count: &Arc<AtomicU64>) -> Result<Self> {
        let inner = input.open().map_err(Error::io("open", &*input.name()))?;
        Self::of_open(inner, &input.path, input.name(), count)
    }

    /// Decompresses what was opened. `name` is for messages.
    pub(super) fn of_open(
        inner: Box<dyn Read + Send>,
        path: &Path,
        name: Arc<str>,
        count: &Arc<AtomicU64>,
    ) -> Result<Self> {
        let mut bytes = Self { inner, compression: None, name };
        let head = bytes.read_head()?;
        if let Some(format) = unread_format(path, &head) {
            let (place, format, program) = (bytes.name.to_string(), format.name, format.program);
            return Err(Error::Compressed { place, format, program });
        }
        bytes.compression = Compression::of_bytes(&head);
        if let Some(named) = Compression::of(path).filter(|_| bytes.compression.is_none() && !head.is_empty())
        {
            return Err(Error::input(&*bytes.name, format!("named as {} data, and is none", named.name())));
        }
        let inner = Counting { inner: io::Cursor::new(head).chain(bytes.inner), count: count.clone() };
        bytes.inner = match bytes.compression {
            None => Box::new(inner),
            Some(Compression::Gzip) => Box::new(MultiGzDecoder::new(inner)),
            Some(Compression::Zstd) => {
                let decoder = zstd::stream::read::Decoder::new(inner).and_then(|mut decoder| {
                    decoder.window_log_max(MAX_WINDOW_LOG)?;
                    Ok(decoder)
                });
                Box::new(decoder.map_err(Error::io("read", path))?)
            }
            Some(Compression::Bzip2) => Box::new(MultiBzDecoder::new(inner)),
            Some(Compression::Xz) => {
                let limit_kib = (1 << (MAX_WINDOW_LOG - 10)) + XZ_OVERHEAD_KIB;
                Box::new(XzReader::new_mem_limit(BufReader::new(inner), true, limit_kib))
            }
        };
        Ok(bytes)
    }

    /// Reads the first bytes, no more than are needed to recognize a compression: a pipe may have no
    /// others yet.
    fn read_head(&mut self) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        while is_undecided(&head) {
            let mut more = [0; START_BYTES];
            match self.read(&mut more[head.len()..])? {
                0 => break,
                len => head.extend_from_slice(&more[head.len()..][..len]),
            }
        }
        Ok(head)
    }

    /// The same bytes, and their encoding if it is not UTF-8: that of a byte order mark, the `given` one, or, if
    /// `guesses`, a guess by the first 64 KiB. Without a guess, no more bytes are read than a mark has. What has no
    /// bytes of ASCII is read as UTF-8.
    pub(super) fn with_encoding(
        mut self,
        given: Option<Encoding>,
        guesses: bool,
    ) -> Result<(Self, Option<Encoding>)> {
        let mut head = Vec::new();
        let mut failed = None;
        while failed.is_none() && Encoding::may_be_mark(&head) {
            if !self.read_more(1, &mut head, &mut failed) {
                break;
            }
        }
        let mark = Encoding::of_mark(&head);
        let mut encoding = mark.map(|(encoding, _)| encoding).or(given);
        if encoding.is_none() && guesses {
            while head.len() < GUESSED_BYTES
                && self.read_more(GUESSED_BYTES - head.len(), &mut head, &mut failed)
            {}
            let found = decode(whole_characters(&head, head.len() < GUESSED_BYTES), None);
            encoding = found.map(|found| found.encoding);
        }
        let encoding = encoding.filter(|encoding| *encoding != Encoding::UTF_8);
        let is_read = encoding.filter(|encoding| !encoding.is_ascii_compatible());
        let mark_len = mark.filter(|_| is_read.is_some()).map_or(0, |(_, len)| len);
        let rest = io::Cursor::new(head.split_off(mark_len)).chain(Failing(failed)).chain(self.inner);
        self.inner = match is_read {
            None => Box::new(rest),
            Some(encoding) => match encoding.decoder() {
                Some(decoder) => Box::new(Transcoder::new(rest, decoder)),
                None => {
                    let how = format!("`iconv -f {encoding} -t UTF-8` converts it");
                    return Err(Error::input(
                        &*self.name,
                        format!("{encoding} is not read in records; {how}"),
                    ));
                }
            },
        };
        Ok((self, encoding))
    }

    /// Appends up to `len_bytes`. Returns whether there were any; an error is kept for who reads on.
    fn read_more(&mut self, len_bytes: usize, bytes: &mut Vec<u8>, failed: &mut Option<io::Error>) -> bool {
        let before = bytes.len();
        bytes.resize(before + len_bytes, 0);
        let read = loop {
            match self.inner.read(&mut bytes[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let len = read.unwrap_or_else(|error| {
            *failed = Some(error);
            0
        });
        bytes.truncate(before + len);
        len > 0
    }

    #[cfg(test)]
    pub(super) fn of_reader(inner: Box<dyn Read + Send>) -> Self {
        Self { inner, compression: None, name: "input".into() }
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.compression.is_some()
    }

    pub(super) fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// Reads bytes; 0 only at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let failed = self.failed(error);
                    // A decoder is not made to go on after an error.
                    self.inner = Box::new(io::empty());
                    return Err(failed);
                }
                Ok(len) => return Ok(len),
            }
        }
    }

    /// Reads all bytes; `None` if there are more than `max_bytes`.
    pub(super) fn read_all(mut self, max_bytes: usize) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        self.read_up_to(max_bytes.saturating_add(1), &mut bytes)?;
        Ok((bytes.len() <= max_bytes).then_some(bytes))
    }

    /// Appends bytes until there are `len_bytes`, or until the end.
    pub(super) fn read_up_to(&mut self, len_bytes: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let more = len_bytes.saturating_sub(bytes.len()) as u64;
        let read = (&mut self.inner).take(more).read_to_end(bytes);
        read.map(drop).map_err(|error| self.failed(error))
    }

    fn window_too_large(&self, what: &str, program: &str) -> Error {
        let mib = 1 << (MAX_WINDOW_LOG - 20);
        Error::input(&*self.name, format!("its {what} is larger than {mib} MiB; `{program}` decompresses it"))
    }

    /// An error with a number is from the operating system, any other from the decompressor.
    fn failed(&self, error: io::Error) -> Error {
        match self.compression {
            Some(Compression::Zstd) if error.to_string() == WINDOW_TOO_LARGE => {
                self.window_too_large("Zstandard window", "zstd -dc --long=31")
            }
            Some(Compression::Xz) if error.kind() == io::ErrorKind::OutOfMemory => {
                self.window_too_large("xz dictionary", "xz -dc")
            }
            Some(compression) if error.raw_os_error().is_none() => {
                Error::input(&*self.name, format!("damaged {} data: {error}", compression.name()))
            }
            _ => Error::io("read", &*self.name)(error),
        }
    }
}

/// Opens a file, or standard input for `-`, and decompresses what is compressed.
///
/// # Errors
/// [`Error::Engine`] with an I/O error; [`Error::Input`] if the file is not compressed and its name
/// says so; [`Error::Compressed`] for a format that is not read. A later read error wraps an
/// [`Error`] too.
pub fn open_decompressed(path: &Path) -> Result<impl Read + use<>> {
    InputBytes::open(&InputFile::new(path), &Arc::default()).map(StdRead)
}

/// The same for a file that has to be a regular one: a named pipe could block for ever.
///
/// # Errors
/// As [`open_decompressed`].
pub fn open_regular_decompressed(path: &Path) -> Result<impl Read + use<>> {
    let file = open_regular(path).map_err(Error::io("open", path))?;
    InputBytes::of_open(Box::new(file), path, path.to_string_lossy().into(), &Arc::default()).map(StdRead)
}

/// [`InputBytes`] as a reader of the standard library.
struct StdRead(InputBytes);

impl Read for StdRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(io::Error::other)
    }
}

/// Returns an error, once.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Counts the bytes read.
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
