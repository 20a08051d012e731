//! Check-and-insert, and several threads that share a writer.

use std::sync::Mutex;
use std::thread;

use nearprint::{Database, Fingerprint, Insertion, Options, Row, Schema, SharedWriter};
use testkit::{Random, all_rows, for_each_width};

for_each_width!(rows_are_inserted_only_where_nothing_is_near);

fn rows_are_inserted_only_where_nothing_is_near<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let options = Options::new().memtable_rows(60);
    let database = options.create::<F>(home.path().join("db"), &Schema::new()).unwrap();
    let (mut writer, mut random) = (database.writer().unwrap(), Random(11));
    let centres: Vec<F> = (0..40).map(|_| random.near(F::default(), F::BITS.into())).collect();
    let mut kept: Vec<Row<F>> = Vec::new();
    for id in 0..600 {
        let centre = centres[random.below(40) as usize];
        let fingerprint = random.near(centre, 3);
        let near = kept.iter().map(|row| (row.fingerprint.distance(fingerprint), *row));
        let nearest = near.filter(|(distance, _)| *distance <= 2).min();
        match (writer.insert_if_new(Row { fingerprint, id }, 2).unwrap(), nearest) {
            (Insertion::Inserted(given), None) => {
                assert_eq!(given, id);
                kept.push(Row { fingerprint, id });
            }
            (Insertion::Met(met), Some((distance, row))) => {
                assert_eq!((met.distance, met.fingerprint, met.id), (distance, row.fingerprint, row.id));
            }
            (outcome, nearest) => panic!("{outcome:?}, and the nearest is {nearest:?}"),
        }
        if id % 7 == 0 {
            writer.commit().unwrap();
        }
    }
    writer.commit().unwrap();
    kept.sort_unstable();
    assert_eq!(all_rows(&database.snapshot().unwrap()), kept);
}

/// Of near rows that threads insert at the same time, one is stored, and is durable when its call
/// returns: another process would see it.
#[test]
fn calls_of_several_threads_are_durable_when_they_return() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let database = Options::new().memtable_rows(100).create::<u64>(&path, &Schema::new()).unwrap();
    let shared = SharedWriter::new(database.writer().unwrap());
    let inserted = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for number in 0..8u64 {
            let (shared, inserted, path) = (&shared, &inserted, &path);
            scope.spawn(move || {
                let reader = Database::<u64>::open(path).unwrap();
                for value in 0..50u64 {
                    let row = Row {
                        fingerprint: value.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1 << number,
                        id: value * 8 + number,
                    };
                    let outcome = shared.commit_with(|writer| writer.insert_if_new(row, 2)).unwrap();
                    let found = reader.snapshot().unwrap().query(row.fingerprint, 2).unwrap();
                    assert!(found.iter().any(|found| found.id == outcome.id()), "{outcome:?}, {found:?}");
                    if let Insertion::Inserted(id) = outcome {
                        inserted.lock().unwrap().push(id);
                    }
                }
            });
        }
    });
    shared.into_inner().close().unwrap();
    let mut groups: Vec<u64> = inserted.into_inner().unwrap().iter().map(|id| id / 8).collect();
    groups.sort_unstable();
    assert_eq!(groups, (0..50).collect::<Vec<_>>(), "one of each group of near rows");
    assert_eq!(database.snapshot().unwrap().stats().rows, 50);
}
