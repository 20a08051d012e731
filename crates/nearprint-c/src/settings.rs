//! What a new database is, and how handles work.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::ops::ControlFlow;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use nearprint::{BandLayout, KeyStorage, LayoutChoice, Options, Progress, Schema, Stage, Width};

use crate::call::Call;
use crate::error::{Failure, Outcome};
use crate::events::{CallerListener, nearprint_event_fn};
use crate::growing::Growing;
#[cfg(feature = "texts")]
use crate::status::NEARPRINT_RECIPE;

/// Whether a database stores a key beside each row, such as a URL, and what with each key.
pub type nearprint_keys = i32;

/// Rows have ids only.
pub const NEARPRINT_NO_KEYS: nearprint_keys = 0;
/// Rows have keys.
pub const NEARPRINT_KEYS: nearprint_keys = 1;
/// Rows have keys, and keys have texts.
pub const NEARPRINT_KEYS_AND_TEXTS: nearprint_keys = 2;
/// Rows have keys, and keys have hashes of texts, of at most 32 bytes.
pub const NEARPRINT_KEYS_AND_HASHES: nearprint_keys = 3;
/// Rows have keys, and keys have the features of texts, as `nearprint dedup` stores them. Needs a recipe of MinHash and
/// its layout: nearprint_fingerprinter_schema() makes such a schema.
pub const NEARPRINT_KEYS_AND_FEATURES: nearprint_keys = 4;

/// What a new database is. It is stored with the database and never changes.
///
/// Start from nearprint_schema_init(), which sets the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nearprint_schema {
    /// The size of this structure in the header of the program: nearprint_schema_init() sets it.
    pub struct_size: usize,
    /// The width of fingerprints in bits: 64, 128, 256 or 320. Default: 64.
    pub width: u32,
    /// The distance in bits that the layout is tuned for. Queries may use any other. Default: 3.
    pub k: u32,
    /// What is stored beside rows. Default: NEARPRINT_NO_KEYS.
    pub keys: nearprint_keys,
    /// How the bits are split: `auto`, `fast`, `small`, `rotations:T`, `blocks:M,S` or `bands:BxN`. In the
    /// last one the highest N bits are the first band, the lowest (B - 1) N bits are the others, and between
    /// them is the sketch. There the fingerprint 0 is that of a text without features, and near nothing.
    /// Default: null, an automatic layout.
    pub layout: *const c_char,
    /// Its length in bytes.
    pub layout_len: usize,
    /// The recipe that makes the fingerprints, of texts or of pictures: see nearprint_fingerprinter_new()
    /// and nearprint_picture_fingerprint(). Its width and its bands have to be those of the schema. Default:
    /// null, no recipe. A library without the feature `texts` does not check the recipes of texts.
    pub recipe: *const c_char,
    /// Its length in bytes.
    pub recipe_len: usize,
    /// How long rows live, in milliseconds, at most 2^50: no snapshot that is taken later has them, and a
    /// writer drops them. Default: 0, forever.
    pub expire_after_milliseconds: u64,
    /// Rows that are inserted in one period expire together, a lifetime after it began. 1 to 1,024
    /// periods fit a lifetime. Default: 0, a tenth of the lifetime.
    pub expire_period_milliseconds: u64,
}

/// What a long operation is doing.
pub type nearprint_stage = i32;

/// Something that this version of the interface has no name for.
pub const NEARPRINT_STAGE_OTHER: nearprint_stage = 0;
/// Taking rows in. Counted in rows.
pub const NEARPRINT_STAGE_READING: nearprint_stage = 1;
/// Sorting or merging rows. Counted in rows.
pub const NEARPRINT_STAGE_MERGING: nearprint_stage = 2;
/// Writing tables. Counted in fingerprints, over all tables.
pub const NEARPRINT_STAGE_TABLES: nearprint_stage = 3;
/// Comparing fingerprints with each other. Counted in fingerprints, over all tables.
pub const NEARPRINT_STAGE_JOINING: nearprint_stage = 4;
/// Checking files. Counted in files.
pub const NEARPRINT_STAGE_VERIFYING: nearprint_stage = 5;
/// Copying. Counted in bytes.
pub const NEARPRINT_STAGE_COPYING: nearprint_stage = 6;
/// Answering queries. Counted in queries.
pub const NEARPRINT_STAGE_ANSWERING: nearprint_stage = 7;
/// Waiting for another writer to end. Counted in milliseconds.
pub const NEARPRINT_STAGE_WAITING: nearprint_stage = 8;

/// Receives the progress of long operations: `done` of `total` units of a nearprint_stage. `total`
/// is UINT64_MAX while it is unknown. Another value than 0 cancels the operation, which then
/// returns NEARPRINT_STOPPED.
///
/// Batches of queries, joins, builds, merges and compactions, ingests, backups, followers, checks and the wait for
/// a lock ask it. One query, and other calls of a writer, do not.
///
/// Called from several threads at once. It must not throw, and must not use the handle that the
/// operation works with.
pub type nearprint_progress_fn = Option<
    unsafe extern "C-unwind" fn(context: *mut c_void, stage: nearprint_stage, done: u64, total: u64) -> i32,
>;

/// How the handles of a database work. Nothing of it is stored.
///
/// Start from nearprint_options_init(), which sets the defaults.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nearprint_options {
    /// The size of this structure in the header of the program: nearprint_options_init() sets it.
    pub struct_size: usize,
    /// The number of threads of one operation. Results do not depend on it. Default: 0, all cores.
    pub threads: usize,
    /// The memory of a build in bytes, mapped files aside: 1 MiB or more. Default: 0, 1 GiB.
    pub memory_bytes: usize,
    /// The number of operations of which a commit makes a run; what is not committed is in memory. Default: 0,
    /// which is 65,536, or 262,144 with a recipe.
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
    /// The most bytes that each merge of a writer writes in a second; less than 1 MiB counts as 1 MiB.
    /// Default: 0, any number.
    pub merge_bytes_per_second: u64,
    /// Whether a writer leaves all merges to nearprint_writer_compact(). Default: 0, it merges.
    pub no_merges: i32,
    /// Receives what writers do besides what they are called for. Default: null. It may be called as
    /// long as a writer lives that came from the database with these options.
    pub on_event: nearprint_event_fn,
    /// The first argument of `on_event`.
    pub event_context: *mut c_void,
    /// The longest log that a writer leaves when it closes, instead of a run, for small databases.
    /// Default: 0, none.
    pub keep_log_bytes: u64,
}

/// What nearprint_schema_init() calls: sets the defaults in a structure of `struct_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_schema_init_sized(schema: *mut nearprint_schema, struct_size: usize) {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(ptr::null_mut()) };
    call.init_growing(schema, struct_size);
}

/// What nearprint_options_init() calls: sets the defaults in a structure of `struct_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_options_init_sized(options: *mut nearprint_options, struct_size: usize) {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(ptr::null_mut()) };
    call.init_growing(options, struct_size);
}

// SAFETY: The size is the first field; the others are numbers and pointers.
unsafe impl Growing for nearprint_schema {
    const NAME: &'static str = "nearprint_schema";
    const FIRST_SIZE: usize = offset_of!(Self, expire_after_milliseconds);
    const DEFAULT: Self = Self {
        struct_size: size_of::<Self>(),
        width: 64,
        k: 3,
        keys: NEARPRINT_NO_KEYS,
        layout: ptr::null(),
        layout_len: 0,
        recipe: ptr::null(),
        recipe_len: 0,
        expire_after_milliseconds: 0,
        expire_period_milliseconds: 0,
    };
}

// SAFETY: The size is the first field; the others are numbers, pointers and optional functions.
unsafe impl Growing for nearprint_options {
    const NAME: &'static str = "nearprint_options";
    const FIRST_SIZE: usize = offset_of!(Self, merge_bytes_per_second);
    const DEFAULT: Self = Self {
        struct_size: size_of::<Self>(),
        threads: 0,
        memory_bytes: 0,
        memtable_rows: 0,
        foreground_merges: 0,
        lock_wait_milliseconds: 0,
        progress: None,
        progress_context: ptr::null_mut(),
        merge_bytes_per_second: 0,
        no_merges: 0,
        on_event: None,
        event_context: ptr::null_mut(),
        keep_log_bytes: 0,
    };
}

/// The width and the schema of a new database.
pub(crate) fn schema(call: &Call, schema: *const nearprint_schema) -> Outcome<(Width, Schema)> {
    let given = call.growing(schema, "schema")?.unwrap_or(nearprint_schema::DEFAULT);
    let width = width_of(given.width)?;
    let keys = match given.keys {
        NEARPRINT_NO_KEYS => KeyStorage::None,
        NEARPRINT_KEYS => KeyStorage::Keys,
        NEARPRINT_KEYS_AND_TEXTS => KeyStorage::KeysAndTexts,
        NEARPRINT_KEYS_AND_HASHES => KeyStorage::KeysAndHashes,
        NEARPRINT_KEYS_AND_FEATURES => KeyStorage::KeysAndFeatures,
        other => return Err(Failure::argument("schema.keys", format_args!("{other} is no nearprint_keys"))),
    };
    let mut schema = Schema::new().k(given.k).keys(keys);
    let mut bands = None;
    if let Some(layout) = call.optional_text(given.layout, given.layout_len, "schema.layout")? {
        let layout = layout.parse()?;
        bands = if let LayoutChoice::Bands(bands) = layout { Some(bands) } else { None };
        schema = schema.layout(layout);
    }
    if keys == KeyStorage::KeysAndFeatures && bands.is_none() {
        return Err(Failure::argument(
            "schema.keys",
            "features are compared with MinHash, in a layout of bands",
        ));
    }
    if let Some(recipe) = call.optional_text(given.recipe, given.recipe_len, "schema.recipe")? {
        schema = schema.recipe(checked_recipe(recipe, width, bands)?);
    }
    if given.expire_after_milliseconds > 0 {
        let period = Some(given.expire_period_milliseconds).filter(|&period| period > 0);
        let lifetime = Duration::from_millis(given.expire_after_milliseconds);
        schema = schema.expire_after(lifetime, period.map(Duration::from_millis))?;
    } else if given.expire_period_milliseconds > 0 {
        return Err(Failure::argument("schema.expire_period_milliseconds", "without a lifetime"));
    }
    Ok((width, schema))
}

/// A recipe as a database stores it.
fn checked_recipe(recipe: &str, width: Width, bands: Option<BandLayout>) -> Outcome<String> {
    let (line, made) = known_recipe(recipe)?;
    match made {
        Some((made, _)) if made != width => {
            let (made, width) = (made.bits(), width.bits());
            let why = format_args!("makes fingerprints of {made} bits, and schema.width is {width}");
            Err(Failure::argument("schema.recipe", why))
        }
        Some((_, made)) if made != bands => {
            let needed = made.map_or("another layout than bands".to_owned(), |made| format!("bands:{made}"));
            Err(Failure::argument("schema.recipe", format_args!("needs {needed} in schema.layout")))
        }
        _ => Ok(line),
    }
}

/// The width and the bands of fingerprints.
type Kind = (Width, Option<BandLayout>);

/// The line of a recipe, and the kind of its fingerprints, as far as this library knows it.
fn known_recipe(recipe: &str) -> Outcome<(String, Option<Kind>)> {
    #[cfg(feature = "images")]
    if let Ok(recipe) = recipe.parse::<nearprint_image::Recipe>() {
        return Ok((recipe.to_string(), Some((recipe.width(), None))));
    }
    #[cfg(feature = "texts")]
    let known = {
        let recipe: nearprint_text::Recipe = recipe.parse().map_err(|error| {
            let of_pictures =
                if cfg!(feature = "images") { "; for pictures pdq, dhash or phash" } else { "" };
            Failure::new(NEARPRINT_RECIPE, format!("{error}{of_pictures}"))
        })?;
        (recipe.to_string(), Some((recipe.width(), recipe.bands())))
    };
    #[cfg(not(feature = "texts"))]
    let known = (recipe.to_owned(), None);
    Ok(known)
}

/// The number of what is stored.
pub(crate) fn keys_of(storage: KeyStorage) -> nearprint_keys {
    match storage {
        KeyStorage::None => NEARPRINT_NO_KEYS,
        KeyStorage::KeysAndTexts => NEARPRINT_KEYS_AND_TEXTS,
        KeyStorage::KeysAndHashes => NEARPRINT_KEYS_AND_HASHES,
        KeyStorage::KeysAndFeatures => NEARPRINT_KEYS_AND_FEATURES,
        KeyStorage::Keys => NEARPRINT_KEYS,
    }
}

/// A width in bits; 0 is the default.
pub(crate) fn width_of(bits: u32) -> Outcome<Width> {
    Ok(if bits == 0 { Width::default() } else { Width::try_from(bits)? })
}

/// The options of new handles.
pub(crate) fn options(call: &Call, options: *const nearprint_options) -> Outcome<Options> {
    let mut made = Options::new();
    let Some(given) = call.growing(options, "options")? else { return Ok(made) };
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
    if let Some(listener) = CallerListener::new(given.on_event, given.event_context) {
        made = made.on_event(move |event| listener.tell(event));
    }
    let wait = Duration::from_millis(given.lock_wait_milliseconds);
    let made = made.merges(given.no_merges == 0).merge_rate(given.merge_bytes_per_second);
    let made = made.keep_log(given.keep_log_bytes);
    Ok(made.background_merges(given.foreground_merges == 0).lock_wait(wait))
}

/// The caller's progress function.
struct CallerProgress {
    progress: unsafe extern "C-unwind" fn(*mut c_void, i32, u64, u64) -> i32,
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
            Stage::Reading => NEARPRINT_STAGE_READING,
            Stage::Merging => NEARPRINT_STAGE_MERGING,
            Stage::Tables => NEARPRINT_STAGE_TABLES,
            Stage::Joining => NEARPRINT_STAGE_JOINING,
            Stage::Verifying => NEARPRINT_STAGE_VERIFYING,
            Stage::Copying => NEARPRINT_STAGE_COPYING,
            Stage::Answering => NEARPRINT_STAGE_ANSWERING,
            Stage::Waiting => NEARPRINT_STAGE_WAITING,
            _ => NEARPRINT_STAGE_OTHER,
        };
        // SAFETY: By the header, the function may be called from any thread with its context.
        match unsafe { (self.progress)(self.context, stage, done, total.unwrap_or(u64::MAX)) } {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

#[cfg(all(test, feature = "images", feature = "texts"))]
mod tests {
    use super::*;

    /// Any text was stored as a recipe, and met first by whoever fingerprinted texts by it.
    #[test]
    fn regression_a_recipe_is_checked() {
        let minhash: nearprint_text::Recipe = "minhash".parse().unwrap();
        let bands = minhash.bands();
        let line =
            |recipe, width, bands| checked_recipe(recipe, width, bands).map_err(|failure| failure.message);
        assert_eq!(line("minhash", Width::W256, bands), Ok(minhash.to_string()));
        assert_eq!(line("pdq", Width::W256, None), Ok("pdq".to_owned()));
        for (recipe, width, bands, why) in [
            ("bogus", Width::W64, None, "bogus"),
            ("", Width::W64, None, "recipe"),
            (
                "minhash",
                Width::W64,
                bands,
                "schema.recipe: makes fingerprints of 256 bits, and schema.width is 64",
            ),
            ("minhash", Width::W256, None, "schema.recipe: needs bands:"),
            ("pdq", Width::W64, None, "schema.recipe: makes fingerprints of 256 bits"),
            ("pdq", Width::W256, bands, "schema.recipe: needs another layout than bands in schema.layout"),
        ] {
            let told = line(recipe, width, bands).unwrap_err();
            assert!(told.contains(why), "{recipe}: {told}");
        }
    }
}
