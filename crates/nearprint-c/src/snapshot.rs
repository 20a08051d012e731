//! Reading: snapshots, and what they report of themselves.

use std::ffi::c_char;
use std::mem::offset_of;

use nearprint::any::AnySnapshot;

use crate::call::Call;
use crate::database::nearprint_database;
use crate::error::{Failure, nearprint_error};
use crate::growing::Growing;
use crate::handle::{self, Handle};
use crate::settings::{self, NEARPRINT_NO_KEYS, nearprint_keys};
use crate::status::{NEARPRINT_MISMATCH, nearprint_status};

/// A database as it stood at one moment. Any number of threads may use it at once.
pub struct nearprint_snapshot {
    /// Without keys: the columns of a single query outlive them.
    pub(crate) inner: AnySnapshot,
    has_keys: bool,
}

impl nearprint_snapshot {
    /// A snapshot whose streams have keys or not.
    pub(crate) fn new(inner: AnySnapshot, has_keys: bool) -> Self {
        Self { inner, has_keys }
    }

    /// What streams are made of.
    pub(crate) fn streamed(&self) -> AnySnapshot {
        let inner = self.inner.clone();
        if self.has_keys { inner.with_keys() } else { inner }
    }

    /// The number of words of a fingerprint.
    pub(crate) fn words(&self) -> usize {
        self.inner.width().words()
    }
}

impl Handle for nearprint_snapshot {
    const NAME: &'static str = "nearprint_snapshot";
}

/// Counts and sizes of a database.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nearprint_stats {
    /// The size of this structure in the header of the program: nearprint_stats_init() sets it.
    pub struct_size: usize,
    /// The width of the fingerprints in bits.
    pub width: u32,
    /// The distance that the layout is tuned for.
    pub k: u32,
    /// Rows of all runs and logs. Deleted and repeated rows count until a merge removes them.
    pub rows: u64,
    /// Distinct fingerprints of each run and of the logs, added up.
    pub fingerprints: u64,
    /// Deleted ids that runs still store.
    pub tombstones: u64,
    /// The largest id ever stored; 0 if there was none.
    pub largest_id: u64,
    /// The version of the manifest; each change adds one.
    pub generation: u64,
    /// The number of runs on disk. The rows of the logs are in none.
    pub runs: u64,
    /// Bytes of all files: the manifest, runs, identities of ingested runs, and logs.
    pub bytes: u64,
    /// Rows that queries find, where that is known without reading them; UINT64_MAX otherwise.
    pub live_rows: u64,
    /// How long rows live, in milliseconds; 0 where they do not expire.
    pub expire_after_milliseconds: u64,
    /// What is stored beside rows.
    pub keys: nearprint_keys,
    /// 1 if rows of the snapshot have expired since it was taken, 0 otherwise.
    pub has_expired: i32,
}

// SAFETY: The size is the first field; the others are numbers.
unsafe impl Growing for nearprint_stats {
    const NAME: &'static str = "nearprint_stats";
    const FIRST_SIZE: usize = offset_of!(Self, live_rows);
    const DEFAULT: Self = Self {
        struct_size: size_of::<Self>(),
        width: 0,
        k: 0,
        rows: 0,
        fingerprints: 0,
        tombstones: 0,
        largest_id: 0,
        generation: 0,
        runs: 0,
        bytes: 0,
        live_rows: 0,
        expire_after_milliseconds: 0,
        keys: NEARPRINT_NO_KEYS,
        has_expired: 0,
    };
}

/// Takes a snapshot: everything that was committed so far in any process. `snapshot` receives the
/// handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_take(
    database: *const nearprint_database,
    snapshot: *mut *mut nearprint_snapshot,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let snapshot = call.new_handle(snapshot, "snapshot")?;
        snapshot.give(nearprint_snapshot::new(call.handle(database, "database")?.inner.snapshot()?, false));
        Ok(())
    })
}

/// Takes a snapshot of what the same database has committed by now, also of a snapshot that a writer gave with
/// uncommitted rows. Reuses open files, so it costs little if little has changed. `newer` receives a handle of its
/// own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_refresh(
    snapshot: *const nearprint_snapshot,
    newer: *mut *mut nearprint_snapshot,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let newer = call.new_handle(newer, "newer")?;
        let snapshot = call.handle(snapshot, "snapshot")?;
        newer.give(nearprint_snapshot::new(snapshot.inner.refresh()?, snapshot.has_keys));
        Ok(())
    })
}

/// Frees the handle. Streams that came from it live on. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_free(snapshot: *mut nearprint_snapshot) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(snapshot) }
}

/// Counts and sizes. Reads nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_stats(
    snapshot: *const nearprint_snapshot,
    stats: *mut nearprint_stats,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let inner = &call.handle(snapshot, "snapshot")?.inner;
        let found = inner.stats();
        let lifetime = found.lifetime.map_or(0, |(lifetime, _)| lifetime.as_millis());
        call.growing_output(stats, "stats")?.set(nearprint_stats {
            width: found.width.bits(),
            k: found.k,
            rows: found.rows,
            fingerprints: found.fingerprints,
            tombstones: found.tombstones,
            largest_id: found.largest_id.unwrap_or(0),
            generation: found.generation,
            runs: found.runs.len() as u64,
            bytes: found.bytes,
            live_rows: found.live_rows.unwrap_or(u64::MAX),
            expire_after_milliseconds: u64::try_from(lifetime).unwrap_or(u64::MAX),
            keys: settings::keys_of(found.keys),
            has_expired: i32::from(inner.has_expired()),
            ..nearprint_stats::DEFAULT
        });
        Ok(())
    })
}

/// The layout of the database as text, as its schema had it: `auto`, `fast`, `small`, `rotations:T`,
/// `blocks:M,S` or `bands:BxN`. nearprint_snapshot_explain() has what `auto` stands for.
///
/// At most `capacity` bytes are written to `buffer`, without a null byte. `len` receives the whole
/// length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_layout(
    snapshot: *const nearprint_snapshot,
    buffer: *mut c_char,
    capacity: usize,
    len: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe {
        describe(snapshot, (buffer, capacity), len, error, |snapshot| snapshot.stats().layout.to_string())
    }
}

/// The recipe of the fingerprints; empty if the database stores none. The buffer is as in
/// nearprint_snapshot_layout().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_recipe(
    snapshot: *const nearprint_snapshot,
    buffer: *mut c_char,
    capacity: usize,
    len: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe {
        describe(snapshot, (buffer, capacity), len, error, |snapshot| {
            snapshot.recipe().unwrap_or_default().to_string()
        })
    }
}

/// How queries at `k` are answered, at what cost and why, as text for people. The buffer is as in
/// nearprint_snapshot_layout().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_explain(
    snapshot: *const nearprint_snapshot,
    k: u32,
    buffer: *mut c_char,
    capacity: usize,
    len: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { describe(snapshot, (buffer, capacity), len, error, |snapshot| snapshot.explain(k).to_string()) }
}

/// Copies the database as the snapshot has it to a new path, which must not exist, or be an empty
/// folder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_backup(
    snapshot: *const nearprint_snapshot,
    path: *const c_char,
    path_len: usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        Ok(snapshot.inner.backup(call.path(path, path_len)?)?)
    })
}

/// The Jaccard similarity of two texts whose MinHash sketches differ in `distance` bits, as they
/// suggest it: 0 to 1. NEARPRINT_MISMATCH for a database without bands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_similarity_of(
    snapshot: *const nearprint_snapshot,
    distance: u32,
    similarity: *mut f64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let found = call.handle(snapshot, "snapshot")?.inner.similarity_of(distance);
        call.output(similarity, "similarity")?.set(found.ok_or_else(no_bands)?);
        Ok(())
    })
}

/// The distance to query with for texts from a Jaccard similarity of 0 to 1 on. It is less than such texts
/// have on average, so that few less similar ones are found, and some are missed: texts decide exactly,
/// with nearprint_snapshot_find_text(). NEARPRINT_MISMATCH for a database without bands, NEARPRINT_INVALID_ARGUMENT for
/// another number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_distance_of(
    snapshot: *const nearprint_snapshot,
    similarity: f64,
    distance: *mut u32,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        if !(0.0..=1.0).contains(&similarity) {
            return Err(Failure::argument("similarity", format_args!("{similarity} is not from 0 to 1")));
        }
        let found = call.handle(snapshot, "snapshot")?.inner.distance_of(similarity);
        call.output(distance, "distance")?.set(found.ok_or_else(no_bands)?);
        Ok(())
    })
}

fn no_bands() -> Box<Failure> {
    Failure::new(NEARPRINT_MISMATCH, "snapshot: only fingerprints with bands estimate a similarity")
}

/// Writes a text about a snapshot into the caller's buffer.
///
/// # Safety
/// As [`Call::of`].
unsafe fn describe(
    snapshot: *const nearprint_snapshot,
    buffer: (*mut c_char, usize),
    len: *mut usize,
    error: *mut nearprint_error,
    text: impl FnOnce(&AnySnapshot) -> String,
) -> nearprint_status {
    // SAFETY: As this function demands.
    unsafe { Call::of(error) }
        .run(|call| call.write_text(&text(&call.handle(snapshot, "snapshot")?.inner), buffer, len))
}
