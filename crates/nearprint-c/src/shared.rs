//! A writer for several threads.

use std::sync::{RwLock, RwLockReadGuard, TryLockError};

use nearprint::any::AnyWriter;
use nearprint::{Commit, SharedWriter};

use crate::call::Call;
use crate::database::nearprint_database;
use crate::error::{Failure, Outcome, nearprint_error};
use crate::handle::{self, Handle};
use crate::rows::{CheckedRows, nearprint_rows, with_texts_to_store};
use crate::status::{NEARPRINT_BUSY, NEARPRINT_CLOSED, nearprint_status};

/// A writer that several threads use: each call returns when its operations are durable, and one sync
/// serves all calls that arrived in the meantime (group commit). Otherwise as a nearprint_writer.
pub struct nearprint_shared_writer {
    inner: Shared<AnyWriter>,
    words: usize,
}

/// What several threads write with, until one of them closes it.
pub(crate) struct Shared<W>(RwLock<Option<SharedWriter<W>>>);

type Open<'a, W> = RwLockReadGuard<'a, Option<SharedWriter<W>>>;

impl<W: Commit> Shared<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self(RwLock::new(Some(SharedWriter::new(writer))))
    }

    /// Works with the writer. Other threads do the same, but for closing it.
    pub(crate) fn with<T>(
        &self,
        name: &str,
        work: impl FnOnce(&SharedWriter<W>) -> Outcome<T>,
    ) -> Outcome<T> {
        let open: Open<'_, W> = match self.0.try_read() {
            Ok(open) => open,
            Err(TryLockError::WouldBlock) => return Err(busy(name)),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        work(open.as_ref().ok_or_else(|| closed(name))?)
    }

    /// Ends the work with the writer. After a failure it is still open.
    pub(crate) fn close(&self, name: &str, finish: impl FnOnce(&mut W) -> Outcome) -> Outcome {
        let mut open = match self.0.try_write() {
            Ok(open) => open,
            Err(TryLockError::WouldBlock) => return Err(busy(name)),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        open.as_ref().ok_or_else(|| closed(name))?.with(finish)?;
        *open = None;
        Ok(())
    }
}

fn closed(name: &str) -> Box<Failure> {
    Failure::new(NEARPRINT_CLOSED, format!("{name}: it was closed"))
}

fn busy(name: &str) -> Box<Failure> {
    Failure::new(NEARPRINT_BUSY, format!("{name}: another call is using it"))
}

impl Handle for nearprint_shared_writer {
    const NAME: &'static str = "nearprint_shared_writer";
}

/// Opens a database for writing by several threads. `writer` receives the handle. NEARPRINT_LOCKED while
/// there is another writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_shared_writer_open(
    database: *const nearprint_database,
    writer: *mut *mut nearprint_shared_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.new_handle(writer, "writer")?;
        let database = &call.handle(database, "database")?.inner;
        let inner = Shared::new(database.writer()?);
        writer.give(nearprint_shared_writer { inner, words: database.width().words() });
        Ok(())
    })
}

/// Inserts rows, and returns when they are durable. Otherwise as nearprint_writer_insert_rows(), but a call
/// that fails to insert a row takes back those before it. It does not touch what other threads insert.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_shared_writer_insert_rows(
    writer: *const nearprint_shared_writer,
    rows: *const nearprint_rows,
    assigned: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let rows = CheckedRows::new(call, rows, writer.words)?;
        let mut ids = call.outputs(assigned, rows.count, "assigned")?;
        writer.inner.with("writer", |shared| {
            Ok(shared.commit_with(|writer| {
                with_texts_to_store(writer.key_storage(), &rows.view(), |rows| {
                    writer.insert(rows, &mut ids.receive())
                })
            })?)
        })
    })
}

/// Inserts one row unless a row within `k` bits is stored, and returns when it is durable. `rows` has one
/// row. `is_new` receives 1 if it was inserted, and 0 otherwise; `id` the id of the row, or of the nearest
/// stored row. Both may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_shared_writer_insert_if_new(
    writer: *const nearprint_shared_writer,
    rows: *const nearprint_rows,
    k: u32,
    is_new: *mut i32,
    id: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let rows = CheckedRows::new(call, rows, writer.words)?;
        if rows.count != 1 {
            return Err(Failure::argument("rows.count", format_args!("{}, which is not 1", rows.count)));
        }
        let mut met = nearprint::any::Columns::default();
        let mut ids = call.optional(id);
        writer.inner.with("writer", |shared| {
            let insert = |writer: &mut AnyWriter| {
                with_texts_to_store(writer.key_storage(), &rows.view(), |rows| {
                    writer.insert_if_new(rows, k, &mut ids.receive(), &mut met)
                })
            };
            Ok(shared.commit_with(insert)?)
        })?;
        call.optional(is_new).set(i32::from(met.fingerprints.is_empty()));
        Ok(())
    })
}

/// Deletes all rows of `count` ids, and returns when that is durable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_shared_writer_delete(
    writer: *const nearprint_shared_writer,
    ids: *const u64,
    count: usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let ids = call.array(ids, count, "ids")?;
        writer.inner.with("writer", |shared| Ok(shared.commit_with(|writer| writer.delete(ids))?))
    })
}

/// Does what nearprint_writer_close() does. NEARPRINT_BUSY while another thread uses the writer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_shared_writer_close(
    writer: *const nearprint_shared_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        writer.inner.close("writer", |writer| Ok(writer.finish()?))
    })
}

/// Frees the handle. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_shared_writer_free(writer: *mut nearprint_shared_writer) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(writer) }
}
