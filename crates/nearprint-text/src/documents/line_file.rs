//! A file of lines that a later run can resume.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use nearprint::internal::file::read_exact_at;
use xxhash_rust::xxh3::Xxh3;

use super::compression::{Encoder, decoder};
use super::kind::Compression;
use super::lines::without_mark;
use super::output_file::{OutputFile, Written};
use crate::error::{Error, OutputProblem, Result};

/// The name of standard output in messages.
pub(super) const STDOUT: &str = "standard output";
/// The size of the write buffer.
const BUFFER_BYTES: usize = 1 << 18;

/// The place of a record in an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The offset of its first byte.
    pub offset: u64,
    /// Its length in bytes.
    pub len_bytes: u64,
}

type Sink = Encoder<BufWriter<Box<dyn Write + Send>>>;

/// Lines in a file or on standard output, compressed if the name ends in `.gz`, `.zst` or `.zstd`.
///
/// A file has its name only when it is [finished](Self::finish): see [`OutputFile`].
///
/// A compressed file that can be [resumed](Self::create_resumable) is a sequence of gzip members or Zstandard
/// frames. [`flush_and_sync`](Self::flush_and_sync) ends one, so that its bytes depend on when that is called.
///
/// ```
/// use nearprint_text::documents::LineFile;
///
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("rejects.txt");
/// let mut file = LineFile::create_resumable(&path)?;
/// file.append(b"first\n")?;
/// let written = file.flush_and_sync()?;
/// file.append(b"lost in a crash\n")?;
/// drop(file);
///
/// let mut file = LineFile::resume(&path, written)?;
/// file.append(b"second\n")?;
/// file.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "first\nsecond\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LineFile {
    sink: Sink,
    path: PathBuf,
    /// `None` for standard output.
    output: Option<OutputFile>,
    /// Bytes appended so far, before compression.
    len_bytes: u64,
    /// Of all bytes so far, if the file is to be resumed; of a compressed one, of its ended members.
    hash: Option<Box<Xxh3>>,
    /// How the next member is compressed, if the file is to be resumed.
    members: Option<Compression>,
    /// The length of the members that the hash covers.
    hashed_bytes: u64,
    /// Whether the last byte ends a line.
    at_line_start: bool,
    ignores_broken_pipes: bool,
}

impl LineFile {
    /// Creates a file. `-` is standard output.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn create(path: &Path) -> Result<Self> {
        if is_stdout(path) {
            let sink = Encoder::Plain(buffered(Box::new(io::stdout())));
            return Ok(Self::new(sink, STDOUT.into(), None));
        }
        let (output, again) = with_second_handle(OutputFile::create(path)?, path)?;
        let sink = Encoder::new(buffered(Box::new(again)), Compression::of(path));
        Ok(Self::new(sink.map_err(Error::io("create", path))?, path.to_path_buf(), Some(output)))
    }

    /// Creates a file that stays unfinished, to be [resumed](Self::resume), when it is dropped after
    /// [`flush_and_sync`](Self::flush_and_sync). Standard output, pipes and devices are
    /// [created](Self::create) as usual: they cannot be resumed.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn create_resumable(path: &Path) -> Result<Self> {
        let mut file = Self::create(path)?;
        if file.output.as_ref().is_some_and(OutputFile::is_regular) {
            (file.hash, file.members) = (Some(Box::default()), Compression::of(path));
        }
        Ok(file)
    }

    fn new(sink: Sink, path: PathBuf, output: Option<OutputFile>) -> Self {
        Self {
            sink,
            path,
            output,
            len_bytes: 0,
            hash: None,
            members: None,
            hashed_bytes: 0,
            at_line_start: true,
            ignores_broken_pipes: false,
        }
    }

    /// Ignores broken pipes: when the reader of the pipe has gone, further lines are discarded.
    #[must_use]
    pub fn ignore_broken_pipes(self) -> Self {
        Self { ignores_broken_pipes: true, ..self }
    }

    /// Resumes an unfinished file after what [`flush_and_sync`](Self::flush_and_sync) has returned.
    ///
    /// Reads that part of the file, and decompresses it.
    ///
    /// # Errors
    /// [`Error::Output`] with [`Truncated`](OutputProblem::Truncated) or
    /// [`OtherContent`](OutputProblem::OtherContent) if the file begins with anything else, with
    /// [`NotResumable`](OutputProblem::NotResumable) for standard output and pipes,
    /// and with [`PartialInUse`](OutputProblem::PartialInUse); [`Error::Engine`] with an I/O error.
    pub fn resume(path: &Path, written: Written) -> Result<Self> {
        if is_stdout(path) {
            return Err(OutputProblem::NotResumable { path: path.to_path_buf() }.into());
        }
        let (output, hash) = OutputFile::resume(path, written)?;
        let (output, again) = with_second_handle(output, path)?;
        let members = Compression::of(path);
        let last = last_byte(output.file(), written.len_bytes, members).map_err(Error::io("read", path))?;
        let sink = Encoder::Plain(buffered(Box::new(again)));
        Ok(Self {
            len_bytes: written.len_bytes,
            hash: Some(Box::new(hash)),
            members,
            hashed_bytes: written.len_bytes,
            at_line_start: last.is_none_or(|last| last == b'\n'),
            ..Self::new(sink, path.to_path_buf(), Some(output))
        })
    }

    /// Appends one or more lines. If the previous line has no line feed, one is written first.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn append(&mut self, line: &[u8]) -> Result<Span> {
        let end: &[u8] = if self.at_line_start { b"" } else { b"\n" };
        self.append_after(end, line)
    }

    /// Appends a record that may begin with the byte order mark of its input, which has a meaning at the start of a
    /// file only.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn append_record(&mut self, record: &[u8], may_have_mark: bool) -> Result<Span> {
        let is_within = may_have_mark && self.len_bytes > 0;
        self.append(if is_within { without_mark(record) } else { record })
    }

    /// Appends a path that ends with a line feed or a zero byte.
    pub(crate) fn append_path(&mut self, path: &[u8]) -> Result<Span> {
        self.append_after(b"", path)
    }

    fn append_after(&mut self, end: &[u8], line: &[u8]) -> Result<Span> {
        let begun = self.begin_member();
        let written = begun.and_then(|()| self.sink.write_all(end)).and_then(|()| self.sink.write_all(line));
        self.check_written(written)?;
        if let Some(hash) = self.hash.as_mut().filter(|_| self.members.is_none()) {
            hash.update(end);
            hash.update(line);
        }
        let span = Span { offset: self.len_bytes + end.len() as u64, len_bytes: line.len() as u64 };
        self.len_bytes = span.offset + span.len_bytes;
        self.at_line_start = line.last() == Some(&b'\n');
        Ok(span)
    }

    /// Begins a member if the file is compressed in members, and none is begun.
    fn begin_member(&mut self) -> io::Result<()> {
        if !self.ends_members() || !self.sink.is_plain() {
            return Ok(());
        }
        let members = self.members;
        self.replace_sink(|inner| Encoder::new(inner.finish()?, members))
    }

    /// Ends the member that is begun, if there is one, and adds its bytes to the hash.
    fn end_member(&mut self) -> io::Result<()> {
        self.replace_sink(|sink| Ok(Encoder::Plain(sink.finish()?)))?;
        self.sink.flush()?;
        let Some((hash, output)) = self.hash.as_mut().zip(self.output.as_ref()) else { return Ok(()) };
        let mut new =
            Content { file: output.file(), at: self.hashed_bytes, end: output.file().metadata()?.len() };
        self.hashed_bytes = new.end;
        io::copy(&mut new, &mut HashWriter(hash)).map(drop)
    }

    fn replace_sink(&mut self, replace: impl FnOnce(Sink) -> io::Result<Sink>) -> io::Result<()> {
        let none = Encoder::Plain(buffered(Box::new(io::sink())));
        self.sink = replace(std::mem::replace(&mut self.sink, none))?;
        Ok(())
    }

    /// Whether [`flush_and_sync`](Self::flush_and_sync) ends a member of a compressed file.
    pub(crate) fn ends_members(&self) -> bool {
        self.members.is_some()
    }

    /// Whether [`read`](Self::read) works: for regular files that are not compressed.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.sink.is_plain()
            && self.members.is_none()
            && self.output.as_ref().is_some_and(OutputFile::is_regular)
    }

    /// Reads appended bytes back.
    ///
    /// # Errors
    /// [`Error::Output`] if the file is not [readable](Self::is_readable); [`Error::Engine`] with
    /// an I/O error.
    pub fn read(&mut self, span: Span) -> Result<Vec<u8>> {
        let refused = || OutputProblem::NotReadable { path: self.path.clone() };
        let output = self.output.as_ref().filter(|_| self.is_readable()).ok_or_else(refused)?;
        let held = self.sink.get_ref().buffer().len() as u64;
        if span.offset + span.len_bytes > self.len_bytes - held {
            self.sink.flush().map_err(Error::io("write", &self.path))?;
        }
        read_span(output.file(), span).map_err(Error::io("read", &self.path))
    }

    /// Makes everything so far durable, and returns what [`resume`](Self::resume) needs. Standard
    /// output is flushed only.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn flush_and_sync(&mut self) -> Result<Written> {
        let flushed = if self.ends_members() { self.end_member() } else { self.sink.flush() };
        self.check_written(flushed)?;
        self.output.as_ref().map_or(Ok(()), OutputFile::sync)?;
        let Some(hash) = &self.hash else { return Ok(Written { len_bytes: self.len_bytes, digest: 0 }) };
        if let Some(output) = &mut self.output {
            output.keep();
        }
        let len_bytes = if self.members.is_some() { self.hashed_bytes } else { self.len_bytes };
        Ok(Written { len_bytes, digest: hash.digest128() })
    }

    /// Wraps a write error; discards further lines if the pipe is broken and that is to be ignored.
    fn check_written(&mut self, written: io::Result<()>) -> Result<()> {
        match written {
            Err(error) if self.ignores_broken_pipes && error.kind() == io::ErrorKind::BrokenPipe => {
                self.sink = Encoder::Plain(buffered(Box::new(io::sink())));
                Ok(())
            }
            other => other.map_err(Error::io("write", &self.path)),
        }
    }

    /// Writes the end of the file, makes it durable, and gives it its name.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn finish(self) -> Result<()> {
        self.end()?.map_or(Ok(()), OutputFile::complete)
    }

    /// Writes the end of the file. Returns the file, which is to get its name; `None` for standard output.
    pub(crate) fn end(self) -> Result<Option<OutputFile>> {
        let ended = self.sink.finish().and_then(|mut sink| sink.flush());
        match ended {
            Err(error) if self.ignores_broken_pipes && error.kind() == io::ErrorKind::BrokenPipe => {}
            other => other.map_err(Error::io("write", &self.path))?,
        }
        Ok(self.output)
    }
}

impl std::fmt::Debug for LineFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineFile").field("path", &self.path).field("len_bytes", &self.len_bytes).finish()
    }
}

/// An output, and a second handle of its file for a writer.
fn with_second_handle(output: OutputFile, path: &Path) -> Result<(OutputFile, File)> {
    let again = output.file().try_clone().map_err(Error::io("create", path))?;
    Ok((output, again))
}

/// The last byte of the content of a file, whose first `len_bytes` count. Compressed content is read whole.
/// Leaves the position at their end.
fn last_byte(mut file: &File, len_bytes: u64, compression: Option<Compression>) -> io::Result<Option<u8>> {
    let at = if compression.is_none() { len_bytes.saturating_sub(1) } else { 0 };
    let content = BufReader::with_capacity(BUFFER_BYTES, Content { file, at, end: len_bytes });
    let mut content = decoder(content, compression)?;
    let (mut last, mut block) = (None, vec![0; BUFFER_BYTES]);
    loop {
        match content.read(&mut block)? {
            0 => break,
            len => last = Some(block[len - 1]),
        }
    }
    file.seek(SeekFrom::Start(len_bytes))?;
    Ok(last)
}

/// Bytes of a file from `at` to `end`.
struct Content<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Content<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let len = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(bytes.len());
        read_exact_at(self.file, &mut bytes[..len], self.at)?;
        self.at += len as u64;
        Ok(len)
    }
}

/// Adds what is written to a hash.
struct HashWriter<'a>(&'a mut Xxh3);

impl Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

pub(crate) fn read_span(file: &File, span: Span) -> io::Result<Vec<u8>> {
    // Memory is taken for bytes that are there.
    let end = span.offset.checked_add(span.len_bytes);
    if end.is_none_or(|end| end > file.metadata().map_or(0, |metadata| metadata.len())) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let len = usize::try_from(span.len_bytes).map_err(io::Error::other)?;
    let mut bytes = vec![0; len];
    read_exact_at(file, &mut bytes, span.offset)?;
    Ok(bytes)
}

fn buffered(inner: Box<dyn Write + Send>) -> BufWriter<Box<dyn Write + Send>> {
    BufWriter::with_capacity(BUFFER_BYTES, inner)
}
