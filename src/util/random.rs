//! Random numbers, and identities of databases and runs.

use crate::error::{Error, Result};

/// Returns 128 bits from the system's random number generator.
pub(crate) fn random_id() -> Result<[u8; 16]> {
    #[cfg(any(test, feature = "fuzzing"))]
    if let Some(id) = fixed::next_id() {
        return Ok(id);
    }
    random_bytes()
}

/// Returns bytes from the system's random number generator.
///
/// # Errors
/// Those of the system.
pub fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::io("read", "the system's random numbers")(std::io::Error::other(error.to_string()))
    })?;
    Ok(bytes)
}

/// Predictable ids for tests and fuzzing.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fixed {
    use std::cell::Cell;

    thread_local! {
        static NEXT_ID: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// Makes all further ids of this thread predictable.
    pub(crate) fn fix_ids() {
        NEXT_ID.set(Some(0xa0));
    }

    /// Returns distinct ids. Up to number 0xff each is one byte repeated 16 times.
    pub(super) fn next_id() -> Option<[u8; 16]> {
        let number = NEXT_ID.get()?;
        NEXT_ID.set(Some(number + 1));
        let [low, high @ ..] = number.to_le_bytes();
        let mut id = [low; 16];
        id.iter_mut().zip(high).for_each(|(byte, more)| *byte ^= more);
        Some(id)
    }
}
