//! Tests of the tests: in unit tests, and in programs under `--cfg sabotage`, the syncs of one kind of file can
//! be disabled by name, and the test suite must fail. Ordinary builds contain none of this. See
//! `tests/sabotage.sh`.

/// The measures that `NEARPRINT_SABOTAGE=NAME` can disable, one at a time.
#[cfg(any(test, sabotage))]
pub(crate) const MEASURES: [&str; 3] = ["wal-sync", "run-sync", "manifest-sync"];

/// Whether a measure is disabled.
#[cfg(any(test, sabotage))]
pub(crate) fn skips(measure: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    debug_assert!(MEASURES.contains(&measure), "{measure} is on the list");
    CHOSEN.get_or_init(|| std::env::var("NEARPRINT_SABOTAGE").ok()).as_deref() == Some(measure)
}

/// Whether a measure is disabled: always false in ordinary builds.
#[cfg(not(any(test, sabotage)))]
#[inline]
pub(crate) const fn skips(_measure: &str) -> bool {
    false
}
