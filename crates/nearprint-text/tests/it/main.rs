//! Documents and deduplication through the public API.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

mod compression;
mod dedup;
mod documents;
mod encodings;
mod exact;
mod featureless;
mod killed;
mod passages;
mod ranked;
mod real_texts;
#[cfg(unix)]
mod restart;
#[cfg(feature = "parquet")]
mod shards;
mod stored;
mod trim;

/// Removes lines of so many words or more.
fn by_line(length: usize) -> nearprint_text::dedup::TrimRules {
    let mut rules = nearprint_text::dedup::TrimRules::new(nearprint_text::dedup::Unit::Line);
    rules.length = Some(length);
    rules
}

/// What stands in for a module of tests that Windows cannot run.
#[cfg(windows)]
mod not_on_windows {
    #[test]
    #[ignore = "has pipes, and folders that nobody may write to"]
    fn restart() {}
}
