//! Several processes at one path, while databases there are created, moved away and back, and
//! removed, and processes are killed: no row is lost that a command acknowledged to the database
//! that it had opened, and none appears in another one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nearprint::Database;

use crate::history::{fingerprint, rows_of};
use crate::processes::{Running, acknowledgement, command, nearprint};
use testkit::{Random, short_or_full};

/// Rows per batch of a writer.
const BATCH: u64 = 16;
/// Numbers of fingerprints for each process.
const NUMBERS: u64 = 1 << 20;
/// The exit codes of a writer whose database was replaced, or is locked, or absent.
const REFUSED: [i32; 2] = [1, 4];

/// A database, wherever it is.
struct Instance {
    /// `None` once it is removed.
    path: Option<PathBuf>,
    /// The fingerprints that finished commands have acknowledged to it alone.
    acknowledged: BTreeSet<u64>,
}

/// A process that adds rows, one batch after the other.
struct Writing {
    process: Running,
    /// The number of its first fingerprint.
    first: u64,
    /// The rows that it was given.
    given: u64,
    acknowledged: Arc<AtomicU64>,
    has_ended: Arc<AtomicBool>,
    listener: JoinHandle<()>,
    /// The databases that were at the path since it was started: it has opened one of them.
    may_have_opened: BTreeSet<usize>,
}

struct Schedule {
    home: tempfile::TempDir,
    path: PathBuf,
    instances: Vec<Instance>,
    writing: Vec<Writing>,
    /// The number of the next fingerprint of a command.
    next: u64,
    /// Batches acknowledged, and processes that noticed another database.
    batches: u64,
    refused: u64,
}

impl Schedule {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("x.np");
        Self { home, path, instances: Vec::new(), writing: Vec::new(), next: 0, batches: 0, refused: 0 }
    }

    /// The database at the path.
    fn current(&self) -> Option<usize> {
        self.instances.iter().position(|instance| instance.path.as_ref() == Some(&self.path))
    }

    fn step(&mut self, random: &mut Random) {
        match (random.below(14), self.current()) {
            (0..4, None) => self.create(random),
            (0, Some(current)) => self.move_to(current, self.home.path().join(format!("{current}.np"))),
            (1, Some(current)) => {
                // As `rm -rf` does while a writer adds files: again until nothing is left.
                while fs::remove_dir_all(&self.path).is_err() {}
                self.instances[current].path = None;
            }
            (4, None) => {
                if let Some(moved) = self.instances.iter().rposition(|instance| instance.path.is_some()) {
                    self.move_to(moved, self.path.clone());
                }
            }
            (2..5, Some(_)) if self.writing.len() < 3 => self.start(random),
            (5, Some(current)) => {
                let compacted = command("compact", &self.path, &[], Vec::new());
                assert!([0, 4].contains(&compacted.code()), "{}", compacted.err);
                self.check(current);
            }
            (6, _) if !self.writing.is_empty() => {
                let at = random.below(self.writing.len() as u64) as usize;
                let mut writing = self.writing.swap_remove(at);
                writing.process.kill();
                self.settle(writing);
            }
            (7, _) if !self.writing.is_empty() => {
                let at = random.below(self.writing.len() as u64) as usize;
                let writing = self.writing.swap_remove(at);
                self.settle(writing);
            }
            _ if !self.writing.is_empty() => {
                let at = random.below(self.writing.len() as u64) as usize;
                self.give(at, random);
            }
            _ => {}
        }
    }

    fn move_to(&mut self, instance: usize, to: PathBuf) {
        if to == self.path {
            self.may_be_opened(instance);
        }
        fs::rename(self.instances[instance].path.as_ref().unwrap(), &to).unwrap();
        self.instances[instance].path = Some(to);
    }

    /// Writers that have not opened a database yet may open this one, as soon as it is at the path.
    fn may_be_opened(&mut self, instance: usize) {
        for writing in &mut self.writing {
            if writing.acknowledged.load(Ordering::SeqCst) == 0 {
                writing.may_have_opened.insert(instance);
            }
        }
    }

    /// Creates a database, with rows or without.
    fn create(&mut self, random: &mut Random) {
        let rows = self.next..self.next + random.below(3) * 20;
        self.next += NUMBERS;
        let input = rows.clone().map(|i| fingerprint(i).to_string()).collect();
        self.may_be_opened(self.instances.len());
        command("build", &self.path, &[], input).expect(0);
        let acknowledged = rows.map(fingerprint).collect();
        self.instances.push(Instance { path: Some(self.path.clone()), acknowledged });
    }

    fn start(&mut self, random: &mut Random) {
        let mut command = nearprint();
        command.args(["add", "--acknowledge", "--batch", &BATCH.to_string()]).arg(&self.path);
        let mut process = Running::start(&mut command);
        let (acknowledged, has_ended) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (lines, number, end) = (process.lines(), acknowledged.clone(), has_ended.clone());
        let listener = std::thread::spawn(move || {
            for line in lines {
                number.store(acknowledgement(&format!("{}\n", line.unwrap())).unwrap(), Ordering::SeqCst);
            }
            end.store(true, Ordering::SeqCst);
        });
        let may_have_opened = self.current().into_iter().collect();
        let first = self.next;
        self.next += NUMBERS;
        self.writing.push(Writing {
            process,
            first,
            given: 0,
            acknowledged,
            has_ended,
            listener,
            may_have_opened,
        });
        self.give(self.writing.len() - 1, random);
    }

    /// Gives a writer some batches. Half of the time, waits until it has acknowledged them, or ended.
    fn give(&mut self, at: usize, random: &mut Random) {
        let writing = &mut self.writing[at];
        let count = BATCH * (1 + random.below(4));
        let rows = writing.first + writing.given..writing.first + writing.given + count;
        writing.given += count;
        // It may have ended.
        writing.process.offer(&rows.clone().map(|i| format!("{}\n", fingerprint(i))).collect::<String>());
        let (waits, started) = (random.below(2) == 0, Instant::now());
        while waits
            && writing.acknowledged.load(Ordering::SeqCst) < writing.given
            && !writing.has_ended.load(Ordering::SeqCst)
        {
            assert!(started.elapsed() < Duration::from_secs(60), "neither an acknowledgement nor an end");
            std::thread::sleep(Duration::from_millis(1));
        }
        // Nothing was moved meanwhile: the rows are in the database that is at the path.
        if writing.acknowledged.load(Ordering::SeqCst) >= writing.given {
            assert!(self.path.exists(), "acknowledged without a database");
            assert!(fingerprints(&self.path).is_superset(&rows.map(fingerprint).collect()));
        }
    }

    /// Waits for the end of a process. What it acknowledged is in one of the databases that it can
    /// have opened.
    fn settle(&mut self, writing: Writing) {
        let Writing { process, first, given, acknowledged, listener, may_have_opened, .. } = writing;
        let ended = process.end();
        listener.join().unwrap();
        let acknowledged = acknowledged.load(Ordering::SeqCst);
        self.batches += acknowledged.div_ceil(BATCH);
        let removed = may_have_opened.iter().any(|&number| self.instances[number].path.is_none());
        match ended.code() {
            0 => assert_eq!(acknowledged, given, "the rest was taken and not acknowledged"),
            -1 => {}
            code => {
                // It may have opened a database that was half removed.
                assert!(REFUSED.contains(&code) || (code == 3 && removed), "{}", ended.err);
                self.refused += 1;
            }
        }
        let acknowledged: BTreeSet<u64> = (first..first + acknowledged).map(fingerprint).collect();
        let given: BTreeSet<u64> = (first..first + given).map(fingerprint).collect();
        let mut found = Vec::new();
        for (number, Instance { path, .. }) in self.instances.iter().enumerate() {
            let Some(path) = path else { continue };
            let rows = fingerprints(path);
            if rows.intersection(&given).next().is_some() {
                assert!(rows.is_superset(&acknowledged), "database {number} lacks acknowledged rows");
                assert!(may_have_opened.contains(&number), "database {number} got the rows of another one");
                found.push(number);
            }
        }
        match found[..] {
            [] => {
                assert!(acknowledged.is_empty() || removed, "rows were acknowledged, and are nowhere");
            }
            [one] => self.instances[one].acknowledged.extend(acknowledged),
            _ => panic!("the rows of one process are in the databases {found:?}"),
        }
    }

    /// A database that is there has all rows that were acknowledged to it, and is whole.
    fn check(&self, instance: usize) {
        let Instance { path: Some(path), acknowledged } = &self.instances[instance] else { return };
        assert!(fingerprints(path).is_superset(acknowledged), "database {instance} lacks acknowledged rows");
        assert_eq!(Database::<u64>::open(path).unwrap().verify().unwrap().damage, []);
    }
}

fn fingerprints(path: &Path) -> BTreeSet<u64> {
    let snapshot = Database::<u64>::open(path).unwrap().snapshot().unwrap();
    rows_of(&snapshot).unwrap().into_iter().map(|row| row.fingerprint).collect()
}

#[test]
fn random_schedules_of_processes_and_folders_lose_nothing_acknowledged() {
    let (mut batches, mut refused) = (0, 0);
    let rounds = short_or_full(6, 60);
    for seed in 0..rounds {
        let (mut schedule, mut random) = (Schedule::new(), Random(seed));
        for _ in 0..80 {
            schedule.step(&mut random);
        }
        while let Some(writing) = schedule.writing.pop() {
            schedule.settle(writing);
        }
        (0..schedule.instances.len()).for_each(|instance| schedule.check(instance));
        batches += schedule.batches;
        refused += schedule.refused;
    }
    assert!(batches > 20 * rounds && refused > 2 * rounds, "{batches} batches, {refused} refused");
}
