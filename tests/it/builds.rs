//! Bulk loads: what comes out does not depend on memory, threads or the order of rows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;

use nearprint::{Database, Error, Fingerprint, KeyStorage, NewRow, Options, Query, Row, Schema, Width, list};
use testkit::{
    Random, Shape, all_rows, build, build_with, collected, files, for_each_width, insert_all, layout, low,
    rows,
};

for_each_width!(
    rows_come_back_sorted_and_once_whatever_the_memory_and_the_ids,
    bounded_memory_gives_the_same_files,
    merged_tables_are_those_of_a_build,
    automatic_ids_continue_behind_the_largest,
    an_empty_database_answers,
);

fn rows_come_back_sorted_and_once_whatever_the_memory_and_the_ids<F: Fingerprint>() {
    for (name, ids) in [("small", 0u64), ("offset", 1 << 40), ("wide", u64::MAX - 50)] {
        for memory in [1 << 20, 64 << 20] {
            let mut given = rows::<F>(Shape::Equal, 100_000, 71);
            given.iter_mut().for_each(|row| {
                row.id = if name == "wide" && row.id % 2 == 0 { row.id } else { ids + row.id % 51 }
            });
            let home = tempfile::tempdir().unwrap();
            let options = Options::new().memory_bytes(memory).threads(3);
            let snapshot = build_with(&home.path().join("db"), &given, Schema::new(), options);
            let expected: BTreeSet<Row<F>> = given.into_iter().collect();
            assert!(all_rows(&snapshot).iter().eq(&expected), "{name} {memory}");
            assert_eq!(snapshot.stats().rows, expected.len() as u64);
            assert_eq!(snapshot.verify().unwrap().damage, []);
        }
    }
}

fn bounded_memory_gives_the_same_files<F: Fingerprint>() {
    let rows = rows::<F>(Shape::Skewed, 200_000, 81);
    let home = tempfile::tempdir().unwrap();
    let sizes = |name: &str, memory: usize, threads: usize| {
        let path = home.path().join(name);
        let options = Options::new().memory_bytes(memory).threads(threads);
        build_with(&path, &rows, Schema::new(), options);
        let size = |file: &std::path::PathBuf| {
            (file.file_name().unwrap().to_owned(), file.metadata().unwrap().len())
        };
        files(&path).iter().map(size).collect::<Vec<_>>()
    };
    let large = sizes("large", 1 << 28, 2);
    assert_eq!(sizes("small", 1 << 20, 1), large);
    assert_eq!(sizes("threads", 1 << 20, 5), large);
}

/// Among the rows are many that differ only in the bits that most tables do not store themselves, many of these in
/// several runs, and fingerprints without a row left.
fn merged_tables_are_those_of_a_build<F: Fingerprint>() {
    let mut random = Random(31);
    let mut given = rows::<F>(Shape::Skewed, 20_000, 82);
    let (center, other) = (random.value::<F>(), random.value::<F>());
    given.extend((0..20_000).map(|id| Row { fingerprint: center ^ low(id % 9000), id: 1 << 40 | id }));
    given.extend((0..4000).map(|id| Row { fingerprint: random.near(other, 2), id: 1 << 41 | id }));
    let (mut live, mut deleted) = (BTreeSet::new(), Vec::new());
    for (&row, number) in given.iter().zip(0u64..) {
        match number % 5 {
            _ if row.id % 7 == 0 => deleted.push(row.id),
            4 => {}
            _ => _ = live.insert(row),
        }
    }
    // The last rows replace others, and some come twice.
    let late: Vec<Row<F>> = given.iter().step_by(5).filter(|row| row.id % 7 != 0).copied().collect();
    let kept: Vec<Row<F>> = live.iter().chain(&late).copied().collect();
    let home = tempfile::tempdir().unwrap();
    let tables = |path: &Path| {
        let is_table = |file: &PathBuf| file.extension().is_some_and(|end| end == "seg");
        // A header is the first page.
        let content = |file| std::fs::read(file).unwrap().split_off(8192);
        files(path).into_iter().filter(is_table).map(content).collect::<Vec<_>>()
    };
    for (name, memory) in [("rotations:4", 1 << 28), ("rotations:4", 1 << 20), ("blocks:6,2", 1 << 28)] {
        let (built, merged) = (home.path().join("built"), home.path().join("merged"));
        build_with(&built, &kept, layout(name), Options::new());
        let options = Options::new().memory_bytes(memory).merges(false).background_merges(false).threads(2);
        let database = options.create::<F>(&merged, &layout(name)).unwrap();
        let mut writer = database.writer().unwrap();
        for part in live.iter().copied().collect::<Vec<_>>().chunks(11_000) {
            insert_all(&mut writer, part).unwrap();
            writer.flush().unwrap();
        }
        let gone: Vec<Row<F>> = given.iter().filter(|row| row.id % 7 == 0).copied().collect();
        insert_all(&mut writer, &gone).unwrap();
        writer.flush().unwrap();
        deleted.iter().for_each(|&id| writer.delete(id).unwrap());
        insert_all(&mut writer, &late).unwrap();
        writer.compact().unwrap();
        drop(writer);
        assert_eq!(database.snapshot().unwrap().verify().unwrap().damage, []);
        assert!(tables(&merged) == tables(&built), "{name}, {memory} bytes");
        std::fs::remove_dir_all(&merged).unwrap();
        std::fs::remove_dir_all(&built).unwrap();
    }
}

fn automatic_ids_continue_behind_the_largest<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let builder = Database::<F>::build(home.path().join("db"), &Schema::new()).unwrap();
    let mut builder = builder.first_id(10);
    let given = [None, None, Some(5), Some(100), None, Some(50), None, Some(u64::MAX)];
    let ids: Vec<u64> =
        given.iter().map(|&id| builder.push(NewRow { id, ..NewRow::from(low::<F>(1)) }).unwrap()).collect();
    assert_eq!(ids, [10, 11, 5, 100, 101, 50, 102, u64::MAX]);
    assert!(matches!(builder.push(low::<F>(1)), Err(Error::Limit(_))));
    let found = builder.finish().unwrap().snapshot().unwrap().query(low(1), 0).unwrap();
    assert_eq!(found.iter().map(|row| row.id).collect::<Vec<_>>(), [5, 10, 11, 50, 100, 101, 102, u64::MAX]);
}

fn an_empty_database_answers<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let database = Database::<F>::create(home.path().join("db"), &Schema::new()).unwrap();
    let snapshot = database.snapshot().unwrap();
    let zero = F::default();
    assert_eq!(snapshot.query(zero, F::BITS).unwrap(), []);
    assert_eq!(snapshot.query(zero, Query::nearest(3)).unwrap(), []);
    assert_eq!(collected(snapshot.pairs(F::BITS)), []);
    assert_eq!(collected(snapshot.clusters(F::BITS)), Vec::<Vec<Row<F>>>::new());
    assert_eq!(snapshot.verify().unwrap().damage, []);
    assert_eq!(snapshot.explain(3).to_string(), "The database is empty: every answer is empty.\n");
    assert_eq!(list::find_all::<F>(&[], F::BITS).unwrap(), []);
}

/// More spilled pieces than are merged at once. Sorting does not depend on the width.
#[test]
fn regression_spilled_pieces_are_merged_in_rounds() {
    let rows = rows::<u64>(Shape::Equal, 4_000_000, 15);
    let home = tempfile::tempdir().unwrap();
    let options = Options::new().memory_bytes(1 << 20).threads(4);
    let snapshot = build_with(&home.path().join("db"), &rows, layout("rotations:2"), options);
    assert_eq!(snapshot.stats().rows, 4_000_000);
    assert_eq!(snapshot.verify().unwrap().damage, []);
}

/// The schema and the options of a new database are checked before anything is made.
#[test]
fn impossible_settings_are_named_and_make_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let refused = |schema: Schema, options: Options| {
        let error = options.create::<u64>(&path, &schema).unwrap_err();
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "{error}");
        error
    };
    let error = refused(Schema::new().k(65), Options::new());
    assert!(matches!(error, Error::Distance { k: 65, width: 64 }), "{error}");
    let error = refused(layout("rotations:65"), Options::new());
    assert!(matches!(error, Error::InvalidLayout { .. }), "{error}");
    let error = refused(Schema::new().recipe(""), Options::new());
    assert!(matches!(error, Error::InvalidRecipe { len_bytes: 0 }), "{error}");
    let error = refused(Schema::new().recipe("r".repeat(4097)), Options::new());
    assert!(matches!(error, Error::InvalidRecipe { len_bytes: 4097 }), "{error}");
    let error = refused(Schema::new(), Options::new().memory_bytes(1000));
    assert!(matches!(error, Error::TooLittleMemory { bytes: 1000, least } if least == 1 << 20), "{error}");
    assert_eq!(all_rows(&build::<u64>(&path, &[], Schema::new().recipe("r".repeat(4096)))), []);
}

#[test]
fn several_threads_open_or_create_one_database() {
    let home = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let (path, begin) = (home.path().join(format!("{round}.np")), Barrier::new(8));
        let opened = || {
            begin.wait();
            Database::<u64>::open_or_create(&path, &Schema::new().k(6)).unwrap();
        };
        thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(opened))));
        let other = Schema::new().k(2).keys(KeyStorage::Keys);
        let snapshot = Database::<u64>::open_or_create(&path, &other).unwrap().snapshot().unwrap();
        assert_eq!((snapshot.default_k(), snapshot.key_storage()), (6, KeyStorage::None), "it keeps its own");
    }
    let (path, options) = (home.path().join("0.np"), Options::new());
    let refused = options.open_or_create_any(&path, Width::W128, &Schema::new());
    assert!(matches!(refused, Err(Error::Width { database: 64, requested: 128, .. })), "{refused:?}");
    let empty = home.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert_eq!(options.open_or_create_any(&empty, Width::W256, &Schema::new()).unwrap().width(), Width::W256);
    let other = home.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("file"), "of somebody").unwrap();
    for place in [&other, &other.join("file")] {
        let refused = Database::<u64>::open_or_create(place, &Schema::new());
        assert!(matches!(refused, Err(Error::NotADatabase { .. })), "{refused:?}");
    }
}
