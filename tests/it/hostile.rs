//! Folders that somebody else changes, or has prepared.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use nearprint::{Database, Error, Options, Row, Schema, Writer};
use testkit::files::{can_link, give_to, mode, owner, symlink};
use testkit::{Need, Random, all_rows, insert_all, short_or_full, skip};

fn row(number: u64) -> Row<u64> {
    Row { fingerprint: number << 20, id: number }
}

/// A database at `path` that stores one row, and its writer.
fn begin(path: &Path) -> Writer<u64> {
    let options = Options::new().memtable_rows(100);
    let mut writer = options.create::<u64>(path, &Schema::new()).unwrap().writer().unwrap();
    insert_all(&mut writer, &[row(1)]).unwrap();
    writer.commit().unwrap();
    writer
}

/// What may happen to a database under its writer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Moved,
    Removed,
    LockReplaced,
}

fn change(path: &Path, change: Change) {
    match change {
        Change::Moved => fs::rename(path, path.with_extension("old")).unwrap(),
        Change::Removed => fs::remove_dir_all(path).unwrap(),
        Change::LockReplaced => return fs::remove_file(path.join("LOCK")).unwrap(),
    }
    Database::<u64>::create(path, &Schema::new()).unwrap();
}

type Work = fn(&mut Writer<u64>) -> nearprint::Result<()>;

#[test]
#[cfg_attr(windows, ignore = "Windows neither moves nor removes a database in use")]
fn regression_a_writer_whose_database_was_replaced_changes_nothing_and_says_so() {
    let works: [(&str, Work); 6] = [
        ("commit", |writer| insert_all(writer, &[row(7)]).and_then(|()| writer.commit().map(drop))),
        ("flush", |writer| insert_all(writer, &[row(7)]).and_then(|()| writer.flush())),
        ("a full memtable", |writer| {
            insert_all(writer, &(10..500).map(row).collect::<Vec<_>>())
                .and_then(|()| writer.commit().map(drop))
        }),
        ("compact", |writer| writer.compact()),
        ("set_recipe", |writer| writer.set_recipe("mine")),
        ("set_checkpoint", |writer| writer.set_checkpoint(b"here").and_then(|()| writer.commit().map(drop))),
    ];
    for changed in [Change::Moved, Change::Removed, Change::LockReplaced] {
        for (name, work) in works {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("x.np");
            let mut old = begin(&path);
            change(&path, changed);
            let mut new = Database::<u64>::open(&path).unwrap().writer().unwrap();
            let numbers = if changed == Change::LockReplaced { 1..51 } else { 2..51 };
            insert_all(&mut new, &(2..51).map(row).collect::<Vec<_>>()).unwrap();
            new.commit().unwrap();

            let result = work(&mut old);
            assert!(matches!(result, Err(Error::Replaced { .. })), "{changed:?}, {name}: {result:?}");
            let result = old.close();
            assert!(matches!(result, Err(Error::Replaced { .. })), "{changed:?}, {name}: {result:?}");

            new.close().unwrap();
            let database = Database::<u64>::open(&path).unwrap();
            assert_eq!(database.verify().unwrap().damage, [], "{changed:?}, {name}");
            let expected: Vec<Row<u64>> = numbers.map(row).collect();
            assert_eq!(all_rows(&database.snapshot().unwrap()), expected, "{changed:?}, {name}");
            if changed == Change::Moved {
                let moved = Database::<u64>::open(path.with_extension("old")).unwrap();
                assert_eq!(all_rows(&moved.snapshot().unwrap()), [row(1)], "what was committed");
                moved.writer().unwrap().close().unwrap();
            }
        }
    }
}

#[test]
#[cfg_attr(windows, ignore = "Windows neither moves nor removes a database in use")]
fn regression_a_background_merge_does_not_touch_the_database_that_replaced_its_own() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.np");
    let mut old = begin(&path);
    for batch in 1..12 {
        insert_all(&mut old, &(batch * 100..batch * 100 + 99).map(row).collect::<Vec<_>>()).unwrap();
        old.flush().unwrap();
    }
    change(&path, Change::Moved);
    let mut new = Database::<u64>::open(&path).unwrap().writer().unwrap();
    insert_all(&mut new, &[row(1)]).unwrap();
    new.flush().unwrap();
    let names = |path: &Path| {
        let mut names: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names(&path);
    assert!(matches!(old.wait_for_merges(), Err(Error::Replaced { .. })));
    drop(old);
    assert_eq!(names(&path), before);
    assert_eq!(all_rows(&new.snapshot().unwrap()), [row(1)]);
}

/// A handle answered from whatever database stood at its path.
#[test]
#[cfg_attr(windows, ignore = "Windows neither moves nor removes a database in use")]
fn regression_a_handle_is_one_database() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.np");
    begin(&path).close().unwrap();
    let database = Database::<u64>::open(&path).unwrap();
    let old = database.snapshot().unwrap();
    let replaced = |result: Result<(), Error>| match result {
        Err(Error::Replaced { path: named }) => assert_eq!(named, path),
        other => panic!("{other:?}"),
    };
    let put_aside = |name: &str| fs::rename(&path, home.path().join(name)).unwrap();
    put_aside("away");
    let same_width = || drop(begin(&path));
    let other_width = || drop(Database::<u128>::create(&path, &Schema::new()).unwrap());
    for (name, make) in [("same", &same_width as &dyn Fn()), ("other", &other_width)] {
        make();
        let before: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        replaced(old.refresh().map(drop));
        replaced(database.snapshot().map(drop));
        replaced(database.writer().map(drop));
        replaced(database.verify().map(drop));
        assert_eq!(fs::read_dir(&path).unwrap().count(), before.len(), "{name}: nothing is touched");
        assert_eq!(all_rows(&old), [row(1)], "a failed refresh leaves the snapshot as it was");
        put_aside(name);
    }
    assert!(matches!(old.refresh(), Err(Error::NotADatabase { .. })));
    fs::rename(home.path().join("away"), &path).unwrap();
    assert_eq!(all_rows(&old.refresh().unwrap()), [row(1)]);
    insert_all(&mut database.writer().unwrap(), &[row(2)]).unwrap();
}

/// A backup has the id of its database. Put in its place, everything is read from it, also where its
/// manifest and its log have the generation and the length of those that were read before.
#[test]
#[cfg_attr(windows, ignore = "Windows neither moves nor removes a database in use")]
fn regression_a_backup_in_the_place_of_its_database_is_read_anew() {
    let home = tempfile::tempdir().unwrap();
    let (path, copy) = (home.path().join("x.np"), home.path().join("copy.np"));
    begin(&path).close().unwrap();
    let database = Database::<u64>::open(&path).unwrap();
    database.snapshot().unwrap().backup(&copy).unwrap();
    for (path, own) in [(&path, 2), (&copy, 3)] {
        let mut writer = Database::<u64>::open(path).unwrap().writer().unwrap();
        if own == 3 {
            writer.set_recipe("of the copy").unwrap();
        } else {
            writer.flush().unwrap();
            writer.set_recipe("of the database").unwrap();
        }
        insert_all(&mut writer, &[row(own)]).unwrap();
        writer.commit().unwrap();
    }
    let old = database.snapshot().unwrap();
    assert_eq!((all_rows(&old), old.recipe()), (vec![row(1), row(2)], Some("of the database")));
    fs::rename(&path, home.path().join("away")).unwrap();
    fs::rename(&copy, &path).unwrap();
    let new = old.refresh().unwrap();
    assert_eq!(new.stats().generation, old.stats().generation);
    assert_eq!((all_rows(&new), new.recipe()), (vec![row(1), row(3)], Some("of the copy")));
    assert_eq!(all_rows(&old), [row(1), row(2)]);
}

/// A file that a hostile folder points to.
fn victim(home: &Path) -> PathBuf {
    let path = home.join("victim");
    fs::write(&path, "precious data, not a process id").unwrap();
    path
}

fn check_victim(path: &Path) {
    assert_eq!(fs::read_to_string(path).unwrap(), "precious data, not a process id");
}

#[test]
fn regression_lock_is_no_link_and_no_pipe() {
    if !can_link() {
        return skip(Need::Links, "regression_lock_is_no_link_and_no_pipe", "links in place of files");
    }
    let home = tempfile::tempdir().unwrap();
    let (path, victim) = (home.path().join("x.np"), victim(home.path()));
    begin(&path).close().unwrap();
    let lock = path.join("LOCK");
    let write = || Database::<u64>::open(&path).unwrap().writer().map(drop);
    // No damage of the data, and nothing to repair.
    let is_refused = |what: &str| {
        let refused = write();
        let message = refused.as_ref().unwrap_err().to_string();
        matches!(refused, Err(Error::Io { .. }))
            && message.contains(&format!("LOCK: it is {what}; remove it"))
    };

    fs::remove_file(&lock).unwrap();
    symlink(&victim, &lock).unwrap();
    assert!(is_refused("a symbolic link"));
    fs::remove_file(&lock).unwrap();
    symlink(home.path().join("not there"), &lock).unwrap();
    assert!(is_refused("a symbolic link"));
    assert!(!home.path().join("not there").exists());
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    assert!(is_refused("a folder"));
    fs::remove_dir(&lock).unwrap();

    // Another name of the victim: it is locked for a moment, and nothing else.
    fs::hard_link(&victim, &lock).unwrap();
    write().unwrap();
    check_victim(&victim);
}

#[test]
fn regression_staging_follows_no_link() {
    if !can_link() {
        return skip(Need::Links, "regression_staging_follows_no_link", "links in place of files");
    }
    let home = tempfile::tempdir().unwrap();
    let (path, building) = (home.path().join("x.np"), home.path().join("x.np.building"));
    let victim = victim(home.path());
    let create = || Database::<u64>::create(&path, &Schema::new()).map(drop);

    fs::create_dir(&building).unwrap();
    symlink(&victim, building.join("LOCK")).unwrap();
    assert!(matches!(create(), Err(Error::NotStaging { path, .. }) if path == building));
    check_victim(&victim);
    fs::remove_dir_all(&building).unwrap();

    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("00000001.rows"), "mine").unwrap();
    symlink(&elsewhere, &building).unwrap();
    let refused = create();
    assert!(matches!(&refused, Err(Error::NotStaging { path, .. }) if *path == building), "{refused:?}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
    fs::remove_file(&building).unwrap();

    fs::create_dir(&building).unwrap();
    fs::write(building.join("thesis.txt"), "mine").unwrap();
    assert!(matches!(create(), Err(Error::NotStaging { path, .. }) if path == building));
    let names: Vec<_> = fs::read_dir(&building).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["thesis.txt"], "not even a marker was added");
}

#[test]
#[cfg_attr(windows, ignore = "folders of Windows have no number of a user")]
fn regression_staging_of_another_user_stays() {
    let home = tempfile::tempdir().unwrap();
    let building = home.path().join("x.np.building");
    fs::create_dir(&building).unwrap();
    let nobody = 65534;
    if let Err(error) = give_to(&building, nobody) {
        return skip(Need::Root, "regression_staging_of_another_user_stays", &error.to_string());
    }
    Database::<u64>::create(home.path().join("x.np"), &Schema::new()).unwrap();
    assert_eq!(owner(&building), nobody);
    assert_eq!(fs::read_dir(&building).unwrap().count(), 0);
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no mode bits")]
fn regression_only_the_owner_can_read_a_database_before_it_is_published() {
    let home = tempfile::tempdir().unwrap();
    let (path, building) = (home.path().join("x.np"), home.path().join("x.np.building"));
    let options = Options::new().memory_bytes(1 << 20);
    let mut builder = options.build::<u64>(&path, &Schema::new()).unwrap();
    for number in 0..200_000 {
        builder.push(row(number).fingerprint).unwrap();
    }
    assert_eq!(mode(&building), 0o700);
    let files: Vec<PathBuf> = fs::read_dir(&building).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.iter().any(|file| file.extension().is_some_and(|end| end == "tmp")), "{files:?}");
    assert!(files.iter().all(|file| mode(file) == 0o600), "{files:?}");
    builder.finish().unwrap();

    // What the umask of this process gives to new files.
    let (folder, file) = (home.path().join("folder"), home.path().join("file"));
    fs::create_dir(&folder).unwrap();
    fs::write(&file, "").unwrap();
    assert_eq!(mode(&path), mode(&folder));
    for entry in fs::read_dir(&path).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), mode(&file));
    }
}

#[test]
fn regression_a_link_in_place_of_a_file_is_damage() {
    if !can_link() {
        return skip(
            Need::Links,
            "regression_a_link_in_place_of_a_file_is_damage",
            "links in place of files",
        );
    }
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.np");
    let mut writer = begin(&path);
    writer.flush().unwrap();
    writer.close().unwrap();
    for name in ["00000001.rows", "MANIFEST"] {
        let (file, moved) = (path.join(name), home.path().join(name));
        fs::rename(&file, &moved).unwrap();
        symlink(&moved, &file).unwrap();
        let opened = Database::<u64>::open(&path).and_then(|database| database.snapshot()).map(drop);
        assert!(matches!(opened, Err(Error::Corrupt(_))), "{name}: {opened:?}");
        fs::remove_file(&file).unwrap();
        fs::rename(&moved, &file).unwrap();
    }
    assert_eq!(all_rows(&Database::<u64>::open(&path).unwrap().snapshot().unwrap()), [row(1)]);
}

#[test]
fn a_file_that_another_program_put_there_is_never_removed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.np");
    let mut writer = begin(&path);
    // The next run of this writer would have this name.
    fs::write(path.join("00000001.rows"), "mine").unwrap();
    assert!(matches!(writer.flush(), Err(Error::Io { .. })));
    let is_there = || fs::read(path.join("00000001.rows")).unwrap() == b"mine";
    assert!(is_there());
    drop(writer);
    // The next writer does not use its number.
    assert_eq!(
        all_rows(&Database::<u64>::open(&path).unwrap().writer().unwrap().snapshot().unwrap()),
        [row(1)]
    );
    assert!(is_there());
}

/// A log with a hole of zeros at its end.
fn with_sparse_log(path: &Path, len_bytes: u64) {
    drop(begin(path));
    let log = fs::File::options().write(true).open(path.join("wal-00000001.log")).unwrap();
    log.set_len(len_bytes).unwrap();
}

#[test]
#[cfg_attr(windows, ignore = "Windows fills the holes of files")]
fn regression_a_log_of_absurd_length_is_damage_and_not_allocated() {
    let home = tempfile::tempdir().unwrap();
    for len_bytes in [8 << 30, 1 << 40] {
        let (path, repaired) = (home.path().join("x.np"), home.path().join("repaired.np"));
        with_sparse_log(&path, len_bytes);
        let database = Database::<u64>::open(&path).unwrap();
        for opened in [database.snapshot().map(drop), database.writer().map(drop)] {
            let Err(Error::Corrupt(damage)) = opened else { panic!("{len_bytes}: {opened:?}") };
            assert_eq!(damage.section, "length");
            assert_eq!(damage.found, format!("{len_bytes} bytes"));
        }
        assert_eq!(database.verify().unwrap().damage.len(), 1);
        if len_bytes > 8 << 30 {
            // Its repair reads as much as the others.
            continue;
        }
        let report = Options::new().repair::<u64>(&path, &repaired, &Schema::new()).unwrap();
        assert!(report.findings.iter().any(|finding| finding.file == "wal-00000001.log"), "{report:?}");
        assert_eq!(all_rows(&Database::<u64>::open(&repaired).unwrap().snapshot().unwrap()), [row(1)]);
        fs::remove_dir_all(&path).unwrap();
        fs::remove_dir_all(&repaired).unwrap();
    }
}

#[test]
fn a_hole_at_the_end_of_a_log_is_an_unfinished_commit() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.np");
    with_sparse_log(&path, 300 << 20);
    assert_eq!(all_rows(&Database::<u64>::open(&path).unwrap().snapshot().unwrap()), [row(1)]);
}

/// A database, wherever it is, and what was acknowledged to its writers.
struct Instance {
    /// `None` once it is removed.
    path: Option<PathBuf>,
    acknowledged: BTreeSet<Row<u64>>,
}

/// An open writer.
struct Open {
    instance: usize,
    writer: Writer<u64>,
    /// Inserted, and not acknowledged.
    pending: Vec<Row<u64>>,
}

/// Databases that take turns at one path, and their writers.
struct Schedule {
    home: tempfile::TempDir,
    path: PathBuf,
    instances: Vec<Instance>,
    open: Vec<Open>,
    next_row: u64,
}

impl Schedule {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.np");
        Self { home, path, instances: Vec::new(), open: Vec::new(), next_row: 0 }
    }

    /// The database at the path.
    fn current(&self) -> Option<usize> {
        self.instances.iter().position(|instance| instance.path.as_ref() == Some(&self.path))
    }

    fn step(&mut self, random: &mut Random) {
        match (random.below(12), self.current()) {
            (0..2, None) => {
                Database::<u64>::create(&self.path, &Schema::new()).unwrap();
                let path = Some(self.path.clone());
                self.instances.push(Instance { path, acknowledged: BTreeSet::new() });
            }
            (0, Some(current)) => {
                let away = self.home.path().join(format!("{current}.np"));
                fs::rename(&self.path, &away).unwrap();
                self.instances[current].path = Some(away);
            }
            (1, Some(current)) => {
                fs::remove_dir_all(&self.path).unwrap();
                self.instances[current].path = None;
            }
            (2, None) => {
                let moved = self.instances.iter_mut().rfind(|instance| instance.path.is_some());
                if let Some(moved) = moved {
                    fs::rename(moved.path.as_ref().unwrap(), &self.path).unwrap();
                    moved.path = Some(self.path.clone());
                }
            }
            (2..5, Some(current)) => self.open_writer(current),
            (5, Some(current)) => self.check(current),
            (6, _) if !self.open.is_empty() => {
                // Its process dies.
                let at = random.below(self.open.len() as u64) as usize;
                drop(self.open.swap_remove(at));
            }
            _ if !self.open.is_empty() => {
                let at = random.below(self.open.len() as u64) as usize;
                self.write(at, random);
            }
            _ => {}
        }
    }

    fn open_writer(&mut self, instance: usize) {
        let options = Options::new().memtable_rows(40).background_merges(self.next_row.is_multiple_of(2));
        let opened = options.open::<u64>(&self.path).unwrap().writer();
        let is_locked = self.open.iter().any(|open| open.instance == instance);
        match opened {
            Ok(writer) if !is_locked => self.open.push(Open { instance, writer, pending: Vec::new() }),
            Err(Error::Locked { .. }) if is_locked => {}
            other => panic!("locked: {is_locked}, {other:?}"),
        }
    }

    fn write(&mut self, at: usize, random: &mut Random) {
        let current = self.current();
        let Open { instance, writer, pending } = &mut self.open[at];
        for _ in 0..random.below(60) {
            pending.push(row(self.next_row));
            writer.insert(Row { fingerprint: row(self.next_row).fingerprint, id: self.next_row }).unwrap();
            self.next_row += 1;
        }
        let done = match random.below(4) {
            0 => writer.flush().and_then(|()| writer.commit()),
            1 => writer.compact().and_then(|()| writer.commit()),
            2 => writer.wait_for_merges(),
            _ => writer.commit(),
        };
        match done {
            Ok(()) => {
                assert_eq!(current, Some(*instance), "acknowledged while another database is at the path");
                self.instances[*instance].acknowledged.extend(pending.drain(..));
            }
            Err(Error::Replaced { .. }) => assert_ne!(current, Some(*instance)),
            Err(other) => panic!("{other}"),
        }
    }

    /// Compares a database with what was acknowledged to it.
    fn check(&self, instance: usize) {
        let Instance { path: Some(path), acknowledged } = &self.instances[instance] else { return };
        let database = Database::<u64>::open(path).unwrap();
        assert!(all_rows(&database.snapshot().unwrap()).iter().eq(acknowledged), "database {instance}");
        assert_eq!(database.verify().unwrap().damage, []);
    }
}

/// Writers and readers of one path, while databases are created there, moved away and back, and
/// removed: nothing acknowledged to a database is lost, and nothing reaches another one.
#[test]
#[cfg_attr(windows, ignore = "Windows neither moves nor removes a database in use")]
fn random_schedules_of_writers_and_folders_lose_nothing_acknowledged() {
    for seed in 0..short_or_full(12, 1000) {
        let (mut schedule, mut random) = (Schedule::new(), Random(seed));
        for _ in 0..120 {
            schedule.step(&mut random);
        }
        schedule.open.clear();
        (0..schedule.instances.len()).for_each(|instance| schedule.check(instance));
    }
}
