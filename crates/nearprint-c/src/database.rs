//! Databases: create, open, verify.

use std::ffi::{c_char, c_void};

use nearprint::AnyDatabase;

use crate::call::Call;
use crate::error::{DamageTexts, Outcome, nearprint_damage, nearprint_error};
use crate::growing::Growing;
use crate::handle::{self, Handle};
use crate::settings::{self, nearprint_options, nearprint_schema};
use crate::status::nearprint_status;
use crate::text::stopped;

/// An open database: its path and its options. Read it through a nearprint_snapshot, change it
/// through a nearprint_writer.
pub struct nearprint_database {
    pub(crate) inner: AnyDatabase,
}

impl Handle for nearprint_database {
    const NAME: &'static str = "nearprint_database";
}

/// The result of nearprint_database_verify().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nearprint_verification {
    /// The size of this structure in the header of the program: nearprint_verification_init() sets it.
    pub struct_size: usize,
    /// The number of checked files.
    pub files: u64,
    /// The bytes of the files that could be opened.
    pub bytes: u64,
    /// The number of damaged places; 0 for a sound database.
    pub damaged: u64,
}

// SAFETY: The size is the first field; the others are numbers.
unsafe impl Growing for nearprint_verification {
    const NAME: &'static str = "nearprint_verification";
    const FIRST_SIZE: usize = size_of::<Self>();
    const DEFAULT: Self = Self { struct_size: size_of::<Self>(), files: 0, bytes: 0, damaged: 0 };
}

/// Receives a damaged place. Its strings live until the function returns. Another value than 0 ends
/// the list: the call returns NEARPRINT_STOPPED, with all counts.
pub type nearprint_damage_fn =
    Option<unsafe extern "C-unwind" fn(context: *mut c_void, damage: *const nearprint_damage) -> i32>;

/// Makes an empty database and opens it. The path must not exist, or be an empty folder.
///
/// `schema` and `options` may be null for the defaults. `database` receives the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_database_create(
    path: *const c_char,
    path_len: usize,
    schema: *const nearprint_schema,
    options: *const nearprint_options,
    database: *mut *mut nearprint_database,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let database = call.new_handle(database, "database")?;
        let path = call.path(path, path_len)?;
        let (width, schema) = settings::schema(call, schema)?;
        let options = settings::options(call, options)?;
        let inner = options.create_any(path, width, &schema)?;
        database.give(nearprint_database { inner });
        Ok(())
    })
}

/// Opens a database, or makes an empty one if there is none at the path. A database that exists keeps its own settings:
/// `schema` is only for a new one. Of several processes that begin together one makes it, and the others open it.
///
/// `schema` and `options` may be null for the defaults. `database` receives the handle. NEARPRINT_MISMATCH if the
/// database has another width than the schema; NEARPRINT_NOT_A_DATABASE if something else is at the path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_open_or_create(
    path: *const c_char,
    path_len: usize,
    schema: *const nearprint_schema,
    options: *const nearprint_options,
    database: *mut *mut nearprint_database,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let database = call.new_handle(database, "database")?;
        let path = call.path(path, path_len)?;
        let (width, schema) = settings::schema(call, schema)?;
        let options = settings::options(call, options)?;
        let inner = options.open_or_create_any(path, width, &schema)?;
        database.give(nearprint_database { inner });
        Ok(())
    })
}

/// Opens a database. Reads a few pages, whatever the size.
///
/// `options` may be null for the defaults. `database` receives the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_database_open(
    path: *const c_char,
    path_len: usize,
    options: *const nearprint_options,
    database: *mut *mut nearprint_database,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let database = call.new_handle(database, "database")?;
        let path = call.path(path, path_len)?;
        let inner = settings::options(call, options)?.open_any(path)?;
        database.give(nearprint_database { inner });
        Ok(())
    })
}

/// The width of the fingerprints in bits: 64, 128, 256 or 320. A fingerprint has width / 64 words.
/// Returns 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_database_width(database: *const nearprint_database) -> u32 {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(std::ptr::null_mut()) };
    call.handle(database, "database").map_or(0, |database| database.inner.width().bits())
}

/// Reads and checks every byte of a database. Damage is not a failure: `verification` counts it, and
/// `visit` receives each place. `visit` may be null. The last commit of a log counts as never written if it
/// is not whole, as a killed writer may leave it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_database_verify(
    database: *const nearprint_database,
    verification: *mut nearprint_verification,
    visit: nearprint_damage_fn,
    context: *mut c_void,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let verification = call.growing_output(verification, "verification")?;
        let report = call.handle(database, "database")?.inner.verify()?;
        let damaged = report.damage.len() as u64;
        verification.set(nearprint_verification {
            files: report.files,
            bytes: report.bytes,
            damaged,
            ..nearprint_verification::DEFAULT
        });
        let Some(visit) = visit else { return Ok(()) };
        report.damage.iter().try_for_each(|damage| -> Outcome {
            let texts = DamageTexts::new(damage);
            let damage = texts.view();
            // SAFETY: By the header, the function accepts its context and a structure that lives
            // until it returns.
            stopped("visit", unsafe { visit(context, &raw const damage) })
        })
    })
}

/// Frees the handle. Handles that came from it live on. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_database_free(database: *mut nearprint_database) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(database) }
}
