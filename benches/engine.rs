//! Build, open, query, batch and pairs on uniform data with planted near-duplicates.
//!
//! `NEARPRINT_BENCH_ROWS=10000000 cargo bench` chooses the number of rows (1,000,000 by default);
//! `cargo bench -- pairs` picks benchmarks by name. The data come from a fixed seed, and what the
//! benchmarks find is held against counts that a scan of a sample confirms first.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::PathBuf;
use std::sync::OnceLock;

use common::Random;
use divan::{Bencher, counter::ItemsCount};
use nearprint::{Database, Options, Snapshot, find_all, find_clusters, num_differing_bits};

fn main() {
    corpus();
    divan::main();
}

/// The data of all benchmarks, made once.
struct Corpus {
    values: Vec<u64>,
    /// Half near a stored value, half random.
    queries: Vec<u64>,
    folder: PathBuf,
    snapshot: Snapshot<u64>,
}

const QUERIES: usize = 10_000;

fn corpus() -> &'static Corpus {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let rows = std::env::var("NEARPRINT_BENCH_ROWS")
            .ok()
            .and_then(|rows| rows.parse().ok())
            .unwrap_or(1_000_000);
        let mut random = Random(42);
        let mut values: Vec<u64> = (0..rows).map(|_| random.next()).collect();
        for at in 0..rows / 20 {
            let other = values[random.below(rows as u64) as usize];
            values[at * 20] = random.near(other, 3);
        }
        let near = |random: &mut Random| {
            let other = values[random.below(rows as u64) as usize];
            random.near(other, 3)
        };
        let queries: Vec<u64> =
            (0..QUERIES).map(|at| if at % 2 == 0 { near(&mut random) } else { random.next() }).collect();
        let folder = std::env::temp_dir().join(format!("nearprint-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let snapshot = build(&folder.join("corpus.np"), &values, 2);
        check(&values, &queries, &snapshot);
        Corpus { values, queries, folder, snapshot }
    })
}

/// Compares a sample of answers with a scan.
fn check(values: &[u64], queries: &[u64], snapshot: &Snapshot<u64>) {
    for &query in &queries[..20] {
        let expected = values.iter().filter(|&&value| num_differing_bits(value, query) <= 3).count();
        assert_eq!(snapshot.query(query, 3).unwrap().len(), expected);
    }
}

fn build(path: &std::path::Path, values: &[u64], threads: usize) -> Snapshot<u64> {
    let options = Options::new().memory_bytes(512 << 20).threads(threads);
    let mut builder = Database::<u64>::build(path, options).unwrap();
    for &value in values {
        builder.push(value, None).unwrap();
    }
    builder.finish().unwrap().snapshot().unwrap()
}

fn open(threads: usize) -> Snapshot<u64> {
    let path = corpus().folder.join("corpus.np");
    Database::<u64>::open_with(path, Options::new().threads(threads)).unwrap().snapshot().unwrap()
}

#[divan::bench(args = [1, 2], sample_count = 5)]
fn build_durable(bencher: Bencher<'_, '_>, threads: usize) {
    let corpus = corpus();
    let path = corpus.folder.join("again.np");
    bencher.counter(ItemsCount::new(corpus.values.len())).bench_local(|| {
        drop(build(&path, &corpus.values, threads));
        std::fs::remove_dir_all(&path).unwrap();
    });
}

#[divan::bench]
fn open_and_first_answer(bencher: Bencher<'_, '_>) {
    let query = corpus().queries[0];
    bencher.bench(|| open(1).query(query, 3).unwrap());
}

#[divan::bench(args = [0, 3, 5, 7])]
fn point_query(bencher: Bencher<'_, '_>, k: u32) {
    let corpus = corpus();
    let queries = &corpus.queries[..if k < 7 { QUERIES } else { QUERIES / 10 }];
    bencher.counter(ItemsCount::new(queries.len())).bench_local(|| {
        queries.iter().map(|&query| corpus.snapshot.query(query, k).unwrap().len()).sum::<usize>()
    });
}

#[divan::bench(args = [1, 2])]
fn batch_of_10_000(bencher: Bencher<'_, '_>, threads: usize) {
    let snapshot = open(threads);
    let queries = &corpus().queries;
    bencher.counter(ItemsCount::new(queries.len())).bench_local(|| {
        let mut found = 0;
        let count = |_, matches: &[nearprint::Match<u64>]| {
            found += matches.len();
            Ok(())
        };
        snapshot.query_batch(queries, 3, count).unwrap();
        found
    });
}

#[divan::bench(args = [(3, 1), (3, 2), (6, 1)], sample_count = 5)]
fn pairs_of_a_database(bencher: Bencher<'_, '_>, (k, threads): (u32, usize)) {
    let snapshot = open(threads);
    bencher.counter(ItemsCount::new(corpus().values.len())).bench_local(|| {
        let mut found = 0;
        snapshot
            .pairs(k, |block| {
                found += block.len();
                Ok(())
            })
            .unwrap();
        found
    });
}

#[divan::bench(args = [(3, 1), (3, 2), (6, 1)], sample_count = 5)]
fn pairs_of_a_list(bencher: Bencher<'_, '_>, (k, threads): (u32, usize)) {
    let values = &corpus().values;
    bencher.counter(ItemsCount::new(values.len())).bench_local(|| {
        let mut found = 0;
        find_all(values, k, threads, |block| {
            found += block.len();
            Ok(())
        })
        .unwrap();
        found
    });
}

#[divan::bench(sample_count = 5)]
fn clusters_of_a_list(bencher: Bencher<'_, '_>) {
    let values = &corpus().values;
    bencher.counter(ItemsCount::new(values.len())).bench_local(|| {
        let mut found = 0;
        find_clusters(values, 3, 1, |_| {
            found += 1;
            Ok(())
        })
        .unwrap();
        found
    });
}
