//! Every ordered pair of the features that write, with a crash or another process in between, against a model.
//!
//! Each feature is tested where it is defined. Here is what two of them do to each other: numbers that are given
//! again, ranges that cover what others have inserted, rows that live on. To add a feature, add it to `FEATURES`.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nearprint::{
    Database, Error, KeyStorage, NewRow, Options, Result, Row, Schema, SharedWriter, Snapshot, Writer,
};
use testkit::{Random, all_rows, folder_in_memory, matches, short_or_full};

/// The lifetime of rows where one of the two features is their end.
const LIFETIME: Duration = Duration::from_millis(1600);
const PERIOD: Duration = Duration::from_millis(200);

/// Tells a process which part it has: the folder, the feature, and how the process ends.
const PART: &str = "NEARPRINT_PART_OF_A_PAIR";

type Feature = (&'static str, fn(&mut World));

const FEATURES: [Feature; 17] = [
    ("insert", World::insert),
    ("delete", World::delete),
    ("delete keys", World::delete_keys),
    ("delete a prefix", World::delete_prefix),
    ("delete a range", World::delete_range),
    ("upsert", World::upsert),
    ("expire", World::expire),
    ("ingest", World::ingest),
    ("restart", World::restart),
    ("discard", World::discard),
    ("follow", World::follow),
    ("restore", World::restore),
    ("repair", World::repair),
    ("compact", World::compact),
    ("keep the log", World::keep_log),
    ("group commit", World::group_commit),
    ("fork", World::fork),
];

/// What is in between.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Between {
    /// The first feature runs in a process that is then killed with an operation that is not committed.
    Crash,
    /// The first feature runs here. Another process inserts rows, and the second feature has the same handle.
    Process,
}

/// What is known about a key of a row.
#[derive(Clone, Debug)]
struct Known {
    /// Whether the job of `restart` has inserted it, and whether somebody else has.
    by_job: bool,
    by_others: bool,
    /// When it was inserted, in milliseconds: not before, and not after.
    inserted: Range<u64>,
}

/// A database, and what it should hold.
struct World {
    home: PathBuf,
    database: Database<u64>,
    /// Distinguishes what each feature inserts.
    turn: usize,
    rows: BTreeMap<(Row<u64>, String), Known>,
    /// What the folder that follows has if it refuses to follow on.
    followed: BTreeMap<(Row<u64>, String), Known>,
    /// The sequence numbers of the job's rows.
    job: Range<u64>,
    expires: bool,
    /// Whether the database is no longer a later state of what was followed.
    diverged: bool,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

fn options() -> Options {
    Options::new().threads(1).memtable_rows(40).background_merges(false).lock_wait(Duration::from_secs(20))
}

impl World {
    /// A database with the rows of a job, in a run and in the log, and a folder that follows it.
    fn new(home: &Path, expires: bool) -> Self {
        let schema = Schema::new().keys(KeyStorage::KeysAndTexts);
        let schema = match expires {
            true => schema.expire_after(LIFETIME, Some(PERIOD)).unwrap(),
            false => schema,
        };
        let database = options().create::<u64>(home.join("db"), &schema).unwrap();
        let (rows, followed) = (BTreeMap::new(), BTreeMap::new());
        let home = home.to_owned();
        let mut world = Self { home, database, turn: 0, rows, followed, job: 0..0, expires, diverged: false };
        let mut writer = world.writer();
        let begun = now();
        for (row, key) in world.new_rows("job", 30) {
            writer.insert(NewRow { id: Some(row.id), ..NewRow::keyed(row.fingerprint, &key) }).unwrap();
            world.rows.insert((row, key), known(true, begun));
        }
        world.job = 0..writer.next_sequence();
        writer.close().unwrap();
        world.follow();
        world
    }

    fn schema(&self) -> Schema {
        let schema = Schema::new().keys(KeyStorage::KeysAndTexts);
        if self.expires { schema.expire_after(LIFETIME, Some(PERIOD)).unwrap() } else { schema }
    }

    fn writer(&self) -> Writer<u64> {
        self.database.writer().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Rows that nothing else has inserted. A third of them have ids that several share, the others the hashes of
    /// their keys.
    fn new_rows(&mut self, name: &str, count: u64) -> Vec<(Row<u64>, String)> {
        self.turn += 1;
        let mut random = Random(self.turn as u64 * 1000);
        let row = |number: u64| {
            let key = format!("{name} {}/{number}", self.turn);
            let fingerprint = random.below(50) << 40 | random.below(4) << 7 | self.turn as u64;
            let id = if number.is_multiple_of(3) { number % 2 + 10 * self.turn as u64 } else { id_of(&key) };
            (Row { fingerprint, id }, key)
        };
        (0..count).map(row).collect()
    }

    /// Inserts rows, and some that the job has inserted.
    fn insert_with(&mut self, writer: &mut Writer<u64>) -> Vec<(Row<u64>, String)> {
        self.insert_since(now(), writer)
    }

    /// Goes on in a transaction that began at a time, which is that of its rows.
    fn insert_since(&mut self, begun: u64, writer: &mut Writer<u64>) -> Vec<(Row<u64>, String)> {
        let mut rows = self.new_rows("row", 9);
        let of_job = self.rows.iter().filter(|(_, known)| known.by_job && !known.by_others);
        rows.extend(of_job.map(|(row, _)| row.clone()).skip(self.turn % 5).step_by(7).take(2));
        for (row, key) in &rows {
            writer.insert(NewRow { id: Some(row.id), ..NewRow::keyed(row.fingerprint, key) }).unwrap();
            self.inserted((*row, key.clone()), begun);
        }
        rows
    }

    fn inserted(&mut self, row: (Row<u64>, String), begun: u64) {
        let new = known(false, begun);
        let known = self.rows.entry(row).or_insert_with(|| new.clone());
        known.by_others = true;
        known.inserted.end = new.inserted.end;
    }

    fn insert(&mut self) {
        let mut writer = self.writer();
        self.insert_with(&mut writer);
        writer.commit().unwrap();
        self.insert_with(&mut writer);
        writer.close().unwrap();
    }

    /// Inserts rows, and deletes what some of them have in common with others that were there before.
    fn deletion(
        &mut self,
        delete: impl FnOnce(&mut Writer<u64>, &[(Row<u64>, String)]),
        is_deleted: impl Fn(&[(Row<u64>, String)], &(Row<u64>, String)) -> bool,
    ) {
        let mut writer = self.writer();
        let mut chosen: Vec<(Row<u64>, String)> = self.rows.keys().step_by(6).cloned().collect();
        chosen.extend(self.insert_with(&mut writer).into_iter().step_by(4));
        delete(&mut writer, &chosen);
        self.rows.retain(|row, _| !is_deleted(&chosen, row));
        writer.close().unwrap();
    }

    fn delete(&mut self) {
        self.deletion(
            |writer, chosen| chosen.iter().for_each(|(row, _)| writer.delete(row.id).unwrap()),
            |chosen, (row, _)| chosen.iter().any(|(other, _)| other.id == row.id),
        );
    }

    fn delete_keys(&mut self) {
        self.deletion(
            |writer, chosen| {
                let keys: Vec<&str> = chosen.iter().map(|(_, key)| &**key).collect();
                writer.delete_keys(&keys).unwrap();
            },
            |chosen, (_, key)| chosen.iter().any(|(_, other)| other == key),
        );
    }

    fn delete_prefix(&mut self) {
        let prefix = |chosen: &[(Row<u64>, String)]| chosen[0].1.split('/').next().unwrap().to_owned();
        self.deletion(
            |writer, chosen| _ = writer.delete_key_prefix(&prefix(chosen)).unwrap(),
            |chosen, (_, key)| key.starts_with(&prefix(chosen)),
        );
    }

    fn delete_range(&mut self) {
        let range = |chosen: &[(Row<u64>, String)]| {
            let middle = chosen[chosen.len() / 2].0.id;
            middle.saturating_sub(u64::MAX / 8)..=middle.saturating_add(u64::MAX / 8)
        };
        self.deletion(
            |writer, chosen| _ = writer.delete_ids(range(chosen)).unwrap(),
            |chosen, (row, _)| range(chosen).contains(&row.id),
        );
    }

    /// Gives keys other fingerprints.
    fn upsert(&mut self) {
        let mut writer = self.writer();
        let begun = now();
        self.insert_since(begun, &mut writer);
        let of_key = |(row, key): &(Row<u64>, String)| row.id == id_of(key);
        let chosen: Vec<_> = self.rows.keys().filter(|row| of_key(row)).step_by(5).cloned().collect();
        for (row, key) in chosen {
            let fingerprint = row.fingerprint ^ 1 << 60;
            writer.upsert(NewRow::keyed(fingerprint, &key)).unwrap();
            self.rows.retain(|(other, _), _| other.id != row.id);
            self.inserted((Row { fingerprint, ..row }, key), begun);
        }
        writer.close().unwrap();
    }

    /// Lets half of a lifetime pass. What is left of it, and the end, `pair` looks at.
    fn expire(&mut self) {
        self.insert();
        thread::sleep(LIFETIME / 2);
        let mut writer = self.writer();
        self.insert_with(&mut writer);
        writer.flush().unwrap();
        writer.close().unwrap();
    }

    /// Adopts two runs that were built elsewhere.
    fn ingest(&mut self) {
        let mut folders = Vec::new();
        for part in 0..2 {
            let (begun, rows) = (now(), self.new_rows("part", 20));
            let folder = self.path(&format!("part{}{part}", self.turn));
            let mut builder = options().build::<u64>(&folder, &self.schema()).unwrap().runs_only();
            for (row, key) in rows {
                let new = NewRow { id: Some(row.id), ..NewRow::keyed(row.fingerprint, &key) };
                builder.push(new).unwrap();
                self.inserted((row, key), begun);
            }
            builder.finish().unwrap();
            folders.push(folder);
        }
        let mut writer = self.writer();
        assert_eq!(writer.ingest(&folders).unwrap().runs, 2);
        let end = now() + 1;
        let of_parts = self.rows.iter_mut().filter(|((_, key), _)| key.starts_with("part"));
        of_parts.for_each(|(_, known)| known.inserted.end = known.inserted.end.max(end));
        self.insert_with(&mut writer);
        writer.close().unwrap();
    }

    /// Forgets the rows of the job.
    fn restart(&mut self) {
        let mut writer = self.writer();
        self.insert_with(&mut writer);
        writer.delete_keys_between(std::slice::from_ref(&self.job)).unwrap();
        self.rows.retain(|_, known| known.by_others);
        writer.close().unwrap();
    }

    fn discard(&mut self) {
        let mut writer = self.writer();
        self.insert_with(&mut writer);
        writer.commit().unwrap();
        let before = self.rows.clone();
        self.insert_with(&mut writer);
        let id = before.keys().next().map_or(0, |(row, _)| row.id);
        writer.delete(id).unwrap();
        writer.discard().unwrap();
        self.rows = before;
        self.insert_with(&mut writer);
        writer.close().unwrap();
    }

    /// Brings the folder that follows up to date. It may refuse what is no later state of what it has.
    fn follow(&mut self) {
        let path = self.path("second");
        match self.database.follow(&path) {
            Ok(_) => (self.followed, self.diverged) = (self.rows.clone(), false),
            Err(Error::Diverged { .. } | Error::AlreadyExists { .. }) if self.diverged => {}
            Err(error) => panic!("{error}"),
        }
        compare(&Database::open(path).unwrap(), &self.followed, self.expires);
    }

    /// Goes back to a copy, and inserts rows as often as rows were lost by that.
    fn restore(&mut self) {
        let copy = self.path(&format!("copy{}", self.turn));
        self.database.snapshot().unwrap().backup(&copy).unwrap();
        let saved = self.rows.clone();
        for _ in 0..2 {
            let mut writer = self.writer();
            self.insert_with(&mut writer);
            writer.flush().unwrap();
        }
        self.follow();
        fs::remove_dir_all(self.path("db")).unwrap();
        Database::<u64>::open(copy).unwrap().snapshot().unwrap().backup(self.path("db")).unwrap();
        self.database = options().open(self.path("db")).unwrap();
        (self.rows, self.diverged) = (saved, true);
        for _ in 0..2 {
            let mut writer = self.writer();
            self.insert_with(&mut writer);
            writer.flush().unwrap();
        }
    }

    fn repair(&mut self) {
        self.insert();
        let saved = self.path("saved");
        let report = options().repair::<u64>(self.path("db"), &saved, &self.schema()).unwrap();
        assert!(report.is_complete(), "{report:?}");
        fs::remove_dir_all(self.path("db")).unwrap();
        fs::rename(saved, self.path("db")).unwrap();
        self.database = options().open(self.path("db")).unwrap();
        self.diverged = true;
        // All rows expire with the newest.
        let newest = self.rows.values().map(|known| known.inserted.end).max().unwrap();
        self.rows.values_mut().for_each(|known| known.inserted.end = newest);
        self.insert();
    }

    fn compact(&mut self) {
        let mut writer = self.writer();
        self.insert_with(&mut writer);
        writer.compact().unwrap();
        self.insert_with(&mut writer);
        writer.close().unwrap();
    }

    /// A writer that keeps its log when it closes.
    fn keep_log(&mut self) {
        let keeping = options().keep_log(1 << 20).open::<u64>(self.path("db")).unwrap();
        for _ in 0..3 {
            let mut writer = keeping.writer().unwrap();
            self.insert_with(&mut writer);
            writer.close().unwrap();
        }
    }

    /// Several threads commit together, and the calls of some fail.
    fn group_commit(&mut self) {
        let begun = now();
        let rows: Vec<_> = (0..4).map(|_| self.new_rows("thread", 9)).collect();
        let shared = SharedWriter::new(self.writer());
        thread::scope(|scope| {
            for (thread, rows) in rows.iter().enumerate() {
                let shared = &shared;
                scope.spawn(move || {
                    for (row, key) in rows {
                        let new = NewRow { id: Some(row.id), ..NewRow::keyed(row.fingerprint, key) };
                        let outcome: Result<u64> = shared.commit_with(|writer| {
                            let id = writer.insert(new)?;
                            if thread == 0 { Err(Error::Interrupted) } else { Ok(id) }
                        });
                        assert_eq!(outcome.is_ok(), thread > 0);
                    }
                });
            }
        });
        shared.into_inner().close().unwrap();
        let acknowledged = rows.into_iter().skip(1).flatten();
        acknowledged.for_each(|row| self.inserted(row, begun));
    }

    /// A child inherits an open writer, uses it and ends.
    fn fork(&mut self) {
        let mut writer = self.writer();
        let begun = now();
        self.insert_since(begun, &mut writer);
        let mut child = || {
            let inserted = writer.insert(Row { fingerprint: 1, id: 1 }).and_then(|_| writer.commit());
            matches!(inserted, Err(Error::Forked { .. }))
        };
        forked(&mut child);
        self.insert_since(begun, &mut writer);
        assert!(matches!(
            Options::new().open::<u64>(self.path("db")).unwrap().writer(),
            Err(Error::Locked { .. })
        ));
        writer.close().unwrap();
    }

    /// What another process needs to go on.
    fn save(&self) {
        let list = |rows: &BTreeMap<(Row<u64>, String), Known>| {
            let mut out = String::new();
            for ((row, key), known) in rows {
                let Known { by_job, by_others, inserted } = known;
                let Range { start, end } = inserted;
                writeln!(
                    out,
                    "{} {} {} {} {start} {end} {key}",
                    row.fingerprint,
                    row.id,
                    u8::from(*by_job),
                    u8::from(*by_others)
                )
                .unwrap();
            }
            out
        };
        let numbers = format!(
            "{} {} {} {}\n",
            self.turn,
            self.job.end,
            u8::from(self.expires),
            u8::from(self.diverged)
        );
        let all = [numbers, list(&self.rows), list(&self.followed)].join("\n");
        fs::write(self.path("world"), all).unwrap();
    }

    /// What another process has saved.
    fn load(home: &Path) -> Self {
        let all = fs::read_to_string(home.join("world")).unwrap();
        let mut parts = all.splitn(3, "\n\n");
        let numbers: Vec<u64> =
            parts.next().unwrap().split_whitespace().map(|number| number.parse().unwrap()).collect();
        let list = |part: &str| {
            let line = |line: &str| {
                let words: Vec<&str> = line.splitn(7, ' ').collect();
                let number = |at: usize| words[at].parse::<u64>().unwrap();
                let known = Known {
                    by_job: number(2) == 1,
                    by_others: number(3) == 1,
                    inserted: number(4)..number(5),
                };
                ((Row { fingerprint: number(0), id: number(1) }, words[6].to_owned()), known)
            };
            part.lines().filter(|line| !line.is_empty()).map(line).collect()
        };
        Self {
            home: home.to_owned(),
            database: options().open(home.join("db")).unwrap(),
            turn: numbers[0] as usize,
            rows: list(parts.next().unwrap()),
            followed: list(parts.next().unwrap()),
            job: 0..numbers[1],
            expires: numbers[2] == 1,
            diverged: numbers[3] == 1,
        }
    }
}

/// A key that is inserted now.
fn known(by_job: bool, begun: u64) -> Known {
    Known { by_job, by_others: !by_job, inserted: begun..now() + 1 }
}

/// The id of a row with a key, if none is given.
fn id_of(key: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(key.as_bytes())
}

/// Compares a database with what it should hold. What may have expired while it is looked at may be there or not.
fn compare(database: &Database<u64>, expected: &BTreeMap<(Row<u64>, String), Known>, expires: bool) {
    let (lifetime, period) = (LIFETIME.as_millis() as u64, PERIOD.as_millis() as u64);
    let begun = now();
    let snapshot: Snapshot<u64> = database.snapshot().unwrap();
    let taken = now();
    let rows = all_rows(&snapshot);
    let of_row = |row: &Row<u64>| {
        let keys = snapshot.keys_of(*row).unwrap();
        assert!(!keys.is_empty(), "{row:?} has no key");
        keys.into_iter().map(|key| (*row, key.key)).collect::<Vec<_>>()
    };
    let found: BTreeSet<(Row<u64>, String)> = rows.iter().flat_map(of_row).collect();
    for row in &found {
        let Some(known) = expected.get(row) else { panic!("{row:?} should not be there") };
        assert!(
            !expires || known.inserted.end + lifetime >= begun,
            "{row:?} has expired: {known:?} at {begun}"
        );
    }
    for (row, known) in expected {
        let may_be_gone = expires && known.inserted.start + lifetime <= taken + period;
        assert!(may_be_gone || found.contains(row), "{row:?} is lost: {known:?} at {taken}");
    }
    for row in rows.iter().step_by(5) {
        let query = row.fingerprint ^ 1 << 41;
        assert_eq!(snapshot.query(query, 3).unwrap(), matches(&rows, query, 3));
    }
    assert_eq!(database.verify().unwrap().damage, []);
}

/// Runs a part of a pair in a process of its own.
fn in_a_process(home: &Path, feature: &str, ending: &str) {
    let part = [home.to_str().unwrap(), feature, ending].join("\n");
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "pairs_of_features::a_process_of_a_pair", "--ignored", "--nocapture"]);
    let output = command.env(PART, part).output().unwrap();
    let has_ended = output.status.success();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(has_ended == (ending == "exit"), "{feature}: {said}");
    assert!(home.join("ended").exists(), "{feature}: {said}");
    fs::remove_file(home.join("ended")).unwrap();
}

#[test]
#[ignore = "the other process of the tests below, which start it"]
fn a_process_of_a_pair() {
    let part = env::var(PART).unwrap();
    let [home, feature, ending] = part.split('\n').collect::<Vec<_>>()[..] else { panic!("{part}") };
    let mut world = World::load(Path::new(home));
    let (_, run) = FEATURES.iter().find(|(name, _)| *name == feature).unwrap();
    run(&mut world);
    world.save();
    let mut writer = world.writer();
    fs::write(world.path("ended"), b"").unwrap();
    if ending == "kill" {
        writer.insert(NewRow::keyed(7, "never committed")).unwrap();
        std::process::abort();
    }
    writer.close().unwrap();
}

fn pair((first, run_first): Feature, (second, run_second): Feature, between: Between) {
    let folder = folder_in_memory();
    let home = folder.path();
    let mut world = World::new(home, [first, second].contains(&"expire"));
    match between {
        Between::Crash => {
            world.save();
            in_a_process(home, first, "kill");
            world = World::load(home);
        }
        Between::Process => {
            run_first(&mut world);
            world.save();
            in_a_process(home, "insert", "exit");
            let loaded = World::load(home);
            world = World { database: world.database, ..loaded };
        }
    }
    run_second(&mut world);
    compare(&Database::open(world.path("db")).unwrap(), &world.rows, world.expires);
    world.follow();
    world.compact();
    compare(&Database::open(world.path("db")).unwrap(), &world.rows, world.expires);
    let steps = if world.expires { 6 } else { 0 };
    for _ in 0..steps {
        thread::sleep(LIFETIME / 4);
        compare(&Database::open(world.path("db")).unwrap(), &world.rows, true);
    }
}

/// In short form, each pair meets one of the two.
#[test]
fn every_pair_of_features_keeps_what_both_promise() {
    let mut pairs = Vec::new();
    for (a, first) in FEATURES.into_iter().enumerate() {
        for (b, second) in FEATURES.into_iter().enumerate() {
            for between in [Between::Crash, Between::Process] {
                let is_chosen = (a + b) % 2 == between as usize;
                if short_or_full(is_chosen, true) {
                    pairs.push((first, second, between));
                }
            }
        }
    }
    // Most of the time of a pair with an expiry is waiting.
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(&(first, second, between)) = pairs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if thread::scope(|one| one.spawn(|| pair(first, second, between)).join()).is_err() {
                        failed.lock().unwrap().push(format!("{}, {between:?}, {}", first.0, second.0));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} pairs: {failed:#?}", failed.len(), pairs.len());
}

/// Runs a function in the child of a fork, and expects it to return true.
#[cfg(unix)]
fn forked(child: &mut dyn FnMut() -> bool) {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(code: i32) -> !;
    }
    // SAFETY: the child runs the function and ends at once, without destructors or handlers of its parent.
    unsafe {
        match fork() {
            0 => _exit(i32::from(!child())),
            process => {
                let mut status = 0;
                assert!(process > 0 && waitpid(process, &raw mut status, 0) == process && status == 0);
            }
        }
    }
}

#[cfg(not(unix))]
fn forked(_: &mut dyn FnMut() -> bool) {}
