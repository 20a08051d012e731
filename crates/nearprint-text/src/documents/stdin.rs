//! Standard input, which a pipe supplies only once, and copies of it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// See [`set_end_of_stdin`].
static AT_END: OnceLock<fn() -> io::Result<()>> = OnceLock::new();

/// Sets what is called where standard input ends. Its error is that of the read: so a program that is being stopped
/// does not take the end of its input for the end of the data. Only the first call counts.
pub fn set_end_of_stdin(check: fn() -> io::Result<()>) {
    let _ = AT_END.set(check);
}

/// Standard input, whose end is [checked](set_end_of_stdin).
#[derive(Debug)]
pub struct Stdin(io::Stdin);

impl Default for Stdin {
    fn default() -> Self {
        Self(io::stdin())
    }
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.0.read(buffer)?;
        if len == 0 && !buffer.is_empty() {
            AT_END.get().map_or(Ok(()), |check| check())?;
        }
        Ok(len)
    }
}

/// Where the bytes of standard input come from.
#[derive(Clone, Debug, Default)]
pub(crate) enum StdinSource {
    /// The stream itself.
    #[default]
    Stream,
    /// A complete copy.
    Copy(PathBuf),
    /// The stream, which is copied as it is read.
    Recorded(Recording),
    /// The copy that a recording has made, and then the rest of the stream.
    Replayed(PathBuf),
}

impl StdinSource {
    pub(super) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Stream => Box::new(Stdin::default()),
            Self::Copy(path) => Box::new(File::open(path)?),
            Self::Recorded(recording) => {
                Box::new(Recorded { inner: Stdin::default(), copy: recording.clone() })
            }
            Self::Replayed(path) => Box::new(File::open(path)?.chain(Stdin::default())),
        })
    }
}

/// A copy of all bytes that were read until it is stopped.
#[derive(Clone, Debug)]
pub(crate) struct Recording(Arc<Mutex<Option<File>>>);

impl Recording {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(Arc::new(Mutex::new(Some(File::create_new(path)?)))))
    }

    pub(crate) fn stop(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Reads a stream, and copies what it reads.
struct Recorded<R> {
    inner: R,
    copy: Recording,
}

impl<R: Read> Read for Recorded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(buffer)?;
        if let Some(file) = &mut *self.copy.0.lock().unwrap_or_else(PoisonError::into_inner) {
            file.write_all(&buffer[..len])?;
        }
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_copied_until_it_is_stopped() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("copy");
        let copy = Recording::create(&path).unwrap();
        let mut recorded = Recorded { inner: &b"one two three"[..], copy: copy.clone() };
        let mut bytes = [0; 4];
        assert_eq!(recorded.read(&mut bytes).unwrap(), 4);
        assert_eq!(recorded.read(&mut bytes).unwrap(), 4);
        copy.stop();
        assert_eq!(recorded.read_to_end(&mut Vec::new()).unwrap(), 5);
        assert_eq!(std::fs::read(&path).unwrap(), b"one two ");
    }
}
