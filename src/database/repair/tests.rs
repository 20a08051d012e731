//! Repairs of databases with very many runs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::Database;
use crate::format::schema::Schema;
use crate::log::manifest;
use crate::options::Options;
use crate::storage::Folder;

/// A database whose manifest names runs that are not there.
fn with_missing_runs(path: &Path, count: u64) {
    let mut builder = Database::<u64>::build(path, &Schema::new()).unwrap();
    builder.push(7).unwrap();
    builder.finish().unwrap();
    let folder = Folder::open(path).unwrap();
    let mut manifest = manifest::of::<u64>(&folder).unwrap();
    let record = manifest.runs[0].clone();
    let missing = |run| {
        let mut record = record.clone();
        record.run = run;
        record
    };
    manifest.runs.extend((2..2 + count).map(missing));
    manifest.next_run = 2 + count;
    manifest::replace(&folder, &manifest).unwrap();
}

/// The CPU time of this thread so far.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// The time of this process so far.
#[cfg(windows)]
fn cpu_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

/// The CPU time of a repair.
fn repair(count: u64) -> Duration {
    let home = tempfile::tempdir().unwrap();
    let (path, dest) = (home.path().join("db"), home.path().join("saved"));
    with_missing_runs(&path, count);
    let before = cpu_time();
    let report = Options::new().repair::<u64>(&path, &dest, &Schema::new()).unwrap();
    let took = cpu_time() - before;
    assert_eq!((report.rows, report.lost_rows), (1, count));
    assert!(fs::exists(&dest).unwrap());
    took
}

/// The time per missing run does not grow with their number.
#[test]
#[cfg_attr(windows, ignore = "compares CPU times, which std does not give there")]
fn regression_many_missing_runs_are_reported_in_linear_time() {
    let least = |count| (0..3).map(|_| repair(count)).min().unwrap();
    let (few, many) = (least(1000), least(8000));
    assert!(many < few * 24, "{few:?} for 1,000 runs, {many:?} for 8,000");
}
