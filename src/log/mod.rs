//! What makes changes durable: the write-ahead log, and the manifest that names what is live.

pub(crate) mod manifest;
pub(crate) mod wal;
