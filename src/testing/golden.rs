//! Compares the code with FORMAT.md and with the golden databases.
//!
//! To write the golden files of a new format version: `NEARPRINT_WRITE_GOLDEN=1 cargo test golden`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::format::{VERSION, filter, identities, keys, manifest, paged, postings, segment, tombstones, wal};
use crate::layout::{BandLayout, Layout, MAX_TABLES, bands, cost};
use crate::log::manifest as log;
use crate::testing::simulated::SimulatedDisk;
use crate::util::time::Time;
use crate::{
    Database, Error, Fingerprint, KeyStorage, LeftOutRows, NewRow, Options, Remember, Row, Schema, U256,
    U320, Writer,
};

/// A golden database: name, layout, rows.
type Golden<F> = (&'static str, &'static str, Vec<Row<F>>);

fn mixed(count: u64, id: fn(u64) -> u64) -> Vec<Row<u64>> {
    let value = |i: u64| crate::fingerprint::mix64(i % (count / 3 * 2)) >> (i % 2 * 3);
    (0..count).map(|i| Row { fingerprint: value(i), id: id(i) }).collect()
}

/// Rows of wider fingerprints; some share their first 64 bits.
fn widened<F: Fingerprint>() -> Vec<Row<F>> {
    let word = |value: u64, word: u32| {
        F::from_bits(crate::fingerprint::mix64(value + u64::from(word)), word * 64, 64)
    };
    let widen = |Row { fingerprint, id }: Row<u64>| {
        let first = F::from_bits(fingerprint, 0, 64);
        let fingerprint = (1..F::BITS / 64).fold(first, |value, at| value | word(id % 97, at));
        Row { fingerprint, id }
    };
    mixed(600, |i| i + 7).into_iter().map(widen).collect()
}

fn golden_128() -> Vec<Golden<u128>> {
    vec![("bits-128", "rotations:4", widened()), ("bands-128", "bands:4x16", widened())]
}

fn golden_256() -> Vec<Golden<U256>> {
    let one = U256::from_words([0x89ab_cdef_0123_4567, 3, 2, 0x0123_4567_89ab_cdef]);
    vec![
        ("bits-256", "rotations:3", widened()),
        ("bands-256", "bands:6x20", widened()),
        ("one-wide-row", "rotations:2", vec![Row { fingerprint: one, id: 42 }]),
    ]
}

fn golden_320() -> Vec<Golden<U320>> {
    vec![("bands-320", "bands:10x22", widened())]
}

fn golden() -> Vec<Golden<u64>> {
    vec![
        ("empty", "auto", vec![]),
        ("empty-fast", "fast", vec![]),
        ("empty-small", "small", vec![]),
        ("one-row", "rotations:1", vec![Row { fingerprint: 0x0123_4567_89ab_cdef, id: 42 }]),
        ("repeated", "rotations:3", mixed(5000, |i| i + 1_000_000)),
        ("wide-ids", "blocks:5,2", mixed(60, |i| i << 58)),
        ("filtered", "rotations:1", mixed(4200, |i| i * 1000)),
    ]
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1").join(name)
}

fn write<F: Fingerprint>(path: &Path, layout: &str, rows: &[Row<F>]) {
    crate::util::random::fixed::fix_ids();
    let schema = Schema::new().layout(layout.parse().unwrap());
    let mut builder = Database::<F>::build(path, &schema).unwrap();
    for row in rows {
        builder.push(*row).unwrap();
    }
    builder.finish().unwrap();
    fs::remove_file(path.join("LOCK")).unwrap();
}

/// The writer of a new database.
fn writer<F: Fingerprint>(path: &Path, schema: Schema) -> Writer<F> {
    let options = Options::new().background_merges(false);
    options.create(path, &schema).unwrap().writer().unwrap()
}

/// Databases made by a writer. `living` has two runs, the younger one with tombstones, and
/// automatic ids. `unflushed` is the state after the end of the process: a run and a log.
fn write_living(path: &Path, flushes: bool) {
    crate::util::random::fixed::fix_ids();
    let schema = Schema::new().layout("rotations:2".parse().unwrap());
    let mut writer = writer::<u64>(path, schema);
    for i in 0..100 {
        writer
            .insert(NewRow {
                id: (i % 2 == 0).then_some(1000 + i),
                ..NewRow::from(crate::fingerprint::mix64(i))
            })
            .unwrap();
    }
    writer.flush().unwrap();
    writer.delete(1002).unwrap();
    writer.insert(7).unwrap();
    writer.upsert(Row { fingerprint: 8, id: 1004 }).unwrap();
    writer.commit().unwrap();
    writer.delete(1006).unwrap();
    writer.commit().unwrap();
    if flushes {
        writer.close().unwrap();
    } else {
        drop(writer);
    }
    fs::remove_file(path.join("LOCK")).unwrap();
}

fn living_rows() -> Vec<Row<u64>> {
    // Every other id is given, and each automatic id follows the previous one.
    let kept = (0..100).map(|i| Row { fingerprint: crate::fingerprint::mix64(i), id: 1000 + i });
    let mut rows: Vec<Row<u64>> = kept.filter(|row| ![1002, 1004, 1006].contains(&row.id)).collect();
    rows.extend([Row { fingerprint: 7, id: 1100 }, Row { fingerprint: 8, id: 1004 }]);
    rows.sort_unstable();
    rows
}

#[test]
fn golden_databases_with_tombstones_and_with_a_log_are_read_and_rewritten() {
    for (name, flushes) in [("living", true), ("unflushed", false)] {
        if std::env::var_os("NEARPRINT_WRITE_GOLDEN").is_some() {
            let _ = fs::remove_dir_all(folder(name));
            write_living(&folder(name), flushes);
        }
        let home = tempfile::tempdir().unwrap();
        let again = home.path().join(name);
        write_living(&again, flushes);
        assert!(files(&again) == files(&folder(name)), "{name} is no longer written as it was");
        let snapshot = Database::<u64>::open(folder(name)).unwrap().snapshot().unwrap();
        assert_eq!(snapshot.all_rows(), living_rows());
        assert_eq!(snapshot.verify().unwrap().damage, []);
        assert_eq!(snapshot.stats().largest_id, Some(1100));
    }
}

/// `following` has the files of `living`, and two that say nothing about rows.
#[test]
fn a_golden_database_that_follows_another_one_is_read_and_has_no_writer() {
    let golden = files(&folder("following"));
    let home = tempfile::tempdir().unwrap();
    golden.iter().for_each(|(name, bytes)| fs::write(home.path().join(name), bytes).unwrap());
    let database = Database::<u64>::open(home.path()).unwrap();
    assert_eq!(database.snapshot().unwrap().all_rows(), living_rows());
    assert_eq!(database.verify().unwrap().damage, []);
    assert!(matches!(database.writer(), Err(Error::Follower { .. })));
    fs::remove_file(home.path().join("FOLLOWER")).unwrap();
    let mut writer = database.writer().unwrap();
    writer.insert(9).unwrap();
    writer.close().unwrap();
    assert_eq!(fs::read(home.path().join("RESERVE")).unwrap(), golden["RESERVE"]);
    assert_eq!(database.snapshot().unwrap().all_rows().len(), living_rows().len() + 1);
}

/// A database in the middle of a flush: a sealed log, and a live one.
fn write_sealed(path: &Path) {
    crate::util::random::fixed::fix_ids();
    let options = Options::new().background_merges(false).memtable_rows(4).deferred_flushes();
    let schema = Schema::new().layout("rotations:1".parse().unwrap());
    let mut writer = options.create::<u64>(path, &schema).unwrap().writer().unwrap();
    for id in 0..6 {
        writer.insert(Row { fingerprint: crate::fingerprint::mix64(id), id }).unwrap();
        writer.commit().unwrap();
    }
    writer.delete(2).unwrap();
    writer.commit().unwrap();
    drop(writer);
    fs::remove_file(path.join("LOCK")).unwrap();
}

#[test]
fn a_golden_database_in_the_middle_of_a_flush_is_read_and_recovered() {
    let golden = folder("sealed");
    if std::env::var_os("NEARPRINT_WRITE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(&golden);
        write_sealed(&golden);
    }
    let home = tempfile::tempdir().unwrap();
    let again = home.path().join("again");
    write_sealed(&again);
    assert!(files(&again) == files(&golden), "it is no longer written as it was");
    let rows = |path: &Path| Database::<u64>::open(path).unwrap().snapshot().unwrap().all_rows();
    let mut expected: Vec<Row<u64>> =
        [0, 1, 3, 4, 5].map(|id| Row { fingerprint: crate::fingerprint::mix64(id), id }).into();
    expected.sort_unstable();
    assert_eq!(rows(&golden), expected);
    assert_eq!(Database::<u64>::open(&golden).unwrap().verify().unwrap().damage, []);
    Database::<u64>::open(&again).unwrap().writer().unwrap().close().unwrap();
    assert_eq!(rows(&again), expected);
    // The log that was sealed is whole, or damaged: a frame that is gone was durable.
    let log = golden.join("wal-00000001.log");
    let home = tempfile::tempdir().unwrap();
    for file in fs::read_dir(&golden).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), home.path().join(file.file_name())).unwrap();
    }
    let len_bytes = fs::metadata(log).unwrap().len();
    let copy = fs::OpenOptions::new().write(true).open(home.path().join("wal-00000001.log")).unwrap();
    copy.set_len(len_bytes - 8).unwrap();
    let database = Database::<u64>::open(home.path()).unwrap();
    assert!(matches!(database.snapshot(), Err(Error::Corrupt(_))));
    assert_eq!(database.verify().unwrap().damage.len(), 1);
}

/// A database with keys and texts: a run, a younger run with tombstones, a history, and a log with
/// a checkpoint.
fn write_keyed(path: &Path) {
    crate::util::random::fixed::fix_ids();
    let schema = Schema::new().layout("rotations:1".parse().unwrap());
    let mut writer = writer::<u64>(path, schema.keys(KeyStorage::KeysAndTexts).recipe("a recipe"));
    for i in 0..20usize {
        let text = "text ".repeat(i);
        writer
            .insert(NewRow {
                text: text.as_bytes(),
                ..NewRow::keyed(crate::fingerprint::mix64(i as u64 / 2), &format!("key {i}"))
            })
            .unwrap();
    }
    writer.flush().unwrap();
    writer.delete(keys::hash_key(b"key 3")).unwrap();
    writer.insert(NewRow { id: Some(6), text: b"other", ..NewRow::keyed(5, "key 3") }).unwrap();
    writer.insert(NewRow { id: Some(6), ..NewRow::keyed(5, "key 4") }).unwrap();
    writer.set_checkpoint(b"half way").unwrap();
    writer.set_history(b"one job").unwrap();
    writer.flush().unwrap();
    writer.insert(NewRow { id: Some(10), text: b"1234567", ..NewRow::keyed(9, "in the log") }).unwrap();
    writer.set_checkpoint(b"further").unwrap();
    writer.commit().unwrap();
    drop(writer);
    fs::remove_file(path.join("LOCK")).unwrap();
}

#[test]
fn a_golden_database_with_keys_is_read_and_rewritten() {
    if std::env::var_os("NEARPRINT_WRITE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(folder("keyed"));
        write_keyed(&folder("keyed"));
    }
    let home = tempfile::tempdir().unwrap();
    let again = home.path().join("keyed");
    write_keyed(&again);
    assert!(files(&again) == files(&folder("keyed")), "no longer written as it was");
    let snapshot = Database::<u64>::open(folder("keyed")).unwrap().snapshot().unwrap();
    assert_eq!(snapshot.verify().unwrap().damage, []);
    let rows = snapshot.all_rows();
    assert_eq!(rows.len(), 21);
    let keys: Vec<String> =
        rows.iter().flat_map(|&row| snapshot.keys_of(row).unwrap()).map(|key| key.key).collect();
    assert_eq!(keys.len(), 22);
    let of_five = snapshot.keys_of(Row { fingerprint: 5, id: 6 }).unwrap();
    let found: Vec<_> = of_five.iter().map(|key| (key.key.as_str(), key.sequence, &key.text[..])).collect();
    assert_eq!(found, [("key 3", 20, &b"other"[..]), ("key 4", 21, b"")]);
    assert_eq!(snapshot.recipe(), Some("a recipe"));
    assert_eq!(snapshot.history(), Some(&b"one job"[..]));
    let writer = Database::<u64>::open(&again).unwrap().writer().unwrap();
    assert_eq!(writer.checkpoint(), Some(&b"further"[..]));
}

/// A log with a checkpoint and a history, in a database with keys and hashes of texts.
fn write_hashes(path: &Path) {
    crate::util::random::fixed::fix_ids();
    let schema = Schema::new().layout("rotations:1".parse().unwrap()).keys(KeyStorage::KeysAndHashes);
    let mut writer = writer::<u64>(path, schema);
    writer
        .insert(NewRow {
            id: Some(42),
            text: b"17 bytes of hash.",
            ..NewRow::keyed(0x0123_4567_89ab_cdef, "a")
        })
        .unwrap();
    writer.set_checkpoint(b"half way").unwrap();
    writer.set_history(b"two jobs").unwrap();
    writer.commit().unwrap();
    drop(writer);
    fs::remove_file(path.join("LOCK")).unwrap();
}

#[test]
fn a_golden_database_with_hashes_of_texts_and_a_history_is_read_and_rewritten() {
    if std::env::var_os("NEARPRINT_WRITE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(folder("hashes"));
        write_hashes(&folder("hashes"));
    }
    let home = tempfile::tempdir().unwrap();
    let again = home.path().join("hashes");
    write_hashes(&again);
    assert!(files(&again) == files(&folder("hashes")), "no longer written as it was");
    let snapshot = Database::<u64>::open(folder("hashes")).unwrap().snapshot().unwrap();
    assert_eq!(snapshot.key_storage(), KeyStorage::KeysAndHashes);
    assert_eq!((snapshot.checkpoint(), snapshot.history()), (Some(&b"half way"[..]), Some(&b"two jobs"[..])));
    let keys = snapshot.keys_of(snapshot.all_rows()[0]).unwrap();
    assert_eq!((keys[0].key.as_str(), &keys[0].text[..]), ("a", &b"17 bytes of hash."[..]));
}

/// A Zstandard frame of the text "one", as programs store it.
const FRAME: &[u8] = b"\x28\xb5\x2f\xfd\x20\x03\x19\x00\x00one";

/// A run of two rows with a key: one has a frame as its text, the other one a plain text.
fn write_texts(path: &Path) {
    crate::util::random::fixed::fix_ids();
    let schema = Schema::new().layout("rotations:1".parse().unwrap()).keys(KeyStorage::KeysAndTexts);
    let mut writer = writer::<u64>(path, schema);
    for (id, key, text) in [(42, "framed", FRAME), (43, "plain", b"\x01 plain")] {
        writer.insert(NewRow { id: Some(id), text, ..NewRow::keyed(7, key) }).unwrap();
    }
    writer.close().unwrap();
    fs::remove_file(path.join("LOCK")).unwrap();
}

#[test]
fn a_golden_database_with_texts_is_read_and_rewritten() {
    if std::env::var_os("NEARPRINT_WRITE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(folder("texts"));
        write_texts(&folder("texts"));
    }
    let home = tempfile::tempdir().unwrap();
    let again = home.path().join("texts");
    write_texts(&again);
    assert!(files(&again) == files(&folder("texts")), "no longer written as it was");
    let snapshot = Database::<u64>::open(folder("texts")).unwrap().snapshot().unwrap();
    let keys = snapshot.keys_of(snapshot.all_rows()[0]).unwrap();
    assert_eq!((keys[0].key.as_str(), &keys[0].text[..]), ("framed", FRAME));
}

/// A run of two rows with keys and the features of texts.
fn write_features(path: &Path) {
    crate::util::random::fixed::fix_ids();
    let schema = Schema::new().layout("rotations:1".parse().unwrap()).keys(KeyStorage::KeysAndFeatures);
    let mut writer = writer::<u64>(path, schema);
    // The set of 1, 5 and 900,000, and that of 513 hashes.
    for (id, key, features) in [(42, "a", FEATURES), (43, "b", &longer_features())] {
        let text = [&[2][..], b"16 bytes of hash", features].concat();
        let row = NewRow { id: Some(id), text: &text, ..NewRow::keyed(0x0123_4567_89ab_cdef, key) };
        writer.insert(row).unwrap();
    }
    writer.close().unwrap();
    fs::remove_file(path.join("LOCK")).unwrap();
}

/// The first example of FORMAT.md.
const FEATURES: &[u8] = &[0x03, 0x03, 0x00, 0xc0, 0x01, 0x00, 0x50, 0x73, 0xb7, 0x01];

/// The second one: hashes of 26 bits, each 2^15 above the one before it. With 16 low bits, each is a bit 1 and the low
/// bits of 0, or of 2^15 - 1.
fn longer_features() -> Vec<u8> {
    let bits = (0..513 * 17).map(|at| at % 17 == 0 || at > 17 && at % 17 != 16);
    let mut bytes = vec![0x81, 0x04];
    for (at, bit) in bits.enumerate() {
        if at % 8 == 0 {
            bytes.push(0);
        }
        *bytes.last_mut().unwrap() |= u8::from(bit) << (at % 8);
    }
    bytes
}

#[test]
fn a_golden_database_with_features_of_texts_is_read_and_rewritten() {
    if std::env::var_os("NEARPRINT_WRITE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(folder("features"));
        write_features(&folder("features"));
    }
    let home = tempfile::tempdir().unwrap();
    let again = home.path().join("features");
    write_features(&again);
    assert!(files(&again) == files(&folder("features")), "no longer written as it was");
    let snapshot = Database::<u64>::open(folder("features")).unwrap().snapshot().unwrap();
    assert_eq!(snapshot.key_storage(), KeyStorage::KeysAndFeatures);
    for (row, key, features) in [(0, "a", FEATURES), (1, "b", &longer_features())] {
        let keys = snapshot.keys_of(snapshot.all_rows()[row]).unwrap();
        assert_eq!((keys[0].key.as_str(), &keys[0].text[17..]), (key, features));
    }
}

/// Rows that expire on two days of the year 2100, and a log whose rows expire on the second one.
fn write_expiring(path: &Path) {
    crate::util::random::fixed::fix_ids();
    const DAY: Duration = Duration::from_secs(86_400);
    const YEAR_2100_MS: u64 = 4_102_444_800_000;
    let disk = SimulatedDisk::new();
    let schema = Schema::new().layout("rotations:1".parse().unwrap());
    let schema = schema.keys(KeyStorage::Keys).expire_after(30 * DAY, Some(DAY)).unwrap();
    log::replace(&disk, &log::fresh(64, &schema).unwrap()).unwrap();
    let options = Options::new().background_merges(false);
    let mut writer = Writer::<u64>::open(Arc::new(disk.clone()), options).unwrap();
    for (day, key) in [(0, "first"), (1, "second"), (1, "in the log")] {
        disk.set_now(Time(YEAR_2100_MS + day * 86_400_000 + 7));
        writer.insert(NewRow::keyed(crate::fingerprint::mix64(day), key)).unwrap();
        if key == "in the log" { writer.commit().unwrap() } else { writer.flush().unwrap() }
    }
    fs::create_dir_all(path).unwrap();
    for name in disk.names().iter().filter(|name| *name != "LOCK") {
        fs::write(path.join(name), disk.file_bytes(name).unwrap()).unwrap();
    }
}

#[test]
fn a_golden_database_with_rows_that_expire_is_read_and_rewritten() {
    if std::env::var_os("NEARPRINT_WRITE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(folder("expiring"));
        write_expiring(&folder("expiring"));
    }
    let home = tempfile::tempdir().unwrap();
    let again = home.path().join("expiring");
    write_expiring(&again);
    assert!(files(&again) == files(&folder("expiring")), "no longer written as it was");
    let snapshot = Database::<u64>::open(folder("expiring")).unwrap().snapshot().unwrap();
    assert_eq!(snapshot.verify().unwrap().damage, []);
    assert_eq!(snapshot.all_rows().len(), 3);
    let days: Vec<Option<u64>> = snapshot.runs().map(|run| run.record.expires.map(|time| time.0)).collect();
    assert_eq!(days, [0, 1, 1].map(|day| Some(4_102_444_800_000 + (day + 30) * 86_400_000)));
}

/// A run of two rows on one fingerprint of 128 bits, each with a key and a text.
fn write_two_keys(path: &Path) {
    crate::util::random::fixed::fix_ids();
    let schema = Schema::new().layout("rotations:1".parse().unwrap()).keys(KeyStorage::KeysAndTexts);
    let mut writer = writer::<u128>(path, schema);
    let fingerprint = 0x0123_4567_89ab_cdef_0011_2233_4455_6677;
    writer.insert(NewRow { id: Some(42), text: b"two", ..NewRow::keyed(fingerprint, "b") }).unwrap();
    writer.insert(NewRow { id: Some(300), ..NewRow::keyed(fingerprint, "a") }).unwrap();
    writer.close().unwrap();
    fs::remove_file(path.join("LOCK")).unwrap();
}

#[test]
fn a_golden_database_of_two_rows_on_one_fingerprint_is_read_and_rewritten() {
    if std::env::var_os("NEARPRINT_WRITE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(folder("two-keys"));
        write_two_keys(&folder("two-keys"));
    }
    let home = tempfile::tempdir().unwrap();
    let again = home.path().join("two-keys");
    write_two_keys(&again);
    assert!(files(&again) == files(&folder("two-keys")), "no longer written as it was");
    let snapshot = Database::<u128>::open(folder("two-keys")).unwrap().snapshot().unwrap();
    assert_eq!(snapshot.verify().unwrap().damage, []);
    let keys_of = |&row: &Row<u128>| {
        let keys = snapshot.keys_of(row).unwrap().into_iter();
        (row.id, keys.map(|key| (key.key, key.text)).collect::<Vec<_>>())
    };
    let found: Vec<_> = snapshot.all_rows().iter().map(keys_of).collect();
    assert_eq!(found, [(42, vec![("b".into(), b"two".to_vec())]), (300, vec![("a".into(), Vec::new())])]);
}

/// Three documents that were left out because of one.
fn write_left_out(path: &Path) {
    crate::util::random::fixed::fix_ids();
    let schema = Schema::new().layout("rotations:1".parse().unwrap()).keys(KeyStorage::Keys);
    let mut writer = writer::<u64>(path, schema.remember(Remember::Hashes));
    writer.insert(NewRow::keyed(0x0123_4567_89ab_cdef, "kept")).unwrap();
    for (key, similarity, job) in [("one", 0.75, 1), ("two", 1.0, 2), ("three", 0.7, 0)] {
        writer.remember_left_out(key, "kept", similarity, job).unwrap();
    }
    writer.close().unwrap();
    for folder in [path, &path.join("left-out")] {
        fs::remove_file(folder.join("LOCK")).unwrap();
    }
}

#[test]
fn a_golden_database_that_remembers_what_was_left_out_is_read_and_rewritten() {
    if std::env::var_os("NEARPRINT_WRITE_GOLDEN").is_some() {
        let _ = fs::remove_dir_all(folder("left-out"));
        write_left_out(&folder("left-out"));
    }
    let home = tempfile::tempdir().unwrap();
    let again = home.path().join("left-out");
    write_left_out(&again);
    let all_files = |at: &Path| [files(at), files(&at.join("left-out"))];
    assert!(all_files(&again) == all_files(&folder("left-out")), "no longer written as it was");
    let found = LeftOutRows::open(folder("left-out"), &Options::new()).unwrap().unwrap();
    let found = ["one", "two", "three"].map(|key| found.find(key).unwrap().unwrap());
    let kept = keys::hash_key(b"kept");
    assert!(found.iter().all(|left_out| left_out.kept == kept));
    assert_eq!(found.each_ref().map(|left_out| left_out.job), [1, 2, 0]);
    let rows =
        Database::<u128>::open(folder("left-out").join("left-out")).unwrap().snapshot().unwrap().all_rows();
    let two = rows.into_iter().find(|row| row.id == keys::hash_key(b"two")).unwrap();
    assert_eq!(two.fingerprint, u128::from(kept) << 64 | 0x2710_0000_0000_0002);
}

/// The files of a folder, without folders in it.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let entries = entries.filter(|entry| entry.path().is_file());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn golden_databases_are_read_and_rewritten_byte_by_byte() {
    read_and_rewrite(golden());
    read_and_rewrite(golden_128());
    read_and_rewrite(golden_256());
    read_and_rewrite(golden_320());
}

fn read_and_rewrite<F: Fingerprint>(golden: Vec<Golden<F>>) {
    for (name, layout, rows) in golden {
        if std::env::var_os("NEARPRINT_WRITE_GOLDEN").is_some() {
            let _ = fs::remove_dir_all(folder(name));
            write(&folder(name), layout, &rows);
        }
        let home = tempfile::tempdir().unwrap();
        let again = home.path().join(name);
        write(&again, layout, &rows);
        assert!(files(&again) == files(&folder(name)), "{name} is no longer written as it was");

        let snapshot = Database::<F>::open(folder(name)).unwrap().snapshot().unwrap();
        let mut expected = rows;
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(snapshot.all_rows(), expected);
        assert_eq!(snapshot.verify().unwrap().damage, []);
        for row in expected {
            let near = row.fingerprint ^ F::from_bits(0b1001, F::BITS - 4, 4);
            assert!(snapshot.query(near, 2).unwrap().iter().any(|found| found.id == row.id));
        }
    }
}

fn document() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("FORMAT.md")).unwrap()
}

/// The rows of all tables with a given header, as lists of cells.
fn table_rows(document: &str, header: &str) -> Vec<Vec<Vec<String>>> {
    let mut tables = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if line == header {
            let cells =
                |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect();
            tables.push(lines.by_ref().skip(1).take_while(|line| line.starts_with('|')).map(cells).collect());
        }
    }
    tables
}

#[test]
fn constants_in_the_document_equal_those_in_the_code() {
    let code: BTreeMap<&str, u64> = BTreeMap::from([
        ("VERSION", u64::from(VERSION)),
        ("PAGE_BYTES", paged::PAGE_BYTES as u64),
        ("PAGE_CRC_OFFSET", paged::PAGE_CRC_OFFSET as u64),
        ("CRCS_PER_PAGE", paged::CRCS_PER_PAGE as u64),
        ("ATTRIBUTES", paged::ATTRIBUTES as u64),
        ("MAX_SECTIONS", paged::MAX_SECTIONS as u64),
        ("HI_BITS", u64::from(crate::layout::HI_BITS)),
        ("MAX_ENTRIES", segment::MAX_ENTRIES),
        ("MIN_DIRECTORY_BITS", u64::from(cost::MIN_DIRECTORY_BITS)),
        ("MAX_DIRECTORY_BITS", u64::from(cost::MAX_DIRECTORY_BITS)),
        ("SAMPLE_ENTRIES", postings::SAMPLE_ENTRIES),
        ("RANK_ROWS", postings::RANK_ROWS),
        ("FILTER_BLOCK_BYTES", filter::FILTER_BLOCK_BYTES),
        ("MAX_TABLES", MAX_TABLES as u64),
        ("IDENTITY_BYTES", identities::IDENTITY_BYTES as u64),
        ("MAX_BANDS", u64::from(bands::MAX_BANDS)),
        ("MIN_BAND_BITS", u64::from(*bands::BAND_BITS.start())),
        ("MAX_BAND_BITS", u64::from(*bands::BAND_BITS.end())),
        ("PREFIX_BYTES", manifest::PREFIX_BYTES as u64),
        ("MAX_MANIFEST_BYTES", manifest::MAX_MANIFEST_BYTES as u64),
        ("MAX_RANGES", manifest::MAX_RANGES as u64),
        ("MAX_RECIPE_BYTES", manifest::MAX_RECIPE_BYTES as u64),
        ("MAX_CHECKPOINT_BYTES", manifest::MAX_CHECKPOINT_BYTES as u64),
        ("MAX_HISTORY_BYTES", manifest::MAX_HISTORY_BYTES as u64),
        ("MAX_KEY_BYTES", keys::MAX_KEY_BYTES as u64),
        ("MAX_HASH_BYTES", keys::MAX_HASH_BYTES as u64),
        ("LOG_HEADER_BYTES", wal::HEADER_BYTES as u64),
        ("FRAME_HEADER_BYTES", wal::FRAME_HEADER_BYTES as u64),
        ("MAX_LOG_BYTES", wal::MAX_LOG_BYTES),
    ]);
    let document = document();
    let tables = table_rows(&document, "| constant | value | meaning |");
    let documented: BTreeMap<String, u64> =
        tables[0].iter().map(|row| (row[0].trim_matches('`').to_string(), row[1].parse().unwrap())).collect();
    assert_eq!(
        documented.iter().map(|(name, value)| (name.as_str(), *value)).collect::<BTreeMap<_, _>>(),
        code
    );

    let magics = BTreeMap::from([
        ("MANIFEST", manifest::MAGIC),
        ("SEGMENT", segment::MAGIC),
        ("POSTINGS", postings::MAGIC),
        ("TOMBSTONES", tombstones::MAGIC),
        ("KEYS", keys::MAGIC),
        ("IDENTITIES", identities::MAGIC),
        ("LOG", wal::MAGIC),
        ("FOOTER", paged::FOOTER_MAGIC),
    ]);
    let tables = table_rows(&document, "| magic | bytes | stands at the start of |");
    assert_eq!(tables[0].len(), magics.len());
    for row in &tables[0] {
        let bytes: Vec<u8> =
            row[1].trim_matches('`').split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        assert_eq!(bytes, magics[row[0].trim_matches('`')], "{}", row[0]);
    }
}

#[test]
fn hashes_and_permutations_in_the_document_equal_those_of_the_code() {
    let hexadecimal = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let document = document();
    let vectors = &table_rows(&document, "| number of bytes | xxh3 |")[0];
    assert_eq!(vectors.len(), 7);
    for vector in vectors {
        let bytes: Vec<u8> = (0..=250).cycle().take(vector[0].parse().unwrap()).collect();
        assert_eq!(keys::hash_key(&bytes), hexadecimal(&vector[1]), "{vector:?}");
    }

    // The table is part of a list, and indented.
    let unindented = document.replace("\n  ", "\n");
    let tables = table_rows(&unindented, "| prefix | order of the blocks | permuted fingerprint |");
    let [examples, of_bands] = &tables[..] else { panic!("{tables:?}") };
    assert_eq!((examples.len(), of_bands.len()), (3, 3));
    let bands = Layout::bands(64, BandLayout::new(3, 8).unwrap()).unwrap();
    for (example, table) in of_bands.iter().zip(bands.tables::<u64>()) {
        assert_eq!(table.permute(0xab12_3456_7890_cdef), hexadecimal(&example[2]), "{example:?}");
    }
    let prefixes: Vec<String> =
        bands.prefixes().iter().map(|prefix| format!("{{{}}}", prefix.ilog2())).collect();
    assert!(prefixes.iter().eq(of_bands.iter().map(|example| &example[0])), "{prefixes:?}");
    for example in examples {
        let numbers = |text: &str| -> Vec<u32> {
            text.trim_matches(['{', '}']).split(", ").map(|number| number.parse().unwrap()).collect()
        };
        let prefix = numbers(&example[0]).iter().fold(0, |prefix, block| prefix | 1 << block);
        let layout = Layout::from_parts(64, 4, vec![1, prefix]).unwrap();
        let permuted = layout.tables::<u64>()[1].permute(0x0000_1111_2222_3333);
        assert_eq!(permuted, hexadecimal(&example[2]), "{example:?}");
        let blocks: String = numbers(&example[1]).iter().map(|block| block.to_string().repeat(4)).collect();
        assert_eq!(permuted, hexadecimal(&blocks), "{example:?}");
    }
}

#[test]
fn fields_in_the_document_follow_each_other_without_a_gap() {
    let tables = table_rows(&document(), "| offset | size | field |");
    assert_eq!(tables.len(), 12);
    for table in tables {
        for pair in table.windows(2) {
            let number = |text: &String| text.parse::<u64>().ok();
            if let (Some(offset), Some(size), Some(next)) =
                (number(&pair[0][0]), number(&pair[0][1]), number(&pair[1][0]))
            {
                assert_eq!(offset + size, next, "{pair:?}");
            }
        }
    }
}

#[test]
fn the_hexdump_in_the_document_equals_the_golden_database() {
    let document = document();
    let dump = document.split("```hexdump\n").skip(1).map(|part| part.split("```").next().unwrap());
    let mut seen = 0;
    for part in dump {
        let mut lines = part.lines();
        let (database, name) = lines.next().unwrap().split_once('/').unwrap();
        let bytes = fs::read(folder(database).join(name)).unwrap();
        let mut covered = vec![false; bytes.len()];
        for line in lines {
            let mut words = line.split("  ").next().unwrap().split(' ');
            let start = usize::from_str_radix(words.next().unwrap(), 16).unwrap();
            for (at, word) in words.enumerate() {
                assert_eq!(
                    bytes[start + at],
                    u8::from_str_radix(word, 16).unwrap(),
                    "{name} {start:x} + {at}"
                );
                covered[start + at] = true;
            }
        }
        let omitted = bytes.iter().zip(&covered).filter(|(byte, covered)| **byte != 0 && !**covered).count();
        let directory =
            if Path::new(name).extension().is_some_and(|extension| extension == "seg") { 255 } else { 0 };
        assert!(omitted <= directory, "{name}: the dump omits {omitted} bytes that are not zero");
        seen += 1;
    }
    assert_eq!(seen, 8);
}
