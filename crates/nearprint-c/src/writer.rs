//! Changing a database: writers.

use std::ffi::c_char;

use nearprint::internal::{fingerprints, words_of};
use nearprint::{Database, DatabaseVisitor, Fingerprint, NewRow, Result, Row, Writer};

use crate::call::Call;
use crate::columns::{Columns, Entry, Shape, nearprint_columns};
use crate::database::nearprint_database;
use crate::error::{Outcome, nearprint_error};
use crate::handle::{self, Guarded, Handle};
use crate::snapshot::nearprint_snapshot;
use crate::status::nearprint_status;
use crate::text::optional_id;

/// The writer of a database: one at a time over all processes. It does not block readers. In the
/// child of a fork, the writer of its parent fails with NEARPRINT_FORKED: at the first operation after
/// a commit, and whenever something is to be made durable. Freeing it there changes nothing.
pub struct nearprint_writer {
    inner: Guarded<Box<dyn Writing>>,
    words: usize,
}

impl Handle for nearprint_writer {
    const NAME: &'static str = "nearprint_writer";
}

/// Opens a database for writing, and recovers what a crash left. `writer` receives the handle.
///
/// Threads: any, several at once. While there is another writer: NEARPRINT_LOCKED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_open(
    database: *const nearprint_database,
    writer: *mut *mut nearprint_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let writer = call.new_handle(writer, "writer")?;
        writer.give(call.handle(database, "database")?.inner.clone().visit(Open)?);
        Ok(())
    })
}

/// Inserts `count` rows. `fingerprints` has width / 64 words for each. `ids` has one id for each, or
/// is null: then ids are assigned, each 1 + the largest ever stored. `assigned` receives the id of
/// the first row, and may be null.
///
/// Rows are a set: inserting an existing row changes nothing. After a failure, some of the rows may
/// have been inserted. Rows are durable after nearprint_writer_commit().
///
/// Threads: one at a time for each writer; NEARPRINT_BUSY otherwise.
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
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let words = call.words(fingerprints, writer.words, count, "fingerprints")?;
        let ids = call.optional_array(ids, count, "ids")?;
        let first = writer.inner.with("writer", |inner| Ok(inner.insert(words, ids)?))?;
        if let Some(id) = first {
            call.optional(assigned).set(id);
        }
        Ok(())
    })
}

/// Replaces all rows of each of `count` ids by one row. `fingerprints` has width / 64 words for each.
///
/// Threads: one at a time for each writer; NEARPRINT_BUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_upsert(
    writer: *mut nearprint_writer,
    fingerprints: *const u64,
    ids: *const u64,
    count: usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let words = call.words(fingerprints, writer.words, count, "fingerprints")?;
        let ids = call.array(ids, count, "ids")?;
        writer.inner.with("writer", |inner| Ok(inner.upsert(words, ids)?))
    })
}

/// Inserts a row with a key, and with a text where the database stores texts. `id` points to the id,
/// or is null: then the id is the 64-bit xxh3 of the key. `assigned` receives the id, and may be
/// null.
///
/// Threads: one at a time for each writer; NEARPRINT_BUSY otherwise.
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

/// Replaces all rows of an id by a row with a key. Otherwise as nearprint_writer_insert_keyed().
///
/// Threads: one at a time for each writer; NEARPRINT_BUSY otherwise.
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
///
/// Threads: one at a time for each writer; NEARPRINT_BUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_delete(
    writer: *mut nearprint_writer,
    ids: *const u64,
    count: usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let ids = call.array(ids, count, "ids")?;
        writer.inner.with("writer", |inner| Ok(inner.delete(ids)?))
    })
}

/// Deletes a key, and the rows that had no other one. `deleted` receives their number, and may be
/// null. Reads all keys.
///
/// Threads: one at a time for each writer; NEARPRINT_BUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_delete_key(
    writer: *mut nearprint_writer,
    key: *const c_char,
    key_len: usize,
    deleted: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let key = call.text(key, key_len, "key")?;
        let number = writer.inner.with("writer", |inner| Ok(inner.delete_key(key)?))?;
        call.optional(deleted).set(number);
        Ok(())
    })
}

/// Finds every row within `k` bits, including uncommitted ones, as nearprint_snapshot_query() does.
///
/// Threads: one at a time for each writer; NEARPRINT_BUSY otherwise.
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
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let fingerprint = call.words(fingerprint, writer.words, 1, "fingerprint")?;
        let mut count = call.output(count, "count")?;
        let mut columns = Columns::new(call, columns, Shape::MATCHES, writer.words)?;
        writer.inner.with("writer", |inner| Ok(inner.query(fingerprint, k, &mut columns)?))?;
        count.set(columns.rows());
        Ok(())
    })
}

/// Takes a snapshot that includes uncommitted operations. `snapshot` receives the handle.
///
/// Threads: one at a time for each writer; NEARPRINT_BUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_snapshot(
    writer: *mut nearprint_writer,
    snapshot: *mut *mut nearprint_snapshot,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let snapshot = call.new_handle(snapshot, "snapshot")?;
        let writer = call.handle(writer, "writer")?;
        snapshot.give(writer.inner.with("writer", |inner| Ok(inner.snapshot()?))?);
        Ok(())
    })
}

/// Makes all operations durable, and visible to new snapshots in every process. After
/// NEARPRINT_DISK_FULL nothing is lost, and the commit can be repeated.
///
/// Threads: one at a time for each writer; NEARPRINT_BUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_commit(
    writer: *mut nearprint_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { change(writer, error, |inner| inner.commit()) }
}

/// Commits, and writes all unflushed rows as a run.
///
/// Threads: one at a time for each writer; NEARPRINT_BUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_flush(
    writer: *mut nearprint_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { change(writer, error, |inner| inner.flush()) }
}

/// Merges all runs into one without deleted rows.
///
/// Threads: one at a time for each writer; NEARPRINT_BUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_compact(
    writer: *mut nearprint_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { change(writer, error, |inner| inner.compact()) }
}

/// Commits, flushes, waits for merges, and releases the lock. After a failure the writer is still
/// open, and the call can be repeated. A closed writer does nothing more and is still to be freed.
///
/// Threads: one at a time for each writer; NEARPRINT_BUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_close(
    writer: *mut nearprint_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let writer = call.handle(writer, "writer")?;
        writer.inner.with("writer", |inner| Ok(inner.finish()?))?;
        writer.inner.close("writer")
    })
}

/// Frees the handle. What was not committed is discarded. Null is allowed.
///
/// Threads: any, once no other call uses the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_free(writer: *mut nearprint_writer) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(writer) }
}

/// The pointers of a row with a key.
struct KeyedRow {
    fingerprint: *const u64,
    id: *const u64,
    key: (*const c_char, usize),
    text: (*const c_char, usize),
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
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let words = call.words(row.fingerprint, writer.words, 1, "fingerprint")?;
        let id = optional_id(call, row.id)?;
        let key = call.text(row.key.0, row.key.1, "key")?;
        let text = call.array(row.text.0.cast::<u8>(), row.text.1, "text")?;
        let written =
            writer.inner.with("writer", |inner| Ok(inner.write_keyed(words, id, (key, text), upsert)?))?;
        call.optional(assigned).set(written);
        Ok(())
    })
}

/// Works with a writer.
///
/// # Safety
/// As [`Call::of`].
unsafe fn change(
    writer: *mut nearprint_writer,
    error: *mut nearprint_error,
    work: impl FnOnce(&mut dyn Writing) -> Result<()>,
) -> nearprint_status {
    // SAFETY: As this function demands.
    let call = unsafe { Call::of(error) };
    call.run(|call| -> Outcome {
        call.handle(writer, "writer")?.inner.with("writer", |inner| Ok(work(&mut **inner)?))
    })
}

struct Open;

impl DatabaseVisitor for Open {
    type Output = Result<nearprint_writer>;

    fn visit<F: Fingerprint>(self, database: Database<F>) -> Self::Output {
        let inner: Box<dyn Writing> = Box::new(database.writer()?);
        Ok(nearprint_writer { inner: Guarded::new(inner), words: words_of::<F>() })
    }
}

/// A writer of any width.
trait Writing: Send {
    /// Inserts rows and returns the id of the first one.
    fn insert(&mut self, words: &[u64], ids: Option<&[u64]>) -> Result<Option<u64>>;
    fn upsert(&mut self, words: &[u64], ids: &[u64]) -> Result<()>;
    /// Inserts or upserts a row with a key and a text.
    fn write_keyed(
        &mut self,
        words: &[u64],
        id: Option<u64>,
        key: (&str, &[u8]),
        upsert: bool,
    ) -> Result<u64>;
    fn delete(&mut self, ids: &[u64]) -> Result<()>;
    fn delete_key(&mut self, key: &str) -> Result<u64>;
    fn query(&mut self, fingerprint: &[u64], k: u32, columns: &mut Columns<'_>) -> Result<()>;
    fn snapshot(&mut self) -> Result<nearprint_snapshot>;
    fn commit(&mut self) -> Result<()>;
    fn flush(&mut self) -> Result<()>;
    fn compact(&mut self) -> Result<()>;
    /// Does everything that closing does, apart from releasing the lock.
    fn finish(&mut self) -> Result<()>;
}

impl<F: Fingerprint> Writing for Writer<F> {
    fn insert(&mut self, words: &[u64], ids: Option<&[u64]>) -> Result<Option<u64>> {
        let mut first = None;
        for (index, fingerprint) in fingerprints::<F>(words).enumerate() {
            let id = ids.and_then(|ids| ids.get(index)).copied();
            let id = Self::insert(self, NewRow { id, ..NewRow::from(fingerprint) })?;
            first = first.or(Some(id));
        }
        Ok(first)
    }

    fn upsert(&mut self, words: &[u64], ids: &[u64]) -> Result<()> {
        fingerprints::<F>(words)
            .zip(ids)
            .try_for_each(|(fingerprint, &id)| Self::upsert(self, Row { fingerprint, id }).map(drop))
    }

    fn write_keyed(
        &mut self,
        words: &[u64],
        id: Option<u64>,
        (key, text): (&str, &[u8]),
        upsert: bool,
    ) -> Result<u64> {
        let row = NewRow { fingerprint: F::from_le_words(words), id, key: Some(key), text };
        if upsert { Self::upsert(self, row) } else { Self::insert(self, row) }
    }

    fn delete(&mut self, ids: &[u64]) -> Result<()> {
        ids.iter().try_for_each(|&id| Self::delete(self, id))
    }

    fn delete_key(&mut self, key: &str) -> Result<u64> {
        Self::delete_key(self, key)
    }

    fn query(&mut self, fingerprint: &[u64], k: u32, columns: &mut Columns<'_>) -> Result<()> {
        let matches = Self::query(self, F::from_le_words(fingerprint), k)?;
        matches.into_iter().for_each(|found| columns.push(&Entry::of_match(0, found)));
        Ok(())
    }

    fn snapshot(&mut self) -> Result<nearprint_snapshot> {
        Self::snapshot(self).map(nearprint_snapshot::new)
    }

    fn commit(&mut self) -> Result<()> {
        Self::commit(self)
    }

    fn flush(&mut self) -> Result<()> {
        Self::flush(self)
    }

    fn compact(&mut self) -> Result<()> {
        Self::compact(self)
    }

    fn finish(&mut self) -> Result<()> {
        self.wait_for_merges()
    }
}
