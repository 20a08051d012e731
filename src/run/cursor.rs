//! Reading all fingerprints of a segment in order.

use super::segment::Segment;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::util::cast::to_u32;

/// What a cursor did with the buffer that it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockRead {
    /// The buffer holds the next block.
    Filled,
    /// There are no more blocks, and the buffer is empty.
    End,
}

impl BlockRead {
    pub(super) fn of<T>(block: &[T]) -> Self {
        if block.is_empty() { Self::End } else { Self::Filled }
    }
}

/// Entries per read-ahead.
const AHEAD_ENTRIES: usize = 1 << 17;

/// Values in a block, unless a single bucket holds more.
const BLOCK: usize = 4096;

/// A place in a segment, which is read from its first value to its last.
pub(crate) struct Cursor {
    bucket: usize,
    /// Buckets with a read-ahead.
    requested: usize,
    /// Buckets per read-ahead.
    window: usize,
}

impl<F: Fingerprint> Segment<F> {
    /// The place before the first value.
    pub(crate) fn cursor(&self) -> Cursor {
        let window = (self.buckets() * AHEAD_ENTRIES / self.entries().max(1)).max(1);
        Cursor { bucket: 0, requested: 0, window }
    }

    /// Visits all fingerprints in natural order, block by block, with the number of the first one. Only for table 0 of
    /// wide fingerprints.
    pub(crate) fn each_numbered(&self, mut visit: impl FnMut(u32, &[F]) -> Result<()>) -> Result<()> {
        let mut block = Vec::with_capacity(BLOCK);
        for start in (0..self.entries()).step_by(BLOCK) {
            if start.is_multiple_of(AHEAD_ENTRIES) {
                self.will_need_numbered(&(start..(start + AHEAD_ENTRIES).min(self.entries())));
            }
            block.clear();
            self.read_numbered(&(start..(start + BLOCK).min(self.entries())), &mut block)?;
            visit(to_u32(start), &block)?;
        }
        Ok(())
    }
}

impl Cursor {
    /// Replaces the content of `out` by the next values of the segment that made the cursor.
    pub(crate) fn next_block<F: Fingerprint>(
        &mut self,
        segment: &Segment<F>,
        out: &mut Vec<F>,
    ) -> Result<BlockRead> {
        self.next_buckets(segment, out, |bucket, out| segment.read_buckets(bucket, 1, out))
    }

    /// Replaces the content of `out` by what `read` appends for the next buckets.
    pub(crate) fn next_buckets<F: Fingerprint, T>(
        &mut self,
        segment: &Segment<F>,
        out: &mut Vec<T>,
        mut read: impl FnMut(usize, &mut Vec<T>) -> Result<()>,
    ) -> Result<BlockRead> {
        out.clear();
        while self.requested < (self.bucket + self.window).min(segment.buckets()) {
            segment.will_need_buckets(self.requested, self.window)?;
            self.requested += self.window;
        }
        while out.len() < BLOCK && self.bucket < segment.buckets() {
            read(self.bucket, out)?;
            self.bucket += 1;
        }
        Ok(BlockRead::of(out))
    }
}
