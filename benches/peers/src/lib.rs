//! Fingerprints and queries for comparisons within one process, and times of runs in turn.

use std::time::Instant;

/// splitmix64 (Steele, Lea and Flood, 2014).
#[derive(Debug)]
pub struct Random(pub u64);

impl Iterator for Random {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(x ^ (x >> 31))
    }
}

/// A stored value with two bits flipped.
pub fn near(values: &[u64], random: &mut Random) -> u64 {
    let (at, bit) = (random.next().unwrap_or_default(), random.next().unwrap_or_default());
    values[(at % values.len() as u64) as usize] ^ 5 << (bit % 61)
}

/// Seconds and count of a run.
pub fn timed(run: impl FnOnce() -> usize) -> (f64, usize) {
    let start = Instant::now();
    let count = run();
    (start.elapsed().as_secs_f64(), count)
}

/// The least, the median and the most.
pub fn spread(mut measured: Vec<f64>) -> [f64; 3] {
    measured.sort_by(f64::total_cmp);
    [measured[0], measured[measured.len() / 2], measured[measured.len() - 1]]
}
