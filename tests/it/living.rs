//! A database that changes: every answer of every snapshot against brute force over a model.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{Random, SHAPES, Shape, all_rows, clusters, matches, pairs, rows};
use nearprint::{Database, Error, Options, Row, Snapshot, Writer};

fn options(layout: &str) -> Options {
    Options::new().layout(layout.parse().unwrap()).memtable_rows(250).memory_bytes(1 << 20)
}

/// Compares everything that a snapshot can be asked with brute force.
fn check(snapshot: &Snapshot<u64>, model: &BTreeSet<Row<u64>>, random: &mut Random) {
    let expected: Vec<Row<u64>> = model.iter().copied().collect();
    assert_eq!(all_rows(snapshot), expected);
    for _ in 0..6 {
        let near = expected.get(random.below(expected.len().max(1) as u64) as usize);
        let query = random.near(near.map_or(0, |row| row.fingerprint), 6);
        for k in [0, 3, 7, 30] {
            assert_eq!(snapshot.query(query, k).unwrap(), matches(&expected, query, k), "k = {k}");
        }
        let mut nearest = matches(&expected, query, 64);
        nearest.truncate(5);
        assert_eq!(snapshot.nearest(query, 5, 64).unwrap(), nearest);
    }
    for k in [3, 20] {
        let mut found = BTreeSet::new();
        snapshot
            .visit_pairs(k, |block| {
                assert!(block.iter().all(|&pair| found.insert(pair)), "each pair once");
                Ok::<(), Error>(())
            })
            .unwrap();
        assert_eq!(found, pairs(&expected, k));
        let mut found = Vec::new();
        snapshot
            .visit_clusters(k, |cluster| {
                found.push(cluster.to_vec());
                Ok::<(), Error>(())
            })
            .unwrap();
        assert_eq!(found, clusters(&expected, k));
    }
    for id in [0, 7, 1 << 40] {
        let of_id: Vec<u64> = expected.iter().filter(|row| row.id == id).map(|row| row.fingerprint).collect();
        assert_eq!(snapshot.fingerprints_of(id).unwrap(), of_id);
    }
}

/// One random operation on a writer and on the model.
fn change(writer: &mut Writer<u64>, model: &mut BTreeSet<Row<u64>>, pool: &[Row<u64>], random: &mut Random) {
    let row = Row { id: random.below(900), ..pool[random.below(pool.len() as u64) as usize] };
    match random.below(20) {
        0..14 => {
            writer.insert(row.fingerprint, Some(row.id)).unwrap();
            model.insert(row);
        }
        14..18 => {
            writer.delete(row.id).unwrap();
            model.retain(|other| other.id != row.id);
        }
        _ => {
            writer.upsert(row.fingerprint, row.id).unwrap();
            model.retain(|other| other.id != row.id);
            model.insert(row);
        }
    }
}

fn live(path: &Path, layout: &str, shape: Shape, background: bool) {
    let mut random = Random(layout.len() as u64 + shape as u64);
    let pool = rows(shape, 1500, 5);
    let database = Database::<u64>::create(path, options(layout)).unwrap();
    let database =
        Database::<u64>::open_with(database.path(), options(layout).background_merges(background)).unwrap();
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
    assert_eq!(all_rows(&first), [], "the first one, too");
    let verification = database.verify().unwrap();
    assert_eq!(verification.damage, []);
    assert!(database.snapshot().unwrap().stats().runs.len() <= 6);
}

#[test]
fn every_answer_is_exact_while_rows_come_and_go() {
    for (number, layout) in ["rotations:4", "rotations:2", "blocks:5,2"].into_iter().enumerate() {
        for shape in SHAPES {
            let home = tempfile::tempdir().unwrap();
            live(&home.path().join("db"), layout, shape, number % 2 == 0);
        }
    }
}

#[test]
fn rows_are_a_set_and_ids_may_have_several_fingerprints() {
    let home = tempfile::tempdir().unwrap();
    let database = Database::<u64>::create(home.path().join("db"), Options::new()).unwrap();
    let mut writer = database.writer().unwrap();
    for _ in 0..2 {
        writer.insert(5, Some(1)).unwrap();
        writer.insert(6, Some(1)).unwrap();
        writer.flush().unwrap();
    }
    let row = |fingerprint, id| Row { fingerprint, id };
    assert_eq!(all_rows(&database.snapshot().unwrap()), [row(5, 1), row(6, 1)]);
    writer.upsert(7, 1).unwrap();
    writer.delete(1000).unwrap();
    writer.commit().unwrap();
    assert_eq!(all_rows(&database.snapshot().unwrap()), [row(7, 1)]);
    writer.delete(1).unwrap();
    writer.compact().unwrap();
    assert_eq!(database.snapshot().unwrap().stats().runs, [], "nothing is left");
    assert_eq!(writer.insert(8, None).unwrap(), 2, "ids of deleted rows are not used again");
    writer.close().unwrap();
    let mut writer = database.writer().unwrap();
    assert_eq!(writer.insert(9, None).unwrap(), 3);
    writer.insert(9, Some(u64::MAX)).unwrap();
    assert!(matches!(writer.insert(9, None), Err(Error::Limit(_))));
}

#[test]
fn what_is_not_committed_is_forgotten_and_what_is_survives() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let database = Database::<u64>::create(&path, Options::new()).unwrap();
    let mut writer = database.writer().unwrap();
    writer.insert(1, Some(1)).unwrap();
    writer.commit().unwrap();
    writer.insert(2, Some(2)).unwrap();
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
    let database = Database::<u64>::create(home.path().join("db"), Options::new()).unwrap();
    let writer = database.writer().unwrap();
    let pid = std::process::id();
    assert!(matches!(database.writer(), Err(Error::Locked { pid: Some(found), .. }) if found == pid));
    drop(writer);
    database.writer().unwrap();
    assert!(home.path().join("db/LOCK").exists(), "the lock file stays");
}

/// Files that a crash left are removed by the next writer; files of others are left alone.
#[test]
fn leftovers_are_removed_and_foreign_files_are_not() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let database = Database::<u64>::create(&path, Options::new()).unwrap();
    let leftovers = [
        "00000009-t0.seg",
        "00000009.rows",
        "00000009.dels",
        "wal-00000007.log",
        "MANIFEST.tmp",
        "spill-00000001-0-1.tmp",
    ];
    let foreign = ["notes.txt", "00000009.rows.bak", "wal.log", "9.rows"];
    for name in leftovers.iter().chain(&foreign) {
        std::fs::write(path.join(name), "x").unwrap();
    }
    database.snapshot().unwrap();
    assert!(path.join(leftovers[0]).exists(), "readers remove nothing");
    database.writer().unwrap();
    assert!(leftovers.iter().all(|name| !path.join(name).exists()));
    assert!(foreign.iter().all(|name| path.join(name).exists()));
}

#[test]
fn a_missing_or_foreign_log_is_named() {
    let home = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let database = Database::<u64>::create(home.path().join(name), Options::new()).unwrap();
        let mut writer = database.writer().unwrap();
        writer.insert(1, None).unwrap();
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
    let database = Database::<u64>::create(&path, options.clone()).unwrap();
    let database = Database::<u64>::open_with(database.path(), options).unwrap();
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
                writer.insert(random.next(), None).unwrap();
            }
            writer.commit().unwrap();
        }
        writer.close().unwrap();
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(all_rows(&database.snapshot().unwrap()).len(), 20_000);
}
