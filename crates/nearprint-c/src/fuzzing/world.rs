//! All handles of a sequence of calls.

use std::ffi::c_void;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use crate::builder::{nearprint_builder, nearprint_builder_free, nearprint_builder_push};
use crate::database::{nearprint_database, nearprint_database_free};
use crate::deduplicator::{nearprint_deduplicator, nearprint_deduplicator_free};
use crate::error::{
    nearprint_error, nearprint_error_code, nearprint_error_free, nearprint_error_message, nearprint_error_new,
};
use crate::events::{NEARPRINT_EVENT_CLOCK, NEARPRINT_EVENT_FLUSH, nearprint_event};
use crate::fingerprinter::{nearprint_fingerprinter, nearprint_fingerprinter_free};
use crate::follower::{nearprint_follower, nearprint_follower_free};
use crate::shared::{nearprint_shared_writer, nearprint_shared_writer_free};
use crate::snapshot::{nearprint_snapshot, nearprint_snapshot_free};
use crate::status::{NEARPRINT_BUG, NEARPRINT_OK, nearprint_status};
use crate::stream::{nearprint_stream, nearprint_stream_free};
use crate::writer::{nearprint_writer, nearprint_writer_free};
use nearprint::testing::fuzzing::input::Input;

/// Calls a function with the error object of a world, checks the outcome, and returns its code.
macro_rules! call {
    ($world:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let error = $world.error;
        // SAFETY: Pointers are null, misaligned, or point to memory as long as the length with them,
        // unless that is one that no array has; the function refuses the others. Handles are alive
        // or closed. Those that were freed occur with debug assertions, which refuse them.
        let status = unsafe { $function($($argument,)* error) };
        $world.check(status, stringify!($function))
    }};
}
pub(super) use call;

/// Handles of one kind.
pub(super) struct Handles<T> {
    /// Those that are alive, and null.
    live: Vec<*mut T>,
    /// The last ones that were freed.
    freed: Vec<*mut T>,
    free: unsafe extern "C" fn(*mut T),
}

impl<T> Handles<T> {
    fn new(free: unsafe extern "C" fn(*mut T)) -> Self {
        Self { live: vec![ptr::null_mut()], freed: Vec::new(), free }
    }

    /// A handle: mostly the newest one.
    pub(super) fn pick(&self, input: &mut Input<'_>) -> *mut T {
        let newest = self.live.last().copied().unwrap_or_default();
        match input.below(16) {
            0..13 => newest,
            13 => input.pick(&self.live),
            14 if cfg!(debug_assertions) && !self.freed.is_empty() => input.pick(&self.freed),
            _ => ptr::null_mut(),
        }
    }

    /// Adds what a function made.
    pub(super) fn add(&mut self, made: *mut T, status: nearprint_status) {
        assert_eq!(made.is_null(), status != NEARPRINT_OK, "a handle exactly on success");
        if !made.is_null() {
            // A new handle may be where an old one was.
            self.freed.retain(|&freed| freed != made);
            self.live.push(made);
        }
    }

    /// Frees a handle: a live one, null, or, with debug assertions, one that was freed.
    pub(super) fn free(&mut self, input: &mut Input<'_>) {
        let handle = self.pick(input);
        // SAFETY: It came from the library or is null, and no call uses it. `pick` has one that was
        // freed only with debug assertions, which ignore it.
        unsafe { (self.free)(handle) };
        if !handle.is_null() {
            self.live.retain(|&live| live != handle);
            self.freed.retain(|&freed| freed != handle);
            self.freed.push(handle);
        }
    }
}

impl<T> Drop for Handles<T> {
    fn drop(&mut self) {
        for &handle in &self.live {
            // SAFETY: It is null or alive, and no call uses it.
            unsafe { (self.free)(handle) };
        }
    }
}

/// The context of a progress function: when it stops the work, whether it did, and a builder that it
/// tries to use.
#[derive(Default)]
pub(super) struct Watch {
    pub(super) calls_left: AtomicU64,
    pub(super) stopped: AtomicBool,
    pub(super) builder: AtomicPtr<nearprint_builder>,
}

/// A progress function for a [`Watch`].
pub(super) unsafe extern "C-unwind" fn progress(
    context: *mut c_void,
    stage: i32,
    done: u64,
    total: u64,
) -> i32 {
    assert!((0..=7).contains(&stage) && (done <= total || total == u64::MAX));
    // SAFETY: The context is the watch of a world, which outlives its handles.
    let watch = unsafe { &*context.cast::<Watch>() };
    let fingerprint = [0; 5];
    let builder = watch.builder.load(Ordering::Relaxed);
    // SAFETY: The builder is null or alive, and the array has as many words as the widest fingerprint.
    let status = unsafe {
        nearprint_builder_push(
            builder,
            fingerprint.as_ptr(),
            ptr::null(),
            1,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    assert!(status != NEARPRINT_OK, "the builder is in use");
    let left = watch.calls_left.load(Ordering::Relaxed);
    watch.calls_left.store(left.saturating_sub(1), Ordering::Relaxed);
    watch.stopped.fetch_or(left == 0, Ordering::Relaxed);
    i32::from(left == 0)
}

/// A function for events.
pub(super) unsafe extern "C-unwind" fn on_event(context: *mut c_void, event: *const nearprint_event) {
    assert!(context.is_null());
    // SAFETY: The library passes an event that lives until this function returns.
    let event = unsafe { &*event };
    let known = NEARPRINT_EVENT_FLUSH..=NEARPRINT_EVENT_CLOCK;
    assert!(known.contains(&event.kind) && event.struct_size == size_of::<nearprint_event>());
}

/// All handles, and the folder of the databases.
pub(super) struct World {
    // Handles are freed in this order, before the watch, which they may use.
    pub(super) streams: Handles<nearprint_stream>,
    pub(super) snapshots: Handles<nearprint_snapshot>,
    pub(super) writers: Handles<nearprint_writer>,
    pub(super) shared_writers: Handles<nearprint_shared_writer>,
    pub(super) deduplicators: Handles<nearprint_deduplicator>,
    pub(super) followers: Handles<nearprint_follower>,
    pub(super) builders: Handles<nearprint_builder>,
    pub(super) databases: Handles<nearprint_database>,
    pub(super) fingerprinters: Handles<nearprint_fingerprinter>,
    pub(super) error: *mut nearprint_error,
    pub(super) watch: Box<Watch>,
    pub(super) home: tempfile::TempDir,
}

impl World {
    pub(super) fn new() -> Self {
        // Nothing here has to survive, so memory is enough.
        let memory = Path::new("/dev/shm");
        let home = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Self {
            streams: Handles::new(nearprint_stream_free),
            snapshots: Handles::new(nearprint_snapshot_free),
            writers: Handles::new(nearprint_writer_free),
            shared_writers: Handles::new(nearprint_shared_writer_free),
            deduplicators: Handles::new(nearprint_deduplicator_free),
            followers: Handles::new(nearprint_follower_free),
            builders: Handles::new(nearprint_builder_free),
            databases: Handles::new(nearprint_database_free),
            fingerprinters: Handles::new(nearprint_fingerprinter_free),
            error: nearprint_error_new(),
            watch: Box::default(),
            home: home.expect("a temporary folder"),
        }
    }

    /// Checks what a call returned: no bug, and a message with each failure.
    pub(super) fn check(&self, status: nearprint_status, function: &str) -> nearprint_status {
        assert_ne!(status, NEARPRINT_BUG, "{function}: {}", self.message());
        if status != NEARPRINT_OK {
            // SAFETY: The error object is alive until the world ends.
            assert_eq!(unsafe { nearprint_error_code(self.error) }, status, "{function}");
            assert!(self.message().len() > 5, "{function}: {}", self.message());
        }
        status
    }

    fn message(&self) -> String {
        // SAFETY: The error object is alive, and its message ends with a null byte.
        let message =
            unsafe { std::ffi::CStr::from_ptr(nearprint_error_message(self.error, ptr::null_mut())) };
        message.to_str().expect("a message in UTF-8").to_owned()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // SAFETY: The error object came from the library, and no call follows.
        unsafe { nearprint_error_free(self.error) };
    }
}
