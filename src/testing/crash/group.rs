//! Threads that share a writer. Which calls share a sync is left to the threads, so the oracle has no order: what
//! was acknowledged is there, and nothing else than what was begun.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use std::thread;

use super::{fates, fresh, insert, open, read, row, some_of};
use crate::database::writer::Writer;
use crate::database::writer::shared::SharedWriter;
use crate::fingerprint::Row;
use crate::testing::simulated::SimulatedDisk;

#[derive(Clone, Default)]
struct Rows {
    begun: Vec<Row<u64>>,
    acknowledged: Vec<Row<u64>>,
}

const THREADS: u64 = 4;
const ROWS_OF_A_THREAD: u64 = 8;

/// Inserts rows on several threads, one a call. A call may fail, and its thread goes on.
fn share(writer: Writer<u64>, rows: &Mutex<Rows>) {
    let shared = SharedWriter::new(writer);
    thread::scope(|scope| {
        for first in 0..THREADS {
            let shared = &shared;
            scope.spawn(move || {
                for number in 0..ROWS_OF_A_THREAD {
                    let id = 1 + number * THREADS + first;
                    let row = row(id << 40, id);
                    rows.lock().unwrap().begun.push(row);
                    if shared.commit_with(|writer| insert(writer, row)).is_ok() {
                        rows.lock().unwrap().acknowledged.push(row);
                    }
                }
            });
        }
    });
}

fn check(disk: &SimulatedDisk, rows: &Rows) {
    let stored = read(disk);
    assert!(rows.acknowledged.iter().all(|row| stored.contains(row)), "an acknowledged row is lost");
    assert!(stored.iter().all(|row| rows.begun.contains(row)), "a row that nobody inserted");
}

#[test]
fn a_power_cut_at_any_call_keeps_what_group_commits_acknowledged() {
    let (disk, rows) = (fresh(), Arc::new(Mutex::new(Rows::default())));
    let moments = Arc::new(Mutex::new(Vec::new()));
    let (log, at) = (moments.clone(), rows.clone());
    disk.on_call(move |frozen, _| log.lock().unwrap().push((frozen.clone(), at.lock().unwrap().clone())));
    share(open(&disk, 0).unwrap(), &rows);
    assert_eq!(rows.lock().unwrap().acknowledged.len() as u64, THREADS * ROWS_OF_A_THREAD);
    let mut states = 0;
    for (moment, rows) in std::mem::take(&mut *moments.lock().unwrap()) {
        for mut fate in fates(&some_of(moment.doubts()), 1) {
            check(&moment.crash(&mut *fate), &rows);
            states += 1;
        }
    }
    assert!(states > 500, "{states} states");
}

#[test]
fn an_error_at_any_call_keeps_what_group_commits_acknowledged() {
    let mut refused = 0;
    for call in 0..120 {
        let (disk, rows) = (fresh(), Mutex::new(Rows::default()));
        let writer = open(&disk, 0).unwrap();
        disk.fail_at(disk.calls() + call, ErrorKind::Other);
        share(writer, &rows);
        disk.heal();
        let rows = rows.into_inner().unwrap();
        refused += rows.begun.len() - rows.acknowledged.len();
        check(&disk, &rows);
        check(&disk.crash(&mut |_| false), &rows);
    }
    assert!(refused > 100, "{refused}");
}
