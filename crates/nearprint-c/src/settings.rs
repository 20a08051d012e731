//! What a new database is, and how handles work.

use std::ffi::{c_char, c_void};
use std::ops::ControlFlow;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use nearprint::{KeyStorage, LayoutChoice, Options, Progress, Schema, Stage, Width};

use crate::call::Call;
use crate::error::{Failure, Outcome};

/// Whether a database stores a key beside each row, such as a URL, and what with each key.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum nearprint_keys {
    /// Rows have ids only.
    NEARPRINT_NO_KEYS = 0,
    /// Rows have keys.
    NEARPRINT_KEYS = 1,
    /// Rows have keys, and keys have texts.
    NEARPRINT_KEYS_AND_TEXTS = 2,
    /// Rows have keys, and keys have hashes of texts, of at most 32 bytes.
    NEARPRINT_KEYS_AND_HASHES = 3,
    /// Rows have keys, and keys have the features of texts, as `nearprint dedup` stores them.
    NEARPRINT_KEYS_AND_FEATURES = 4,
}

/// What a new database is. It is stored with the database and never changes.
///
/// Start from nearprint_schema_init(), which sets the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nearprint_schema {
    /// The width of fingerprints in bits: 64, 128 or 256. Default: 64.
    pub width: u32,
    /// The distance in bits that the layout is tuned for. Queries may use any other. Default: 3.
    pub k: u32,
    /// A nearprint_keys. Default: NEARPRINT_NO_KEYS.
    pub keys: i32,
    /// How the bits are split: `auto`, `fast`, `small`, `rotations:T`, `blocks:M,S` or `bands:BxN`.
    /// Default: null, an automatic layout.
    pub layout: *const c_char,
    /// Its length in bytes.
    pub layout_len: usize,
    /// The recipe that makes the fingerprints, up to 4,096 bytes. Default: null, no recipe.
    pub recipe: *const c_char,
    /// Its length in bytes.
    pub recipe_len: usize,
}

/// What a long operation is doing.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum nearprint_stage {
    /// Something that this version of the interface has no name for.
    NEARPRINT_STAGE_OTHER = 0,
    /// Taking rows in. Counted in rows.
    NEARPRINT_STAGE_READING = 1,
    /// Sorting or merging rows. Counted in rows.
    NEARPRINT_STAGE_MERGING = 2,
    /// Writing tables. Counted in fingerprints, over all tables.
    NEARPRINT_STAGE_TABLES = 3,
    /// Comparing fingerprints with each other. Counted in fingerprints, over all tables.
    NEARPRINT_STAGE_JOINING = 4,
    /// Checking files. Counted in files.
    NEARPRINT_STAGE_VERIFYING = 5,
    /// Copying. Counted in bytes.
    NEARPRINT_STAGE_COPYING = 6,
    /// Answering queries. Counted in queries.
    NEARPRINT_STAGE_ANSWERING = 7,
    /// Waiting for another writer to end. Counted in milliseconds.
    NEARPRINT_STAGE_WAITING = 8,
}

/// Receives the progress of long operations: `done` of `total` units of a nearprint_stage. `total`
/// is UINT64_MAX while it is unknown. Another value than 0 cancels the operation, which then
/// returns NEARPRINT_STOPPED.
///
/// Called from several threads at once. It must not throw, and must not use the handle that the
/// operation works with.
pub type nearprint_progress_fn =
    Option<unsafe extern "C" fn(context: *mut c_void, stage: i32, done: u64, total: u64) -> i32>;

/// How the handles of a database work. Nothing of it is stored.
///
/// Start from nearprint_options_init(), which sets the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nearprint_options {
    /// The number of threads of one operation. Results do not depend on it. Default: 0, all cores.
    pub threads: usize,
    /// The memory of a build in bytes, mapped files aside: 1 MiB or more. Default: 0, 1 GiB.
    pub memory_bytes: usize,
    /// The number of operations that a writer gathers before it writes a run. Default: 0, 65,536.
    pub memtable_rows: usize,
    /// Whether a writer merges runs inside of its flushes instead of on a thread of its own.
    /// Default: 0, on a thread.
    pub foreground_merges: i32,
    /// How long a new writer waits for another one to end, in milliseconds. Default: 0.
    pub lock_wait_milliseconds: u64,
    /// Receives progress. Default: null. It may be called as long as a handle lives that came from
    /// the database or builder with these options.
    pub progress: nearprint_progress_fn,
    /// The first argument of `progress`.
    pub progress_context: *mut c_void,
}

/// Sets the defaults: 64 bits, k = 3, an automatic layout, no keys, no recipe.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_schema_init(schema: *mut nearprint_schema) {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(ptr::null_mut()) };
    call.optional(schema).set(DEFAULT_SCHEMA);
}

/// Sets the defaults: all cores, 1 GiB, merges on a thread of their own, no progress.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_options_init(options: *mut nearprint_options) {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(ptr::null_mut()) };
    call.optional(options).set(nearprint_options {
        threads: 0,
        memory_bytes: 0,
        memtable_rows: 0,
        foreground_merges: 0,
        lock_wait_milliseconds: 0,
        progress: None,
        progress_context: ptr::null_mut(),
    });
}

const DEFAULT_SCHEMA: nearprint_schema = nearprint_schema {
    width: 64,
    k: 3,
    keys: nearprint_keys::NEARPRINT_NO_KEYS as i32,
    layout: ptr::null(),
    layout_len: 0,
    recipe: ptr::null(),
    recipe_len: 0,
};

/// The width and the schema of a new database.
pub(crate) fn schema(call: &Call, schema: *const nearprint_schema) -> Outcome<(Width, Schema)> {
    let given = *call.structure(schema, "schema")?.unwrap_or(&DEFAULT_SCHEMA);
    let width = width_of(given.width)?;
    let keys = match given.keys {
        0 => KeyStorage::None,
        1 => KeyStorage::Keys,
        2 => KeyStorage::KeysAndTexts,
        3 => KeyStorage::KeysAndHashes,
        4 => KeyStorage::KeysAndFeatures,
        other => return Err(Failure::argument("schema.keys", format_args!("{other} is no nearprint_keys"))),
    };
    let mut schema = Schema::new().k(given.k).keys(keys);
    if let Some(layout) = call.optional_text(given.layout, given.layout_len, "schema.layout")? {
        schema = schema.layout(layout.parse::<LayoutChoice>()?);
    }
    if let Some(recipe) = call.optional_text(given.recipe, given.recipe_len, "schema.recipe")? {
        schema = schema.recipe(recipe);
    }
    Ok((width, schema))
}

/// A width in bits; 0 is the default.
pub(crate) fn width_of(bits: u32) -> Outcome<Width> {
    Ok(if bits == 0 { Width::default() } else { Width::try_from(bits)? })
}

/// The options of new handles.
pub(crate) fn options(call: &Call, options: *const nearprint_options) -> Outcome<Options> {
    let mut made = Options::new();
    let Some(given) = call.structure(options, "options")? else { return Ok(made) };
    if given.threads > 0 {
        made = made.threads(given.threads);
    }
    if given.memory_bytes > 0 {
        made = made.memory_bytes(given.memory_bytes);
    }
    if given.memtable_rows > 0 {
        made = made.memtable_rows(given.memtable_rows);
    }
    if let Some(progress) = given.progress {
        made = made.progress(Arc::new(CallerProgress { progress, context: given.progress_context }));
    }
    let wait = Duration::from_millis(given.lock_wait_milliseconds);
    Ok(made.background_merges(given.foreground_merges == 0).lock_wait(wait))
}

/// The caller's progress function.
struct CallerProgress {
    progress: unsafe extern "C" fn(*mut c_void, i32, u64, u64) -> i32,
    context: *mut c_void,
}

// SAFETY: The header says that the function is called from several threads at once; the context is
// the caller's, and only passed to it.
unsafe impl Send for CallerProgress {}
// SAFETY: As above.
unsafe impl Sync for CallerProgress {}

impl Progress for CallerProgress {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        let stage = match stage {
            Stage::Reading => nearprint_stage::NEARPRINT_STAGE_READING,
            Stage::Merging => nearprint_stage::NEARPRINT_STAGE_MERGING,
            Stage::Tables => nearprint_stage::NEARPRINT_STAGE_TABLES,
            Stage::Joining => nearprint_stage::NEARPRINT_STAGE_JOINING,
            Stage::Verifying => nearprint_stage::NEARPRINT_STAGE_VERIFYING,
            Stage::Copying => nearprint_stage::NEARPRINT_STAGE_COPYING,
            Stage::Answering => nearprint_stage::NEARPRINT_STAGE_ANSWERING,
            Stage::Waiting => nearprint_stage::NEARPRINT_STAGE_WAITING,
            _ => nearprint_stage::NEARPRINT_STAGE_OTHER,
        };
        // SAFETY: By the header, the function may be called from any thread with its context.
        match unsafe { (self.progress)(self.context, stage as i32, done, total.unwrap_or(u64::MAX)) } {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}
