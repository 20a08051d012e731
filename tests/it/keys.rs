//! Databases with keys: against a model that holds everything in memory, and through every way that a
//! database can take.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::common::Random;
use nearprint::{Builder, Database, Error, Options, Row, RowKey, Snapshot};

/// By row and key: the sequence number and the text.
type Model = BTreeMap<(Row<u64>, String), (u64, Vec<u8>)>;

fn options() -> Options {
    Options::new().keys(true).recipe("some recipe").memtable_rows(60).threads(2).background_merges(false)
}

/// Rows that are often the same, ids that are often shared, keys and texts of all lengths.
fn some_row(random: &mut Random) -> (u64, Option<u64>, String, Vec<u8>) {
    let fingerprint = random.below(40) << 7 | random.below(2);
    let key = match random.below(30) {
        0 => String::new(),
        1 => "long ".repeat(2000 + random.below(9000) as usize),
        _ => format!("key {}", random.below(80)),
    };
    let id = (random.below(3) == 0).then(|| random.below(20));
    let text = vec![b'x'; if random.below(20) == 0 { 30_000 } else { random.below(40) as usize }];
    (fingerprint, id, key, text)
}

fn keys_of(snapshot: &Snapshot<u64>) -> Model {
    let mut rows = BTreeSet::new();
    snapshot
        .visit_rows(|row| {
            rows.insert(row);
            Ok::<(), Error>(())
        })
        .unwrap();
    let of_row = |row: &Row<u64>| {
        let keys = snapshot.keys_of(*row).unwrap();
        assert!(!keys.is_empty() && keys.is_sorted(), "{row:?}");
        keys.into_iter()
            .map(|RowKey { key, sequence, text, .. }| ((*row, key), (sequence, text)))
            .collect::<Vec<_>>()
    };
    rows.iter().flat_map(of_row).collect()
}

fn check(path: &Path, model: &Model) -> Snapshot<u64> {
    let database = Database::<u64>::open(path).unwrap();
    let snapshot = database.snapshot().unwrap();
    let found = keys_of(&snapshot);
    assert_eq!(found.len(), model.len());
    assert!(found == *model);
    assert_eq!(database.verify().unwrap().damage, []);
    let ids: BTreeSet<u64> = model.keys().filter(|(_, key)| key == "key 7").map(|(row, _)| row.id).collect();
    assert!(snapshot.ids_of_key("key 7", true).unwrap().iter().eq(&ids));
    assert_eq!(snapshot.recipe(), Some("some recipe"));
    assert_eq!(snapshot.key_storage(), Some(true));
    snapshot
}

#[test]
fn keys_come_and_go_with_their_rows() {
    for seed in 0..5 {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("db");
        let database = Database::<u64>::create(&path, options()).unwrap();
        let database = Database::<u64>::open_with(database.path(), options()).unwrap();
        let mut random = Random(seed);
        let mut model = Model::new();
        let mut sequence = 0;
        let mut writer = database.writer().unwrap();
        for step in 0..900 {
            match random.below(60) {
                0 => writer.compact().unwrap(),
                1 => {
                    writer.close().unwrap();
                    check(&path, &model);
                    writer = database.writer().unwrap();
                }
                2 => {
                    // What was not committed is gone, sequence numbers of it too.
                    writer.commit().unwrap();
                    drop(writer);
                    check(&path, &model);
                    writer = database.writer().unwrap();
                }
                3..8 => {
                    let id = random.below(20);
                    writer.delete(id).unwrap();
                    model.retain(|(row, _), _| row.id != id);
                }
                _ => {
                    let (fingerprint, id, key, text) = some_row(&mut random);
                    let id = writer.insert_keyed(fingerprint, id, &key, &text).unwrap();
                    let row = Row { fingerprint, id };
                    model.entry((row, key)).or_insert((sequence, text));
                    let keys = writer.keys_of(row).unwrap();
                    let expected = model.range((row, String::new())..).take_while(|((of, _), _)| *of == row);
                    let found = keys.iter().map(|key| (&key.key, key.sequence, &key.text));
                    assert!(found.eq(expected.map(|((_, key), (sequence, text))| (key, *sequence, text))));
                    sequence += 1;
                }
            }
            if step % 50 == 0 {
                writer.commit().unwrap();
                check(&path, &model);
            }
        }
        writer.close().unwrap();
        let copy = home.path().join("copy");
        check(&path, &model).backup(&copy).unwrap();
        check(&copy, &model);
    }
}

fn load(mut builder: Builder<u64>, seed: u64, rows: usize) -> Model {
    let mut random = Random(seed);
    let mut model = Model::new();
    for sequence in 0..rows as u64 {
        let (fingerprint, id, key, text) = some_row(&mut random);
        let id = builder.push_keyed(fingerprint, id, &key, &text).unwrap();
        model.entry((Row { fingerprint, id }, key)).or_insert((sequence, text));
    }
    builder.finish().unwrap();
    model
}

#[test]
fn a_bulk_load_sorts_keys_with_little_memory() {
    let home = tempfile::tempdir().unwrap();
    for (name, memory) in [("little", 1 << 20), ("much", 1 << 28)] {
        let path = home.path().join(name);
        let builder = Database::<u64>::build(&path, options().memory_bytes(memory)).unwrap();
        let model = load(builder, 3, 20_000);
        check(&path, &model);
        let names: Vec<_> = std::fs::read_dir(&path).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert!(!names.iter().any(|name| name.to_string_lossy().starts_with("spill")), "{names:?}");
    }
}

#[test]
fn runs_with_keys_are_adopted_by_databases_that_keep_the_same() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let mut model = load(Database::<u64>::build(&path, options()).unwrap(), 1, 500);
    let runs = home.path().join("runs");
    let more = load(Database::<u64>::build(&runs, options()).unwrap().runs_only(), 2, 500);
    let plain = home.path().join("plain");
    Database::<u64>::create(&plain, Options::new()).unwrap();
    let error = Database::<u64>::open(&plain).unwrap().writer().unwrap().ingest(&[&runs]).unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    assert!(error.to_string().contains("keys and texts, recipe some recipe"), "{error}");
    let other = home.path().join("other");
    Database::<u64>::create(&other, options().recipe("another")).unwrap();
    let error = Database::<u64>::open(&other).unwrap().writer().unwrap().ingest(&[&runs]).unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");

    let mut writer = Database::<u64>::open(&path).unwrap().writer().unwrap();
    writer.ingest(&[&runs]).unwrap();
    writer.compact().unwrap();
    writer.close().unwrap();
    for (place, (sequence, text)) in more {
        let known = model.entry(place).or_insert((sequence, text.clone()));
        // Of two that were there first, the one with the smaller sequence number stays; of equals, the older run's.
        if sequence < known.0 {
            *known = (sequence, text);
        }
    }
    check(&path, &model);
}

#[test]
fn a_repair_saves_keys_and_the_rows_that_only_they_tell() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let model = load(Database::<u64>::build(&path, options()).unwrap(), 5, 3000);
    let whole = home.path().join("whole");
    let salvage = Database::<u64>::repair(&path, &whole, Options::new()).unwrap();
    assert!(salvage.made && salvage.is_complete(), "{:?}", salvage.findings);
    check(&whole, &model);

    let file = |suffix: &str| {
        let names = std::fs::read_dir(&path).unwrap().map(|file| file.unwrap().path());
        names.into_iter().find(|path| path.to_string_lossy().ends_with(suffix)).unwrap()
    };
    // Without its rows file, a run is lost; but not the rows that have keys.
    let rows = std::fs::read(file(".rows")).unwrap();
    std::fs::remove_file(file(".rows")).unwrap();
    let by_keys = home.path().join("by keys");
    let name = format!("{:08}.rows", 1);
    let salvage = Database::<u64>::repair(&path, &by_keys, Options::new()).unwrap();
    assert!(salvage.made && !salvage.is_complete(), "{:?}", salvage.findings);
    check(&by_keys, &model);
    std::fs::write(path.join(name), rows).unwrap();

    // A footer that cannot be read, and a page of records.
    let keys = file(".keys");
    let sound = std::fs::read(&keys).unwrap();
    let mut damaged = sound.clone();
    let last = damaged.len() - 100;
    damaged[last] ^= 1;
    std::fs::write(&keys, &damaged).unwrap();
    let salvage = Database::<u64>::repair(&path, home.path().join("no footer"), Options::new()).unwrap();
    assert!(salvage.is_complete(), "{:?}", salvage.findings);
    check(&home.path().join("no footer"), &model);
    let mut damaged = sound;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&keys, &damaged).unwrap();
    let found = Database::<u64>::open(&path).unwrap().verify().unwrap().damage;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].section, "records");
    let to = home.path().join("no page");
    let salvage = Database::<u64>::repair(&path, &to, Options::new()).unwrap();
    assert!(salvage.made && !salvage.is_complete());
    let saved = Database::<u64>::open(&to).unwrap().snapshot().unwrap();
    assert_eq!(saved.stats().rows, model.keys().map(|(row, _)| row).collect::<BTreeSet<_>>().len() as u64);
}

#[test]
fn a_checkpoint_is_as_durable_as_the_rows_before_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let database = Database::<u64>::create(&path, options()).unwrap();
    let database = Database::<u64>::open_with(database.path(), options()).unwrap();
    let mut writer = database.writer().unwrap();
    assert_eq!(writer.checkpoint(), None);
    for round in 0..200u64 {
        writer.insert_keyed(round, None, &format!("{round}"), b"").unwrap();
        writer.set_checkpoint(&round.to_le_bytes()).unwrap();
        writer.commit().unwrap();
        writer.insert_keyed(u64::MAX, None, "never committed", b"").unwrap();
        writer.set_checkpoint(b"never committed").unwrap();
        if round % 7 == 0 {
            drop(writer);
            writer = database.writer().unwrap();
        } else if round % 11 == 0 {
            writer.set_checkpoint(&round.to_le_bytes()).unwrap();
            writer.delete(nearprint_id("never committed")).unwrap();
            writer.compact().unwrap();
        } else {
            writer.set_checkpoint(&round.to_le_bytes()).unwrap();
            writer.delete(nearprint_id("never committed")).unwrap();
        }
        assert_eq!(writer.checkpoint(), Some(&round.to_le_bytes()[..]));
    }
    writer.set_checkpoint(b"").unwrap();
    writer.close().unwrap();
    let writer = database.writer().unwrap();
    assert_eq!(writer.checkpoint(), None);
    assert_eq!(database.snapshot().unwrap().stats().rows, 200);
}

/// The id of a row that comes with a key only.
fn nearprint_id(key: &str) -> u64 {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let mut builder = Database::<u64>::build(&path, Options::new().keys(false)).unwrap();
    let id = builder.push_keyed(1, None, key, b"").unwrap();
    drop(builder);
    id
}

#[test]
fn keys_and_texts_need_a_database_that_keeps_them() {
    let home = tempfile::tempdir().unwrap();
    let plain = Database::<u64>::create(home.path().join("plain"), Options::new()).unwrap();
    let error = plain.writer().unwrap().insert_keyed(1, None, "a", b"").unwrap_err();
    assert!(error.to_string().ends_with("the database was made without keys"), "{error}");
    let keyed = Database::<u64>::create(home.path().join("keyed"), Options::new().keys(false)).unwrap();
    let mut writer = keyed.writer().unwrap();
    let error = writer.insert_keyed(1, None, "a", b"text").unwrap_err();
    assert!(error.to_string().ends_with("the database was made without texts"), "{error}");
    let error = writer.insert_keyed(1, None, &"a".repeat(65_537), b"").unwrap_err();
    assert!(matches!(error, Error::Option(_)), "{error}");
    // xxh3-64 of "a", as other implementations have it.
    assert_eq!(writer.insert_keyed(1, None, "a", b"").unwrap(), 0xe6c6_32b6_1e96_4e1f);
    let row = Row { fingerprint: 2, id: writer.insert(2, None).unwrap() };
    assert!(writer.keys_of(row).unwrap().is_empty(), "a row may be without a key");
    writer.close().unwrap();
}
