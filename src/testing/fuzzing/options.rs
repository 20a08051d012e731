//! What all targets open databases with.

use crate::options::Options;
use crate::util::random::fixed::fix_ids;

/// Options for databases of a few hundred rows: one thread, and few operations per run.
pub(super) fn options() -> Options {
    fix_ids();
    let options = Options::new().threads(1).background_merges(false).deferred_flushes();
    options.memory_bytes(1 << 20).memtable_rows(64)
}
