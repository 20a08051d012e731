//! Eight reader processes beside one writer that flushes, merges, deletes and compacts, and is
//! killed now and then: every answer is exact for its snapshot.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nearprint::{Database, Row, Snapshot};

use crate::history::{History, State, check, queries_are_exact, recover, rows_of};
use crate::machine::setting;
use crate::processes::{Running, create};
use crate::worker::{Writing, last_noted, noted, reading, say};
use testkit::{Random, clusters, collected, matches, pairs, short_or_full};

const READERS: u64 = 8;
/// Batches that a reader may be behind: more than any writer gets done meanwhile.
const ANY: u64 = u64::MAX - 1;
/// A process has its libraries, pipes and, while it opens files, a few more.
const MOST_FILES: usize = 40;
/// Two snapshots of 13 runs of six files, and the process itself.
const MOST_MAPS: usize = 2 * 13 * 6 + 150;

/// A snapshot and what stands in it.
struct Seen {
    snapshot: Snapshot<u64>,
    rows: Vec<Row<u64>>,
}

/// The part of a reader process: takes one snapshot after the other, which never go back, and
/// queries each.
pub fn read(path: &Path, number: u64, time: Duration) {
    let started = Instant::now();
    let mut random = Random(number);
    let mut state = State::new(History::Mixed);
    let mut seen: Option<Seen> = None;
    let (mut snapshots, mut files, mut maps) = (0, 0, 0);
    while started.elapsed() < time {
        let acknowledged = last_noted(path);
        let now = snapshot(path, seen.as_ref(), &mut random);
        let rows = rows_of(&now).unwrap();
        state.find(&rows, acknowledged, ANY).unwrap();
        if let Some(before) = seen.replace(Seen { snapshot: now, rows }) {
            // Whatever has been removed meanwhile.
            assert_eq!(rows_of(&before.snapshot).unwrap(), before.rows, "a snapshot has changed");
        }
        compare(seen.as_ref().unwrap(), &mut random);
        snapshots += 1;
        files = files.max(fs::read_dir("/proc/self/fd").unwrap().count());
        maps = maps.max(fs::read_to_string("/proc/self/maps").unwrap().lines().count());
    }
    assert!(files < MOST_FILES && maps < MOST_MAPS, "{files} files, {maps} maps");
    say(&format!("READ {snapshots}"));
}

/// A new snapshot, or an earlier one brought up to date.
fn snapshot(path: &Path, before: Option<&Seen>, random: &mut Random) -> Snapshot<u64> {
    match before {
        Some(before) if random.below(3) > 0 => before.snapshot.refresh().unwrap(),
        _ => Database::<u64>::open(path).unwrap().snapshot().unwrap(),
    }
}

/// Compares answers of a snapshot with brute force.
fn compare(Seen { snapshot, rows }: &Seen, random: &mut Random) {
    queries_are_exact(snapshot, rows, random, 3);
    let k = random.below(9) as u32;
    if let Some(row) = rows.get(random.below(rows.len().max(1) as u64) as usize) {
        let query = random.near(row.fingerprint, 10);
        assert_eq!(snapshot.query(query, k).unwrap(), matches(rows, query, k), "k = {k}");
    }
    match random.below(6) {
        0 => {
            let mut found = collected(snapshot.pairs(k));
            found.sort_unstable();
            assert_eq!(found, pairs(rows, k), "pairs, k = {k}");
        }
        1 => assert_eq!(collected(snapshot.clusters(k)), clusters(rows, k), "clusters, k = {k}"),
        _ => {}
    }
}

/// Runs writers one after the other for a time, the last of them to its end. Returns their number.
fn write(path: &Path, state: &mut State, time: Duration) -> u64 {
    let started = Instant::now();
    let mut random = Random(17);
    let mut writers = 0;
    while started.elapsed() < time {
        let mut writer = Writing::endless(state.done).start(path);
        let left = time.saturating_sub(started.elapsed());
        std::thread::sleep(left.min(Duration::from_millis(200 + random.below(3000))));
        assert!(writer.is_running(), "{}", writer.end().err);
        writer.kill();
        let acknowledged = writer.end().acknowledged().unwrap_or(state.done);
        check(path, state, acknowledged).unwrap();
        writers += 1;
    }
    writers
}

#[test]
fn readers_beside_a_writer_see_exact_snapshots() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    create(&path);
    fs::write(noted(&path), 0u64.to_le_bytes()).unwrap();
    let time = Duration::from_secs(setting("NEARPRINT_SOAK_SECONDS", short_or_full(3, 6)));
    let milliseconds = time.as_millis() as u64;
    let readers: Vec<Running> =
        (0..READERS).map(|i| Running::start(&mut reading(&path, i, milliseconds))).collect();
    let mut state = State::new(History::Mixed);
    let writers = write(&path, &mut state, time);
    let mut snapshots = 0;
    for reader in readers {
        let ended = reader.end();
        assert_eq!(ended.code(), 0, "{}{}", ended.out, ended.err);
        let read = ended.out.lines().find_map(|line| line.strip_prefix("READ ")).unwrap();
        snapshots += read.parse::<u64>().unwrap();
    }
    println!("{writers} writers, {} operations, {snapshots} snapshots", state.done);
    assert!(snapshots > READERS, "{snapshots} snapshots");
    recover(&path, &mut state);
    let bytes: u64 = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 4 << 20, "{bytes} bytes for {} rows", state.rows().len());
}
