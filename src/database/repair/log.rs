//! The write-ahead log of a damaged database.

use std::path::PathBuf;

use super::pages::open_file;
use super::report::{FindingKind, RepairReport};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::Problem;
use crate::format::manifest::Manifest;
use crate::format::wal::{
    FRAME_HEADER_BYTES, Frame, HEADER_BYTES, MAX_LOG_BYTES, Operation, WalHeader, operations, sound_frames,
};
use crate::storage::{Bytes, Storage, names, read_pieces};

/// Bytes to read at once. Unreadable pieces are replaced by zeros.
const PIECE_BYTES: u64 = 8192;

/// A log, read as far as the medium allows.
pub(super) struct DamagedLog {
    name: String,
    path: PathBuf,
    bytes: Bytes,
}

impl DamagedLog {
    /// Reads a whole log into memory. Unreadable pieces are replaced by zeros. `None` if it is
    /// missing.
    pub(super) fn read(
        storage: &dyn Storage,
        number: u64,
        report: &mut RepairReport,
    ) -> Result<Option<Self>> {
        let name = names::wal(number);
        match open_file(storage, &name)? {
            Ok(file) => {
                let len_bytes = file.len_bytes().unwrap_or(0);
                if len_bytes > MAX_LOG_BYTES {
                    let what = format!("{len_bytes} bytes long, and a log has at most {MAX_LOG_BYTES}");
                    report.add(FindingKind::Damaged, &name, what);
                }
                let zeros = |piece: &mut [u8], _| {
                    piece.fill(0);
                    Ok(())
                };
                let bytes = read_pieces(&*file, 0..len_bytes.min(MAX_LOG_BYTES), PIECE_BYTES, zeros);
                let path = storage.path(&name);
                let bytes = bytes.map_err(Error::io("read", &path))?;
                Ok(Some(Self { name, path, bytes }))
            }
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

    /// All operations of sound frames, in order. [`Error::NewerFeature`] for operations of newer
    /// programs.
    pub(super) fn operations<F: Fingerprint>(
        &self,
        manifest: &Manifest,
        report: &mut RepairReport,
    ) -> Result<Vec<Operation<'_, F>>> {
        let found = self.any_header();
        let named = manifest.wal_headers().find(|header| names::wal(header.number) == self.name);
        // Without a manifest, logs with a damaged header are left out.
        let Some(header) = named.or(found) else { return Ok(Vec::new()) };
        match found {
            None => report.add(FindingKind::Damaged, &self.name, "the header cannot be read"),
            Some(found) if found != header => {
                report.add(FindingKind::Lost, &self.name, "another log has this name");
                return Ok(Vec::new());
            }
            Some(_) => {}
        }
        let frames = sound_frames(&self.bytes, &header);
        let end = self.report_missing(&frames, header.first_frame, report);
        if let Some(missing) =
            manifest.sealed_at(header.number).and_then(|next| next.checked_sub(end)).filter(|&n| n > 0)
        {
            let what = format!(
                "{missing} commits at its end: rows may be missing, and deleted ones may have come back"
            );
            report.add(FindingKind::Lost, &self.name, what);
        }
        self.report_rest(&frames, report);
        let mut found = Vec::new();
        for frame in &frames {
            let mut of_frame = Vec::new();
            match operations(frame.content, frame.offset as u64, &mut |operation| of_frame.push(operation)) {
                Ok(()) => found.append(&mut of_frame),
                Err(Problem::Flaw(_)) => {
                    let what = format!("commit {}: sound, and makes no sense", frame.number);
                    report.add(FindingKind::Lost, &self.name, what);
                }
                Err(newer) => return Err(newer.of(&self.path)),
            }
        }
        Ok(found)
    }

    /// Reports lost frames before a sound one, which proves that they were durable. Returns the number
    /// behind the last frame.
    fn report_missing(&self, frames: &[Frame<'_>], first: u64, report: &mut RepairReport) -> u64 {
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
        expected
    }

    /// Reports the bytes after the last sound frame. A damaged last commit looks the same as an
    /// unfinished one.
    fn report_rest(&self, frames: &[Frame<'_>], report: &mut RepairReport) {
        let end = frames.last().map_or(HEADER_BYTES, |frame| frame.offset + frame.content.len());
        let rest = self.bytes.get(end..).unwrap_or_default();
        if rest.iter().all(|&byte| byte == 0) {
            return;
        }
        let bytes = rest.len();
        let what = format!("{bytes} bytes from offset {end} on: an unfinished commit, or a damaged last one");
        report.add(FindingKind::Damaged, &self.name, what);
    }
}
