//! The ids that a run deletes from older runs.

use std::sync::OnceLock;

use super::page_file::{FileSpec, PageFile};
use super::page_writer::PageFileWriter;
use crate::error::Result;
use crate::format::filter::Filter;
use crate::format::header::{Header, Owner};
use crate::format::manifest::{FileRecord, RunRecord};
use crate::format::tombstones::{DELETED, MAGIC, SECTIONS, TombstonesInfo};
use crate::storage::{Access, Storage, names};
use crate::util::cast::to_usize;

/// An open tombstones file.
#[derive(Debug)]
pub(crate) struct Tombstones {
    pub(crate) file: PageFile,
    pub(crate) info: TombstonesInfo,
    /// Made once every page and the order of ids have been checked. It answers most look-ups, where
    /// a search in the file would wait for memory at every step.
    filter: OnceLock<Filter>,
}

impl Tombstones {
    /// The expected name and header of the tombstones file of a run.
    pub(crate) fn file_spec(owner: Owner) -> FileSpec {
        FileSpec {
            name: names::tombstones(owner.run),
            header: Header::new(MAGIC, owner),
            section_names: &SECTIONS,
        }
    }

    /// Maps a tombstones file and checks it against the manifest's record of its run.
    pub(crate) fn open(
        storage: &dyn Storage,
        spec: &FileSpec,
        run: &RunRecord,
        record: FileRecord,
    ) -> Result<Self> {
        let file = PageFile::open(storage, spec, Access::Random, record)?;
        let info = TombstonesInfo::from_footer(&file.footer, file.footer_offset())
            .map_err(|flaw| flaw.of(file.path()))?;
        file.check_equal("footer", run.tombstones, info.count)?;
        Ok(Self { file, info, filter: OnceLock::new() })
    }

    /// Whether the run deletes an id from older runs. The first call for an id in range reads the
    /// whole file.
    #[inline]
    pub(crate) fn contains(&self, id: u64) -> Result<bool> {
        if !(self.info.smallest_id..=self.info.largest_id).contains(&id) {
            return Ok(false);
        }
        let (ids, filter) = self.checked()?;
        Ok(filter.may_contain(id) && ids.binary_search(&id).is_ok())
    }

    /// All ids, ascending.
    pub(crate) fn ids(&self) -> Result<&[u64]> {
        self.checked().map(|(ids, _)| ids)
    }

    /// All ids, and their filter.
    fn checked(&self) -> Result<(&[u64], &Filter)> {
        let section = self.file.section(DELETED);
        let start = to_usize(section.offset);
        let range = start..start + to_usize(section.len_bytes);
        if let Some(filter) = self.filter.get() {
            return Ok((bytemuck::cast_slice(self.file.checked_bytes(range)), filter));
        }
        let ids = bytemuck::cast_slice(self.file.bytes(range)?);
        self.check(ids)?;
        Ok((ids, self.filter.get_or_init(|| Filter::of(ids))))
    }

    fn check(&self, ids: &[u64]) -> Result<()> {
        let ascending = ids.iter().zip(ids.iter().skip(1)).all(|(left, right)| left < right);
        let ends = (ids.first().copied(), ids.last().copied());
        if ascending && ends == (Some(self.info.smallest_id), Some(self.info.largest_id)) {
            return Ok(());
        }
        let expected = format!("ascending ids from {} to {}", self.info.smallest_id, self.info.largest_id);
        Err(self.file.flaw(self.file.section(DELETED).offset, expected, "others"))
    }
}

/// The tombstones of all runs newer than one run.
pub(crate) struct NewerTombstones<'a>(Vec<&'a Tombstones>);

impl<'a> NewerTombstones<'a> {
    /// Those of newer runs, as far as these have any.
    pub(crate) fn of(newer: impl Iterator<Item = Option<&'a Tombstones>>) -> Self {
        Self(newer.flatten().collect())
    }

    /// Without newer runs.
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a newer run deletes an id.
    #[inline]
    pub(crate) fn hide(&self, id: u64) -> Result<bool> {
        for tombstones in &self.0 {
            if tombstones.contains(id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Removes what is deleted from `items[start..]`.
    pub(crate) fn retain_behind<T>(
        &self,
        start: usize,
        items: &mut Vec<T>,
        id: impl Fn(&T) -> u64,
    ) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let (mut at, mut checked) = (0, Ok(()));
        items.retain(|item| {
            at += 1;
            at <= start
                || checked.is_err()
                || match self.hide(id(item)) {
                    Ok(is_hidden) => !is_hidden,
                    Err(error) => {
                        checked = Err(error);
                        true
                    }
                }
        });
        checked
    }
}

/// Writes the ids that `visit_all` produces in ascending order, block by block. `info` counts them.
pub(crate) fn write_tombstones(
    storage: &dyn Storage,
    spec: &FileSpec,
    info: TombstonesInfo,
    visit_all: impl FnOnce(&mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>,
) -> Result<FileRecord> {
    let mut file = PageFileWriter::create(storage, spec, &TombstonesInfo::section_lens(info.count))?;
    visit_all(&mut |ids| file.put(DELETED, bytemuck::cast_slice(ids)))?;
    file.finish(info.attributes())
}
