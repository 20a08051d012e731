//! The library through its public API, compared with brute force.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

#[path = "../common/mod.rs"]
mod common;

mod backup;
mod cross;
mod damage;
mod engine;
mod ingest;
mod keys;
mod living;
mod repair;
mod rooms;
mod wide;
mod wide_damage;
