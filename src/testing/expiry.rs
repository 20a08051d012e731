//! Rows that expire, on a simulated disk with a clock.
//!
//! The oracle is a map of rows to the times at which they expire. A query, a snapshot and a merge
//! have the rows that it has, at any moment, and after a power cut at any call.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::database::new_row::NewRow;
use crate::database::repair::FindingKind;
use crate::database::snapshot::{Snapshot, verify_all};
use crate::database::writer::Writer;
use crate::fingerprint::{Row, mix64};
use crate::format::expiry::Lifetime;
use crate::format::schema::{KeyStorage, Schema};
use crate::layout::LayoutChoice;
use crate::log::manifest;
use crate::options::Options;
use crate::storage::{Storage, names, reserve};
use crate::testing::short_or_full;
use crate::testing::simulated::SimulatedDisk;
use crate::util::time::Time;

const LIFETIME_MS: u64 = 400;
const PERIOD_MS: u64 = 100;

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(Row<u64>),
    Delete(u64),
    Commit,
    Flush,
    Compact,
    Reopen,
    Wait(u64),
}

type Rows = BTreeSet<Row<u64>>;

/// The rows, and when they expire.
#[derive(Clone, Debug, Default)]
struct Model {
    expires: BTreeMap<Row<u64>, Time>,
    now: Time,
    /// When the rows of the transaction expire that has begun.
    pending: Option<Time>,
}

impl Model {
    fn apply(&mut self, step: Step) {
        let lifetime = Lifetime { lifetime: LIFETIME_MS, period: PERIOD_MS };
        match step {
            Step::Insert(row) => {
                let expires = *self.pending.get_or_insert(lifetime.of_row(self.now));
                self.expires.insert(row, expires);
            }
            Step::Delete(id) => {
                self.pending.get_or_insert(lifetime.of_row(self.now));
                self.expires.retain(|row, _| row.id != id);
            }
            Step::Wait(millis) => self.now = Time(self.now.0 + millis),
            Step::Commit | Step::Flush | Step::Compact | Step::Reopen => self.pending = None,
        }
    }

    fn holds(&self, id: u64) -> bool {
        self.rows(self.now).iter().any(|row| row.id == id)
    }

    fn rows(&self, now: Time) -> Rows {
        self.expires.iter().filter(|&(_, &expires)| expires > now).map(|(&row, _)| row).collect()
    }
}

fn program(seed: u64, len: u64) -> Vec<Step> {
    let step = |i: u64| {
        let dice = mix64(seed.wrapping_mul(1 << 20) + i);
        match dice % 16 {
            0..7 => Step::Insert(Row { fingerprint: mix64(dice >> 8 & 7), id: dice >> 16 & 7 }),
            7 => Step::Delete(dice >> 16 & 7),
            8..11 => Step::Commit,
            11 => Step::Flush,
            12 => Step::Compact,
            13 => Step::Reopen,
            _ => Step::Wait(dice >> 20 & 127),
        }
    };
    (0..len).map(step).collect()
}

fn options() -> Options {
    Options::new().threads(1).memtable_rows(5).background_merges(false).deferred_flushes()
}

fn fresh() -> SimulatedDisk {
    fresh_with(KeyStorage::None)
}

fn fresh_with(keys: KeyStorage) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let millis = Duration::from_millis;
    let schema = Schema::new().layout(LayoutChoice::Rotations { tables: 2 }).keys(keys);
    let schema = schema.expire_after(millis(LIFETIME_MS), Some(millis(PERIOD_MS))).unwrap();
    manifest::replace(&disk, &manifest::fresh(64, &schema).unwrap()).unwrap();
    disk
}

fn without_expiry() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    manifest::replace(&disk, &manifest::fresh(64, &Schema::new().keys(KeyStorage::Keys)).unwrap()).unwrap();
    disk
}

fn open(disk: &SimulatedDisk) -> Writer<u64> {
    Writer::open(Arc::new(disk.clone()), options()).unwrap()
}

fn read(disk: &SimulatedDisk) -> Rows {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    Snapshot::<u64>::open(&storage, &options(), None).unwrap().all_rows().into_iter().collect()
}

/// What has happened at some call: the model, with what is committed and with everything begun.
#[derive(Clone, Debug, Default)]
struct Moment {
    committed: Model,
    begun: Vec<Model>,
}

/// Runs a program. Returns the disk before each call, with what it may hold.
fn run(steps: &[Step]) -> Vec<(SimulatedDisk, Moment)> {
    let disk = fresh();
    let (at, seen) = (Arc::new(Mutex::new(Moment::default())), Arc::new(Mutex::new(Vec::new())));
    let (moment, log) = (at.clone(), seen.clone());
    disk.on_call(move |frozen, _| log.lock().unwrap().push((frozen.clone(), moment.lock().unwrap().clone())));
    let (mut model, mut writer) = (Model::default(), open(&disk));
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let mut reader = Snapshot::<u64>::open(&storage, &options(), None).unwrap();
    for &step in steps {
        // A deletion without an effect may count as an operation or not.
        if matches!(step, Step::Delete(id) if !model.holds(id)) {
            continue;
        }
        model.apply(step);
        at.lock().unwrap().begun.push(model.clone());
        match step {
            Step::Insert(row) => drop(writer.insert(row).unwrap()),
            Step::Delete(id) => {
                // Begins the transaction, also if the id is unknown and its deletion nothing.
                writer.set_checkpoint(b"").unwrap();
                writer.delete(id).unwrap();
            }
            Step::Commit => writer.commit().unwrap(),
            Step::Flush => writer.flush().unwrap(),
            Step::Compact => writer.compact().unwrap(),
            Step::Reopen => {
                writer.close().unwrap();
                writer = open(&disk);
            }
            Step::Wait(_) => disk.set_now(model.now),
        }
        if model.pending.is_none() {
            *at.lock().unwrap() = Moment { committed: model.clone(), begun: Vec::new() };
        }
        let expected = model.rows(model.now);
        assert_eq!(writer.snapshot().unwrap().all_rows().into_iter().collect::<Rows>(), expected, "{step:?}");
        for fingerprint in (0..8).map(mix64) {
            let found = writer.query(fingerprint, 0).unwrap();
            let found = found.iter().map(|found| Row { fingerprint, id: found.id }).collect::<Rows>();
            let same = expected.iter().filter(|row| row.fingerprint == fingerprint).copied();
            assert_eq!(found, same.collect(), "{step:?}");
        }
        reader = reader.refresh().unwrap();
        let committed = at.lock().unwrap().committed.rows(model.now);
        // A transaction across the end of a period is flushed with nothing of it committed.
        assert_eq!(reader.all_rows().into_iter().collect::<Rows>(), committed, "{step:?}");
    }
    let end = at.lock().unwrap().clone();
    let mut moments = std::mem::take(&mut *seen.lock().unwrap());
    moments.push((disk, end));
    moments
}

#[test]
fn rows_expire_to_the_millisecond_and_after_a_power_cut() {
    let mut states = 0;
    for seed in 0..short_or_full(10, 300) {
        for (index, (frozen, moment)) in run(&program(seed, 60)).into_iter().enumerate() {
            if index as u64 % 7 != seed % 7 {
                continue;
            }
            for fate in 0..4 {
                let mut dice = seed + fate;
                let left = frozen.crash(&mut |_| {
                    dice = mix64(dice + 1);
                    fate == 0 || fate > 1 && dice & 1 == 0
                });
                let now = left.now();
                let models = std::iter::once(&moment.committed).chain(&moment.begun);
                let allowed: Vec<Rows> = models.map(|model| model.rows(now)).collect();
                let state = read(&left);
                assert!(allowed.contains(&state), "seed {seed}, call {index}: {state:?}, not of {allowed:?}");
                open(&left).close().unwrap();
                assert_eq!(read(&left), state, "recovery keeps the rows");
                let manifest = manifest::of::<u64>(&left).unwrap();
                assert_eq!(verify_all::<u64>(&left, &manifest, &options()).unwrap().damage, []);
                assert!(manifest.runs.iter().all(|run| !run.is_expired(now)), "expired runs are dropped");
                states += 1;
            }
        }
    }
    assert!(states > short_or_full(600, 20_000), "{states} states");
}

/// A run that has expired goes without a merge: nothing is written but a manifest.
#[test]
fn expired_runs_are_dropped_as_they_are() {
    let disk = fresh();
    let mut writer = open(&disk);
    for period in 0..4 {
        disk.set_now(Time(period * PERIOD_MS));
        for id in 0..3 {
            writer.insert(Row { fingerprint: mix64(id), id: period * 10 + id }).unwrap();
            writer.flush().unwrap();
        }
    }
    assert_eq!(writer.manifest().runs.len(), 6, "one run of each period, three of the last");
    let runs: Vec<u64> = writer.manifest().runs.iter().map(|run| run.run).collect();
    disk.set_now(Time(LIFETIME_MS + PERIOD_MS));
    let calls = disk.calls();
    writer.commit().unwrap();
    assert_eq!(writer.manifest().runs.iter().map(|run| run.run).collect::<Vec<_>>(), runs[2..]);
    let written = disk.calls() - calls;
    assert!(written < 20, "{written} calls");
    assert_eq!(read(&disk).len(), 6);
}

/// A clock that is set back does not make younger rows expire before older ones.
#[test]
fn rows_expire_in_order_whatever_the_clock_does() {
    let disk = fresh();
    let mut writer = open(&disk);
    disk.set_now(Time(1000));
    writer.insert(Row { fingerprint: 1, id: 1 }).unwrap();
    writer.flush().unwrap();
    disk.set_now(Time(500));
    writer.insert(Row { fingerprint: 2, id: 2 }).unwrap();
    writer.close().unwrap();
    disk.set_now(Time(1399));
    assert_eq!(read(&disk).len(), 2);
    disk.set_now(Time(1400));
    assert_eq!(read(&disk).len(), 0);
}

/// The log of a sealed memtable stays while the writer idles, and the next operation begins a later period.
#[test]
fn regression_what_is_sealed_does_not_expire_with_a_later_period() {
    for is_killed in [false, true] {
        let disk = fresh();
        let mut writer = open(&disk);
        for id in 0..5 {
            writer.insert(Row { fingerprint: mix64(id), id }).unwrap();
            writer.commit().unwrap();
        }
        assert!(writer.manifest().sealed_wal.is_some());
        disk.set_now(Time(2 * PERIOD_MS + 1));
        writer.insert(Row { fingerprint: 1, id: 9 }).unwrap();
        let disk = if is_killed { disk.crash(&mut |_| true) } else { disk };
        let mut writer = if is_killed { open(&disk) } else { writer };
        writer.commit().unwrap();
        disk.set_now(Time(LIFETIME_MS - 1));
        assert_eq!(read(&disk).len(), if is_killed { 5 } else { 6 });
        disk.set_now(Time(LIFETIME_MS));
        assert_eq!(read(&disk).len(), usize::from(!is_killed), "killed: {is_killed}");
        assert_eq!(writer.snapshot().unwrap().all_rows().len(), usize::from(!is_killed));
        writer.close().unwrap();
        assert_eq!(read(&disk).len(), usize::from(!is_killed));
    }
}

/// A deletion of keys leaves rows of the same ids where they are: they expire as if nothing was deleted.
#[test]
fn regression_rows_that_a_deletion_of_keys_leaves_expire_in_time() {
    type Delete = fn(&mut Writer<u64>);
    let deletions: [Delete; 3] = [
        |writer| _ = writer.delete_keys(&["doomed"]).unwrap(),
        |writer| _ = writer.delete_key_prefix("doo").unwrap(),
        |writer| _ = writer.delete_keys_between(std::slice::from_ref(&(0..1))).unwrap(),
    ];
    let row = |fingerprint| Row { fingerprint, id: 7 };
    let keyed = |fingerprint, key| NewRow { id: Some(7), ..NewRow::keyed(fingerprint, key) };
    for (nth, delete) in deletions.into_iter().enumerate() {
        for is_flushed in [false, true] {
            let disk = fresh_with(KeyStorage::Keys);
            let mut writer = open(&disk);
            for new in [keyed(1, "doomed"), keyed(2, "a"), keyed(3, "also"), row(4).into()] {
                writer.insert(new).unwrap();
            }
            writer.insert(NewRow { id: Some(8), ..NewRow::keyed(1, "b") }).unwrap();
            writer.commit().unwrap();
            disk.set_now(Time(PERIOD_MS));
            writer.insert(keyed(2, "later")).unwrap();
            writer.commit().unwrap();
            if is_flushed {
                writer.flush().unwrap();
            }
            disk.set_now(Time(2 * PERIOD_MS + 50));
            delete(&mut writer);
            let left = [row(2), row(3), row(4), Row { fingerprint: 1, id: 8 }];
            let seen: [(u64, &[Row<u64>]); 4] = [
                (2 * PERIOD_MS + 51, &left),
                (LIFETIME_MS - 1, &left),
                (LIFETIME_MS, &left[..1]),
                (LIFETIME_MS + PERIOD_MS, &[]),
            ];
            writer.commit().unwrap();
            for (now, expected) in seen {
                disk.set_now(Time(now));
                let expected: Rows = expected.iter().copied().collect();
                assert_eq!(read(&disk), expected, "deletion {nth}, flushed: {is_flushed}, at {now}");
                let snapshot = writer.snapshot().unwrap();
                assert_eq!(snapshot.all_rows().into_iter().collect::<Rows>(), expected);
                assert_eq!(snapshot.verify().unwrap().damage, []);
                if now < LIFETIME_MS {
                    let keys = |row| snapshot.keys_of(row).unwrap().into_iter().map(|key| key.key);
                    assert_eq!(keys(row(2)).collect::<Vec<_>>(), ["a", "later"]);
                    assert_eq!(keys(row(4)).count(), 0);
                }
            }
        }
    }
}

/// Each run without the deleted rows was durable before the next one, all of them before the other deletions, and those
/// before the history: a crash left a state that there had never been.
#[test]
fn regression_a_deletion_of_keys_was_torn_by_a_crash() {
    let keyed = |fingerprint, key, id| NewRow { id: Some(id), ..NewRow::keyed(fingerprint, key) };
    for is_flushed in [false, true] {
        let disk = fresh_with(KeyStorage::Keys);
        let mut writer = open(&disk);
        for (period, rows) in (0..).zip([
            [keyed(1, "doomed", 7), keyed(2, "a", 7)],
            [keyed(3, "doomed, too", 7), keyed(4, "b", 8)],
            [keyed(5, "doomed", 7), keyed(6, "doomed", 9)],
        ]) {
            disk.set_now(Time(period * PERIOD_MS));
            rows.into_iter().for_each(|row| _ = writer.insert(row).unwrap());
            writer.commit().unwrap();
        }
        if is_flushed {
            writer.flush().unwrap();
        }
        let before = read(&disk);
        writer.set_history(b"deleted").unwrap();
        let copies = Arc::new(Mutex::new(Vec::new()));
        let seen = copies.clone();
        disk.on_call(move |frozen, _| seen.lock().unwrap().push(frozen.clone()));
        assert_eq!(writer.delete_key_prefix("doomed").unwrap(), 4);
        writer.commit().unwrap();
        let after = read(&disk);
        assert_eq!(after.iter().map(|row| row.fingerprint).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(writer.snapshot().unwrap().all_rows().into_iter().collect::<Rows>(), after);
        let mut states = BTreeSet::new();
        for copy in copies.lock().unwrap().iter() {
            let history = open(copy).history().map(<[u8]>::to_vec);
            states.insert((read(copy), history));
        }
        let whole = [(before, None), (after, Some(b"deleted".to_vec()))];
        assert_eq!(states, BTreeSet::from(whole), "flushed: {is_flushed}");
    }
}

/// A row without a key stayed where another key had the same id.
#[test]
fn regression_an_upsert_by_key_left_rows_without_keys() {
    for disk in [fresh_with(KeyStorage::Keys), without_expiry()] {
        let mut writer = open(&disk);
        let id = writer.insert(NewRow::keyed(1, "k")).unwrap();
        for row in [Row { fingerprint: 2, id }.into(), NewRow { id: Some(id), ..NewRow::keyed(3, "other") }] {
            writer.insert(row).unwrap();
        }
        for fingerprint in [4, 5] {
            writer.upsert(NewRow::keyed(fingerprint, "k")).unwrap();
            let rows = writer.snapshot().unwrap().all_rows();
            assert_eq!(rows.iter().map(|row| row.fingerprint).collect::<Vec<_>>(), [3, fingerprint]);
            writer.insert(Row { fingerprint: 6, id }).unwrap();
            writer.commit().unwrap();
        }
        writer.upsert(NewRow::keyed(7, "new")).unwrap();
        writer.commit().unwrap();
        assert_eq!(read(&disk).len(), 4);
    }
}

/// A compaction leaves nothing of a deleted row, whatever the period in which it was deleted.
#[test]
fn regression_a_compaction_kept_deleted_rows_of_earlier_periods() {
    let has = |disk: &SimulatedDisk, word: &str| {
        let files = disk.names().into_iter().map(|name| disk.file_bytes(&name).unwrap());
        files.filter(|bytes| bytes.windows(word.len()).any(|window| window == word.as_bytes())).count() > 0
    };
    for (periods, is_closed) in [(0, false), (1, false), (2, true)] {
        let disk = fresh_with(KeyStorage::KeysAndTexts);
        let mut writer = open(&disk);
        for key in ["doomed-key", "kept-key"] {
            let text = format!("{key}: text");
            writer.insert(NewRow { text: text.as_bytes(), ..NewRow::keyed(1, key) }).unwrap();
        }
        writer.flush().unwrap();
        for period in 1..=periods {
            disk.set_now(Time(period * PERIOD_MS));
            writer.insert(NewRow::keyed(2, "later-key")).unwrap();
            writer.flush().unwrap();
        }
        assert_eq!(writer.delete_keys(&["doomed-key"]).unwrap(), 1);
        if is_closed {
            writer.close().unwrap();
            writer = open(&disk);
        }
        writer.commit().unwrap();
        assert!(has(&disk, "doomed-key"), "a deletion alone leaves it");
        let rows = read(&disk);
        writer.compact().unwrap();
        assert!(!has(&disk, "doomed") && has(&disk, "kept-key: text"), "{periods} periods");
        assert_eq!(read(&disk), rows);
        assert_eq!(writer.snapshot().unwrap().verify().unwrap().damage, []);
        let files = disk.names();
        writer.compact().unwrap();
        assert_eq!(disk.names(), files, "there is nothing left to do");
        // The rows that stay expire in time.
        disk.set_now(Time(LIFETIME_MS));
        assert!(read(&disk).iter().all(|row| row.fingerprint == 2));
    }
}

/// All rows of an earlier period are deleted: it has no run any more.
#[test]
fn a_compaction_removes_the_run_of_a_period_without_rows() {
    let disk = fresh_with(KeyStorage::Keys);
    let mut writer = open(&disk);
    writer.insert(NewRow::keyed(1, "a")).unwrap();
    writer.flush().unwrap();
    disk.set_now(Time(PERIOD_MS));
    writer.insert(NewRow::keyed(2, "b")).unwrap();
    writer.delete_keys(&["a"]).unwrap();
    writer.compact().unwrap();
    assert_eq!(writer.snapshot().unwrap().stats().runs.len(), 1);
    assert_eq!(read(&disk).len(), 1);
}

/// Two periods with a run each, at a time when the first has expired.
fn with_an_expired_run() -> SimulatedDisk {
    let disk = fresh();
    let mut writer = open(&disk);
    for period in 0..2 {
        disk.set_now(Time(period * PERIOD_MS));
        writer.insert(Row { fingerprint: period, id: period }).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    disk.set_now(Time(LIFETIME_MS));
    disk
}

fn fill(disk: &SimulatedDisk) {
    disk.fail_from(disk.calls(), ErrorKind::StorageFull);
}

/// No writer could be opened, so nothing could be deleted; and an open one failed to query and to commit nothing.
#[test]
fn regression_rows_that_expire_on_a_full_disk_locked_the_database_for_writing() {
    let found =
        |writer: &mut Writer<u64>| writer.query(0, 64).unwrap().iter().map(|row| row.id).collect::<Vec<_>>();
    for is_open in [false, true] {
        let disk = with_an_expired_run();
        disk.set_now(Time(LIFETIME_MS - 1));
        let before = is_open.then(|| open(&disk));
        disk.set_now(Time(LIFETIME_MS));
        fill(&disk);
        let mut writer = before.unwrap_or_else(|| open(&disk));
        assert_eq!(found(&mut writer), [1]);
        writer.look_ahead(&[0], 64).unwrap();
        assert_eq!(found(&mut writer), [1]);
        writer.commit().unwrap();
        assert_eq!(writer.manifest().runs.len(), 2, "no room for a manifest without the run");
        assert_eq!(found(&mut writer), [1]);
        assert_eq!(writer.snapshot().unwrap().all_rows().len(), 1);
        disk.heal();
        writer.commit().unwrap();
        assert_eq!(writer.manifest().runs.len(), 1);
        assert_eq!(found(&mut writer), [1]);
    }
}

/// Room for a manifest without what has expired is kept.
#[test]
fn regression_rows_that_expire_on_a_full_disk_use_the_reserve() {
    let disk = with_an_expired_run();
    reserve::keep(&disk, 1 << 16);
    fill(&disk);
    let healed = disk.clone();
    disk.on_call(move |frozen, _| {
        if !frozen.names().iter().any(|name| name == names::RESERVE) {
            healed.heal();
        }
    });
    let reserved = || disk.file_bytes(names::RESERVE).map(|bytes| bytes.len());
    let before = reserved();
    let writer = open(&disk);
    assert_eq!(writer.manifest().runs.len(), 1);
    assert!(before.is_some() && reserved() == before, "it is put back");
}

/// A query left its row out, and the keys of that were still found.
#[test]
fn regression_a_writer_found_the_keys_of_expired_rows() {
    let disk = fresh_with(KeyStorage::Keys);
    let mut writer = open(&disk);
    let mut rows = Vec::new();
    for (period, key) in (0..).zip(["flushed", "in the log"]) {
        disk.set_now(Time(period * PERIOD_MS));
        let id = writer.insert(NewRow::keyed(period, key)).unwrap();
        rows.push(Row { fingerprint: period, id });
        if period == 0 { writer.flush().unwrap() } else { writer.commit().unwrap() }
    }
    let found = |now: u64| {
        disk.set_now(Time(now));
        let keys = |row: &Row<u64>| writer.keys_of(*row).unwrap().into_iter().map(|key| key.key);
        rows.iter().flat_map(keys).collect::<Vec<_>>()
    };
    assert_eq!(found(LIFETIME_MS - 1), ["flushed", "in the log"]);
    assert_eq!(found(LIFETIME_MS), ["in the log"]);
    assert_eq!(found(LIFETIME_MS + PERIOD_MS), [""; 0]);
}

/// The log had rows of an earlier period, and there was no room for a run of them.
#[test]
fn regression_a_deletion_in_a_new_period_needs_no_room_for_a_run() {
    let disk = fresh();
    let mut writer = open(&disk);
    for id in 0..3 {
        writer.insert(Row { fingerprint: id, id }).unwrap();
    }
    writer.commit().unwrap();
    disk.set_now(Time(PERIOD_MS));
    fill(&disk);
    let is_full = |outcome: crate::Result<u64>| matches!(outcome, Err(crate::Error::DiskFull { .. }));
    assert!(is_full(writer.upsert(Row { fingerprint: 9, id: 2 })));
    assert!(!writer.has_uncommitted(), "an upsert without room deletes nothing");
    writer.delete(0).unwrap();
    assert!(is_full(writer.insert(Row { fingerprint: 9, id: 9 })));
    assert!(is_full(writer.upsert(Row { fingerprint: 9, id: 2 })));
    writer.delete(1).unwrap();
    disk.heal();
    writer.commit().unwrap();
    assert_eq!(read(&disk), [Row { fingerprint: 2, id: 2 }].into());
    writer.insert(Row { fingerprint: 9, id: 9 }).unwrap();
    writer.commit().unwrap();
    disk.set_now(Time(LIFETIME_MS));
    assert_eq!(read(&disk), [Row { fingerprint: 9, id: 9 }].into());
    assert_eq!(writer.snapshot().unwrap().all_rows(), [Row { fingerprint: 9, id: 9 }]);
}

/// The deletion went to a log that expires before the rows of the run, so that they came back, and no run could be made
/// of the log any more.
#[test]
fn a_deletion_on_a_full_disk_holds_as_long_as_the_ingested_rows() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runs");
    let schema = Schema::new().layout(LayoutChoice::Rotations { tables: 2 });
    let mut builder = Options::new().build::<u64>(&path, &schema).unwrap().runs_only();
    builder.push(Row { fingerprint: 7, id: 7 }).unwrap();
    builder.push(Row { fingerprint: 8, id: 8 }).unwrap();
    builder.finish().unwrap();
    let disk = fresh();
    let mut writer = open(&disk);
    writer.insert(Row { fingerprint: 1, id: 1 }).unwrap();
    writer.commit().unwrap();
    disk.set_now(Time(PERIOD_MS));
    writer.ingest(&[&path]).unwrap();
    fill(&disk);
    let deleted = writer.delete(7);
    disk.heal();
    assert!(matches!(deleted, Ok(()) | Err(crate::Error::DiskFull { .. })), "{deleted:?}");
    writer.commit().unwrap();
    writer.flush().unwrap();
    writer.close().unwrap();
    open(&disk).close().unwrap();
    let left = |ids: &[u64]| -> Rows { ids.iter().map(|&id| Row { fingerprint: id, id }).collect() };
    let ingested: &[u64] = if deleted.is_ok() { &[8] } else { &[7, 8] };
    assert_eq!(read(&disk), left(&[&[1], ingested].concat()));
    disk.set_now(Time(LIFETIME_MS));
    assert_eq!(read(&disk), left(ingested));
}

/// All rows of a repaired database expire with the newest ones, also those that had expired before.
#[test]
fn regression_repair_brought_expired_rows_back() {
    const HOUR: u64 = 3_600_000;
    let now = Time::now().0;
    // Runs of both, and what is in a log.
    for (is_old_flushed, is_new) in [(true, true), (true, false), (false, false)] {
        let disk = SimulatedDisk::new();
        let hours = |hours: u64| Duration::from_millis(hours * HOUR);
        let schema = Schema::new().keys(KeyStorage::Keys).expire_after(hours(100), Some(hours(1))).unwrap();
        manifest::replace(&disk, &manifest::fresh(64, &schema).unwrap()).unwrap();
        disk.set_now(Time(now - 200 * HOUR));
        let mut writer = open(&disk);
        writer.insert(NewRow::keyed(1, "old")).unwrap();
        writer.set_history(b"a job").unwrap();
        if is_old_flushed {
            writer.flush().unwrap()
        } else {
            writer.commit().unwrap()
        }
        if is_new {
            disk.set_now(Time(now));
            writer.insert(NewRow::keyed(2, "new")).unwrap();
            writer.flush().unwrap();
        }
        let home = tempfile::tempdir().unwrap();
        let (path, dest) = (home.path().join("db"), home.path().join("saved"));
        std::fs::create_dir(&path).unwrap();
        for name in disk.names() {
            std::fs::write(path.join(&name), disk.file_bytes(&name).unwrap()).unwrap();
        }
        if is_new && is_old_flushed {
            // The files alone say it, too.
            std::fs::remove_file(path.join(names::MANIFEST)).unwrap();
            let lost = home.path().join("lost");
            Options::new().repair::<u64>(&path, &lost, &schema).unwrap();
            let saved = Options::new().open::<u64>(&lost).unwrap().snapshot().unwrap();
            assert_eq!(saved.all_rows().iter().map(|row| row.fingerprint).collect::<Vec<_>>(), [2]);
            std::fs::write(path.join(names::MANIFEST), disk.file_bytes(names::MANIFEST).unwrap()).unwrap();
        }
        let report = Options::new().repair::<u64>(&path, &dest, &Schema::new()).unwrap();
        assert_eq!((report.rows, report.lost_rows, report.findings.len()), (u64::from(is_new), 0, 1));
        assert!(report.findings[0].kind == FindingKind::Expired && report.is_complete());
        let saved = Options::new().open::<u64>(&dest).unwrap().snapshot().unwrap();
        assert_eq!(saved.all_rows().len(), usize::from(is_new));
        assert_eq!(saved.history(), Some(&b"a job"[..]));
    }
}
