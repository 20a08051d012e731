//! Rows that a thread computes while they are consumed, in columns.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use super::columns::{AnyRow, Columns, Shape, Sink, push_pair};
use crate::database::streams::{Ahead, start, until};
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row, Width};
use crate::progress::Progress;
use crate::query::Pair;
use crate::util::process::Process;
use crate::util::visitor::visiting;

/// Rows, pairs or clusters in blocks of columns. As an iterator, it starts a thread with the first item,
/// which computes blocks while they are consumed; [`visit`](Self::visit) needs no thread. The rows before an
/// error come first; an error is the last item.
///
/// It owns what it reads. Dropping it cancels the thread. In the child of a fork, where the thread is
/// missing, items fail with [`Error::Forked`](crate::Error::Forked). A panic of the thread is passed
/// on.
#[derive(Debug)]
pub struct AnyStream {
    width: Width,
    shape: Shape,
    state: State,
}

#[derive(Debug)]
enum State {
    Waiting(Work),
    Running(Ahead<Columns>),
    /// The thread could not be started.
    Failed,
}

/// What makes the blocks.
struct Work {
    block_rows: usize,
    progress: Option<Arc<dyn Progress>>,
    /// What is read, for messages.
    source: PathBuf,
    process: Process,
    run: Mutex<Run>,
}

type Run = Box<dyn FnOnce(Arc<dyn Progress>, &mut Collector<'_>) -> Result<()> + Send>;

impl AnyStream {
    /// Blocks that `work` makes. `source` is what is read, for messages.
    pub(super) fn new(
        (width, shape): (Width, Shape),
        block_rows: usize,
        (progress, source): (Option<Arc<dyn Progress>>, PathBuf),
        work: impl FnOnce(Arc<dyn Progress>, &mut Collector<'_>) -> Result<()> + Send + 'static,
    ) -> Self {
        let (process, run): (_, Run) = (Process::current(), Box::new(work));
        let run = Mutex::new(run);
        Self { width, shape, state: State::Waiting(Work { block_rows, progress, source, process, run }) }
    }

    /// The width of the fingerprints.
    #[must_use]
    pub fn width(&self) -> Width {
        self.width
    }

    /// The columns of all blocks.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Passes all blocks on that have not been taken. Before the first one is taken, this thread computes them.
    ///
    /// # Errors
    /// As the blocks, and whatever `visit` returns, which ends the work.
    pub fn visit<E: From<Error>>(
        mut self,
        mut visit: impl FnMut(&Columns) -> Result<(), E>,
    ) -> Result<(), E> {
        let (width, shape) = (self.width, self.shape);
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Waiting(work) => visiting(visit, |visit| {
                let progress = until(Arc::default(), work.progress.clone());
                work.run((width, shape), progress, &mut |block| {
                    let visited = visit(block);
                    block.clear();
                    visited
                })
            }),
            State::Running(mut blocks) => blocks.try_for_each(|block| visit(&block?)),
            State::Failed => Ok(()),
        }
    }

    /// The next block, if it comes within a time: for callers that have other things to check
    /// meanwhile.
    pub fn next_within(&mut self, timeout: Duration) -> Poll<Option<Result<Columns>>> {
        match self.running() {
            Ok(blocks) => blocks.map_or(Poll::Ready(None), |blocks| blocks.next_within(Some(timeout))),
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }

    /// Cancels the work, and waits for calls of the [progress](crate::Options::progress): none is made afterwards.
    /// For callers whose progress points to what they free. Dropping a stream cancels, too, and waits for nothing.
    pub fn cancel(&self) {
        if let State::Running(blocks) = &self.state {
            blocks.cancel();
        }
    }

    /// Starts the thread, unless it is there.
    fn running(&mut self) -> Result<Option<&mut Ahead<Columns>>> {
        if let State::Waiting(_) = self.state
            && let State::Waiting(work) = std::mem::replace(&mut self.state, State::Failed)
        {
            work.process.check(|| work.source.clone()).map_err(Error::io("read", &work.source))?;
            let columns = (self.width, self.shape);
            let blocks = start(work.progress.clone(), work.source.clone(), move |until, sender| {
                work.run(columns, until, &mut |block| {
                    let next = Columns::new(block.width, block.shape);
                    sender.send(std::mem::replace(block, next))
                })
            })?;
            self.state = State::Running(blocks);
        }
        match &mut self.state {
            State::Running(blocks) => Ok(Some(blocks)),
            _ => Ok(None),
        }
    }
}

impl Work {
    /// Passes all blocks to `send`.
    fn run(
        self,
        (width, shape): (Width, Shape),
        progress: Arc<dyn Progress>,
        send: &mut dyn FnMut(&mut Columns) -> Result<()>,
    ) -> Result<()> {
        let run = self.run.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut collector =
            Collector { block: Columns::new(width, shape), block_rows: self.block_rows, send };
        let done = run(progress, &mut collector);
        let sent = if collector.block.is_empty() { Ok(()) } else { (collector.send)(&mut collector.block) };
        done.and(sent)
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").field("source", &self.source).finish_non_exhaustive()
    }
}

impl Iterator for AnyStream {
    type Item = Result<Columns>;

    fn next(&mut self) -> Option<Self::Item> {
        self.running().map_or_else(|error| Some(Err(error)), |blocks| blocks?.next())
    }
}

/// Collects rows into blocks for the consumer of an [`AnyStream`].
pub struct Collector<'a> {
    pub(super) block: Columns,
    block_rows: usize,
    /// Takes the rows of a block.
    send: &'a mut dyn FnMut(&mut Columns) -> Result<()>,
}

impl fmt::Debug for Collector<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").field("block", &self.block).finish_non_exhaustive()
    }
}

impl Collector<'_> {
    /// Sends the block if it is full.
    ///
    /// # Errors
    /// [`Error::Interrupted`] once the stream is dropped.
    #[inline]
    pub fn send_full(&mut self) -> Result<()> {
        if self.block.len() < self.block_rows { Ok(()) } else { (self.send)(&mut self.block) }
    }

    /// Collects pairs of fingerprints.
    pub(super) fn push_pairs<F: Fingerprint>(&mut self, pairs: &[Pair<F>]) -> Result<()> {
        for pair in pairs {
            let row = |fingerprint| Row { fingerprint, id: 0 };
            self.push_pair((row(pair.a), row(pair.b), pair.distance), [None; 2])?;
        }
        Ok(())
    }

    /// Collects a pair of rows at a distance, with their keys.
    #[inline]
    pub(super) fn push_pair<F: Fingerprint>(
        &mut self,
        pair: (Row<F>, Row<F>, u32),
        keys: [Option<&str>; 2],
    ) -> Result<()> {
        push_pair(&mut self.block, pair, keys);
        self.send_full()
    }
}

impl Sink for Collector<'_> {
    #[inline]
    fn push(&mut self, row: &AnyRow<'_>) {
        self.block.push(row);
    }
}
