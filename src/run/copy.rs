//! Copies a run to another folder, under another number or into another database.
//!
//! Only the header page names the database and run of a file. It is rewritten; all other pages
//! are copied unchanged, except for keys that get other sequence numbers. Every page is checked as it
//! is written, even if it was checked before: the copy may one day be the only one left.

use std::io::{self, ErrorKind};

use super::files::Run;
use super::keys::{KeyCursor, Keys, write_keys};
use super::page_file::{FileSpec, PageFile};
use super::postings::Postings;
use super::segment::Segment;
use super::tombstones::Tombstones;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::keys::{KeyRecord, KeysSize};
use crate::format::manifest::{FileRecord, KeysRecord, MAX_NUMBER, Manifest, RunRecord};
use crate::format::paged::{PAGE_BYTES, encode_checksum_pages, page_crc};
use crate::storage::{ReadFile, Storage};
use crate::util::cast::to_usize;
use crate::util::sabotage;
use crate::util::time::Time;

/// Pages to copy at once.
const BATCH_PAGES: usize = 128;

/// Progress callback: receives the number of bytes written since the last call. An error cancels
/// the copy.
pub(crate) type Report<'a> = &'a mut dyn FnMut(u64) -> Result<()>;

/// What a copy of a run has of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopiedRun {
    pub(crate) number: u64,
    pub(crate) expires: Option<Time>,
    /// What is added to the sequence numbers of its keys.
    pub(crate) first_sequence: u64,
}

impl CopiedRun {
    /// The same run.
    pub(crate) fn of(record: &RunRecord) -> Self {
        Self { number: record.run, expires: record.expires, first_sequence: 0 }
    }
}

impl<F: Fingerprint> Run<F> {
    /// Writes all files as a run of a database with this manifest, and syncs them. After an error the files
    /// written so far remain.
    pub(crate) fn copy(
        &self,
        to: &dyn Storage,
        manifest: &Manifest,
        copied: CopiedRun,
        report: Report<'_>,
    ) -> Result<RunRecord> {
        let CopiedRun { number, expires, first_sequence } = copied;
        let owner = manifest.owner(number, self.record.salt, expires);
        let tables = self.record.segments.len();
        let segments = (0..tables).map(|table| Segment::<F>::file_spec(owner, &self.record.layout, table));
        let rows = Postings::file_spec(owner);
        let tombstones = Tombstones::file_spec(owner);
        let tombstones = self.tombstones.iter().map(|_| tombstones.clone());
        let specs = segments.chain([rows]).chain(tombstones);
        for ((file, spec), record) in self.files().zip(specs).zip(self.record.files()) {
            copy_file(file, to, &spec, *record, report)?;
        }
        let mut record = RunRecord { run: number, expires, ..self.record.clone() };
        if let Some((keys, copied)) = self.keys.as_ref().zip(record.keys.as_mut()) {
            let spec = Keys::file_spec(owner);
            if first_sequence == 0 {
                copy_file(&keys.file, to, &spec, copied.file, report)?;
            } else {
                *copied = copy_later_keys::<F>(keys, to, &spec, first_sequence)?;
                report(keys.file.len_bytes())?;
            }
        }
        Ok(record)
    }
}

/// Writes the keys of a verified file with larger sequence numbers. No reader has checked those of the file.
fn copy_later_keys<F: Fingerprint>(
    keys: &Keys,
    to: &dyn Storage,
    spec: &FileSpec,
    first_sequence: u64,
) -> Result<KeysRecord> {
    let visit_all = |mut cursor: KeyCursor<'_, F>, visit: &mut dyn FnMut(KeyRecord<'_, F>) -> Result<()>| {
        while let Some(record) = cursor.next()? {
            if record.sequence.max(record.last) >= MAX_NUMBER {
                return Err(keys.file.flaw(
                    0,
                    "sequence numbers below 2^63",
                    record.sequence.max(record.last),
                ));
            }
            let (sequence, last) = (record.sequence + first_sequence, record.last + first_sequence);
            visit(KeyRecord { sequence, last, ..record })?;
        }
        Ok(())
    };
    // A file may be longer than what is written of its records.
    let mut size = KeysSize::default();
    visit_all(keys.cursor().without_sums(), &mut |record| {
        size.add(&record);
        Ok(())
    })?;
    write_keys(to, spec, size, |visit| visit_all(keys.cursor(), visit))
}

impl<F: Fingerprint> Run<F> {
    /// Checks every page of all files, as a copy does. `tick` may cancel.
    pub(crate) fn check_pages(&self, tick: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        for (file, record) in self.files().zip(self.record.files()) {
            let crcs = file.read_crcs(&MappedFile(file.unchecked()))?;
            let mut at = PAGE_BYTES;
            for batch in crcs.chunks(BATCH_PAGES) {
                at += checked_pages(file, at, batch)?.len();
                tick()?;
            }
            checked_tail(file, &crcs, *record)?;
        }
        Ok(())
    }
}

/// Writes a file under another name and header, and syncs it.
pub(super) fn copy_file(
    file: &PageFile,
    to: &dyn Storage,
    spec: &FileSpec,
    record: FileRecord,
    report: Report<'_>,
) -> Result<()> {
    let path = to.path(&spec.name);
    let crcs = file.read_crcs(&MappedFile(file.unchecked()))?;
    let mut output = to.create(&spec.name).map_err(Error::io("create", &path))?;
    output.write_all_at(&spec.header.encode(), 0).map_err(Error::io("write", &path))?;
    let mut at = PAGE_BYTES;
    for batch in crcs.chunks(BATCH_PAGES) {
        let pages = checked_pages(file, at, batch)?;
        output.write_all_at(&pages, at as u64).map_err(Error::io("write", &path))?;
        at += pages.len();
        report(pages.len() as u64)?;
    }
    let tail = checked_tail(file, &crcs, record)?;
    output.write_all_at(&tail, at as u64).map_err(Error::io("write", &path))?;
    if !sabotage::skips("run-sync") {
        output.sync().map_err(Error::io("sync", &path))?;
    }
    report((PAGE_BYTES + tail.len()) as u64)
}

/// A checked copy of some data pages. The copy is checked, so the file may change meanwhile.
fn checked_pages(file: &PageFile, at: usize, crcs: &[u32]) -> Result<Vec<u8>> {
    let end = at + crcs.len() * PAGE_BYTES;
    file.will_need(end..(end + BATCH_PAGES * PAGE_BYTES).min(to_usize(file.len_bytes())));
    let cut = || file.flaw(at as u64, "data within the file", end);
    let pages = file.unchecked().get(at..end).ok_or_else(cut)?.to_vec();
    for (index, (page, &crc)) in pages.chunks(PAGE_BYTES).zip(crcs).enumerate() {
        let computed = crc32fast::hash(page);
        if computed != crc {
            let offset = (at + index * PAGE_BYTES) as u64;
            return Err(file.flaw(offset, format!("CRC-32 {crc:#010x}"), format!("{computed:#010x}")));
        }
    }
    Ok(pages)
}

/// Checksum pages and footer, encoded again from their decoded content. They have no unused bytes,
/// so the result is the same.
fn checked_tail(file: &PageFile, crcs: &[u32], record: FileRecord) -> Result<Vec<u8>> {
    let (mut tail, root_crc) = encode_checksum_pages(crcs);
    let footer = file.footer.encode();
    let describe = |crc: u32| format!("CRC-32 {crc:#010x}");
    file.check_equal("checksums", describe(file.footer.root_crc), describe(root_crc))?;
    file.check_equal("footer", describe(record.footer_crc), describe(page_crc(&footer)))?;
    tail.extend_from_slice(&footer);
    Ok(tail)
}

/// A mapped file with the interface of one that is read.
#[derive(Debug)]
struct MappedFile<'a>(&'a [u8]);

impl ReadFile for MappedFile<'_> {
    fn len_bytes(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let start = to_usize(offset);
        let found = self.0.get(start..start + bytes.len()).ok_or(ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }
}
