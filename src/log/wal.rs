//! The write-ahead log of a writer, and what a reader makes of it.

use std::io::ErrorKind;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::Flaw;
use crate::format::manifest::Manifest;
use crate::format::wal::{Content, Frames, HEADER_BYTES, Operation, WalHeader, operations};
use crate::storage::{ReadFile, Storage, WriteFile, names};
use crate::util::cast::to_usize;
use crate::util::random::random_id;

/// A log that takes frames.
#[derive(Debug)]
pub(crate) struct Wal {
    output: Box<dyn WriteFile>,
    path: PathBuf,
    pub(crate) number: u64,
    salt: u64,
    end: u64,
    pub(crate) next_frame: u64,
}

impl Wal {
    /// Creates the log that `manifest.next_wal` numbers, durable and empty. It counts once a manifest
    /// names it.
    pub(crate) fn create(storage: &dyn Storage, manifest: &Manifest) -> Result<Self> {
        let number = manifest.next_wal;
        let name = names::wal(number);
        let path = storage.path(&name);
        let salt = random_id()?.first_chunk().map_or(0, |salt| u64::from_le_bytes(*salt));
        let next_frame = manifest.next_frame;
        let header = WalHeader {
            database_id: manifest.database_id,
            width: manifest.width,
            number,
            salt,
            first_frame: next_frame,
        };
        let mut output = storage.create(&name).map_err(Error::io("create", &path))?;
        output
            .write_all_at(&header.encode(), 0)
            .map_err(Error::io("write", &path))
            .and_then(|()| output.sync().map_err(Error::io("sync", &path)))
            .inspect_err(|_| drop(storage.remove(&name)))?;
        Ok(Self { output, path, number, salt, end: HEADER_BYTES as u64, next_frame })
    }

    /// Appends one frame and makes it durable.
    ///
    /// A frame that could not be written is taken away again, and that is made durable, before
    /// anything else is; so a bad frame is always the last.
    pub(crate) fn append(&mut self, content: &Content) -> Result<()> {
        let frame = content
            .frame(self.salt, self.next_frame)
            .ok_or(Error::Limit("a commit to the log holds at most 4 GiB; flush instead"))?;
        if let Err(error) = self.output.write_all_at(&frame, self.end) {
            // A failure here poisons the writer, which is told by its storage.
            let _ = self.output.truncate(self.end).and_then(|()| self.output.sync());
            return Err(Error::io("write", &self.path)(error));
        }
        if !crate::util::sabotage::skips("wal-sync") {
            self.output.sync().map_err(Error::io("sync", &self.path))?;
        }
        self.end += frame.len() as u64;
        self.next_frame += 1;
        Ok(())
    }
}

/// A log as it stands in its file.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    bytes: Vec<u8>,
    header: WalHeader,
    /// Whether the database has keys.
    keyed: bool,
}

impl Log {
    /// Reads the log that a manifest names. `None` where it names none.
    pub(crate) fn read(storage: &dyn Storage, manifest: &Manifest) -> Result<Option<Self>> {
        let Some(number) = manifest.live_wal else { return Ok(None) };
        let name = names::wal(number);
        let path = storage.path(&name);
        let input = storage.open(&name).map_err(|error| {
            let flaw = |found| Flaw::new("file", 0, "a file that the manifest names", found).of(&path);
            match error.kind() {
                ErrorKind::NotFound => flaw("no file"),
                ErrorKind::InvalidData => flaw("something that is no regular file"),
                _ => Error::io("open", &path)(error),
            }
        })?;
        let Manifest { database_id, width, next_frame, .. } = *manifest;
        let decode = |bytes: &[u8]| {
            WalHeader::decode(bytes, database_id, width, number, next_frame)
                .map_err(|problem| problem.of(&path))
        };
        let mut bytes = read_all(&*input).map_err(Error::io("read", &path))?;
        let header = decode(&bytes)?;
        if Frames::scan(&bytes, &header).damage.is_some() {
            // A frame that was written while this read went on looks the same. Frames that were
            // there before it ended are all there for the next.
            bytes = read_all(&*input).map_err(Error::io("read", &path))?;
        }
        Ok(Some(Self { path, bytes, header, keyed: manifest.keys.is_some() }))
    }

    /// The length of the file when it was read.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The number of frames, and all operations in order.
    pub(crate) fn operations<F: Fingerprint>(&self) -> Result<(u64, Vec<Operation<'_, F>>)> {
        let frames = self.frames()?.contents;
        let mut found = Vec::new();
        for &(offset, content) in &frames {
            operations(content, offset, &mut |operation| found.push(operation))
                .map_err(|flaw| flaw.of(&self.path))?;
            if !self.keyed && found.iter().any(|found| matches!(found, Operation::InsertKeyed(_))) {
                let flaw =
                    Flaw::new("frame", offset as u64, "rows without keys, as the database has", "keys");
                return Err(flaw.of(&self.path));
            }
        }
        Ok((frames.len() as u64, found))
    }

    fn frames(&self) -> Result<Frames<'_>> {
        let mut frames = Frames::scan(&self.bytes, &self.header);
        frames.damage.take().map_or(Ok(frames), |flaw| Err(flaw.of(&self.path)))
    }
}

/// Reads a file that may grow, or lose an unfinished end, meanwhile.
fn read_all(input: &dyn ReadFile) -> std::io::Result<Vec<u8>> {
    loop {
        let mut bytes = vec![0; to_usize(input.len_bytes()?)];
        match input.read_exact_at(&mut bytes, 0) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
            other => return other.map(|()| bytes),
        }
    }
}

/// The length of the log that a manifest names, as it stands now.
pub(crate) fn current_len(storage: &dyn Storage, manifest: &Manifest) -> Option<u64> {
    storage.open(&names::wal(manifest.live_wal?)).ok()?.len_bytes().ok()
}
