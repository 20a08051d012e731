//! What a snapshot answers, whatever its width.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::columns::{Columns, Shape, Sink, push_row};
use super::fingerprint::any_matches;
use super::stream::{AnyStream, Collector};
use super::{AnyFingerprint, PerWidth};
use crate::database::explain::Explanation;
use crate::database::snapshot::Snapshot;
use crate::database::stats::Stats;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row, U256, U320, Width, fingerprints, words};
use crate::format::schema::KeyStorage;
use crate::layout::{BandDistances, BandLayout};
use crate::progress::{Progress, Stage};
use crate::query::{Match, Query, RowKey};
use crate::run::Verification;

/// The rows of a block, unless [`AnySnapshot::with_block_rows`] has set another number.
const BLOCK_ROWS: usize = 4096;
/// The number of rows of a walk between two reports of progress.
const REPORT_ROWS: u64 = 1 << 16;

/// A [`Snapshot`] of any width. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AnySnapshot {
    inner: Inner,
    /// Whether results have the keys of rows.
    has_keys: bool,
    block_rows: usize,
}

type Inner = PerWidth<Snapshot<u64>, Snapshot<u128>, Snapshot<U256>, Snapshot<U320>>;

impl AnySnapshot {
    pub(super) fn new(inner: Inner) -> Self {
        Self { inner, has_keys: false, block_rows: BLOCK_ROWS }
    }

    /// The same view, with the keys of rows in its results, if the database stores keys. A row with several
    /// keys is then several rows of the result, and a pair of rows is repeated for each two of their keys.
    #[must_use]
    pub fn with_keys(self) -> Self {
        let has_keys = self.key_storage().has_keys();
        Self { has_keys, ..self }
    }

    /// The same view, with each row once in its results, and without keys.
    #[must_use]
    pub fn without_keys(self) -> Self {
        Self { has_keys: false, ..self }
    }

    /// The same view, with this number of rows in the blocks of its streams; 4,096 by default. The last block
    /// may be shorter, and a cluster is not split.
    #[must_use]
    pub fn with_block_rows(self, block_rows: usize) -> Self {
        Self { block_rows, ..self }
    }

    /// The same view with another progress callback.
    #[must_use]
    pub fn with_progress(&self, progress: Arc<dyn Progress>) -> Self {
        let inner = match &self.inner {
            PerWidth::W64(snapshot) => PerWidth::W64(snapshot.with_progress(progress)),
            PerWidth::W128(snapshot) => PerWidth::W128(snapshot.with_progress(progress)),
            PerWidth::W256(snapshot) => PerWidth::W256(snapshot.with_progress(progress)),
            PerWidth::W320(snapshot) => PerWidth::W320(snapshot.with_progress(progress)),
        };
        Self { inner, ..*self }
    }

    /// A new snapshot of the database: see [`Snapshot::refresh`].
    ///
    /// # Errors
    /// As [`Snapshot::refresh`].
    pub fn refresh(&self) -> Result<Self> {
        let inner = try_map!(PerWidth: &self.inner, snapshot => PerWidth: snapshot.refresh());
        Ok(Self { inner, ..*self })
    }

    /// The width of the fingerprints.
    #[must_use]
    pub fn width(&self) -> Width {
        match self.inner {
            PerWidth::W64(_) => Width::W64,
            PerWidth::W128(_) => Width::W128,
            PerWidth::W256(_) => Width::W256,
            PerWidth::W320(_) => Width::W320,
        }
    }

    /// The distance that the layout is tuned for.
    #[must_use]
    pub fn default_k(&self) -> u32 {
        typed!(PerWidth: &self.inner, snapshot => snapshot.default_k())
    }

    /// The bands of the fingerprints: see [`Snapshot::bands`].
    #[must_use]
    pub fn bands(&self) -> Option<BandLayout> {
        typed!(PerWidth: &self.inner, snapshot => snapshot.bands())
    }

    /// The Jaccard similarity that a distance suggests, if the fingerprints have bands: see
    /// [`BandLayout::similarity`].
    #[must_use]
    pub fn similarity_of(&self, distance: u32) -> Option<f64> {
        self.bands().map(|bands| bands.similarity(self.width(), distance))
    }

    /// The distance for a similarity, if the fingerprints have bands: see
    /// [`BandLayout::distance_of`].
    #[must_use]
    pub fn distance_of(&self, similarity: f64) -> Option<u32> {
        self.bands().map(|bands| bands.distance_of(self.width(), similarity))
    }

    /// Whether rows have keys, and what is stored beside keys.
    #[must_use]
    pub fn key_storage(&self) -> KeyStorage {
        typed!(PerWidth: &self.inner, snapshot => snapshot.key_storage())
    }

    /// The progress of the last job: see [`Snapshot::checkpoint`].
    #[must_use]
    pub fn checkpoint(&self) -> Option<&[u8]> {
        typed!(PerWidth: &self.inner, snapshot => snapshot.checkpoint())
    }

    /// The records of finished jobs: see [`Snapshot::history`].
    #[must_use]
    pub fn history(&self) -> Option<&[u8]> {
        typed!(PerWidth: &self.inner, snapshot => snapshot.history())
    }

    /// Whether rows have expired since: see [`Snapshot::has_expired`].
    #[must_use]
    pub fn has_expired(&self) -> bool {
        typed!(PerWidth: &self.inner, snapshot => snapshot.has_expired())
    }

    /// The recipe of the fingerprints, if the database stores one.
    #[must_use]
    pub fn recipe(&self) -> Option<&str> {
        typed!(PerWidth: &self.inner, snapshot => snapshot.recipe())
    }

    /// Counts and sizes: see [`Snapshot::stats`].
    #[must_use]
    pub fn stats(&self) -> Stats {
        typed!(PerWidth: &self.inner, snapshot => snapshot.stats())
    }

    /// How queries are answered: see [`Snapshot::explain`].
    #[must_use]
    pub fn explain(&self, k: u32) -> Explanation {
        typed!(PerWidth: &self.inner, snapshot => snapshot.explain(k))
    }

    /// Checks every byte: see [`Snapshot::verify`].
    ///
    /// # Errors
    /// As [`Snapshot::verify`].
    pub fn verify(&self) -> Result<Verification> {
        typed!(PerWidth: &self.inner, snapshot => snapshot.verify())
    }

    /// Copies the database as the snapshot has it: see [`Snapshot::backup`].
    ///
    /// # Errors
    /// As [`Snapshot::backup`].
    pub fn backup(&self, dest: impl AsRef<Path>) -> Result<()> {
        self.backup_to(dest.as_ref(), None).map(drop)
    }

    /// Copies the database, and shares unchanged files with an earlier copy: see
    /// [`Snapshot::backup_with`].
    ///
    /// # Errors
    /// As [`Snapshot::backup_with`].
    pub fn backup_with(&self, dest: impl AsRef<Path>, base: Option<impl AsRef<Path>>) -> Result<u64> {
        self.backup_to(dest.as_ref(), base.as_ref().map(AsRef::as_ref))
    }

    fn backup_to(&self, dest: &Path, base: Option<&Path>) -> Result<u64> {
        typed!(PerWidth: &self.inner, snapshot => snapshot.backup_with(dest, base))
    }

    /// The columns of matches.
    #[must_use]
    pub fn match_shape(&self) -> Shape {
        self.shape(Shape::MATCHES)
    }

    fn shape(&self, shape: Shape) -> Shape {
        Shape { keys: self.has_keys, ..shape }
    }

    /// The rows near a fingerprint, by distance, fingerprint and id: see [`Snapshot::query`].
    ///
    /// # Errors
    /// As [`Snapshot::query`].
    pub fn query(&self, fingerprint: &[u64], query: impl Into<Query>, sink: &mut dyn Sink) -> Result<()> {
        self.query_rows(fingerprint, query.into(), sink)
    }

    fn query_rows(&self, fingerprint: &[u64], query: Query, sink: &mut dyn Sink) -> Result<()> {
        typed!(PerWidth: &self.inner, snapshot => {
            let matches = snapshot.query(Fingerprint::from_le_words(fingerprint), query)?;
            self.rows_of(snapshot).push_matches(0, &matches, sink)
        })
    }

    /// The rows near a fingerprint of this width, as a list without keys: see [`Snapshot::query`].
    ///
    /// # Errors
    /// As [`Snapshot::query`].
    pub fn matches(
        &self,
        fingerprint: AnyFingerprint,
        query: impl Into<Query>,
    ) -> Result<Vec<Match<AnyFingerprint>>> {
        self.listed_matches(fingerprint, query.into(), None)
    }

    /// Those of [`matches`](Self::matches) within the largest distance that the distances
    /// [contain](BandDistances::contain).
    ///
    /// # Errors
    /// As [`Snapshot::query`].
    pub fn matches_by_bands(
        &self,
        fingerprint: AnyFingerprint,
        distances: &BandDistances,
    ) -> Result<Vec<Match<AnyFingerprint>>> {
        self.listed_matches(fingerprint, distances.largest().into(), Some(distances))
    }

    fn listed_matches(
        &self,
        fingerprint: AnyFingerprint,
        query: Query,
        among: Option<&BandDistances>,
    ) -> Result<Vec<Match<AnyFingerprint>>> {
        typed!(PerWidth: &self.inner, snapshot => {
            let fingerprint = fingerprint.typed();
            let mut found = snapshot.query(fingerprint, query)?;
            if let Some(distances) = among {
                found.retain(|row| distances.contain(row.fingerprint, fingerprint));
            }
            Ok(any_matches(&found))
        })
    }

    /// Answers many queries on all threads: see [`Snapshot::query_batch`]. `visit` receives the
    /// number of each query and its matches.
    ///
    /// # Errors
    /// As [`Snapshot::query_batch`].
    pub fn query_batch<E: From<Error>>(
        &self,
        queries: &[u64],
        query: impl Into<Query>,
        mut visit: impl FnMut(usize, &Columns) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut found = Columns::new(self.width(), self.match_shape());
        typed!(PerWidth: &self.inner, snapshot => {
            let (rows, queries) = (self.rows_of(snapshot), fingerprints(queries).collect::<Vec<_>>());
            snapshot.query_batch(&queries, query, |index, matches| {
                found.clear();
                rows.push_matches(index, matches, &mut found)?;
                visit(index, &found)
            })
        })
    }

    /// Every row, by fingerprint and id.
    ///
    /// # Errors
    /// None before the first block, which fails with [`Error::Io`] where no thread can be started. Blocks fail as
    /// [`Snapshot::rows`] does.
    pub fn rows(&self) -> Result<AnyStream> {
        typed!(PerWidth: &self.inner, snapshot => {
            self.stream(snapshot, self.shape(Shape::ROWS), |rows, out| {
                rows.snapshot.visit_rows(|row| {
                    rows.push((0, row, 0), &mut out.block)?;
                    out.send_full()
                })
            })
        })
    }

    /// All pairs of distinct fingerprints within `k` bits: see [`Snapshot::visit_pairs`].
    ///
    /// # Errors
    /// None before the first block, which fails with [`Error::Io`] where no thread can be started. Blocks fail as
    /// [`Snapshot::visit_pairs`] does.
    pub fn pairs(&self, k: u32) -> Result<AnyStream> {
        typed!(PerWidth: &self.inner, snapshot => {
            self.stream(snapshot, Shape::PAIRS, move |rows, out| {
                rows.snapshot.visit_pairs(k, |pairs| out.push_pairs(pairs))
            })
        })
    }

    /// All pairs of rows within `k` bits: see [`Snapshot::visit_row_pairs`].
    ///
    /// # Errors
    /// As [`pairs`](Self::pairs).
    pub fn row_pairs(&self, k: u32) -> Result<AnyStream> {
        typed!(PerWidth: &self.inner, snapshot => {
            self.stream(snapshot, self.shape(Shape::ROW_PAIRS), move |rows, out| {
                rows.snapshot.visit_row_pairs(k, |a, b, distance| rows.push_pair(rows, (a, b, distance), out))
            })
        })
    }

    /// The clusters within `k` bits, numbered from 0: see [`Snapshot::visit_clusters`].
    ///
    /// # Errors
    /// As [`pairs`](Self::pairs).
    pub fn clusters(&self, k: u32) -> Result<AnyStream> {
        typed!(PerWidth: &self.inner, snapshot => {
            self.stream(snapshot, self.shape(Shape::CLUSTERS), move |rows, out| {
                let mut cluster = 0;
                rows.snapshot.visit_clusters(k, |members| {
                    members.iter().try_for_each(|&row| rows.push((cluster, row, 0), &mut out.block))?;
                    cluster += 1;
                    out.send_full()
                })
            })
        })
    }

    /// All pairs between two databases within `k` bits: see [`Snapshot::visit_cross`].
    ///
    /// # Errors
    /// [`Error::Width`] where `other` has another width; otherwise as [`pairs`](Self::pairs).
    pub fn cross(&self, other: &Self, k: u32) -> Result<AnyStream> {
        self.cross_stream(other, Shape::PAIRS, k)
    }

    /// All pairs of rows between two databases within `k` bits: see [`Snapshot::visit_cross_rows`]. Each row has keys
    /// if its view has.
    ///
    /// # Errors
    /// As [`cross`](Self::cross).
    pub fn cross_row_pairs(&self, other: &Self, k: u32) -> Result<AnyStream> {
        let keys = self.has_keys || other.has_keys;
        self.cross_stream(other, Shape { keys, ..Shape::ROW_PAIRS }, k)
    }

    fn cross_stream(&self, other: &Self, shape: Shape, k: u32) -> Result<AnyStream> {
        match (&self.inner, &other.inner) {
            (PerWidth::W64(one), PerWidth::W64(two)) => self.cross_of(one, (two, other.has_keys), shape, k),
            (PerWidth::W128(one), PerWidth::W128(two)) => self.cross_of(one, (two, other.has_keys), shape, k),
            (PerWidth::W256(one), PerWidth::W256(two)) => self.cross_of(one, (two, other.has_keys), shape, k),
            (PerWidth::W320(one), PerWidth::W320(two)) => self.cross_of(one, (two, other.has_keys), shape, k),
            _ => Err(Error::Width {
                path: other.folder(),
                database: other.width().bits(),
                requested: self.width().bits(),
            }),
        }
    }

    fn cross_of<F: Fingerprint>(
        &self,
        one: &Snapshot<F>,
        (other, has_keys): (&Snapshot<F>, bool),
        shape: Shape,
        k: u32,
    ) -> Result<AnyStream> {
        let other = other.clone();
        self.stream(one, shape, move |rows, out| {
            let others = RowSource { snapshot: &other, has_keys };
            match shape.ids {
                true => rows.snapshot.visit_cross_rows(&other, k, |a, b, distance| {
                    rows.push_pair(&others, (a, b, distance), out)
                }),
                false => rows.snapshot.visit_cross(&other, k, |pairs| out.push_pairs(pairs)),
            }
        })
    }

    /// Rows that `work` makes of this snapshot. It receives the snapshot with a
    /// progress callback that ends the work once the stream is dropped.
    ///
    /// # Errors
    /// None before the first block, which fails with [`Error::Io`] where no thread can be started. Blocks fail as
    /// `work` does.
    pub fn stream_of(
        &self,
        shape: Shape,
        work: impl FnOnce(&Self, &mut Collector<'_>) -> Result<()> + Send + 'static,
    ) -> Result<AnyStream> {
        let any = self.clone();
        let progress = typed!(PerWidth: &self.inner, snapshot => snapshot.options().progress.clone());
        let source = (progress, self.folder());
        Ok(AnyStream::new((self.width(), shape), self.block_rows, source, move |until, out| {
            work(&any.with_progress(until), out)
        }))
    }

    /// The keys of a row: see [`Snapshot::keys_of`].
    ///
    /// # Errors
    /// As [`Snapshot::keys_of`].
    pub fn keys_of(&self, fingerprint: &[u64], id: u64) -> Result<Vec<RowKey>> {
        typed!(PerWidth: &self.inner, snapshot => {
            snapshot.keys_of(Row { fingerprint: Fingerprint::from_le_words(fingerprint), id })
        })
    }

    /// The ids of a key, by a look-up: see [`Snapshot::ids_of_key`].
    ///
    /// # Errors
    /// As [`Snapshot::ids_of_key`].
    pub fn ids_of_key(&self, key: &str) -> Result<Vec<u64>> {
        typed!(PerWidth: &self.inner, snapshot => snapshot.ids_of_key(key))
    }

    /// The ids of a key, by a walk over all keys: see [`Snapshot::ids_of_key_scan`].
    ///
    /// # Errors
    /// As [`Snapshot::ids_of_key_scan`].
    pub fn ids_of_key_scan(&self, key: &str) -> Result<Vec<u64>> {
        typed!(PerWidth: &self.inner, snapshot => snapshot.ids_of_key_scan(key))
    }

    /// The words of the fingerprints of an id, ascending. Costs a look-up if all rows have keys; otherwise
    /// reads all rows, and reports how many.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Interrupted`].
    pub fn fingerprints_of(&self, id: u64) -> Result<Vec<u64>> {
        typed!(PerWidth: &self.inner, snapshot => {
            let mut found = Vec::new();
            match snapshot.fingerprints_by_keys(id)? {
                Some(fingerprints) => fingerprints.into_iter().for_each(|print| found.extend(words(print))),
                None => walk(snapshot, |row| {
                    if row.id == id {
                        found.extend(words(row.fingerprint));
                    }
                })?,
            }
            Ok(found)
        })
    }

    /// The number of distinct rows that are not deleted. Reads all rows if there are several runs, and
    /// reports how many.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Interrupted`].
    pub fn count_rows(&self) -> Result<u64> {
        let stats = self.stats();
        if let Some(rows) = stats.live_rows {
            return Ok(rows);
        }
        let mut rows = 0;
        typed!(PerWidth: &self.inner, snapshot => walk(snapshot, |_| rows += 1))?;
        Ok(rows)
    }

    /// The threads of long work.
    #[must_use]
    pub fn threads(&self) -> usize {
        typed!(PerWidth: &self.inner, snapshot => snapshot.options().get_threads())
    }

    /// The folder of the database.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        typed!(PerWidth: &self.inner, snapshot => snapshot.folder())
    }

    fn rows_of<'a, F>(&self, snapshot: &'a Snapshot<F>) -> RowSource<'a, F> {
        RowSource { snapshot, has_keys: self.has_keys }
    }

    /// Rows that `work` makes of a snapshot of its own.
    fn stream<F: Fingerprint>(
        &self,
        snapshot: &Snapshot<F>,
        shape: Shape,
        work: impl FnOnce(&RowSource<'_, F>, &mut Collector<'_>) -> Result<()> + Send + 'static,
    ) -> Result<AnyStream> {
        let (snapshot, has_keys) = (snapshot.clone(), self.has_keys);
        let (progress, folder) = (snapshot.options().progress.clone(), snapshot.folder());
        Ok(AnyStream::new((F::WIDTH, shape), self.block_rows, (progress, folder), move |until, out| {
            let snapshot = snapshot.with_progress(until);
            work(&RowSource { snapshot: &snapshot, has_keys }, out)
        }))
    }
}

/// A snapshot, and whether its rows come with their keys.
struct RowSource<'a, F> {
    snapshot: &'a Snapshot<F>,
    has_keys: bool,
}

impl<F: Fingerprint> RowSource<'_, F> {
    fn push(
        &self,
        (group, row, distance): (u64, Row<F>, u32),
        sink: &mut (impl Sink + ?Sized),
    ) -> Result<()> {
        self.visit_keys(row, |key| {
            push_row(sink, (group, row, distance), key);
            Ok(())
        })
    }

    /// Passes on a row of this source and one of another source.
    fn push_pair(&self, others: &Self, pair: (Row<F>, Row<F>, u32), out: &mut Collector<'_>) -> Result<()> {
        self.visit_keys(pair.0, |key| {
            others.visit_keys(pair.1, |other_key| out.push_pair(pair, [key, other_key]))
        })
    }

    /// Visits each key of a row: `None` once if it has none, or if results have no keys.
    #[inline]
    fn visit_keys(&self, row: Row<F>, mut visit: impl FnMut(Option<&str>) -> Result<()>) -> Result<()> {
        let keys = if self.has_keys { self.snapshot.keys_of(row)? } else { Vec::new() };
        if keys.is_empty() {
            return visit(None);
        }
        keys.iter().try_for_each(|key| visit(Some(&key.key)))
    }

    fn push_matches(
        &self,
        query: usize,
        matches: &[Match<F>],
        sink: &mut (impl Sink + ?Sized),
    ) -> Result<()> {
        matches.iter().try_for_each(|&Match { distance, fingerprint, id }| {
            self.push((query as u64, Row { fingerprint, id }, distance), sink)
        })
    }
}

/// Visits every row, and reports progress.
fn walk<F: Fingerprint>(snapshot: &Snapshot<F>, mut visit: impl FnMut(Row<F>)) -> Result<()> {
    let mut rows = 0;
    snapshot.visit_rows(|row| {
        visit(row);
        rows += 1;
        if !u64::is_multiple_of(rows, REPORT_ROWS) {
            return Ok(());
        }
        snapshot.options().report(Stage::Reading, rows, None)
    })
}
