//! The memory that pictures take on all threads together.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What is decoded at the same time, in bytes.
const BUDGET_BYTES: u64 = 256 << 20;

/// Lets pictures in as long as there is memory. A picture that needs all of it waits until it is alone.
#[derive(Debug)]
pub(super) struct MemoryGate {
    left_bytes: Mutex<u64>,
    freed: Condvar,
}

impl Default for MemoryGate {
    fn default() -> Self {
        Self { left_bytes: Mutex::new(BUDGET_BYTES), freed: Condvar::new() }
    }
}

/// Memory that is taken until this is dropped.
#[derive(Debug)]
pub(super) struct Share<'a> {
    gate: &'a MemoryGate,
    bytes: u64,
}

impl MemoryGate {
    /// Waits for memory.
    pub(super) fn enter(&self, bytes: u64) -> Share<'_> {
        let bytes = bytes.min(BUDGET_BYTES);
        let mut left = self.left();
        while *left < bytes {
            left = self.freed.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
        *left -= bytes;
        Share { gate: self, bytes }
    }

    /// A number has no half-made states.
    fn left(&self) -> MutexGuard<'_, u64> {
        self.left_bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        *self.gate.left() += self.bytes;
        self.gate.freed.notify_all();
    }
}
