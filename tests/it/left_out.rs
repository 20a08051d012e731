//! What a database remembers of documents that were left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use nearprint::internal::file::write_all_at;
use nearprint::{
    Database, Error, KeyStorage, LeftOut, LeftOutRows, NewRow, Options, Remember, Schema, Writer,
};

const BOTH: [Remember; 2] = [Remember::Hashes, Remember::Keys];

fn schema(remember: Remember) -> Schema {
    Schema::new().keys(KeyStorage::Keys).remember(remember)
}

/// A database that keeps `kept`, with ten documents that two jobs left out because of it.
fn database(path: &Path, remember: Remember) -> Database<u64> {
    let database = Database::create(path, &schema(remember)).unwrap();
    let mut writer = database.writer().unwrap();
    writer.insert(NewRow::keyed(7, "kept")).unwrap();
    for (number, similarity) in
        [0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.999_999, 1.0, 0.0, 0.5].into_iter().enumerate()
    {
        let job = 1 + number as u64 % 2;
        writer.remember_left_out(&format!("out{number}"), "kept", similarity, job).unwrap();
    }
    writer.close().unwrap();
    database
}

fn all(path: &Path) -> Vec<LeftOut> {
    let mut found = Vec::new();
    let rows = LeftOutRows::open(path, &Options::new()).unwrap().unwrap();
    rows.visit(|left_out| {
        found.push(left_out);
        Ok::<(), Error>(())
    })
    .unwrap();
    found
}

fn find(path: &Path, key: &str) -> Option<LeftOut> {
    LeftOutRows::open(path, &Options::new()).unwrap().unwrap().find(key).unwrap()
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).filter(|entry| entry.path().is_file());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn a_document_that_was_left_out_is_found_by_its_key() {
    for remember in BOTH {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("seen.np");
        let database = database(&path, remember);
        assert_eq!(database.writer().unwrap().remembers(), remember);
        assert_eq!(all(&path).len(), 10);
        let rows = LeftOutRows::open(&path, &Options::new()).unwrap().unwrap();
        assert_eq!(rows.rows(), 10);
        assert_eq!(rows.count_of(&["out2", "out5", "kept", "none"]).unwrap(), 2);
        let (whole, rest) = (database.verify().unwrap(), database.snapshot().unwrap().verify().unwrap());
        let memory = Database::<u128>::open(path.join("left-out")).unwrap().verify().unwrap();
        assert_eq!((whole.files, whole.bytes), (rest.files + memory.files, rest.bytes + memory.bytes));
        let found = find(&path, "out2").unwrap();
        assert!((found.similarity - 0.8).abs() < 1e-5 && found.job == 1, "{found:?}");
        assert_eq!(found.key.as_deref(), (remember == Remember::Keys).then_some("out2"));
        // The kept document is known by its id.
        assert_eq!(database.snapshot().unwrap().ids_of_key("kept").unwrap(), [found.kept]);
        assert!(find(&path, "out6").unwrap().similarity < 1.0);
        assert!((find(&path, "out7").unwrap().similarity - 1.0).abs() < f64::EPSILON);
        assert_eq!(find(&path, "kept"), None);
        // It is left out once more, because of another one.
        let mut writer = database.writer().unwrap();
        writer.remember_left_out("out2", "other", 0.9, 3).unwrap();
        writer.commit().unwrap();
        let again = find(&path, "out2").unwrap();
        assert!(again.job == 3 && again.kept != found.kept && all(&path).len() == 11, "{again:?}");
        // Without that job, the earlier answer is there again.
        assert_eq!(writer.forget_left_out(&[3]).unwrap(), 1);
        writer.commit().unwrap();
        assert_eq!((find(&path, "out2"), all(&path).len()), (Some(found), 10));
        // Without jobs, the last answer counts, whatever the ids are.
        for (kept, similarity) in [("z", 0.5), ("other", 0.6), ("a", 0.8), ("kept", 0.9)] {
            writer.remember_left_out("out2", kept, similarity, 0).unwrap();
            writer.commit().unwrap();
            let last = find(&path, "out2").unwrap();
            assert!(
                (last.similarity - similarity).abs() < 1e-4 && all(&path).len() == 10,
                "{kept}: {last:?}"
            );
        }
    }
}

#[test]
fn a_database_without_this_memory_takes_it_and_stores_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("seen.np");
    let mut writer: Writer<u64> =
        Database::create(&path, &schema(Remember::Nothing)).unwrap().writer().unwrap();
    assert_eq!(writer.remembers(), Remember::Nothing);
    writer.remember_left_out("out", "kept", 0.8, 1).unwrap();
    assert_eq!(writer.forget_left_out(&[1]).unwrap(), 0);
    writer.close().unwrap();
    assert!(LeftOutRows::open(&path, &Options::new()).unwrap().is_none());
    assert!(!path.join("left-out").exists());
}

#[test]
fn uncommitted_memories_are_discarded_with_everything_else() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("seen.np");
    let database = database(&path, Remember::Hashes);
    let mut writer = database.writer().unwrap();
    writer.remember_left_out("new", "kept", 0.8, 3).unwrap();
    writer.discard().unwrap();
    writer.remember_left_out("newer", "kept", 0.8, 3).unwrap();
    writer.commit().unwrap();
    drop(writer);
    assert_eq!((find(&path, "new"), find(&path, "newer").map(|found| found.job)), (None, Some(3)));
}

#[test]
fn memories_are_forgotten_by_job_by_key_and_by_prefix() {
    for remember in BOTH {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("seen.np");
        let mut writer = database(&path, remember).writer().unwrap();
        assert_eq!(writer.forget_left_out(&[1, 7]).unwrap(), 5);
        assert_eq!(writer.delete_keys(&["out1", "unknown", "kept"]).unwrap(), 2);
        writer.commit().unwrap();
        assert_eq!((find(&path, "out0"), find(&path, "out1"), all(&path).len()), (None, None, 4));
        // Only keys have prefixes.
        let of_prefix = if remember == Remember::Keys { 4 } else { 0 };
        assert_eq!(writer.delete_key_prefix("out").unwrap(), of_prefix);
        writer.compact().unwrap();
        writer.close().unwrap();
        assert_eq!(all(&path).len() as u64, 4 - of_prefix);
        if remember == Remember::Keys {
            let bytes = files(&path.join("left-out")).into_values().flatten().collect::<Vec<u8>>();
            // The manifest names the recipe `left-out`, and goes on with bytes of any value.
            let is_key =
                |part: &[u8]| part[0] != b'-' && part[1..].starts_with(b"out") && part[4].is_ascii_digit();
            assert!(!bytes.windows(5).any(is_key), "a key is still there");
        }
    }
}

#[test]
fn memories_expire_as_rows_do() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("seen.np");
    let schema = schema(Remember::Hashes).expire_after(Duration::from_millis(300), None).unwrap();
    let mut writer = Database::<u64>::create(&path, &schema).unwrap().writer().unwrap();
    writer.remember_left_out("out", "kept", 0.8, 1).unwrap();
    writer.close().unwrap();
    std::thread::sleep(Duration::from_millis(310));
    assert_eq!(all(&path), []);
}

/// What was left out showed that the source was restored, after the rows of the database had been replaced.
#[test]
fn regression_a_follower_takes_over_nothing_of_a_restored_source() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let before = database(&at("seen.np"), Remember::Keys);
    before.snapshot().unwrap().backup(at("saved.np")).unwrap();
    let mut writer = before.writer().unwrap();
    writer.remember_left_out("lost", "kept", 0.8, 3).unwrap();
    writer.close().unwrap();
    before.follow(at("second.np")).unwrap();
    fs::remove_dir_all(at("seen.np")).unwrap();
    fs::rename(at("saved.np"), at("seen.np")).unwrap();
    // No run of the rows is an earlier one, so they do not show that the database was restored.
    let restored = Database::<u64>::open(at("seen.np")).unwrap();
    for number in 0..4 {
        let mut writer = restored.writer().unwrap();
        writer.insert(NewRow::keyed(number, &format!("new {number}"))).unwrap();
        writer.compact().unwrap();
        writer.close().unwrap();
    }
    let (rows, left_out) = (restored.snapshot().unwrap().stats().rows, all(&at("second.np")));
    let refused = restored.follow(at("second.np"));
    assert!(matches!(refused, Err(Error::Diverged { path, .. }) if path == at("second.np")));
    let second = Database::<u64>::open(at("second.np")).unwrap().snapshot().unwrap();
    assert_eq!((second.stats().rows, rows), (1, 5));
    assert_eq!(all(&at("second.np")), left_out);
}

#[test]
fn copies_and_followers_have_the_memories() {
    for remember in BOTH {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let database = database(&at("seen.np"), remember);
        let expected = all(&at("seen.np"));
        let snapshot = database.snapshot().unwrap();
        snapshot.backup(at("copy.np")).unwrap();
        assert_eq!(all(&at("copy.np")), expected);
        let shared = snapshot.backup_with(at("again.np"), Some(at("copy.np"))).unwrap();
        let runs = database.snapshot().unwrap().stats().bytes;
        assert!(shared > runs, "{shared} of {runs}");
        assert_eq!(all(&at("again.np")), expected);

        let mut follower = database.follow(at("second.np")).unwrap();
        assert_eq!(all(&at("second.np")), expected);
        let mut writer = database.writer().unwrap();
        writer.remember_left_out("later", "kept", 0.8, 9).unwrap();
        writer.commit().unwrap();
        assert!(follower.update().unwrap().changed);
        assert_eq!(find(&at("second.np"), "later").map(|found| found.job), Some(9));
        assert!(!follower.update().unwrap().changed);
        drop(follower);
        drop(writer);
        let mut follower = database.follow(at("second.np")).unwrap();
        assert!(!follower.update().unwrap().changed);
        drop(follower);
        // It follows no more.
        let inner = at("second.np/left-out/FOLLOWER");
        fs::remove_file(at("second.np/FOLLOWER")).unwrap();
        // Another file of that name is not removed.
        let note = fs::read(&inner).unwrap();
        fs::write(&inner, b"a list of followers").unwrap();
        assert!(Database::<u64>::open(at("second.np")).unwrap().writer().is_err() && inner.exists());
        fs::write(&inner, note).unwrap();
        let mut writer = Database::<u64>::open(at("second.np")).unwrap().writer().unwrap();
        writer.remember_left_out("own", "kept", 0.8, 10).unwrap();
        writer.close().unwrap();
        assert_eq!(find(&at("second.np"), "own").map(|found| found.job), Some(10));
        // Each is whole, and the copy is a database of its own.
        for name in ["seen.np", "copy.np", "again.np", "second.np"] {
            assert_eq!(Database::<u64>::open(at(name)).unwrap().verify().unwrap().damage, [], "{name}");
        }
        Database::<u64>::open(at("copy.np")).unwrap().writer().unwrap().close().unwrap();
    }
}

#[test]
#[cfg(unix)]
fn regression_only_root_could_enter_the_folder_of_memories() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let database = database(&at("seen.np"), Remember::Keys);
    let snapshot = database.snapshot().unwrap();
    snapshot.backup(at("copy.np")).unwrap();
    snapshot.backup_with(at("again.np"), Some(at("copy.np"))).unwrap();
    drop(database.follow(at("second.np")).unwrap());
    Options::new().repair::<u64>(at("seen.np"), at("saved.np"), &Schema::new()).unwrap();
    for name in ["seen.np", "copy.np", "again.np", "second.np", "saved.np"] {
        let (outer, inner) = (at(name), at(name).join("left-out"));
        assert_eq!(mode(&inner), mode(&outer), "{name}");
        assert_eq!(mode(&inner) & 0o700, 0o700, "{name}");
        for folder in [outer, inner] {
            let manifest = mode(&folder.join("MANIFEST"));
            assert_eq!(manifest & 0o111, 0, "{name}");
        }
    }
}

#[test]
fn damaged_memories_are_found_and_repaired() {
    let home = tempfile::tempdir().unwrap();
    let (path, saved) = (home.path().join("seen.np"), home.path().join("saved.np"));
    let database = database(&path, Remember::Hashes);
    let expected = all(&path);
    let before = database.verify().unwrap();
    let mut files = fs::read_dir(path.join("left-out")).unwrap().map(|entry| entry.unwrap().path());
    let rows = files.find(|file| file.extension().is_some_and(|end| end == "seg")).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&rows).unwrap();
    write_all_at(&file, b"damage", 8192 + 100).unwrap();
    let after = database.verify().unwrap();
    assert_eq!((before.damage.len(), after.damage.len()), (0, 1));
    assert!(after.damage[0].file.starts_with(path.join("left-out")), "{:?}", after.damage[0]);
    assert_eq!(after.files, before.files);
    let report = Options::new().repair::<u64>(&path, &saved, &Schema::new()).unwrap();
    assert!(
        report.findings.iter().any(|finding| finding.file.starts_with("left-out/")),
        "{:?}",
        report.findings
    );
    assert!(report.made && all(&saved).len() <= expected.len());
    // Without its manifest, all is found in the files.
    fs::write(path.join("left-out/MANIFEST"), b"").unwrap();
    assert_eq!(database.verify().unwrap().damage.len(), 1);
}

/// A folder without its manifest was taken for somebody else's, although a log of memories was in it.
#[test]
fn regression_memories_in_a_log_alone_are_missed_without_their_manifest() {
    let home = tempfile::tempdir().unwrap();
    let (path, saved) = (home.path().join("seen.np"), home.path().join("saved.np"));
    let database: Database<u64> = Database::create(&path, &schema(Remember::Keys)).unwrap();
    let mut writer = database.writer().unwrap();
    writer.remember_left_out("out", "kept", 0.8, 1).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let inner = path.join("left-out");
    assert!(files(&inner).keys().all(|name| !name.ends_with(".seg")));
    fs::remove_file(inner.join("MANIFEST")).unwrap();
    let names_it = |error: Error| {
        assert!(matches!(&error, Error::Corrupt(damage) if damage.file == inner.join("MANIFEST")), "{error}");
    };
    let damage = database.verify().unwrap().damage;
    assert!(matches!(&damage[..], [one] if one.file == inner.join("MANIFEST")), "{damage:?}");
    names_it(LeftOutRows::open(&path, &Options::new()).err().unwrap());
    names_it(database.writer().err().unwrap());
    names_it(database.snapshot().unwrap().backup(home.path().join("copy.np")).err().unwrap());
    let report = Options::new().repair::<u64>(&path, &saved, &Schema::new()).unwrap();
    assert!(!report.is_complete(), "{report:?}");
    assert!(report.findings.iter().any(|finding| finding.file.starts_with("left-out/")), "{report:?}");
}

#[test]
fn repair_saves_all_of_sound_memories() {
    let home = tempfile::tempdir().unwrap();
    let (path, saved) = (home.path().join("seen.np"), home.path().join("saved.np"));
    for remember in BOTH {
        let _ = fs::remove_dir_all(&path);
        let _ = fs::remove_dir_all(&saved);
        database(&path, remember);
        Options::new().repair::<u64>(&path, &saved, &Schema::new()).unwrap();
        assert_eq!(all(&saved), all(&path));
    }
}

/// A folder can be moved to any place. What somebody has moved there is not what was left out.
#[test]
fn another_database_of_that_name_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let (path, inner) = (home.path().join("seen.np"), home.path().join("seen.np/left-out"));
    let database: Database<u64> = Database::create(&path, &schema(Remember::Nothing)).unwrap();
    let own =
        Database::<u128>::create(home.path().join("own.np"), &Schema::new().keys(KeyStorage::Keys)).unwrap();
    let mut writer = own.writer().unwrap();
    writer.insert(NewRow::keyed(7, "mine")).unwrap();
    writer.close().unwrap();
    let leave = |writer: &mut Writer<u64>| {
        assert_eq!(writer.remembers(), Remember::Nothing);
        writer.remember_left_out("mine", "kept", 0.8, 0).unwrap();
        assert_eq!(writer.forget_left_out(&[7]).unwrap(), 0);
        assert_eq!(writer.delete_keys(&["mine"]).unwrap(), 0);
        writer.compact().unwrap();
    };
    fs::rename(home.path().join("own.np"), &inner).unwrap();
    let before = files(&inner);
    leave(&mut database.writer().unwrap());
    assert!(files(&inner) == before);
    assert!(LeftOutRows::open(&path, &Options::new()).unwrap().is_none());
    let saved = home.path().join("saved.np");
    Options::new().repair::<u64>(&path, &saved, &Schema::new()).unwrap();
    assert!(!saved.join("left-out").exists());
    #[cfg(unix)]
    {
        fs::rename(&inner, home.path().join("own.np")).unwrap();
        std::os::unix::fs::symlink("../own.np", &inner).unwrap();
        leave(&mut database.writer().unwrap());
        assert!(files(&home.path().join("own.np")) == before);
    }
}

#[test]
fn a_folder_of_that_name_with_anything_else_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("seen.np");
    let database: Database<u64> = Database::create(&path, &schema(Remember::Nothing)).unwrap();
    fs::create_dir(path.join("left-out")).unwrap();
    fs::write(path.join("left-out/notes.txt"), b"mine").unwrap();
    let mut writer = database.writer().unwrap();
    assert_eq!(writer.remembers(), Remember::Nothing);
    writer.insert(NewRow::keyed(7, "kept")).unwrap();
    writer.close().unwrap();
    database.snapshot().unwrap().backup(home.path().join("copy.np")).unwrap();
    assert!(!home.path().join("copy.np/left-out").exists());
    assert_eq!(database.verify().unwrap().damage, []);
    assert_eq!(fs::read(path.join("left-out/notes.txt")).unwrap(), b"mine");
}
