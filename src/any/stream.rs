//! Rows that a thread computes while they are consumed, in columns.

use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::columns::{AnyRow, Columns, Shape, Sink, push_pair};
use crate::database::streams::{Ahead, BlockSender, start};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row, Width};
use crate::progress::Progress;
use crate::query::Pair;

/// Rows, pairs or clusters in blocks of columns, which a thread computes while they are consumed.
/// The rows before an error come first; an error is the last item.
///
/// It owns what it reads. Dropping it cancels the thread. In the child of a fork, where the thread is
/// missing, items fail with [`Error::Forked`](crate::Error::Forked). A panic of the thread is passed
/// on.
#[derive(Debug)]
pub struct AnyStream {
    width: Width,
    shape: Shape,
    blocks: Ahead<Columns>,
}

impl AnyStream {
    /// Runs `work` on a thread of its own. `source` is what is read, for messages.
    pub(super) fn start(
        (width, shape): (Width, Shape),
        block_rows: usize,
        (progress, source): (Option<Arc<dyn Progress>>, PathBuf),
        work: impl FnOnce(Arc<dyn Progress>, &mut Collector) -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        let blocks = start(progress, source, move |until, sender| {
            let mut collector = Collector { block: Columns::new(width, shape), block_rows, sender };
            let done = work(until, &mut collector);
            let sent = if collector.block.is_empty() { Ok(()) } else { collector.send() };
            done.and(sent)
        })?;
        Ok(Self { width, shape, blocks })
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

    /// The next block, if it comes within a time: for callers that have other things to check
    /// meanwhile.
    pub fn next_within(&mut self, timeout: Duration) -> Poll<Option<Result<Columns>>> {
        self.blocks.next_within(Some(timeout))
    }
}

impl Iterator for AnyStream {
    type Item = Result<Columns>;

    fn next(&mut self) -> Option<Self::Item> {
        self.blocks.next()
    }
}

/// Collects rows into blocks for the consumer of an [`AnyStream`].
#[derive(Debug)]
pub struct Collector<'a> {
    pub(super) block: Columns,
    block_rows: usize,
    sender: &'a BlockSender<Columns>,
}

impl Collector<'_> {
    /// Sends the block if it is full.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted) once the stream is dropped.
    #[inline]
    pub fn send_full(&mut self) -> Result<()> {
        if self.block.len() < self.block_rows { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<()> {
        let next = Columns::new(self.block.width, self.block.shape);
        self.sender.send(std::mem::replace(&mut self.block, next))
    }

    /// Collects pairs of fingerprints.
    pub(super) fn push_pairs<F: Fingerprint>(&mut self, pairs: &[Pair<F>]) -> Result<()> {
        for pair in pairs {
            let row = |fingerprint| Row { fingerprint, id: 0 };
            self.push_pair(row(pair.a), row(pair.b), pair.distance)?;
        }
        Ok(())
    }

    /// Collects a pair of rows.
    #[inline]
    pub(super) fn push_pair<F: Fingerprint>(&mut self, a: Row<F>, b: Row<F>, distance: u32) -> Result<()> {
        push_pair(&mut self.block, a, b, distance);
        self.send_full()
    }
}

impl Sink for Collector<'_> {
    #[inline]
    fn push(&mut self, row: &AnyRow<'_>) {
        self.block.push(row);
    }
}
