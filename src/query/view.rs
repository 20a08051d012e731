//! The runs of a database at one moment, and the rows that newer runs delete.

use std::sync::Arc;

use super::locate::{Match, rows_of};
use super::prepare::Searchable;
use super::search::{Completion, Searcher};
use crate::error::Result;
use crate::fingerprint::{Distance, Fingerprint, Row};
use crate::run::{BlockRead, Run, Tombstones};

/// Open runs, oldest first. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct View<F> {
    runs: Vec<Arc<Searchable<F>>>,
}

impl<F: Fingerprint> View<F> {
    pub(crate) fn new(runs: Vec<Arc<Searchable<F>>>) -> Self {
        Self { runs }
    }

    pub(crate) fn searchables(&self) -> &[Arc<Searchable<F>>] {
        &self.runs
    }

    pub(crate) fn runs(&self) -> impl DoubleEndedIterator<Item = &Run<F>> {
        self.runs.iter().map(|searchable| &searchable.run)
    }

    /// The tombstones that apply to run `index`.
    pub(crate) fn newer(&self, index: usize) -> Newer<'_> {
        let newer = self.runs[index + 1..].iter();
        Newer(newer.filter_map(|searchable| searchable.run.tombstones.as_ref()).collect())
    }

    /// Appends the rows near each query of a group, with the index of the query, in no particular
    /// order. A row in several runs is appended several times. Gives up where there are more than `most`.
    pub(crate) fn search(
        &self,
        searcher: &mut Searcher<'_>,
        group: &[F],
        k: Distance,
        most: usize,
        found: &mut Vec<(u32, Match<F>)>,
    ) -> Result<Completion> {
        let mut hits = Vec::new();
        for (index, searchable) in self.runs.iter().enumerate() {
            if searchable.run.record.entries == 0 {
                continue;
            }
            hits.clear();
            if searcher.search(searchable, group, k, most, &mut hits)? == Completion::GaveUp {
                return Ok(Completion::GaveUp);
            }
            let before = found.len();
            if rows_of(&searchable.run, &mut hits, most, found)? == Completion::GaveUp {
                return Ok(Completion::GaveUp);
            }
            self.newer(index).retain_behind(before, found, |(_, row)| row.id)?;
        }
        Ok(Completion::Complete)
    }

    /// Replaces `ids` by the live ids of a fingerprint, ascending.
    pub(crate) fn ids_of(&self, fingerprint: F, ids: &mut Vec<u64>) -> Result<()> {
        ids.clear();
        for (index, run) in self.runs().enumerate() {
            let before = ids.len();
            run.ids_of(fingerprint, ids)?;
            self.newer(index).retain_behind(before, ids, |&id| id)?;
        }
        if self.runs.len() > 1 {
            ids.sort_unstable();
            ids.dedup();
        }
        Ok(())
    }

    /// The fingerprints all of whose rows are deleted, ascending. Reads all ids of runs that are older
    /// than some tombstone.
    pub(crate) fn dead(&self) -> Result<Vec<F>> {
        let mut doubtful = Vec::new();
        for (index, run) in self.runs().enumerate() {
            let newer = self.newer(index);
            if newer.is_empty() {
                continue;
            }
            let (mut cursor, mut block) = (run.row_cursor(), Vec::new());
            while cursor.next_block(&mut block)? == BlockRead::Filled {
                for &Row { fingerprint, id } in &block {
                    if newer.hide(id)? {
                        doubtful.push(fingerprint);
                    }
                }
            }
        }
        doubtful.sort_unstable();
        doubtful.dedup();
        let (mut dead, mut ids) = (Vec::new(), Vec::new());
        for fingerprint in doubtful {
            self.ids_of(fingerprint, &mut ids)?;
            if ids.is_empty() {
                dead.push(fingerprint);
            }
        }
        Ok(dead)
    }
}

/// The tombstones of all runs newer than one.
pub(crate) struct Newer<'a>(Vec<&'a Tombstones>);

impl Newer<'_> {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an id is deleted.
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
    pub(crate) fn retain_behind<T: Copy>(
        &self,
        start: usize,
        items: &mut Vec<T>,
        id: impl Fn(&T) -> u64,
    ) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let mut kept = start;
        for at in start..items.len() {
            let item = items[at];
            if !self.hide(id(&item))? {
                items[kept] = item;
                kept += 1;
            }
        }
        items.truncate(kept);
        Ok(())
    }
}
