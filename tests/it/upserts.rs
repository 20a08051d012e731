//! Deletions and replacements of ids that runs store, or do not store.

use std::collections::BTreeMap;
use std::path::Path;

use nearprint::{Database, Error, Options, Row, Schema, Snapshot, Writer};
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

/// A missing bit would leave the old row of a replaced one alive.
#[test]
fn a_filter_that_lacks_an_id_is_damage() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    begin(&path).close().unwrap();
    let filter = |bytes: &[u8]| {
        let footer = bytes.len() - PAGE;
        let [at, len] = [0, 8].map(|field| {
            let place = footer + 96 + 4 * 16 + field;
            u64::from_le_bytes(bytes[place..place + 8].try_into().unwrap()) as usize
        });
        at..at + len
    };
    let forged = forge(&path, "00000001.rows", |bytes| {
        let range = filter(bytes);
        assert_eq!(range.len() as u64, (STORED * 10).div_ceil(256) * 32);
        bytes[range.start..range.start + 32].fill(0);
    });
    let database = Database::<u64>::open(&path).unwrap();
    let damage = database.verify().unwrap().damage;
    assert!(damage.len() == 1 && damage[0].section == "filter", "{damage:?}");
    drop(forged);
    let sound = std::fs::read(path.join("00000001.rows")).unwrap();
    let mut broken = sound.clone();
    broken[filter(&sound).start] ^= 1;
    std::fs::write(path.join("00000001.rows"), broken).unwrap();
    let database = Database::<u64>::open(&path).unwrap();
    let mut writer = database.writer().unwrap();
    let first = (0..200).find_map(|number| writer.delete(row(number).id).err());
    assert!(matches!(first, Some(Error::Corrupt(damage)) if damage.section == "filter"));
}
