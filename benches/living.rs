//! A database that grows: rows are checked against it and inserted, with a commit every 1,000 rows,
//! and queries are timed while it holds several runs and after it has been compacted. Then a log of
//! 65,535 commits of one row each is opened and refreshed.
//!
//! `NEARPRINT_BENCH_ROWS=10000000 cargo bench --bench living` chooses the number of rows it starts
//! with (1,000,000 by default); a tenth of that is added. `NEARPRINT_KERNEL=scalar` chooses the
//! filter kernel. What is found is held against a scan.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::Random;
use nearprint::{Database, Fingerprint, Options, Schema, Snapshot};

const COMMIT_ROWS: usize = 1000;
const QUERIES: usize = 10_000;
/// One less than a writer keeps by default before it writes a run.
const FRAMES: u64 = (1 << 16) - 1;

fn main() {
    common::choose_kernel();
    let rows: usize = std::env::var("NEARPRINT_BENCH_ROWS").map_or(1_000_000, |rows| rows.parse().unwrap());
    let threads = std::env::var("NEARPRINT_BENCH_THREADS").map_or(2, |threads| threads.parse().unwrap());
    let home = std::env::temp_dir().join(format!("nearprint-living-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let result = std::panic::catch_unwind(|| {
        grow(&home.join("corpus.np"), rows, threads);
        read_log();
    });
    std::fs::remove_dir_all(&home).unwrap();
    result.unwrap();
}

/// Times how long a log of many small commits takes to open, to refresh and to recover.
fn read_log() {
    let home = common::folder_in_memory();
    let options = Options::new().memtable_rows(2 * FRAMES as usize);
    let schema = Schema::new();
    let database = options.create::<u64>(home.path().join("log.np"), &schema).unwrap();
    let mut random = Random(7);
    let mut writer = database.writer().unwrap();
    let mut commit = |writer: &mut nearprint::Writer<u64>| {
        writer.insert(random.next()).unwrap();
        writer.commit().unwrap();
    };
    let open = |frames: u64| {
        let all: Vec<Duration> = (0..20).map(|_| timed(|| database.snapshot().unwrap()).1).collect();
        println!("log of {frames} commits: opened in {:.1?}", median(all));
    };
    let mut snapshot = database.snapshot().unwrap();
    let mut refreshes = Vec::new();
    for frame in 1..=FRAMES {
        commit(&mut writer);
        if frame.is_power_of_two() && frame >= FRAMES / 8 {
            open(frame);
        }
        if frame % 16 == 0 {
            let (next, elapsed) = timed(|| snapshot.refresh().unwrap());
            snapshot = next;
            refreshes.push(elapsed);
        }
    }
    open(FRAMES);
    let (mean, last) =
        (refreshes.iter().sum::<Duration>() / refreshes.len() as u32, refreshes.split_off(3072));
    println!("refreshed every 16 commits: {mean:.1?} on average, the last quarter {:.1?}", median(last));
    let mut few = Vec::new();
    for _ in 0..200 {
        (0..3).for_each(|_| commit(&mut writer));
        let (next, elapsed) = timed(|| snapshot.refresh().unwrap());
        snapshot = next;
        few.push(elapsed);
    }
    println!("refreshed every 3 commits behind {FRAMES}: {:.1?}", median(few));
    let idle: Vec<Duration> = (0..200).map(|_| timed(|| snapshot.refresh().unwrap()).1).collect();
    println!("refreshed with nothing new: {:.1?}", median(idle));
    drop(writer);
    println!("recovered by a writer in {:.1?}", timed(|| database.writer().unwrap()).1);
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    (work(), started.elapsed())
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}

fn grow(path: &Path, rows: usize, threads: usize) {
    let mut random = Random(42);
    let mut values: Vec<u64> = (0..rows).map(|_| random.next()).collect();
    let mut builder = Database::<u64>::build(path, &Schema::new()).unwrap();
    for &value in &values {
        builder.push(value).unwrap();
    }
    builder.finish().unwrap();
    let database = Options::new().threads(threads).open::<u64>(path).unwrap();
    let queries: Vec<u64> = (0..QUERIES)
        .map(|at| if at % 2 == 0 { values[random.below(rows as u64) as usize] ^ 5 } else { random.next() })
        .collect();
    report("built", &database.snapshot().unwrap(), &queries, 0.0);

    let fresh: Vec<u64> = (0..rows / 10)
        .map(|at| {
            if at % 20 == 0 {
                values[random.below(rows as u64) as usize] ^ 0x8000_0000_0100_0001
            } else {
                random.next()
            }
        })
        .collect();
    let mut writer = database.writer().unwrap();
    let (mut spent, mut inserted, mut slowest) = (Duration::ZERO, 0, Duration::ZERO);
    for (chunk, part) in fresh.chunks(rows / 100).enumerate() {
        let started = Instant::now();
        for batch in part.chunks(COMMIT_ROWS) {
            for &value in batch {
                if writer.query(value, 3).unwrap().is_empty() {
                    writer.insert(value).unwrap();
                    values.push(value);
                    inserted += 1;
                }
            }
            let commit = Instant::now();
            writer.commit().unwrap();
            slowest = slowest.max(commit.elapsed());
        }
        spent += started.elapsed();
        let rate = part.len() as f64 / started.elapsed().as_secs_f64();
        report(&format!("+ {}%", chunk + 1), &database.snapshot().unwrap(), &queries, rate);
    }
    let rate = fresh.len() as f64 / spent.as_secs_f64();
    println!(
        "check-and-insert: {} rows, {inserted} inserted, {rate:.0} rows/s, slowest commit {slowest:.1?}",
        fresh.len()
    );
    let started = Instant::now();
    writer.close().unwrap();
    println!("close: {:.1?}", started.elapsed());
    report("at rest", &database.snapshot().unwrap(), &queries, 0.0);
    check(&values, &queries, &database.snapshot().unwrap());
    let mut writer = database.writer().unwrap();
    let started = Instant::now();
    writer.compact().unwrap();
    println!("compact: {:.1?}", started.elapsed());
    writer.close().unwrap();
    report("compacted", &database.snapshot().unwrap(), &queries, 0.0);
}

/// Times queries: medians of several rounds, after one that warms up.
fn report(name: &str, snapshot: &Snapshot<u64>, queries: &[u64], rate: f64) {
    let mut batch = Vec::new();
    let mut point = Vec::new();
    for _ in 0..8 {
        let started = Instant::now();
        snapshot.query_batch(queries, 3, |_, _| Ok::<(), nearprint::Error>(())).unwrap();
        batch.push(started.elapsed());
        let started = Instant::now();
        queries.iter().for_each(|&query| drop(snapshot.query(query, 3).unwrap()));
        point.push(started.elapsed());
    }
    let each = |times: &mut Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6 / queries.len() as f64
    };
    let runs: Vec<u64> = snapshot.stats().runs.iter().map(|run| run.rows).collect();
    let (batch, point) = (each(&mut batch), each(&mut point));
    println!(
        "{name:>10}: query {batch:.2} us in a batch, {point:.2} us alone, {rate:>7.0} rows/s, runs {runs:?}"
    );
}

/// Compares a sample of answers with a scan.
fn check(values: &[u64], queries: &[u64], snapshot: &Snapshot<u64>) {
    for &query in &queries[..20] {
        let expected = values.iter().filter(|&&value| value.distance(query) <= 3).count();
        assert_eq!(snapshot.query(query, 3).unwrap().len(), expected);
    }
}
