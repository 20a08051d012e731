//! A file that grows line by line, and that can be continued where it was at some moment.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::compressed::{Compression, Sink};
use crate::error::{Error, Result};

/// What stands in messages for standard output.
pub(super) const STDOUT: &str = "standard output";
/// Bytes written at once.
const BUFFER_BYTES: usize = 1 << 18;

/// Where a record stands in an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first byte.
    pub offset: u64,
    /// Its length.
    pub len_bytes: u64,
}

/// Lines in a file or on standard output, compressed where the name ends in `.gz` or `.zst`.
pub struct LineFile {
    sink: Sink<BufWriter<Box<dyn Write + Send>>>,
    path: PathBuf,
    /// The same file again, where it is one.
    file: Option<File>,
    /// Bytes given so far, before compression.
    len_bytes: u64,
    /// Whether the last byte ends a line.
    at_line_start: bool,
    folder_synced: bool,
    /// What standard output has not got yet.
    held: Option<File>,
    /// Whether a reader that wants no more is no error.
    may_close: bool,
}

impl LineFile {
    /// Makes a file, or replaces one. `-` is standard output.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::DiskFull`].
    pub fn create(path: &Path) -> Result<Self> {
        if is_stdout(path) {
            let sink = Sink::Plain(buffered(Box::new(io::stdout())));
            return Ok(Self::to_stdout(sink, None));
        }
        let failed = || Error::io("create", path);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(path).map_err(failed())?;
        let again = file.try_clone().map_err(failed())?;
        let sink = Sink::new(buffered(Box::new(again)), Compression::of(path)).map_err(failed())?;
        let (path, file) = (path.to_path_buf(), Some(file));
        Ok(Self { path, file, folder_synced: false, ..Self::to_stdout(sink, None) })
    }

    /// Standard output that gets what is written only when it is [released](Self::release). Until then it is
    /// in a temporary file.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::DiskFull`].
    pub fn held_stdout() -> Result<Self> {
        let failed = || Error::io("create", "a temporary file");
        let held = tempfile::tempfile().map_err(failed())?;
        let again = held.try_clone().map_err(failed())?;
        Ok(Self::to_stdout(Sink::Plain(buffered(Box::new(again))), Some(held)))
    }

    fn to_stdout(sink: Sink<BufWriter<Box<dyn Write + Send>>>, held: Option<File>) -> Self {
        Self {
            sink,
            path: STDOUT.into(),
            file: None,
            len_bytes: 0,
            at_line_start: true,
            folder_synced: true,
            held,
            may_close: false,
        }
    }

    /// The same, where nobody minds if what is at the other end of a pipe wants no more: the rest goes
    /// nowhere.
    #[must_use]
    pub fn that_may_close(self) -> Self {
        Self { may_close: true, ..self }
    }

    /// Hands over what was held back.
    ///
    /// # Errors
    /// [`Error::Io`].
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

    /// Goes on with a file that was written before: what stands behind `len_bytes` is removed.
    ///
    /// # Errors
    /// [`Error::Option`] where it is standard output, compressed, or shorter than that; [`Error::Io`].
    pub fn open_at(path: &Path, len_bytes: u64) -> Result<Self> {
        let refused = |why: &str| Error::Option(format!("{}: {why}", path.display()));
        if is_stdout(path) || Compression::of(path).is_some() {
            return Err(refused("only a plain file that is not compressed can be continued"));
        }
        let failed = |action| Error::io(action, path);
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed("open"))?;
        if file.metadata().map_err(failed("open"))?.len() < len_bytes {
            return Err(refused(&format!("is shorter than the {len_bytes} bytes that were written to it")));
        }
        file.set_len(len_bytes).map_err(failed("truncate"))?;
        file.seek(io::SeekFrom::Start(len_bytes)).map_err(failed("open"))?;
        let mut last = *b"\n";
        if let Some(offset) = len_bytes.checked_sub(1) {
            file.read_exact_at(&mut last, offset).map_err(failed("read"))?;
        }
        let sink = Sink::Plain(buffered(Box::new(file.try_clone().map_err(failed("open"))?)));
        let (path, at_line_start) = (path.to_path_buf(), last == *b"\n");
        let file = Some(file);
        Ok(Self { path, file, len_bytes, at_line_start, folder_synced: false, ..Self::to_stdout(sink, None) })
    }

    /// Appends a line, or several. Where the last one had no end it gets one first.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::DiskFull`].
    pub fn append(&mut self, line: &[u8]) -> Result<Span> {
        let end: &[u8] = if self.at_line_start { b"" } else { b"\n" };
        let written = self.sink.write_all(end).and_then(|()| self.sink.write_all(line));
        self.unless_closed(written)?;
        let span = Span { offset: self.len_bytes + end.len() as u64, len_bytes: line.len() as u64 };
        self.len_bytes = span.offset + span.len_bytes;
        self.at_line_start = line.last() == Some(&b'\n');
        Ok(span)
    }

    /// Whether what was written can be read: in plain files that are not compressed.
    #[must_use]
    pub fn can_be_read(&self) -> bool {
        // What is no regular file, a named pipe say, cannot be read where it is written.
        let regular = |file: &File| file.metadata().is_ok_and(|metadata| metadata.is_file());
        matches!(self.sink, Sink::Plain(_)) && self.file.as_ref().is_some_and(regular)
    }

    /// Reads what was written.
    ///
    /// # Errors
    /// [`Error::Option`] where it [cannot be read](Self::can_be_read); [`Error::Io`].
    pub fn read(&mut self, span: Span) -> Result<Vec<u8>> {
        let refused = || Error::Option(format!("{}: cannot be read back", self.path.display()));
        let file = self.file.as_ref().filter(|_| self.can_be_read()).ok_or_else(refused)?;
        let held = self.sink.get_ref().buffer().len() as u64;
        if span.offset + span.len_bytes > self.len_bytes - held {
            self.sink.flush().map_err(Error::io("write", &self.path))?;
        }
        read_span(file, span).map_err(Error::io("read", &self.path))
    }

    /// Makes everything so far durable, and tells how many bytes that is. Standard output is only
    /// flushed.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::DiskFull`].
    pub fn flush_and_sync(&mut self) -> Result<u64> {
        let flushed = self.sink.flush().and_then(|()| self.sync());
        self.unless_closed(flushed)?;
        Ok(self.len_bytes)
    }

    /// What came of writing, with an eye on readers that are gone.
    fn unless_closed(&mut self, written: io::Result<()>) -> Result<()> {
        match written {
            Err(error) if self.may_close && error.kind() == io::ErrorKind::BrokenPipe => {
                self.sink = Sink::Plain(buffered(Box::new(io::sink())));
                Ok(())
            }
            other => other.map_err(Error::io("write", &self.path)),
        }
    }

    /// Writes what ends the file, and makes it durable.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::DiskFull`].
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

    /// Makes the name of a new file durable.
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

/// Makes a file durable; pipes and devices, which know no such thing, are left alone.
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
