//! What the fuzz targets in `fuzz/` call: one function for each, over plain bytes.
//!
//! Everything happens in memory, on one thread, with known ids, so that an input always does the same. A
//! function panics where the engine breaks a promise, and so does the engine itself; errors are fine.

#[cfg(feature = "cli")]
mod documents;
mod files;
mod hostile;
mod input;
mod log;
mod manifests;
mod model;
mod oracle;
mod queries;
#[cfg(feature = "cli")]
mod text;

#[cfg(feature = "cli")]
pub use documents::documents;
pub use hostile::{merge_hostile, open_database, segment_open_query};
pub use log::wal_replay;
pub use manifests::manifest;
pub use model::model_ops;
pub use queries::query_vs_scan;
#[cfg(feature = "cli")]
pub use text::import_text;

use crate::manifest::fixed::fix_ids;
use crate::options::Options;

/// Settings for databases of a few hundred rows: one thread, and few operations to a run.
fn options() -> Options {
    fix_ids();
    Options::new().threads(1).background_merges(false).memory_bytes(1 << 20).memtable_rows(64)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::fingerprint::mix64;

    type Target = fn(&[u8]);

    /// Each target with the number of pseudo-random inputs it is given here.
    const TARGETS: &[(&str, Target, u64)] = &[
        ("manifest", manifest, 2000),
        ("wal_replay", wal_replay, 1000),
        ("segment_open_query", segment_open_query, 500),
        ("open_database", open_database, 200),
        ("model_ops", model_ops, 150),
        ("merge_hostile", merge_hostile, 200),
        #[cfg(feature = "cli")]
        ("import_text", import_text, 2000),
        #[cfg(feature = "cli")]
        ("documents", documents, 2000),
        ("query_vs_scan", query_vs_scan, 200),
    ];

    fn corpus(target: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target)
    }

    /// The committed seeds of a target; none in a package, which comes without them.
    fn seeds(target: &str) -> Vec<Vec<u8>> {
        let Ok(folder) = fs::read_dir(corpus(target)) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.iter().map(|path| fs::read(path).unwrap()).collect()
    }

    fn noise(seed: u64, len: u64) -> Vec<u8> {
        (0..len.div_ceil(8)).flat_map(|word| mix64(mix64(seed) + word).to_le_bytes()).collect()
    }

    #[test]
    fn every_seed_passes() {
        for (name, target, _) in TARGETS {
            seeds(name).iter().for_each(|seed| target(seed));
        }
    }

    #[test]
    fn seeds_with_a_few_bytes_changed_pass() {
        for (name, target, count) in TARGETS {
            let seeds = seeds(name);
            for (turn, seed) in (0..count / 4).zip(seeds.iter().cycle()) {
                let mut changed = seed.clone();
                for change in 0..1 + turn % 4 {
                    let random = mix64(turn << 8 | change);
                    if let Some(place) = usize::try_from(random >> 8).unwrap().checked_rem(changed.len()) {
                        changed[place] = random.to_le_bytes()[0];
                    }
                }
                target(&changed);
            }
        }
    }

    #[test]
    fn pseudo_random_inputs_pass() {
        for (_, target, count) in TARGETS {
            (0..*count).for_each(|seed| target(&noise(seed, mix64(seed) % 300)));
        }
    }

    /// To write the seeds anew: `NEARPRINT_WRITE_SEEDS=1 cargo test --lib fuzzing`. Those named `found` are
    /// inputs that a fuzzer came upon, kept because each reaches something else.
    #[test]
    fn seeds_are_there_for_every_target() {
        if !corpus("../fuzz_targets").is_dir() {
            return;
        }
        for (name, _, _) in TARGETS {
            if std::env::var_os("NEARPRINT_WRITE_SEEDS").is_some() {
                write_seeds(name);
            }
            assert!(!seeds(name).is_empty(), "{name}");
        }
    }

    fn write_seeds(target: &str) {
        let folder = corpus(target);
        fs::create_dir_all(&folder).unwrap();
        let made = match target {
            "manifest" => manifests::seeds(),
            "wal_replay" => log::seeds(),
            #[cfg(feature = "cli")]
            "import_text" => text::seeds(),
            #[cfg(feature = "cli")]
            "documents" => documents::seeds(),
            _ => (0..6).map(|seed| noise(seed + 1, 40 << (seed % 3))).collect(),
        };
        for (number, seed) in made.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed).unwrap();
        }
    }
}
