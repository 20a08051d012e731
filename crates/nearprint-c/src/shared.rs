//! A writer for several threads.

use std::sync::{RwLock, RwLockReadGuard, TryLockError};

use nearprint::SharedWriter;
use nearprint::erased::AnyWriter;

use crate::call::Call;
use crate::database::nearprint_database;
use crate::error::{Failure, Outcome, nearprint_error};
use crate::handle::{self, Handle};
use crate::rows::{CheckedRows, nearprint_rows};
use crate::status::{NEARPRINT_BUSY, NEARPRINT_CLOSED, nearprint_status};

/// A writer that several threads use: each call returns when its operations are durable, and one sync
/// serves all calls that arrived in the meantime (group commit). Otherwise as a nearprint_writer.
pub struct nearprint_shared_writer {
    inner: RwLock<Option<SharedWriter<AnyWriter>>>,
    words: usize,
}

type Open<'a> = RwLockReadGuard<'a, Option<SharedWriter<AnyWriter>>>;

impl nearprint_shared_writer {
    /// Works with the writer. Other threads do the same, but for closing it.
    fn with<T>(&self, work: impl FnOnce(&SharedWriter<AnyWriter>) -> nearprint::Result<T>) -> Outcome<T> {
        let open: Open<'_> = match self.inner.try_read() {
            Ok(open) => open,
            Err(TryLockError::WouldBlock) => return Err(busy()),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        let writer = open.as_ref().ok_or_else(closed)?;
        Ok(work(writer)?)
    }
}

fn closed() -> Box<Failure> {
    Failure::new(NEARPRINT_CLOSED, "writer: it was closed")
}

fn busy() -> Box<Failure> {
    Failure::new(NEARPRINT_BUSY, "writer: another call is using it")
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
        let inner = RwLock::new(Some(SharedWriter::new(database.writer()?)));
        writer.give(nearprint_shared_writer { inner, words: database.width().words() });
        Ok(())
    })
}

/// Inserts rows, and returns when they are durable. Otherwise as nearprint_writer_insert_rows(); rows
/// before a failure are committed with the next call of any thread.
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
        writer.with(|shared| shared.commit_with(|writer| writer.insert(&rows.view(), &mut ids.receive())))
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
        let mut met = nearprint::erased::Columns::default();
        let mut ids = call.optional(id);
        writer.with(|shared| {
            shared.commit_with(|writer| writer.insert_if_new(&rows.view(), k, &mut ids.receive(), &mut met))
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
        writer.with(|shared| shared.commit_with(|writer| writer.delete(ids)))
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
        let mut open = match writer.inner.try_write() {
            Ok(open) => open,
            Err(TryLockError::WouldBlock) => return Err(busy()),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        open.as_ref().ok_or_else(closed)?.with(AnyWriter::finish)?;
        *open = None;
        Ok(())
    })
}

/// Frees the handle. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_shared_writer_free(writer: *mut nearprint_shared_writer) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(writer) }
}
