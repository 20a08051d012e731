//! Changing a database: writers.

use std::ffi::c_char;

use nearprint::Result;
use nearprint::any::{AnyWriter, NewRows};

use crate::call::Call;
use crate::columns::{MATCHES, Outputs, nearprint_columns};
use crate::database::nearprint_database;
use crate::error::nearprint_error;
use crate::handle::{self, Guarded, Handle};
use crate::rows::with_texts_to_store;
use crate::snapshot::nearprint_snapshot;
use crate::status::nearprint_status;
use crate::text::{First, KeyedRow};

/// The writer of a database: one at a time over all processes. It does not block readers. In the
/// child of a fork, the writer of its parent fails with NEARPRINT_FORKED: at the first operation after
/// a commit, and whenever something is to be made durable. Freeing it there changes nothing.
pub struct nearprint_writer {
    pub(crate) inner: Guarded<AnyWriter>,
    pub(crate) words: usize,
}

impl Handle for nearprint_writer {
    const NAME: &'static str = "nearprint_writer";
}

/// Opens a database for writing, and recovers what a crash left. `writer` receives the handle.
///
/// NEARPRINT_LOCKED while there is another writer; NEARPRINT_MISMATCH for the folder of a follower.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_open(
    database: *const nearprint_database,
    writer: *mut *mut nearprint_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.new_handle(writer, "writer")?;
        let database = &call.handle(database, "database")?.inner;
        let inner = Guarded::new(database.writer()?);
        writer.give(nearprint_writer { inner, words: database.width().words() });
        Ok(())
    })
}

/// Inserts `count` rows. `fingerprints` has width / 64 words for each. `ids` has one id for each, or
/// is null: then ids are assigned, each 1 + the largest ever stored. `assigned` receives the id of
/// the first row, and may be null.
///
/// Rows are a set: inserting an existing row changes nothing, but that it lives anew where rows expire. After a
/// failure, some of the rows may have been inserted. Rows are durable after nearprint_writer_commit().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_insert(
    writer: *mut nearprint_writer,
    fingerprints: *const u64,
    ids: *const u64,
    count: usize,
    assigned: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let fingerprints = call.words(fingerprints, writer.words, count, "fingerprints")?;
        let rows =
            NewRows { fingerprints, ids: call.optional_array(ids, count, "ids")?, ..NewRows::default() };
        let mut first = First::new(call.optional(assigned));
        writer.inner.with("writer", |inner| Ok(inner.insert(&rows, &mut |id| first.note(id))?))
    })
}

/// Replaces all rows of each of `count` ids by one row. `fingerprints` has width / 64 words for each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_upsert(
    writer: *mut nearprint_writer,
    fingerprints: *const u64,
    ids: *const u64,
    count: usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let fingerprints = call.words(fingerprints, writer.words, count, "fingerprints")?;
        let rows = NewRows { fingerprints, ids: Some(call.array(ids, count, "ids")?), ..NewRows::default() };
        writer.inner.with("writer", |inner| Ok(inner.upsert(&rows, &mut |_| Ok(()))?))
    })
}

/// Inserts a row with a key, and with a text where the database stores texts. `id` points to the id,
/// or is null: then the id is the 64-bit xxh3 of the key. `assigned` receives the id, and may be
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_insert_keyed(
    writer: *mut nearprint_writer,
    fingerprint: *const u64,
    id: *const u64,
    key: *const c_char,
    key_len: usize,
    text: *const c_char,
    text_len: usize,
    assigned: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    let row = KeyedRow { fingerprint, id, key: (key, key_len), text: (text, text_len) };
    // SAFETY: The contract of the header.
    unsafe { write_keyed(writer, row, false, assigned, error) }
}

/// Replaces all rows of an id by a row with a key; without an id, the rows of the key whose id was made of it. Its rows
/// with other ids stay then, and those of other keys. Otherwise as nearprint_writer_insert_keyed().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_upsert_keyed(
    writer: *mut nearprint_writer,
    fingerprint: *const u64,
    id: *const u64,
    key: *const c_char,
    key_len: usize,
    text: *const c_char,
    text_len: usize,
    assigned: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    let row = KeyedRow { fingerprint, id, key: (key, key_len), text: (text, text_len) };
    // SAFETY: The contract of the header.
    unsafe { write_keyed(writer, row, true, assigned, error) }
}

/// Deletes all rows of `count` ids. Unknown ids are no failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_delete(
    writer: *mut nearprint_writer,
    ids: *const u64,
    count: usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let ids = call.array(ids, count, "ids")?;
        writer.inner.with("writer", |inner| Ok(inner.delete(ids)?))
    })
}

/// Deletes a key, and the rows that had no other one. `deleted` receives their number, and may be
/// null. Reads all keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_delete_key(
    writer: *mut nearprint_writer,
    key: *const c_char,
    key_len: usize,
    deleted: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let key = call.key(key, key_len, "key")?;
        let number = writer.inner.with("writer", |inner| Ok(inner.delete_keys(&[key])?))?;
        call.optional(deleted).set(number);
        Ok(())
    })
}

/// Finds every row within `k` bits, including uncommitted ones, as nearprint_snapshot_query() does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_query(
    writer: *mut nearprint_writer,
    fingerprint: *const u64,
    k: u32,
    columns: *const nearprint_columns,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let fingerprint = call.words(fingerprint, writer.words, 1, "fingerprint")?;
        let mut count = call.output(count, "count")?;
        let mut columns = Outputs::new(call, columns, MATCHES, writer.words)?;
        writer.inner.with("writer", |inner| Ok(inner.query(fingerprint, k, &mut columns)?))?;
        count.set(columns.rows());
        Ok(())
    })
}

/// Takes a snapshot that includes uncommitted operations. `snapshot` receives the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_snapshot(
    writer: *mut nearprint_writer,
    snapshot: *mut *mut nearprint_snapshot,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let snapshot = call.new_handle(snapshot, "snapshot")?;
        let writer = call.handle(writer, "writer")?;
        let inner = writer.inner.with("writer", |inner| Ok(inner.snapshot()?))?;
        snapshot.give(nearprint_snapshot::new(inner, false));
        Ok(())
    })
}

/// Makes all operations durable, and visible to new snapshots in every process. After
/// NEARPRINT_DISK_FULL nothing is lost, and the commit can be repeated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_commit(
    writer: *mut nearprint_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { change(writer, error, AnyWriter::commit) }
}

/// Commits, and writes all unflushed rows as a run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_flush(
    writer: *mut nearprint_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { change(writer, error, AnyWriter::flush) }
}

/// Merges all runs into one without deleted rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_compact(
    writer: *mut nearprint_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { change(writer, error, AnyWriter::compact) }
}

/// Commits, flushes, waits for merges, and releases the lock. After a failure the writer is still
/// open, and the call can be repeated. A closed writer does nothing more and is still to be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_close(
    writer: *mut nearprint_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        writer.inner.with("writer", |inner| Ok(inner.finish()?))?;
        writer.inner.close("writer")
    })
}

/// Frees the handle. What was not committed is discarded. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_free(writer: *mut nearprint_writer) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(writer) }
}

/// Inserts or upserts a row with a key.
///
/// # Safety
/// As [`Call::of`].
unsafe fn write_keyed(
    writer: *mut nearprint_writer,
    row: KeyedRow,
    upsert: bool,
    assigned: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: As this function demands.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        row.store(call, writer.words, assigned, |row, stored| {
            writer.inner.with("writer", |inner| {
                Ok(with_texts_to_store(inner.key_storage(), row, |row| {
                    if upsert { inner.upsert(row, stored) } else { inner.insert(row, stored) }
                })?)
            })
        })
    })
}

/// Works with a writer.
///
/// # Safety
/// As [`Call::of`].
pub(crate) unsafe fn change(
    writer: *mut nearprint_writer,
    error: *mut nearprint_error,
    work: impl FnOnce(&mut AnyWriter) -> Result<()>,
) -> nearprint_status {
    // SAFETY: As this function demands.
    unsafe { Call::of(error) }
        .run(|call| call.handle(writer, "writer")?.inner.with("writer", |inner| Ok(work(inner)?)))
}
