//! What all fuzz targets share: memory that is refused in large pieces.

use std::alloc::{GlobalAlloc, Layout, System};

/// No input is larger than a few hundred KiB, so nothing that is held for it may be.
const LARGEST: usize = 32 << 20;

/// The system's memory, except that asking for a very large piece ends the process: a length from a file
/// was believed.
struct Bounded;

#[global_allocator]
static BOUNDED: Bounded = Bounded;

fn check(bytes: usize) {
    if bytes > LARGEST {
        // A panic would ask for memory itself, and could be caught.
        eprintln!("{bytes} bytes asked for at once");
        std::process::abort();
    }
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check(layout.size());
        // SAFETY: the caller keeps what `alloc` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        check(layout.size());
        // SAFETY: the caller keeps what `alloc_zeroed` asks for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        check(size);
        // SAFETY: the caller keeps what `realloc` asks for, and the piece is the system's.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps what `dealloc` asks for, and the piece is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}
