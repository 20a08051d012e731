//! Replays the seeds of fuzz targets, and inputs near them, in ordinary tests.
//!
//! The crates beside the engine include this file, too: it depends on nothing of the engine's.

#![allow(dead_code, reason = "each crate uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};

use super::input::random;

/// A fuzz target, and what tests give it.
pub(super) struct Target {
    pub(super) name: &'static str,
    pub(super) call: fn(&[u8]),
    /// Number of pseudo-random inputs.
    pub(super) inputs: u64,
    /// Makes the seeds that are not found by fuzzing.
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

    /// `NEARPRINT_WRITE_SEEDS=1` writes the seeds anew. Those named `found` are inputs that a fuzzer came
    /// upon, kept because each reaches something else.
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

/// `fuzz/corpus` at the root of the repository, which is the package's own folder or two above it.
fn corpus() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = package.ancestors().map(|folder| folder.join("fuzz/corpus")).find(|path| path.is_dir());
    found.expect("the corpus of the fuzz targets stands in the repository")
}

/// Seeds for targets that make their choices from any bytes.
pub(super) fn noises() -> Vec<Vec<u8>> {
    (0..6).map(|seed| noise(seed + 1, 40 << (seed % 3))).collect()
}

fn noise(seed: u64, len: u64) -> Vec<u8> {
    (0..len.div_ceil(8)).flat_map(|word| random(random(seed) + word).to_le_bytes()).collect()
}
