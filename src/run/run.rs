//! A run: its segments and its postings, opened together.

use std::io::ErrorKind;

use super::page_file::PageFile;
use super::values::Values;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::format::Flaw;
use crate::format::manifest::{Manifest, RunRecord};
use crate::run::{Cursor, Keys, Postings, Segment, Tombstones};
use crate::storage::{Access, Bytes, Storage};
use crate::util::cast::to_usize;

/// All files of one run, open and checked against the manifest.
#[derive(Debug)]
pub(crate) struct Run<F> {
    pub(crate) record: RunRecord,
    /// Table 0 first.
    pub(crate) segments: Vec<Segment<F>>,
    pub(crate) postings: Postings,
    pub(crate) tombstones: Option<Tombstones>,
    pub(crate) keys: Option<Keys>,
}

impl<F: Fingerprint> Run<F> {
    /// Maps every file of a run. Reads header and footer pages only.
    pub(crate) fn open(storage: &dyn Storage, manifest: &Manifest, record: &RunRecord) -> Result<Self> {
        let postings = open_postings::<F>(storage, manifest, record)?;
        let segments = (0..record.segments.len())
            .map(|table| open_segment(storage, manifest, record, table, postings.values()))
            .collect::<Result<_>>()?;
        let tombstones = open_tombstones::<F>(storage, manifest, record)?;
        let keys = open_keys::<F>(storage, manifest, record)?;
        Ok(Self { record: record.clone(), segments, postings, tombstones, keys })
    }

    /// The segment in natural order.
    pub(crate) fn natural(&self) -> &Segment<F> {
        #[expect(clippy::indexing_slicing, reason = "a layout has at least one table")]
        let segment = &self.segments[0];
        segment
    }

    /// All files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PageFile> {
        let segments = self.segments.iter().map(|segment| &segment.file);
        let tombstones = self.tombstones.iter().map(|tombstones| &tombstones.file);
        segments
            .chain([&*self.postings.file])
            .chain(tombstones)
            .chain(self.keys.iter().map(|keys| &keys.file))
    }

    /// Bytes of each kind of section, the segments' added up: those of segments, of postings files, deleted, key
    /// ids, ends, records.
    pub(crate) fn section_bytes(&self) -> Vec<u64> {
        let lens = |file: &PageFile| {
            file.footer.sections.iter().map(|section| section.len_bytes).collect::<Vec<_>>()
        };
        let mut sum = lens(&self.natural().file);
        for segment in self.segments.iter().skip(1) {
            sum.iter_mut().zip(lens(&segment.file)).for_each(|(total, len)| *total += len);
        }
        sum.extend(lens(&self.postings.file));
        sum.push(self.tombstones.as_ref().map_or(0, |tombstones| tombstones.info.count * 8));
        sum.extend(self.keys.as_ref().map_or([0; 3], |keys| keys.info.section_lens()));
        sum
    }

    /// Appends the ids of a fingerprint that is in the run.
    pub(crate) fn ids_of(&self, fingerprint: F, out: &mut Vec<u64>) -> Result<()> {
        match self.natural().find(fingerprint)? {
            Some(entry) => self.postings.ids_of(entry, out),
            None => Ok(()),
        }
    }
}

/// Walks the rows of a run in (fingerprint, id) order.
pub(crate) struct RowCursor<'a, F> {
    run: &'a Run<F>,
    values: Cursor<'a, F>,
    block: Vec<F>,
    at: usize,
    current: F,
    next_row: usize,
    ids: Vec<u64>,
}

/// Every so many rows, the system is asked for twice as many: a multiple of the block below.
const AHEAD_ROWS: usize = 1 << 17;
/// Rows that a cursor hands out at once.
const BLOCK_ROWS: usize = 4096;

impl<F: Fingerprint> Run<F> {
    /// Reads all rows in order.
    pub(crate) fn row_cursor(&self) -> RowCursor<'_, F> {
        RowCursor {
            run: self,
            values: self.natural().cursor(),
            block: Vec::new(),
            at: 0,
            current: F::default(),
            next_row: 0,
            ids: Vec::new(),
        }
    }
}

impl<F: Fingerprint> RowCursor<'_, F> {
    /// Replaces `out` by the next rows. False at the end.
    pub(crate) fn next_block(&mut self, out: &mut Vec<Row<F>>) -> Result<bool> {
        out.clear();
        let postings = &self.run.postings;
        let end = (self.next_row + BLOCK_ROWS).min(to_usize(postings.info.rows));
        self.ids.clear();
        if self.next_row.is_multiple_of(AHEAD_ROWS) {
            postings.will_need(self.next_row..self.next_row + 2 * AHEAD_ROWS);
        }
        postings.read_ids(self.next_row..end, &mut self.ids)?;
        for (row, &id) in (self.next_row..end).zip(&self.ids) {
            let starts = || postings.file.section(crate::format::postings::STARTS).offset;
            let first = postings.is_start(row)?;
            if row == 0 && !first {
                return Err(postings.file.flaw(starts(), "a start at row 0", "none"));
            }
            if first {
                if self.at == self.block.len() {
                    self.values.next_block(&mut self.block)?;
                    self.at = 0;
                }
                self.current = *self.block.get(self.at).ok_or_else(|| {
                    postings.file.flaw(
                        starts(),
                        "as many starts as fingerprints",
                        format!("one more at row {row}"),
                    )
                })?;
                self.at += 1;
            }
            out.push(Row { fingerprint: self.current, id });
        }
        self.next_row = end;
        if out.is_empty() && (self.at < self.block.len() || self.values.next_block(&mut self.block)?) {
            let starts = postings.file.section(crate::format::postings::STARTS).offset;
            return Err(postings.file.flaw(starts, "a start for every fingerprint", "fewer"));
        }
        Ok(!out.is_empty())
    }
}

/// Opens one segment of a run.
pub(super) fn open_segment<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
    table: usize,
    values: Option<Values>,
) -> Result<Segment<F>> {
    let spec = Segment::<F>::file_spec(manifest.database_id, record.run, table);
    #[expect(clippy::indexing_slicing, reason = "the caller counts over the segments, one per table")]
    let file = record.segments[table];
    Segment::open(storage, &spec, record.layout.table(table), file, record, values)
}

/// Opens the postings file of a run.
pub(super) fn open_postings<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
) -> Result<Postings> {
    let spec = Postings::file_spec(manifest.database_id, record.run, F::BITS);
    Postings::open(storage, &spec, record, manifest.largest_id)
}

/// Opens the tombstones of a run, if it has any.
pub(super) fn open_tombstones<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
) -> Result<Option<Tombstones>> {
    let spec = Tombstones::file_spec(manifest.database_id, record.run, F::BITS);
    record.tombstones_file.map(|file| Tombstones::open(storage, &spec, record, file)).transpose()
}

/// Opens the keys of a run, if it has any.
pub(super) fn open_keys<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
) -> Result<Option<Keys>> {
    let spec = Keys::file_spec(manifest.database_id, record.run, F::BITS);
    record.keys.map(|keys| Keys::open(storage, &spec, keys)).transpose()
}

/// Maps a file that the manifest names; a missing one is damage.
pub(super) fn map(storage: &dyn Storage, name: &str, access: Access) -> Result<Bytes> {
    storage.map(name, access).map_err(|error| {
        let path = storage.path(name);
        let flaw = |found| Flaw::new("file", 0, "a file that the manifest names", found).of(&path);
        match error.kind() {
            ErrorKind::NotFound => flaw("no file"),
            ErrorKind::InvalidData => flaw("something that is no regular file"),
            _ => Error::io("map", &path)(error),
        }
    })
}
