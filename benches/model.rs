//! The modelled time of queries, as `explain` prints it, beside the measured one.
//!
//! For layouts and distances over runs of up to `NEARPRINT_BENCH_ROWS` (1,000,000 by default)
//! random fingerprints: probes, candidates and nanoseconds of a query without a match, one at a
//! time, on one thread. The constants of `layout/cost.rs` are fitted to these figures. Each is the
//! median of five turns of `NEARPRINT_BENCH_MS` (150 by default).

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

use std::path::Path;
use std::time::{Duration, Instant};

use nearprint::{Fingerprint, Options, Schema, Snapshot, U256};
use testkit::Random;

fn main() {
    testkit::choose_kernel();
    let rows = std::env::var("NEARPRINT_BENCH_ROWS").map_or(1_000_000, |rows| rows.parse().unwrap());
    println!(
        "{:<5} {:>9} {:<12} {:>2} {:>7} {:>10} {:>12} {:>12} {:>8}",
        "width", "rows", "layout", "k", "probes", "candidates", "modelled ns", "measured ns", "quotient"
    );
    let narrow = ["rotations:4", "rotations:3", "rotations:2", "blocks:6,2", "blocks:5,2"];
    for rows in [50_000_000, 10_000_000, 1_000_000, 100_000].into_iter().filter(|&size| size <= rows) {
        for layout in narrow {
            let ks: &[u32] = if layout.starts_with("blocks") { &[3] } else { &[0, 1, 3, 5, 7, 9] };
            measure::<u64>(rows, layout, 3, ks);
        }
        if rows <= 1_000_000 {
            // Scans.
            measure::<u64>(rows, "rotations:1", 3, &[7, 9, 12, 20, 32]);
        }
    }
    for rows in [1_000_000, 100_000].into_iter().filter(|&size| size <= rows) {
        measure::<u128>(rows, "rotations:8", 10, &[3, 7, 10, 15]);
        measure::<U256>(rows, "rotations:16", 31, &[3, 15, 23, 31]);
        measure::<u128>(rows, "rotations:1", 10, &[12, 16, 32]);
        measure::<U256>(rows, "rotations:1", 31, &[31, 48, 64]);
    }
}

/// Builds a database and prints a line for each distance.
fn measure<F: Fingerprint>(rows: u64, layout: &str, built_for: u32, ks: &[u32]) {
    let home = tempfile::tempdir().unwrap();
    let snapshot = build::<F>(&home.path().join("corpus.np"), rows, layout, built_for);
    let turn = std::env::var("NEARPRINT_BENCH_MS").map_or(150, |millis| millis.parse().unwrap());
    let turn = Duration::from_millis(turn);
    for &k in ks {
        let explained = snapshot.explain(k);
        let run = &explained.runs[0];
        let mut random = Random(u64::from(k));
        // So many that the caches do not hold the buckets of all.
        let queries: Vec<F> = (0..200_000).map(|_| random.value()).collect();
        // The first turn maps the pages that the queries touch.
        time_of_a_query(&snapshot, k, &queries, 16 * turn);
        let mut times: Vec<f64> = (0..5).map(|_| time_of_a_query(&snapshot, k, &queries, turn)).collect();
        times.sort_by(f64::total_cmp);
        let (modelled, measured) = (run.nanoseconds, times[2]);
        println!(
            "{:<5} {rows:>9} {layout:<12} {k:>2} {:>7.0} {:>10.0} {modelled:>12.0} {measured:>12.0} {:>8.2}{}",
            F::BITS,
            run.probes,
            run.candidates,
            modelled / measured,
            if run.scan { " scan" } else { "" }
        );
    }
}

fn build<F: Fingerprint>(path: &Path, rows: u64, layout: &str, k: u32) -> Snapshot<F> {
    let schema = Schema::new().layout(layout.parse().unwrap()).k(k);
    let mut builder = Options::new().build::<F>(path, &schema).unwrap();
    let mut random = Random(42);
    for _ in 0..rows {
        builder.push(random.value::<F>()).unwrap();
    }
    drop(builder.finish().unwrap());
    Options::new().threads(1).open::<F>(path).unwrap().snapshot().unwrap()
}

/// In nanoseconds, over the time given.
fn time_of_a_query<F: Fingerprint>(snapshot: &Snapshot<F>, k: u32, queries: &[F], turn: Duration) -> f64 {
    let start = Instant::now();
    let mut done = 0u32;
    for &query in queries.iter().cycle() {
        std::hint::black_box(snapshot.query(query, k).unwrap());
        done += 1;
        if done.is_multiple_of(16) && start.elapsed() > turn {
            break;
        }
    }
    start.elapsed().as_nanos() as f64 / f64::from(done)
}
