//! Pairs, clusters and batches of a snapshot, and pairs of a list, as iterators.
//!
//! A thread computes the results and is a few blocks ahead of the consumer. It owns its snapshot,
//! so the iterator borrows nothing. Dropping the iterator cancels the thread.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::options::Options;
use crate::progress::{Progress, Stage};
use crate::query::join::Wanted;
use crate::query::{Blocks, Match, Near, Pair, Query};
use crate::util::channel::{self, Receiver};
use crate::util::process::Process;

/// Blocks that the thread may be ahead.
const BLOCKS_AHEAD: usize = 4;
/// Items in one block, except the last.
const BLOCK_ITEMS: usize = 1024;
/// The name of a list in messages.
pub(crate) const LIST: &str = "a list";

/// Results that a thread computes while they are consumed. Each item is a `Result`; an error is the
/// last. In the child of a fork, where the thread is missing, items fail with [`Error::Forked`].
/// A panic of the thread is passed on.
#[derive(Debug)]
pub struct Stream<T> {
    blocks: Ahead<Vec<T>>,
    block: VecDeque<T>,
}

/// Blocks of results, which a thread computes a few ahead.
#[derive(Debug)]
pub(crate) struct Ahead<B> {
    blocks: Option<Receiver<Result<B>>>,
    thread: Option<JoinHandle<()>>,
    reports: Arc<Reports>,
    /// The process that has the thread.
    process: Process,
    /// What is read: the folder of a database, or a list.
    source: PathBuf,
}

/// Two rows within k bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowPair<F> {
    /// The row of the smaller fingerprint, or of the smaller id; between two databases, the row of
    /// the first.
    pub a: Row<F>,
    /// The other row.
    pub b: Row<F>,
    /// Number of differing bits.
    pub distance: u32,
}

impl<T> Iterator for Stream<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        while self.block.is_empty() {
            match self.blocks.next()? {
                Ok(block) => self.block = block.into(),
                Err(error) => return Some(Err(error)),
            }
        }
        self.block.pop_front().map(Ok)
    }
}

impl<B> Iterator for Ahead<B> {
    type Item = Result<B>;

    fn next(&mut self) -> Option<Result<B>> {
        match self.next_within(None) {
            Poll::Ready(next) => next,
            Poll::Pending => unreachable!("without a timeout there is a block or an end"),
        }
    }
}

impl<B> Ahead<B> {
    /// The next block, if it comes within a time.
    pub(crate) fn next_within(&mut self, timeout: Option<Duration>) -> Poll<Option<Result<B>>> {
        if let Err(error) = self.process.check(|| self.source.clone()) {
            return Poll::Ready(Some(Err(Error::io("read", &self.source)(error))));
        }
        let Some(blocks) = &mut self.blocks else { return Poll::Ready(None) };
        let next = blocks.next_within(timeout);
        if let Poll::Ready(None | Some(Err(_))) = next {
            self.blocks = None;
            if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
                std::panic::resume_unwind(panic);
            }
        }
        next
    }
}

impl<B> Ahead<B> {
    /// Cancels the work, and waits until no call of the progress runs. None is made afterwards.
    pub(crate) fn cancel(&self) {
        self.reports.are_cancelled.store(true, Ordering::Relaxed);
        // The child of a fork has no thread that would end a call.
        if self.process.is_current() {
            drop(self.reports.running.write());
        }
    }
}

impl<B> Drop for Ahead<B> {
    fn drop(&mut self) {
        self.reports.are_cancelled.store(true, Ordering::Relaxed);
        if !self.process.is_current() {
            // The child of a fork has no such thread. It may have held the lock of the channel.
            std::mem::forget((self.blocks.take(), self.thread.take()));
        }
    }
}

/// Calls of a progress.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    are_cancelled: AtomicBool,
    /// Each call has it for reading while it runs.
    running: RwLock<()>,
}

/// Passes progress on until the stream is dropped.
struct UntilDropped {
    reports: Arc<Reports>,
    progress: Option<Arc<dyn Progress>>,
}

impl Progress for UntilDropped {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        let _running = self.reports.running.read().unwrap_or_else(PoisonError::into_inner);
        if self.reports.are_cancelled.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        self.progress.as_ref().map_or(ControlFlow::Continue(()), |next| next.report(stage, done, total))
    }
}

/// Passes progress on until reports are cancelled.
pub(crate) fn until(reports: Arc<Reports>, progress: Option<Arc<dyn Progress>>) -> Arc<dyn Progress> {
    Arc::new(UntilDropped { reports, progress })
}

/// Passes blocks to the consumer.
#[derive(Debug)]
pub(crate) struct BlockSender<B>(channel::Sender<Result<B>>);

impl<B> BlockSender<B> {
    /// Fails once the stream is dropped.
    pub(crate) fn send(&self, block: B) -> Result<()> {
        self.0.send(Ok(block)).map_err(|_| Error::Interrupted)
    }
}

/// Collects items into blocks for the consumer.
pub(super) struct Sender<'a, T> {
    blocks: &'a BlockSender<Vec<T>>,
    block: Vec<T>,
}

impl<T> Sender<'_, T> {
    /// Adds an item. Fails once the stream is dropped.
    pub(super) fn push(&mut self, item: T) -> Result<()> {
        self.block.push(item);
        if self.block.len() < BLOCK_ITEMS { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<()> {
        self.blocks.send(std::mem::take(&mut self.block))
    }
}

impl<F: Fingerprint> Snapshot<F> {
    /// Every row, by (fingerprint, id).
    ///
    /// # Errors
    /// [`Error::Io`] where no thread can be started; items fail with [`Error::Corrupt`].
    ///
    /// ```
    /// # use nearprint::{Database, Row, Schema};
    /// # let home = tempfile::tempdir()?;
    /// # let mut builder = Database::<u64>::build(home.path().join("corpus.np"), &Schema::new())?;
    /// # (builder.push(Row { fingerprint: 9, id: 1 })?, builder.push(Row { fingerprint: 7, id: 2 })?);
    /// # let snapshot = builder.finish()?.snapshot()?;
    /// for row in snapshot.rows()? {
    ///     let row = row?;
    ///     println!("{} {}", row.fingerprint, row.id);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rows(&self) -> Result<Stream<Row<F>>> {
        F::rows(self)
    }

    /// All pairs of distinct fingerprints within `k` bits, in the order of
    /// [`visit_pairs`](Snapshot::visit_pairs).
    ///
    /// # Errors
    /// Items fail as [`visit_pairs`](Snapshot::visit_pairs) does; [`Error::Io`] where no thread can
    /// be started.
    ///
    /// ```
    /// # use nearprint::{Database, Schema};
    /// # let home = tempfile::tempdir()?;
    /// # let mut builder = Database::<u64>::build(home.path().join("corpus.np"), &Schema::new())?;
    /// # for fingerprint in [0b0000, 0b0111, 0b1111] {
    /// #     builder.push(fingerprint)?;
    /// # }
    /// # let snapshot = builder.finish()?.snapshot()?;
    /// let nearest = snapshot.pairs(3)?.filter_map(Result::ok).min_by_key(|pair| pair.distance);
    /// assert_eq!(nearest.map(|pair| (pair.a, pair.b)), Some((0b0111, 0b1111)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pairs(&self, k: u32) -> Result<Stream<Pair<F>>> {
        F::pairs(self, k)
    }

    /// All pairs of rows within `k` bits, in the order of
    /// [`visit_row_pairs`](Snapshot::visit_row_pairs).
    ///
    /// # Errors
    /// As [`pairs`](Snapshot::pairs).
    pub fn row_pairs(&self, k: u32) -> Result<Stream<RowPair<F>>> {
        F::row_pairs(self, k)
    }

    /// The clusters within `k` bits, each as its rows, in the order of
    /// [`visit_clusters`](Snapshot::visit_clusters).
    ///
    /// # Errors
    /// As [`pairs`](Snapshot::pairs).
    ///
    /// ```
    /// # use nearprint::{Database, Schema};
    /// # let home = tempfile::tempdir()?;
    /// # let mut builder = Database::<u64>::build(home.path().join("corpus.np"), &Schema::new())?;
    /// # for fingerprint in [0b0000, 0b0111, u64::MAX] {
    /// #     builder.push(fingerprint)?;
    /// # }
    /// # let snapshot = builder.finish()?.snapshot()?;
    /// for cluster in snapshot.clusters(3)? {
    ///     let ids: Vec<u64> = cluster?.iter().map(|row| row.id).collect();
    ///     assert_eq!(ids, [0, 1]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clusters(&self, k: u32) -> Result<Stream<Vec<Row<F>>>> {
        F::clusters(self, k)
    }

    /// All pairs between two databases within `k` bits, in the order of
    /// [`visit_cross`](Snapshot::visit_cross).
    ///
    /// # Errors
    /// As [`pairs`](Snapshot::pairs).
    pub fn cross(&self, other: &Self, k: u32) -> Result<Stream<Pair<F>>> {
        F::cross(self, other, k)
    }

    /// All pairs of rows between two databases within `k` bits, in the order of
    /// [`visit_cross_rows`](Snapshot::visit_cross_rows).
    ///
    /// # Errors
    /// As [`pairs`](Snapshot::pairs).
    pub fn cross_row_pairs(&self, other: &Self, k: u32) -> Result<Stream<RowPair<F>>> {
        F::cross_row_pairs(self, other, k)
    }

    /// The matches of many queries, in their order: [`query_batch`](Snapshot::query_batch) as an
    /// iterator.
    ///
    /// # Errors
    /// As [`pairs`](Snapshot::pairs).
    ///
    /// ```
    /// # use nearprint::{Database, Schema};
    /// # let home = tempfile::tempdir()?;
    /// # let mut builder = Database::<u64>::build(home.path().join("corpus.np"), &Schema::new())?;
    /// # builder.push(0b0001)?;
    /// # let snapshot = builder.finish()?.snapshot()?;
    /// let queries = vec![0b0011, u64::MAX];
    /// for (query, matches) in queries.clone().into_iter().zip(snapshot.matches(queries, 3)?) {
    ///     println!("{query}: {} rows", matches?.len());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn matches(&self, fingerprints: Vec<F>, query: impl Into<Query>) -> Result<Stream<Vec<Match<F>>>> {
        F::matches(self, fingerprints, query.into())
    }
}

impl<F: Fingerprint> Snapshot<F> {
    /// What `work` pushes, which has a thread of its own and a snapshot of its own.
    pub(super) fn stream<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self, &mut Sender<'_, T>) -> Result<()> + Send + 'static,
    ) -> Result<Stream<T>> {
        let snapshot = self.clone();
        items(self.options().progress.clone(), self.folder(), move |until, sender| {
            work(&snapshot.with_progress(until), sender)
        })
    }
}

/// All pairs of distinct values of a list that are near, in the order of
/// [`visit_pairs`](crate::list::visit_pairs). Memory: three times the list, however many pairs there are.
///
/// # Errors
/// Items fail as [`visit_pairs`](crate::list::visit_pairs) does; [`Error::Io`] where no thread can be started.
///
/// ```
/// let values = vec![0b0000u64, 0b0111, 0b1111];
/// let mut pairs = nearprint::list::pairs(values, 3, &nearprint::Options::new())?;
/// assert_eq!(pairs.next().transpose()?.map(|pair| pair.distance), Some(3));
/// # Ok::<(), nearprint::Error>(())
/// ```
pub fn pairs<F: Fingerprint>(
    values: Vec<F>,
    near: impl Into<Near>,
    options: &Options,
) -> Result<Stream<Pair<F>>> {
    F::list_pairs_ahead(values, near.into(), options)
}

/// The clusters of a list, in the order of [`visit_clusters`](crate::list::visit_clusters).
///
/// # Errors
/// Items fail as [`visit_clusters`](crate::list::visit_clusters) does; [`Error::Io`] where no thread can be started.
///
/// ```
/// let values = vec![0b0000u64, 0b0111, 0xffff_0000];
/// for cluster in nearprint::list::clusters(values, 3, &nearprint::Options::new())? {
///     assert_eq!(cluster?, [0b0000, 0b0111]);
/// }
/// # Ok::<(), nearprint::Error>(())
/// ```
pub fn clusters<F: Fingerprint>(
    values: Vec<F>,
    near: impl Into<Near>,
    options: &Options,
) -> Result<Stream<Vec<F>>> {
    F::list_clusters_ahead(values, near.into(), options)
}

/// The clusters of a list of rows, in the order of [`visit_row_clusters`](crate::list::visit_row_clusters).
///
/// # Errors
/// As [`clusters`](crate::list::clusters).
pub fn row_clusters<F: Fingerprint>(
    rows: Vec<Row<F>>,
    near: impl Into<Near>,
    options: &Options,
) -> Result<Stream<Vec<Row<F>>>> {
    F::list_row_clusters_ahead(rows, near.into(), options)
}

/// What `work` pushes of a list, on a thread of its own.
pub(super) fn of_list<T: Send + 'static>(
    options: &Options,
    work: impl FnOnce(&Options, &mut Sender<'_, T>) -> Result<()> + Send + 'static,
) -> Result<Stream<T>> {
    let options = options.clone();
    items(options.progress.clone(), LIST.into(), move |until, sender| work(&options.progress(until), sender))
}

impl<F: Fingerprint> Blocks<F> {
    /// The near pairs that are reported at the keys of a task: [`visit_pairs`](Self::visit_pairs) as an iterator.
    ///
    /// # Errors
    /// [`Error::Io`] where no thread can be started; items fail as [`visit_pairs`](Self::visit_pairs) does.
    pub fn pairs(&self, rows: Vec<(u64, F)>, options: &Options) -> Result<Stream<Pair<F>>> {
        F::join_ahead(self, (rows, None), Wanted::All, options)
    }

    /// Some of the pairs, with the same connected components: [`visit_forest`](Self::visit_forest) as an iterator.
    ///
    /// # Errors
    /// As [`pairs`](Self::pairs).
    pub fn forest(&self, rows: Vec<(u64, F)>, options: &Options) -> Result<Stream<Pair<F>>> {
        F::join_ahead(self, (rows, None), Wanted::Forest, options)
    }

    /// The near pairs between two lists: [`visit_between`](Self::visit_between) as an iterator.
    ///
    /// # Errors
    /// As [`pairs`](Self::pairs).
    pub fn between(
        &self,
        ones: Vec<(u64, F)>,
        others: Vec<(u64, F)>,
        options: &Options,
    ) -> Result<Stream<Pair<F>>> {
        F::join_ahead(self, (ones, Some(others)), Wanted::Between, options)
    }
}

/// Runs `work`, which makes items, on a thread of its own: see [`start`].
fn items<T: Send + 'static>(
    progress: Option<Arc<dyn Progress>>,
    source: PathBuf,
    work: impl FnOnce(Arc<dyn Progress>, &mut Sender<'_, T>) -> Result<()> + Send + 'static,
) -> Result<Stream<T>> {
    let blocks = start(progress, source, move |until, blocks| {
        let mut sender = Sender { blocks, block: Vec::new() };
        work(until, &mut sender).and_then(|()| sender.send())
    })?;
    Ok(Stream { blocks, block: VecDeque::new() })
}

/// Runs `work`, which makes blocks, on a thread of its own. It receives the progress to report, which
/// ends the work once the stream is dropped. `source` is what is read, for messages.
pub(crate) fn start<B: Send + 'static>(
    progress: Option<Arc<dyn Progress>>,
    source: PathBuf,
    work: impl FnOnce(Arc<dyn Progress>, &BlockSender<B>) -> Result<()> + Send + 'static,
) -> Result<Ahead<B>> {
    let reports = Arc::<Reports>::default();
    let until = until(reports.clone(), progress);
    let (blocks, receiver) = channel::bounded(BLOCKS_AHEAD);
    let sender = BlockSender(blocks);
    let run: Box<dyn FnOnce() + Send> = Box::new(move || {
        if let Err(error) = work(until, &sender) {
            // A dropped stream needs no error.
            let _ = sender.0.send(Err(error));
        }
    });
    let thread = std::thread::Builder::new().name("nearprint-stream".into());
    let thread = thread.spawn(run).map_err(Error::io("start", "a thread for results"))?;
    let process = Process::current();
    Ok(Ahead { blocks: Some(receiver), thread: Some(thread), reports, process, source })
}
