//! A database in production, by day: upserts with expiry, a follower and a backup now and then, and a reader
//! beside the writer.
//!
//! A day of the database takes `NEARPRINT_BENCH_DAY_MS` (10,000 by default): rows expire thirty of them after the
//! beginning of theirs. `NEARPRINT_BENCH_DAYS` (45) is the number of days, `NEARPRINT_BENCH_ROWS` (300,000) the
//! upserts of each: a third of them replaces rows of the last days. What is found is held against the
//! history at the end of each day.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nearprint::{Database, Options, Row, Schema};
use testkit::Random;

const COMMIT_ROWS: u64 = 500;
/// Days that rows live.
const LIFETIME: u32 = 30;
/// Bytes of a row: fingerprint and id.
const ROW_BYTES: u64 = 16;
/// Queries of a reader between two refreshes.
const READS: usize = 100;
/// Rows that are looked up at the end of a day.
const CHECKS: usize = 500;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

fn main() {
    testkit::choose_kernel();
    let home = tempfile::tempdir().unwrap();
    let day = Duration::from_millis(number("NEARPRINT_BENCH_DAY_MS", 10_000));
    let schema = Schema::new().expire_after(day * LIFETIME, Some(day)).unwrap();
    let options = Options::new().threads(2);
    let database = options.create::<u64>(home.path().join("month.np"), &schema).unwrap();
    let reader = Arc::new(Reader::default());
    let reading = {
        let (reader, database) = (reader.clone(), database.clone());
        std::thread::spawn(move || reader.read(&database))
    };
    let month = Month { home: home.path(), day, database: &database, reader: &reader };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| month.run()));
    reader.ends.store(true, Ordering::Relaxed);
    reading.join().unwrap();
    result.unwrap();
}

/// What a reader has measured since somebody asked.
#[derive(Default)]
struct Reader {
    ends: AtomicBool,
    times: Mutex<ReadTimes>,
    /// Fingerprints to ask for.
    known: Mutex<Vec<u64>>,
}

#[derive(Default)]
struct ReadTimes {
    queries: Vec<Duration>,
    refreshes: Vec<Duration>,
}

impl Reader {
    fn read(&self, database: &Database<u64>) {
        let mut random = Random(3);
        let mut snapshot = database.snapshot().unwrap();
        while !self.ends.load(Ordering::Relaxed) {
            let started = Instant::now();
            snapshot = snapshot.refresh().unwrap();
            let refresh = started.elapsed();
            let known = self.known.lock().unwrap().clone();
            let mut times = Vec::with_capacity(READS);
            for _ in 0..READS {
                let at = random.below(known.len().max(1) as u64) as usize;
                let query = known.get(at).map_or_else(|| random.next(), |value| value ^ 5);
                let started = Instant::now();
                snapshot.query(query, 3).unwrap();
                times.push(started.elapsed());
            }
            let mut all = self.times.lock().unwrap();
            all.queries.extend(times);
            all.refreshes.push(refresh);
            drop(all);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The last upsert of an id.
#[derive(Clone, Copy)]
struct Last {
    fingerprint: u64,
    day: u64,
}

struct Month<'a> {
    home: &'a Path,
    day: Duration,
    database: &'a Database<u64>,
    reader: &'a Reader,
}

impl Month<'_> {
    /// Periods of a day since 1970.
    fn today(&self) -> u64 {
        (SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() / self.day.as_millis()) as u64
    }

    /// Waits for a day to begin.
    fn wait_for(&self, day: u64) {
        while self.today() < day {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn run(&self) {
        let (rows, days) = (number("NEARPRINT_BENCH_ROWS", 300_000), number("NEARPRINT_BENCH_DAYS", 45));
        println!(
            "| day | live rows | runs | commit p50, p99, longest (ms) | query p50, p99 (us) | refresh p50, longest (ms) \
             | MB, at most | bytes written a byte | follower behind (ms) | backup (s) |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|");
        let mut follower = self.database.follow(self.home.join("second.np")).unwrap();
        let mut writer = self.database.writer().unwrap();
        let (mut history, mut random) = (Vec::<Last>::new(), Random(1));
        let (first, mut written_before) = (self.today() + 1, written());
        for day in first..first + days {
            self.wait_for(day);
            let (mut commits, mut most_bytes) = (Vec::new(), 0);
            for batch in 0..rows.div_ceil(COMMIT_ROWS) {
                for _ in 0..COMMIT_ROWS {
                    let last = Last { fingerprint: random.next(), day: self.today() };
                    let recent = history.len().min(10 * rows as usize);
                    let id = match random.below(3) {
                        0 if recent > 0 => history.len() - 1 - random.below(recent as u64) as usize,
                        _ => history.len(),
                    };
                    writer.upsert(Row { fingerprint: last.fingerprint, id: id as u64 }).unwrap();
                    if id == history.len() { history.push(last) } else { history[id] = last }
                }
                let started = Instant::now();
                writer.commit().unwrap();
                commits.push(started.elapsed());
                if batch % 16 == 0 {
                    most_bytes = most_bytes.max(bytes_of(self.database.path()));
                }
            }
            let (copies_before, started) = (written(), Instant::now());
            follower.update().unwrap();
            let behind = started.elapsed();
            *self.reader.known.lock().unwrap() =
                history.iter().rev().take(100_000).map(|last| last.fingerprint).collect();
            let backup = (day % 7 == 0).then(|| self.back_up(day));
            let copies = written() - copies_before;
            let snapshot = self.database.snapshot().unwrap();
            let ReadTimes { queries, refreshes } = std::mem::take(&mut *self.reader.times.lock().unwrap());
            let (all_written, bytes) = (written(), bytes_of(self.database.path()));
            println!(
                "| {} | {} | {} | {}, {}, {} | {}, {} | {}, {} | {:.0}, {:.0} | {:.1} | {:.0} | {} |",
                day - first + 1,
                snapshot.stats().rows,
                snapshot.stats().runs.len(),
                millis(&commits, 0.5),
                millis(&commits, 0.99),
                millis(&commits, 1.0),
                micros(&queries, 0.5),
                micros(&queries, 0.99),
                millis(&refreshes, 0.5),
                millis(&refreshes, 1.0),
                bytes as f64 / 1e6,
                most_bytes.max(bytes) as f64 / 1e6,
                (all_written - written_before - copies) as f64 / (rows * ROW_BYTES) as f64,
                behind.as_secs_f64() * 1e3,
                backup.map_or(String::new(), |took| format!("{:.2}", took.as_secs_f64())),
            );
            written_before = all_written;
            self.check(&history, &mut random);
        }
        writer.close().unwrap();
        follower.update().unwrap();
        assert_eq!(self.database.verify().unwrap().damage, []);
    }

    /// Copies the database, beside a copy of the last time.
    fn back_up(&self, day: u64) -> Duration {
        let (copy, base) =
            (self.home.join(format!("copy-{day}")), self.home.join(format!("copy-{}", day - 7)));
        let started = Instant::now();
        let base = base.exists().then_some(base);
        self.database.snapshot().unwrap().backup_with(copy, base.as_ref()).unwrap();
        let took = started.elapsed();
        base.into_iter().for_each(|base| std::fs::remove_dir_all(base).unwrap());
        took
    }

    /// Looks up rows; expired ones must be gone.
    fn check(&self, history: &[Last], random: &mut Random) {
        let snapshot = self.database.snapshot().unwrap();
        let today = self.today();
        for _ in 0..CHECKS {
            let id = random.below(history.len() as u64);
            let Last { fingerprint, day } = history[id as usize];
            let found = snapshot.query(fingerprint, 0).unwrap().iter().any(|found| found.id == id);
            let expires = day + u64::from(LIFETIME);
            // A day may end, or rows of the day before be committed, in the middle.
            assert!(found || expires <= today + 1, "day {day}, today {today}");
            assert!(!found || expires + 1 >= today, "day {day}, today {today}");
        }
    }
}

/// Bytes that this process has given to the system to write.
fn written() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.map_or(0, |bytes| bytes.parse().unwrap())
}

fn bytes_of(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).unwrap().filter_map(|entry| entry.ok()?.metadata().ok());
    files.map(|file| file.len()).sum()
}

fn at(times: &[Duration], share: f64) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    times.get((last as f64 * share) as usize).copied().unwrap_or_default().as_secs_f64()
}

fn millis(times: &[Duration], share: f64) -> String {
    format!("{:.1}", at(times, share) * 1e3)
}

fn micros(times: &[Duration], share: f64) -> String {
    format!("{:.1}", at(times, share) * 1e6)
}
