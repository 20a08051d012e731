//! Documents and recipes through the public API.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

mod documents;
