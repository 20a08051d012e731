//! Copies a run to another folder, under another number or into another database.
//!
//! Only the header page says to which database and run a file spec; it is written anew, and all other
//! pages are taken over as they are. Each page is checked as it is written, whether or not somebody has
//! checked it before: the copy may be all that is left one day.

use std::io::{self, ErrorKind};

use super::page_file::{FileSpec, PageFile};
use super::verify::read_crcs;
use super::{Keys, Postings, Run, Segment, Tombstones};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::Flaw;
use crate::format::manifest::{FileRecord, RunRecord};
use crate::format::paged::{PAGE_BYTES, encode_checksum_pages};
use crate::storage::{Input, Storage};
use crate::util::cast::to_usize;

/// Pages copied at once.
const BATCH_PAGES: usize = 128;

/// Is told how many bytes more have been written; an error ends the copying.
pub(crate) type Report<'a> = &'a mut dyn FnMut(u64) -> Result<()>;

impl<F: Fingerprint> Run<F> {
    /// Writes all files as run `number` of a database, and syncs them. What has been written stays when
    /// it fails.
    pub(crate) fn copy(
        &self,
        to: &dyn Storage,
        database_id: [u8; 16],
        number: u64,
        report: Report<'_>,
    ) -> Result<RunRecord> {
        let tables = self.record.segments.len();
        let segments = (0..tables).map(|table| Segment::<F>::file_spec(database_id, number, table));
        let rows = Postings::file_spec(database_id, number, F::BITS);
        let tombstones = Tombstones::file_spec(database_id, number, F::BITS);
        let keys = Keys::file_spec(database_id, number, F::BITS);
        let tombstones = self.tombstones.iter().map(|_| tombstones.clone());
        let keys = self.keys.iter().map(|_| keys.clone());
        let places = segments.chain([rows]).chain(tombstones).chain(keys);
        for ((file, place), record) in self.files().zip(places).zip(self.record.files()) {
            file.copy(to, &place, *record, report)?;
        }
        Ok(RunRecord { run: number, ..self.record.clone() })
    }
}

impl RunRecord {
    /// Bytes of all files.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.files().map(|file| file.len_bytes).sum()
    }
}

impl PageFile {
    /// Writes the file under another name and header, and syncs it.
    fn copy(&self, to: &dyn Storage, place: &FileSpec, record: FileRecord, report: Report<'_>) -> Result<()> {
        let path = to.path(&place.name);
        let crcs = read_crcs(&Mapped(self.unchecked()), self)?;
        let mut output = to.create(&place.name).map_err(Error::io("create", &path))?;
        output.write_all_at(&place.header.encode(), 0).map_err(Error::io("write", &path))?;
        let mut at = PAGE_BYTES;
        for batch in crcs.chunks(BATCH_PAGES) {
            let pages = self.copied_pages(at, batch)?;
            output.write_all_at(&pages, at as u64).map_err(Error::io("write", &path))?;
            at += pages.len();
            report(pages.len() as u64)?;
        }
        let tail = self.copied_tail(&crcs, record)?;
        output.write_all_at(&tail, at as u64).map_err(Error::io("write", &path))?;
        if !crate::util::sabotage::skips("run-sync") {
            output.sync().map_err(Error::io("sync", &path))?;
        }
        report((PAGE_BYTES + tail.len()) as u64)
    }

    /// A copy of some data pages. What has been checked is what is returned, whatever happens to the
    /// file meanwhile.
    fn copied_pages(&self, at: usize, crcs: &[u32]) -> Result<Vec<u8>> {
        let end = at + crcs.len() * PAGE_BYTES;
        self.will_need(end..(end + BATCH_PAGES * PAGE_BYTES).min(to_usize(self.len_bytes())));
        let cut = || self.flaw(at as u64, "data within the file", end);
        let pages = self.unchecked().get(at..end).ok_or_else(cut)?.to_vec();
        for (index, (page, &crc)) in pages.chunks(PAGE_BYTES).zip(crcs).enumerate() {
            let computed = crc32fast::hash(page);
            if computed != crc {
                let offset = (at + index * PAGE_BYTES) as u64;
                return Err(self.flaw(offset, format!("CRC-32 {crc:#010x}"), format!("{computed:#010x}")));
            }
        }
        Ok(pages)
    }

    /// Checksum pages and footer, made again from what has been read of them. They leave no byte open,
    /// so they are the same.
    fn copied_tail(&self, crcs: &[u32], record: FileRecord) -> Result<Vec<u8>> {
        let mut tail = encode_checksum_pages(crcs);
        let footer = self.footer.encode();
        let footer_crc = footer.last_chunk().map_or(0, |crc| u32::from_le_bytes(*crc));
        let tell = |crc: u32| format!("CRC-32 {crc:#010x}");
        Flaw::unless_equal("footer", self.footer_offset(), tell(record.footer_crc), tell(footer_crc))
            .map_err(|flaw| flaw.of(self.path()))?;
        tail.extend_from_slice(&footer);
        Ok(tail)
    }
}

/// A mapped file as an input.
#[derive(Debug)]
struct Mapped<'a>(&'a [u8]);

impl Input for Mapped<'_> {
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
