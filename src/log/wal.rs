//! The write-ahead log: appending to it, and reading it.

use std::io::ErrorKind;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::Flaw;
use crate::format::manifest::Manifest;
use crate::format::wal::{Content, Frames, HEADER_BYTES, MAX_LOG_BYTES, Operation, WalHeader, operations};
use crate::storage::{Bytes, Storage, WriteFile, names, read_growing};
use crate::util::random::random_id;
use crate::util::sabotage;

/// A log open for appending.
#[derive(Debug)]
pub(crate) struct Wal {
    file: Box<dyn WriteFile>,
    path: PathBuf,
    pub(crate) number: u64,
    salt: u64,
    end: u64,
    pub(crate) next_frame: u64,
}

impl Wal {
    /// Creates the log with the number `manifest.next_wal`, durable and empty. It becomes live when
    /// a manifest names it.
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
        let mut file = storage.create(&name).map_err(Error::io("create", &path))?;
        file.write_all_at(&header.encode(), 0)
            .map_err(Error::io("write", &path))
            .and_then(|()| file.sync().map_err(Error::io("sync", &path)))
            .inspect_err(|_| drop(storage.remove(&name)))?;
        Ok(Self { file, path, number, salt, end: HEADER_BYTES as u64, next_frame })
    }

    /// Whether a frame fits into a log: this one, or a new one if there is none.
    pub(crate) fn has_room(log: Option<&Self>, content: &Content) -> bool {
        log.map_or(HEADER_BYTES as u64, |log| log.end) + content.frame_len_bytes() <= MAX_LOG_BYTES
    }

    /// Appends one frame and makes it durable.
    ///
    /// A frame that cannot be written is truncated away, durably, before any other write. A bad
    /// frame is therefore always the last.
    pub(crate) fn append(&mut self, content: &Content) -> Result<()> {
        let frame = content
            .frame(self.salt, self.next_frame)
            .ok_or(Error::Limit("a commit to the log holds at most 4 GiB; flush instead"))?;
        if let Err(error) = self.file.write_all_at(&frame, self.end) {
            // The guarded storage records a failure here, which poisons the writer.
            let _ = self.file.truncate(self.end).and_then(|()| self.file.sync());
            return Err(Error::io("write", &self.path)(error));
        }
        if !sabotage::skips("wal-sync") {
            self.file.sync().map_err(Error::io("sync", &self.path))?;
        }
        self.end += frame.len() as u64;
        self.next_frame += 1;
        Ok(())
    }
}

/// The content of a log.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    bytes: Bytes,
    header: WalHeader,
    /// Whether the database has keys.
    keyed: bool,
}

impl Log {
    /// Reads the log that a manifest names. `None` if it names none.
    pub(crate) fn read(storage: &dyn Storage, manifest: &Manifest) -> Result<Option<Self>> {
        let Some(number) = manifest.live_wal else { return Ok(None) };
        let name = names::wal(number);
        let path = storage.path(&name);
        let file = storage.open(&name).map_err(|error| {
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
        let read = || match read_growing(&*file, MAX_LOG_BYTES) {
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                let least = format!("at most {MAX_LOG_BYTES} bytes");
                Err(Flaw::new("length", MAX_LOG_BYTES, least, error).of(&path))
            }
            other => other.map_err(Error::io("read", &path)),
        };
        let mut bytes = read()?;
        let header = decode(&bytes)?;
        if Frames::scan(&bytes, &header).damage.is_some() {
            // A frame that was written during this read looks the same. The second read sees all
            // frames that existed at the end of the first one.
            bytes = read()?;
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

/// The current length of the log that a manifest names.
pub(crate) fn current_len(storage: &dyn Storage, manifest: &Manifest) -> Option<u64> {
    storage.open(&names::wal(manifest.live_wal?)).ok()?.len_bytes().ok()
}
