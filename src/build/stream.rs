//! Ascending sequences of records, and a tree of two-way merges over them.

use crate::error::{Error, Result};

/// Records merged at once.
pub(super) const BLOCK: usize = 4096;

/// Where ascending records come from.
pub(super) trait Blocks<T> {
    /// Appends the next records; none at the end.
    fn next_block(&mut self, out: &mut Vec<T>) -> Result<()>;
}

/// An ascending sequence of records with a window onto what comes next.
pub(super) struct Stream<'a, T> {
    source: Source<'a, T>,
    block: Vec<T>,
    at: usize,
}

enum Source<'a, T> {
    Empty,
    Slice(&'a [T]),
    Blocks(Box<dyn Blocks<T> + 'a>),
    Merge(Box<(Stream<'a, T>, Stream<'a, T>)>),
}

impl<'a, T: Copy + Ord> Stream<'a, T> {
    fn new(source: Source<'a, T>) -> Self {
        Self { source, block: Vec::new(), at: 0 }
    }

    pub(super) fn slice(slice: &'a [T]) -> Self {
        Self::new(Source::Slice(slice))
    }

    pub(super) fn blocks(blocks: Box<dyn Blocks<T> + 'a>) -> Self {
        Self::new(Source::Blocks(blocks))
    }

    /// One stream over all, by merging two and two.
    pub(super) fn tree(mut streams: Vec<Self>) -> Self {
        while streams.len() > 1 {
            let mut paired = Vec::with_capacity(streams.len().div_ceil(2));
            let mut rest = streams.into_iter();
            while let Some(first) = rest.next() {
                paired.push(match rest.next() {
                    Some(second) => Self::new(Source::Merge(Box::new((first, second)))),
                    None => first,
                });
            }
            streams = paired;
        }
        streams.pop().unwrap_or_else(|| Self::new(Source::Empty))
    }

    pub(super) fn for_each_block<E: From<Error>>(
        mut self,
        mut visit: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        while self.refill()? {
            visit(self.window())?;
            self.at = self.block.len();
        }
        Ok(())
    }

    /// What can be taken without refilling.
    #[inline]
    fn window(&self) -> &[T] {
        &self.block[self.at..]
    }

    /// Makes sure that the window is not empty. False at the end.
    fn refill(&mut self) -> Result<bool> {
        if self.at < self.block.len() {
            return Ok(true);
        }
        self.at = 0;
        self.block.clear();
        match &mut self.source {
            Source::Empty => {}
            Source::Slice(slice) => {
                let (now, later) = slice.split_at(slice.len().min(BLOCK));
                self.block.extend_from_slice(now);
                *slice = later;
            }
            Source::Blocks(blocks) => blocks.next_block(&mut self.block)?,
            Source::Merge(pair) => merge_block(&mut pair.0, &mut pair.1, &mut self.block)?,
        }
        Ok(!self.block.is_empty())
    }
}

/// Hands out the distinct records of all streams in ascending order, block by block.
pub(super) fn for_each_distinct<T: Copy + Ord, E: From<Error>>(
    streams: Vec<Stream<'_, T>>,
    mut visit: impl FnMut(&[T]) -> Result<(), E>,
) -> Result<(), E> {
    let mut last = None;
    let mut distinct = Vec::with_capacity(BLOCK);
    Stream::tree(streams).for_each_block(|block| {
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
fn merge_block<T: Copy + Ord>(a: &mut Stream<'_, T>, b: &mut Stream<'_, T>, out: &mut Vec<T>) -> Result<()> {
    while out.len() < BLOCK {
        let room = BLOCK - out.len();
        match (a.refill()?, b.refill()?) {
            (false, false) => return Ok(()),
            (true, false) => take(a, room, out),
            (false, true) => take(b, room, out),
            (true, true) => {
                let (left, right) = (a.window(), b.window());
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

fn take<T: Copy + Ord>(stream: &mut Stream<'_, T>, room: usize, out: &mut Vec<T>) {
    let window = stream.window();
    let count = window.len().min(room);
    out.extend_from_slice(&window[..count]);
    stream.at += count;
}
