//! Ascending sequences of records, and a tree of two-way merges over them.

use crate::error::{Error, Result};

/// Records to merge at once.
pub(super) const BLOCK: usize = 4096;
/// Spilled pieces to merge at once. More pieces are merged in several rounds.
pub(super) const MAX_PIECES: usize = 32;

/// A source of ascending records.
pub(super) trait BlockReader<T> {
    /// Appends the next records, or nothing at the end.
    fn next_block(&mut self, out: &mut Vec<T>) -> Result<()>;
}

/// An ascending sequence of records, with a window onto the next ones.
pub(super) struct Ascending<'a, T> {
    source: AscendingSource<'a, T>,
    /// About how many there are.
    count: usize,
    block: Vec<T>,
    at: usize,
}

enum AscendingSource<'a, T> {
    Empty,
    Slice(&'a [T]),
    Blocks(Box<dyn BlockReader<T> + 'a>),
    Merge(Box<(Ascending<'a, T>, Ascending<'a, T>)>),
}

impl<'a, T: Copy + Ord> Ascending<'a, T> {
    fn new(source: AscendingSource<'a, T>, count: usize) -> Self {
        Self { source, count, block: Vec::new(), at: 0 }
    }

    pub(super) fn slice(slice: &'a [T]) -> Self {
        Self::new(AscendingSource::Slice(slice), slice.len())
    }

    /// `count` is about how many records there are.
    pub(super) fn blocks(blocks: Box<dyn BlockReader<T> + 'a>, count: usize) -> Self {
        Self::new(AscendingSource::Blocks(blocks), count)
    }

    /// One stream over the records of all streams: a tree of merges, of the two neighbours with the fewest records
    /// first. So most records of a large stream beside small ones are copied once.
    pub(super) fn tree(mut streams: Vec<Self>) -> Self {
        while streams.len() > 1 {
            let count = |at: usize| streams[at].count + streams[at + 1].count;
            let at = (0..streams.len() - 1).min_by_key(|&at| count(at)).unwrap_or_default();
            let (count, second) = (count(at), streams.remove(at + 1));
            let empty = Self::new(AscendingSource::Empty, 0);
            let pair = Box::new((std::mem::replace(&mut streams[at], empty), second));
            streams[at] = Self::new(AscendingSource::Merge(pair), count);
        }
        streams.pop().unwrap_or_else(|| Self::new(AscendingSource::Empty, 0))
    }

    pub(super) fn for_each_block<E: From<Error>>(
        mut self,
        mut visit: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            let window = self.window()?;
            if window.is_empty() {
                return Ok(());
            }
            visit(window)?;
            self.at = self.block.len();
        }
    }

    /// The next records, as many as are in memory. Empty at the end.
    #[inline]
    fn window(&mut self) -> Result<&[T]> {
        if self.at == self.block.len() {
            self.refill()?;
        }
        Ok(&self.block[self.at..])
    }

    /// Replaces a used block by the next one.
    fn refill(&mut self) -> Result<()> {
        self.at = 0;
        self.block.clear();
        match &mut self.source {
            AscendingSource::Empty => {}
            AscendingSource::Slice(slice) => {
                let (now, later) = slice.split_at(slice.len().min(BLOCK));
                self.block.extend_from_slice(now);
                *slice = later;
            }
            AscendingSource::Blocks(blocks) => blocks.next_block(&mut self.block)?,
            AscendingSource::Merge(pair) => merge_block(&mut pair.0, &mut pair.1, &mut self.block)?,
        }
        Ok(())
    }

    /// Moves up to `room` records from the window to `out`.
    fn take(&mut self, room: usize, out: &mut Vec<T>) {
        let window = &self.block[self.at..];
        let count = window.len().min(room);
        out.extend_from_slice(&window[..count]);
        self.at += count;
    }
}

/// Visits the distinct records of all streams in ascending order, block by block.
pub(super) fn for_each_distinct<T: Copy + Ord, E: From<Error>>(
    streams: Vec<Ascending<'_, T>>,
    mut visit: impl FnMut(&[T]) -> Result<(), E>,
) -> Result<(), E> {
    let mut last = None;
    let mut distinct = Vec::with_capacity(BLOCK);
    Ascending::tree(streams).for_each_block(|block| {
        distinct.clear();
        for &record in block {
            if last != Some(record) {
                distinct.push(record);
                last = Some(record);
            }
        }
        visit(&distinct)
    })
}

/// Fills `out` with the next records of two streams. The inner loop has no branch that depends on
/// the data.
fn merge_block<T: Copy + Ord>(
    a: &mut Ascending<'_, T>,
    b: &mut Ascending<'_, T>,
    out: &mut Vec<T>,
) -> Result<()> {
    while out.len() < BLOCK {
        let room = BLOCK - out.len();
        let (left, right) = (a.window()?, b.window()?);
        match (left.is_empty(), right.is_empty()) {
            (true, true) => return Ok(()),
            (false, true) => a.take(room, out),
            (true, false) => b.take(room, out),
            (false, false) => {
                let safe = room.min(left.len()).min(right.len());
                let (mut i, mut j) = (0, 0);
                out.extend((0..safe).map(|_| {
                    let (x, y) = (left[i], right[j]);
                    let from_left = x <= y;
                    i += usize::from(from_left);
                    j += usize::from(!from_left);
                    if from_left { x } else { y }
                }));
                a.at += i;
                b.at += j;
            }
        }
    }
    Ok(())
}
