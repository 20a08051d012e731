//! Build, open, query, batch, pairs and clusters on generated data with planted near-duplicates.
//!
//! `NEARPRINT_BENCH_ROWS=10000000 cargo bench --bench engine` chooses the number of rows (1,000,000
//! by default), `NEARPRINT_BENCH_DATA=skewed` fingerprints that share 200 values of their first 16
//! bits in 30% of the cases, `NEARPRINT_BENCH_LAYOUT=rotations:3` the layout,
//! `NEARPRINT_KERNEL=scalar` the filter kernel; `-- pairs` picks benchmarks by name. The data come
//! from a fixed seed. Queries are held against a scan first, batches against single queries,
//! databases against lists.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::Random;
use divan::{Bencher, counter::ItemsCount};
use nearprint::{Fingerprint, Options, Pair, Row, Schema, Snapshot, list};

fn main() {
    common::choose_kernel();
    corpus();
    divan::main();
    std::fs::remove_dir_all(&corpus().folder).unwrap();
}

/// The data of all benchmarks, made once.
struct Corpus {
    values: Vec<u64>,
    /// Half near a stored value, half random.
    queries: Vec<u64>,
    folder: PathBuf,
}

/// More than the caches hold the buckets of, even where there are only ten million rows.
const POINT_QUERIES: usize = 100_000;
/// Where k makes each query expensive.
const EXPENSIVE_QUERIES: usize = 5_000;
const BATCH_QUERIES: usize = 1_000_000;

fn corpus() -> &'static Corpus {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let rows = std::env::var("NEARPRINT_BENCH_ROWS").map_or(1_000_000, |rows| rows.parse().unwrap());
        let skewed = std::env::var("NEARPRINT_BENCH_DATA").is_ok_and(|data| data == "skewed");
        let mut random = Random(42);
        let popular: Vec<u64> = (0..200).map(|_| random.next() << 48).collect();
        let fresh = |random: &mut Random| match random.next() {
            value if skewed && value % 10 < 3 => popular[random.below(200) as usize] | value >> 16,
            value => value,
        };
        let mut values: Vec<u64> = (0..rows).map(|_| fresh(&mut random)).collect();
        let stored = |values: &[u64], random: &mut Random| values[random.below(rows as u64) as usize];
        for at in 0..rows / 20 {
            let other = stored(&values, &mut random);
            values[at * 20] = random.near(other, 3);
        }
        let query = |at: usize| match at % 2 {
            0 => {
                let other = stored(&values, &mut random);
                random.near(other, 3)
            }
            _ => random.next(),
        };
        let queries: Vec<u64> = (0..BATCH_QUERIES).map(query).collect();
        let folder = std::env::temp_dir().join(format!("nearprint-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let snapshot = build(&folder.join("corpus.np"), &values, 2);
        check(&values, &queries, &snapshot);
        Corpus { values, queries, folder }
    })
}

/// Compares a sample of answers with a scan.
fn check(values: &[u64], queries: &[u64], snapshot: &Snapshot<u64>) {
    for &query in &queries[..20] {
        let expected = values.iter().filter(|&&value| value.distance(query) <= 3).count();
        assert_eq!(snapshot.query(query, 3).unwrap().len(), expected);
    }
}

fn build(path: &Path, values: &[u64], threads: usize) -> Snapshot<u64> {
    let options = Options::new().memory_bytes(512 << 20).threads(threads);
    let mut schema = Schema::new();
    if let Ok(layout) = std::env::var("NEARPRINT_BENCH_LAYOUT") {
        schema = schema.layout(layout.parse().unwrap());
    }
    let mut builder = options.build::<u64>(path, &schema).unwrap();
    for &value in values {
        builder.push(value).unwrap();
    }
    builder.finish().unwrap().snapshot().unwrap()
}

fn open(threads: usize) -> Snapshot<u64> {
    let path = corpus().folder.join("corpus.np");
    Options::new().threads(threads).open::<u64>(path).unwrap().snapshot().unwrap()
}

/// The number of rows that queries find.
fn found(snapshot: &Snapshot<u64>, queries: &[u64], k: u32) -> usize {
    let mut found = 0;
    let count = |_, matches: &[nearprint::Match<u64>]| {
        found += matches.len();
        Ok::<(), nearprint::Error>(())
    };
    snapshot.query_batch(queries, k, count).unwrap();
    found
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

/// Drops the database from the page cache. Nothing may have it mapped.
fn chill() {
    for file in std::fs::read_dir(corpus().folder.join("corpus.np")).unwrap() {
        let of = format!("of={}", file.unwrap().path().display());
        let dd = ["oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none", &of];
        assert!(Command::new("dd").args(dd).status().unwrap().success(), "the dd of GNU");
    }
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn cold_open_and_first_answer(bencher: Bencher<'_, '_>) {
    let mut queries = corpus().queries.iter();
    let next = || {
        chill();
        *queries.next().unwrap()
    };
    bencher.with_inputs(next).bench_local_values(|query| open(1).query(query, 3).unwrap());
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn cold_query(bencher: Bencher<'_, '_>) {
    let mut queries = corpus().queries.iter();
    let next = || {
        chill();
        (open(1), *queries.next().unwrap())
    };
    bencher.with_inputs(next).bench_local_refs(|(snapshot, query)| snapshot.query(*query, 3).unwrap());
}

#[divan::bench(args = [0, 3, 5, 7], sample_count = 20)]
fn point_query(bencher: Bencher<'_, '_>, k: u32) {
    let snapshot = open(1);
    let queries = &corpus().queries[..if k < 5 { POINT_QUERIES } else { EXPENSIVE_QUERIES }];
    let expected = found(&snapshot, queries, k);
    bencher.counter(ItemsCount::new(queries.len())).bench_local(|| {
        let found = queries.iter().map(|&query| snapshot.query(query, k).unwrap().len());
        assert_eq!(found.sum::<usize>(), expected);
    });
}

#[divan::bench(args = [(3, 1), (3, 2), (7, 1)], sample_count = 20)]
fn batch_of_10_000(bencher: Bencher<'_, '_>, (k, threads): (u32, usize)) {
    let snapshot = open(threads);
    let mut batches = corpus().queries.chunks(10_000).cycle();
    found(&snapshot, &corpus().queries, 3);
    bencher
        .counter(ItemsCount::new(10_000usize))
        .bench_local(|| found(&snapshot, batches.next().unwrap(), k));
}

#[divan::bench(args = [1, 2], sample_count = 5)]
fn batch_of_1_000_000(bencher: Bencher<'_, '_>, threads: usize) {
    let snapshot = open(threads);
    let queries = &corpus().queries;
    let expected = queries.iter().map(|&query| snapshot.query(query, 3).unwrap().len()).sum::<usize>();
    bencher
        .counter(ItemsCount::new(queries.len()))
        .bench_local(|| assert_eq!(found(&snapshot, queries, 3), expected));
}

fn pairs(snapshot: &Snapshot<u64>, k: u32) -> usize {
    let mut found = 0;
    let count = |block: &[Pair<u64>]| {
        found += block.len();
        Ok::<(), nearprint::Error>(())
    };
    snapshot.visit_pairs(k, count).unwrap();
    found
}

fn pairs_in_memory(k: u32, threads: usize) -> usize {
    let mut found = 0;
    let count = |block: &[Pair<u64>]| {
        found += block.len();
        Ok::<(), nearprint::Error>(())
    };
    list::visit_pairs(corpus().values.clone(), k, &Options::new().threads(threads), count).unwrap();
    found
}

/// Clusters of two fingerprints or more.
fn clusters(snapshot: &Snapshot<u64>) -> usize {
    let mut found = 0;
    let count = |rows: &[Row<u64>]| {
        found += usize::from(rows[0].fingerprint != rows[rows.len() - 1].fingerprint);
        Ok::<(), nearprint::Error>(())
    };
    snapshot.visit_clusters(3, count).unwrap();
    found
}

fn clusters_in_memory() -> usize {
    let mut found = 0;
    let count = |_: &[u64]| {
        found += 1;
        Ok::<(), nearprint::Error>(())
    };
    list::visit_clusters(corpus().values.clone(), 3, &Options::new().threads(1), count).unwrap();
    found
}

/// Measures something that goes over all values and finds as much as another way did.
fn over_all(bencher: Bencher<'_, '_>, expected: usize, find: impl Fn() -> usize) {
    bencher.counter(ItemsCount::new(corpus().values.len())).bench_local(|| assert_eq!(find(), expected));
}

#[divan::bench(args = [1, 2], sample_count = 5)]
fn pairs_of_a_database(bencher: Bencher<'_, '_>, threads: usize) {
    let snapshot = open(threads);
    over_all(bencher, pairs_in_memory(3, 2), || pairs(&snapshot, 3));
}

/// The pairs that all of some tasks find, each in its rows.
fn pairs_of_tasks(blocks: &list::Blocks<u64>, tasks: Vec<Vec<(u64, u64)>>) -> usize {
    let mut found = 0;
    for rows in tasks {
        let count = |block: &[Pair<u64>]| {
            found += block.len();
            Ok::<(), nearprint::Error>(())
        };
        blocks.visit_pairs(rows, &Options::new().threads(1), count).unwrap();
    }
    found
}

/// To be compared with `pairs_of_a_list` on one thread.
#[divan::bench(args = [1, 16, 256], sample_count = 5)]
fn pairs_of_a_list_in_tasks(bencher: Bencher<'_, '_>, num: usize) {
    let blocks = list::Blocks::new(3).unwrap();
    let mut tasks = vec![Vec::new(); num];
    for &value in &corpus().values {
        blocks.keys(value).for_each(|key| tasks[key as usize % num].push((key, value)));
    }
    let expected = pairs_in_memory(3, 2);
    let bencher = bencher.counter(ItemsCount::new(corpus().values.len()));
    let join = |tasks| assert_eq!(pairs_of_tasks(&blocks, tasks), expected);
    bencher.with_inputs(|| tasks.clone()).bench_local_values(join);
}

#[divan::bench(args = [1, 2], sample_count = 5)]
fn pairs_of_a_list(bencher: Bencher<'_, '_>, threads: usize) {
    over_all(bencher, pairs(&open(2), 3), || pairs_in_memory(3, threads));
}

#[divan::bench(args = [1, 2], sample_count = 5)]
fn pairs_of_a_list_within_6(bencher: Bencher<'_, '_>, threads: usize) {
    over_all(bencher, pairs(&open(2), 6), || pairs_in_memory(6, threads));
}

#[divan::bench(args = [1, 2], sample_count = 5)]
fn clusters_of_a_database(bencher: Bencher<'_, '_>, threads: usize) {
    let snapshot = open(threads);
    over_all(bencher, clusters_in_memory(), || clusters(&snapshot));
}

#[divan::bench(sample_count = 5)]
fn clusters_of_a_list(bencher: Bencher<'_, '_>) {
    over_all(bencher, clusters(&open(2)), clusters_in_memory);
}
