//! Output streams: standard output, or a file.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::STDOUT;
use super::stdout::Stdout;
use nearprint::Error;
use nearprint_text::documents::OutputFile;

/// Bytes of the buffer in front of a stream.
const BUFFER_BYTES: usize = 1 << 16;

/// Standard output or a file, buffered. Its errors name the path.
pub(crate) struct OutputStream {
    writer: BufWriter<Box<dyn Write>>,
    /// `None` for standard output.
    file: Option<OutputFile>,
    path: PathBuf,
    /// The most lines, and how many of them are left.
    limit: Option<(u64, u64)>,
}

/// Counts the lines that are written, and fails at the first byte of one that is too many.
struct Counted<'a> {
    inner: &'a mut dyn Write,
    most: u64,
    left: &'a mut u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        if lines > *self.left || *self.left == 0 && !bytes.is_empty() {
            return Err(io::Error::other(format!(
                "more than {} lines, the limit of --max-output",
                self.most
            )));
        }
        *self.left -= lines;
        self.inner.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl OutputStream {
    pub(crate) fn stdout() -> Self {
        Self::new(Box::new(Stdout::lock()), None, Path::new(STDOUT))
    }

    /// Creates a file, which has its name when it is [finished](Self::finish). `-` and `None` are
    /// standard output.
    pub(crate) fn create(path: Option<&Path>) -> nearprint_text::Result<Self> {
        match path.filter(|path| *path != Path::new("-")) {
            None => Ok(Self::stdout()),
            Some(path) => {
                let file = OutputFile::create(path)?;
                let again = file.file().try_clone().map_err(Error::io("create", path))?;
                Ok(Self::new(Box::new(again), Some(file), path))
            }
        }
    }

    fn new(stream: Box<dyn Write>, file: Option<OutputFile>, path: &Path) -> Self {
        let (writer, path) = (BufWriter::with_capacity(BUFFER_BYTES, stream), path.to_path_buf());
        Self { writer, file, path, limit: None }
    }

    /// Fails once more lines than this are written, if a number is given.
    pub(crate) fn limit(&mut self, most: Option<u64>) {
        self.limit = most.map(|most| (most, most));
    }

    /// Calls a function with the writer, and adds the path to its error.
    pub(crate) fn write(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Error> {
        let written = match &mut self.limit {
            Some((most, left)) => write(&mut Counted { inner: &mut self.writer, most: *most, left }),
            None => write(&mut self.writer),
        };
        written.map_err(|source| Error::Io { action: "write", path: self.path.clone(), source })
    }

    /// The same for lines that no limit counts.
    pub(crate) fn write_uncounted(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Error> {
        let limit = self.limit.take();
        let written = self.write(write);
        self.limit = limit;
        written
    }

    /// Writes the buffer to the operating system.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.write(|out| out.flush())
    }

    /// Writes the end of the stream, and gives a file its name.
    pub(crate) fn finish(mut self) -> nearprint_text::Result<()> {
        self.flush()?;
        self.file.map_or(Ok(()), OutputFile::complete)
    }
}
