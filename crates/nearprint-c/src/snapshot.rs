//! Reading: snapshots.

use std::ffi::{c_char, c_void};

use nearprint::internal::words_of;
use nearprint::{Database, DatabaseVisitor, Fingerprint, Result, RowKey, Snapshot};

use crate::call::Call;
use crate::columns::{Columns, Shape, nearprint_columns};
use crate::database::nearprint_database;
use crate::error::{Failure, Outcome, nearprint_error};
use crate::handle::{self, Handle};
use crate::reading::{MatchColumns, Reading};
use crate::status::nearprint_status;
use crate::stream::nearprint_stream;
use crate::text::{stopped, write_numbers};

/// A database as it stood at one moment. Any number of threads may use it at once.
pub struct nearprint_snapshot {
    inner: Box<dyn Reading>,
    words: usize,
}

impl Handle for nearprint_snapshot {
    const NAME: &'static str = "nearprint_snapshot";
}

/// Counts and sizes of a database.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nearprint_stats {
    /// The width of the fingerprints in bits.
    pub width: u32,
    /// The distance that the layout is tuned for.
    pub k: u32,
    /// Rows of all runs. Deleted and repeated rows count until a merge removes them.
    pub rows: u64,
    /// Distinct fingerprints of each run, added up.
    pub fingerprints: u64,
    /// Deleted ids that runs still store.
    pub tombstones: u64,
    /// The largest id ever stored; 0 if there was none.
    pub largest_id: u64,
    /// The version of the manifest; each change adds one.
    pub generation: u64,
    /// The number of runs.
    pub runs: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Receives the matches of query number `query`, by distance, fingerprint and id. The arrays live
/// until the function returns; `fingerprints` has width / 64 words a match. Another value than 0
/// ends the work with NEARPRINT_STOPPED.
///
/// Called on the thread of the caller. It must not throw.
pub type nearprint_matches_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        query: usize,
        count: usize,
        fingerprints: *const u64,
        ids: *const u64,
        distances: *const u32,
    ) -> i32,
>;

/// Receives a key and its text, which are valid until the function returns. `text_len` is 0 where
/// the database stores no texts. Another value than 0 ends the list with NEARPRINT_STOPPED.
///
/// Called on the thread of the caller. It must not throw.
pub type nearprint_key_fn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        key: *const c_char,
        key_len: usize,
        text: *const c_char,
        text_len: usize,
    ) -> i32,
>;

/// Takes a snapshot: everything that was committed so far in any process. `snapshot` receives the
/// handle.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_take(
    database: *const nearprint_database,
    snapshot: *mut *mut nearprint_snapshot,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let snapshot = call.new_handle(snapshot, "snapshot")?;
        snapshot.give(call.handle(database, "database")?.inner.clone().visit(Take)?);
        Ok(())
    })
}

/// Takes a newer snapshot of the same database. Reuses open files, so it costs little if little has
/// changed. `newer` receives a handle of its own.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_refresh(
    snapshot: *const nearprint_snapshot,
    newer: *mut *mut nearprint_snapshot,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let newer = call.new_handle(newer, "newer")?;
        let snapshot = call.handle(snapshot, "snapshot")?;
        newer.give(nearprint_snapshot { inner: snapshot.inner.refresh()?, words: snapshot.words });
        Ok(())
    })
}

/// Frees the handle. Streams that came from it live on. Null is allowed.
///
/// Threads: any, once no other call uses the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_free(snapshot: *mut nearprint_snapshot) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(snapshot) }
}

/// Finds every row within `k` bits of a fingerprint, by distance, fingerprint and id. Of a database
/// of bands, rows with an equal band whose sketch is within `k` bits.
///
/// Columns: fingerprints, ids, distances. `count` receives the number of matches. If it exceeds the
/// capacity, the first ones were written.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_query(
    snapshot: *const nearprint_snapshot,
    fingerprint: *const u64,
    k: u32,
    columns: *const nearprint_columns,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let fingerprint = call.words(fingerprint, snapshot.words, 1, "fingerprint")?;
        let mut count = call.output(count, "count")?;
        let mut columns = Columns::new(call, columns, Shape::MATCHES, snapshot.words)?;
        snapshot.inner.query(fingerprint, k, &mut columns)?;
        count.set(columns.rows());
        Ok(())
    })
}

/// Finds the `capacity` nearest rows within `max_k` bits of a fingerprint, in the order of
/// nearprint_snapshot_query().
///
/// Columns: fingerprints, ids, distances. `count` receives the number of matches, at most the
/// capacity.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_nearest(
    snapshot: *const nearprint_snapshot,
    fingerprint: *const u64,
    max_k: u32,
    columns: *const nearprint_columns,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let fingerprint = call.words(fingerprint, snapshot.words, 1, "fingerprint")?;
        let mut count = call.output(count, "count")?;
        let mut columns = Columns::new(call, columns, Shape::MATCHES, snapshot.words)?;
        snapshot.inner.nearest(fingerprint, max_k, &mut columns)?;
        count.set(columns.rows());
        Ok(())
    })
}

/// Answers `queries` queries on all threads: for each one, the first `limit` rows within `k` bits,
/// in the order of nearprint_snapshot_query(). `limit` is SIZE_MAX for all. `fingerprints` has
/// width / 64 words for each query.
///
/// Columns: groups (the number of the query), fingerprints, ids, distances. `count` receives the
/// number of matches. If it exceeds the capacity, the first ones were written.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_query_batch(
    snapshot: *const nearprint_snapshot,
    fingerprints: *const u64,
    queries: usize,
    k: u32,
    limit: usize,
    columns: *const nearprint_columns,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let fingerprints = call.words(fingerprints, snapshot.words, queries, "fingerprints")?;
        let mut count = call.output(count, "count")?;
        let mut columns = Columns::new(call, columns, Shape::BATCHES, snapshot.words)?;
        snapshot.inner.query_batch(fingerprints, k, limit, &mut columns)?;
        count.set(columns.rows());
        Ok(())
    })
}

/// Answers queries as nearprint_snapshot_query_batch() does, and passes the matches of each one to
/// `visit`, in the order of the queries.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_visit_matches(
    snapshot: *const nearprint_snapshot,
    fingerprints: *const u64,
    queries: usize,
    k: u32,
    limit: usize,
    visit: nearprint_matches_fn,
    context: *mut c_void,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let fingerprints = call.words(fingerprints, snapshot.words, queries, "fingerprints")?;
        let visit = visit.ok_or_else(|| Failure::argument("visit", "a null pointer"))?;
        snapshot.inner.visit_matches(fingerprints, k, limit, &mut |query, matches| {
            let MatchColumns { fingerprints, ids, distances } = matches;
            let (fingerprints, distances) = (fingerprints.as_ptr(), distances.as_ptr());
            // SAFETY: By the header, the function accepts its context and arrays that live until it
            // returns.
            stopped("visit", unsafe {
                visit(context, query, ids.len(), fingerprints, ids.as_ptr(), distances)
            })
        })
    })
}

/// All rows, by fingerprint and id. `stream` receives the handle.
///
/// Columns: fingerprints, ids.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_rows(
    snapshot: *const nearprint_snapshot,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { begin(snapshot, stream, error, |snapshot| snapshot.rows()) }
}

/// All pairs of distinct fingerprints within `k` bits, each once, the smaller fingerprint first.
/// `stream` receives the handle. A thread of its own is a few thousand rows ahead.
///
/// Columns: fingerprints, other_fingerprints, distances.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_pairs(
    snapshot: *const nearprint_snapshot,
    k: u32,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { begin(snapshot, stream, error, |snapshot| snapshot.pairs(k)) }
}

/// All pairs of rows within `k` bits, equal fingerprints included. Otherwise as
/// nearprint_snapshot_pairs().
///
/// Columns: fingerprints, ids, other_fingerprints, other_ids, distances.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_row_pairs(
    snapshot: *const nearprint_snapshot,
    k: u32,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { begin(snapshot, stream, error, |snapshot| snapshot.row_pairs(k)) }
}

/// The clusters of two rows or more: rows that are connected by pairs within `k` bits. Clusters are
/// numbered from 0 by their smallest fingerprint; the rows of one follow each other. `stream`
/// receives the handle.
///
/// Columns: groups (the number of the cluster), fingerprints, ids.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_clusters(
    snapshot: *const nearprint_snapshot,
    k: u32,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { begin(snapshot, stream, error, |snapshot| snapshot.clusters(k)) }
}

/// All pairs within `k` bits between two databases of the same width, the fingerprint of `snapshot`
/// first. `stream` receives the handle.
///
/// Columns: fingerprints, other_fingerprints, distances.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_cross(
    snapshot: *const nearprint_snapshot,
    other: *const nearprint_snapshot,
    k: u32,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { begin_two(snapshot, other, stream, error, |one, other| one.cross(other, k)) }
}

/// All pairs of rows within `k` bits between two databases. Otherwise as
/// nearprint_snapshot_cross().
///
/// Columns: fingerprints, ids, other_fingerprints, other_ids, distances.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_cross_rows(
    snapshot: *const nearprint_snapshot,
    other: *const nearprint_snapshot,
    k: u32,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { begin_two(snapshot, other, stream, error, |one, other| one.cross_rows(other, k)) }
}

/// Passes the keys of a row to `visit`, ascending.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_visit_keys(
    snapshot: *const nearprint_snapshot,
    fingerprint: *const u64,
    id: u64,
    visit: nearprint_key_fn,
    context: *mut c_void,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let fingerprint = call.words(fingerprint, snapshot.words, 1, "fingerprint")?;
        let visit = visit.ok_or_else(|| Failure::argument("visit", "a null pointer"))?;
        for RowKey { key, text, .. } in snapshot.inner.keys_of(fingerprint, id)? {
            let (key, key_len) = (key.as_ptr().cast(), key.len());
            // SAFETY: By the header, the function accepts its context and strings that live until
            // it returns.
            stopped("visit", unsafe { visit(context, key, key_len, text.as_ptr().cast(), text.len()) })?;
        }
        Ok(())
    })
}

/// Finds the ids of a key. With `everywhere` 0, only the id that is the 64-bit xxh3 of the key is
/// looked up; otherwise all keys are read once.
///
/// At most `capacity` ids are written to `ids`. `count` receives the number of all.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_ids_of_key(
    snapshot: *const nearprint_snapshot,
    key: *const c_char,
    key_len: usize,
    everywhere: i32,
    ids: *mut u64,
    capacity: usize,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let key = call.text(key, key_len, "key")?;
        let found = snapshot.inner.ids_of_key(key, everywhere != 0)?;
        write_numbers(call, &found, (ids, capacity), count, 1)
    })
}

/// Finds the fingerprints of an id. Reads all rows: there is no index by id.
///
/// At most `capacity` fingerprints are written to `fingerprints`, width / 64 words each. `count`
/// receives the number of all.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_fingerprints_of(
    snapshot: *const nearprint_snapshot,
    id: u64,
    fingerprints: *mut u64,
    capacity: usize,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let found = snapshot.inner.fingerprints_of(id)?;
        write_numbers(call, &found, (fingerprints, capacity), count, snapshot.words)
    })
}

/// Counts and sizes. Reads nothing.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_stats(
    snapshot: *const nearprint_snapshot,
    stats: *mut nearprint_stats,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let found = call.handle(snapshot, "snapshot")?.inner.stats();
        call.output(stats, "stats")?.set(nearprint_stats {
            width: found.width.bits(),
            k: found.k,
            rows: found.rows,
            fingerprints: found.fingerprints,
            tombstones: found.tombstones,
            largest_id: found.largest_id.unwrap_or(0),
            generation: found.generation,
            runs: found.runs.len() as u64,
            bytes: found.bytes,
        });
        Ok(())
    })
}

/// The layout of the database as text: `auto`, `fast`, `small`, `rotations:T`, `blocks:M,S` or
/// `bands:BxN`.
///
/// At most `capacity` bytes are written to `buffer`, without a null byte. `len` receives the whole
/// length.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_layout(
    snapshot: *const nearprint_snapshot,
    buffer: *mut c_char,
    capacity: usize,
    len: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let layout = call.handle(snapshot, "snapshot")?.inner.stats().layout;
        call.write_text(&layout.to_string(), (buffer, capacity), len)
    })
}

/// The recipe of the fingerprints; empty if the database stores none. The buffer is as in
/// nearprint_snapshot_layout().
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_recipe(
    snapshot: *const nearprint_snapshot,
    buffer: *mut c_char,
    capacity: usize,
    len: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let recipe = call.handle(snapshot, "snapshot")?.inner.recipe();
        call.write_text(recipe.unwrap_or_default(), (buffer, capacity), len)
    })
}

/// How queries at `k` are answered, at what cost and why, as text for people. The buffer is as in
/// nearprint_snapshot_layout().
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_explain(
    snapshot: *const nearprint_snapshot,
    k: u32,
    buffer: *mut c_char,
    capacity: usize,
    len: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let explanation = call.handle(snapshot, "snapshot")?.inner.explain(k);
        call.write_text(&explanation.to_string(), (buffer, capacity), len)
    })
}

/// Copies the database as the snapshot has it to a new path, which must not exist, or be an empty
/// folder.
///
/// Threads: any, several at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_backup(
    snapshot: *const nearprint_snapshot,
    path: *const c_char,
    path_len: usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        Ok(snapshot.inner.backup(call.path(path, path_len)?)?)
    })
}

/// Begins a stream of a snapshot.
///
/// # Safety
/// As [`Call::of`].
unsafe fn begin(
    snapshot: *const nearprint_snapshot,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
    open: impl FnOnce(&dyn Reading) -> Outcome<nearprint_stream>,
) -> nearprint_status {
    // SAFETY: As this function demands.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let stream = call.new_handle(stream, "stream")?;
        stream.give(open(&*call.handle(snapshot, "snapshot")?.inner)?);
        Ok(())
    })
}

/// Begins a stream of two snapshots.
///
/// # Safety
/// As [`Call::of`].
unsafe fn begin_two(
    snapshot: *const nearprint_snapshot,
    other: *const nearprint_snapshot,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
    open: impl FnOnce(&dyn Reading, &dyn Reading) -> Outcome<nearprint_stream>,
) -> nearprint_status {
    // SAFETY: As this function demands.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let stream = call.new_handle(stream, "stream")?;
        let (one, other) = (call.handle(snapshot, "snapshot")?, call.handle(other, "other")?);
        stream.give(open(&*one.inner, &*other.inner)?);
        Ok(())
    })
}

impl nearprint_snapshot {
    pub(crate) fn new<F: Fingerprint>(snapshot: Snapshot<F>) -> Self {
        Self { inner: Box::new(snapshot), words: words_of::<F>() }
    }
}

struct Take;

impl DatabaseVisitor for Take {
    type Output = Result<nearprint_snapshot>;

    fn visit<F: Fingerprint>(self, database: Database<F>) -> Self::Output {
        database.snapshot().map(nearprint_snapshot::new)
    }
}
