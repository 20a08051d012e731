//! Whole commands: what they print, and how they end.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

mod actions;
mod answers;
mod chosen;
mod cli;
mod commands;
#[cfg(feature = "parquet")]
mod conversions;
mod copies;
#[cfg(all(feature = "images", feature = "parquet"))]
mod corpus;
mod decontaminate;
mod dedup;
mod dedup_killed;
mod documents;
#[cfg(all(unix, feature = "images"))]
mod examples;
mod featureless;
mod fields;
mod files;
mod formats;
mod hostile;
mod html;
mod identity;
mod ingest;
mod jobs;
mod keys;
mod kinds;
mod left_out;
mod living;
mod minhash;
mod other_programs;
mod outcomes;
mod outputs;
mod pairs;
#[cfg(feature = "images")]
mod pictures;
mod pipes;
#[cfg(unix)]
mod pre;
#[cfg(feature = "parquet")]
mod records;
mod report;
mod scan;
#[cfg(unix)]
mod signals;
mod simhash_cpp;
mod similar;
mod stats;
mod streams;
mod summaries;
mod text;
mod trim;
mod tune;
mod widths;
#[cfg(windows)]
mod windows;

/// What stands in for a module of tests that Windows cannot run.
#[cfg(windows)]
mod not_on_windows {
    #[test]
    #[ignore = "runs scripts of a shell"]
    fn examples() {}

    #[test]
    #[ignore = "runs scripts of a shell"]
    fn pre() {}

    #[test]
    #[ignore = "sends signals"]
    fn signals() {}
}
