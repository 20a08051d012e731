//! What the features do to a database, and to what it should hold.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nearprint::{
    Database, Error, KeyStorage, NewRow, Options, Remember, Result, Row, Schema, SharedWriter, Writer,
};
use testkit::Random;

use super::model::{Held, Keyed, Known, SIMILARITY, compare, id_of, now};
use super::{LIFETIME, PERIOD};

/// A database, and what it should hold.
pub(super) struct World {
    home: PathBuf,
    database: Database<u64>,
    /// Distinguishes what each feature inserts.
    turn: usize,
    pub(super) held: Held,
    /// What the folder that follows has if it refuses to follow on.
    followed: Held,
    /// The sequence numbers of the job's rows.
    job: Range<u64>,
    pub(super) expires: bool,
    /// Whether the database is no longer a later state of what was followed.
    diverged: bool,
}

fn options() -> Options {
    Options::new().threads(1).memtable_rows(40).background_merges(false).lock_wait(Duration::from_secs(20))
}

fn schema(expires: bool) -> Schema {
    let schema = Schema::new().keys(KeyStorage::KeysAndTexts).remember(Remember::Keys);
    if expires { schema.expire_after(LIFETIME, Some(PERIOD)).unwrap() } else { schema }
}

impl World {
    /// A database with the rows of a job, in a run and in the log, and a folder that follows it.
    pub(super) fn new(home: &Path, expires: bool) -> Self {
        let database = options().create::<u64>(home.join("db"), &schema(expires)).unwrap();
        let (held, followed) = (Held::default(), Held::default());
        let home = home.to_owned();
        let mut world = Self { home, database, turn: 0, held, followed, job: 0..0, expires, diverged: false };
        let mut writer = world.writer();
        let begun = now();
        for (row, key) in world.new_rows("job", 30) {
            writer.insert(NewRow { id: Some(row.id), ..NewRow::keyed(row.fingerprint, &key) }).unwrap();
            world.held.rows.insert((row, key), Known::since(begun, true));
        }
        world.job = 0..writer.next_sequence();
        writer.close().unwrap();
        world.follow();
        world
    }

    /// The same world, seen by the handle of another one.
    pub(super) fn with_handle(self, other: Self) -> Self {
        Self { database: other.database, ..self }
    }

    pub(super) fn writer(&self) -> Writer<u64> {
        self.database.writer().unwrap()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Rows that nothing else has inserted. A third of them have ids that several share, the others the hashes of
    /// their keys.
    fn new_rows(&mut self, name: &str, count: u64) -> Vec<Keyed> {
        self.turn += 1;
        let mut random = Random(self.turn as u64 * 1000);
        let row = |number: u64| {
            let key = format!("{name} {}/{number}", self.turn);
            let fingerprint = random.below(50) << 40 | random.below(4) << 7 | self.turn as u64;
            let id = if number.is_multiple_of(3) { number % 2 + 10 * self.turn as u64 } else { id_of(&key) };
            (Row { fingerprint, id }, key)
        };
        (0..count).map(row).collect()
    }

    /// Inserts rows, and some that the job has inserted.
    fn insert_with(&mut self, writer: &mut Writer<u64>) -> Vec<Keyed> {
        self.insert_since(now(), writer)
    }

    /// Goes on in a transaction that began at a time, which is that of its rows. Leaves documents out, too.
    fn insert_since(&mut self, begun: u64, writer: &mut Writer<u64>) -> Vec<Keyed> {
        let mut rows = self.new_rows("row", 9);
        let of_job = self.held.rows.iter().filter(|(_, known)| known.by_job && !known.by_others);
        rows.extend(of_job.map(|(row, _)| row.clone()).skip(self.turn % 5).step_by(7).take(2));
        for (row, key) in &rows {
            writer.insert(NewRow { id: Some(row.id), ..NewRow::keyed(row.fingerprint, key) }).unwrap();
            self.held.insert((*row, key.clone()), begun);
        }
        self.leave_out(begun, writer);
        rows
    }

    /// Remembers documents as left out, by several jobs and by none, some for another time.
    fn leave_out(&mut self, begun: u64, writer: &mut Writer<u64>) {
        for number in 0..4 {
            let (turn, job) = (self.turn / (1 + number % 2), (self.turn + number) as u64 % 3);
            let (key, kept) = (format!("left {turn}/{number}"), format!("kept {}", number / 2));
            writer.remember_left_out(&key, &kept, SIMILARITY, job).unwrap();
            self.held.leave_out((key, job, id_of(&kept)), begun);
        }
    }

    pub(super) fn insert(&mut self) {
        let mut writer = self.writer();
        self.insert_with(&mut writer);
        writer.commit().unwrap();
        self.insert_with(&mut writer);
        writer.close().unwrap();
    }

    /// Inserts rows, and deletes what some of them have in common with others that were there before.
    fn deletion(
        &mut self,
        delete: impl FnOnce(&mut Writer<u64>, &[Keyed]),
        is_deleted: impl Fn(&[Keyed], &Keyed) -> bool,
    ) {
        let mut writer = self.writer();
        let mut chosen: Vec<Keyed> = self.held.rows.keys().step_by(6).cloned().collect();
        chosen.extend(self.insert_with(&mut writer).into_iter().step_by(4));
        delete(&mut writer, &chosen);
        self.held.rows.retain(|row, _| !is_deleted(&chosen, row));
        writer.close().unwrap();
    }

    pub(super) fn delete(&mut self) {
        self.deletion(
            |writer, chosen| chosen.iter().for_each(|(row, _)| writer.delete(row.id).unwrap()),
            |chosen, (row, _)| chosen.iter().any(|(other, _)| other.id == row.id),
        );
    }

    pub(super) fn delete_keys(&mut self) {
        self.deletion(
            |writer, chosen| {
                let keys: Vec<&str> = chosen.iter().map(|(_, key)| &**key).collect();
                writer.delete_keys(&keys).unwrap();
            },
            |chosen, (_, key)| chosen.iter().any(|(_, other)| other == key),
        );
        let mut writer = self.writer();
        let chosen: BTreeSet<String> =
            self.held.left_out.keys().step_by(3).map(|(key, ..)| key.clone()).collect();
        writer.delete_keys(&chosen.iter().map(|key| &**key).collect::<Vec<_>>()).unwrap();
        self.held.left_out.retain(|(key, ..), _| !chosen.contains(key));
        writer.close().unwrap();
    }

    pub(super) fn delete_prefix(&mut self) {
        let prefix = |chosen: &[Keyed]| chosen[0].1.split('/').next().unwrap().to_owned();
        self.deletion(
            |writer, chosen| _ = writer.delete_key_prefix(&prefix(chosen)).unwrap(),
            |chosen, (_, key)| key.starts_with(&prefix(chosen)),
        );
        let mut writer = self.writer();
        let prefix = format!("left {}/", self.turn / 2);
        writer.delete_key_prefix(&prefix).unwrap();
        self.held.left_out.retain(|(key, ..), _| !key.starts_with(&prefix));
        writer.close().unwrap();
    }

    pub(super) fn delete_range(&mut self) {
        let range = |chosen: &[Keyed]| {
            let middle = chosen[chosen.len() / 2].0.id;
            middle.saturating_sub(u64::MAX / 8)..=middle.saturating_add(u64::MAX / 8)
        };
        self.deletion(
            |writer, chosen| _ = writer.delete_ids(range(chosen)).unwrap(),
            |chosen, (row, _)| range(chosen).contains(&row.id),
        );
    }

    /// Gives keys other fingerprints.
    pub(super) fn upsert(&mut self) {
        let mut writer = self.writer();
        let begun = now();
        self.insert_since(begun, &mut writer);
        let of_key = |(row, key): &Keyed| row.id == id_of(key);
        let chosen: Vec<_> = self.held.rows.keys().filter(|row| of_key(row)).step_by(5).cloned().collect();
        for (row, key) in chosen {
            let fingerprint = row.fingerprint ^ 1 << 60;
            writer.upsert(NewRow::keyed(fingerprint, &key)).unwrap();
            self.held.rows.retain(|(other, _), _| other.id != row.id);
            self.held.insert((Row { fingerprint, ..row }, key), begun);
        }
        writer.close().unwrap();
    }

    /// Lets half of a lifetime pass. What is left of it, and the end, `pair` looks at.
    pub(super) fn expire(&mut self) {
        self.insert();
        thread::sleep(LIFETIME / 2);
        let mut writer = self.writer();
        self.insert_with(&mut writer);
        writer.flush().unwrap();
        writer.close().unwrap();
    }

    /// Adopts two runs that were built elsewhere.
    pub(super) fn ingest(&mut self) {
        let mut folders = Vec::new();
        for part in 0..2 {
            let (begun, rows) = (now(), self.new_rows("part", 20));
            let folder = self.path(&format!("part{}{part}", self.turn));
            let mut builder = options().build::<u64>(&folder, &schema(self.expires)).unwrap().runs_only();
            for (row, key) in rows {
                let new = NewRow { id: Some(row.id), ..NewRow::keyed(row.fingerprint, &key) };
                builder.push(new).unwrap();
                self.held.insert((row, key), begun);
            }
            builder.finish().unwrap();
            folders.push(folder);
        }
        let mut writer = self.writer();
        assert_eq!(writer.ingest(&folders).unwrap().runs, 2);
        let end = now() + 1;
        let of_parts = self.held.rows.iter_mut().filter(|((_, key), _)| key.starts_with("part"));
        of_parts.for_each(|(_, known)| known.inserted.end = known.inserted.end.max(end));
        self.insert_with(&mut writer);
        writer.close().unwrap();
    }

    /// Forgets the rows of the job.
    pub(super) fn restart(&mut self) {
        let mut writer = self.writer();
        self.insert_with(&mut writer);
        writer.delete_keys_between(std::slice::from_ref(&self.job)).unwrap();
        self.held.rows.retain(|_, known| known.by_others);
        writer.close().unwrap();
    }

    /// Forgets what a job has left out, and what was left out without one.
    pub(super) fn forget(&mut self) {
        let mut writer = self.writer();
        self.insert_with(&mut writer);
        let jobs = [0, self.turn as u64 % 2 + 1];
        let forgotten = self.held.forget(&jobs, self.expires);
        let counted = writer.forget_left_out(&jobs).unwrap();
        assert!(counted == forgotten || self.expires && counted < forgotten, "{counted} of {forgotten}");
        writer.close().unwrap();
    }

    pub(super) fn discard(&mut self) {
        let mut writer = self.writer();
        self.insert_with(&mut writer);
        writer.commit().unwrap();
        let before = self.held.clone();
        self.insert_with(&mut writer);
        writer.forget_left_out(&[1, 2]).unwrap();
        let id = before.rows.keys().next().map_or(0, |(row, _)| row.id);
        writer.delete(id).unwrap();
        writer.discard().unwrap();
        self.held = before;
        self.insert_with(&mut writer);
        writer.close().unwrap();
    }

    /// Brings the folder that follows up to date. It may refuse what is no later state of what it has.
    pub(super) fn follow(&mut self) {
        let path = self.path("second");
        match self.database.follow(&path) {
            Ok(_) => (self.followed, self.diverged) = (self.held.clone(), false),
            Err(Error::Diverged { .. } | Error::AlreadyExists { .. }) if self.diverged => {}
            Err(error) => panic!("{error}"),
        }
        compare(&path, &self.followed, self.expires);
    }

    /// Goes back to a copy, and inserts rows as often as rows were lost by that.
    pub(super) fn restore(&mut self) {
        let copy = self.path(&format!("copy{}", self.turn));
        self.database.snapshot().unwrap().backup(&copy).unwrap();
        let saved = self.held.clone();
        for _ in 0..2 {
            let mut writer = self.writer();
            self.insert_with(&mut writer);
            writer.flush().unwrap();
        }
        self.follow();
        fs::remove_dir_all(self.path("db")).unwrap();
        Database::<u64>::open(copy).unwrap().snapshot().unwrap().backup(self.path("db")).unwrap();
        self.database = options().open(self.path("db")).unwrap();
        (self.held, self.diverged) = (saved, true);
        for _ in 0..2 {
            let mut writer = self.writer();
            self.insert_with(&mut writer);
            writer.flush().unwrap();
        }
    }

    pub(super) fn repair(&mut self) {
        self.insert();
        let saved = self.path("saved");
        let report = options().repair::<u64>(self.path("db"), &saved, &schema(self.expires)).unwrap();
        assert!(report.is_complete(), "{report:?}");
        fs::remove_dir_all(self.path("db")).unwrap();
        fs::rename(saved, self.path("db")).unwrap();
        self.database = options().open(self.path("db")).unwrap();
        self.diverged = true;
        self.held.renew();
        self.insert();
    }

    pub(super) fn compact(&mut self) {
        let mut writer = self.writer();
        self.insert_with(&mut writer);
        writer.compact().unwrap();
        self.insert_with(&mut writer);
        writer.close().unwrap();
    }

    /// A writer that keeps its log when it closes.
    pub(super) fn keep_log(&mut self) {
        let keeping = options().keep_log(1 << 20).open::<u64>(self.path("db")).unwrap();
        for _ in 0..3 {
            let mut writer = keeping.writer().unwrap();
            self.insert_with(&mut writer);
            writer.close().unwrap();
        }
    }

    /// Several threads commit together, and the calls of some fail.
    pub(super) fn group_commit(&mut self) {
        let begun = now();
        let rows: Vec<_> = (0..4).map(|_| self.new_rows("thread", 9)).collect();
        let shared = SharedWriter::new(self.writer());
        thread::scope(|scope| {
            for (thread, rows) in rows.iter().enumerate() {
                let shared = &shared;
                scope.spawn(move || {
                    for (row, key) in rows {
                        let new = NewRow { id: Some(row.id), ..NewRow::keyed(row.fingerprint, key) };
                        let outcome: Result<u64> = shared.commit_with(|writer| {
                            let id = writer.insert(new)?;
                            writer.remember_left_out(&format!("left {key}"), key, SIMILARITY, 1)?;
                            if thread == 0 { Err(Error::Interrupted) } else { Ok(id) }
                        });
                        assert_eq!(outcome.is_ok(), thread > 0);
                    }
                });
            }
        });
        shared.into_inner().close().unwrap();
        let acknowledged = rows.into_iter().skip(1).flatten();
        acknowledged.for_each(|(row, key)| {
            self.held.leave_out((format!("left {key}"), 1, id_of(&key)), begun);
            self.held.insert((row, key), begun);
        });
    }

    /// A child inherits an open writer, uses it and ends.
    pub(super) fn fork(&mut self) {
        let mut writer = self.writer();
        let begun = now();
        self.insert_since(begun, &mut writer);
        let mut child = || {
            let inserted = writer.insert(Row { fingerprint: 1, id: 1 }).and_then(|_| writer.commit());
            matches!(inserted, Err(Error::Forked { .. }))
        };
        forked(&mut child);
        self.insert_since(begun, &mut writer);
        assert!(matches!(
            Options::new().open::<u64>(self.path("db")).unwrap().writer(),
            Err(Error::Locked { .. })
        ));
        writer.close().unwrap();
    }

    /// What another process needs to go on.
    pub(super) fn save(&self) {
        let Self { turn, job, expires, diverged, held, followed, .. } = self;
        let numbers = format!("{turn} {} {} {}\n", job.end, u8::from(*expires), u8::from(*diverged));
        let all = [numbers, held.to_lines(), followed.to_lines()].join("=\n");
        fs::write(self.path("world"), all).unwrap();
    }

    /// What another process has saved.
    pub(super) fn load(home: &Path) -> Self {
        let all = fs::read_to_string(home.join("world")).unwrap();
        let parts: Vec<&str> = all.split("=\n").collect();
        let numbers: Vec<u64> = parts[0].split_whitespace().map(|number| number.parse().unwrap()).collect();
        let database = options().open(home.join("db")).unwrap();
        Self {
            home: home.to_owned(),
            database,
            turn: numbers[0] as usize,
            held: Held::of_lines(parts[1]),
            followed: Held::of_lines(parts[2]),
            job: 0..numbers[1],
            expires: numbers[2] == 1,
            diverged: numbers[3] == 1,
        }
    }
}

/// Runs a function in the child of a fork, and expects it to return true.
#[cfg(unix)]
fn forked(child: &mut dyn FnMut() -> bool) {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(code: i32) -> !;
    }
    // SAFETY: the child runs the function and ends at once, without destructors or handlers of its parent.
    unsafe {
        match fork() {
            0 => _exit(i32::from(!child())),
            process => {
                let mut status = 0;
                assert!(process > 0 && waitpid(process, &raw mut status, 0) == process && status == 0);
            }
        }
    }
}

#[cfg(not(unix))]
fn forked(_: &mut dyn FnMut() -> bool) {}
