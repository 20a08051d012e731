//! Queries of a snapshot: matches, keys and ids.

use std::ffi::{c_char, c_void};
use std::ptr;

use nearprint::any::{AnyRow, AnySnapshot, Columns, Shape};
use nearprint::{Query, Result, RowKey};

use crate::call::Call;
use crate::columns::{MATCHES, Outputs, nearprint_columns};
use crate::error::{Failure, nearprint_error};
use crate::rows::stored_text;
use crate::snapshot::nearprint_snapshot;
use crate::status::nearprint_status;
use crate::text::{stopped, write_numbers};

/// Receives the matches of query number `query`, by distance, fingerprint and id. The arrays live
/// until the function returns; `fingerprints` has width / 64 words a match. Another value than 0
/// ends the work with NEARPRINT_STOPPED.
///
/// Called on the thread of the caller. It must not throw.
pub type nearprint_matches_fn = Option<
    unsafe extern "C-unwind" fn(
        context: *mut c_void,
        query: usize,
        count: usize,
        fingerprints: *const u64,
        ids: *const u64,
        distances: *const u32,
    ) -> i32,
>;

/// Receives a match of query number `query` with one of its keys. `fingerprint` has width / 64 words,
/// and lives until the function returns, as `key` does. `key` is null for a row without a key; a row
/// with several keys comes once with each. Another value than 0 ends the work with
/// NEARPRINT_STOPPED.
///
/// Called on the thread of the caller. It must not throw.
pub type nearprint_keyed_match_fn = Option<
    unsafe extern "C-unwind" fn(
        context: *mut c_void,
        query: usize,
        fingerprint: *const u64,
        id: u64,
        distance: u32,
        key: *const c_char,
        key_len: usize,
    ) -> i32,
>;

/// Receives a key and its text, or the hash or the features that the database keeps instead. Both live
/// until the function returns. `text_len` is 0 where the database stores nothing with keys. Another value
/// than 0 ends the list with NEARPRINT_STOPPED.
///
/// Called on the thread of the caller. It must not throw.
pub type nearprint_key_fn = Option<
    unsafe extern "C-unwind" fn(
        context: *mut c_void,
        key: *const c_char,
        key_len: usize,
        text: *const c_char,
        text_len: usize,
    ) -> i32,
>;

/// Finds every row within `k` bits of a fingerprint, by distance, fingerprint and id. Of a database
/// of bands, rows with an equal band whose sketch is within `k` bits; 0 is near nothing there.
///
/// Columns: fingerprints, ids, distances. `count` receives the number of matches. If it exceeds the
/// capacity, the first ones were written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_query(
    snapshot: *const nearprint_snapshot,
    fingerprint: *const u64,
    k: u32,
    columns: *const nearprint_columns,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    let results = Results { fingerprints: (fingerprint, 1), shape: MATCHES, columns, count };
    // SAFETY: The contract of the header.
    unsafe {
        find(snapshot, results, error, |snapshot, fingerprint, found| snapshot.query(fingerprint, k, found))
    }
}

/// Finds the `capacity` nearest rows within `max_k` bits of a fingerprint, in the order of
/// nearprint_snapshot_query().
///
/// Columns: fingerprints, ids, distances. `count` receives the number of matches, at most the
/// capacity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_nearest(
    snapshot: *const nearprint_snapshot,
    fingerprint: *const u64,
    max_k: u32,
    columns: *const nearprint_columns,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    let results = Results { fingerprints: (fingerprint, 1), shape: MATCHES, columns, count };
    // SAFETY: The contract of the header.
    unsafe {
        find(snapshot, results, error, |snapshot, fingerprint, found| {
            snapshot.query(fingerprint, Query::nearest(found.capacity()).max_k(max_k), found)
        })
    }
}

/// Answers `queries` queries on all threads: for each one, the first `limit` rows within `k` bits,
/// in the order of nearprint_snapshot_query(). `limit` is SIZE_MAX for all. `fingerprints` has
/// width / 64 words for each query.
///
/// Columns: groups (the number of the query), fingerprints, ids, distances. `count` receives the
/// number of matches. If it exceeds the capacity, the first ones were written.
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
    let results = Results { fingerprints: (fingerprints, queries), shape: Shape::MATCHES, columns, count };
    // SAFETY: The contract of the header.
    unsafe {
        find(snapshot, results, error, |snapshot, queries, found| {
            snapshot.query_batch(queries, Query::within(k).limit(limit), |_, matches| found.push_all(matches))
        })
    }
}

/// Finds the nearest rows of many fingerprints on all threads: for each one, the `limit` nearest rows
/// within `max_k` bits. Otherwise as nearprint_snapshot_query_batch().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_nearest_batch(
    snapshot: *const nearprint_snapshot,
    fingerprints: *const u64,
    queries: usize,
    max_k: u32,
    limit: usize,
    columns: *const nearprint_columns,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    let results = Results { fingerprints: (fingerprints, queries), shape: Shape::MATCHES, columns, count };
    // SAFETY: The contract of the header.
    unsafe {
        find(snapshot, results, error, |snapshot, queries, found| {
            let query = Query::nearest(limit).max_k(max_k);
            snapshot.query_batch(queries, query, |_, matches| found.push_all(matches))
        })
    }
}

/// Answers queries as nearprint_snapshot_query_batch() does, and passes the matches of each one to
/// `visit`, in the order of the queries.
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
    unsafe { Call::of(error) }.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let fingerprints = call.words(fingerprints, snapshot.words(), queries, "fingerprints")?;
        let visit = visit.ok_or_else(|| Failure::argument("visit", "a null pointer"))?;
        snapshot.inner.query_batch(fingerprints, Query::within(k).limit(limit), |query, matches| {
            let Columns { fingerprints, ids, distances, .. } = matches;
            let (fingerprints, distances) = (fingerprints.as_ptr(), distances.as_ptr());
            // SAFETY: By the header, the function accepts its context and arrays that live until it
            // returns.
            stopped("visit", unsafe {
                visit(context, query, ids.len(), fingerprints, ids.as_ptr(), distances)
            })
        })
    })
}

/// Answers queries as nearprint_snapshot_query_batch() does, and passes each match to `visit` with
/// each of its keys, in the order of the queries. `limit` counts rows, not keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_visit_keyed_matches(
    snapshot: *const nearprint_snapshot,
    fingerprints: *const u64,
    queries: usize,
    k: u32,
    limit: usize,
    visit: nearprint_keyed_match_fn,
    context: *mut c_void,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let fingerprints = call.words(fingerprints, snapshot.words(), queries, "fingerprints")?;
        let visit = visit.ok_or_else(|| Failure::argument("visit", "a null pointer"))?;
        snapshot.inner.clone().with_keys().query_batch(
            fingerprints,
            Query::within(k).limit(limit),
            |query, matches| {
                matches.rows().try_for_each(|AnyRow { fingerprint, id, distance, key, .. }| {
                    let (key, key_len) = key.map_or((ptr::null(), 0), |key| (key.as_ptr().cast(), key.len()));
                    // SAFETY: By the header, the function accepts its context, and a fingerprint and a key
                    // that live until it returns.
                    stopped("visit", unsafe {
                        visit(context, query, fingerprint.as_ptr(), id, distance, key, key_len)
                    })
                })
            },
        )
    })
}

/// Passes the keys of a row to `visit`, ascending.
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
    unsafe { Call::of(error) }.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let fingerprint = call.words(fingerprint, snapshot.words(), 1, "fingerprint")?;
        let visit = visit.ok_or_else(|| Failure::argument("visit", "a null pointer"))?;
        let keeps = snapshot.inner.key_storage();
        for RowKey { key, text, .. } in snapshot.inner.keys_of(fingerprint, id)? {
            let text = stored_text(keeps, &key, &text)?;
            let (key, key_len) = (key.as_ptr().cast(), key.len());
            // SAFETY: By the header, the function accepts its context and strings that live until
            // it returns.
            stopped("visit", unsafe { visit(context, key, key_len, text.as_ptr().cast(), text.len()) })?;
        }
        Ok(())
    })
}

/// Finds the ids of a key; none where the database stores no keys. With `everywhere` 0, only the id that is the
/// 64-bit xxh3 of the key is looked up; otherwise all keys are read once.
///
/// At most `capacity` ids are written to `ids`. `count` receives the number of all.
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
    unsafe { Call::of(error) }.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let key = call.key(key, key_len, "key")?;
        let found = match everywhere {
            0 => snapshot.inner.ids_of_key(key)?,
            _ => snapshot.inner.ids_of_key_scan(key)?,
        };
        write_numbers(call, &found, (ids, capacity), count, 1)
    })
}

/// Finds the fingerprints of an id. Reads all rows: there is no index by id.
///
/// At most `capacity` fingerprints are written to `fingerprints`, width / 64 words each. `count`
/// receives the number of all.
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
    unsafe { Call::of(error) }.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let found = snapshot.inner.fingerprints_of(id)?;
        write_numbers(call, &found, (fingerprints, capacity), count, snapshot.words())
    })
}

/// What is looked up, and where the results go.
struct Results {
    /// Queries, and their number.
    fingerprints: (*const u64, usize),
    shape: Shape,
    columns: *const nearprint_columns,
    count: *mut usize,
}

/// Answers queries.
///
/// # Safety
/// As [`Call::of`].
unsafe fn find(
    snapshot: *const nearprint_snapshot,
    results: Results,
    error: *mut nearprint_error,
    search: impl FnOnce(&AnySnapshot, &[u64], &mut Outputs<'_>) -> Result<()>,
) -> nearprint_status {
    // SAFETY: As this function demands.
    unsafe { Call::of(error) }.run(|call| {
        let (snapshot, (queries, num_queries)) = (call.handle(snapshot, "snapshot")?, results.fingerprints);
        let queries = call.words(queries, snapshot.words(), num_queries, "fingerprints")?;
        let mut count = call.output(results.count, "count")?;
        let mut columns = Outputs::new(call, results.columns, results.shape, snapshot.words())?;
        search(&snapshot.inner, queries, &mut columns)?;
        count.set(columns.rows());
        Ok(())
    })
}
