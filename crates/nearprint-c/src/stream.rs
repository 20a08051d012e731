//! Results that the caller pulls.

use nearprint::{Error, Fingerprint, Pair, Result, Row, RowPair, Stream};

use crate::call::Call;
use crate::columns::{Columns, Entry, Shape, nearprint_columns};
use crate::error::{Failure, nearprint_error};
use crate::handle::{self, Guarded, Handle};
use crate::status::nearprint_status;

/// Rows, pairs or clusters that the caller pulls. It needs no other handle to live on.
pub struct nearprint_stream {
    items: Guarded<Box<dyn Pull>>,
    shape: Shape,
    words: usize,
}

impl Handle for nearprint_stream {
    const NAME: &'static str = "nearprint_stream";
}

/// Fills the columns with the next rows of a stream, and sets `count` to their number. There are no
/// more once it is 0.
///
/// A failure ends the stream; the rows before it come first. The capacity is 1 or more.
///
/// Threads: one at a time for each stream; NEARPRINT_BUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_stream_next(
    stream: *mut nearprint_stream,
    columns: *const nearprint_columns,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let mut count = call.output(count, "count")?;
        count.set(0);
        let stream = call.handle(stream, "stream")?;
        let mut columns = Columns::new(call, columns, stream.shape, stream.words)?;
        if columns.is_full() {
            return Err(Failure::argument("columns.capacity", "0, which would look like the end"));
        }
        stream.items.with("stream", |items| Ok(items.pull(&mut columns)?))?;
        count.set(columns.rows());
        Ok(())
    })
}

/// Frees a stream. The rest of its work is cancelled. Null is allowed.
///
/// Threads: any, once no other call uses the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_stream_free(stream: *mut nearprint_stream) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(stream) }
}

/// The rows of a stream, of any width.
trait Pull: Send {
    /// Fills the columns.
    fn pull(&mut self, columns: &mut Columns<'_>) -> Result<()>;
}

/// The entries of a stream. Those before a failure reach the caller before it.
struct Entries<I> {
    items: I,
    failed: Option<Error>,
}

impl<F: Fingerprint, I: Iterator<Item = Result<Entry<F>>> + Send> Pull for Entries<I> {
    fn pull(&mut self, columns: &mut Columns<'_>) -> Result<()> {
        while self.failed.is_none() && !columns.is_full() {
            match self.items.next() {
                Some(Ok(entry)) => columns.push(&entry),
                Some(Err(error)) => self.failed = Some(error),
                None => break,
            }
        }
        if columns.rows() > 0 { Ok(()) } else { self.failed.take().map_or(Ok(()), Err) }
    }
}

impl nearprint_stream {
    /// A stream of rows of some shape.
    pub(crate) fn new<F: Fingerprint>(
        shape: Shape,
        items: impl Iterator<Item = Result<Entry<F>>> + Send + 'static,
    ) -> Self {
        let words = nearprint::internal::words_of::<F>();
        let entries = Entries { items: items.fuse(), failed: None };
        Self { items: Guarded::new(Box::new(entries)), shape, words }
    }

    pub(crate) fn rows<F: Fingerprint>(rows: Stream<Row<F>>) -> Self {
        Self::new(Shape::ROWS, rows.map(|row| row.map(|row| Entry::of_row(0, row))))
    }

    pub(crate) fn pairs<F: Fingerprint>(pairs: Stream<Pair<F>>) -> Self {
        Self::new(Shape::PAIRS, pairs.map(|pair| pair.map(entry_of_pair)))
    }

    pub(crate) fn row_pairs<F: Fingerprint>(pairs: Stream<RowPair<F>>) -> Self {
        let entry = |pair: RowPair<F>| Entry::of_pair(pair.a, pair.b, pair.distance);
        Self::new(Shape::ROW_PAIRS, pairs.map(move |pair| pair.map(entry)))
    }

    pub(crate) fn clusters<F: Fingerprint>(clusters: Stream<Vec<Row<F>>>) -> Self {
        let entries = clusters.zip(0..).flat_map(|(cluster, number)| match cluster {
            Ok(rows) => rows.into_iter().map(|row| Ok(Entry::of_row(number, row))).collect(),
            Err(error) => vec![Err(error)],
        });
        Self::new(Shape::CLUSTERS, entries)
    }
}

fn entry_of_pair<F: Fingerprint>(pair: Pair<F>) -> Entry<F> {
    let row = |fingerprint| Row { fingerprint, id: 0 };
    Entry::of_pair(row(pair.a), row(pair.b), pair.distance)
}
