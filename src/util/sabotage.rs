//! Tests of the tests: with the feature `sabotage`, one safety measure can be switched off by name, and
//! the test suite has to notice. Without the feature nothing of this is compiled in.

/// The measures that can be switched off, one at a time, with `NEARPRINT_SABOTAGE=NAME`.
#[cfg(sabotage)]
pub(crate) const MEASURES: [&str; 6] =
    ["wal-sync", "run-sync", "manifest-sync", "folder-sync", "page-check", "table"];

/// Whether a measure is switched off.
#[cfg(sabotage)]
pub(crate) fn skips(measure: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    debug_assert!(MEASURES.contains(&measure), "{measure} is on the list");
    CHOSEN.get_or_init(|| std::env::var("NEARPRINT_SABOTAGE").ok()).as_deref() == Some(measure)
}

/// Whether a measure is switched off: never.
#[cfg(not(sabotage))]
#[inline]
pub(crate) const fn skips(_measure: &str) -> bool {
    false
}
