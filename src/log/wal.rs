//! The write-ahead log: appending to it, and reading it.

use std::io::ErrorKind;
use std::path::PathBuf;

use crate::error::{Error, Limit, Result};
use crate::fingerprint::Fingerprint;
use crate::format::Flaw;
use crate::format::manifest::{LiveWal, MAX_NUMBER, Manifest};
use crate::format::wal::{
    Content, Frames, HEADER_BYTES, LogPlace, MAX_LOG_BYTES, Operation, WalHeader, operations,
};
use crate::storage::{Bytes, ReadFile, Storage, WriteFile, names, read_growing};
use crate::util::cast::to_usize;
use crate::util::random::random_id;
use crate::util::sabotage;

/// A log open for appending.
#[derive(Debug)]
pub(crate) struct Wal {
    file: Box<dyn WriteFile>,
    path: PathBuf,
    pub(crate) live: LiveWal,
    end: u64,
    pub(crate) next_frame: u64,
}

impl Wal {
    /// Creates the log with the number `manifest.next_wal`, durable and empty. It becomes live when
    /// a manifest names it.
    pub(crate) fn create(storage: &dyn Storage, manifest: &Manifest) -> Result<Self> {
        let salt = random_id()?.first_chunk().map_or(0, |salt| u64::from_le_bytes(*salt));
        let live = LiveWal { number: manifest.next_wal, salt };
        let name = names::wal(live.number);
        let path = storage.path(&name);
        let header = manifest.header_of(live, manifest.next_frame);
        let mut file = storage.create(&name).map_err(Error::io("create", &path))?;
        file.write_all_at(&header.encode(), 0)
            .map_err(Error::io("write", &path))
            .and_then(|()| file.sync().map_err(Error::io("sync", &path)))
            .inspect_err(|_| drop(storage.remove(&name)))?;
        Ok(Self { file, path, live, end: HEADER_BYTES as u64, next_frame: manifest.next_frame })
    }

    /// Whether a frame fits into a log: this one, or a new one if there is none.
    pub(crate) fn has_room(log: Option<&Self>, content: &Content) -> bool {
        log.map_or(HEADER_BYTES as u64, |log| log.end) + content.frame_len_bytes() <= MAX_LOG_BYTES
    }

    /// The length of the file.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.end
    }

    /// Appends one frame and makes it durable.
    ///
    /// A frame that cannot be written is truncated away, durably, before any other write. A bad
    /// frame is therefore always the last.
    pub(crate) fn append(&mut self, content: &Content) -> Result<()> {
        self.append_all(std::slice::from_ref(content))
    }

    /// Appends a frame for each content, and makes them durable together. Several only before a manifest names the
    /// log: later, a frame is written once the one before is durable.
    pub(crate) fn append_all(&mut self, contents: &[Content]) -> Result<()> {
        let (mut end, mut next_frame) = (self.end, self.next_frame);
        for content in contents {
            if next_frame >= MAX_NUMBER {
                return Err(Error::Limit(Limit::Numbers));
            }
            let frame = content.frame(self.live.salt, next_frame).ok_or(Error::Limit(Limit::Commit))?;
            if let Err(error) = self.file.write_all_at(&frame, end) {
                // The guarded storage records a failure here, which poisons the writer.
                let _ = self.file.truncate(self.end).and_then(|()| self.file.sync());
                return Err(Error::io("write", &self.path)(error));
            }
            end += frame.len() as u64;
            next_frame += 1;
        }
        if !sabotage::skips("wal-sync") {
            self.file.sync().map_err(Error::io("sync", &self.path))?;
        }
        (self.end, self.next_frame) = (end, next_frame);
        Ok(())
    }
}

/// A log open for reading.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: Box<dyn ReadFile>,
    header: WalHeader,
    /// The number behind its last frame, of a sealed log.
    sealed_at: Option<u64>,
    /// Whether the database has keys.
    keyed: bool,
    /// Whether the manifest says that an id has been stored. It counts the rows of a sealed log.
    has_ids: bool,
}

impl Log {
    /// Opens the logs that a manifest names, older first, and checks their headers.
    pub(crate) fn open_all(storage: &dyn Storage, manifest: &Manifest) -> Result<Vec<Self>> {
        manifest.wal_headers().map(|header| Self::open(storage, manifest, header)).collect()
    }

    /// Opens the log with a header that a manifest names.
    pub(crate) fn open(storage: &dyn Storage, manifest: &Manifest, header: WalHeader) -> Result<Self> {
        let name = names::wal(header.number);
        let path = storage.path(&name);
        let file = storage.open(&name).map_err(|error| {
            let flaw = |found| Flaw::new("file", 0, "a file that the manifest names", found).of(&path);
            match error.kind() {
                ErrorKind::NotFound => flaw("no file"),
                ErrorKind::InvalidData => flaw("something that is no regular file"),
                _ => Error::io("open", &path)(error),
            }
        })?;
        let io = Error::io("read", &path);
        let len_bytes = match file.len_bytes() {
            Ok(len_bytes) => len_bytes.min(HEADER_BYTES as u64),
            Err(error) => return Err(io(error)),
        };
        let mut bytes = [0; HEADER_BYTES];
        let bytes = &mut bytes[..to_usize(len_bytes)];
        file.read_exact_at(bytes, 0).map_err(io)?;
        header.check(bytes).map_err(|problem| problem.of(&path))?;
        let (sealed_at, keyed) = (manifest.sealed_at(header.number), manifest.keys.is_some());
        Ok(Self { path, file, header, sealed_at, keyed, has_ids: manifest.largest_id.is_some() })
    }

    /// What distinguishes this log from every other one.
    pub(crate) fn salt(&self) -> u64 {
        self.header.salt
    }

    /// The place of the first frame.
    pub(crate) fn start(&self) -> LogPlace {
        self.header.start()
    }

    /// Whether nothing is appended to it any more.
    pub(crate) fn is_sealed(&self) -> bool {
        self.sealed_at.is_some()
    }

    /// The current length of the file.
    pub(crate) fn len_bytes(&self) -> Result<u64> {
        self.file.len_bytes().map_err(Error::io("read", &self.path))
    }

    /// Reads and checks the frames from a place on.
    pub(crate) fn read(&self, from: LogPlace) -> Result<LogFrames<'_>> {
        let mut bytes = self.read_bytes(from)?;
        let mut frames = Frames::scan(&bytes, from, self.header.salt);
        if frames.damage.is_some() {
            // A frame that was written during this read looks the same. The second read sees all
            // frames that existed at the end of the first one.
            bytes = self.read_bytes(from)?;
            frames = Frames::scan(&bytes, from, self.header.salt);
        }
        let missing = self.sealed_at.filter(|&next| next != frames.end.frame).map(|next| {
            let found = format!("a log that ends before frame {}", frames.end.frame);
            Flaw::new("frame", frames.end.offset, format!("all frames before {next}"), found)
        });
        match frames.damage.take().or(missing) {
            Some(flaw) => Err(flaw.of(&self.path)),
            None => Ok(LogFrames { log: self, bytes, from, frames }),
        }
    }

    fn read_bytes(&self, from: LogPlace) -> Result<Bytes> {
        match read_growing(&*self.file, from.offset, MAX_LOG_BYTES) {
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                let least = format!("at most {MAX_LOG_BYTES} bytes");
                Err(Flaw::new("length", MAX_LOG_BYTES, least, error).of(&self.path))
            }
            other => other.map_err(Error::io("read", &self.path)),
        }
    }
}

/// Sound frames of a log.
#[derive(Debug)]
pub(crate) struct LogFrames<'a> {
    log: &'a Log,
    /// The file from `from` on.
    bytes: Bytes,
    from: LogPlace,
    frames: Frames,
}

impl LogFrames<'_> {
    /// Where the sound frames end.
    pub(crate) fn end(&self) -> LogPlace {
        self.frames.end
    }

    /// The contents of the frames.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &[u8]> {
        self.frames.contents.iter().filter_map(|content| self.bytes.get(content.clone()))
    }

    /// The bytes of the frames.
    pub(crate) fn sound_bytes(&self) -> &[u8] {
        let len = to_usize(self.end().offset - self.from.offset);
        self.bytes.get(..len).unwrap_or_default()
    }

    /// Visits the operations of all frames, in order. After an error, nothing that was visited may
    /// be used.
    pub(crate) fn visit<F: Fingerprint>(&self, visit: &mut impl FnMut(Operation<'_, F>)) -> Result<()> {
        let (mut has_keys, mut has_rows) = (false, false);
        for content in &self.frames.contents {
            let offset = self.from.offset + content.start as u64;
            let bytes = self.bytes.get(content.clone()).unwrap_or_default();
            operations(bytes, offset, &mut |operation| {
                has_keys |= matches!(operation, Operation::InsertKeyed(_));
                has_rows |= operation.is_insert();
                visit(operation);
            })
            .map_err(|problem| problem.of(&self.log.path))?;
            if has_keys && !self.log.keyed {
                let flaw = Flaw::new("frame", offset, "rows without keys, as the database has", "keys");
                return Err(flaw.of(&self.log.path));
            }
            if has_rows && self.log.sealed_at.is_some() && !self.log.has_ids {
                let flaw = Flaw::new("frame", offset, "no rows, as no id has been stored", "rows");
                return Err(flaw.of(&self.log.path));
            }
        }
        Ok(())
    }
}
