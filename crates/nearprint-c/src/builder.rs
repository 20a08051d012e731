//! Bulk loading: builders.

use std::ffi::c_char;

use nearprint::any::{AnyBuilder, NewRows};

use crate::call::Call;
use crate::error::nearprint_error;
use crate::handle::{self, Guarded, Handle};
use crate::rows::with_texts_to_store;
use crate::settings::{self, nearprint_options, nearprint_schema};
use crate::status::nearprint_status;
use crate::text::{First, KeyedRow};

/// A database under construction: any number of rows, sorted in bounded memory. The path does not
/// exist until nearprint_builder_finish() succeeds.
pub struct nearprint_builder {
    pub(crate) inner: Guarded<AnyBuilder>,
    pub(crate) words: usize,
}

impl Handle for nearprint_builder {
    const NAME: &'static str = "nearprint_builder";
}

/// Begins a database. The path must not exist, or be an empty folder.
///
/// `first_id` is the id of the first row that comes without one. `schema` and `options` may be null
/// for the defaults. `builder` receives the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_builder_new(
    path: *const c_char,
    path_len: usize,
    schema: *const nearprint_schema,
    options: *const nearprint_options,
    first_id: u64,
    builder: *mut *mut nearprint_builder,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let builder = call.new_handle(builder, "builder")?;
        let path = call.path(path, path_len)?;
        let (width, schema) = settings::schema(call, schema)?;
        let options = settings::options(call, options)?;
        let inner = options.build_any(path, width, &schema)?.first_id(first_id);
        builder.give(nearprint_builder { inner: Guarded::new(inner), words: width.words() });
        Ok(())
    })
}

/// Adds `count` rows. `fingerprints` has width / 64 words for each. `ids` has one id for each, or is
/// null: then ids are assigned, each 1 + the largest so far. `assigned` receives the id of the first
/// row, and may be null.
///
/// After a failure, some of the rows may have been added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_builder_push(
    builder: *mut nearprint_builder,
    fingerprints: *const u64,
    ids: *const u64,
    count: usize,
    assigned: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let builder = call.handle(builder, "builder")?;
        let fingerprints = call.words(fingerprints, builder.words, count, "fingerprints")?;
        let rows =
            NewRows { fingerprints, ids: call.optional_array(ids, count, "ids")?, ..NewRows::default() };
        let mut first = First::new(call.optional(assigned));
        builder.inner.with("builder", |inner| Ok(inner.push(&rows, &mut |id| first.note(id))?))
    })
}

/// Adds a row with a key, and with a text where the database stores texts. `id` points to the id, or
/// is null: then the id is the 64-bit xxh3 of the key. `assigned` receives the id, and may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_builder_push_keyed(
    builder: *mut nearprint_builder,
    fingerprint: *const u64,
    id: *const u64,
    key: *const c_char,
    key_len: usize,
    text: *const c_char,
    text_len: usize,
    assigned: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let builder = call.handle(builder, "builder")?;
        let row = KeyedRow { fingerprint, id, key: (key, key_len), text: (text, text_len) };
        row.store(call, builder.words, assigned, |row, stored| {
            builder.inner.with("builder", |inner| {
                Ok(with_texts_to_store(inner.key_storage(), row, |row| inner.push(row, stored))?)
            })
        })
    })
}

/// Sorts, writes and syncs everything. On success the database is at its path. After a failure it is
/// removed. The builder takes no more rows in either case.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_builder_finish(
    builder: *mut nearprint_builder,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        call.handle(builder, "builder")?.inner.take("builder", |inner| Ok(inner.finish().map(drop)?))
    })
}

/// Frees the handle. A database that was not finished is removed. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_builder_free(builder: *mut nearprint_builder) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(builder) }
}
