//! The library through its public API, compared with brute force.
//!
//! Tests are functions generic over the fingerprint; `for_each_width!` makes one test per width of
//! each. `NEARPRINT_FULL=1` runs the tests that have a short form in full.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

mod any;
mod backup;
mod bands;
mod blocks;
mod builds;
mod cross;
mod damage;
mod events;
mod forge;
mod hostile;
mod ingest;
mod joins;
mod keys;
mod left_out;
mod living;
mod pairs_of_features;
mod progress;
mod queries;
mod repair;
mod repair_log;
mod repair_support;
mod shared;
mod streams;
mod upserts;
mod widths;
