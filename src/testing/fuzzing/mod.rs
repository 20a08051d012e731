//! The bodies of the fuzz targets in `fuzz/`: one function over bytes for each target.
//!
//! All work is in memory, on one thread and with predictable ids, so that an input always has the
//! same effect. A function panics if the engine breaks a guarantee. Errors of the engine are
//! allowed.

mod files;
mod hostile;
mod input;
pub(super) mod log;
mod manifests;
mod model;
mod oracle;
mod queries;
#[cfg(test)]
mod replay;

pub use hostile::{merge_hostile, open_database, segment_open_query};
pub use log::wal_replay;
pub use manifests::manifest;
pub use model::model_ops;
pub use queries::query_vs_scan;

use crate::options::Options;
use crate::util::random::fixed::fix_ids;

/// Options for databases of a few hundred rows: one thread, and few operations per run.
fn options() -> Options {
    fix_ids();
    Options::new().threads(1).background_merges(false).memory_bytes(1 << 20).memtable_rows(64)
}

#[cfg(test)]
mod tests {
    use super::replay::Target;
    use super::*;

    const TARGETS: &[Target] = &[
        Target { name: "manifest", call: manifest, inputs: 2000, seeds: manifests::seeds },
        Target { name: "wal_replay", call: wal_replay, inputs: 1000, seeds: log::seeds },
        Target { name: "segment_open_query", call: segment_open_query, inputs: 500, seeds: replay::noises },
        Target { name: "open_database", call: open_database, inputs: 200, seeds: replay::noises },
        Target { name: "model_ops", call: model_ops, inputs: 150, seeds: replay::noises },
        Target { name: "merge_hostile", call: merge_hostile, inputs: 200, seeds: replay::noises },
        Target { name: "query_vs_scan", call: query_vs_scan, inputs: 200, seeds: replay::noises },
    ];

    #[test]
    fn every_seed_passes() {
        TARGETS.iter().for_each(Target::replay_seeds);
    }

    #[test]
    fn seeds_with_a_few_bytes_changed_pass() {
        TARGETS.iter().for_each(Target::replay_changed_seeds);
    }

    #[test]
    fn pseudo_random_inputs_pass() {
        TARGETS.iter().for_each(Target::replay_noise);
    }

    #[test]
    fn every_target_has_seeds() {
        TARGETS.iter().for_each(Target::has_seeds);
    }
}
