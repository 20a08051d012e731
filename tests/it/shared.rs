//! Check-and-insert, and several threads that share a writer.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use nearprint::{
    Database, Error, Fingerprint, Insertion, NewRow, Options, Result, Row, Schema, SharedWriter, Writer,
};
use testkit::{Random, all_rows, bit, for_each_width};

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

for_each_width!(every_row_is_near_within_the_width_and_beyond);

fn every_row_is_near_within_the_width_and_beyond<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let database = Database::<F>::create(home.path().join("db"), &Schema::new()).unwrap();
    let mut writer = database.writer().unwrap();
    let opposite = (0..F::BITS).fold(F::default(), |all, place| all ^ bit(place));
    let first = Row { fingerprint: F::default(), id: 1 };
    for k in [F::BITS, F::BITS + 1, u32::MAX] {
        // Nothing is near where there is nothing.
        assert_eq!(writer.insert_if_new(first, k).unwrap(), Insertion::Inserted(1));
        for committed in [false, true] {
            let Insertion::Met(met) = writer.insert_if_new(Row { fingerprint: opposite, id: 2 }, k).unwrap()
            else {
                panic!("k = {k}, committed: {committed}")
            };
            assert_eq!((met.id, met.distance), (1, F::BITS));
            writer.commit().unwrap();
        }
        assert_eq!(all_rows(&database.snapshot().unwrap()), [first]);
        writer.delete(1).unwrap();
    }
    writer.insert(first).unwrap();
    let outcome = writer.insert_if_new(Row { fingerprint: opposite, id: 2 }, F::BITS - 1).unwrap();
    assert_eq!(outcome, Insertion::Inserted(2));
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

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Succeeds,
    StaysUncommitted,
    Fails,
    Discards,
    DiscardsAndFails,
    Panics,
}

fn call(shared: &SharedWriter<Writer<u64>>, end: End, apply: impl FnOnce(&mut Writer<u64>) -> Result<()>) {
    let failing = |writer: &mut Writer<u64>, apply: &mut dyn FnMut(&mut Writer<u64>) -> Result<()>| {
        apply(writer)?;
        Err(Error::Interrupted)
    };
    let mut apply = Some(apply);
    let mut apply = move |writer: &mut Writer<u64>| apply.take().unwrap()(writer);
    match end {
        End::Succeeds => shared.commit_with(apply).unwrap(),
        End::StaysUncommitted => shared.with(apply).unwrap(),
        End::Fails => {
            let failed: Result<()> = shared.commit_with(|writer| failing(writer, &mut apply));
            assert!(matches!(failed, Err(Error::Interrupted)));
        }
        End::Discards => shared
            .with(|writer| {
                apply(writer)?;
                writer.discard()
            })
            .unwrap(),
        End::DiscardsAndFails => {
            let failed: Result<()> = shared.commit_with(|writer| {
                apply(writer)?;
                writer.discard()?;
                Err(Error::Interrupted)
            });
            assert!(matches!(failed, Err(Error::Interrupted)));
        }
        End::Panics => {
            let panics = || {
                shared.with(|writer| {
                    apply(writer).unwrap();
                    std::panic::resume_unwind(Box::new("a call"));
                })
            };
            assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        }
    }
}

/// What others have pending stays whatever a call does: insert, upsert, delete and fail, discard or panic.
#[test]
fn regression_a_call_takes_back_its_own_operations_and_no_others() {
    const ENDS: [End; 6] =
        [End::Succeeds, End::StaysUncommitted, End::Fails, End::Discards, End::DiscardsAndFails, End::Panics];
    for seed in 0..12u64 {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("db");
        let options = Options::new().memtable_rows(40).background_merges(seed % 2 == 0);
        let options = options.keep_log(if seed % 3 == 0 { 1 << 16 } else { 0 });
        let schema = Schema::new().keys(nearprint::KeyStorage::Keys);
        let database = options.create::<u64>(&path, &schema).unwrap();
        let mut shared = SharedWriter::new(database.writer().unwrap());
        let (mut random, mut expected) = (Random(seed), BTreeSet::new());
        for step in 0..400 {
            let end = ENDS[random.below(6) as usize];
            let mut changed: BTreeSet<(u64, u64)> = expected.clone();
            call(&shared, end, |writer| {
                for _ in 0..1 + random.below(4) {
                    let row = Row { fingerprint: random.below(50), id: random.below(30) };
                    match random.below(4) {
                        0 => {
                            writer.delete(row.id)?;
                            changed.retain(|stored| stored.1 != row.id);
                        }
                        1 => {
                            writer.upsert(row)?;
                            changed.retain(|stored| stored.1 != row.id);
                            changed.insert((row.fingerprint, row.id));
                        }
                        2 => {
                            let keyed = NewRow::keyed(row.fingerprint, "key");
                            changed.insert((row.fingerprint, writer.insert(keyed)?));
                        }
                        _ => {
                            writer.insert(row)?;
                            changed.insert((row.fingerprint, row.id));
                        }
                    }
                }
                Ok(())
            });
            if matches!(end, End::Succeeds | End::StaysUncommitted) {
                expected = changed;
            }
            let rows =
                |of: Vec<Row<u64>>| of.iter().map(|row| (row.fingerprint, row.id)).collect::<BTreeSet<_>>();
            let own = shared.with(|writer| writer.snapshot()).unwrap();
            assert_eq!(rows(all_rows(&own)), expected, "seed {seed}, step {step}: {end:?}");
            if end == End::Succeeds {
                let committed = rows(all_rows(&database.snapshot().unwrap()));
                assert_eq!(committed, expected, "seed {seed}, step {step}");
            }
            if step % 90 == 89 {
                shared.into_inner().close().unwrap();
                shared = SharedWriter::new(database.writer().unwrap());
            }
        }
    }
}

/// Once no thread shares it, a writer discards all that is not committed.
#[test]
fn a_writer_that_is_shared_no_more_discards_everything() {
    let home = tempfile::tempdir().unwrap();
    let database = Database::<u64>::create(home.path().join("db"), &Schema::new()).unwrap();
    let shared = SharedWriter::new(database.writer().unwrap());
    shared.with(|writer| writer.insert(1)).unwrap();
    shared.with(|writer| writer.insert(2)).unwrap();
    let mut writer = shared.into_inner();
    assert_eq!(writer.snapshot().unwrap().stats().rows, 2);
    writer.discard().unwrap();
    assert_eq!(writer.snapshot().unwrap().stats().rows, 0);
}
