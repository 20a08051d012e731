//! Bulk loading: builders.

use std::ffi::c_char;

use nearprint::internal::{fingerprints, words_of};
use nearprint::{Builder, Fingerprint, NewRow, Options, Result, Schema, WidthVisitor};

use crate::call::Call;
use crate::error::nearprint_error;
use crate::handle::{self, Guarded, Handle};
use crate::settings::{self, nearprint_options, nearprint_schema};
use crate::status::nearprint_status;
use crate::text::optional_id;
use crate::width;

/// A database under construction: any number of rows, sorted in bounded memory. The path does not
/// exist until nearprint_builder_finish() succeeds.
pub struct nearprint_builder {
    inner: Guarded<Box<dyn Building>>,
    words: usize,
}

impl Handle for nearprint_builder {
    const NAME: &'static str = "nearprint_builder";
}

/// Begins a database. The path must not exist, or be an empty folder.
///
/// `first_id` is the id of the first row that comes without one. `schema` and `options` may be null
/// for the defaults. `builder` receives the handle.
///
/// Threads: any.
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
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let builder = call.new_handle(builder, "builder")?;
        let path = call.path(path, path_len)?;
        let (width, schema) = settings::schema(call, schema)?;
        let options = settings::options(call, options)?;
        let inner = width.visit(Begin { path, schema, options, first_id })?;
        builder.give(nearprint_builder { inner: Guarded::new(inner), words: width::words_of(width) });
        Ok(())
    })
}

/// Adds `count` rows. `fingerprints` has width / 64 words for each. `ids` has one id for each, or is
/// null: then ids are assigned, each 1 + the largest so far. `assigned` receives the id of the first
/// row, and may be null.
///
/// After a failure, some of the rows may have been added.
///
/// Threads: one at a time for each builder; NEARPRINT_BUSY otherwise.
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
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let builder = call.handle(builder, "builder")?;
        let words = call.words(fingerprints, builder.words, count, "fingerprints")?;
        let ids = call.optional_array(ids, count, "ids")?;
        let first = builder.inner.with("builder", |inner| Ok(inner.push(words, ids)?))?;
        if let Some(id) = first {
            call.optional(assigned).set(id);
        }
        Ok(())
    })
}

/// Adds a row with a key, and with a text where the database stores texts. `id` points to the id, or
/// is null: then the id is the 64-bit xxh3 of the key. `assigned` receives the id, and may be null.
///
/// Threads: one at a time for each builder; NEARPRINT_BUSY otherwise.
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
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let builder = call.handle(builder, "builder")?;
        let words = call.words(fingerprint, builder.words, 1, "fingerprint")?;
        let id = optional_id(call, id)?;
        let key = call.text(key, key_len, "key")?;
        let text = call.array(text.cast::<u8>(), text_len, "text")?;
        let pushed = builder.inner.with("builder", |inner| Ok(inner.push_keyed(words, id, key, text)?))?;
        call.optional(assigned).set(pushed);
        Ok(())
    })
}

/// Sorts, writes and syncs everything. On success the database is at its path. After a failure it is
/// removed. The builder takes no more rows in either case.
///
/// Threads: one at a time for each builder; NEARPRINT_BUSY otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_builder_finish(
    builder: *mut nearprint_builder,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| call.handle(builder, "builder")?.inner.take("builder", |inner| Ok(inner.finish()?)))
}

/// Frees the handle. A database that was not finished is removed. Null is allowed.
///
/// Threads: any, once no other call uses the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_builder_free(builder: *mut nearprint_builder) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(builder) }
}

/// A builder of any width.
trait Building: Send {
    /// Adds rows and returns the id of the first one.
    fn push(&mut self, words: &[u64], ids: Option<&[u64]>) -> Result<Option<u64>>;
    fn push_keyed(&mut self, words: &[u64], id: Option<u64>, key: &str, text: &[u8]) -> Result<u64>;
    fn finish(self: Box<Self>) -> Result<()>;
}

impl<F: Fingerprint> Building for Builder<F> {
    fn push(&mut self, words: &[u64], ids: Option<&[u64]>) -> Result<Option<u64>> {
        let mut first = None;
        for (index, fingerprint) in fingerprints::<F>(words).enumerate() {
            let id = ids.and_then(|ids| ids.get(index)).copied();
            let id = Self::push(self, NewRow { id, ..NewRow::from(fingerprint) })?;
            first = first.or(Some(id));
        }
        Ok(first)
    }

    fn push_keyed(&mut self, words: &[u64], id: Option<u64>, key: &str, text: &[u8]) -> Result<u64> {
        debug_assert_eq!(words.len(), words_of::<F>());
        Self::push(self, NewRow { fingerprint: F::from_le_words(words), id, key: Some(key), text })
    }

    fn finish(self: Box<Self>) -> Result<()> {
        (*self).finish().map(drop)
    }
}

struct Begin<'a> {
    path: &'a std::path::Path,
    schema: Schema,
    options: Options,
    first_id: u64,
}

impl WidthVisitor for Begin<'_> {
    type Output = Result<Box<dyn Building>>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        let builder = self.options.build::<F>(self.path, &self.schema)?;
        Ok(Box::new(builder.first_id(self.first_id)))
    }
}
