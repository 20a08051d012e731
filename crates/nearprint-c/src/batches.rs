//! Changes of many rows in one call, and what else a writer does.

use std::ffi::c_char;

use nearprint::any::{AnyRow, AnyWriter, NewRows, Sink};
use nearprint::{Query, Result};

use crate::builder::nearprint_builder;
use crate::call::Call;
use crate::columns::{MATCHES, Outputs, nearprint_columns};
use crate::error::nearprint_error;
use crate::rows::{CheckedRows, key_array, nearprint_rows, with_texts_to_store};
use crate::status::nearprint_status;
use crate::writer::{change, nearprint_writer};
use nearprint::any::Shape;

/// Adds rows to a builder, with keys and texts where there are some. `assigned` receives the id of each
/// row, and may be null.
///
/// After a failure, some of the rows may have been added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_builder_push_rows(
    builder: *mut nearprint_builder,
    rows: *const nearprint_rows,
    assigned: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let builder = call.handle(builder, "builder")?;
        let rows = CheckedRows::new(call, rows, builder.words)?;
        let mut ids = call.outputs(assigned, rows.count, "assigned")?;
        builder.inner.with("builder", |inner| {
            Ok(with_texts_to_store(inner.key_storage(), &rows.view(), |rows| {
                inner.push(rows, &mut ids.receive())
            })?)
        })
    })
}

/// Inserts rows, with keys and texts where there are some. `assigned` receives the id of each row, and
/// may be null.
///
/// Inserting a fingerprint again with its id, and with its key where there are keys, changes nothing, not even its
/// text, but that it lives anew where rows expire. A key may
/// have several rows, which have one id; nearprint_writer_upsert_rows() replaces them. After a failure, some
/// of the rows may have been inserted; nearprint_writer_rollback() takes them back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_insert_rows(
    writer: *mut nearprint_writer,
    rows: *const nearprint_rows,
    assigned: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { store(writer, (rows, assigned), error, AnyWriter::insert) }
}

/// Makes each row the only one with its id. What a row with a key and without an id replaces,
/// nearprint_writer_upsert_keyed() says. Otherwise as nearprint_writer_insert_rows().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_upsert_rows(
    writer: *mut nearprint_writer,
    rows: *const nearprint_rows,
    assigned: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { store(writer, (rows, assigned), error, AnyWriter::upsert) }
}

/// Inserts each row that has no stored row within `k` bits, uncommitted rows and earlier rows of this
/// call included. Costs a query and an insertion for each.
///
/// `ids` receives the id of each row, or, where a row was near, the id of the nearest stored row. It may
/// be null. `met` receives those nearest rows, and `met_count` their number: the columns groups (the
/// number of the row that met it, from 0), fingerprints, ids, distances. If the number exceeds the
/// capacity, the first ones were written. Both may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_insert_if_new(
    writer: *mut nearprint_writer,
    rows: *const nearprint_rows,
    k: u32,
    ids: *mut u64,
    met: *const nearprint_columns,
    met_count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let rows = CheckedRows::new(call, rows, writer.words)?;
        let mut ids = call.outputs(ids, rows.count, "ids")?;
        let mut met = FirstOfGroup {
            columns: Outputs::optional(call, met, Shape::MATCHES, writer.words)?,
            last: None,
            rows: 0,
        };
        writer.inner.with("writer", |inner| {
            Ok(with_texts_to_store(inner.key_storage(), &rows.view(), |rows| {
                inner.insert_if_new(rows, k, &mut ids.receive(), &mut met)
            })?)
        })?;
        call.optional(met_count).set(met.rows);
        Ok(())
    })
}

/// Deletes all rows with an id from `first` to `last`, both included. `deleted` receives their number,
/// and may be null. Reads all rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_delete_ids(
    writer: *mut nearprint_writer,
    first: u64,
    last: u64,
    deleted: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let number = writer.inner.with("writer", |inner| Ok(inner.delete_ids(first..=last)?))?;
        call.optional(deleted).set(number);
        Ok(())
    })
}

/// Deletes `count` keys, and the rows that had no other one. `deleted` receives their number, and may be
/// null. Costs a look-up for each key; all keys are read once where ids are not the hashes of keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_delete_keys(
    writer: *mut nearprint_writer,
    keys: *const *const c_char,
    key_lens: *const usize,
    count: usize,
    deleted: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let keys = key_array(call, (keys, key_lens), count, ["keys", "key_lens"])?;
        let number = writer.inner.with("writer", |inner| Ok(inner.delete_keys(&keys)?))?;
        call.optional(deleted).set(number);
        Ok(())
    })
}

/// Deletes all keys that begin with a prefix, and the rows that had no other one. `deleted` receives
/// their number, and may be null. All keys begin with the empty prefix. Reads all keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_delete_key_prefix(
    writer: *mut nearprint_writer,
    prefix: *const c_char,
    prefix_len: usize,
    deleted: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let prefix = call.key(prefix, prefix_len, "prefix")?;
        let number = writer.inner.with("writer", |inner| Ok(inner.delete_key_prefix(prefix)?))?;
        call.optional(deleted).set(number);
        Ok(())
    })
}

/// Finds the `capacity` nearest rows within `max_k` bits, including uncommitted ones, as
/// nearprint_snapshot_nearest() does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_nearest(
    writer: *mut nearprint_writer,
    fingerprint: *const u64,
    max_k: u32,
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
        let query = Query::nearest(columns.capacity()).max_k(max_k);
        writer.inner.with("writer", |inner| Ok(inner.query(fingerprint, query, &mut columns)?))?;
        count.set(columns.rows());
        Ok(())
    })
}

/// Answers queries on all threads, including uncommitted rows, as nearprint_snapshot_query_batch() does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_query_batch(
    writer: *mut nearprint_writer,
    fingerprints: *const u64,
    queries: usize,
    k: u32,
    limit: usize,
    columns: *const nearprint_columns,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let queries = call.words(fingerprints, writer.words, queries, "fingerprints")?;
        let mut count = call.output(count, "count")?;
        let mut columns = Outputs::new(call, columns, Shape::MATCHES, writer.words)?;
        let snapshot = writer.inner.with("writer", |inner| Ok(inner.snapshot()?))?;
        snapshot
            .query_batch(queries, Query::within(k).limit(limit), |_, matches| columns.push_all(matches))?;
        count.set(columns.rows());
        Ok(())
    })
}

/// Takes back all operations since the last commit. Costs reading the log: what was committed and is in no
/// run yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_rollback(
    writer: *mut nearprint_writer,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { change(writer, error, AnyWriter::discard) }
}

/// Passes on the first row of each group: a row that was met comes once with each of its keys.
struct FirstOfGroup<'c> {
    columns: Option<Outputs<'c>>,
    last: Option<u64>,
    rows: usize,
}

impl Sink for FirstOfGroup<'_> {
    fn push(&mut self, row: &AnyRow<'_>) {
        if self.last.replace(row.group) != Some(row.group) {
            self.rows += 1;
            if let Some(columns) = &mut self.columns {
                columns.push(row);
            }
        }
    }
}

/// Stores rows of a writer, and passes their ids to the caller.
///
/// # Safety
/// As [`Call::of`].
unsafe fn store(
    writer: *mut nearprint_writer,
    (rows, assigned): (*const nearprint_rows, *mut u64),
    error: *mut nearprint_error,
    store: impl FnOnce(&mut AnyWriter, &NewRows<'_>, &mut dyn FnMut(u64) -> Result<()>) -> Result<()>,
) -> nearprint_status {
    // SAFETY: As this function demands.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let rows = CheckedRows::new(call, rows, writer.words)?;
        let mut ids = call.outputs(assigned, rows.count, "assigned")?;
        writer.inner.with("writer", |inner| {
            Ok(with_texts_to_store(inner.key_storage(), &rows.view(), |rows| {
                store(inner, rows, &mut ids.receive())
            })?)
        })
    })
}
