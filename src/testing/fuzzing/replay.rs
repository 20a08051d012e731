//! Replays the seeds of fuzz targets, and inputs near them, in ordinary tests.
//!
//! Other crates include this file, so it is independent of the engine.

#![allow(dead_code, reason = "each crate uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};

use super::input::random;

/// A fuzz target and its inputs in tests.
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) call: fn(&[u8]),
    /// Number of pseudo-random inputs.
    pub(super) inputs: u64,
    /// Returns the seeds that were not found by fuzzing.
    pub(super) seeds: fn() -> Vec<Vec<u8>>,
}

impl Target {
    pub(super) fn replay_seeds(&self) {
        self.committed_seeds().iter().for_each(|seed| (self.call)(seed));
    }

    pub(super) fn replay_changed_seeds(&self) {
        let seeds = self.committed_seeds();
        for (turn, seed) in (0..self.inputs / 4).zip(seeds.iter().cycle()) {
            let mut changed = seed.clone();
            for change in 0..1 + turn % 4 {
                let random = random(turn << 8 | change);
                if let Some(place) = usize::try_from(random >> 8).unwrap().checked_rem(changed.len()) {
                    changed[place] = random.to_le_bytes()[0];
                }
            }
            (self.call)(&changed);
        }
    }

    pub(super) fn replay_noise(&self) {
        (0..self.inputs).for_each(|seed| (self.call)(&noise(seed, random(seed) % 300)));
    }

    /// `NEARPRINT_WRITE_SEEDS=1` writes the seeds again. Seeds named `found` are inputs that a
    /// fuzzer found; each of them reaches code that the others do not.
    pub(super) fn has_seeds(&self) {
        let folder = corpus().join(self.name);
        if std::env::var_os("NEARPRINT_WRITE_SEEDS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            for (number, seed) in (self.seeds)().iter().enumerate() {
                fs::write(folder.join(format!("seed-{number}")), seed).unwrap();
            }
        }
        assert!(!self.committed_seeds().is_empty(), "{}", self.name);
    }

    fn committed_seeds(&self) -> Vec<Vec<u8>> {
        let folder = corpus().join(self.name);
        let mut paths: Vec<PathBuf> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.iter().map(|path| fs::read(path).unwrap()).collect()
    }
}

/// `fuzz/corpus` in the root of the repository: the folder of the package, or two levels above it.
fn corpus() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = package.ancestors().map(|folder| folder.join("fuzz/corpus")).find(|path| path.is_dir());
    found.expect("the repository has a corpus of the fuzz targets")
}

/// Seeds for targets that accept any bytes.
pub(super) fn noises() -> Vec<Vec<u8>> {
    (0..6).map(|seed| noise(seed + 1, 40 << (seed % 3))).collect()
}

fn noise(seed: u64, len: u64) -> Vec<u8> {
    (0..len.div_ceil(8)).flat_map(|word| random(random(seed) + word).to_le_bytes()).collect()
}
