//! Databases with keys, against a model in memory: writers, bulk loads, ingestion, repair,
//! checkpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use nearprint::{
    Builder, Database, Error, FindingKind, Fingerprint, KeyStorage, NewRow, Options, Row, RowKey, Schema,
    Snapshot,
};
use testkit::{Random, all_rows, folder_in_memory, for_each_width, low, short_or_full};

for_each_width!(
    keys_come_and_go_with_their_rows,
    a_bulk_load_sorts_keys_with_little_memory,
    runs_with_keys_are_ingested_by_databases_of_the_same_schema,
    a_repair_saves_keys_and_the_rows_that_only_keys_name,
    a_checkpoint_is_as_durable_as_the_rows_before_it,
    a_history_is_as_durable_as_the_rows_before_it,
    a_snapshot_that_reads_on_equals_one_that_reads_everything,
    regression_hashes_of_texts_belong_to_the_schema,
    regression_keys_of_others_are_not_deleted_with_those_of_a_job,
    regression_a_key_that_others_insert_again_is_not_deleted_with_those_of_a_job,
    keys_and_texts_need_a_database_that_stores_them,
);

/// By row and key: the sequence number and the text.
type Model<F> = BTreeMap<(Row<F>, String), (u64, Vec<u8>)>;

fn schema() -> Schema {
    Schema::new().keys(KeyStorage::KeysAndTexts).recipe("some recipe")
}

fn options() -> Options {
    Options::new().memtable_rows(60).threads(2).background_merges(false)
}

/// Rows that are often the same, ids that are often shared, keys and texts of all lengths.
fn some_row<F: Fingerprint>(random: &mut Random) -> (F, Option<u64>, String, Vec<u8>) {
    let fingerprint = low(random.below(40) << 7 | random.below(2));
    let key = match random.below(30) {
        0 => String::new(),
        1 => "long ".repeat(2000 + random.below(9000) as usize),
        _ => format!("key {}", random.below(80)),
    };
    let id = (random.below(3) == 0).then(|| random.below(20));
    let text = vec![b'x'; if random.below(20) == 0 { 30_000 } else { random.below(40) as usize }];
    (fingerprint, id, key, text)
}

fn keys_of<F: Fingerprint>(snapshot: &Snapshot<F>) -> Model<F> {
    let of_row = |row: &Row<F>| {
        let keys = snapshot.keys_of(*row).unwrap();
        assert!(!keys.is_empty() && keys.is_sorted(), "{row:?}");
        keys.into_iter()
            .map(|RowKey { key, sequence, text, .. }| ((*row, key), (sequence, text)))
            .collect::<Vec<_>>()
    };
    all_rows(snapshot).iter().flat_map(of_row).collect()
}

fn check<F: Fingerprint>(path: &Path, model: &Model<F>) -> Snapshot<F> {
    let database = Database::<F>::open(path).unwrap();
    let snapshot = database.snapshot().unwrap();
    let found = keys_of(&snapshot);
    assert_eq!(found.len(), model.len());
    assert!(found == *model);
    assert_eq!(database.verify().unwrap().damage, []);
    let ids: BTreeSet<u64> = model.keys().filter(|(_, key)| key == "key 7").map(|(row, _)| row.id).collect();
    assert!(snapshot.ids_of_key_scan("key 7").unwrap().iter().eq(&ids));
    // Other ids were given; they are small.
    let of_hash = ids.iter().filter(|&&id| id == id_of_key("key 7"));
    assert!(snapshot.ids_of_key("key 7").unwrap().iter().eq(of_hash));
    assert_eq!(snapshot.recipe(), Some("some recipe"));
    assert_eq!(snapshot.key_storage(), KeyStorage::KeysAndTexts);
    snapshot
}

fn keys_come_and_go_with_their_rows<F: Fingerprint>() {
    for seed in 0..short_or_full(2, 5) {
        let home = folder_in_memory();
        let path = home.path().join("db");
        let database = options().create::<F>(&path, &schema()).unwrap();
        let mut random = Random(seed);
        let mut model = Model::<F>::new();
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
                    // Uncommitted rows are gone, and so are their sequence numbers.
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
                    let id = writer
                        .insert(NewRow { id, text: &text, ..NewRow::keyed(fingerprint, &key) })
                        .unwrap();
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

fn load<F: Fingerprint>(mut builder: Builder<F>, seed: u64, rows: usize) -> Model<F> {
    let mut random = Random(seed);
    let mut model = Model::<F>::new();
    for sequence in 0..rows as u64 {
        let (fingerprint, id, key, text) = some_row(&mut random);
        let id = builder.push(NewRow { id, text: &text, ..NewRow::keyed(fingerprint, &key) }).unwrap();
        model.entry((Row { fingerprint, id }, key)).or_insert((sequence, text));
    }
    builder.finish().unwrap();
    model
}

fn a_bulk_load_sorts_keys_with_little_memory<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    for (name, memory) in [("little", 1 << 20), ("much", 1 << 28)] {
        let path = home.path().join(name);
        let builder = options().memory_bytes(memory).build::<F>(&path, &schema()).unwrap();
        let model = load(builder, 3, short_or_full(8_000, 20_000));
        check(&path, &model);
        let names: Vec<_> = std::fs::read_dir(&path).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert!(!names.iter().any(|name| name.to_string_lossy().starts_with("spill")), "{names:?}");
    }
}

fn runs_with_keys_are_ingested_by_databases_of_the_same_schema<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let mut model = load(options().build::<F>(&path, &schema()).unwrap(), 1, 500);
    let runs = home.path().join("runs");
    let more = load(options().build::<F>(&runs, &schema()).unwrap().runs_only(), 2, 500);
    let plain = home.path().join("plain");
    Database::<F>::create(&plain, &Schema::new()).unwrap();
    let error = Database::<F>::open(&plain).unwrap().writer().unwrap().ingest(&[&runs]).unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    assert!(error.to_string().contains("keys and texts, recipe some recipe"), "{error}");
    let other = home.path().join("other");
    Database::<F>::create(&other, &schema().recipe("another")).unwrap();
    let error = Database::<F>::open(&other).unwrap().writer().unwrap().ingest(&[&runs]).unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");

    let mut writer = Database::<F>::open(&path).unwrap().writer().unwrap();
    let next = writer.next_sequence();
    writer.ingest(&[&runs]).unwrap();
    writer.compact().unwrap();
    writer.close().unwrap();
    for (place, (sequence, text)) in more {
        model.entry(place).or_insert((next + sequence, text));
    }
    check(&path, &model);
}

fn a_repair_saves_keys_and_the_rows_that_only_keys_name<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let model = load(options().build::<F>(&path, &schema()).unwrap(), 5, 3000);
    let whole = home.path().join("whole");
    let report = Options::new().repair::<F>(&path, &whole, &Schema::new()).unwrap();
    assert!(report.made && report.is_complete(), "{:?}", report.findings);
    check(&whole, &model);

    let file = |suffix: &str| {
        let names = std::fs::read_dir(&path).unwrap().map(|file| file.unwrap().path());
        names.into_iter().find(|path| path.to_string_lossy().ends_with(suffix)).unwrap()
    };
    // Without its rows file, a run has the rows that have keys, which are all of them.
    let rows = std::fs::read(file(".rows")).unwrap();
    std::fs::remove_file(file(".rows")).unwrap();
    let by_keys = home.path().join("by keys");
    let name = format!("{:08}.rows", 1);
    let report = Options::new().repair::<F>(&path, &by_keys, &Schema::new()).unwrap();
    assert!(report.made && report.is_complete(), "{:?}", report.findings);
    assert!(report.findings.iter().any(|finding| finding.kind == FindingKind::Recovered));
    check(&by_keys, &model);
    std::fs::write(path.join(name), rows).unwrap();

    // A footer that cannot be read, and a page of records.
    let keys = file(".keys");
    let sound = std::fs::read(&keys).unwrap();
    let mut damaged = sound.clone();
    let last = damaged.len() - 100;
    damaged[last] ^= 1;
    std::fs::write(&keys, &damaged).unwrap();
    let report = Options::new().repair::<F>(&path, home.path().join("no footer"), &Schema::new()).unwrap();
    assert!(report.is_complete(), "{:?}", report.findings);
    check(&home.path().join("no footer"), &model);
    let mut damaged = sound;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&keys, &damaged).unwrap();
    let found = Database::<F>::open(&path).unwrap().verify().unwrap().damage;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].section, "records");
    let to = home.path().join("no page");
    let report = Options::new().repair::<F>(&path, &to, &Schema::new()).unwrap();
    assert!(report.made && !report.is_complete());
    let saved = Database::<F>::open(&to).unwrap().snapshot().unwrap();
    assert_eq!(saved.stats().rows, model.keys().map(|(row, _)| row).collect::<BTreeSet<_>>().len() as u64);
}

fn a_checkpoint_is_as_durable_as_the_rows_before_it<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let database = options().create::<F>(&path, &schema()).unwrap();
    let mut writer = database.writer().unwrap();
    assert_eq!(writer.checkpoint(), None);
    for round in 0..200u64 {
        writer.insert(NewRow::keyed(low::<F>(round), &format!("{round}"))).unwrap();
        writer.set_checkpoint(&round.to_le_bytes()).unwrap();
        writer.commit().unwrap();
        writer.insert(NewRow::keyed(low::<F>(u64::MAX), "never committed")).unwrap();
        writer.set_checkpoint(b"never committed").unwrap();
        if round % 7 == 0 {
            drop(writer);
            writer = database.writer().unwrap();
        } else if round % 11 == 0 {
            writer.set_checkpoint(&round.to_le_bytes()).unwrap();
            writer.delete(id_of_key("never committed")).unwrap();
            writer.compact().unwrap();
        } else {
            writer.set_checkpoint(&round.to_le_bytes()).unwrap();
            writer.delete(id_of_key("never committed")).unwrap();
        }
        assert_eq!(writer.checkpoint(), Some(&round.to_le_bytes()[..]));
    }
    writer.set_checkpoint(b"").unwrap();
    writer.close().unwrap();
    let writer = database.writer().unwrap();
    assert_eq!(writer.checkpoint(), None);
    assert_eq!(database.snapshot().unwrap().stats().rows, 200);
}

/// Readers that refresh after every few commits, and one after each flush: rows, keys and notes.
fn a_snapshot_that_reads_on_equals_one_that_reads_everything<F: Fingerprint>() {
    let home = folder_in_memory();
    let database = options().memtable_rows(300).create::<F>(home.path().join("db"), &schema());
    let database = database.unwrap();
    let mut random = Random(11);
    let mut writer = database.writer().unwrap();
    let mut readers: Vec<Snapshot<F>> = (0..3).map(|_| database.snapshot().unwrap()).collect();
    for step in 0..short_or_full(500, 2000) {
        for _ in 0..random.below(4) {
            match random.below(8) {
                0..3 => writer.delete(random.below(20)).unwrap(),
                3 => writer.set_checkpoint(&vec![b'c'; random.below(50) as usize]).unwrap(),
                4 => writer.set_history(&vec![b'h'; random.below(50) as usize]).unwrap(),
                _ => {
                    let (fingerprint, id, key, text) = some_row(&mut random);
                    writer.insert(NewRow { id, text: &text, ..NewRow::keyed(fingerprint, &key) }).unwrap();
                }
            }
        }
        writer.commit().unwrap();
        let due = [true, step % 7 == 0, random.below(60) == 0];
        let fresh = database.snapshot().unwrap();
        for (reader, _) in readers.iter_mut().zip(due).filter(|(_, is_due)| *is_due) {
            *reader = reader.refresh().unwrap();
            assert!(keys_of(reader) == keys_of(&fresh), "step {step}");
            assert_eq!((reader.checkpoint(), reader.history()), (fresh.checkpoint(), fresh.history()));
            assert_eq!(reader.stats().largest_id, fresh.stats().largest_id);
            assert!(reader.stats().runs.len() <= fresh.stats().runs.len() + 5, "few runs in memory");
            let query = low(random.below(40) << 7);
            assert_eq!(reader.query(query, 2).unwrap(), fresh.query(query, 2).unwrap());
        }
    }
    let copy = home.path().join("copy");
    readers[0].backup(&copy).unwrap();
    let copied = Database::<F>::open(&copy).unwrap();
    assert_eq!(copied.verify().unwrap().damage, []);
    assert!(keys_of(&copied.snapshot().unwrap()) == keys_of(&readers[0]));
}

/// The history survives flushes, merges, backups and repairs, and no commit of a checkpoint repeats
/// it.
fn a_history_is_as_durable_as_the_rows_before_it<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let database = options().create::<F>(&path, &schema()).unwrap();
    let history = vec![7u8; 1 << 20];
    let mut writer = database.writer().unwrap();
    assert_eq!(writer.history(), None);
    assert!(matches!(writer.set_history(&[0; (1 << 20) + 1]), Err(Error::Limit(_))));
    writer.set_history(b"never committed").unwrap();
    drop(writer);
    let mut writer = database.writer().unwrap();
    assert_eq!(writer.history(), None);
    writer.set_history(&history).unwrap();
    assert_eq!(writer.history(), Some(&history[..]));
    writer.insert(NewRow::keyed(low::<F>(1), "1")).unwrap();
    writer.commit().unwrap();
    let log_bytes = || std::fs::metadata(path.join("wal-00000001.log")).unwrap().len();
    let before = log_bytes();
    for round in 0..10u8 {
        writer.set_checkpoint(&[round]).unwrap();
        writer.commit().unwrap();
    }
    assert_eq!(log_bytes() - before, 10 * 48, "a frame of a checkpoint is small");
    assert_eq!(database.snapshot().unwrap().history(), Some(&history[..]), "from the log");
    drop(writer);
    let mut writer = database.writer().unwrap();
    assert_eq!(writer.history(), Some(&history[..]), "recovered into the manifest");
    writer.insert(NewRow::keyed(low::<F>(2), "2")).unwrap();
    writer.flush().unwrap();
    writer.compact().unwrap();
    writer.close().unwrap();
    for name in ["backup", "repaired"] {
        let copy = home.path().join(name);
        match name {
            "backup" => database.snapshot().unwrap().backup(&copy).unwrap(),
            _ => assert!(Options::new().repair::<F>(&path, &copy, &Schema::new()).unwrap().made),
        }
        let copied = Database::<F>::open(&copy).unwrap().snapshot().unwrap();
        assert_eq!((copied.history(), copied.checkpoint()), (Some(&history[..]), Some(&[9][..])), "{name}");
    }
    let mut writer = database.writer().unwrap();
    writer.set_history(b"").unwrap();
    writer.commit().unwrap();
    assert_eq!(database.snapshot().unwrap().history(), None);
    writer.close().unwrap();
    assert_eq!(database.writer().unwrap().history(), None);
    assert_eq!(database.verify().unwrap().damage, []);
}

/// A prefix of the checkpoint said that a database stores hashes: whoever set a checkpoint made it
/// one of texts.
fn regression_hashes_of_texts_belong_to_the_schema<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let schema = Schema::new().keys(KeyStorage::KeysAndHashes);
    let database = Database::<F>::create(&path, &schema).unwrap();
    let mut writer = database.writer().unwrap();
    writer.insert(NewRow { text: &[3; 32], ..NewRow::keyed(low::<F>(1), "a") }).unwrap();
    let error = writer.insert(NewRow { text: &[3; 33], ..NewRow::keyed(low::<F>(1), "b") }).unwrap_err();
    assert!(matches!(error, Error::NotAHash { len_bytes: 33, .. }), "{error}");
    assert!(error.to_string().ends_with("the database stores hashes of texts, not texts"), "{error}");
    writer.set_checkpoint(b"").unwrap();
    writer.close().unwrap();
    database.snapshot().unwrap().backup(home.path().join("backup")).unwrap();
    Options::new().repair::<F>(&path, home.path().join("repaired"), &Schema::new()).unwrap();
    for name in ["db", "backup", "repaired"] {
        let snapshot = Database::<F>::open(home.path().join(name)).unwrap().snapshot().unwrap();
        let keys = snapshot.key_storage();
        assert_eq!((keys, snapshot.stats().keys), (KeyStorage::KeysAndHashes, KeyStorage::KeysAndHashes));
        assert_eq!((keys.has_keys(), keys.has_values(), keys.has_texts()), (true, true, false), "{name}");
        assert_eq!(snapshot.keys_of(all_rows(&snapshot)[0]).unwrap()[0].text, [3; 32], "{name}");
    }
    let runs = home.path().join("runs");
    let schema = Schema::new().keys(KeyStorage::KeysAndTexts);
    Database::<F>::build(&runs, &schema).unwrap().runs_only().finish().unwrap();
    let error = database.writer().unwrap().ingest(&[&runs]).unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    assert!(error.to_string().contains("keys and hashes"), "{error}");
}

/// To restart a job deleted every key since its first one.
fn regression_keys_of_others_are_not_deleted_with_those_of_a_job<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    for compacts in [false, true] {
        let path = home.path().join(format!("{compacts}"));
        let database = options().create::<F>(&path, &schema()).unwrap();
        let mut writer = database.writer().unwrap();
        let insert = |writer: &mut nearprint::Writer<F>, owner: &str, count: u64| {
            let first = writer.next_sequence();
            for i in first..first + count {
                writer.insert(NewRow::keyed(low::<F>(i << 7), &format!("{owner} {i}"))).unwrap();
            }
            writer.commit().unwrap();
            first..writer.next_sequence()
        };
        let before = insert(&mut writer, "other", 3);
        let first = insert(&mut writer, "job", 30);
        let between = insert(&mut writer, "other", 40);
        let second = insert(&mut writer, "job", 50);
        let after = insert(&mut writer, "other", 6);
        // A key of the job and one of another on the same row: the row stays.
        let shared = low::<F>(first.start << 7);
        let id = id_of_key(&format!("job {}", first.start));
        writer.insert(NewRow { id: Some(id), ..NewRow::keyed(shared, "other, the same row") }).unwrap();
        if compacts {
            writer.compact().unwrap();
        }
        writer.delete_keys_between(&[]).unwrap();
        writer.delete_keys_between(&[7..7, 0..0]).unwrap();
        writer.delete_keys_between(&[first, second]).unwrap();
        writer.close().unwrap();
        let left = keys_of(&database.snapshot().unwrap());
        assert!(left.keys().all(|(_, key)| key.starts_with("other")), "{:?}", left.keys());
        let sequences: BTreeSet<u64> = left.values().map(|(sequence, _)| *sequence).collect();
        let shared = left.iter().find(|((_, key), _)| key == "other, the same row").unwrap().1.0;
        let expected: BTreeSet<u64> = before.chain(between).chain(after).chain([shared]).collect();
        assert_eq!(sequences, expected);
        assert_eq!(left.len(), expected.len());
    }
}

/// A key has one record for all its insertions. It had the number of the first one only, so that a
/// job that was restarted deleted what another writer had stored since.
fn regression_a_key_that_others_insert_again_is_not_deleted_with_those_of_a_job<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    for compacts in [false, true] {
        for (turn, order) in [["job", "other"], ["other", "job"], ["job", "job"]].into_iter().enumerate() {
            let path = home.path().join(format!("{compacts}{turn}"));
            let database = options().create::<F>(&path, &schema()).unwrap();
            let mut writer = database.writer().unwrap();
            let mut of_job = Vec::new();
            for owner in order {
                let first = writer.next_sequence();
                writer
                    .insert(NewRow { text: owner.as_bytes(), ..NewRow::keyed(low::<F>(1), "both") })
                    .unwrap();
                writer.insert(NewRow::keyed(low::<F>(2), owner)).unwrap();
                if owner == "job" {
                    of_job.push(first..writer.next_sequence());
                }
                // In a run of its own, or together with the next one.
                writer.flush().unwrap();
                if compacts {
                    writer.compact().unwrap();
                }
            }
            writer.delete_keys_between(&of_job).unwrap();
            writer.close().unwrap();
            let left = keys_of(&database.snapshot().unwrap());
            let left: Vec<&str> = left.keys().map(|(_, key)| &key[..]).collect();
            let expected: &[&str] = if turn < 2 { &["both", "other"] } else { &[] };
            assert_eq!(left, expected, "{order:?}, compacted: {compacts}");
        }
    }
}

/// The id of a row that comes with a key only.
fn id_of_key(key: &str) -> u64 {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let mut builder = Database::<u64>::build(&path, &Schema::new().keys(KeyStorage::Keys)).unwrap();
    let id = builder.push(NewRow::keyed(1, key)).unwrap();
    drop(builder);
    id
}

fn keys_and_texts_need_a_database_that_stores_them<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let plain = Database::<F>::create(home.path().join("plain"), &Schema::new()).unwrap();
    let error = plain.writer().unwrap().insert(NewRow::keyed(low::<F>(1), "a")).unwrap_err();
    assert!(matches!(error, Error::KeysNotStored { .. }), "{error}");
    assert!(error.to_string().ends_with("the database was made without keys"), "{error}");
    let mut writer = plain.writer().unwrap();
    for deleted in [writer.delete_keys(&["a"]), writer.delete_keys(&[]), writer.delete_key_prefix("")] {
        assert!(matches!(deleted, Err(Error::KeysNotStored { .. })), "{deleted:?}");
    }
    assert!(plain.snapshot().unwrap().ids_of_key("a").unwrap().is_empty());
    let keyed =
        Database::<F>::create(home.path().join("keyed"), &Schema::new().keys(KeyStorage::Keys)).unwrap();
    let mut writer = keyed.writer().unwrap();
    let error = writer.insert(NewRow { text: b"text", ..NewRow::keyed(low::<F>(1), "a") }).unwrap_err();
    assert!(matches!(error, Error::TextsNotStored { .. }), "{error}");
    assert!(error.to_string().ends_with("the database was made without texts"), "{error}");
    let error = writer.insert(NewRow { text: b"text", ..low::<F>(1).into() }).unwrap_err();
    assert!(matches!(error, Error::TextWithoutKey { .. }), "{error}");
    let error = writer.insert(NewRow::keyed(low::<F>(1), &"a".repeat(65_537))).unwrap_err();
    assert!(matches!(error, Error::KeyTooLong { len_bytes: 65_537, .. }), "{error}");
    // xxh3-64 of "a", as other implementations have it.
    assert_eq!(writer.insert(NewRow::keyed(low::<F>(1), "a")).unwrap(), 0xe6c6_32b6_1e96_4e1f);
    let row = Row { fingerprint: low::<F>(2), id: writer.insert(low::<F>(2)).unwrap() };
    assert!(writer.keys_of(row).unwrap().is_empty(), "a row may be without a key");
    writer.close().unwrap();
}
