//! If memory ends, an error with a message instead of an abort.
//!
//! A limit such as `ulimit -v` can end memory in any allocation, most of them in libraries. What a
//! process leaves behind then is what a kill leaves, and the next one deals with it. Allocations of the C
//! library itself do not come here: it aborts, with a message of its own, if a new thread cannot have a few bytes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::terminal::failure;

/// The allocator of the system, with an error instead of a null pointer. For programs only: it ends
/// the process.
#[derive(Debug)]
pub struct Allocator;

// SAFETY: each call goes to the allocator of the system unchanged, and returns what it returned.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is the contract of the system's allocator.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn checked(allocated: *mut u8, size_bytes: usize) -> *mut u8 {
    if allocated.is_null() {
        fail(size_bytes);
    }
    allocated
}

/// Ends the process. Standard error has no buffer, so that the message needs no memory.
#[cold]
fn fail(size_bytes: usize) {
    thread_local! {
        static HAS_FAILED: Cell<bool> = const { Cell::new(false) };
    }
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    // What the end of the process itself cannot have aborts as usual.
    if HAS_FAILED.replace(true) {
        return;
    }
    if IS_ENDING.swap(true, Ordering::Relaxed) {
        // Another thread ends the process.
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    let _ = writeln!(std::io::stderr(), "nearprint: out of memory: {size_bytes} bytes cannot be had");
    std::process::exit(i32::from(failure::FAILED));
}
