//! A file of lines that a later run can resume at a given length.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::compression::{Compression, Encoder};
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
/// ```
/// use nearprint_text::documents::LineFile;
///
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("rejects.txt");
/// let mut file = LineFile::create(&path)?;
/// file.append(b"first\n")?;
/// let durable_bytes = file.flush_and_sync()?;
/// file.append(b"lost in a crash\n")?;
/// drop(file);
///
/// let mut file = LineFile::open_at(&path, durable_bytes)?;
/// file.append(b"second\n")?;
/// file.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "first\nsecond\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LineFile {
    sink: Sink,
    path: PathBuf,
    /// A second handle of the file; `None` for standard output.
    file: Option<File>,
    /// Bytes appended so far, before compression.
    len_bytes: u64,
    /// Whether the last byte ends a line.
    at_line_start: bool,
    folder_synced: bool,
    /// The bytes that standard output is to receive at the next release.
    held: Option<File>,
    ignores_broken_pipes: bool,
}

impl LineFile {
    /// Creates a file, or truncates one. `-` is standard output.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn create(path: &Path) -> Result<Self> {
        if is_stdout(path) {
            let sink = Encoder::Plain(buffered(Box::new(io::stdout())));
            return Ok(Self::to_stdout(sink, None));
        }
        let failed = || Error::io("create", path);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(path).map_err(failed())?;
        let again = file.try_clone().map_err(failed())?;
        let sink = Encoder::new(buffered(Box::new(again)), Compression::of(path)).map_err(failed())?;
        let (path, file) = (path.to_path_buf(), Some(file));
        Ok(Self { path, file, folder_synced: false, ..Self::to_stdout(sink, None) })
    }

    /// Standard output that receives the lines only by [`release`](Self::release). Until then a
    /// temporary file holds them.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn held_stdout() -> Result<Self> {
        let failed = || Error::io("create", "a temporary file");
        let held = tempfile::tempfile().map_err(failed())?;
        let again = held.try_clone().map_err(failed())?;
        Ok(Self::to_stdout(Encoder::Plain(buffered(Box::new(again))), Some(held)))
    }

    fn to_stdout(sink: Sink, held: Option<File>) -> Self {
        Self {
            sink,
            path: STDOUT.into(),
            file: None,
            len_bytes: 0,
            at_line_start: true,
            folder_synced: true,
            held,
            ignores_broken_pipes: false,
        }
    }

    /// Ignores broken pipes: when the reader of the pipe has gone, further lines are discarded.
    #[must_use]
    pub fn ignore_broken_pipes(self) -> Self {
        Self { ignores_broken_pipes: true, ..self }
    }

    /// Writes the held lines to standard output. Does nothing for any other file.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn release(&mut self) -> Result<()> {
        let Some(held) = &mut self.held else { return Ok(()) };
        let mut stdout = io::stdout().lock();
        let released = self.sink.flush().and_then(|()| {
            held.rewind()?;
            io::copy(held, &mut stdout)?;
            held.set_len(0)?;
            held.rewind()?;
            stdout.flush()
        });
        released.map_err(Error::io("write", STDOUT))
    }

    /// Resumes a file: truncates it to `len_bytes`, a length that
    /// [`flush_and_sync`](Self::flush_and_sync) has returned, and appends there.
    ///
    /// # Errors
    /// [`Error::Output`] for standard output and compressed files
    /// ([`NotResumable`](OutputProblem::NotResumable)) and for a shorter file
    /// ([`Truncated`](OutputProblem::Truncated)); [`Error::Engine`] with an I/O error.
    pub fn open_at(path: &Path, len_bytes: u64) -> Result<Self> {
        if is_stdout(path) || Compression::of(path).is_some() {
            return Err(OutputProblem::NotResumable { path: path.to_path_buf() }.into());
        }
        let failed = |action| Error::io(action, path);
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed("open"))?;
        if file.metadata().map_err(failed("open"))?.len() < len_bytes {
            return Err(OutputProblem::Truncated { path: path.to_path_buf(), len_bytes }.into());
        }
        file.set_len(len_bytes).map_err(failed("truncate"))?;
        file.seek(io::SeekFrom::Start(len_bytes)).map_err(failed("open"))?;
        let mut last = *b"\n";
        if let Some(offset) = len_bytes.checked_sub(1) {
            file.read_exact_at(&mut last, offset).map_err(failed("read"))?;
        }
        let sink = Encoder::Plain(buffered(Box::new(file.try_clone().map_err(failed("open"))?)));
        let (path, at_line_start) = (path.to_path_buf(), last == *b"\n");
        let file = Some(file);
        Ok(Self { path, file, len_bytes, at_line_start, folder_synced: false, ..Self::to_stdout(sink, None) })
    }

    /// Appends one or more lines. If the previous line has no line feed, one is written first.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn append(&mut self, line: &[u8]) -> Result<Span> {
        let end: &[u8] = if self.at_line_start { b"" } else { b"\n" };
        let written = self.sink.write_all(end).and_then(|()| self.sink.write_all(line));
        self.check_written(written)?;
        let span = Span { offset: self.len_bytes + end.len() as u64, len_bytes: line.len() as u64 };
        self.len_bytes = span.offset + span.len_bytes;
        self.at_line_start = line.last() == Some(&b'\n');
        Ok(span)
    }

    /// Whether [`read`](Self::read) works: for regular files that are not compressed.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        // A named pipe, for example, cannot be read at an offset.
        let regular = |file: &File| file.metadata().is_ok_and(|metadata| metadata.is_file());
        matches!(self.sink, Encoder::Plain(_)) && self.file.as_ref().is_some_and(regular)
    }

    /// Reads appended bytes back.
    ///
    /// # Errors
    /// [`Error::Output`] if the file is not [readable](Self::is_readable); [`Error::Engine`] with
    /// an I/O error.
    pub fn read(&mut self, span: Span) -> Result<Vec<u8>> {
        let refused = || OutputProblem::NotReadable { path: self.path.clone() };
        let file = self.file.as_ref().filter(|_| self.is_readable()).ok_or_else(refused)?;
        let held = self.sink.get_ref().buffer().len() as u64;
        if span.offset + span.len_bytes > self.len_bytes - held {
            self.sink.flush().map_err(Error::io("write", &self.path))?;
        }
        read_span(file, span).map_err(Error::io("read", &self.path))
    }

    /// Makes everything so far durable, and returns its length for [`open_at`](Self::open_at).
    /// Standard output is flushed only.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn flush_and_sync(&mut self) -> Result<u64> {
        let flushed = self.sink.flush().and_then(|()| self.sync());
        self.check_written(flushed)?;
        Ok(self.len_bytes)
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

    /// Writes the end of the file, and makes it durable.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn finish(mut self) -> Result<()> {
        self.flush_and_sync()?;
        let path = std::mem::take(&mut self.path);
        let ended = self.sync_folder(&path).and_then(|()| self.sink.finish()?.flush());
        let synced = ended.and_then(|()| self.file.as_ref().map_or(Ok(()), sync_file));
        synced.map_err(Error::io("write", path))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), sync_file)?;
        let path = self.path.clone();
        self.sync_folder(&path)
    }

    /// Makes the directory entry of a new file durable.
    fn sync_folder(&mut self, path: &Path) -> io::Result<()> {
        if std::mem::replace(&mut self.folder_synced, true) {
            return Ok(());
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl std::fmt::Debug for LineFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineFile").field("path", &self.path).field("len_bytes", &self.len_bytes).finish()
    }
}

/// Makes a regular file durable. Pipes and devices cannot be synced.
pub(super) fn sync_file(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.sync_all() } else { Ok(()) }
}

pub(super) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

pub(super) fn read_span(file: &File, span: Span) -> io::Result<Vec<u8>> {
    let len = usize::try_from(span.len_bytes).map_err(io::Error::other)?;
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, span.offset)?;
    Ok(bytes)
}

fn buffered(inner: Box<dyn Write + Send>) -> BufWriter<Box<dyn Write + Send>> {
    BufWriter::with_capacity(BUFFER_BYTES, inner)
}
