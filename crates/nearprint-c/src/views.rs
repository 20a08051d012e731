//! Snapshots whose streams have keys, and matches as a stream.

use std::ffi::c_char;

use nearprint::Query;
use nearprint::any::Sink;

use crate::call::Call;
use crate::error::nearprint_error;
use crate::settings::{self, NEARPRINT_NO_KEYS, nearprint_keys};
use crate::snapshot::nearprint_snapshot;
use crate::status::nearprint_status;
use crate::stream::nearprint_stream;

/// What the database stores beside each row, and with each key. Returns NEARPRINT_NO_KEYS for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_key_storage(
    snapshot: *const nearprint_snapshot,
) -> nearprint_keys {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(std::ptr::null_mut()) };
    call.handle(snapshot, "snapshot")
        .map_or(NEARPRINT_NO_KEYS, |snapshot| settings::keys_of(snapshot.inner.key_storage()))
}

/// The same snapshot, whose streams of rows have keys where the database stores some: nearprint_snapshot_rows(),
/// nearprint_snapshot_row_pairs(), nearprint_snapshot_clusters(), nearprint_snapshot_cross_rows() and
/// nearprint_snapshot_matches(). `view` receives a handle of its own.
///
/// The columns keys and key_lens receive the keys, and other_keys and other_key_lens those of the second rows of
/// pairs. A row with several keys is then several rows of the result, and a pair is repeated for each two keys. A
/// newer snapshot that nearprint_snapshot_refresh() takes of the view has keys, too. Other functions answer for the
/// view as for the snapshot.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_with_keys(
    snapshot: *const nearprint_snapshot,
    view: *mut *mut nearprint_snapshot,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let view = call.new_handle(view, "view")?;
        let snapshot = call.handle(snapshot, "snapshot")?;
        view.give(nearprint_snapshot::new(snapshot.inner.clone(), true));
        Ok(())
    })
}

/// Answers queries as nearprint_snapshot_query_batch() does, as a stream in the order of the queries.
/// `stream` receives the handle. The fingerprints are copied.
///
/// Columns: groups (the number of the query), fingerprints, ids, distances; of a
/// nearprint_snapshot_with_keys() also keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_matches(
    snapshot: *const nearprint_snapshot,
    fingerprints: *const u64,
    queries: usize,
    k: u32,
    limit: usize,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let stream = call.new_handle(stream, "stream")?;
        let snapshot = call.handle(snapshot, "snapshot")?;
        let queries = call.words(fingerprints, snapshot.words(), queries, "fingerprints")?.to_vec();
        let snapshot = snapshot.streamed();
        let matches = snapshot.stream_of(snapshot.match_shape(), move |snapshot, out| {
            snapshot.query_batch(&queries, Query::within(k).limit(limit), |_, matches| {
                matches.rows().for_each(|row| out.push(&row));
                out.send_full()
            })
        })?;
        stream.give(matches.into());
        Ok(())
    })
}

/// Copies the database as nearprint_snapshot_backup() does, and shares unchanged files with an earlier
/// copy, `base`: they become hard links where the file system has them. `shared` receives the number of
/// bytes that are shared, and may be null. Without `base`, null and 0, everything is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_backup_with(
    snapshot: *const nearprint_snapshot,
    path: *const c_char,
    path_len: usize,
    base: *const c_char,
    base_len: usize,
    shared: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let path = call.path(path, path_len)?;
        let base = if base.is_null() && base_len == 0 { None } else { Some(call.path(base, base_len)?) };
        call.optional(shared).set(snapshot.inner.backup_with(path, base.as_deref())?);
        Ok(())
    })
}
