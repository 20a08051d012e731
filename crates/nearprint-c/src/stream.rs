//! Results that the caller pulls.

use nearprint::any::{AnySnapshot, AnyStream, Columns, Shape, Sink};
use nearprint::{Error, Result};

use crate::call::Call;
use crate::columns::{Outputs, nearprint_columns};
use crate::error::{Failure, Outcome, nearprint_error};
use crate::handle::{self, Guarded, Handle};
use crate::snapshot::nearprint_snapshot;
use crate::status::nearprint_status;

/// Rows, pairs or clusters that the caller pulls. It needs no other handle to live on.
pub struct nearprint_stream {
    rows: Guarded<PulledRows>,
    shape: Shape,
    words: usize,
}

impl Handle for nearprint_stream {
    const NAME: &'static str = "nearprint_stream";
}

/// All rows, by fingerprint and id. `stream` receives the handle.
///
/// Columns: fingerprints, ids; of a nearprint_snapshot_with_keys() also keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_rows(
    snapshot: *const nearprint_snapshot,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { begin(snapshot, stream, error, |_, snapshot| Ok(snapshot.rows()?)) }
}

/// All pairs of distinct fingerprints within `k` bits, each once, the smaller fingerprint first.
/// `stream` receives the handle. A thread of its own is a few thousand rows ahead.
///
/// Columns: fingerprints, other_fingerprints, distances.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_pairs(
    snapshot: *const nearprint_snapshot,
    k: u32,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { begin(snapshot, stream, error, |_, snapshot| Ok(snapshot.pairs(k)?)) }
}

/// All pairs of rows within `k` bits, equal fingerprints included. Otherwise as
/// nearprint_snapshot_pairs().
///
/// Columns: fingerprints, ids, other_fingerprints, other_ids, distances; of a nearprint_snapshot_with_keys()
/// also keys, other_keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_row_pairs(
    snapshot: *const nearprint_snapshot,
    k: u32,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { begin(snapshot, stream, error, |_, snapshot| Ok(snapshot.row_pairs(k)?)) }
}

/// The clusters of two rows or more: rows that are connected by pairs within `k` bits. Clusters are
/// numbered from 0 by their smallest fingerprint; the rows of one follow each other. `stream`
/// receives the handle.
///
/// Columns: groups (the number of the cluster), fingerprints, ids; of a nearprint_snapshot_with_keys() also keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_clusters(
    snapshot: *const nearprint_snapshot,
    k: u32,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { begin(snapshot, stream, error, |_, snapshot| Ok(snapshot.clusters(k)?)) }
}

/// All pairs within `k` bits between two databases of the same width, the fingerprint of `snapshot`
/// first. `stream` receives the handle.
///
/// Columns: fingerprints, other_fingerprints, distances.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_cross(
    snapshot: *const nearprint_snapshot,
    other: *const nearprint_snapshot,
    k: u32,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe {
        begin(snapshot, stream, error, |call, one| Ok(one.cross(&call.handle(other, "other")?.inner, k)?))
    }
}

/// All pairs of rows within `k` bits between two databases. Otherwise as
/// nearprint_snapshot_cross().
///
/// Columns: fingerprints, ids, other_fingerprints, other_ids, distances; also keys, other_keys if one of the
/// snapshots is a nearprint_snapshot_with_keys(). Rows of the other one are then without a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_cross_rows(
    snapshot: *const nearprint_snapshot,
    other: *const nearprint_snapshot,
    k: u32,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe {
        begin(snapshot, stream, error, |call, one| {
            Ok(one.cross_row_pairs(&call.handle(other, "other")?.streamed(), k)?)
        })
    }
}

/// Fills the columns with the next rows of a stream, and sets `count` to their number. There are no
/// more once it is 0.
///
/// A failure ends the stream; the rows before it come first. It is returned once, and then the stream
/// is at its end. The capacity is 1 or more. `count` may be less than the capacity before the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_stream_next(
    stream: *mut nearprint_stream,
    columns: *const nearprint_columns,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let mut count = call.output(count, "count")?;
        count.set(0);
        let stream = call.handle(stream, "stream")?;
        let mut columns = Outputs::new(call, columns, stream.shape, stream.words)?;
        if columns.is_full() {
            return Err(Failure::argument("columns.capacity", "0, which would look like the end"));
        }
        stream.rows.with("stream", |rows| Ok(rows.pull(&mut columns)?))?;
        count.set(columns.rows());
        Ok(())
    })
}

/// Frees a stream. The rest of its work is cancelled, and a call of its progress waited for, which does not free the
/// stream itself. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_stream_free(stream: *mut nearprint_stream) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(stream) }
}

/// Begins a stream.
///
/// # Safety
/// As [`Call::of`].
pub(crate) unsafe fn begin(
    snapshot: *const nearprint_snapshot,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
    open: impl FnOnce(&Call, &AnySnapshot) -> Outcome<AnyStream>,
) -> nearprint_status {
    // SAFETY: As this function demands.
    unsafe { Call::of(error) }.run(|call| {
        let stream = call.new_handle(stream, "stream")?;
        stream.give(open(call, &call.handle(snapshot, "snapshot")?.streamed())?.into());
        Ok(())
    })
}

/// The rows of a stream. Those before a failure reach the caller before it.
struct PulledRows {
    /// What follows the block.
    rest: Option<AnyStream>,
    block: Columns,
    /// The next row of the block.
    next: usize,
    failed: Option<Error>,
}

impl Drop for PulledRows {
    fn drop(&mut self) {
        // The caller may free what its progress points to next.
        self.rest.iter().for_each(AnyStream::cancel);
    }
}

impl PulledRows {
    /// Fills the caller's columns.
    fn pull(&mut self, columns: &mut Outputs<'_>) -> Result<()> {
        while self.failed.is_none() && !columns.is_full() {
            if let Some(row) = self.block.get(self.next) {
                columns.push(&row);
                self.next += 1;
                continue;
            }
            if columns.has_keys() && columns.rows() > 0 {
                // The caller reads the keys of this block.
                break;
            }
            match self.rest.as_mut().and_then(Iterator::next) {
                Some(Ok(block)) => (self.block, self.next) = (block, 0),
                Some(Err(error)) => self.failed = Some(error),
                None => break,
            }
        }
        if columns.rows() > 0 { Ok(()) } else { self.failed.take().map_or(Ok(()), Err) }
    }
}

impl From<AnyStream> for nearprint_stream {
    fn from(stream: AnyStream) -> Self {
        let block = Columns::new(stream.width(), stream.shape());
        Self::new(block, Some(stream))
    }
}

impl From<Columns> for nearprint_stream {
    fn from(rows: Columns) -> Self {
        Self::new(rows, None)
    }
}

impl nearprint_stream {
    fn new(block: Columns, rest: Option<AnyStream>) -> Self {
        let (shape, words) = (block.shape, block.width.words());
        Self { rows: Guarded::new(PulledRows { rest, block, next: 0, failed: None }), shape, words }
    }
}
