//! Runs built elsewhere and adopted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::forge::forge;
use nearprint::{
    Database, Error, FindingKind, Fingerprint, KeyStorage, LayoutChoice, NewRow, Options, Row, Schema,
    Snapshot, Writer,
};
use testkit::{Shape, all_rows, build_with, folder_in_memory, for_each_width, low, matches, rows};

for_each_width!(
    runs_built_elsewhere_are_ingested,
    a_folder_of_runs_is_read_like_a_database_and_takes_no_writer,
    a_run_is_ingested_once,
    regression_equal_rows_built_twice_are_one_run,
    folders_without_runs_change_nothing,
    ingested_runs_are_the_newest,
    the_order_of_folders_shows_in_the_order_of_runs_alone,
    ids_that_two_have_given_are_refused,
    damage_is_refused_and_leaves_nothing_behind,
    readers_see_all_of_an_ingestion_or_nothing,
    many_runs_at_once_are_merged_as_the_policy_says,
);

fn schema() -> Schema {
    Schema::new().layout(LayoutChoice::Rotations { tables: 4 })
}

fn options() -> Options {
    Options::new().threads(2)
}

/// Builds a folder of runs.
fn runs<F: Fingerprint>(home: &Path, name: &str, rows: &[Row<F>], schema: Schema) -> PathBuf {
    let path = home.join(name);
    let mut builder = options().build::<F>(&path, &schema).unwrap().runs_only();
    for row in rows {
        builder.push(*row).unwrap();
    }
    builder.finish().unwrap();
    path
}

/// Builds a folder of runs that numbers its rows.
fn numbered<F: Fingerprint>(home: &Path, name: &str, count: u64, first_id: u64) -> PathBuf {
    let path = home.join(name);
    let builder = options().build::<F>(&path, &schema()).unwrap();
    let mut builder = builder.first_id(first_id).runs_only();
    for value in 0..count {
        builder.push(low::<F>(value * 977)).unwrap();
    }
    builder.finish().unwrap();
    path
}

fn database<F: Fingerprint>(home: &Path, rows: &[Row<F>]) -> Database<F> {
    let path = home.join("db");
    build_with(&path, rows, schema(), options());
    options().open(path).unwrap()
}

/// Thirds of some rows, with what two of them share.
fn thirds<F: Fingerprint>(seed: u64) -> (Vec<Row<F>>, [Vec<Row<F>>; 3]) {
    let all = rows::<F>(Shape::Equal, 900, seed);
    let parts = [all[..400].to_vec(), all[300..700].to_vec(), all[600..].to_vec()];
    (all, parts)
}

fn holds<F: Fingerprint>(snapshot: &Snapshot<F>, rows: &[Row<F>]) {
    let expected: BTreeSet<Row<F>> = rows.iter().copied().collect();
    assert!(all_rows(snapshot).iter().eq(&expected));
    for row in rows.iter().step_by(53) {
        let query = row.fingerprint ^ low(9);
        assert_eq!(snapshot.query(query, 4).unwrap(), matches(rows, query, 4));
    }
    assert_eq!(snapshot.verify().unwrap().damage, []);
}

fn files(folder: &Path) -> BTreeSet<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let content = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap_or_default())
    };
    entries.map(content).filter(|(name, _)| name != "LOCK").collect()
}

/// Counts of what was adopted, of what was skipped, and of rows.
fn ingest<F: Fingerprint>(writer: &mut Writer<F>, folders: &[&PathBuf]) -> (u64, u64, u64) {
    let ingested = writer.ingest(folders).unwrap();
    (ingested.runs, ingested.skipped, ingested.rows)
}

/// Checks that an ingestion fails, and that neither the folder nor the writer is the worse for it.
fn refused<F: Fingerprint>(database: &Database<F>, folders: &[&PathBuf]) -> Error {
    let mut writer = database.writer().unwrap();
    let before = files(database.path());
    let error = writer.ingest(folders).unwrap_err();
    assert!(files(database.path()) == before, "nothing is left behind after {error}");
    writer.insert(Row { fingerprint: low::<F>(1), id: 950 }).unwrap();
    writer.commit().unwrap();
    writer.delete(950).unwrap();
    writer.commit().unwrap();
    error
}

fn runs_built_elsewhere_are_ingested<F: Fingerprint>() {
    let home = folder_in_memory();
    let (all, [one, two, three]) = thirds::<F>(1);
    let database = database(home.path(), &one);
    let folders = [&runs(home.path(), "two", &two, schema()), &runs(home.path(), "three", &three, schema())];
    let before = folders.map(|folder| files(folder));
    let mut writer = database.writer().unwrap();
    assert_eq!(ingest(&mut writer, &folders), (2, 0, two.len() as u64 + three.len() as u64));
    holds(&writer.snapshot().unwrap(), &all);
    holds(&database.snapshot().unwrap(), &all);
    assert_eq!(writer.insert(low::<F>(7)).unwrap(), 900, "behind the largest id of all");
    writer.close().unwrap();
    assert_eq!(database.verify().unwrap().damage, []);
    assert!(folders.map(|folder| files(folder)) == before);
}

fn a_folder_of_runs_is_read_like_a_database_and_takes_no_writer<F: Fingerprint>() {
    let home = folder_in_memory();
    let (_, [one, ..]) = thirds::<F>(2);
    let folder = runs(home.path(), "runs", &one, schema());
    let database = Database::<F>::open(&folder).unwrap();
    holds(&database.snapshot().unwrap(), &one);
    assert!(matches!(database.writer(), Err(Error::RunsOnly { .. })));
    database.snapshot().unwrap().backup(home.path().join("copy")).unwrap();
    assert!(matches!(
        Database::<F>::open(home.path().join("copy")).unwrap().writer(),
        Err(Error::RunsOnly { .. })
    ));
}

fn a_run_is_ingested_once<F: Fingerprint>() {
    let home = folder_in_memory();
    let (all, [one, two, three]) = thirds::<F>(3);
    let database = database(home.path(), &one);
    let (two, three) =
        (runs(home.path(), "two", &two, schema()), runs(home.path(), "three", &three, schema()));
    let copy = home.path().join("copy");
    Database::<F>::open(&two).unwrap().snapshot().unwrap().backup(&copy).unwrap();
    let mut writer = database.writer().unwrap();
    assert_eq!(ingest(&mut writer, &[&two, &copy, &two]).1, 2, "twice in one command, and as a copy");
    let generation = writer.snapshot().unwrap().stats().generation;
    assert_eq!(ingest(&mut writer, &[&copy]), (0, 1, 0));
    assert_eq!(writer.snapshot().unwrap().stats().generation, generation, "and that changes nothing");
    writer.compact().unwrap();
    assert_eq!(ingest(&mut writer, &[&two]), (0, 1, 0));
    assert_eq!(ingest(&mut writer, &[&two, &three]).1, 1);
    writer.close().unwrap();
    let mut writer = database.writer().unwrap();
    assert_eq!(ingest(&mut writer, &[&two, &three]), (0, 2, 0));
    holds(&database.snapshot().unwrap(), &all);
    all.iter().for_each(|row| writer.delete(row.id).unwrap());
    writer.compact().unwrap();
    assert_eq!(ingest(&mut writer, &[&two]), (0, 1, 0), "not even when it has been deleted");
    holds(&database.snapshot().unwrap(), &[]);
}

fn regression_equal_rows_built_twice_are_one_run<F: Fingerprint>() {
    let home = folder_in_memory();
    let (_, [one, two, _]) = thirds::<F>(4);
    let database = database(home.path(), &one);
    let folders = ["two", "again"].map(|name| runs(home.path(), name, &two, schema()));
    let longer = [&two[..], &[Row { fingerprint: low::<F>(77), id: 901 }]].concat();
    let more = runs(home.path(), "more", &longer, schema().k(5));
    let mut writer = database.writer().unwrap();
    assert_eq!(ingest(&mut writer, &[&folders[0], &folders[1]]).1, 1);
    assert_eq!(ingest(&mut writer, &[&folders[1]]), (0, 1, 0), "built by another attempt at the task");
    assert_eq!(ingest(&mut writer, &[&more]).1, 0, "one row more makes another run");

    let named = |name: &str, identity: &str, rows: &[Row<F>]| {
        let path = home.path().join(name);
        let mut builder = Database::<F>::build(&path, &schema()).unwrap().runs_only().identity(identity);
        for row in rows {
            builder.push(*row).unwrap();
        }
        builder.finish().unwrap();
        path
    };
    let rows = |id| [Row { fingerprint: low::<F>(5), id }];
    let tasks =
        [named("a", "task 7", &rows(902)), named("b", "task 7", &rows(903)), named("c", "task 8", &two)];
    let identities = |database: &Database<F>| {
        let stats = database.snapshot().unwrap().stats();
        assert_eq!(stats.sections.iter().map(|(_, bytes)| bytes).sum::<u64>(), stats.bytes);
        stats.sections.iter().find(|(name, _)| *name == "identities").unwrap().1
    };
    let before = identities(&database);
    assert_eq!(ingest(&mut writer, &[&tasks[0], &tasks[1], &tasks[2]]).1, 1, "a name decides alone");
    assert_eq!(identities(&database), before * 2, "two runs had one, and two more have");

    let automatic = ["d", "e"].map(|name| {
        let path = home.path().join(name);
        let mut builder = Database::build(&path, &schema()).unwrap().runs_only().first_id(2000);
        builder.push(low::<F>(1)).unwrap();
        builder.finish().unwrap();
        path
    });
    writer.ingest(&[&automatic[0]]).unwrap();
    assert!(matches!(writer.ingest(&[&automatic[1]]), Err(Error::Overlap { .. })), "they may be other rows");
}

fn folders_without_runs_change_nothing<F: Fingerprint>() {
    let home = folder_in_memory();
    let database = database::<F>(home.path(), &[]);
    let empty = runs::<F>(home.path(), "empty", &[], schema());
    assert_eq!(ingest(&mut database.writer().unwrap(), &[&empty, &empty]), (0, 0, 0));
    assert_eq!(ingest(&mut database.writer().unwrap(), &[]), (0, 0, 0));
}

fn ingested_runs_are_the_newest<F: Fingerprint>() {
    let home = folder_in_memory();
    let database = database(home.path(), &[Row { fingerprint: low::<F>(1), id: 5 }]);
    let folder = runs(home.path(), "runs", &[Row { fingerprint: low::<F>(2), id: 5 }], schema());
    let mut writer = database.writer().unwrap();
    writer.insert(Row { fingerprint: low::<F>(3), id: 6 }).unwrap();
    writer.delete(5).unwrap();
    ingest(&mut writer, &[&folder]);
    let expected = [Row { fingerprint: low::<F>(2), id: 5 }, Row { fingerprint: low::<F>(3), id: 6 }];
    holds(&database.snapshot().unwrap(), &expected);
    writer.delete(5).unwrap();
    writer.commit().unwrap();
    holds(&database.snapshot().unwrap(), &expected[1..]);
    writer.compact().unwrap();
    holds(&database.snapshot().unwrap(), &expected[1..]);
}

fn the_order_of_folders_shows_in_the_order_of_runs_alone<F: Fingerprint>() {
    let home = folder_in_memory();
    let (all, [one, two, three]) = thirds::<F>(4);
    let one = [&one[..], &rows(Shape::Uniform, 20_000, 9)[1000..]].concat();
    let (two, three) =
        (runs(home.path(), "two", &two, schema()), runs(home.path(), "three", &three, schema()));
    let all = [&all[..], &one[..]].concat();
    let mut orders = Vec::new();
    for (name, folders) in [("a", [&two, &three]), ("b", [&three, &two])] {
        let home = home.path().join(name);
        let database = database_in(&home, &one);
        let mut writer = database.writer().unwrap();
        ingest(&mut writer, &folders);
        let snapshot = writer.snapshot().unwrap();
        holds(&snapshot, &all);
        orders.push(snapshot.stats().runs.iter().map(|run| run.rows).collect::<Vec<_>>());
    }
    assert_eq!(orders, [[one.len() as u64, 400, 300], [one.len() as u64, 300, 400]]);
}

fn database_in<F: Fingerprint>(home: &Path, rows: &[Row<F>]) -> Database<F> {
    fs::create_dir(home).unwrap();
    database(home, rows)
}

fn ids_that_two_have_given_are_refused<F: Fingerprint>() {
    let home = folder_in_memory();
    let database = database::<F>(home.path(), &[]);
    let (first, last) =
        (numbered::<F>(home.path(), "low", 50, 10), numbered::<F>(home.path(), "high", 50, 59));
    let mut writer = database.writer().unwrap();
    let before = files(database.path());
    let error = writer.ingest(&[&last, &first]).unwrap_err();
    let Error::Overlap { path, given, other, given_by_other } = error else { panic!("{error}") };
    assert_eq!((path, given, other, given_by_other), (first.clone(), (10, 59), last.clone(), (59, 108)));
    assert!(files(database.path()) == before);

    writer.insert(Row { fingerprint: low::<F>(1), id: 8 }).unwrap();
    assert_eq!(writer.insert(low::<F>(1)).unwrap(), 9);
    assert_eq!(ingest(&mut writer, &[&first]), (1, 0, 50));
    assert!(matches!(writer.ingest(&[&last]), Err(Error::Overlap { given_by_other: (9, 59), .. })));
    let above = numbered::<F>(home.path(), "above", 5, 60);
    assert_eq!(ingest(&mut writer, &[&above, &first]), (1, 1, 5), "the skipped one overlaps with itself");
    assert_eq!(writer.insert(low::<F>(2)).unwrap(), 65);
    let next = numbered::<F>(home.path(), "next", 5, 65);
    let error = writer.ingest(&[&next]).unwrap_err();
    assert!(matches!(error, Error::Overlap { given_by_other: (9, 65), .. }), "not committed yet: {error}");
}

fn damage_is_refused_and_leaves_nothing_behind<F: Fingerprint>() {
    let home = folder_in_memory();
    let (all, [one, two, three]) = thirds::<F>(5);
    let database = database(home.path(), &one);
    let (two, three) =
        (runs(home.path(), "two", &two, schema()), runs(home.path(), "three", &three, schema()));
    for (name, sound) in files(&three) {
        let file = three.join(&name);
        for at in (0..sound.len()).step_by(8191).chain([sound.len() - 1]) {
            let mut damaged = sound.clone();
            damaged[at] ^= 16;
            fs::write(&file, damaged).unwrap();
            let error = refused(&database, &[&two, &three]);
            assert_eq!(error.corruption().map(|damage| &damage.file), Some(&file), "{name} at {at}: {error}");
        }
        fs::write(&file, &sound[..sound.len() - 1]).unwrap();
        assert!(matches!(refused(&database, &[&two, &three]), Error::Corrupt(_)), "{name} cut short");
        fs::remove_file(&file).unwrap();
        let error = refused(&database, &[&two, &three]);
        assert!(matches!(error, Error::Corrupt(_) | Error::NotADatabase { .. }), "{name} missing: {error}");
        fs::write(&file, sound).unwrap();
    }
    holds(&database.snapshot().unwrap(), &one);
    ingest(&mut database.writer().unwrap(), &[&two, &three]);
    holds(&database.snapshot().unwrap(), &all);
}

#[test]
fn good_checksums_are_not_enough() {
    let home = folder_in_memory();
    let (_, [one, two, _]) = thirds::<u64>(9);
    let database = database(home.path(), &one);
    for (name, at, section) in [
        ("00000001.rows", 8192, "footer"),
        ("00000001-t1.seg", 8192 * 3, "footer"),
        ("00000001-t2.seg", 8192 * 2 - 1, "directory"),
    ] {
        let folder = runs(home.path(), &format!("for {name}"), &two, schema());
        let _restored = forge(&folder, name, |bytes| bytes[at] ^= 1);
        let error = refused(&database, &[&folder]);
        let damage = error.corruption().unwrap_or_else(|| panic!("{error}"));
        assert_eq!((&damage.file, damage.section), (&folder.join(name), section), "{error}");
    }
}

/// Makes a folder claim to hold fingerprints of 128 bits.
fn widen(folder: &Path) {
    let file = folder.join("MANIFEST");
    let mut bytes = fs::read(&file).unwrap();
    bytes[64..68].copy_from_slice(&128u32.to_le_bytes());
    let body = bytes.len() - 4;
    let crc = crc32fast::hash(&bytes[..body]).to_le_bytes();
    bytes[body..].copy_from_slice(&crc);
    fs::write(file, bytes).unwrap();
}

#[test]
fn runs_must_fit_the_database() {
    let home = folder_in_memory();
    let (_, [one, two, _]) = thirds::<u64>(6);
    let at = home.path();
    let database = database(at, &one);
    let other = runs(at, "other", &two, schema().layout(LayoutChoice::Rotations { tables: 3 }));
    let Error::Mismatch { path, found, expected } = refused(&database, &[&other]) else { panic!() };
    assert_eq!((&path, &*found, &*expected), (&other, "layout rotations:3", "layout rotations:4"));
    let auto = runs(at, "auto", &two, schema().layout(LayoutChoice::Auto));
    assert!(matches!(refused(&database, &[&auto]), Error::Mismatch { .. }));
    let wide = runs::<u64>(at, "wide", &[], schema());
    widen(&wide);
    assert!(matches!(refused(&database, &[&wide]), Error::Width { database: 128, requested: 64, .. }));
    let writable = at.join("writable");
    testkit::build(&writable, &two, schema());
    let error = refused(&database, &[&writable]);
    assert!(matches!(&error, Error::NotRunsOnly { path } if *path == writable), "{error}");
    assert!(matches!(refused(&database, &[&database.path().to_path_buf()]), Error::NotRunsOnly { .. }));
    assert!(matches!(refused(&database, &[&at.join("nowhere")]), Error::NotADatabase { .. }));

    let any_k = runs(at, "any-k", &two, schema().k(5));
    assert_eq!(ingest(&mut database.writer().unwrap(), &[&any_k]).0, 1, "rotations serve every k");
    let of_k = [LayoutChoice::Auto, LayoutChoice::Fast, LayoutChoice::Small];
    for layout in of_k.into_iter().chain([LayoutChoice::Blocks { blocks: 6, prefix: 2 }]) {
        let at = at.join(format!("with {layout}"));
        fs::create_dir(&at).unwrap();
        testkit::build(&at.join("db"), &one, schema().layout(layout));
        let database = options().open::<u64>(at.join("db")).unwrap();
        let other = runs(&at, "other", &two, schema().layout(layout).k(4));
        assert!(matches!(refused(&database, &[&other]), Error::Mismatch { .. }));
        let same = runs(&at, "same", &two, schema().layout(layout));
        assert_eq!(ingest(&mut database.writer().unwrap(), &[&same]).0, 1);
    }
}

fn readers_see_all_of_an_ingestion_or_nothing<F: Fingerprint>() {
    let home = folder_in_memory();
    let all = rows::<F>(Shape::Uniform, 6000, 7);
    let database = database(home.path(), &all[..1000]);
    let folders: Vec<PathBuf> = all[1000..]
        .chunks(500)
        .enumerate()
        .map(|(index, part)| runs(home.path(), &format!("{index}"), part, schema()))
        .collect();
    let old = database.snapshot().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut snapshot = database.snapshot().unwrap();
            let mut seen = BTreeSet::new();
            while !done.load(Ordering::Acquire) {
                snapshot = snapshot.refresh().unwrap();
                seen.insert(all_rows(&snapshot).len());
            }
            seen
        });
        let mut writer = database.writer().unwrap();
        for pair in folders.chunks(2) {
            ingest(&mut writer, &pair.iter().collect::<Vec<_>>());
        }
        writer.close().unwrap();
        done.store(true, Ordering::Release);
        let seen = reader.join().unwrap();
        assert!(seen.iter().all(|rows| rows % 1000 == 0), "{seen:?}");
    });
    assert_eq!(all_rows(&old).len(), 1000, "though its files may have gone");
    holds(&old.refresh().unwrap(), &all);
}

fn many_runs_at_once_are_merged_as_the_policy_says<F: Fingerprint>() {
    let home = folder_in_memory();
    let all = rows::<F>(Shape::Uniform, 4000, 8);
    let folders: Vec<PathBuf> = all
        .chunks(100)
        .enumerate()
        .map(|(index, part)| runs(home.path(), &format!("{index}"), part, schema()))
        .collect();
    let database = database::<F>(home.path(), &[]);
    let mut writer = database.writer().unwrap();
    assert_eq!(ingest(&mut writer, &folders.iter().collect::<Vec<_>>()), (40, 0, 4000));
    writer.close().unwrap();
    let snapshot = database.snapshot().unwrap();
    assert!(snapshot.stats().runs.len() <= 6);
    holds(&snapshot, &all);
}

fn identities_files(folder: &Path) -> usize {
    files(folder).iter().filter(|(name, _)| name.ends_with(".ings")).count()
}

/// The manifest listed every ingested run, and was full after 262,125 of them.
#[test]
fn regression_ingested_runs_do_not_fill_the_manifest() {
    let home = folder_in_memory();
    let database = database::<u64>(home.path(), &[]);
    let manifest = || fs::metadata(database.path().join("MANIFEST")).unwrap().len();
    let mut writer = database.writer().unwrap();
    let mut folders = Vec::new();
    for id in 0..40 {
        let row = Row { fingerprint: low::<u64>(id), id };
        folders.push(runs(home.path(), &format!("{id}"), &[row], schema()));
        assert_eq!(ingest(&mut writer, &[&folders[id as usize]]), (1, 0, 1));
        writer.compact().unwrap();
        assert!(identities_files(database.path()) <= 6, "{id}");
    }
    assert!(manifest() < 1024, "{}", manifest());
    assert!(identities_files(database.path()) > 1, "they are not rewritten each time");
    writer.close().unwrap();
    assert_eq!(database.verify().unwrap().damage, []);
    // Copies know the runs, too, and a damaged file is reported by its name.
    let (copy, repaired) = (home.path().join("copy"), home.path().join("repaired"));
    database.snapshot().unwrap().backup(&copy).unwrap();
    assert!(options().repair::<u64>(database.path(), &repaired, &schema()).unwrap().is_complete());
    assert_eq!(identities_files(&repaired), 1);
    let all: Vec<&PathBuf> = folders.iter().collect();
    for path in [database.path(), &copy, &repaired] {
        let mut writer = Database::<u64>::open(path).unwrap().writer().unwrap();
        assert_eq!(ingest(&mut writer, &all), (0, 40, 0), "{}", path.display());
    }
    let file = files(&copy).into_iter().find(|(name, _)| name.ends_with(".ings")).unwrap().0;
    let mut bytes = fs::read(copy.join(&file)).unwrap();
    bytes[8192] ^= 1;
    fs::write(copy.join(&file), bytes).unwrap();
    let damage = Database::<u64>::open(&copy).unwrap().verify().unwrap().damage;
    assert!(damage.len() == 1 && damage[0].file.ends_with(&file) && damage[0].section == "identities");
    let report = options().repair::<u64>(&copy, home.path().join("saved"), &schema()).unwrap();
    assert!(report.findings.iter().any(|finding| finding.file == file && finding.kind == FindingKind::Lost));
}

#[test]
fn regression_a_restart_deleted_keys_that_others_had_ingested() {
    let home = folder_in_memory();
    let schema = Schema::new().keys(KeyStorage::KeysAndTexts);
    let key = |name: &str, number: u64| format!("{name} {number}");
    let folder = |name: &str| {
        let path = home.path().join(name);
        let mut builder = options().build::<u64>(&path, &schema).unwrap().runs_only();
        // One is inserted again.
        for number in (0..20).chain([7]) {
            let key = key(name, number);
            builder.push(NewRow { text: b"text", ..NewRow::keyed(number << 9, &key) }).unwrap();
        }
        builder.finish().unwrap();
        path
    };
    let database = options().create::<u64>(home.path().join("db"), &schema).unwrap();
    let mut writer = database.writer().unwrap();
    for number in 0..30 {
        writer.insert(NewRow::keyed(number, &key("job", number))).unwrap();
    }
    let job = 0..writer.next_sequence();
    writer.commit().unwrap();
    writer.ingest(&[folder("a"), folder("b")]).unwrap();
    assert!(writer.next_sequence() > job.end, "a later range has none of what was ingested");
    let next = writer.next_sequence();
    writer.insert(NewRow::keyed(1, "later")).unwrap();
    writer.commit().unwrap();
    writer.ingest(&[folder("c")]).unwrap();
    let snapshot = writer.snapshot().unwrap();
    let mut sequences = BTreeSet::new();
    for row in all_rows(&snapshot) {
        for key in snapshot.keys_of(row).unwrap() {
            assert!(sequences.insert(key.sequence), "{key:?}");
            assert_eq!(key.text == b"text", !key.key.starts_with("job") && key.key != "later", "{key:?}");
        }
    }
    assert_eq!(sequences.len(), 30 + 3 * 20 + 1);
    assert_eq!(snapshot.verify().unwrap().damage, []);
    let later = next..next + 1;
    writer.delete_keys_between(std::slice::from_ref(&later)).unwrap();
    assert_eq!(all_rows(&writer.snapshot().unwrap()).len(), 30 + 3 * 20);
    writer.delete_keys_between(std::slice::from_ref(&job)).unwrap();
    writer.compact().unwrap();
    assert_eq!(all_rows(&writer.snapshot().unwrap()).len(), 3 * 20);
    assert_eq!(database.verify().unwrap().damage, []);
}

/// The finalizer of MurmurHash3.
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 33).wrapping_mul(0xff51afd7ed558ccd);
    x = (x ^ x >> 33).wrapping_mul(0xc4ceb9fe1a85ec53);
    x ^ x >> 33
}

#[test]
fn regression_sequence_numbers_of_a_hostile_folder_do_not_overflow() {
    let home = folder_in_memory();
    let schema = Schema::new().keys(KeyStorage::Keys);
    let runs = home.path().join("runs");
    let mut builder = options().build::<u64>(&runs, &schema).unwrap().runs_only();
    builder.push(NewRow::keyed(7u64, "foreign")).unwrap();
    builder.finish().unwrap();
    let name =
        std::fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = name.into_iter().find(|name| name.ends_with(".keys")).unwrap();
    let mut sums = (0, 0);
    std::mem::forget(forge(&runs, &name, |bytes| {
        // Header, key_ids, ends, records: the sequence number follows the fingerprint.
        bytes[3 * 8192 + 8..][..8].fill(0xff);
        let footer = bytes.len() - 8192;
        let read = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let h = read(footer + 32);
        let empty = 0x2d06_8005_38d3_94c2_u64;
        assert_eq!(read(footer + 48), mix(mix(mix(h)).wrapping_add(empty)));
        let value = mix(mix(mix(h.wrapping_add(u64::MAX)).wrapping_add(u64::MAX)).wrapping_add(empty));
        sums = (read(footer + 48), value);
        bytes[footer + 48..][..8].copy_from_slice(&value.to_le_bytes());
    }));
    let path = runs.join("MANIFEST");
    let mut manifest = std::fs::read(&path).unwrap();
    let at = manifest.windows(8).position(|bytes| bytes == sums.0.to_le_bytes()).unwrap();
    manifest[at..at + 8].copy_from_slice(&sums.1.to_le_bytes());
    let end = manifest.len() - 4;
    let crc = crc32fast::hash(&manifest[..end]).to_le_bytes();
    manifest[end..].copy_from_slice(&crc);
    std::fs::write(&path, manifest).unwrap();
    let database = options().create::<u64>(home.path().join("db"), &schema).unwrap();
    let mut writer = database.writer().unwrap();
    writer.insert(NewRow::keyed(1, "own")).unwrap();
    assert!(matches!(writer.ingest(&[&runs]), Err(Error::Corrupt(_))));
    assert_eq!(all_rows(&writer.snapshot().unwrap()).len(), 1);
}
