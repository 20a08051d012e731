//! Power cuts, failing calls and full disks, on a simulated disk.
//!
//! The oracle is the history of operations. After any fault the database must equal the effect of
//! the first j operations, for some j that includes all acknowledged ones. Whole states are
//! compared, which also detects gaps and deleted rows that reappear.
//!
//! `NEARPRINT_FULL=1` tries every doubt, every kind of error and more random programs.
//! `NEARPRINT_CRASH_STATES=N` makes the random test continue until N states have been recovered and
//! checked.

mod group;
mod history;

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};

use self::history::{
    CHECKPOINT, HISTORY, History, State, Step, last_operation, row, sealing_program, set_note, small_programs,
};
use crate::database::new_row::NewRow;
use crate::database::snapshot::{Snapshot, verify_all};
use crate::database::writer::Writer;
use crate::error::{Error, Result};
use crate::fingerprint::{Row, mix64};
use crate::format::schema::{KeyStorage, Schema};
use crate::format::wal::WalHeader;
use crate::layout::LayoutChoice;
use crate::layout::cost::ALWAYS_PROBES;
use crate::log::manifest;
use crate::options::Options;
use crate::storage::Storage;
use crate::testing::short_or_full;
use crate::testing::simulated::{Doubt, SimulatedDisk};

/// The bytes of a checkpoint or a history: none for 0.
fn note_bytes(number: u64) -> Vec<u8> {
    if number == 0 { Vec::new() } else { number.to_le_bytes().to_vec() }
}

/// The key of a row. Only rows with odd ids have one.
fn key_of(row: Row<u64>) -> Option<(String, Vec<u8>)> {
    let text = row.fingerprint.to_le_bytes()[..(row.id % 8) as usize].to_vec();
    (row.id % 2 == 1).then(|| (format!("key of {}", row.fingerprint), text))
}

fn insert(writer: &mut Writer<u64>, row: Row<u64>) -> Result<()> {
    let Row { fingerprint, id } = row;
    match key_of(row) {
        Some((key, text)) => {
            writer.insert(NewRow { id: Some(id), text: &text, ..NewRow::keyed(fingerprint, &key) }).map(drop)
        }
        None => writer.insert(Row { fingerprint, id }).map(drop),
    }
}

/// Sectors that are lost or kept individually at one moment.
const SECTORS_TRIED: usize = 3;

fn options() -> Options {
    Options::new().threads(1).memtable_rows(4).background_merges(false).deferred_flushes()
}

fn fresh() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let schema = Schema::new().layout(LayoutChoice::Rotations { tables: 2 }).keys(KeyStorage::KeysAndTexts);
    manifest::replace(&disk, &manifest::fresh(64, &schema).unwrap()).unwrap();
    disk
}

fn open(disk: &SimulatedDisk, keep_log: u64) -> Result<Writer<u64>> {
    Writer::open(Arc::new(disk.clone()), options().keep_log(keep_log))
}

/// The progress of a program: the number of steps begun, and of steps with an acknowledged effect.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    begun: usize,
    acknowledged: usize,
}

/// Runs the steps and continues after errors, like a real program: with the same writer as long as
/// it accepts operations, otherwise with a new one.
fn run(disk: &SimulatedDisk, history: &History, reached: &Mutex<Reached>) -> Vec<Error> {
    let mut errors = Vec::new();
    let mut writer = None;
    let mut is_lost = false;
    for (index, &step) in history.steps.iter().enumerate() {
        if is_lost {
            // Uncommitted operations were lost with their writer: the history ends here.
            break;
        }
        let again = |error| {
            errors.push(error);
            open(disk, history.keep_log)
        };
        let Ok(mut opened) = writer.take().map_or_else(|| open(disk, history.keep_log).or_else(again), Ok)
        else {
            break;
        };
        let (result, is_durable) = match step {
            Step::Insert(row) => (insert(&mut opened, row), false),
            Step::Delete(id) => (opened.delete(id), false),
            Step::Upsert(row) => (opened.delete(row.id).and_then(|()| insert(&mut opened, row)), false),
            Step::Checkpoint(number) => (opened.set_checkpoint(&note_bytes(number)), false),
            Step::History(number) => (opened.set_history(&note_bytes(number)), false),
            Step::Commit => (opened.commit(), true),
            Step::Flush => (opened.flush(), true),
            Step::Compact => (opened.compact(), true),
            Step::Reopen | Step::Abandon => (Ok(()), false),
        };
        reached.lock().unwrap().begun = index + 1;
        let is_sound = opened.check_poison().is_ok();
        assert!(is_sound || !is_durable || result.is_err(), "{step:?} hides a failed sync");
        match result {
            Ok(()) if is_durable => reached.lock().unwrap().acknowledged = index + 1,
            Ok(()) => {}
            Err(Error::Poisoned { .. }) => is_lost = true,
            Err(error) => errors.push(error),
        }
        match step {
            Step::Reopen => match opened.close() {
                Ok(()) => reached.lock().unwrap().acknowledged = index + 1,
                Err(error) => {
                    errors.push(error);
                    is_lost = true;
                }
            },
            Step::Abandon => {
                drop(opened);
                is_lost = reached.lock().unwrap().acknowledged < last_operation(history, index);
            }
            _ => writer = Some(opened),
        }
    }
    errors
}

fn rows(snapshot: &Snapshot<u64>) -> State {
    let mut state: State = snapshot.all_rows().into_iter().collect();
    for &row in &state {
        let keys = snapshot.keys_of(row).unwrap();
        assert!(keys.into_iter().map(|key| (key.key, key.text)).eq(key_of(row)), "{row:?}");
    }
    let manifest = snapshot.manifest();
    for (note, id) in [(&manifest.checkpoint, CHECKPOINT), (&manifest.history, HISTORY)] {
        let number = note.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        set_note(&mut state, id, number);
    }
    state
}

/// Reads a database without changing it.
fn read(disk: &SimulatedDisk) -> State {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    rows(&Snapshot::open(&storage, &options(), None).unwrap())
}

/// Checks that queries that need one particular table return exactly the expected rows.
fn check_tables(snapshot: &Snapshot<u64>, state: &State) {
    let state: State = state.iter().filter(|row| ![CHECKPOINT, HISTORY].contains(&row.id)).copied().collect();
    ALWAYS_PROBES.set(true);
    assert!(snapshot.explain(1).runs.iter().all(|run| !run.scan), "queries use the tables");
    for flip in [1u64 << 63, 1 << 20] {
        for row in &state {
            // With a flipped bit in the prefix of one of the two tables, only the other one finds
            // the row.
            let query = row.fingerprint ^ flip;
            let near = |row: &&Row<u64>| (row.fingerprint ^ query).count_ones() <= 1;
            let expected: State = state.iter().filter(near).copied().collect();
            let found = snapshot.query(query, 1).unwrap();
            let found = found.iter().map(|found| Row { fingerprint: found.fingerprint, id: found.id });
            assert_eq!(found.collect::<State>(), expected);
        }
    }
}

/// Checks the disk after a crash: the history allows its state, recovery keeps the state, all
/// tables agree, and no other files remain. Returns the number of checked states.
fn check(disk: &SimulatedDisk, history: &History, reached: Reached, thorough: bool) -> u64 {
    let state = read(disk);
    let allowed = &history.states[reached.acknowledged..=reached.begun];
    assert!(allowed.contains(&state), "{reached:?}: {state:?} of {:?}", history.steps);
    let mut states = 1;
    let seen = Arc::new(Mutex::new(Vec::new()));
    if thorough {
        let log = seen.clone();
        disk.on_call(move |frozen, _| log.lock().unwrap().push(frozen.clone()));
    }
    open(disk, history.keep_log).unwrap().close().unwrap();
    for again in std::mem::take(&mut *seen.lock().unwrap()) {
        for kept in [false, true] {
            assert_eq!(read(&again.crash(&mut |_| kept)), state, "a second crash changes nothing");
            states += 1;
        }
    }
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let snapshot = Snapshot::open(&storage, &options(), None).unwrap();
    assert_eq!(rows(&snapshot), state, "recovery keeps the state that readers saw");
    check_tables(&snapshot, &state);
    let manifest = manifest::of::<u64>(disk).unwrap();
    assert_eq!(verify_all::<u64>(disk, &manifest, &options()).unwrap().damage, []);
    let named: BTreeSet<String> = manifest.file_names().collect();
    assert!(
        disk.names().iter().all(|name| named.contains(name)),
        "{:?} has more files than {named:?}",
        disk.names()
    );
    assert!(history.keep_log > 0 || manifest.live_wal.is_none(), "a closed database has no log");
    states
}

/// All doubts about names and lengths, and some of those about sectors.
fn some_of(doubts: Vec<Doubt>) -> Vec<Doubt> {
    let is_sector = |doubt: &Doubt| matches!(doubt, Doubt::Sector { .. });
    let (sectors, mut some): (Vec<Doubt>, Vec<Doubt>) = doubts.into_iter().partition(is_sector);
    let step = (sectors.len() / SECTORS_TRIED).max(1);
    some.extend(sectors.into_iter().step_by(step));
    // Where there are many, a short run tries every third; which ones changes from moment to
    // moment.
    let stride = if some.len() > 6 { short_or_full(5, 1) } else { 1 };
    let first = some.len() % stride;
    some.into_iter().skip(first).step_by(stride).collect()
}

/// The fates to try: nothing is kept, everything, all but one, only one, and random choices.
fn fates(doubts: &[Doubt], random: u64) -> Vec<Box<dyn FnMut(Doubt) -> bool>> {
    let mut fates: Vec<Box<dyn FnMut(Doubt) -> bool>> = vec![Box::new(|_| false), Box::new(|_| true)];
    for &one in doubts {
        fates.push(Box::new(move |doubt| doubt == one));
        fates.push(Box::new(move |doubt| doubt != one));
    }
    for seed in 0..random {
        let mut dice = mix64(seed + doubts.len() as u64 * 977);
        fates.push(Box::new(move |_| {
            dice = mix64(dice.wrapping_add(1));
            dice & 1 == 0
        }));
    }
    fates
}

/// Cuts the power before every call of a program, with each doubt decided both ways and some random
/// combinations. Returns the number of checked states.
fn crash_everywhere(history: &History, random: u64, thorough_every: u64) -> u64 {
    let disk = fresh();
    let reached = Arc::new(Mutex::new(Reached::default()));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, at) = (seen.clone(), reached.clone());
    // At a call, the current step may be half done. It counts as begun.
    disk.on_call(move |frozen, _| {
        let at = *at.lock().unwrap();
        log.lock().unwrap().push((frozen.clone(), Reached { begun: at.begun + 1, ..at }));
    });
    let errors = run(&disk, history, &reached);
    assert!(errors.is_empty(), "{errors:?}");
    let end = *reached.lock().unwrap();
    let mut moments = std::mem::take(&mut *seen.lock().unwrap());
    moments.push((disk, end));
    let mut states = 0;
    for (moment, mut reached) in moments {
        reached.begun = reached.begun.min(history.steps.len());
        for mut fate in fates(&some_of(moment.doubts()), random) {
            let thorough = thorough_every > 0 && states % thorough_every == 0;
            states += check(&moment.crash(&mut *fate), history, reached, thorough);
        }
        // After the end of the process, everything written is kept.
        states += check(&moment, history, reached, false);
    }
    states
}

#[test]
fn commits_go_on_beside_a_sealed_log() {
    let program = History::of(sealing_program());
    let (disk, reached) = (fresh(), Mutex::new(Reached::default()));
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let log = seen.clone();
    disk.on_call(move |frozen, _| {
        let manifest = manifest::of::<u64>(frozen).unwrap();
        let frames = |number| frozen.file_bytes(&crate::storage::names::wal(number)).unwrap().len();
        log.lock().unwrap().extend(
            manifest
                .sealed_wal
                .map(|sealed| (sealed.wal.number, manifest.live_wal.map(|live| frames(live.number)))),
        );
    });
    assert!(run(&disk, &program, &reached).is_empty());
    let seen = seen.lock().unwrap();
    let sealed: BTreeSet<u64> = seen.iter().map(|&(number, _)| number).collect();
    assert!(sealed.len() > 1, "{sealed:?}");
    assert!(seen.len() > 2 * sealed.len(), "the live log grows: {seen:?}");
}

#[test]
fn a_power_cut_at_any_call_leaves_a_prefix_of_the_history() {
    let random = short_or_full(0, 2);
    let states: u64 = small_programs().iter().map(|program| crash_everywhere(program, random, 61)).sum();
    println!("{states} states recovered and checked");
    assert!(states > short_or_full(10_000, 50_000), "{states} states");
}

#[test]
fn random_programs_survive_power_cuts() {
    let wanted: u64 = std::env::var("NEARPRINT_CRASH_STATES")
        .map_or(short_or_full(1_200, 20_000), |count| count.parse().unwrap());
    let first = std::env::var("NEARPRINT_CRASH_SEED").map_or(0, |seed| seed.parse().unwrap());
    let (mut states, mut seed) = (0, first);
    while states < wanted {
        states += crash_everywhere(&History::random(seed, 24), 2, 97);
        seed += 1;
    }
    println!("{states} states of {} random programs recovered and checked", seed - first);
}

/// Runs a program with faults. Returns its errors, the disk and its progress.
fn with_faults(history: &History, faults: impl Fn(&SimulatedDisk)) -> (Vec<Error>, SimulatedDisk, Reached) {
    let disk = fresh();
    faults(&disk);
    let reached = Mutex::new(Reached::default());
    let errors = run(&disk, history, &reached);
    let reached = reached.into_inner().unwrap();
    disk.heal();
    (errors, disk, reached)
}

/// The number of calls that a program makes without faults, including its preparation.
fn calls_of(history: &History) -> u64 {
    let (errors, disk, _) = with_faults(history, |_| ());
    assert!(errors.is_empty(), "{errors:?}");
    disk.calls()
}

#[test]
fn an_error_at_any_call_loses_nothing_acknowledged() {
    let kinds = [ErrorKind::Other, ErrorKind::StorageFull, ErrorKind::PermissionDenied];
    let mut cases = 0;
    let random = (100..short_or_full(101, 106)).map(|seed| History::random(seed, 24));
    for program in small_programs().into_iter().chain(random) {
        let calls = calls_of(&program);
        for call in fresh().calls()..calls {
            // In short form, the kinds take turns.
            let first = cases % kinds.len();
            for &kind in kinds.iter().cycle().skip(first).take(short_or_full(1, kinds.len())) {
                let (_, disk, reached) = with_faults(&program, |disk| disk.fail_at(call, kind));
                check(&disk.crash(&mut |_| false), &program, reached, false);
                check(&disk.crash(&mut |_| true), &program, reached, false);
                check(&disk, &program, reached, false);
                cases += 1;
            }
        }
    }
    println!("{cases} failing calls");
}

#[test]
fn the_same_writer_survives_a_full_disk() {
    let mut cases = 0;
    for program in small_programs() {
        for call in fresh().calls()..calls_of(&program) {
            let (errors, disk, reached) =
                with_faults(&program, |disk| disk.fail_from(call, ErrorKind::StorageFull));
            assert!(errors.iter().all(|error| matches!(error, Error::DiskFull { .. })), "{errors:?}");
            check(&disk.crash(&mut |_| false), &program, reached, false);
            check(&disk, &program, reached, false);
            cases += 1;
        }
    }
    println!("{cases} moments at which the disk was full");
}

/// The salts of the logs that have had a number.
fn salts_of_logs(disk: &SimulatedDisk) -> Arc<Mutex<BTreeMap<String, BTreeSet<u64>>>> {
    let all: Arc<Mutex<BTreeMap<String, BTreeSet<u64>>>> = Arc::default();
    let seen = all.clone();
    disk.on_call(move |frozen, _| {
        for name in frozen.names().into_iter().filter(|name| name.starts_with("wal-")) {
            let salt = WalHeader::parse(&frozen.file_bytes(&name).unwrap()).map(|header| header.salt);
            seen.lock().unwrap().entry(name).or_default().extend(salt);
        }
    });
    all
}

/// Once there is room again, the same writer continues without loss.
#[test]
fn a_full_disk_that_is_freed_takes_everything() {
    let rows: Vec<Row<u64>> = (0..11).map(|i| row(mix64(i), i)).collect();
    for call in 0..200 {
        let disk = fresh();
        let mut writer = open(&disk, 0).unwrap();
        disk.fail_from(disk.calls() + call, ErrorKind::StorageFull);
        let salts = salts_of_logs(&disk);
        let mut failures = 0;
        for &Row { fingerprint, id } in &rows {
            insert(&mut writer, Row { fingerprint, id }).unwrap();
            if let Err(error) = writer.commit() {
                assert!(matches!(error, Error::DiskFull { .. }), "{error}");
                failures += 1;
            }
        }
        disk.heal();
        writer.commit().unwrap();
        assert!(
            salts.lock().unwrap().values().all(|salts| salts.len() == 1),
            "a log has a number of its own"
        );
        assert_eq!(read(&disk.crash(&mut |_| false)), rows.iter().copied().collect::<State>());
        writer.close().unwrap();
        check_tables(
            &Snapshot::open(&(Arc::new(disk.clone()) as _), &options(), None).unwrap(),
            &read(&disk),
        );
        assert!(failures > 0 || call > 50, "call {call}");
    }
}

/// After a failed sync nothing is acknowledged any more, and a new writer finds all acknowledged
/// rows.
#[test]
fn a_failed_sync_poisons_the_writer_for_good() {
    let program = [1u64, 2, 3, 4, 5, 6, 7, 8, 9];
    let mut poisoned = 0;
    for call in 0..150 {
        let disk = fresh();
        let mut writer = open(&disk, 0).unwrap();
        disk.fail_at(disk.calls() + call, ErrorKind::Other);
        let mut acknowledged = State::new();
        let mut is_poisoned = false;
        for (index, &id) in program.iter().enumerate() {
            let inserted = insert(&mut writer, row(id << 40, id));
            let committed = inserted.and_then(|()| writer.commit());
            assert!(!is_poisoned || matches!(committed, Err(Error::Poisoned { .. })), "{committed:?}");
            if committed.is_ok() {
                acknowledged = program[..=index].iter().map(|&id| row(id << 40, id)).collect();
            }
            is_poisoned = writer.check_poison().is_err();
        }
        if is_poisoned {
            poisoned += 1;
            assert!(matches!(writer.flush(), Err(Error::Poisoned { .. })));
            assert!(matches!(writer.compact(), Err(Error::Poisoned { .. })));
            assert!(matches!(writer.close(), Err(Error::Poisoned { .. })));
        } else {
            drop(writer);
        }
        for kept in [false, true] {
            assert!(read(&disk.crash(&mut |_| kept)).is_superset(&acknowledged), "call {call}");
        }
    }
    assert!(poisoned > 20, "{poisoned} calls were syncs, renames or folder syncs");
}

/// Its writer was killed before the sync, or the sync failed.
#[test]
fn regression_a_commit_makes_what_a_writer_found_in_a_log_durable() {
    for sync_fails in [false, true] {
        let disk = fresh();
        let mut writer = open(&disk, 4096).unwrap();
        insert(&mut writer, row(1, 1)).unwrap();
        writer.commit().unwrap();
        insert(&mut writer, row(2, 2)).unwrap();
        let killed = Arc::new(Mutex::new(disk.clone()));
        let (slot, write) = (killed.clone(), disk.calls());
        if sync_fails {
            disk.fail_at(write + 1, ErrorKind::Other);
        } else {
            disk.on_call(move |frozen, call| {
                if call == write + 1 {
                    *slot.lock().unwrap() = frozen.clone();
                }
            });
        }
        assert_eq!(writer.commit().is_err(), sync_fails);
        drop(writer);
        let disk = killed.lock().unwrap().clone();
        let both = State::from([row(1, 1), row(2, 2)]);
        assert_eq!(read(&disk), both);
        assert_ne!(read(&disk.crash(&mut |_| false)), both, "the row is in doubt");
        let mut writer = open(&disk, 4096).unwrap();
        writer.commit().unwrap();
        assert_eq!(read(&disk.crash(&mut |_| false)), both);
    }
}
