//! A database that changes: every answer of every snapshot against brute force over a model.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nearprint::{
    Database, Error, Fingerprint, KeyStorage, NewRow, Options, Progress, Query, Row, Schema, Snapshot, Stage,
    Writer,
};
use testkit::{
    Random, SHAPES, Shape, all_rows, by_width, clusters, collected, folder_in_memory, for_each_width,
    insert_all, layout, low, matches, pairs, rows, short_or_full,
};

for_each_width!(
    every_answer_is_exact_while_rows_come_and_go,
    keyed_rows_come_and_go,
    rows_are_a_set_and_ids_may_have_several_fingerprints,
    uncommitted_changes_are_discarded_and_committed_ones_survive,
    discarding_takes_back_what_was_not_committed,
    what_is_looked_up_ahead_changes_no_answer,
);

fn options() -> Options {
    Options::new().memtable_rows(250).memory_bytes(1 << 20)
}

/// Compares all answers of a snapshot with brute force.
fn check<F: Fingerprint>(snapshot: &Snapshot<F>, model: &BTreeSet<Row<F>>, random: &mut Random) {
    let expected: Vec<Row<F>> = model.iter().copied().collect();
    assert_eq!(all_rows(snapshot), expected);
    for _ in 0..6 {
        let near = expected.get(random.below(expected.len().max(1) as u64) as usize);
        let query = random.near(near.map_or(F::default(), |row| row.fingerprint), 6);
        for k in by_width::<F, _>([0, 3, 7, 30], [0, 3, 10, 60], [0, 7, 31, 120]) {
            assert_eq!(snapshot.query(query, k).unwrap(), matches(&expected, query, k), "k = {k}");
        }
        let mut nearest = matches(&expected, query, F::BITS);
        nearest.truncate(5);
        assert_eq!(snapshot.query(query, Query::nearest(5)).unwrap(), nearest);
    }
    for k in by_width::<F, _>([3, 20], [10, 40], [31, 80]) {
        let mut found = collected(snapshot.pairs(k));
        found.sort_unstable();
        assert_eq!(found, pairs(&expected, k));
        assert_eq!(collected(snapshot.clusters(k)), clusters(&expected, k));
    }
    for id in [0, 7, 1 << 40] {
        let of_id: Vec<F> = expected.iter().filter(|row| row.id == id).map(|row| row.fingerprint).collect();
        assert_eq!(snapshot.fingerprints_of(id).unwrap(), of_id);
    }
}

/// One random operation on a writer and on the model.
fn change<F: Fingerprint>(
    writer: &mut Writer<F>,
    model: &mut BTreeSet<Row<F>>,
    pool: &[Row<F>],
    random: &mut Random,
) {
    let row = Row { id: random.below(900), ..pool[random.below(pool.len() as u64) as usize] };
    match random.below(20) {
        0..14 => {
            writer.insert(row).unwrap();
            model.insert(row);
        }
        14..18 => {
            writer.delete(row.id).unwrap();
            model.retain(|other| other.id != row.id);
        }
        _ => {
            writer.upsert(row).unwrap();
            model.retain(|other| other.id != row.id);
            model.insert(row);
        }
    }
}

fn live<F: Fingerprint>(path: &Path, name: &str, shape: Shape, background: bool) {
    let mut random = Random(name.len() as u64 + shape as u64);
    let pool = rows::<F>(shape, 1500, 5);
    let options = options().background_merges(background);
    let database = options.create::<F>(path, &layout(name)).unwrap();
    let mut writer = database.writer().unwrap();
    let mut model = BTreeSet::new();
    let first = database.snapshot().unwrap();
    let mut reader = first.clone();
    let mut old = (database.snapshot().unwrap(), model.clone());
    for round in 0..14 {
        for _ in 0..180 {
            change(&mut writer, &mut model, &pool, &mut random);
        }
        check(&writer.snapshot().unwrap(), &model, &mut random);
        for row in pool.iter().step_by(151) {
            let expected = matches(&model.iter().copied().collect::<Vec<_>>(), row.fingerprint, 3);
            assert_eq!(writer.query(row.fingerprint, 3).unwrap(), expected, "before the commit");
        }
        writer.commit().unwrap();
        reader = reader.refresh().unwrap();
        check(&reader, &model, &mut random);
        assert_eq!(all_rows(&old.0), old.1.iter().copied().collect::<Vec<_>>(), "snapshots are stable");
        match round {
            4 => writer.flush().unwrap(),
            9 => writer.compact().unwrap(),
            12 => {
                writer.close().unwrap();
                writer = database.writer().unwrap();
            }
            _ => {}
        }
        old = (database.snapshot().unwrap(), model.clone());
        check(&old.0, &model, &mut random);
    }
    writer.close().unwrap();
    assert_eq!(all_rows(&first), [], "the first snapshot, too");
    let verification = database.verify().unwrap();
    assert_eq!(verification.damage, []);
    assert!(database.snapshot().unwrap().stats().runs.len() <= 6);
}

/// In short form, each layout meets one shape, at each width another one.
fn every_answer_is_exact_while_rows_come_and_go<F: Fingerprint>() {
    let layouts = ["rotations:4", "rotations:2", "blocks:5,2"];
    for (number, name) in layouts.into_iter().enumerate() {
        for (index, shape) in SHAPES.into_iter().enumerate() {
            let is_chosen = index == (number + F::BITS as usize / 64) % SHAPES.len();
            if short_or_full(is_chosen, true) {
                let home = folder_in_memory();
                live::<F>(&home.path().join("db"), name, shape, number % 2 == 0);
            }
        }
    }
}

/// Inserts with keys, deletes, flushes, merges, a log that nobody closed, a backup.
fn keyed_rows_come_and_go<F: Fingerprint>() {
    let k = by_width::<F, _>(3, 10, 31);
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let rows = rows::<F>(Shape::Skewed, 4000, 8);
    let schema = Schema::new().k(k).keys(KeyStorage::Keys);
    let database = Options::new().memtable_rows(500).create::<F>(&path, &schema).unwrap();
    let mut writer = database.writer().unwrap();
    let mut expected: BTreeSet<Row<F>> = BTreeSet::new();
    let mut random = Random(6);
    for (at, row) in rows.iter().enumerate() {
        let key = format!("image-{}.jpg", row.id);
        writer.insert(NewRow { id: Some(row.id), ..NewRow::keyed(row.fingerprint, &key) }).unwrap();
        expected.insert(*row);
        if at % 7 == 0 {
            let id = random.below(row.id + 1);
            writer.delete(id).unwrap();
            expected.retain(|row| row.id != id);
        }
        if at % 300 == 0 {
            writer.commit().unwrap();
            let stored = rows[random.below(at as u64 + 1) as usize].fingerprint;
            let query = random.near(stored, u64::from(k));
            let live: Vec<Row<F>> = expected.iter().copied().collect();
            let expected = matches(&live, query, k);
            let first = &expected[..expected.len().min(2)];
            assert_eq!(writer.query(query, Query::within(k).limit(2)).unwrap(), first);
            assert_eq!(writer.query(query, Query::nearest(2).max_k(k)).unwrap(), first);
            assert_eq!(writer.query(query, k).unwrap(), expected);
            assert_eq!(database.snapshot().unwrap().query(query, k).unwrap(), matches(&live, query, k));
        }
    }
    // Not closed: the next writer recovers the log.
    writer.commit().unwrap();
    drop(writer);
    let live: Vec<Row<F>> = expected.into_iter().collect();
    assert_eq!(all_rows(&database.snapshot().unwrap()), live);
    let mut writer = database.writer().unwrap();
    assert_eq!(all_rows(&database.snapshot().unwrap()), live);
    writer.compact().unwrap();
    writer.close().unwrap();
    let snapshot = database.snapshot().unwrap();
    assert_eq!(all_rows(&snapshot), live);
    assert_eq!(snapshot.stats().runs.len(), 1);
    assert_eq!(database.verify().unwrap().damage, []);
    for row in live.iter().step_by(97) {
        let keys: Vec<String> = snapshot.keys_of(*row).unwrap().into_iter().map(|key| key.key).collect();
        assert_eq!(keys, [format!("image-{}.jpg", row.id)]);
    }
    let copy = home.path().join("copy");
    snapshot.backup(&copy).unwrap();
    let copied = Database::<F>::open(&copy).unwrap();
    assert_eq!(copied.verify().unwrap().damage, []);
    assert_eq!(all_rows(&copied.snapshot().unwrap()), live);
}

/// Runs that are merged without the oldest one keep what they delete of it: here more than one block of ids.
#[test]
fn merged_runs_delete_what_each_of_them_deleted() {
    let home = tempfile::tempdir().unwrap();
    let options = Options::new().background_merges(false);
    let database = options.create::<u64>(home.path().join("db"), &Schema::new()).unwrap();
    let mut writer = database.writer().unwrap();
    let all = 0..200_000_u64;
    for id in all.clone() {
        writer.insert(Row { fingerprint: id, id }).unwrap();
    }
    writer.flush().unwrap();
    let mut deleted = 0;
    for part in 0..24 {
        (0..1000).for_each(|id| writer.delete(part + 24 * id).unwrap());
        deleted += 1000;
        writer.flush().unwrap();
        let stats = database.snapshot().unwrap().stats();
        assert_eq!((stats.tombstones, stats.rows), (deleted, 200_000), "{part}");
    }
    let snapshot = database.snapshot().unwrap();
    assert!(snapshot.stats().runs.len() < 24, "{}", snapshot.stats().runs.len());
    let live: Vec<u64> = all_rows(&snapshot).iter().map(|row| row.id).collect();
    assert_eq!(live, all.skip(24_000).collect::<Vec<_>>());
    assert_eq!(database.verify().unwrap().damage, []);
}

fn rows_are_a_set_and_ids_may_have_several_fingerprints<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let database = Database::<F>::create(home.path().join("db"), &Schema::new()).unwrap();
    let mut writer = database.writer().unwrap();
    for _ in 0..2 {
        writer.insert(Row { fingerprint: low::<F>(5), id: 1 }).unwrap();
        writer.insert(Row { fingerprint: low::<F>(6), id: 1 }).unwrap();
        writer.flush().unwrap();
    }
    let row = |fingerprint, id| Row { fingerprint: low::<F>(fingerprint), id };
    assert_eq!(all_rows(&database.snapshot().unwrap()), [row(5, 1), row(6, 1)]);
    writer.upsert(Row { fingerprint: low::<F>(7), id: 1 }).unwrap();
    writer.delete(1000).unwrap();
    writer.commit().unwrap();
    assert_eq!(all_rows(&database.snapshot().unwrap()), [row(7, 1)]);
    writer.delete(1).unwrap();
    writer.compact().unwrap();
    assert_eq!(database.snapshot().unwrap().stats().runs, [], "nothing is left");
    assert_eq!(writer.insert(low::<F>(8)).unwrap(), 2, "ids of deleted rows are not used again");
    writer.close().unwrap();
    let mut writer = database.writer().unwrap();
    assert_eq!(writer.insert(low::<F>(9)).unwrap(), 3);
    writer.insert(Row { fingerprint: low::<F>(9), id: u64::MAX }).unwrap();
    assert!(matches!(writer.insert(low::<F>(9)), Err(Error::Limit(_))));
}

fn uncommitted_changes_are_discarded_and_committed_ones_survive<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let database = Database::<F>::create(&path, &Schema::new()).unwrap();
    let mut writer = database.writer().unwrap();
    writer.insert(Row { fingerprint: low::<F>(1), id: 1 }).unwrap();
    writer.commit().unwrap();
    writer.insert(Row { fingerprint: low::<F>(2), id: 2 }).unwrap();
    assert_eq!(all_rows(&writer.snapshot().unwrap()).len(), 2);
    assert_eq!(all_rows(&database.snapshot().unwrap()).len(), 1);
    assert!(path.join("wal-00000001.log").exists());
    drop(writer);
    assert_eq!(all_rows(&database.snapshot().unwrap()).len(), 1);
    database.writer().unwrap().close().unwrap();
    assert!(!path.join("wal-00000001.log").exists(), "recovered into a run");
    assert_eq!(all_rows(&database.snapshot().unwrap()).len(), 1);
}

#[test]
fn there_is_one_writer_and_it_is_named() {
    let home = tempfile::tempdir().unwrap();
    let lock = home.path().join("db/LOCK");
    let database = Database::<u64>::create(home.path().join("db"), &Schema::new()).unwrap();
    let writer = database.writer().unwrap();
    let Err(Error::Locked { holder: Some(holder), .. }) = database.writer() else { panic!("no holder") };
    assert_eq!(holder.pid, std::process::id());
    let place = holder.place.unwrap();
    assert_eq!(
        format!("{}\n{}\n{}\n", holder.pid, place.host, place.since),
        fs::read_to_string(&lock).unwrap()
    );
    drop(writer);
    assert_eq!(fs::read_to_string(&lock).unwrap(), "", "nobody has it");
    database.writer().unwrap();
    assert!(lock.exists(), "the lock file stays");
}

/// A callback that counts the reports of a wait, and cancels after a number of them.
struct WaitListener {
    reports: AtomicU64,
    most: u64,
}

impl Progress for WaitListener {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        assert_eq!(stage, Stage::Waiting);
        assert!(Some(done) <= total);
        let reports = self.reports.fetch_add(1, Relaxed) + 1;
        if reports < self.most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

#[test]
fn a_writer_waits_for_another_one() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    Database::<u64>::create(&path, &Schema::new()).unwrap();
    let waiting = |wait: Duration, most| {
        let listener = Arc::new(WaitListener { reports: AtomicU64::new(0), most });
        (Options::new().lock_wait(wait).progress(listener.clone()).open::<u64>(&path).unwrap(), listener)
    };
    let writer = Database::<u64>::open(&path).unwrap().writer().unwrap();

    let started = Instant::now();
    let (database, _) = waiting(Duration::from_millis(120), u64::MAX);
    assert!(matches!(database.writer(), Err(Error::Locked { holder: Some(_), .. })));
    assert!(started.elapsed() >= Duration::from_millis(120));

    let (database, _) = waiting(Duration::MAX, 3);
    assert!(matches!(database.writer(), Err(Error::Interrupted)));

    let (database, listener) = waiting(Duration::MAX, u64::MAX);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| database.writer().and_then(|writer| writer.close()));
        while listener.reports.load(Relaxed) < 2 {
            std::thread::yield_now();
        }
        drop(writer);
        second.join().unwrap().unwrap();
    });
}

/// Files that a crash left are removed by the next writer; files of others are left alone, whatever their names.
#[test]
fn leftovers_are_removed_and_foreign_files_are_not() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let database = Database::<u64>::create(&path, &Schema::new()).unwrap();
    let mut writer = database.writer().unwrap();
    writer.insert(7).unwrap();
    writer.flush().unwrap();
    writer.insert(8).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let read = |name: &str| std::fs::read(path.join(name)).unwrap();
    // The same files under other numbers, as a writer that was killed leaves them.
    let numbered = |name: &str, number: u8| {
        let mut bytes = read(name);
        bytes[32] = number;
        bytes[..4096.min(bytes.len())].to_vec()
    };
    let leftovers = [
        ("00000009-t0.seg", numbered("00000001-t0.seg", 9)),
        ("00000009.rows", numbered("00000001.rows", 9)),
        ("00000009.dels", Vec::new()),
        ("00000009.keys", vec![0; 8192]),
        ("wal-00000007.log", numbered("wal-00000001.log", 7)),
        ("MANIFEST.tmp", read("MANIFEST")),
        ("spill-00000001-0-1.tmp", b"x".to_vec()),
    ];
    let foreign = ["notes.txt", "00000009.rows.bak", "wal.log", "9.rows"];
    // The next run and log of this database would have some of these.
    let like_ours =
        ["00000002-t0.seg", "00000003.rows", "00000099.keys", "wal-00000003.log", "00000005.ings"];
    for (name, bytes) in &leftovers {
        std::fs::write(path.join(name), bytes).unwrap();
    }
    for name in foreign.iter().chain(&like_ours) {
        std::fs::write(path.join(name), "my notes").unwrap();
    }
    database.snapshot().unwrap();
    assert!(path.join(leftovers[0].0).exists(), "readers remove nothing");
    let mut writer = database.writer().unwrap();
    assert!(leftovers.iter().all(|(name, _)| !path.join(name).exists()));
    for fingerprint in 0..20 {
        writer.insert(fingerprint).unwrap();
        writer.flush().unwrap();
        writer.compact().unwrap();
    }
    writer.close().unwrap();
    assert!(foreign.iter().chain(&like_ours).all(|name| read(name) == b"my notes"));
    std::fs::write(path.join("MANIFEST.tmp"), "my notes").unwrap();
    let mut writer = database.writer().unwrap();
    writer.insert(99).unwrap();
    let refused = writer.commit();
    assert!(matches!(&refused, Err(Error::Io { path, .. }) if path.ends_with("MANIFEST.tmp")), "{refused:?}");
    assert_eq!(read("MANIFEST.tmp"), b"my notes");
    std::fs::remove_file(path.join("MANIFEST.tmp")).unwrap();
    writer.commit().unwrap();
    assert_eq!(database.verify().unwrap().damage, []);
}

#[test]
fn a_missing_or_foreign_log_is_named() {
    let home = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let database = Database::<u64>::create(home.path().join(name), &Schema::new()).unwrap();
        let mut writer = database.writer().unwrap();
        writer.insert(1).unwrap();
        writer.commit().unwrap();
        drop(writer);
        database
    };
    let (one, other) = (make("one"), make("other"));
    let log = |database: &Database<u64>| database.path().join("wal-00000001.log");
    let corrupt = |what: &str| {
        for result in [one.snapshot().map(drop), one.writer().map(drop)] {
            let Err(Error::Corrupt(damage)) = result else { panic!("{what}: {result:?}") };
            assert_eq!((damage.file.clone(), damage.found.contains(what)), (log(&one), true), "{damage}");
        }
        assert_eq!(one.verify().unwrap().damage.len(), 1);
    };
    std::fs::copy(log(&other), log(&one)).unwrap();
    corrupt("database");
    std::fs::remove_file(log(&one)).unwrap();
    corrupt("no file");
    std::fs::write(log(&one), b"").unwrap();
    corrupt("0");
}

/// Readers in threads see every commit whole, and never a step back, while runs come and go.
#[test]
fn readers_go_forward_while_a_writer_writes_and_merges() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let options = Options::new().memtable_rows(200);
    let database = options.create::<u64>(&path, &Schema::new()).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for fresh in [true, false] {
            let (database, done) = (&database, &done);
            scope.spawn(move || {
                let mut snapshot = database.snapshot().unwrap();
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    snapshot = if fresh { database.snapshot() } else { snapshot.refresh() }.unwrap();
                    let rows = all_rows(&snapshot);
                    assert!(rows.len() >= last, "{} after {last}", rows.len());
                    assert_eq!(rows.len() % 50, 0, "commits are seen whole");
                    let ids: BTreeSet<u64> = rows.iter().map(|row| row.id).collect();
                    assert!(ids.iter().copied().eq(0..rows.len() as u64), "without a hole");
                    last = rows.len();
                }
            });
        }
        let mut writer = database.writer().unwrap();
        let mut random = Random(3);
        for _ in 0..400 {
            for _ in 0..50 {
                writer.insert(random.next()).unwrap();
            }
            writer.commit().unwrap();
        }
        writer.close().unwrap();
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(all_rows(&database.snapshot().unwrap()).len(), 20_000);
}

fn discarding_takes_back_what_was_not_committed<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let schema = Schema::new().keys(KeyStorage::Keys);
    let database = options().create::<F>(home.path().join("db"), &schema).unwrap();
    let mut writer = database.writer().unwrap();
    writer.insert(low::<F>(1)).unwrap();
    writer.discard().unwrap();
    assert_eq!(all_rows(&writer.snapshot().unwrap()), []);
    let rows = [Row { fingerprint: low(2), id: 0 }, Row { fingerprint: low(3), id: 7 }];
    writer.insert(low::<F>(2)).unwrap();
    writer.flush().unwrap();
    writer.insert(NewRow { id: Some(7), ..NewRow::keyed(low::<F>(3), "of three") }).unwrap();
    writer.set_checkpoint(b"two rows").unwrap();
    writer.commit().unwrap();
    for _ in 0..2 {
        writer.delete(0).unwrap();
        writer.upsert(NewRow { id: Some(7), ..NewRow::keyed(low::<F>(4), "of four") }).unwrap();
        writer.set_checkpoint(b"").unwrap();
        writer.discard().unwrap();
        assert_eq!(all_rows(&writer.snapshot().unwrap()), rows);
        assert_eq!(writer.query(low(3), 0).unwrap().len(), 1);
        assert_eq!(writer.keys_of(rows[1]).unwrap()[0].key, "of three");
        assert_eq!((writer.checkpoint(), writer.next_sequence()), (Some(&b"two rows"[..]), 1));
    }
    assert_eq!(writer.insert(low::<F>(5)).unwrap(), 8, "the id of a row that was taken back");
    writer.close().unwrap();
    let snapshot = database.snapshot().unwrap();
    assert_eq!(all_rows(&snapshot)[..2], rows);
    assert_eq!((all_rows(&snapshot).len(), snapshot.checkpoint()), (3, Some(&b"two rows"[..])));
}

#[test]
fn merges_wait_for_a_compaction_if_the_writer_makes_none() {
    let home = folder_in_memory();
    let database = options().merges(false).create::<u64>(home.path().join("db"), &Schema::new()).unwrap();
    let mut writer = database.writer().unwrap();
    for round in 0..20 {
        insert_all(&mut writer, &rows(Shape::Uniform, 50, round)).unwrap();
        writer.flush().unwrap();
    }
    let all = all_rows(&writer.snapshot().unwrap());
    writer.wait_for_merges().unwrap();
    assert_eq!(writer.snapshot().unwrap().stats().runs.len(), 20);
    writer.compact().unwrap();
    assert_eq!(writer.snapshot().unwrap().stats().runs.len(), 1);
    assert_eq!(all_rows(&writer.snapshot().unwrap()), all);
}

#[test]
fn merges_take_the_time_of_their_rate() {
    let home = folder_in_memory();
    let options = options().merge_rate(1).background_merges(false);
    let database = options.create::<u64>(home.path().join("db"), &Schema::new()).unwrap();
    let mut writer = database.writer().unwrap();
    let started = Instant::now();
    for round in 0..7 {
        insert_all(&mut writer, &rows(Shape::Uniform, 50, round)).unwrap();
        writer.flush().unwrap();
    }
    let stats = writer.snapshot().unwrap().stats();
    assert!(stats.runs.len() < 7, "some were merged");
    // A file may be written at once where nothing was written before. The least rate is 1 MiB a second.
    let paced = stats.runs[0].bytes / 2;
    assert!(started.elapsed().as_secs_f64() > paced as f64 / f64::from(1 << 20));
    assert_eq!(database.verify().unwrap().damage, []);
}

/// The logs of a database, by number.
fn logs(database: &Database<u64>) -> Vec<String> {
    let names = fs::read_dir(database.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut logs: Vec<String> =
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".log")).collect();
    logs.sort();
    logs
}

#[test]
fn a_short_log_stays_when_its_writer_closes() {
    let home = folder_in_memory();
    let options = options().keep_log(4096);
    let database = options.create::<u64>(home.path().join("db"), &Schema::new()).unwrap();
    let mut model = BTreeSet::new();
    let mut insert = |count: usize, seed: u64| {
        let mut writer = database.writer().unwrap();
        for row in rows(Shape::Uniform, count, seed) {
            writer.insert(row).unwrap();
            model.insert(row);
        }
        let taken_back = rows(Shape::Uniform, 1, seed + 100)[0];
        writer.commit().unwrap();
        writer.insert(taken_back).unwrap();
        writer.discard().unwrap();
        assert_eq!(all_rows(&writer.snapshot().unwrap()), model.iter().copied().collect::<Vec<_>>());
        writer.close().unwrap();
        check(&database.snapshot().unwrap(), &model, &mut Random(seed));
    };
    insert(100, 1);
    assert_eq!(logs(&database), ["wal-00000001.log"]);
    // Nobody changes it who has nothing to add.
    database.writer().unwrap().close().unwrap();
    assert_eq!(logs(&database), ["wal-00000001.log"]);
    insert(50, 2);
    assert_eq!(logs(&database), ["wal-00000002.log"], "it begins with what the one before had");
    assert_eq!(database.verify().unwrap().damage, []);
    insert(110, 3);
    assert_eq!(logs(&database), [""; 0], "4,160 bytes of rows are too many");
    insert(20, 4);
    assert_eq!(logs(&database).len(), 1, "beside a run, too");
    Database::<u64>::open(database.path()).unwrap().writer().unwrap().close().unwrap();
    assert_eq!(logs(&database), [""; 0], "another writer was not asked to keep it");
}

/// `Equal` rows have more matches than are held.
fn what_is_looked_up_ahead_changes_no_answer<F: Fingerprint>() {
    for (shape, is_complete) in [(Shape::Uniform, true), (Shape::Equal, false)] {
        let home = folder_in_memory();
        let options = Options::new().threads(2).memory_bytes(1 << 20);
        let database = options.create::<F>(home.path().join("db"), &Schema::new()).unwrap();
        let mut writer = database.writer().unwrap();
        assert!(!writer.has_runs() && writer.look_ahead(&[F::default()], 3).unwrap());
        let (rows, mut random) = (rows::<F>(shape, 3000, 7), Random(9));
        insert_all(&mut writer, &rows[..2000]).unwrap();
        assert!(!writer.has_runs(), "all rows are in memory");
        writer.flush().unwrap();
        assert!(writer.has_runs());
        // Enough for several threads and for an answer table by table.
        let asked: Vec<F> = (0..9000).map(|at| random.near(rows[at % 3000].fingerprint, 4)).collect();
        type Change<'a, F> = &'a dyn Fn(&mut Writer<F>);
        let changes: [Change<'_, F>; 9] = [
            &|_| (),
            &|writer| insert_all(writer, &rows[2000..2500]).unwrap(),
            &|writer| writer.flush().unwrap(),
            &|writer| insert_all(writer, &rows[2500..]).unwrap(),
            &|writer| writer.flush().unwrap(),
            &|writer| writer.compact().unwrap(),
            &|writer| (0..500).for_each(|id| writer.delete(id).unwrap()),
            &|writer| writer.flush().unwrap(),
            &|writer| writer.compact().unwrap(),
        ];
        // Before each change, and then before the first one only.
        for looks_once in [false, true] {
            if looks_once {
                insert_all(&mut writer, &rows[..500]).unwrap();
                writer.flush().unwrap();
            }
            for (at, change) in changes.iter().enumerate() {
                if at == 0 || !looks_once {
                    assert_eq!(writer.look_ahead(&asked, 3).unwrap(), is_complete);
                }
                change(&mut writer);
                let snapshot = writer.snapshot().unwrap();
                for &query in asked.iter().step_by(31) {
                    for k in [2, 3] {
                        assert_eq!(writer.query(query, k).unwrap(), snapshot.query(query, k).unwrap());
                    }
                }
            }
        }
    }
}
