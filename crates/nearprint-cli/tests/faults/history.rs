//! What a writer is asked to do, operation by operation, and the state that every prefix of it
//! leaves.
//!
//! Operations depend on nothing but their number. So after a fault the recovered rows can be
//! compared, as a whole, with the effect of the first j operations; looking at single rows would
//! miss holes and deleted rows that came back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use nearprint::{Database, Row, Snapshot};

use testkit::{Random, matches};

/// What a writer is asked to do.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    Insert(Row<u64>),
    Delete(u64),
    Upsert(Row<u64>),
}

/// What a writer does once a batch is complete. All of them make it durable.
#[derive(Clone, Copy, Debug)]
pub enum Settle {
    Commit,
    Flush,
    Compact,
}

/// An endless list of operations, cut into batches that become durable together.
#[derive(Clone, Copy, Debug)]
pub enum History {
    /// Inserts, deletes and upserts of a few ids, which keeps the database small for ever.
    Mixed,
    /// Row i is the fingerprint of i under id i, in batches of equal size.
    Rows { batch: u64 },
}

/// Ids that a mixed history uses over and over.
const IDS: u64 = 1000;

/// Fingerprint i: five in a row lie near each other, so that queries, pairs and clusters find
/// something.
pub fn fingerprint(i: u64) -> u64 {
    let centre = Random(i / 5).next();
    Random(!i).near(centre, 4)
}

impl History {
    pub fn operation(self, i: u64) -> Operation {
        let fingerprint = fingerprint(i);
        let Self::Mixed = self else { return Operation::Insert(Row { fingerprint, id: i }) };
        let mut random = Random(i ^ 0x5eed);
        let id = random.below(IDS);
        match random.below(10) {
            0..6 => Operation::Insert(Row { fingerprint, id }),
            6..8 => Operation::Delete(id),
            _ => Operation::Upsert(Row { fingerprint, id }),
        }
    }

    /// Whether operation i is the last of a batch, and what follows.
    pub fn settles(self, i: u64) -> Option<Settle> {
        match self {
            Self::Rows { batch } => (i + 1).is_multiple_of(batch).then_some(Settle::Commit),
            Self::Mixed => match Random(i ^ 0xba7c4).below(24 * 128) {
                0 => Some(Settle::Compact),
                1..4 => Some(Settle::Flush),
                4..128 => Some(Settle::Commit),
                _ => None,
            },
        }
    }
}

/// The effect of the first operations of a history.
#[derive(Clone, Debug)]
pub struct State {
    history: History,
    /// How many operations have been applied.
    pub done: u64,
    by_id: BTreeMap<u64, BTreeSet<u64>>,
    count: usize,
    /// Independent of order, so that it follows each operation cheaply.
    sum: u64,
}

fn row_hash(row: Row<u64>) -> u64 {
    Random(row.fingerprint ^ Random(row.id).next()).next()
}

impl State {
    pub fn new(history: History) -> Self {
        Self { history, done: 0, by_id: BTreeMap::new(), count: 0, sum: 0 }
    }

    pub fn rows(&self) -> Vec<Row<u64>> {
        let of_id = |(&id, fingerprints): (&u64, &BTreeSet<u64>)| {
            fingerprints.iter().map(move |&fingerprint| Row { fingerprint, id }).collect::<Vec<_>>()
        };
        let mut rows: Vec<Row<u64>> = self.by_id.iter().flat_map(of_id).collect();
        rows.sort_unstable();
        rows
    }

    /// Applies one operation, and returns what follows it.
    pub fn step(&mut self) -> Option<Settle> {
        match self.history.operation(self.done) {
            Operation::Insert(row) => self.insert(row),
            Operation::Delete(id) => self.delete(id),
            Operation::Upsert(row) => {
                self.delete(row.id);
                self.insert(row);
            }
        }
        self.done += 1;
        self.history.settles(self.done - 1)
    }

    /// Applies operations up to the end of a batch.
    pub fn step_batch(&mut self) {
        while self.step().is_none() {}
    }

    fn insert(&mut self, row: Row<u64>) {
        if self.by_id.entry(row.id).or_default().insert(row.fingerprint) {
            self.sum = self.sum.wrapping_add(row_hash(row));
            self.count += 1;
        }
    }

    fn delete(&mut self, id: u64) {
        for fingerprint in self.by_id.remove(&id).unwrap_or_default() {
            self.sum = self.sum.wrapping_sub(row_hash(Row { fingerprint, id }));
            self.count -= 1;
        }
    }

    /// Moves on to the end of the first batch, not before `at_least` and at most `batches` after
    /// that, which leaves exactly these rows.
    pub fn find(&mut self, rows: &[Row<u64>], at_least: u64, batches: u64) -> Result<(), String> {
        let sum = rows.iter().fold(0u64, |sum, &row| sum.wrapping_add(row_hash(row)));
        while self.done < at_least {
            self.step();
        }
        let first = self.clone();
        for _ in 0..=batches {
            if (self.count, self.sum) == (rows.len(), sum) && self.rows() == rows {
                return Ok(());
            }
            self.step_batch();
        }
        Err(first.differs_from(rows))
    }

    /// Describes how rows differ from this state, and whether they are the rows of another one.
    fn differs_from(&self, rows: &[Row<u64>]) -> String {
        let (expected, found) = (BTreeSet::from_iter(self.rows()), BTreeSet::from_iter(rows.to_vec()));
        let missing: Vec<_> = expected.difference(&found).collect();
        let more: Vec<_> = found.difference(&expected).collect();
        let mut other = Self::new(self.history);
        while other.done < self.done + 10_000 && !(other.count == rows.len() && other.rows() == rows) {
            other.step();
        }
        format!(
            "{} rows, and of those after operation {}, {} are missing, as {:?}, and {} too many, as {:?}; \
             the first state that has these rows is that after operation {}, if that is less than {}",
            rows.len(),
            self.done,
            missing.len(),
            missing.first(),
            more.len(),
            more.first(),
            other.done,
            self.done + 10_000,
        )
    }
}

pub fn rows_of(snapshot: &Snapshot<u64>) -> nearprint::Result<Vec<Row<u64>>> {
    snapshot.rows()?.collect()
}

/// Checks everything that can be checked without writing: the rows are the effect of a prefix that
/// holds what was acknowledged, `verify` is content, and answers are exact.
pub fn check(path: &Path, state: &mut State, acknowledged: u64) -> Result<(), String> {
    // The writer waits for each batch, so one may be durable that was not acknowledged.
    check_within(path, state, acknowledged, 1)
}

/// As `check`, where the writer may have got some batches further than was heard.
pub fn check_within(path: &Path, state: &mut State, acknowledged: u64, batches: u64) -> Result<(), String> {
    let database = Database::<u64>::open(path).map_err(|error| error.to_string())?;
    let snapshot = database.snapshot().map_err(|error| error.to_string())?;
    let rows = rows_of(&snapshot).map_err(|error| error.to_string())?;
    state.find(&rows, acknowledged, batches)?;
    let report = database.verify().map_err(|error| error.to_string())?;
    if let Some(damage) = report.damage.first() {
        return Err(damage.to_string());
    }
    queries_are_exact(&snapshot, &rows, &mut Random(state.done), 4);
    Ok(())
}

/// Asks for stored rows by queries that share only one block with them, each block in turn, so that
/// each table has to find them alone; the layout is `rotations:4`.
pub fn queries_are_exact(snapshot: &Snapshot<u64>, rows: &[Row<u64>], random: &mut Random, samples: u64) {
    for _ in 0..samples.min(rows.len() as u64) {
        let stored = rows[random.below(rows.len() as u64) as usize].fingerprint;
        for block in 0..4 {
            let others = (0..4).filter(|&other| other != block);
            let query = others.fold(stored, |query, other| query ^ 1 << (16 * other + random.below(16)));
            assert_eq!(snapshot.query(query, 3).unwrap(), matches(rows, query, 3), "block {block}");
        }
    }
}

/// Opens a database for writing, as after a crash, and closes it; checks that this changes no row,
/// now and when it is done again, and that no file is left which does not belong to it.
pub fn recover(path: &Path, state: &mut State) {
    let before = state.done;
    for _ in 0..2 {
        let writer = Database::<u64>::open(path).unwrap().writer().unwrap();
        writer.close().unwrap();
        check(path, state, before).unwrap();
        assert_eq!(state.done, before, "recovery changes nothing");
    }
    nothing_is_left_over(path);
}

/// A cleanly closed database has the files that `verify` reads, LOCK, and space for a full disk.
pub fn nothing_is_left_over(path: &Path) {
    let mut names: Vec<String> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !["LOCK", "RESERVE"].contains(&&**name))
        .collect();
    names.sort();
    let report = Database::<u64>::open(path).unwrap().verify().unwrap();
    assert_eq!(names.len() as u64, report.files, "{names:?}");
}
