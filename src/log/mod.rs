//! Durable changes: the write-ahead log, and the manifest that names the live files.

pub(crate) mod manifest;
pub(crate) mod wal;
