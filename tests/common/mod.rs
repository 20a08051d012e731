//! Data and brute force that several test files share.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::collections::BTreeSet;
use std::path::Path;

use nearprint::{Database, Fingerprint, Match, Options, Pair, Row, Snapshot, num_differing_bits};

/// Makes a benchmark use the kernel that the environment variable `NEARPRINT_KERNEL` names: `scalar`,
/// `avx2`, `avx512` or `neon`. Without the variable the engine uses the fastest one.
pub fn choose_kernel() {
    if let Ok(name) = std::env::var("NEARPRINT_KERNEL") {
        assert!(nearprint::internal::use_kernel(&name), "this processor has no kernel {name}");
    }
}

/// A small generator of random numbers (splitmix64, Steele, Lea and Flood, 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Any fingerprint.
    pub fn value<F: Fingerprint>(&mut self) -> F {
        (0..F::BITS / 64).fold(F::default(), |value, word| value | F::from_bits(self.next(), word * 64, 64))
    }

    /// `value` with up to `most` random bits flipped.
    pub fn near<F: Fingerprint>(&mut self, value: F, most: u64) -> F {
        (0..self.below(most + 1))
            .fold(value, |value, _| value ^ F::from_bits(1, self.below(u64::from(F::BITS)) as u32, 1))
    }
}

/// The kinds of data that every answer is tried on.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Uniform,
    /// 30% share 200 values of their first 16 bits.
    Skewed,
    /// Few distinct fingerprints, many equal ones.
    Equal,
    /// Around all zeros and all ones.
    Extremes,
}

pub const SHAPES: [Shape; 4] = [Shape::Uniform, Shape::Skewed, Shape::Equal, Shape::Extremes];

/// `count` rows with ids from 0; a third of them near another one.
pub fn rows<F: Fingerprint>(shape: Shape, count: usize, seed: u64) -> Vec<Row<F>> {
    let mut random = Random(seed);
    let popular: Vec<F> = (0..200).map(|_| F::from_bits(random.next() >> 48, 0, 16)).collect();
    let mut rows: Vec<Row<F>> = Vec::with_capacity(count);
    for id in 0..count as u64 {
        let fresh = match shape {
            Shape::Uniform => random.value(),
            Shape::Skewed if random.below(10) < 3 => {
                popular[random.below(200) as usize] | random.value::<F>() & F::ones(16, F::BITS - 16)
            }
            Shape::Skewed => random.value(),
            Shape::Equal => popular[random.below(20) as usize],
            Shape::Extremes => {
                let end = if random.below(2) == 0 { F::default() } else { !F::default() };
                random.near(end, 12)
            }
        };
        let fingerprint = match rows.len() as u64 {
            len if len > 0 && random.below(3) == 0 => {
                let other = rows[random.below(len) as usize].fingerprint;
                random.near(other, u64::from(F::BITS / 8))
            }
            _ => fresh,
        };
        rows.push(Row { fingerprint, id });
    }
    rows
}

/// Builds a database from rows and opens it.
pub fn build<F: Fingerprint>(path: &Path, rows: &[Row<F>], options: Options) -> Snapshot<F> {
    let mut builder = Database::<F>::build(path, options.clone()).unwrap();
    for row in rows {
        builder.push(row.fingerprint, Some(row.id)).unwrap();
    }
    builder.finish().unwrap();
    Database::<F>::open_with(path, options).unwrap().snapshot().unwrap()
}

/// Every row of a snapshot, by (fingerprint, id).
pub fn all_rows<F: Fingerprint>(snapshot: &Snapshot<F>) -> Vec<Row<F>> {
    let mut found = Vec::new();
    snapshot
        .visit_rows(|row| {
            found.push(row);
            Ok::<(), nearprint::Error>(())
        })
        .unwrap();
    found
}

/// All matches by comparing with everything.
pub fn matches<F: Fingerprint>(rows: &[Row<F>], query: F, k: u32) -> Vec<Match<F>> {
    let near = |row: &Row<F>| {
        let distance = num_differing_bits(row.fingerprint, query);
        (distance <= k).then_some(Match { distance, fingerprint: row.fingerprint, id: row.id })
    };
    rows.iter().filter_map(near).collect::<BTreeSet<_>>().into_iter().collect()
}

/// All pairs of distinct fingerprints by comparing all with all.
pub fn pairs<F: Fingerprint>(rows: &[Row<F>], k: u32) -> BTreeSet<Pair<F>> {
    let distinct: Vec<F> =
        rows.iter().map(|row| row.fingerprint).collect::<BTreeSet<_>>().into_iter().collect();
    let mut found = BTreeSet::new();
    for (index, &a) in distinct.iter().enumerate() {
        for &b in &distinct[index + 1..] {
            let distance = num_differing_bits(a, b);
            if distance <= k {
                found.insert(Pair { a, b, distance });
            }
        }
    }
    found
}

/// Connected components of two rows or more, each sorted, in the order of their first row.
pub fn clusters<F: Fingerprint>(rows: &[Row<F>], k: u32) -> Vec<Vec<Row<F>>> {
    let all: Vec<Row<F>> = rows.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let mut seen = vec![false; all.len()];
    let mut found = Vec::new();
    for start in 0..all.len() {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut cluster = vec![start];
        let mut next = 0;
        while next < cluster.len() {
            for other in 0..all.len() {
                let near = all[cluster[next]].fingerprint.distance(all[other].fingerprint) <= k;
                if near && !std::mem::replace(&mut seen[other], true) {
                    cluster.push(other);
                }
            }
            next += 1;
        }
        if cluster.len() > 1 {
            cluster.sort_unstable();
            found.push(cluster.into_iter().map(|index| all[index]).collect());
        }
    }
    found
}
