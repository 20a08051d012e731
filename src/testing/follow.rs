//! A folder that follows a database, on simulated disks.
//!
//! The oracle is the list of states that the database had. The folder has one of them at any moment, none that
//! is older than the last update, and after a power cut at any call of its disk.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};

use crate::database::follow::Follower;
use crate::database::snapshot::{Snapshot, verify_all};
use crate::database::writer::Writer;
use crate::error::{Error, Result};
use crate::fingerprint::{Row, mix64};
use crate::format::manifest::Manifest;
use crate::format::schema::Schema;
use crate::layout::LayoutChoice;
use crate::log::manifest;
use crate::options::Options;
use crate::storage::{Storage, names};
use crate::testing::short_or_full;
use crate::testing::simulated::SimulatedDisk;

type Rows = BTreeSet<Row<u64>>;

fn options() -> Options {
    Options::new().threads(1).memtable_rows(4).background_merges(false).deferred_flushes()
}

fn read(disk: &SimulatedDisk) -> Rows {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    Snapshot::<u64>::open(&storage, &options(), None).unwrap().all_rows().into_iter().collect()
}

/// A database, and a folder that is to follow it.
fn fresh() -> (SimulatedDisk, SimulatedDisk) {
    let (source, dest) = (SimulatedDisk::new(), SimulatedDisk::new());
    let schema = Schema::new().layout(LayoutChoice::Rotations { tables: 2 });
    let manifest = manifest::fresh(64, &schema).unwrap();
    manifest::replace(&source, &manifest).unwrap();
    dest.create(names::FOLLOWER).unwrap();
    manifest::replace(&dest, &manifest).unwrap();
    (source, dest)
}

fn follow(source: &SimulatedDisk, dest: &SimulatedDisk) -> Result<Follower<u64>> {
    let id = manifest::of::<u64>(source).unwrap().database_id;
    Follower::open(Arc::new(source.clone()), Arc::new(dest.clone()), (id, &options()))
}

/// One random change, committed.
fn change(writer: &mut Writer<u64>, rows: &mut Rows, dice: u64) {
    for i in 0..dice % 3 {
        let row = Row { fingerprint: mix64(dice + i), id: mix64(dice ^ i) % 9 };
        writer.insert(row).unwrap();
        rows.insert(row);
    }
    if dice.is_multiple_of(5) {
        let id = dice >> 8 & 7;
        writer.delete(id).unwrap();
        rows.retain(|row| row.id != id);
    }
    match dice >> 16 & 15 {
        0 => writer.compact().unwrap(),
        1 => writer.flush().unwrap(),
        _ => writer.commit().unwrap(),
    }
}

/// What the disk of a follower was at one of its calls, with the states that it may have then.
struct Moment {
    disk: SimulatedDisk,
    acknowledged: usize,
    begun: usize,
}

/// Changes a database and updates its follower after some changes. Returns the database, its states, and
/// the moments of the follower.
fn run(seed: u64, changes: u64) -> (SimulatedDisk, Vec<Rows>, Vec<Moment>) {
    let (source, dest) = fresh();
    let reached = Arc::new(Mutex::new((0, 0)));
    let moments = Arc::new(Mutex::new(Vec::new()));
    let (log, at) = (moments.clone(), reached.clone());
    dest.on_call(move |frozen, _| {
        let (acknowledged, begun) = *at.lock().unwrap();
        log.lock().unwrap().push(Moment { disk: frozen.clone(), acknowledged, begun });
    });
    let mut states = vec![Rows::new()];
    let mut writer = Writer::open(Arc::new(source.clone()), options()).unwrap();
    let mut follower = None;
    for i in 0..changes {
        let dice = mix64(seed * 1000 + i);
        let mut rows = states.last().unwrap().clone();
        change(&mut writer, &mut rows, dice);
        states.push(rows);
        if dice >> 24 & 3 == 0 {
            // Killed, and started again.
            follower = None;
        }
        if dice >> 28 & 1 == 0 {
            reached.lock().unwrap().1 = states.len() - 1;
            let mut open = follower.take().unwrap_or_else(|| follow(&source, &dest).unwrap());
            let changed = open.update().unwrap().changed;
            assert!(!open.update().unwrap().changed, "nothing has happened since; {changed}");
            follower = Some(open);
            *reached.lock().unwrap() = (states.len() - 1, states.len() - 1);
            assert_eq!(&read(&dest), states.last().unwrap());
        }
    }
    drop((writer, follower));
    let moments = std::mem::take(&mut *moments.lock().unwrap());
    (source, states, moments)
}

/// Follows again after a power cut, and compares everything with the source.
fn catch_up(source: &SimulatedDisk, dest: &SimulatedDisk) {
    follow(source, dest).unwrap().update().unwrap();
    assert_eq!(read(dest), read(source));
    let manifest = manifest::of::<u64>(dest).unwrap();
    assert_eq!(manifest, manifest::of::<u64>(source).unwrap());
    assert_eq!(verify_all::<u64>(dest, &manifest, &options()).unwrap().damage, []);
    let allowed: BTreeSet<String> = manifest.file_names().chain([names::FOLLOWER.to_string()]).collect();
    assert!(dest.names().iter().all(|name| allowed.contains(name)), "{:?}", dest.names());
}

#[test]
fn a_follower_has_a_state_of_its_source_after_a_power_cut_at_any_call() {
    let mut cuts = 0;
    for seed in 0..short_or_full(2, 30) {
        let (source, states, moments) = run(seed, 24);
        for Moment { disk, acknowledged, begun } in moments {
            for fate in 0..4u64 {
                let mut dice = fate * 977;
                let cut = disk.crash(&mut |_| {
                    dice = mix64(dice + 1);
                    [false, true, dice & 1 == 0, dice & 2 == 0][(fate % 4) as usize]
                });
                let allowed = &states[acknowledged..=begun];
                assert!(allowed.contains(&read(&cut)), "seed {seed}, {acknowledged} to {begun}");
                if cuts % 7 == 0 {
                    catch_up(&source, &cut);
                }
                cuts += 1;
            }
        }
    }
    println!("{cuts} power cuts");
    assert!(cuts > 1000, "{cuts}");
}

#[test]
fn a_follower_goes_on_after_a_full_disk() {
    let mut failures = 0;
    for call in 0..60 {
        let (source, dest) = fresh();
        let mut writer = Writer::open(Arc::new(source.clone()), options()).unwrap();
        let mut follower = follow(&source, &dest).unwrap();
        let mut rows = Rows::new();
        for i in 0..12 {
            change(&mut writer, &mut rows, mix64(i));
            if i == 4 {
                dest.fail_from(dest.calls() + call, ErrorKind::StorageFull);
            }
            match follower.update() {
                Ok(_) => assert_eq!(read(&dest), rows),
                Err(Error::DiskFull { .. }) => failures += 1,
                Err(error) => panic!("{error}"),
            }
        }
        dest.heal();
        follower.update().unwrap();
        assert_eq!(read(&dest), rows);
        drop(follower);
        catch_up(&source, &dest);
    }
    assert!(failures > 100, "{failures}");
}

/// An update that failed after it had copied a new log went on with that copy, which the next one had removed: the
/// folder then named a log that was not there. One that failed after its manifest was in force removed the files that
/// this names.
#[test]
fn regression_an_update_after_a_failed_one_named_files_that_it_had_removed() {
    let (mut failures, mut poisoned) = (0, 0);
    for (call, after) in (0..40).flat_map(|call| (0..12).map(move |after| (call, after))) {
        let (source, dest) = fresh();
        let mut writer = Writer::open(Arc::new(source.clone()), options()).unwrap();
        let mut follower = follow(&source, &dest).unwrap();
        let mut rows = Rows::new();
        for id in 0..3 {
            let row = Row { fingerprint: mix64(id), id };
            writer.insert(row).unwrap();
            if id == 1 {
                writer.flush().unwrap()
            } else {
                writer.commit().unwrap()
            }
            rows.insert(row);
            if id == 0 {
                follower.update().unwrap();
            }
        }
        for failing in [call, after] {
            let failing = dest.calls() + failing;
            dest.fail_at(failing, ErrorKind::StorageFull);
            failures += u64::from(follower.update().is_err());
            assert!(read(&dest.crash(&mut |_| true)).is_subset(&rows), "calls {call} and {after}");
            while dest.calls() <= failing {
                let _ = dest.list();
            }
        }
        if matches!(follower.update(), Err(Error::Poisoned { .. })) {
            poisoned += 1;
            drop(follower);
            follower = follow(&source, &dest).unwrap();
        }
        follower.update().unwrap();
        assert_eq!(read(&dest), rows, "calls {call} and {after}");
        drop(follower);
        catch_up(&source, &dest);
    }
    assert!(failures > 100 && poisoned > 10, "{failures} failures, {poisoned} of them for good");
}

/// A writer that found a sealed log and a live one, and no room for a run, began a new live log with another first
/// frame than the one at which the sealed log ends, so nobody could read the database any more.
#[test]
fn regression_two_logs_that_are_found_on_a_full_disk_stay_readable() {
    let (mut failures, mut found) = (0, 0);
    for call in 0..12 {
        let (source, dest) = fresh();
        let mut follower = follow(&source, &dest).unwrap();
        let mut rows = Rows::new();
        for i in 0..20 {
            let is_full = i % 2 == 1;
            if is_full {
                source.fail_from(source.calls() + call, ErrorKind::StorageFull);
            }
            let writer = Writer::open(Arc::new(source.clone()), options());
            source.heal();
            let Ok(mut writer) = writer else {
                failures += 1;
                continue;
            };
            let is_sealed = manifest::of::<u64>(&source).unwrap().sealed_wal.is_some();
            found += u64::from(is_sealed && writer.holds_found_log());
            for step in 0..7 {
                change(&mut writer, &mut rows, mix64(20 * i + step));
                assert_eq!(read(&source), rows, "call {call}, writer {i}, step {step}");
                follower.update().unwrap();
                assert_eq!(read(&dest), rows, "call {call}, writer {i}, step {step}");
            }
            assert_eq!(read(&source.crash(&mut |_| false)), rows);
        }
        Writer::<u64>::open(Arc::new(source.clone()), options()).unwrap().close().unwrap();
        drop(follower);
        catch_up(&source, &dest);
    }
    assert!(found > 20, "{found} times, {failures} failures");
}

#[test]
fn nobody_but_updates_writes_to_a_follower() {
    let (source, dest) = fresh();
    let refused = Writer::<u64>::open(Arc::new(dest.clone()), options());
    assert!(matches!(refused, Err(Error::Follower { .. })));
    let follower = follow(&source, &dest).unwrap();
    assert!(matches!(follow(&source, &dest), Err(Error::Locked { .. })));
    drop(follower);
    dest.remove(names::FOLLOWER).unwrap();
    assert!(matches!(follow(&source, &dest), Err(Error::AlreadyExists { .. })));
    Writer::<u64>::open(Arc::new(dest.clone()), options()).unwrap().close().unwrap();
}

#[test]
fn a_source_that_goes_back_is_refused() {
    let (source, dest) = fresh();
    let mut writer = Writer::<u64>::open(Arc::new(source.clone()), options()).unwrap();
    let earlier: Manifest = manifest::of::<u64>(&source).unwrap();
    writer.insert(7).unwrap();
    writer.close().unwrap();
    let mut follower = follow(&source, &dest).unwrap();
    follower.update().unwrap();
    manifest::replace(&source, &earlier).unwrap();
    assert!(matches!(follower.update(), Err(Error::Diverged { .. })));
    assert_eq!(read(&dest).len(), 1);
}

/// A restored database was taken for the one that was lost as soon as it had as many commits: what only the folder
/// had was dropped.
#[test]
fn regression_a_restored_source_with_as_many_commits_is_refused() {
    let options = Options::new().threads(1).background_merges(false);
    for in_log in [0, 3] {
        for after in 1..9 {
            let home = tempfile::tempdir().unwrap();
            let path = |name: &str| home.path().join(name);
            let commit = |writer: &mut Writer<u64>, rows: std::ops::Range<u64>| {
                for row in rows {
                    writer.insert(Row { fingerprint: mix64(row), id: row }).unwrap();
                    writer.commit().unwrap();
                }
            };
            let database = options.create::<u64>(path("source"), &Schema::new()).unwrap();
            let mut writer = database.writer().unwrap();
            commit(&mut writer, 0..2);
            // The log that goes on is empty, or has some commits.
            writer.flush().unwrap();
            commit(&mut writer, 10..10 + in_log);
            database.snapshot().unwrap().backup(path("saved")).unwrap();
            commit(&mut writer, 20..23);
            database.follow(path("second")).unwrap();
            drop(writer);
            let second = || options.open::<u64>(path("second")).unwrap().snapshot().unwrap().all_rows();
            let followed = second();
            assert_eq!(followed.len() as u64, 2 + in_log + 3);
            std::fs::remove_dir_all(path("source")).unwrap();
            std::fs::rename(path("saved"), path("source")).unwrap();
            let restored = options.open::<u64>(path("source")).unwrap();
            let mut writer = restored.writer().unwrap();
            commit(&mut writer, 40..40 + after);
            let refused = restored.follow(path("second"));
            assert!(matches!(refused, Err(Error::Diverged { .. })), "{in_log}, {after}: {refused:?}");
            assert_eq!(second(), followed);
        }
    }
}
