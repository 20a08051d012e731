//! Data, brute force and switches that tests and benchmarks of several crates share.

#![allow(missing_docs, clippy::missing_errors_doc, clippy::missing_panics_doc, reason = "for tests")]
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "for tests")]
#![allow(clippy::should_implement_trait, reason = "an iterator would be no shorter")]

pub mod files;
mod hangup;
pub mod labelled_pages;
mod skips;
mod widths;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nearprint::{Fingerprint, Match, Options, Pair, Row, Schema, Snapshot, Writer, list};

pub use hangup::ended_by_hangup;
pub use skips::{Need, skip};
pub use widths::{bit, by_width, leading, low};

/// Whether `NEARPRINT_FULL=1` asks for the long form of the tests that have a short one.
pub fn is_full() -> bool {
    std::env::var_os("NEARPRINT_FULL").is_some_and(|value| value == "1")
}

/// A choice between the short and the long form of a test.
pub fn short_or_full<T>(short: T, full: T) -> T {
    if is_full() { full } else { short }
}

/// Makes a benchmark use the kernel that the environment variable `NEARPRINT_KERNEL` names:
/// `scalar`, `avx2`, `avx512` or `neon`. Without the variable the engine uses the fastest one.
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
        let words: Vec<u64> = (0..F::BITS / 64).map(|_| self.next()).collect();
        F::from_le_words(&words)
    }

    /// `value` with up to `most` random bits flipped.
    pub fn near<F: Fingerprint>(&mut self, value: F, most: u64) -> F {
        (0..self.below(most + 1)).fold(value, |value, _| value ^ bit(self.below(u64::from(F::BITS)) as u32))
    }
}

/// The kinds of data that every answer is checked on.
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
    const FIRST_16_BITS: u64 = 0xffff << 48;
    let mut random = Random(seed);
    let popular: Vec<F> = (0..200).map(|_| leading(random.next() & FIRST_16_BITS)).collect();
    let mut rows: Vec<Row<F>> = Vec::with_capacity(count);
    for id in 0..count as u64 {
        let fresh = match shape {
            Shape::Uniform => random.value(),
            Shape::Skewed if random.below(10) < 3 => {
                popular[random.below(200) as usize] | random.value::<F>() & !leading::<F>(FIRST_16_BITS)
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

/// Rows; every third fingerprint has several ids.
pub fn several_ids<F: Fingerprint>(shape: Shape, count: usize, seed: u64) -> Vec<Row<F>> {
    let mut random = Random(seed);
    let mut found = rows(shape, count, seed);
    for at in (3..count).step_by(3) {
        found[at].fingerprint = found[at - random.below(3) as usize - 1].fingerprint;
    }
    found
}

/// The fingerprints of rows, in the order of the rows.
pub fn fingerprints<F: Fingerprint>(rows: &[Row<F>]) -> Vec<F> {
    rows.iter().map(|row| row.fingerprint).collect()
}

/// The distinct fingerprints of rows, ascending.
pub fn distinct<F: Fingerprint>(rows: &[Row<F>]) -> Vec<F> {
    fingerprints(rows).into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Fingerprints worth querying: the extremes, random ones, and some near stored ones.
pub fn queries<F: Fingerprint>(rows: &[Row<F>], random: &mut Random) -> Vec<F> {
    let mut queries = vec![F::default(), !F::default(), random.value(), random.value()];
    for _ in 0..12 {
        let stored = rows[random.below(rows.len() as u64) as usize].fingerprint;
        queries.push(random.near(stored, u64::from(F::BITS / 7)));
    }
    queries
}

/// A temporary folder in memory, where the system has one: for tests that make many small
/// databases, which would spend most of their time in syncs.
pub fn folder_in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A schema with a layout given as text.
pub fn layout(layout: &str) -> Schema {
    Schema::new().layout(layout.parse().unwrap())
}

/// Builds a database from rows and opens it.
pub fn build<F: Fingerprint>(path: &Path, rows: &[Row<F>], schema: Schema) -> Snapshot<F> {
    build_with(path, rows, schema, Options::new())
}

/// Builds a database from rows and opens it, both with the same options.
pub fn build_with<F: Fingerprint>(
    path: &Path,
    rows: &[Row<F>],
    schema: Schema,
    options: Options,
) -> Snapshot<F> {
    let mut builder = options.build::<F>(path, &schema).unwrap();
    for row in rows {
        builder.push(*row).unwrap();
    }
    builder.finish().unwrap();
    options.open::<F>(path).unwrap().snapshot().unwrap()
}

/// A snapshot of a database opened with a number of threads.
pub fn open_on<F: Fingerprint>(path: &Path, threads: usize) -> Snapshot<F> {
    Options::new().threads(threads).open::<F>(path).unwrap().snapshot().unwrap()
}

/// The files of a database folder, sorted, without the lock file.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.file_name().unwrap() != "LOCK");
    files.sort();
    files
}

/// All items of an iterator that must not fail.
pub fn collected<T>(items: nearprint::Result<impl Iterator<Item = nearprint::Result<T>>>) -> Vec<T> {
    items.unwrap().collect::<nearprint::Result<_>>().unwrap()
}

/// Every row of a snapshot, by (fingerprint, id).
pub fn all_rows<F: Fingerprint>(snapshot: &Snapshot<F>) -> Vec<Row<F>> {
    collected(snapshot.rows())
}

/// All pairs of a list, found on a number of threads, in the order of the blocks.
pub fn listed_pairs<F: Fingerprint>(values: &[F], k: u32, threads: usize) -> Vec<Pair<F>> {
    let mut found = Vec::new();
    list::visit_pairs(values.to_vec(), k, &Options::new().threads(threads), |block| {
        found.extend_from_slice(block);
        Ok::<(), nearprint::Error>(())
    })
    .unwrap();
    found
}

/// All matches by comparing with everything, in the order of answers.
pub fn matches<F: Fingerprint>(rows: &[Row<F>], query: F, k: u32) -> Vec<Match<F>> {
    let near = |row: &Row<F>| {
        let distance = row.fingerprint.distance(query);
        (distance <= k).then_some(Match { distance, fingerprint: row.fingerprint, id: row.id })
    };
    let mut found: Vec<Match<F>> = rows.iter().filter_map(near).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Those of some matches, in the order of answers, that are within `k` bits.
pub fn within<F: Fingerprint>(matches: &[Match<F>], k: u32) -> &[Match<F>] {
    &matches[..matches.partition_point(|found| found.distance <= k)]
}

/// All pairs of distinct fingerprints by comparing all with all, ascending.
pub fn pairs<F: Fingerprint>(rows: &[Row<F>], k: u32) -> Vec<Pair<F>> {
    let distinct = distinct(rows);
    let mut found = Vec::new();
    for (index, &a) in distinct.iter().enumerate() {
        for &b in &distinct[index + 1..] {
            let distance = a.distance(b);
            if distance <= k {
                found.push(Pair { a, b, distance });
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
                if !seen[other] && all[cluster[next]].fingerprint.distance(all[other].fingerprint) <= k {
                    seen[other] = true;
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

/// Inserts rows in order.
pub fn insert_all<F: Fingerprint>(writer: &mut Writer<F>, rows: &[Row<F>]) -> nearprint::Result<()> {
    rows.iter().try_for_each(|&row| writer.insert(row).map(drop))
}
