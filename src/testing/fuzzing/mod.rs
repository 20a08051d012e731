//! The bodies of the fuzz targets in `fuzz/`: one function over bytes for each target.
//!
//! All work is in memory, on one thread and with predictable ids, so that an input always has the
//! same effect. A function panics if the engine breaks a guarantee. Errors of the engine are
//! allowed.

mod answers;
mod files;
mod hostile;
pub mod input;
pub(super) mod log;
mod manifests;
mod model;
mod options;
mod oracle;
mod plain;
mod queries;
pub mod replay;

use self::replay::Target;

/// The targets of the engine.
pub const MANIFEST: Target =
    Target { name: "manifest", call: manifests::manifest, inputs: 2000, seeds: manifests::seeds };
pub const WAL_REPLAY: Target =
    Target { name: "wal_replay", call: log::wal_replay, inputs: 1000, seeds: log::seeds };
pub const ANSWERS: Target =
    Target { name: "answers", call: answers::answers, inputs: 1000, seeds: answers::seeds };
pub const SEGMENT_OPEN_QUERY: Target = of_noise("segment_open_query", hostile::segment_open_query, 500);
pub const OPEN_DATABASE: Target = of_noise("open_database", hostile::open_database, 200);
pub const MODEL_OPS: Target = of_noise("model_ops", model::model_ops, 150);
pub const MERGE_HOSTILE: Target = of_noise("merge_hostile", hostile::merge_hostile, 200);
pub const QUERY_VS_SCAN: Target = of_noise("query_vs_scan", queries::query_vs_scan, 200);

/// A target that accepts any bytes.
const fn of_noise(name: &'static str, call: fn(&[u8]), inputs: u64) -> Target {
    Target { name, call, inputs, seeds: replay::noises }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_pass() {
        MANIFEST.replay();
    }

    #[test]
    fn logs_pass() {
        WAL_REPLAY.replay();
    }

    #[test]
    fn answers_equal_those_of_another_reader() {
        ANSWERS.replay();
    }

    #[test]
    fn damaged_segments_pass() {
        SEGMENT_OPEN_QUERY.replay();
    }

    #[test]
    fn damaged_databases_pass() {
        OPEN_DATABASE.replay();
    }

    #[test]
    fn operations_equal_the_model() {
        MODEL_OPS.replay();
    }

    #[test]
    fn merges_of_damaged_runs_pass() {
        MERGE_HOSTILE.replay();
    }

    #[test]
    fn queries_equal_a_scan() {
        QUERY_VS_SCAN.replay();
    }
}
