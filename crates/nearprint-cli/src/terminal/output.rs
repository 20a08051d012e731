//! Output streams: standard output, or a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::STDOUT;
use nearprint::Error;

/// Bytes of the buffer in front of a stream.
const BUFFER_BYTES: usize = 1 << 16;

/// Standard output or a file, buffered. Its errors name the path.
pub(crate) struct OutputStream {
    writer: BufWriter<Box<dyn Write>>,
    path: PathBuf,
}

impl OutputStream {
    pub(crate) fn stdout() -> Self {
        Self::new(Box::new(io::stdout().lock()), Path::new(STDOUT))
    }

    /// Creates a file. `-` and `None` are standard output.
    pub(crate) fn create(path: Option<&Path>) -> Result<Self, Error> {
        match path.filter(|path| *path != Path::new("-")) {
            None => Ok(Self::stdout()),
            Some(path) => {
                let failed = |source| Error::Io { action: "create", path: path.to_path_buf(), source };
                Ok(Self::new(Box::new(File::create(path).map_err(failed)?), path))
            }
        }
    }

    fn new(stream: Box<dyn Write>, path: &Path) -> Self {
        Self { writer: BufWriter::with_capacity(BUFFER_BYTES, stream), path: path.to_path_buf() }
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
}

/// Standard output cannot be written to.
pub(crate) fn unwritable_stdout(source: io::Error) -> Error {
    Error::Io { action: "write", path: STDOUT.into(), source }
}
