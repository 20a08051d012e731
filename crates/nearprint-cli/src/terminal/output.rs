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
        Self { writer: BufWriter::with_capacity(BUFFER_BYTES, stream), file, path: path.to_path_buf() }
    }

    /// Calls a function with the writer, and adds the path to its error.
    pub(crate) fn write(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Error> {
        write(&mut self.writer).map_err(|source| Error::Io {
            action: "write",
            path: self.path.clone(),
            source,
        })
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
