//! Output streams: standard output, or a file.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::STDOUT;
use super::stdout::Stdout;
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
        Self::new(Box::new(Stdout::lock()), Path::new(STDOUT))
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

/// A file that takes its name when it is complete. Until then it is `NAME.partial-…`, and a file
/// that has the name already stays.
pub(crate) struct CompleteFile {
    /// `None` if the name is that of a pipe or device, which is written directly.
    partial: Option<NamedTempFile>,
    target: PathBuf,
}

impl CompleteFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Io { action: "create", path: path.to_path_buf(), source };
        let existing = path.metadata().ok();
        if existing.as_ref().is_some_and(|found| !found.is_file()) {
            return Ok(Self { partial: None, target: path.to_path_buf() });
        }
        // The file behind a link is replaced, not the link.
        let target =
            if existing.is_some() { path.canonicalize().map_err(failed)? } else { path.to_path_buf() };
        let permissions = existing.map_or(Permissions::from_mode(0o666), |found| found.permissions());
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let folder = target.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let partial = tempfile::Builder::new()
            .prefix(&format!("{name}.partial-"))
            .permissions(permissions)
            .tempfile_in(folder)
            .map_err(failed)?;
        Ok(Self { partial: Some(partial), target })
    }

    /// The path to write to.
    pub(crate) fn path(&self) -> &Path {
        self.partial.as_ref().map_or(&self.target, |partial| partial.path())
    }

    /// Makes the content durable, and gives the file its name.
    pub(crate) fn complete(self) -> Result<(), Error> {
        let Self { partial: Some(partial), target } = self else { return Ok(()) };
        let failed = |source| Error::Io { action: "write", path: target.clone(), source };
        partial.as_file().sync_all().map_err(failed)?;
        partial.persist(&target).map_err(|error| failed(error.error))?;
        Ok(())
    }
}
