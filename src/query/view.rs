//! The runs of a database at one moment, and the rows that newer runs delete.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::locate::{Match, entry_of, rows_of};
use super::prepare::Searchable;
use super::search::{Completion, Hit, Searcher};
use super::sweep_order::Orders;
use crate::error::Result;
use crate::fingerprint::{Distance, Fingerprint, Row};
use crate::format::manifest::{Manifest, RunRecord};
use crate::layout::Metric;
use crate::run::{BlockRead, NewerTombstones, Run};
use crate::storage::Storage;

/// Open runs, oldest first. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct View<F> {
    runs: Vec<Arc<Searchable<F>>>,
}

impl<F: Fingerprint> View<F> {
    pub(crate) fn new(runs: Vec<Arc<Searchable<F>>>) -> Self {
        Self { runs }
    }

    /// The runs of a manifest. Takes those that are open in `known` from there.
    pub(crate) fn open(storage: &dyn Storage, manifest: &Manifest, known: Option<&Self>) -> Result<Self> {
        let known = || known.into_iter().flat_map(|known| &known.runs);
        let open = |record: &RunRecord| match known().find(|known| known.run.record == *record) {
            Some(run) => Ok(run.clone()),
            None => Ok(Arc::new(Searchable::new(Run::open(storage, manifest, record)?))),
        };
        manifest.runs.iter().map(open).collect::<Result<_>>().map(Self::new)
    }

    /// With more runs, which are newer.
    pub(crate) fn and(mut self, newer: impl Iterator<Item = Arc<Searchable<F>>>) -> Self {
        self.runs.extend(newer);
        self
    }

    pub(crate) fn searchables(&self) -> &[Arc<Searchable<F>>] {
        &self.runs
    }

    pub(crate) fn runs(&self) -> impl DoubleEndedIterator<Item = &Run<F>> {
        self.runs.iter().map(|searchable| &searchable.run)
    }

    /// What near means: the same in all runs.
    pub(crate) fn metric(&self) -> Metric<F> {
        self.runs.first().map_or_else(Metric::hamming, |run| run.metric)
    }

    /// Whether some run may have a row with an id, deleted or not.
    pub(crate) fn may_hold(&self, id: u64) -> Result<bool> {
        for run in self.runs() {
            if run.postings.may_hold(id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The tombstones that apply to run `index`.
    pub(crate) fn newer(&self, index: usize) -> NewerTombstones<'_> {
        NewerTombstones::of(self.runs[index + 1..].iter().map(|newer| newer.run.tombstones.as_ref()))
    }

    /// Whether newer runs delete rows of run `index`. Reads its ids, until one is found, if there are such runs.
    pub(crate) fn hides_rows_of(&self, index: usize) -> Result<bool> {
        let (newer, run) = (self.newer(index), &self.runs[index].run);
        if newer.is_empty() {
            return Ok(false);
        }
        let (mut cursor, mut block) = (run.row_cursor(), Vec::new());
        while cursor.next_block(run, &mut block)? == BlockRead::Filled {
            for row in &block {
                if newer.hide(row.id)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Appends the rows near each query of a group, with the index of the query, in no particular
    /// order. A row in several runs is appended several times. Gives up where there are more than
    /// `most`.
    pub(crate) fn search(
        &self,
        searcher: &mut Searcher<'_>,
        group: &[F],
        k: Distance,
        most: usize,
        found: &mut Vec<(u32, Match<F>)>,
    ) -> Result<Completion> {
        self.search_from(0, searcher, group, k, most, found)
    }

    /// [`search`](View::search) without the first runs.
    pub(crate) fn search_from(
        &self,
        first: usize,
        searcher: &mut Searcher<'_>,
        group: &[F],
        k: Distance,
        most: usize,
        found: &mut Vec<(u32, Match<F>)>,
    ) -> Result<Completion> {
        let (mut hits, mut orders) = (Vec::new(), Orders::default());
        for (index, searchable) in self.runs.iter().enumerate().skip(first) {
            if searchable.run.record.entries == 0 {
                continue;
            }
            hits.clear();
            if searcher.search(searchable, (group, &mut orders), k, most, &mut hits)? == Completion::GaveUp {
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

    /// [`search`](View::search) for the first `limit` rows of each query by (distance, fingerprint,
    /// id). Looks up no others. Rows are appended in this order, without repetition.
    pub(crate) fn search_limited(
        &self,
        searcher: &mut Searcher<'_>,
        group: &[F],
        (k, limit): (Distance, usize),
        most: usize,
        found: &mut Vec<(u32, Match<F>)>,
    ) -> Result<Completion> {
        let (mut hits, mut of_run, mut orders) = (Vec::new(), Vec::new(), Orders::default());
        for (index, searchable) in self.runs.iter().enumerate() {
            if searchable.run.record.entries > 0 {
                of_run.clear();
                let room = most.saturating_sub(hits.len());
                if searcher.search(searchable, (group, &mut orders), k, room, &mut of_run)?
                    == Completion::GaveUp
                {
                    return Ok(Completion::GaveUp);
                }
                hits.extend(of_run.drain(..).map(|hit| (index, hit)));
            }
        }
        hits.sort_unstable_by_key(|(_, hit)| (hit.query, hit.distance, hit.fingerprint));
        let mut ids = Vec::new();
        for of_query in hits.chunk_by(|(_, a), (_, b)| a.query == b.query) {
            let mut left = limit;
            for same in of_query.chunk_by(|(_, a), (_, b)| a.fingerprint == b.fingerprint) {
                if left == 0 {
                    break;
                }
                self.live_ids(same, left, &mut ids)?;
                left -= ids.len();
                let Hit { query, distance, fingerprint, .. } = same[0].1;
                found.extend(ids.iter().map(|&id| (query, Match { distance, fingerprint, id })));
            }
        }
        Ok(Completion::Complete)
    }

    /// Replaces `ids` by the first `limit` live ids of a fingerprint that was found in some runs,
    /// ascending.
    fn live_ids(&self, same: &[(usize, Hit<F>)], limit: usize, ids: &mut Vec<u64>) -> Result<()> {
        ids.clear();
        for &(index, hit) in same {
            let (run, newer, before) = (&self.runs[index].run, self.newer(index), ids.len());
            run.postings.visit_ids(entry_of(run, &hit)?, |block| {
                let start = ids.len();
                ids.extend_from_slice(block);
                newer.retain_behind(start, ids, |&id| id)?;
                let enough = ids.len() - before >= limit;
                Ok(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
        }
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(limit);
        Ok(())
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

    /// The fingerprints without a row that is not deleted, ascending. Reads all ids of runs that are
    /// older than some tombstone.
    pub(crate) fn dead(&self) -> Result<Vec<F>> {
        let mut doubtful = Vec::new();
        for (index, run) in self.runs().enumerate() {
            let newer = self.newer(index);
            if newer.is_empty() {
                continue;
            }
            let (mut cursor, mut block) = (run.row_cursor(), Vec::new());
            while cursor.next_block(run, &mut block)? == BlockRead::Filled {
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
