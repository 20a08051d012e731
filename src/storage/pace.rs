//! Writing at a limited rate.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Spreads writes over time. What was not written in the past is not made up for.
#[derive(Debug)]
pub(super) struct Pace {
    bytes_per_second: u64,
    /// When the next write may begin.
    free_at: Mutex<Option<Instant>>,
}

impl Pace {
    pub(super) fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second, free_at: Mutex::new(None) }
    }

    /// Waits until so many bytes may be written.
    pub(super) fn wait_for(&self, bytes: usize) {
        std::thread::sleep(self.reserve(Instant::now(), bytes));
    }

    /// Reserves the time of a write. Returns how long to wait before it.
    fn reserve(&self, now: Instant, bytes: usize) -> Duration {
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let start = free_at.map_or(now, |free_at| free_at.max(now));
        *free_at = Some(start + Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64));
        start - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_as_far_apart_as_their_lengths() {
        let (pace, now, second) = (Pace::new(1000), Instant::now(), Duration::from_secs(1));
        assert_eq!(pace.reserve(now, 2000), Duration::ZERO, "the first one");
        assert_eq!(pace.reserve(now, 500), 2 * second);
        assert_eq!(pace.reserve(now + second, 500), second + second / 2);
        assert_eq!(pace.reserve(now + 100 * second, 7000), Duration::ZERO, "after a pause");
        assert_eq!(pace.reserve(now + 100 * second, 1), 7 * second, "and no more than one");
    }
}
