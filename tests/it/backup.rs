//! Copies of a database, made while it changes.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use nearprint::internal::file::{read_exact_at, write_all_at};
use nearprint::{Database, Error, Fingerprint, LayoutChoice, Options, Row, Schema, Snapshot};
use testkit::files::{self, set_mode};
use testkit::{
    Shape, all_rows, build, folder_in_memory, for_each_width, insert_all, low, rows, short_or_full,
};

for_each_width!(
    a_copy_is_a_database_of_its_own,
    an_empty_database_is_copied,
    rows_that_are_only_in_the_log_are_copied,
    given_ids_are_copied_without_their_rows,
    ingested_runs_stay_ingested_in_the_copy,
    a_copy_is_made_while_a_writer_flushes_and_merges,
    an_old_snapshot_is_copied_when_its_files_are_gone,
    a_damaged_database_is_not_copied,
    a_copy_shares_the_files_that_an_earlier_copy_has,
);

fn schema() -> Schema {
    Schema::new().layout(LayoutChoice::Rotations { tables: 2 })
}

fn database<F: Fingerprint>(home: &Path, rows: &[Row<F>]) -> Database<F> {
    build(&home.join("db"), rows, schema());
    Options::new().threads(2).memtable_rows(100).open(home.join("db")).unwrap()
}

/// Backs a snapshot up and checks that the copy is sound and holds the same.
fn copy<F: Fingerprint>(snapshot: &Snapshot<F>, to: &Path) -> Database<F> {
    snapshot.backup(to).unwrap();
    let copy = Database::<F>::open(to).unwrap();
    assert_eq!(copy.verify().unwrap().damage, []);
    let copied = copy.snapshot().unwrap();
    assert!(all_rows(&copied) == all_rows(snapshot));
    let (found, expected) = (copied.stats(), snapshot.stats());
    assert_eq!((found.database_id, found.largest_id), (expected.database_id, expected.largest_id));
    assert_eq!(found.rows, expected.rows);
    // What is in the log of the source is a run of the copy.
    assert!(found.runs.starts_with(&expected.runs), "{:?} {:?}", found.runs, expected.runs);
    copy
}

fn a_copy_is_a_database_of_its_own<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<F>(Shape::Equal, 700, 1);
    let database = database(home.path(), &rows[..600]);
    let mut writer = database.writer().unwrap();
    for part in rows[600..].chunks(30) {
        insert_all(&mut writer, part).unwrap();
        writer.commit().unwrap();
    }
    writer.delete(3).unwrap();
    writer.flush().unwrap();
    let copied = copy(&database.snapshot().unwrap(), &home.path().join("copy"));
    let mut other = copied.writer().unwrap();
    assert_eq!(other.insert(low::<F>(1)).unwrap(), 700);
    other.compact().unwrap();
    other.close().unwrap();
    assert_eq!(all_rows(&copied.snapshot().unwrap()).len(), 700);
    assert_eq!(all_rows(&database.snapshot().unwrap()).len(), 699);
    copy(&copied.snapshot().unwrap(), &home.path().join("copy of the copy"));
}

fn a_copy_shares_the_files_that_an_earlier_copy_has<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let rows = rows::<F>(Shape::Uniform, 3000, 9);
    let database = database(home.path(), &rows[..2000]);
    copy(&database.snapshot().unwrap(), &at("monday"));
    let mut writer = database.writer().unwrap();
    insert_all(&mut writer, &rows[2000..2050]).unwrap();
    // A flush might merge.
    writer.commit().unwrap();
    let snapshot = database.snapshot().unwrap();
    let backup = |dest: &str, base: &str| {
        let shared = snapshot.backup_with(at(dest), Some(at(base))).unwrap();
        let copied = Database::<F>::open(at(dest)).unwrap();
        assert_eq!(copied.verify().unwrap().damage, []);
        assert!(all_rows(&copied.snapshot().unwrap()) == all_rows(&snapshot), "{dest}");
        shared
    };
    let inode = |folder: &str, file: &str| files::inode(&at(folder).join(file));
    let (table, postings) = ("00000001-t0.seg", "00000001.rows");
    let is_shared = |folder: &str, file: &str| inode(folder, file) == inode("monday", file);
    let of_run = snapshot.stats().runs[0].bytes;
    assert_eq!(backup("tuesday", "monday"), of_run);
    assert!(is_shared("tuesday", table) && is_shared("tuesday", postings));
    assert!(!is_shared("tuesday", "MANIFEST") && inode("tuesday", table) != inode("db", table));
    let runs = Database::<F>::open(at("tuesday")).unwrap().snapshot().unwrap().stats().runs;
    assert_eq!(backup("again", "tuesday"), runs.iter().map(|run| run.bytes).sum::<u64>());

    // Writing to a copy, or removing it, changes no other one.
    let mut other = Database::<F>::open(at("again")).unwrap().writer().unwrap();
    other.delete(3).unwrap();
    other.compact().unwrap();
    other.close().unwrap();
    fs::remove_dir_all(at("tuesday")).unwrap();
    assert_eq!(Database::<F>::open(at("monday")).unwrap().verify().unwrap().damage, []);

    // What is damaged, has other permissions or is of another database is copied.
    let damaged = fs::OpenOptions::new().write(true).open(at("monday").join(table)).unwrap();
    write_all_at(&damaged, b"?", 8200).unwrap();
    assert_eq!(backup("healed", "monday"), 0);
    build(&at("other"), &rows, schema());
    assert_eq!(backup("of another", "other"), 0);
    if cfg!(unix) {
        set_mode(&at("healed").join(postings), 0o600);
        assert!(backup("readable", "healed") < of_run);
        assert_eq!(files::mode(&at("healed").join(postings)), 0o600);
    }
    assert!(snapshot.backup_with(at("no base"), Some(at("nowhere"))).is_err());
    assert!(!at("no base").exists());
}

fn an_empty_database_is_copied<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let database = database::<F>(home.path(), &[]);
    let copied = copy(&database.snapshot().unwrap(), &home.path().join("copy"));
    assert_eq!(copied.writer().unwrap().insert(low::<F>(1)).unwrap(), 0);
}

fn rows_that_are_only_in_the_log_are_copied<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<F>(Shape::Uniform, 60, 2);
    let database = database(home.path(), &rows[..30]);
    let mut writer = database.writer().unwrap();
    insert_all(&mut writer, &rows[30..50]).unwrap();
    writer.delete(4).unwrap();
    assert_eq!(writer.insert(low::<F>(77)).unwrap(), 50);
    writer.commit().unwrap();
    writer.insert(low::<F>(78)).unwrap();
    let committed = database.snapshot().unwrap();
    let copied = copy(&committed, &home.path().join("committed"));
    assert_eq!(all_rows(&committed).len(), 50);
    copy(&writer.snapshot().unwrap(), &home.path().join("everything"));
    drop(writer);
    copy(&database.snapshot().unwrap(), &home.path().join("with a log that a crash left"));

    // The copy stores which ids were given.
    let mut other = copied.writer().unwrap();
    let folder = home.path().join("runs");
    let mut builder = Database::<F>::build(&folder, &schema()).unwrap().first_id(50).runs_only();
    builder.push(low::<F>(5)).unwrap();
    builder.finish().unwrap();
    assert!(matches!(other.ingest(&[&folder]), Err(Error::Overlap { given_by_other: (50, 50), .. })));
    assert_eq!(other.insert(low::<F>(79)).unwrap(), 51);
}

fn given_ids_are_copied_without_their_rows<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let database = database::<F>(home.path(), &[]);
    let mut writer = database.writer().unwrap();
    let id = writer.insert(Row { fingerprint: low::<F>(5), id: 41 }).unwrap();
    writer.delete(id).unwrap();
    writer.commit().unwrap();
    let copied = copy(&database.snapshot().unwrap(), &home.path().join("copy"));
    assert_eq!(copied.writer().unwrap().insert(low::<F>(5)).unwrap(), 42);
}

fn ingested_runs_stay_ingested_in_the_copy<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let database = database::<F>(home.path(), &[]);
    let folder = home.path().join("runs");
    let mut builder = Database::<F>::build(&folder, &schema()).unwrap().runs_only();
    builder.push(Row { fingerprint: low::<F>(5), id: 1 }).unwrap();
    builder.finish().unwrap();
    let mut writer = database.writer().unwrap();
    writer.ingest(&[&folder]).unwrap();
    writer.compact().unwrap();
    let copied = copy(&database.snapshot().unwrap(), &home.path().join("copy"));
    assert_eq!(copied.writer().unwrap().ingest(&[&folder]).unwrap().skipped, 1);
}

fn a_copy_is_made_while_a_writer_flushes_and_merges<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<F>(Shape::Uniform, short_or_full(6_000, 12_000), 3);
    let database = database(home.path(), &rows[..1000]);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = database.writer().unwrap();
            for part in rows[1000..].chunks(40) {
                insert_all(&mut writer, part).unwrap();
                writer.commit().unwrap();
            }
            writer.close().unwrap();
            done.store(true, Ordering::Release);
        });
        let mut copies = 0;
        while !done.load(Ordering::Acquire) {
            let snapshot = database.snapshot().unwrap();
            copy(&snapshot, &home.path().join(format!("copy-{copies}")));
            // Rows come in order, batch by batch.
            let count = all_rows(&snapshot).len();
            assert!(count == rows.len() || count.is_multiple_of(40), "{count}");
            let newest = all_rows(&snapshot).iter().map(|row| row.id).max().unwrap();
            assert_eq!(newest, count as u64 - 1);
            copies += 1;
        }
        assert!(copies > 2, "{copies}");
    });
    copy(&database.snapshot().unwrap(), &home.path().join("last"));
}

fn an_old_snapshot_is_copied_when_its_files_are_gone<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<F>(Shape::Skewed, 2000, 4);
    let database = database(home.path(), &rows[..1000]);
    let old = database.snapshot().unwrap();
    let mut writer = database.writer().unwrap();
    insert_all(&mut writer, &rows[1000..]).unwrap();
    writer.compact().unwrap();
    writer.close().unwrap();
    let copied = copy(&old, &home.path().join("copy"));
    assert_eq!(all_rows(&copied.snapshot().unwrap()).len(), 1000);
}

#[test]
fn nothing_is_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let database = database(home.path(), &rows::<u64>(Shape::Equal, 50, 5));
    let snapshot = database.snapshot().unwrap();
    let before = fs::read(home.path().join("db/MANIFEST")).unwrap();
    assert!(matches!(snapshot.backup(database.path()), Err(Error::AlreadyExists { .. })));
    assert_eq!(fs::read(home.path().join("db/MANIFEST")).unwrap(), before);
    fs::write(home.path().join("file"), "mine").unwrap();
    let inside = database.path().join("copy");
    assert!(matches!(snapshot.backup(&inside), Err(Error::InsideDatabase { .. })));
    assert!(!inside.exists());
    assert!(matches!(snapshot.backup(home.path().join("file")), Err(Error::AlreadyExists { .. })));
    assert!(matches!(snapshot.backup(home.path().join("no/folder")), Err(Error::Io { .. })));
}

/// Also where the snapshot has read and checked the page before.
fn a_damaged_database_is_not_copied<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let database = database(home.path(), &rows::<F>(Shape::Equal, 700, 6));
    let snapshot = database.snapshot().unwrap();
    all_rows(&snapshot);
    let dest = home.path().join("copy");
    for entry in fs::read_dir(database.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name == "LOCK" || name == "MANIFEST" {
            continue;
        }
        let file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let pages = file.metadata().unwrap().len() / 8192;
        // Header and footer are rewritten from the data that the snapshot has checked.
        for page in 1..pages - 1 {
            let mut byte = [0];
            read_exact_at(&file, &mut byte, page * 8192 + 40).unwrap();
            write_all_at(&file, &[byte[0] ^ 1], page * 8192 + 40).unwrap();
            let error = snapshot.backup(&dest).unwrap_err();
            let damage = error.corruption().unwrap_or_else(|| panic!("{error}"));
            assert_eq!((&damage.file, damage.offset / 8192), (&path, page));
            assert!(!dest.exists() && !home.path().join("copy.building").exists());
            write_all_at(&file, &byte, page * 8192 + 40).unwrap();
        }
    }
    copy(&snapshot, &dest);
}

/// Inserts rows into a new run.
fn add_run(database: &Database<u64>, rows: std::ops::Range<u64>) {
    let mut writer = database.writer().unwrap();
    rows.for_each(|row| _ = writer.insert(Row { fingerprint: row << 20, id: row }).unwrap());
    writer.flush().unwrap();
    writer.close().unwrap();
}

fn is_diverged(outcome: nearprint::Result<nearprint::Follower<u64>>) -> bool {
    let message = outcome.as_ref().err().map(ToString::to_string).unwrap_or_default();
    matches!(outcome, Err(Error::Diverged { .. })) && message.contains("nearprint backup ")
}

#[test]
fn regression_a_follower_of_a_restored_database_is_not_overwritten() {
    let home = folder_in_memory();
    let path = |name: &str| home.path().join(name);
    let database = Database::<u64>::create(path("source"), &Schema::new()).unwrap();
    add_run(&database, 0..10);
    database.snapshot().unwrap().backup(path("saved")).unwrap();
    add_run(&database, 100..150);
    add_run(&database, 200..250);
    database.follow(path("second")).unwrap();
    let second = || all_rows(&Database::<u64>::open(path("second")).unwrap().snapshot().unwrap());
    let followed = second();
    fs::remove_dir_all(path("source")).unwrap();
    Database::<u64>::open(path("saved")).unwrap().snapshot().unwrap().backup(path("source")).unwrap();
    let restored = Database::<u64>::open(path("source")).unwrap();
    assert!(is_diverged(restored.follow(path("second"))), "an earlier state");
    for first in [300, 400, 500] {
        add_run(&restored, first..first + 20);
        assert!(is_diverged(restored.follow(path("second"))), "other runs with the same numbers");
        assert_eq!(second(), followed);
        assert_eq!(Database::<u64>::open(path("second")).unwrap().verify().unwrap().damage, []);
    }
    restored.follow(path("new")).unwrap();
    let rows = |name| all_rows(&Database::<u64>::open(path(name)).unwrap().snapshot().unwrap());
    assert_eq!(rows("new"), rows("source"));
}

#[test]
fn regression_a_follower_went_on_with_a_database_that_was_moved() {
    let home = folder_in_memory();
    let path = |name: &str| home.path().join(name);
    let database = Database::<u64>::create(path("a"), &Schema::new()).unwrap();
    add_run(&database, 0..10);
    let mut follower = database.follow(path("second")).unwrap();
    fs::rename(path("a"), path("moved")).unwrap();
    assert!(matches!(follower.update(), Err(Error::NotADatabase { .. })), "nothing is there");
    let other = Database::<u64>::create(path("a"), &Schema::new()).unwrap();
    add_run(&other, 100..120);
    assert!(matches!(follower.update(), Err(Error::Replaced { .. })));
    fs::remove_dir_all(path("a")).unwrap();
    fs::rename(path("moved"), path("a")).unwrap();
    add_run(&database, 200..210);
    assert!(follower.update().unwrap().changed);
    drop(follower);
    let rows = |name| all_rows(&Database::<u64>::open(path(name)).unwrap().snapshot().unwrap());
    assert_eq!(rows("second"), rows("a"));
}

#[test]
fn regression_a_folder_that_followed_does_not_follow_what_has_taken_over() {
    let home = folder_in_memory();
    let path = |name: &str| home.path().join(name);
    let first = Database::<u64>::create(path("a"), &Schema::new()).unwrap();
    add_run(&first, 0..10);
    for name in ["b", "c"] {
        first.follow(path(name)).unwrap();
    }
    // What `a` has after `b` has taken over reaches `c` alone.
    add_run(&first, 20..30);
    first.follow(path("c")).unwrap();
    fs::remove_file(path("b").join("FOLLOWER")).unwrap();
    let second = Database::<u64>::open(path("b")).unwrap();
    for from in [40, 60] {
        add_run(&second, from..from + 10);
        assert!(is_diverged(second.follow(path("c"))));
        let rows = all_rows(&Database::<u64>::open(path("c")).unwrap().snapshot().unwrap());
        assert_eq!(rows.len(), 20);
    }
    // Nothing of `d` is lost by following `b`.
    let d = path("d");
    second.follow(&d).unwrap();
    add_run(&second, 80..90);
    second.follow(&d).unwrap();
    assert_eq!(all_rows(&Database::<u64>::open(d).unwrap().snapshot().unwrap()).len(), 40);
}

#[test]
fn regression_commits_that_only_the_follower_has_are_not_dropped() {
    let home = folder_in_memory();
    let path = |name: &str| home.path().join(name);
    let database = Database::<u64>::create(path("source"), &Schema::new()).unwrap();
    add_run(&database, 0..10);
    database.snapshot().unwrap().backup(path("saved")).unwrap();
    let mut writer = database.writer().unwrap();
    for row in 100..105u64 {
        writer.insert(Row { fingerprint: row << 20, id: row }).unwrap();
        writer.commit().unwrap();
    }
    database.follow(path("second")).unwrap();
    drop(writer);
    let second = || all_rows(&Database::<u64>::open(path("second")).unwrap().snapshot().unwrap());
    let followed = second();
    assert_eq!(followed.len(), 15);
    fs::remove_dir_all(path("source")).unwrap();
    fs::rename(path("saved"), path("source")).unwrap();
    let restored = Database::<u64>::open(path("source")).unwrap();
    for first in [300, 400, 500] {
        add_run(&restored, first..first + 20);
        assert!(is_diverged(restored.follow(path("second"))), "commits in a log");
        assert_eq!(second(), followed);
    }
}
