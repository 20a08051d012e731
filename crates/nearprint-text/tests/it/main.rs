//! Documents and deduplication through the public API.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

mod compression;
mod dedup;
mod documents;
mod exact;
mod featureless;
mod killed;
mod passages;
mod real_texts;
#[cfg(unix)]
mod restart;
#[cfg(feature = "parquet")]
mod shards;
mod stored;
