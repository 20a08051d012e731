//! Durable changes: the write-ahead log, and the manifest that names the live files.

mod leftovers;
pub(crate) mod manifest;
pub(crate) mod wal;
