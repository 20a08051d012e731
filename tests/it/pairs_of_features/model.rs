//! What a database should hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use nearprint::{Database, LeftOutRows, Options, Row, Snapshot};
use testkit::{all_rows, matches};

use super::{LIFETIME, PERIOD};

/// The similarity of all documents that are left out.
pub(super) const SIMILARITY: f64 = 1.0;

/// A row and its key.
pub(super) type Keyed = (Row<u64>, String);

/// A document that was left out: its key, the job, and the id of the kept one.
pub(super) type LeftOut = (String, u64, u64);

/// What is known about a key of a row.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Whether the job of `restart` has inserted it, and whether somebody else has.
    pub(super) by_job: bool,
    pub(super) by_others: bool,
    /// When it was inserted, in milliseconds: not before, and not after.
    pub(super) inserted: Range<u64>,
}

/// The rows of a database, and the documents that it remembers as left out with the times of their rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    pub(super) rows: BTreeMap<Keyed, Known>,
    pub(super) left_out: BTreeMap<LeftOut, Range<u64>>,
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// The id of a row with a key, if none is given.
pub(super) fn id_of(key: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(key.as_bytes())
}

impl Known {
    /// A key that is inserted now.
    pub(super) fn since(begun: u64, by_job: bool) -> Self {
        Self { by_job, by_others: !by_job, inserted: begun..now() + 1 }
    }
}

impl Held {
    pub(super) fn insert(&mut self, row: Keyed, begun: u64) {
        let new = Known::since(begun, false);
        let known = self.rows.entry(row).or_insert_with(|| new.clone());
        known.by_others = true;
        known.inserted.end = new.inserted.end;
    }

    /// Without a job, it replaces what was known of this key.
    pub(super) fn leave_out(&mut self, (key, job, kept): LeftOut, begun: u64) {
        if job == 0 {
            self.left_out.retain(|(other, ..), _| *other != key);
        }
        self.left_out.entry((key, job, kept)).or_insert(begun..begun).end = now() + 1;
    }

    /// Forgets what jobs have left out; what others have left out under the same keys, too, if rows expire. Returns
    /// the number of the former.
    pub(super) fn forget(&mut self, jobs: &[u64], expires: bool) -> u64 {
        let of_jobs = self.left_out.keys().filter(|(_, job, _)| jobs.contains(job));
        let forgotten: Vec<String> = of_jobs.map(|(key, ..)| key.clone()).collect();
        self.left_out.retain(|(key, job, _), _| !(jobs.contains(job) || expires && forgotten.contains(key)));
        forgotten.len() as u64
    }

    /// After this, all rows expire with the newest.
    pub(super) fn renew(&mut self) {
        let newest = self.rows.values().map(|known| known.inserted.end).max().unwrap();
        self.rows.values_mut().for_each(|known| known.inserted.end = newest);
        let newest = self.left_out.values().map(|inserted| inserted.end).max().unwrap_or_default();
        self.left_out.values_mut().for_each(|inserted| inserted.end = newest);
    }

    /// A line for each row, a line `-`, and a line for each document that was left out.
    pub(super) fn to_lines(&self) -> String {
        let mut out = String::new();
        for ((Row { fingerprint, id }, key), known) in &self.rows {
            let Known { by_job, by_others, inserted: Range { start, end } } = known;
            let (by_job, by_others) = (u8::from(*by_job), u8::from(*by_others));
            writeln!(out, "{fingerprint} {id} {by_job} {by_others} {start} {end} {key}").unwrap();
        }
        out.push_str("-\n");
        for ((key, job, kept), Range { start, end }) in &self.left_out {
            writeln!(out, "{job} {kept} {start} {end} {key}").unwrap();
        }
        out
    }

    pub(super) fn of_lines(lines: &str) -> Self {
        let (rows, left_out) = lines.split_once("-\n").unwrap();
        let number = |word: &str| word.parse::<u64>().unwrap();
        let row = |line: &str| {
            let words: Vec<&str> = line.splitn(7, ' ').collect();
            let inserted = number(words[4])..number(words[5]);
            let known = Known { by_job: words[2] == "1", by_others: words[3] == "1", inserted };
            ((Row { fingerprint: number(words[0]), id: number(words[1]) }, words[6].to_owned()), known)
        };
        let document = |line: &str| {
            let words: Vec<&str> = line.splitn(5, ' ').collect();
            let document = (words[4].to_owned(), number(words[0]), number(words[1]));
            (document, number(words[2])..number(words[3]))
        };
        Self { rows: rows.lines().map(row).collect(), left_out: left_out.lines().map(document).collect() }
    }
}

/// Compares a database with what it should hold. What may have expired while it is looked at may be there or not.
pub(super) fn compare(path: &Path, expected: &Held, expires: bool) {
    let begun = now();
    let database = Database::<u64>::open(path).unwrap();
    let snapshot: Snapshot<u64> = database.snapshot().unwrap();
    let left_out = LeftOutRows::open(path, &Options::new()).unwrap().expect("it remembers");
    let taken = now();
    let (lifetime, period) = (LIFETIME.as_millis() as u64, PERIOD.as_millis() as u64);
    let may_be_there = |inserted: &Range<u64>| !expires || inserted.end + lifetime >= begun;
    let may_be_gone = |inserted: &Range<u64>| expires && inserted.start + lifetime <= taken + period;

    let rows = all_rows(&snapshot);
    let of_row = |row: &Row<u64>| {
        let keys = snapshot.keys_of(*row).unwrap();
        assert!(!keys.is_empty(), "{row:?} has no key");
        keys.into_iter().map(|key| (*row, key.key)).collect::<Vec<_>>()
    };
    let found: BTreeSet<Keyed> = rows.iter().flat_map(of_row).collect();
    for row in &found {
        let Some(known) = expected.rows.get(row) else { panic!("{row:?} should not be there") };
        assert!(may_be_there(&known.inserted), "{row:?} has expired: {known:?} at {begun}");
    }
    for (row, known) in &expected.rows {
        let is_right = found.contains(row) || may_be_gone(&known.inserted);
        assert!(is_right, "{row:?} is lost: {known:?} at {taken}");
    }
    for row in rows.iter().step_by(5) {
        let query = row.fingerprint ^ 1 << 41;
        assert_eq!(snapshot.query(query, 3).unwrap(), matches(&rows, query, 3));
    }

    let mut found = BTreeSet::new();
    let visited = left_out.visit(|document| {
        assert_eq!((document.similarity, document.id), (SIMILARITY, id_of(document.key.as_ref().unwrap())));
        assert!(found.insert((document.key.unwrap(), document.job, document.kept)), "it is there once");
        Ok::<(), nearprint::Error>(())
    });
    visited.unwrap();
    for document in &found {
        let Some(inserted) = expected.left_out.get(document) else {
            panic!("{document:?} should not be remembered")
        };
        assert!(may_be_there(inserted), "{document:?} has expired: {inserted:?} at {begun}");
    }
    for (document, inserted) in &expected.left_out {
        let is_right = found.contains(document) || may_be_gone(inserted);
        assert!(is_right, "{document:?} is forgotten: {inserted:?} at {taken}");
    }
    assert_eq!(database.verify().unwrap().damage, []);
}
