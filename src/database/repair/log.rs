//! The write-ahead log of a damaged database.

use super::pages::open_file;
use super::report::{FindingKind, RepairReport};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::Manifest;
use crate::format::wal::{
    FRAME_HEADER_BYTES, Frame, HEADER_BYTES, Operation, WalHeader, operations, sound_frames,
    sound_frames_without_salt,
};
use crate::storage::{ReadFile, Storage, names};
use crate::util::cast::to_usize;

/// Bytes to read at once. Unreadable pieces are replaced by zeros.
const PIECE_BYTES: usize = 8192;

/// A log, read as far as the medium allows.
pub(super) struct DamagedLog {
    name: String,
    bytes: Vec<u8>,
}

impl DamagedLog {
    /// Reads a whole log into memory. `None` if it is missing.
    pub(super) fn read(
        storage: &dyn Storage,
        number: u64,
        report: &mut RepairReport,
    ) -> Result<Option<Self>> {
        let name = names::wal(number);
        match open_file(storage, &name)? {
            Ok(file) => Ok(Some(Self { name, bytes: read_all(&*file) })),
            Err(what) => {
                let what = format!("{what}, with the commits since the last run");
                report.add(FindingKind::Lost, &name, what);
                Ok(None)
            }
        }
    }

    /// The header, if it is sound and belongs to this database.
    pub(super) fn header(&self, database_id: [u8; 16], width: u32) -> Option<WalHeader> {
        let header = self.any_header()?;
        (header.database_id == database_id && header.width == width).then_some(header)
    }

    /// The header, if it is sound.
    pub(super) fn any_header(&self) -> Option<WalHeader> {
        WalHeader::parse(&self.bytes).ok()
    }

    /// All operations of sound frames, in order.
    ///
    /// Without a header, the manifest gives the number of the first frame, and only the frames up
    /// to the first bad one are found.
    pub(super) fn operations<F: Fingerprint>(
        &self,
        manifest: &Manifest,
        report: &mut RepairReport,
    ) -> Vec<Operation<'_, F>> {
        let header = self.header(manifest.database_id, manifest.width);
        let (frames, first) = match header {
            Some(header) => (sound_frames(&self.bytes, &header), header.first_frame),
            None if self.any_header().is_some() => {
                report.add(FindingKind::Lost, &self.name, "another log in the place of this one");
                return Vec::new();
            }
            None => {
                report.add(FindingKind::Damaged, &self.name, "the header cannot be read");
                (sound_frames_without_salt(&self.bytes, manifest.next_frame), manifest.next_frame)
            }
        };
        self.report_missing(&frames, first, report);
        self.report_rest(&frames, header.is_some(), report);
        let mut found = Vec::new();
        for frame in &frames {
            let mut of_frame = Vec::new();
            match operations(frame.content, frame.offset, &mut |operation| of_frame.push(operation)) {
                Ok(()) => found.append(&mut of_frame),
                Err(_) => {
                    let what = format!("commit {}: sound, and makes no sense", frame.number);
                    report.add(FindingKind::Lost, &self.name, what);
                }
            }
        }
        found
    }

    /// Reports lost frames before a sound one. The sound frame proves that they were durable.
    fn report_missing(&self, frames: &[Frame<'_>], first: u64, report: &mut RepairReport) {
        let mut expected = first;
        for frame in frames {
            if frame.number > expected {
                let what = format!(
                    "{} commits before offset {}: rows may be missing, and deleted ones may have come back",
                    frame.number - expected,
                    frame.offset - FRAME_HEADER_BYTES
                );
                report.add(FindingKind::Lost, &self.name, what);
            }
            expected = frame.number.saturating_add(1);
        }
    }

    /// Reports the bytes after the last sound frame. A damaged last commit looks the same as an
    /// unfinished one. Without a header, more frames may follow a damaged one.
    fn report_rest(&self, frames: &[Frame<'_>], has_header: bool, report: &mut RepairReport) {
        let end = frames.last().map_or(HEADER_BYTES, |frame| frame.offset + frame.content.len());
        let rest = self.bytes.get(end..).unwrap_or_default();
        if rest.iter().all(|&byte| byte == 0) {
            return;
        }
        let (kind, what) = if has_header {
            (FindingKind::Damaged, "an unfinished commit, or a damaged last one")
        } else {
            (FindingKind::Lost, "a damaged commit and all behind it, or an unfinished one")
        };
        report.add(kind, &self.name, format!("{} bytes from offset {end} on: {what}", rest.len()));
    }
}

/// Reads a file piece by piece.
fn read_all(file: &dyn ReadFile) -> Vec<u8> {
    let mut bytes = vec![0; to_usize(file.len_bytes().unwrap_or(0))];
    let mut offset = 0;
    for piece in bytes.chunks_mut(PIECE_BYTES) {
        if file.read_exact_at(piece, offset).is_err() {
            piece.fill(0);
        }
        offset += piece.len() as u64;
    }
    bytes
}
