//! What all fuzz targets share: an allocator that rejects large allocations, and their seeds.

/// Defines a fuzz target. With `NEARPRINT_SEEDS`, it writes its seeds before libFuzzer reads its corpus.
#[macro_export]
macro_rules! target {
    ($target:expr) => {
        use $crate as _;
        libfuzzer_sys::fuzz_target!(init: $target.write_seeds(), |data: &[u8]| ($target.call)(data));
    };
}

use std::alloc::{GlobalAlloc, Layout, System};

/// The largest allocation. Inputs have at most a few hundred KiB, so none needs more.
const LARGEST: usize = 32 << 20;

/// The system's allocator with a limit. A larger request ends the process: it means that the engine
/// trusted a length from a file.
struct Bounded;

#[global_allocator]
static BOUNDED: Bounded = Bounded;

fn check(bytes: usize) {
    if bytes > LARGEST {
        // A panic would allocate, and could be caught.
        eprintln!("{bytes} bytes asked for at once");
        std::process::abort();
    }
}

// SAFETY: every call is forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check(layout.size());
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        check(layout.size());
        // SAFETY: the caller upholds the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        check(size);
        // SAFETY: the caller upholds the contract of `realloc`, and the memory is the system's.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`, and the memory is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}
