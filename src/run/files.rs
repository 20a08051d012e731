//! A run: its segments, its postings and its other files, opened together.

use super::keys::Keys;
use super::page_file::PageFile;
use super::postings::Postings;
use super::segment::Segment;
use super::tombstones::Tombstones;
use super::values::Values;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Stored};
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::segment::SegmentInfo;
use crate::storage::Storage;

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
    /// Maps every file of a run. Reads only header and footer pages.
    pub(crate) fn open(storage: &dyn Storage, manifest: &Manifest, record: &RunRecord) -> Result<Self> {
        let postings = open_postings(storage, manifest, record)?;
        let segments = (0..record.segments.len())
            .map(|table| open_segment(storage, manifest, record, table, postings.values::<F>()))
            .collect::<Result<_>>()?;
        let tombstones = open_tombstones(storage, manifest, record)?;
        let keys = open_keys(storage, manifest, record)?;
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

    /// Bytes of each kind of section: of segments, added up over all of them, then of the postings,
    /// tombstones and keys files.
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
        sum.extend(self.keys.as_ref().map_or([0; 3], |keys| keys.info.size().section_lens()));
        sum
    }

    /// Appends the ids of a fingerprint. Appends nothing if the run does not contain it.
    pub(crate) fn ids_of(&self, fingerprint: F, out: &mut Vec<u64>) -> Result<()> {
        match self.natural().find(fingerprint)? {
            Some(entry) => self.postings.ids_of(entry, out, |id| id),
            None => Ok(()),
        }
    }
}

/// Opens one segment of a run. `values` are the fingerprints of the run; `None` if the tables hold
/// whole fingerprints.
pub(super) fn open_segment<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
    table: usize,
    values: Option<Values>,
) -> Result<Segment<F>> {
    let (file, info) = open_segment_file::<F>(storage, manifest, record, table)?;
    Ok(segment_in::<F>(file, info, record, table, values))
}

/// Opens the file of one segment of a run.
pub(super) fn open_segment_file<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
    table: usize,
) -> Result<(PageFile, SegmentInfo)> {
    let spec = Segment::<F>::file_spec(manifest.owner_of(record), &record.layout, table);
    #[expect(clippy::indexing_slicing, reason = "callers iterate over the segments, one per table")]
    let file = record.segments[table];
    Segment::<F>::open_file(storage, &spec, file, record)
}

/// The segment in an open file.
pub(super) fn segment_in<F: Fingerprint>(
    file: PageFile,
    info: SegmentInfo,
    record: &RunRecord,
    table: usize,
    values: Option<Values>,
) -> Segment<F> {
    let number = u32::try_from(table).unwrap_or(u32::MAX);
    Segment::new(file, info, number, record.layout.table(table), values)
}

/// Opens the postings file of a run.
pub(super) fn open_postings(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
) -> Result<Postings> {
    let spec = Postings::file_spec(manifest.owner_of(record));
    Postings::open(storage, &spec, record, manifest.largest_id)
}

/// Opens the fingerprints of a run. `None` if the tables hold whole fingerprints.
pub(super) fn open_values<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
) -> Result<Option<Values>> {
    if F::PAYLOAD.is_whole() {
        return Ok(None);
    }
    Ok(open_postings(storage, manifest, record)?.values::<F>())
}

/// Opens the tombstones of a run, if it has any.
pub(super) fn open_tombstones(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
) -> Result<Option<Tombstones>> {
    let spec = Tombstones::file_spec(manifest.owner_of(record));
    record.tombstones_file.map(|file| Tombstones::open(storage, &spec, record, file)).transpose()
}

/// Opens the keys of a run, if it has any.
pub(super) fn open_keys(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
) -> Result<Option<Keys>> {
    let spec = Keys::file_spec(manifest.owner_of(record));
    record.keys.map(|keys| Keys::open(storage, &spec, keys)).transpose()
}
