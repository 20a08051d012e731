//! Queries that see uncommitted rows.

use super::Writer;
use super::ahead::Ahead;
use crate::error::Result;
use crate::fingerprint::{Distance, Fingerprint};
use crate::kernel::Kernel;
use crate::layout::BandDistances;
use crate::memtable::Memtable;
use crate::progress::NO_PROGRESS;
use crate::query::batch::Workers;
use crate::query::nearness::Nearness;
use crate::query::search::{SWEEP_FROM, Searcher};
use crate::query::view::View;
use crate::query::{Match, Query};

impl<F: Fingerprint> Writer<F> {
    /// The rows near a fingerprint, including uncommitted ones, by (distance, fingerprint, id).
    /// Rows beyond the limit of the query are looked up, too.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) when a page that the answer needs is damaged.
    pub fn query(&mut self, fingerprint: F, query: impl Into<Query>) -> Result<Vec<Match<F>>> {
        F::find(self, fingerprint, query.into())
    }

    pub(in crate::database) fn find(&mut self, fingerprint: F, query: Query) -> Result<Vec<Match<F>>> {
        let mut rows = self.rows();
        query.answer(rows.view, |k| {
            let mut found = rows.near(fingerprint, Nearness::within(k))?;
            found.truncate(query.most_rows());
            Ok(found)
        })
    }

    /// The rows near a fingerprint by their equal bands, including uncommitted ones, by (distance,
    /// fingerprint, id): what [`query`](Self::query) finds within the largest distance and `distances`
    /// [contain](BandDistances::contain). Costs less if these are few and the database has these bands.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_by_bands(&mut self, fingerprint: F, distances: &BandDistances) -> Result<Vec<Match<F>>> {
        F::find_by_bands(self, fingerprint, distances)
    }

    pub(in crate::database) fn find_by_bands(
        &mut self,
        fingerprint: F,
        distances: &BandDistances,
    ) -> Result<Vec<Match<F>>> {
        self.rows().near(fingerprint, Nearness::by_bands::<F>(distances))
    }

    /// Where rows are.
    fn rows(&mut self) -> Rows<'_, F> {
        let (expired_runs, is_expired) = self.expired();
        let Self { view, ahead, searcher, sealed, memtable, kernel, .. } = self;
        let unflushed = [sealed.as_ref().map(|sealed| &*sealed.memtable), Some(&*memtable)];
        // What was looked up may be of these runs.
        let ahead = ahead.as_ref().filter(|_| expired_runs == 0);
        Rows { view, ahead, searcher, expired_runs, unflushed, is_expired, kernel: *kernel }
    }

    /// Whether rows were flushed to runs. If there are no runs, [`look_ahead`](Self::look_ahead) has nothing
    /// to do: all rows are in memory.
    #[must_use]
    pub fn has_runs(&self) -> bool {
        !self.view.searchables().is_empty()
    }

    /// Looks fingerprints up together, on all threads of the options, for calls of [`query`](Self::query) with
    /// the same `k` that follow. Their answers stay the same, and cost less from some thousand fingerprints on.
    ///
    /// The rows that are found in runs are held until the next call. A flush that deletes rows drops them; if
    /// rows expire, any flush or merge does. Memory: up to 12 MiB. Returns false if that was not enough: then
    /// the last fingerprints are looked up when they are queried.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn look_ahead(&mut self, fingerprints: &[F], k: u32) -> Result<bool> {
        F::look_ahead(self, fingerprints, Nearness::within(Distance::saturating::<F>(k)))
    }

    /// [`look_ahead`](Self::look_ahead) for calls of [`query_by_bands`](Self::query_by_bands) with equal distances.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn look_ahead_by_bands(&mut self, fingerprints: &[F], distances: &BandDistances) -> Result<bool> {
        F::look_ahead(self, fingerprints, Nearness::by_bands::<F>(distances))
    }

    pub(in crate::database) fn look_up_together(
        &mut self,
        fingerprints: &[F],
        near: Nearness<'_>,
    ) -> Result<bool> {
        self.ahead = None;
        if !self.has_runs() {
            return Ok(true);
        }
        let threads = self.options.threads.min(fingerprints.len() / SWEEP_FROM).max(1);
        let workers = Workers { kernel: self.kernel, threads, progress: NO_PROGRESS };
        let found = Ahead::of(&self.view, workers, fingerprints, near)?;
        Ok(self.ahead.insert(found).is_complete)
    }
}

/// The rows of a writer, to search them.
struct Rows<'a, F: Fingerprint> {
    view: &'a View<F>,
    ahead: Option<&'a Ahead<F>>,
    searcher: &'a mut Searcher<'static>,
    /// How many of the oldest runs have expired.
    expired_runs: usize,
    /// The older rows first.
    unflushed: [Option<&'a Memtable<F>>; 2],
    /// Whether the unflushed rows are expired.
    is_expired: bool,
    kernel: Kernel,
}

impl<F: Fingerprint> Rows<'_, F> {
    /// The rows near a fingerprint, by (distance, fingerprint, id).
    fn near(&mut self, fingerprint: F, near: Nearness<'_>) -> Result<Vec<Match<F>>> {
        let known = self.ahead.and_then(|ahead| ahead.get(fingerprint, near));
        let (known, searched) = known.unwrap_or((&[], self.expired_runs));
        let (group, mut tagged) = ([fingerprint], Vec::new());
        let _ = self.view.search_from(searched, self.searcher, &group, near.k, usize::MAX, &mut tagged)?;
        let tagged = tagged.into_iter().map(|(_, found)| found);
        let mut found: Vec<_> = tagged.filter(|row| near.admits(row.fingerprint, fingerprint)).collect();
        found.extend_from_slice(known);
        for memtable in self.unflushed.into_iter().flatten() {
            found.retain(|found| !memtable.changes.deletes(found.id));
            if !self.is_expired {
                memtable.search(fingerprint, near, self.kernel, &mut found);
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}
