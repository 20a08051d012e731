//! What the write-ahead log of a damaged database still tells.

use super::findings::{Findings, Kind};
use super::pages::open_file;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::Manifest;
use crate::format::wal::{
    FRAME_HEADER_BYTES, Frame, HEADER_BYTES, Operation, WalHeader, operations, sound_frames,
    sound_frames_without_salt,
};
use crate::storage::{ReadFile, Storage, names};
use crate::util::cast::to_usize;

/// Read at once; where that fails, as many zeros take its place.
const PIECE_BYTES: usize = 8192;

/// A log, read as far as the medium allows.
pub(super) struct DamagedLog {
    name: String,
    bytes: Vec<u8>,
}

impl DamagedLog {
    /// Reads a whole log into memory. `None` where there is none.
    pub(super) fn read(storage: &dyn Storage, number: u64, findings: &mut Findings) -> Result<Option<Self>> {
        let name = names::wal(number);
        match open_file(storage, &name)? {
            Ok(input) => Ok(Some(Self { name, bytes: read_all(&*input) })),
            Err(what) => {
                findings.add(Kind::Lost, &name, format!("{what}, with the commits since the last run"));
                Ok(None)
            }
        }
    }

    /// Its header, where that is sound and of a database of this kind.
    pub(super) fn header(&self, database_id: [u8; 16], width: u32) -> Option<WalHeader> {
        let header = self.any_header()?;
        (header.database_id == database_id && header.width == width).then_some(header)
    }

    /// Its header, whatever it says.
    pub(super) fn any_header(&self) -> Option<WalHeader> {
        WalHeader::parse(&self.bytes).ok()
    }

    /// All operations of sound frames, in order.
    ///
    /// Without a header, frames up to the first bad one can be told where the manifest says which comes
    /// first.
    pub(super) fn operations<F: Fingerprint>(
        &self,
        manifest: &Manifest,
        findings: &mut Findings,
    ) -> Vec<Operation<'_, F>> {
        let header = self.header(manifest.database_id, manifest.width);
        let (frames, first) = match header {
            Some(header) => (sound_frames(&self.bytes, &header), header.first_frame),
            None if self.any_header().is_some() => {
                findings.add(Kind::Lost, &self.name, "another log in the place of this one");
                return Vec::new();
            }
            None => {
                findings.add(Kind::Damaged, &self.name, "the header cannot be read");
                (sound_frames_without_salt(&self.bytes, manifest.next_frame), manifest.next_frame)
            }
        };
        self.tell_missing(&frames, first, findings);
        self.tell_rest(&frames, header.is_some(), findings);
        let mut found = Vec::new();
        for frame in &frames {
            let mut of_frame = Vec::new();
            match operations(frame.content, frame.offset, &mut |operation| of_frame.push(operation)) {
                Ok(()) => found.append(&mut of_frame),
                Err(_) => {
                    let what = format!("commit {}: sound, and makes no sense", frame.number);
                    findings.add(Kind::Lost, &self.name, what);
                }
            }
        }
        found
    }

    /// Tells of frames that were durable, as a later one proves, and are lost.
    fn tell_missing(&self, frames: &[Frame<'_>], first: u64, findings: &mut Findings) {
        let mut expected = first;
        for frame in frames {
            if frame.number > expected {
                let what = format!(
                    "{} commits before offset {}: rows may be missing, and deleted ones may have come back",
                    frame.number - expected,
                    frame.offset - FRAME_HEADER_BYTES
                );
                findings.add(Kind::Lost, &self.name, what);
            }
            expected = frame.number.saturating_add(1);
        }
    }

    /// Tells of what follows the last sound frame. A damaged last commit cannot be told from one that
    /// never came to its end; without a header, there may be more behind a damaged one.
    fn tell_rest(&self, frames: &[Frame<'_>], has_header: bool, findings: &mut Findings) {
        let end = frames.last().map_or(HEADER_BYTES, |frame| frame.offset + frame.content.len());
        let rest = self.bytes.get(end..).unwrap_or_default();
        if rest.iter().all(|&byte| byte == 0) {
            return;
        }
        let (kind, what) = if has_header {
            (Kind::Damaged, "an unfinished commit, or a damaged last one")
        } else {
            (Kind::Lost, "a damaged commit and all behind it, or an unfinished one")
        };
        findings.add(kind, &self.name, format!("{} bytes from offset {end} on: {what}", rest.len()));
    }
}

/// Reads a file piece by piece.
fn read_all(input: &dyn ReadFile) -> Vec<u8> {
    let mut bytes = vec![0; to_usize(input.len_bytes().unwrap_or(0))];
    let mut offset = 0;
    for piece in bytes.chunks_mut(PIECE_BYTES) {
        if input.read_exact_at(piece, offset).is_err() {
            piece.fill(0);
        }
        offset += piece.len() as u64;
    }
    bytes
}
