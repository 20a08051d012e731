//! Databases of fingerprints: every acknowledged row is there, every acknowledged deletion holds, and
//! what has the name of a database is a whole one.

use std::collections::BTreeSet;
use std::path::Path;

use nearprint::Database;

use super::world::{Signal, World, words};
use crate::history::{fingerprint, rows_of};
use crate::processes::Ended;
use crate::worker::{FORK_ROWS, Forking};

/// Rows of one acknowledgement.
const BATCH: u64 = 20;
const LOCKED: i32 = 4;

/// A database, and the ids of its rows. Row i has fingerprint i.
pub struct Store {
    pub name: String,
    must: BTreeSet<u64>,
    /// Rows that were given, or deleted, by commands that did not come to their end.
    may: BTreeSet<u64>,
}

/// All databases of fingerprints.
#[derive(Default)]
pub struct Stores {
    all: Vec<Store>,
    next: u64,
    /// Rows acknowledged to somebody.
    pub acknowledged: u64,
}

fn line(id: u64) -> String {
    format!("{}\t{id}", fingerprint(id))
}

/// The ids in a database that is whole.
fn read(path: &Path) -> Result<BTreeSet<u64>, String> {
    let database = Database::<u64>::open(path).map_err(|error| error.to_string())?;
    let rows =
        database.snapshot().and_then(|snapshot| rows_of(&snapshot)).map_err(|error| error.to_string())?;
    let report = database.verify().map_err(|error| error.to_string())?;
    if let Some(damage) = report.damage.first() {
        return Err(damage.to_string());
    }
    let wrong = rows.iter().find(|row| row.fingerprint != fingerprint(row.id));
    wrong.map_or(Ok(()), |row| Err(format!("row {row:?} was never given")))?;
    Ok(rows.iter().map(|row| row.id).collect())
}

impl Stores {
    pub fn step(&mut self, world: &mut World) {
        if self.all.len() < 2 {
            return self.make(world);
        }
        let at = world.below(self.all.len() as u64) as usize;
        match world.below(13) {
            0 => self.make(world),
            12 => self.fork(world, at),
            1..4 => self.add(world, at),
            4..6 => self.two_at_once(world, at),
            6 => self.delete(world, at),
            7 => self.compact(world, at),
            8 => self.copy(world, at, "backup"),
            9 => self.copy(world, at, "repair"),
            10 => self.ingest(world, at),
            _ => self.export(world, at),
        }
        (0..self.all.len()).for_each(|store| self.settle(world, store));
    }

    fn take(&mut self, count: u64) -> Vec<u64> {
        self.next += count;
        (self.next - count..self.next).collect()
    }

    /// Repeats a command that makes a database until it comes to its end or is refused. At each
    /// moment the database is whole or absent.
    fn make_until_there(
        &mut self,
        world: &mut World,
        name: &str,
        line: &[String],
        rows: &BTreeSet<u64>,
        input: &[String],
    ) {
        for attempt in 0.. {
            let signal = if attempt < 2 { world.signal(2) } else { Signal::Nothing };
            let ended = world.run(line, input.to_vec(), signal);
            if let Ok(metadata) = world.path(name).symlink_metadata() {
                world.check(metadata.is_dir(), || format!("{name:?} is no folder"));
                match read(&world.path(name)) {
                    Ok(found) => world.check(found == *rows, || format!("{name:?} is a part of a database")),
                    Err(error) => world.fault(&format!("{name:?} is not whole: {error}")),
                }
                let (must, may) = (rows.clone(), BTreeSet::new());
                self.all.push(Store { name: name.to_owned(), must, may });
                return;
            }
            world.check(ended.code() != 0, || format!("{name:?} is not there"));
            if signal == Signal::Nothing {
                let refused = world.may_refuse(name);
                world.check(refused, || format!("{name:?} was not made: {}", ended.err));
                return;
            }
        }
    }

    fn make(&mut self, world: &mut World) {
        let name = world.new_name(".np");
        if world.chance(3) {
            self.make_until_there(world, &name, &words(&["create", &name]), &BTreeSet::new(), &[]);
        } else {
            let count = 50 + world.below(3000);
            let rows = self.take(count);
            let input: Vec<String> = rows.iter().copied().map(line).collect();
            self.make_until_there(
                world,
                &name,
                &words(&["build", &name]),
                &rows.into_iter().collect(),
                &input,
            );
        }
    }

    fn copy(&mut self, world: &mut World, at: usize, command: &str) {
        let name = world.new_name(".np");
        let Store { name: from, must, .. } = &self.all[at];
        let (line, rows) = (words(&[command, from, &name]), must.clone());
        // `repair` refuses to save nothing.
        if !rows.is_empty() {
            self.make_until_there(world, &name, &line, &rows, &[]);
        }
    }

    fn add(&mut self, world: &mut World, at: usize) {
        let count = BATCH * (1 + world.below(30));
        let rows = self.take(count);
        let line_of_command =
            words(&["add", "--acknowledge", "--batch", &BATCH.to_string(), &self.all[at].name]);
        let signal = world.signal(2);
        let ended = world.run(&line_of_command, rows.iter().copied().map(line).collect(), signal);
        self.added(world, at, &rows, &ended, signal, false);
    }

    /// Two writers; one may be refused.
    fn two_at_once(&mut self, world: &mut World, at: usize) {
        let (first, second) = (self.take(200), self.take(200));
        let line_of_command =
            words(&["add", "--acknowledge", "--batch", &BATCH.to_string(), &self.all[at].name]);
        let one = world.start(&line_of_command, first.iter().copied().map(line).collect());
        let other = world.start(&line_of_command, second.iter().copied().map(line).collect());
        let signal = world.signal(3);
        let one = world.finish(one, signal);
        let other = world.finish(other, Signal::Nothing);
        self.added(world, at, &first, &one, signal, true);
        self.added(world, at, &second, &other, Signal::Nothing, true);
    }

    /// A writer forks, and its child ends as a program does. Meanwhile there is no other writer, and
    /// everything that the parent has is as it was.
    fn fork(&mut self, world: &mut World, at: usize) {
        let built = world.new_name(".np");
        let rows = self.take(3 * FORK_ROWS);
        let mut parent =
            Forking { first: rows[0], built: world.path(&built) }.start(&world.path(&self.all[at].name));
        let mut lines = parent.lines().map(Result::unwrap);
        let said = lines.find(|line| line == "FORKED" || line.starts_with("FAIL"));
        if said.as_deref() == Some("FORKED") {
            let line_of_command = words(&["add", &self.all[at].name]);
            let other = world.run(&line_of_command, vec![line(rows[0])], Signal::Nothing);
            world.check(other.code() == LOCKED, || format!("a fork has released a lock: {}", other.err));
            parent.offer("\n");
        }
        let out: Vec<String> = lines.collect();
        let ended = parent.end();
        let is_right = ended.code() == 0 || world.may_refuse(&built);
        world.check(is_right, || format!("a process that forked: {said:?} {out:?} {}", ended.err));
        let store = &mut self.all[at];
        store.may.extend(&rows[..2 * FORK_ROWS as usize]);
        if ended.code() == 0 {
            store.must.extend(&rows[..2 * FORK_ROWS as usize]);
            self.acknowledged += 2 * FORK_ROWS;
            let must = rows[2 * FORK_ROWS as usize..].iter().copied().collect();
            self.all.push(Store { name: built, must, may: BTreeSet::new() });
        }
    }

    fn added(
        &mut self,
        world: &mut World,
        at: usize,
        rows: &[u64],
        ended: &Ended,
        signal: Signal,
        beside_another: bool,
    ) {
        let acknowledged = ended.acknowledged().unwrap_or(0) as usize;
        let is_done = ended.code() == 0 && acknowledged == rows.len();
        let is_refused = ended.code() == LOCKED && beside_another && acknowledged == 0;
        world.check(is_done || is_refused || signal != Signal::Nothing, || {
            format!("not added: {}", ended.err)
        });
        self.acknowledged += acknowledged as u64;
        let store = &mut self.all[at];
        store.must.extend(&rows[..acknowledged]);
        store.may.extend(&rows[acknowledged..]);
    }

    fn delete(&mut self, world: &mut World, at: usize) {
        let store = &mut self.all[at];
        let share = 2 + world.below(8);
        let rows: Vec<u64> = store.must.iter().copied().filter(|id| id % share == 0).collect();
        let signal = world.signal(2);
        let ended =
            world.run(&words(&["delete", &store.name]), rows.iter().map(u64::to_string).collect(), signal);
        world.check(ended.code() == 0 || signal != Signal::Nothing, || format!("not deleted: {}", ended.err));
        store.must.retain(|id| rows.binary_search(id).is_err());
        if ended.code() != 0 {
            store.may.extend(rows);
        }
    }

    fn compact(&mut self, world: &mut World, at: usize) {
        let signal = world.signal(2);
        let ended = world.run(&words(&["compact", &self.all[at].name]), vec![], signal);
        world.check(ended.code() == 0 || signal != Signal::Nothing, || {
            format!("not compacted: {}", ended.err)
        });
    }

    /// Builds runs elsewhere and adopts them, at times twice.
    fn ingest(&mut self, world: &mut World, at: usize) {
        let rows = self.take(300);
        let runs = world.new_name(".runs");
        let input = rows.iter().copied().map(line).collect();
        let made = world.run(&words(&["build", "--runs-only", &runs]), input, Signal::Nothing);
        if made.code() != 0 {
            let refused = world.may_refuse(&runs);
            world.check(refused, || format!("runs were not made: {}", made.err));
            return;
        }
        for _ in 0..2 {
            let signal = world.signal(2);
            let ended = world.run(&words(&["ingest", &self.all[at].name, &runs]), vec![], signal);
            let store = &mut self.all[at];
            match ended.code() {
                0 => store.must.extend(&rows),
                _ if signal == Signal::Nothing => world.fault(&format!("not adopted: {}", ended.err)),
                _ => store.may.extend(&rows),
            }
        }
    }

    /// A file with the name of an output is the old one, or holds all rows.
    fn export(&mut self, world: &mut World, at: usize) {
        let (name, out) = (self.all[at].name.clone(), world.new_name(".tsv"));
        let whole = world.run(&words(&["export", &name]), vec![], Signal::Nothing).out.into_bytes();
        let mut old = None;
        if world.chance(2) {
            std::fs::write(world.path(&out), "of yesterday\n").unwrap();
            old = world.content(&out);
        }
        for signal in [world.signal(3), Signal::Nothing] {
            let ended = world.run(&words(&["export", &name, "-o", &out]), vec![], signal);
            let now = world.content(&out);
            world.check(now == old || now.as_ref() == Some(&whole), || format!("{out:?} is a part"));
            let is_done = ended.code() == 0 && now.as_ref() == Some(&whole);
            let refused = world.may_refuse(&out) && ended.code() != 0;
            world.check(is_done || refused || signal != Signal::Nothing, || {
                format!("{out:?} was not exported: {}", ended.err)
            });
            old = now;
        }
    }

    /// Compares a database with what was acknowledged, while no command runs.
    fn settle(&mut self, world: &mut World, at: usize) {
        let Store { name, must, may } = &mut self.all[at];
        match read(&world.path(name)) {
            Err(error) => world.fault(&format!("{name:?}: {error}")),
            Ok(found) => {
                let (lacks, more) = (must.difference(&found).count(), found.difference(must));
                let unknown = more.filter(|id| !may.contains(id)).count();
                world.check(lacks == 0, || format!("{name:?} lacks {lacks} acknowledged rows"));
                world.check(unknown == 0, || {
                    format!("{name:?} has {unknown} rows that were deleted or not given")
                });
                *must = found;
            }
        }
        may.clear();
    }
}
