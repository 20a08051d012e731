//! Whole commands: what they print, and how they end.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

#[cfg(unix)]
mod actions;
mod answers;
mod cli;
mod commands;
mod cross;
mod decontaminate;
mod dedup;
mod dedup_killed;
mod documents;
#[cfg(unix)]
mod examples;
mod featureless;
mod fields;
mod files;
mod formats;
#[cfg(unix)]
mod hostile;
mod ingest;
mod keys;
mod living;
mod minhash;
mod outcomes;
#[cfg(unix)]
mod outputs;
mod pictures;
mod pipes;
mod report;
#[cfg(unix)]
mod scan;
mod simhash_cpp;
mod similar;
mod stats;
#[cfg(unix)]
mod streams;
mod text;
mod tune;
mod units;
mod widths;
#[cfg(windows)]
mod windows;

/// What stands in for modules of tests that Windows cannot run.
#[cfg(windows)]
mod not_on_windows {
    #[test]
    #[ignore = "compares modes, and paths with slashes"]
    fn actions() {}

    #[test]
    #[ignore = "runs scripts of a shell"]
    fn examples() {}

    #[test]
    #[ignore = "needs other users, limits of processes and /dev/full"]
    fn hostile() {}

    #[test]
    #[ignore = "needs links, mode bits and /dev/full"]
    fn outputs() {}

    #[test]
    #[ignore = "needs links and named pipes, and compares paths with slashes"]
    fn scan() {}

    #[test]
    #[ignore = "runs lines of a shell"]
    fn streams() {}
}
