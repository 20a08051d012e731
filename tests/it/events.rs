//! What a writer reports of its flushes and merges, and who learns that there is one.

use std::fs::File;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use nearprint::{Database, Event, Options, Remember, Row, Schema};

/// A random-looking fingerprint.
fn mixed(id: u64) -> u64 {
    (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// A clock that was ahead gave rows a longer life, and nobody was told.
#[test]
fn regression_a_writer_tells_of_a_last_commit_in_the_future() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = told.clone();
    let options = Options::new().on_event(move |event| log.lock().unwrap().push(event.clone()));
    let database = options.create::<u64>(&path, &Schema::new().remember(Remember::Hashes)).unwrap();
    for (ahead, times) in [(0, 0), (240, 0), (3600, 1)] {
        let now = SystemTime::now();
        let ahead = now + Duration::from_secs(ahead);
        for folder in [path.clone(), path.join("left-out")] {
            File::options().append(true).open(folder.join("MANIFEST")).unwrap().set_modified(ahead).unwrap();
        }
        let writer = database.writer().unwrap();
        let told = std::mem::take(&mut *told.lock().unwrap());
        assert_eq!(told.len(), times, "{told:?}");
        for event in told {
            let Event::Clock { last_commit, now: read } = event else { panic!("{event:?}") };
            // The time of an event has whole milliseconds.
            let not_before = now - Duration::from_millis(1);
            assert!(last_commit == ahead && not_before <= read, "{event:?}");
        }
        drop(writer);
    }
}

#[test]
fn events_add_up_to_what_is_stored() {
    const ROWS: u64 = 2000;
    for background in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let log = told.clone();
        let options = Options::new().memtable_rows(100).background_merges(background);
        let options = options.on_event(move |event| log.lock().unwrap().push(event.clone()));
        let database = options.create::<u64>(home.path().join("db"), &Schema::new()).unwrap();
        let mut writer = database.writer().unwrap();
        for id in 0..ROWS {
            writer.insert(Row { fingerprint: mixed(id), id }).unwrap();
            if id % 7 == 0 {
                writer.commit().unwrap();
                let near = writer.query(mixed(id / 2), 0).unwrap();
                assert_eq!(near.len(), 1, "row {} of {id}", id / 2);
            }
        }
        writer.close().unwrap();
        let (mut runs, mut rows, mut merges) = (0, 0, 0);
        for event in &*told.lock().unwrap() {
            match *event {
                Event::Flush { rows: more, bytes, took } => {
                    (runs, rows) = (runs + 1, rows + more);
                    assert!(bytes > 8192 && took > Duration::ZERO, "{event:?}");
                }
                Event::Merge { runs: merged, rows, .. } => {
                    (runs, merges) = (runs + 1 - merged, merges + 1);
                    assert!(rows >= 100 * merged as u64 && rows <= ROWS, "{event:?}");
                }
                Event::Stall { .. } => assert!(background),
                ref other => panic!("{other:?}"),
            }
        }
        let stats = database.snapshot().unwrap().stats();
        assert_eq!((stats.rows, stats.runs.len()), (ROWS, runs), "background {background}");
        assert!(rows == ROWS && merges > 0, "{rows} rows flushed, {merges} merges");
    }
}

#[test]
fn a_database_says_who_writes_and_when() {
    let home = tempfile::tempdir().unwrap();
    let (before, path) = (SystemTime::now() - Duration::from_secs(60), home.path().join("db"));
    let database = Database::<u64>::create(&path, &Schema::new().recipe("a recipe")).unwrap();
    let mut writer = database.writer().unwrap();
    assert_eq!(writer.recipe(), Some("a recipe"));
    let during = database.activity().unwrap();
    assert!(during.is_locked && during.writer.is_some_and(|writer| writer.pid == std::process::id()));
    writer.insert(7).unwrap();
    writer.close().unwrap();
    let after = database.activity().unwrap();
    assert!(!after.is_locked && after.writer.is_none());
    assert!(during.last_commit > before && after.last_commit >= during.last_commit);
}
