//! Deletions and replacements of ids and keys that runs store, or do not store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use nearprint::{Database, Error, KeyStorage, NewRow, Options, Row, Schema, Snapshot, Writer};
use testkit::{Random, all_rows, folder_in_memory};

use crate::forge::forge;

/// Runs with fewer rows have no filter.
const STORED: u64 = 5000;
const PAGE: usize = 8192;

/// Ids far apart. Those below [`STORED`] are in the database at first.
fn row(number: u64) -> Row<u64> {
    let mut random = Random(number);
    Row { fingerprint: random.next(), id: random.next() }
}

/// A database of one run, and its writer. Merges are due only where everything is rewritten.
fn begin(path: &Path) -> Writer<u64> {
    let mut builder = Database::<u64>::build(path, &Schema::new()).unwrap();
    for number in 0..STORED {
        builder.push(row(number)).unwrap();
    }
    builder.finish().unwrap();
    let options = Options::new().memtable_rows(300).background_merges(false);
    options.open::<u64>(path).unwrap().writer().unwrap()
}

fn tombstones(snapshot: &Snapshot<u64>) -> u64 {
    snapshot.stats().tombstones
}

#[test]
fn ids_that_are_not_stored_are_replaced_and_deleted_without_tombstones() {
    let home = folder_in_memory();
    let mut writer = begin(&home.path().join("db"));
    for number in STORED..STORED + 200 {
        writer.upsert(row(number)).unwrap();
        writer.upsert(row(number)).unwrap();
        writer.delete(row(number + 100_000).id).unwrap();
    }
    writer.flush().unwrap();
    let of_new = tombstones(&writer.snapshot().unwrap());
    assert!((1..=210).contains(&of_new), "each id that was inserted twice has one: {of_new}");
    assert_eq!(all_rows(&writer.snapshot().unwrap()).len() as u64, STORED + 200);
    writer.compact().unwrap();

    for number in 200_000..200_200 {
        writer.upsert(row(number)).unwrap();
    }
    writer.flush().unwrap();
    assert!(tombstones(&writer.snapshot().unwrap()) < 20);
    for number in 0..100 {
        writer.upsert(Row { fingerprint: 7, ..row(number) }).unwrap();
        writer.delete(row(number + 1000).id).unwrap();
        writer.delete(row(number + 1000).id).unwrap();
    }
    writer.flush().unwrap();
    let snapshot = writer.snapshot().unwrap();
    assert!((200..220).contains(&tombstones(&snapshot)));
    assert_eq!(all_rows(&snapshot).len() as u64, STORED + 300);
    assert_eq!(snapshot.verify().unwrap().damage, []);
}

/// Against a model, with the log read again after each step.
#[test]
fn a_database_holds_what_was_inserted_replaced_and_deleted_last() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let mut writer = begin(&path);
    let mut random = Random(3);
    let mut model: BTreeMap<u64, u64> = (0..STORED).map(row).map(|row| (row.id, row.fingerprint)).collect();
    for round in 0..60 {
        for _ in 0..100 {
            let Row { id, .. } = row(random.below(STORED + 400) + STORED - 200);
            let fingerprint = random.next();
            match random.below(3) {
                0 => {
                    writer.delete(id).unwrap();
                    model.remove(&id);
                }
                _ => {
                    writer.upsert(Row { fingerprint, id }).unwrap();
                    model.insert(id, fingerprint);
                }
            }
        }
        match round % 10 {
            3 => writer.flush().unwrap(),
            5 => writer.compact().unwrap(),
            7 => writer.discard().unwrap(),
            _ => writer.commit().unwrap(),
        }
        if round % 10 == 7 {
            model =
                all_rows(&writer.snapshot().unwrap()).iter().map(|row| (row.id, row.fingerprint)).collect();
        }
        let rows = all_rows(&Database::<u64>::open(&path).unwrap().snapshot().unwrap());
        assert!(rows.len() == model.len() && rows.iter().all(|row| model[&row.id] == row.fingerprint));
        if round % 10 == 9 {
            drop(writer);
            writer = Options::new().memtable_rows(300).open(&path).unwrap().writer().unwrap();
        }
    }
}

/// The place of a section of a file.
fn section(bytes: &[u8], index: usize) -> Range<usize> {
    let footer = bytes.len() - PAGE;
    let [at, len] = [0, 8].map(|field| {
        let place = footer + 96 + index * 16 + field;
        u64::from_le_bytes(bytes[place..place + 8].try_into().unwrap()) as usize
    });
    at..at + len
}

/// A missing bit would leave the old row of a replaced one alive.
#[test]
fn a_filter_that_lacks_an_id_is_damage() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    begin(&path).close().unwrap();
    let filter = |bytes: &[u8]| section(bytes, 4);
    let forged = forge(&path, "00000001.rows", |bytes| {
        let range = filter(bytes);
        assert_eq!(range.len() as u64, (STORED * 10).div_ceil(256) * 32);
        bytes[range.start..range.start + 32].fill(0);
    });
    let database = Database::<u64>::open(&path).unwrap();
    let damage = database.verify().unwrap().damage;
    assert!(damage.len() == 1 && damage[0].section == "filter", "{damage:?}");
    drop(forged);
    let sound = fs::read(path.join("00000001.rows")).unwrap();
    let mut broken = sound.clone();
    broken[filter(&sound).start] ^= 1;
    fs::write(path.join("00000001.rows"), broken).unwrap();
    let database = Database::<u64>::open(&path).unwrap();
    let mut writer = database.writer().unwrap();
    let first = (0..200).find_map(|number| writer.delete(row(number).id).err());
    assert!(matches!(first, Some(Error::Corrupt(damage)) if damage.section == "filter"));
}

/// A database of keys `0`, `1`, … whose rows have the hashes of their keys as ids.
fn with_keys(path: &Path, keys: u64) -> Writer<u64> {
    let schema = Schema::new().keys(KeyStorage::Keys);
    let mut writer = Database::<u64>::create(path, &schema).unwrap().writer().unwrap();
    for number in 0..keys {
        writer.insert(NewRow::keyed(number << 40, &number.to_string())).unwrap();
    }
    writer.flush().unwrap();
    writer
}

/// Each deletion by key walked over all keys, and over all rows.
#[test]
fn regression_a_key_is_deleted_by_a_look_up() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let writer = with_keys(&path, 3000);
    let snapshot = writer.snapshot().unwrap();
    let mut keys: Vec<String> = (0..3000).map(|number| number.to_string()).collect();
    keys.sort_by_cached_key(|key| snapshot.ids_of_key(key).unwrap()[0]);
    drop(snapshot);
    writer.close().unwrap();
    // Whoever walks meets the last keys, or the ids of the first rows.
    for (name, place) in [("00000001.keys", 2), ("00000001.rows", 0)] {
        let mut bytes = fs::read(path.join(name)).unwrap();
        let range = section(&bytes, place);
        bytes[range.end - 1] ^= 1;
        fs::write(path.join(name), bytes).unwrap();
    }
    let mut writer = Database::<u64>::open(&path).unwrap().writer().unwrap();
    for key in &keys[..10] {
        assert_eq!(writer.delete_keys(&[key]).unwrap(), 1);
        assert_eq!(writer.delete_keys(&[key]).unwrap(), 0, "it was deleted");
    }
    let several: Vec<&str> = keys[5..20].iter().map(String::as_str).chain(["unknown"]).collect();
    assert_eq!(writer.delete_keys(&several).unwrap(), 10);
    assert!(matches!(writer.delete_keys(&[&keys[2999]]), Err(Error::Corrupt(_))));
}

#[test]
fn keys_with_other_ids_and_their_neighbours_are_found() {
    let home = folder_in_memory();
    let mut writer = with_keys(&home.path().join("db"), 100);
    let by_id = |key| NewRow { id: Some(7), ..NewRow::keyed(5u64, key) };
    for row in [by_id("given"), by_id("twin"), NewRow { id: Some(8), ..NewRow::keyed(5, "given") }] {
        writer.insert(row).unwrap();
    }
    writer.insert(Row { fingerprint: 6, id: 8 }).unwrap();
    assert_eq!(writer.delete_keys(&["given", "3", "unknown"]).unwrap(), 2, "the row of `twin` stays");
    assert_eq!(writer.delete_keys(&["given", "3"]).unwrap(), 0);
    writer.commit().unwrap();
    let snapshot = writer.snapshot().unwrap();
    let rows = all_rows(&snapshot);
    assert_eq!(rows.len(), 99 + 2);
    assert!(rows.contains(&Row { fingerprint: 5, id: 7 }) && rows.contains(&Row { fingerprint: 6, id: 8 }));
    assert_eq!(snapshot.ids_of_key_scan("twin").unwrap(), [7]);
    assert_eq!(snapshot.ids_of_key_scan("given").unwrap(), []);
}

/// Keys with the same 64-bit hash, and so the same id, and one with another.
const COLLIDING: [&str; 3] = ["d010467", "<9TnT4/w", "another"];

/// Against a model of the fingerprints of each key, with rows in runs, in sealed memtables and uncommitted.
#[test]
fn regression_a_key_is_not_replaced_by_another_one_with_its_hash() {
    for (seed, lifetime) in (0..8).map(|seed| (seed, seed % 2 == 1)) {
        let home = folder_in_memory();
        let options = Options::new().memtable_rows(12).background_merges(seed % 4 > 1);
        let schema = Schema::new().keys(KeyStorage::Keys);
        let schema = match lifetime {
            true => schema.expire_after(Duration::from_secs(86_400), None).unwrap(),
            false => schema,
        };
        let database = options.create::<u64>(home.path().join("db"), &schema).unwrap();
        let (mut writer, mut random) = (database.writer().unwrap(), Random(seed));
        let mut model: [BTreeSet<u64>; 3] = Default::default();
        let mut ids = [None; 3];
        for step in 0..250 {
            let (at, fingerprint) = (random.below(3) as usize, random.below(5));
            let row = NewRow::keyed(fingerprint, COLLIDING[at]);
            match random.below(8) {
                0..4 => {
                    ids[at] = Some(writer.upsert(row).unwrap());
                    model[at] = [fingerprint].into();
                }
                4 => {
                    ids[at] = Some(writer.insert(row).unwrap());
                    model[at].insert(fingerprint);
                }
                5 => {
                    writer.delete_keys(&[COLLIDING[at]]).unwrap();
                    model[at].clear();
                }
                6 => writer.commit().unwrap(),
                _ if random.below(4) == 0 => writer.flush().unwrap(),
                _ => {}
            }
            let snapshot = writer.snapshot().unwrap();
            let mut found: [BTreeSet<u64>; 3] = Default::default();
            for row in all_rows(&snapshot) {
                for key in snapshot.keys_of(row).unwrap() {
                    let at = COLLIDING.iter().position(|name| *name == key.key).unwrap();
                    found[at].insert(row.fingerprint);
                }
            }
            assert_eq!(found, model, "seed {seed}, step {step}, {}", COLLIDING[at]);
        }
        assert!(ids[0] == ids[1] && ids[1] != ids[2]);
        assert_eq!(writer.snapshot().unwrap().verify().unwrap().damage, []);
    }
}

#[test]
fn an_id_that_is_replaced_takes_its_keys_along() {
    let home = folder_in_memory();
    let schema = Schema::new().keys(KeyStorage::Keys);
    let mut writer = Database::<u64>::create(home.path().join("db"), &schema).unwrap().writer().unwrap();
    for (key, fingerprint) in [("a", 1), ("b", 2)] {
        let row = NewRow { key: Some(key), ..NewRow::from(Row { fingerprint, id: 7 }) };
        writer.upsert(row).unwrap();
    }
    assert_eq!(all_rows(&writer.snapshot().unwrap()), [Row { fingerprint: 2, id: 7 }]);
    assert_eq!(["a", "b"].map(|key| writer.delete_keys(&[key]).unwrap()), [0, 1]);
}

#[test]
fn a_checkpoint_and_a_history_take_at_most_1_mib() {
    const MOST: usize = 1 << 20;
    let home = folder_in_memory();
    let database = Database::<u64>::create(home.path().join("db"), &Schema::new()).unwrap();
    let mut writer = database.writer().unwrap();
    let most = vec![7; MOST];
    writer.set_checkpoint(&most).and_then(|()| writer.set_history(&most)).unwrap();
    for len in [MOST + 1, MOST + 2] {
        let more = vec![8; len];
        assert!(matches!(writer.set_checkpoint(&more), Err(Error::Limit(_))));
        assert!(matches!(writer.set_history(&more), Err(Error::Limit(_))));
    }
    assert_eq!((writer.checkpoint(), writer.history()), (Some(&*most), Some(&*most)));
    writer.commit().unwrap();
}
