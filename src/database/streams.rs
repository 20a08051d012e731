//! Pairs, clusters and batches of a snapshot, and pairs of a list, as iterators.
//!
//! A thread computes the results and is a few blocks ahead of the consumer. It owns its snapshot,
//! so the iterator borrows nothing. Dropping the iterator cancels the thread.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::options::Options;
use crate::progress::{Progress, Stage};
use crate::query::{Match, Near, Pair, Query, visit_pairs};
use crate::util::channel::{self, Receiver};
use crate::util::process::Process;

/// Blocks that the thread may be ahead.
const BLOCKS_AHEAD: usize = 4;
/// Items in one block, except the last.
const BLOCK_ITEMS: usize = 1024;

/// Results that a thread computes while they are consumed. Each item is a `Result`; an error is the
/// last. In the child of a fork, where the thread is missing, items fail with [`Error::Forked`].
#[derive(Debug)]
pub struct Stream<T> {
    blocks: Option<Receiver<Result<Vec<T>>>>,
    block: VecDeque<T>,
    cancelled: Arc<AtomicBool>,
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
            if let Err(error) = self.process.check(|| self.source.clone()) {
                return Some(Err(Error::io("read", &self.source)(error)));
            }
            match self.blocks.as_mut()?.next() {
                Some(Ok(block)) => self.block = block.into(),
                Some(Err(error)) => {
                    self.blocks = None;
                    return Some(Err(error));
                }
                None => self.blocks = None,
            }
        }
        self.block.pop_front().map(Ok)
    }
}

impl<T> Drop for Stream<T> {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        if !self.process.is_current() {
            // The child of a fork has no such thread. It may have held the lock of the channel.
            std::mem::forget(self.blocks.take());
        }
    }
}

/// Passes progress on until the stream is dropped.
struct UntilDropped {
    cancelled: Arc<AtomicBool>,
    progress: Option<Arc<dyn Progress>>,
}

impl Progress for UntilDropped {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        self.progress.as_ref().map_or(ControlFlow::Continue(()), |next| next.report(stage, done, total))
    }
}

/// Collects items into blocks for the consumer.
struct Sender<T> {
    blocks: channel::Sender<Result<Vec<T>>>,
    block: Vec<T>,
}

impl<T> Sender<T> {
    /// Adds an item. Fails once the stream is dropped.
    fn push(&mut self, item: T) -> Result<()> {
        self.block.push(item);
        if self.block.len() < BLOCK_ITEMS { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<()> {
        self.blocks.send(Ok(std::mem::take(&mut self.block))).map_err(|_| Error::Interrupted)
    }
}

impl<F: Fingerprint> Snapshot<F> {
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
        self.stream(move |snapshot, sender| {
            snapshot.visit_pairs(k, |block| block.iter().try_for_each(|&pair| sender.push(pair)))
        })
    }

    /// All pairs of rows within `k` bits, in the order of
    /// [`visit_row_pairs`](Snapshot::visit_row_pairs).
    ///
    /// # Errors
    /// As [`pairs`](Snapshot::pairs).
    pub fn row_pairs(&self, k: u32) -> Result<Stream<RowPair<F>>> {
        self.stream(move |snapshot, sender| {
            snapshot.visit_row_pairs(k, |a, b, distance| sender.push(RowPair { a, b, distance }))
        })
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
        self.stream(move |snapshot, sender| {
            snapshot.visit_clusters(k, |cluster| sender.push(cluster.to_vec()))
        })
    }

    /// All pairs between two databases within `k` bits, in the order of
    /// [`visit_cross`](Snapshot::visit_cross).
    ///
    /// # Errors
    /// As [`pairs`](Snapshot::pairs).
    pub fn cross(&self, other: &Self, k: u32) -> Result<Stream<Pair<F>>> {
        let other = other.clone();
        self.stream(move |snapshot, sender| {
            snapshot.visit_cross(&other, k, |block| block.iter().try_for_each(|&pair| sender.push(pair)))
        })
    }

    /// All pairs of rows between two databases within `k` bits, in the order of
    /// [`visit_cross_rows`](Snapshot::visit_cross_rows).
    ///
    /// # Errors
    /// As [`pairs`](Snapshot::pairs).
    pub fn cross_row_pairs(&self, other: &Self, k: u32) -> Result<Stream<RowPair<F>>> {
        let other = other.clone();
        self.stream(move |snapshot, sender| {
            snapshot.visit_cross_rows(&other, k, |a, b, distance| sender.push(RowPair { a, b, distance }))
        })
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
        let query = query.into();
        self.stream(move |snapshot, sender| {
            snapshot.query_batch(&fingerprints, query, |_, matches| sender.push(matches.to_vec()))
        })
    }

    /// Runs `work` on a thread of its own, with a snapshot of its own.
    fn stream<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self, &mut Sender<T>) -> Result<()> + Send + 'static,
    ) -> Result<Stream<T>> {
        let snapshot = self.clone();
        start(self.options().progress.clone(), self.folder(), move |until, sender| {
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
    let (near, options) = (near.into(), options.clone());
    start(options.progress.clone(), "a list".into(), move |until, sender| {
        let options = options.progress(until);
        visit_pairs(values, near, &options, |block| block.iter().try_for_each(|&pair| sender.push(pair)))
    })
}

/// Runs `work` on a thread of its own. It receives the progress to report, which ends the work once
/// the stream is dropped. `source` is what is read, for messages.
fn start<T: Send + 'static>(
    progress: Option<Arc<dyn Progress>>,
    source: PathBuf,
    work: impl FnOnce(Arc<dyn Progress>, &mut Sender<T>) -> Result<()> + Send + 'static,
) -> Result<Stream<T>> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let until = Arc::new(UntilDropped { cancelled: cancelled.clone(), progress });
    let (blocks, receiver) = channel::bounded(BLOCKS_AHEAD);
    let mut sender = Sender { blocks, block: Vec::new() };
    let run: Box<dyn FnOnce() + Send> = Box::new(move || {
        let end = work(until, &mut sender).and_then(|()| sender.send());
        if let Err(error) = end {
            // A dropped stream needs no error.
            let _ = sender.blocks.send(Err(error));
        }
    });
    let thread = std::thread::Builder::new().name("nearprint-stream".into());
    thread.spawn(run).map_err(Error::io("start", "a thread for results"))?;
    let process = Process::current();
    Ok(Stream { blocks: Some(receiver), block: VecDeque::new(), cancelled, process, source })
}
