//! Fuzz targets, their seeds, and inputs near these, for ordinary tests.

use std::fs;
use std::path::{Path, PathBuf};

use super::input::random;

/// A fuzz target and its inputs in tests.
#[derive(Debug)]
pub struct Target {
    pub name: &'static str,
    pub call: fn(&[u8]),
    /// Number of pseudo-random inputs.
    pub inputs: u64,
    /// Returns the inputs that a fuzzer begins with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// Tries the seeds, what a fuzzer has found, both with a few bytes changed, and noise.
    pub fn replay(&self) {
        let known = [(self.seeds)(), self.found()].concat();
        assert!(!known.is_empty(), "{}", self.name);
        known.iter().for_each(|input| (self.call)(input));
        for (turn, input) in (0..self.inputs / 4).zip(known.iter().cycle()) {
            (self.call)(&with_changes(input, turn));
        }
        (0..self.inputs).for_each(|seed| (self.call)(&noise(seed, random(seed) % 300)));
    }

    /// Writes the seeds as files for a fuzzer, if `NEARPRINT_SEEDS` names a folder.
    ///
    /// # Panics
    /// If they cannot be written.
    pub fn write_seeds(&self) {
        let Some(folder) = std::env::var_os("NEARPRINT_SEEDS").map(PathBuf::from) else { return };
        for (number, seed) in (self.seeds)().iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed).expect("room for the seeds");
        }
    }

    /// Inputs of the repository that a fuzzer has found. Each of them reaches code that the others do
    /// not.
    fn found(&self) -> Vec<Vec<u8>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(self.name);
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().map(|path| fs::read(path).expect("a file")).collect()
    }
}

fn with_changes(input: &[u8], turn: u64) -> Vec<u8> {
    let mut changed = input.to_vec();
    for change in 0..1 + turn % 4 {
        let random = random(turn << 8 | change);
        let place = usize::try_from(random >> 8).unwrap_or_default();
        if let Some(place) = place.checked_rem(changed.len()) {
            changed[place] = random.to_le_bytes()[0];
        }
    }
    changed
}

/// Seeds for targets that accept any bytes.
pub fn noises() -> Vec<Vec<u8>> {
    (0..6).map(|seed| noise(seed + 1, 40 << (seed % 3))).collect()
}

fn noise(seed: u64, len: u64) -> Vec<u8> {
    (0..len.div_ceil(8)).flat_map(|word| random(random(seed) + word).to_le_bytes()).collect()
}
