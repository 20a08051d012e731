//! Dates.

use std::fmt;

use nearprint::internal::Utc;
use serde::{Deserialize, Serialize};

/// A time in UTC, in seconds since 1970. It prints as `2026-11-24 23:50 UTC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UtcTime(u64);

impl UtcTime {
    pub(crate) fn now() -> Self {
        Self(Utc::now().0)
    }

    /// Seconds since the beginning of 1970, without leap seconds.
    #[must_use]
    pub fn seconds(self) -> u64 {
        self.0
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Utc(self.0).fmt(f)
    }
}
