//! A database of documents, the jobs that store in it, and what others store in it meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::documents::{Inputs, Job};
use super::jobs::{Contents, check_outputs, contents, may_refuse};
use super::world::{Signal, World, words};
use crate::processes::{Ended, Running, nearprint};
use testkit::Random;

/// Rows of one acknowledgement of others.
const BATCH: usize = 5;
const OTHER: &str = "other-";

/// A database of documents.
pub struct Collection {
    name: String,
    /// Jobs that have come to their end.
    done: Vec<Job>,
    /// The folder in which the same jobs have run undisturbed.
    state: Option<PathBuf>,
    /// That of the job that has not come to its end.
    begun: Option<PathBuf>,
    /// Rows of others: those that were acknowledged, and those that were given.
    must: BTreeSet<String>,
    may: BTreeSet<String>,
    others: u64,
    pub acknowledged: u64,
}

/// The rows of a database that is whole, as they are exported.
fn exported(path: &Path) -> Result<BTreeSet<String>, String> {
    let run = |name: &str| Running::start(nearprint().arg(name).arg(path)).end();
    let (verified, rows) = (run("verify"), run("export"));
    let failed = [&verified, &rows].into_iter().find(|ended| ended.code() != 0);
    failed.map_or(Ok(()), |ended| Err(format!("{}{}", ended.out, ended.err)))?;
    Ok(rows.out.lines().map(str::to_owned).collect())
}

fn is_of_others(row: &str) -> bool {
    row.rsplit('\t').next().is_some_and(|key| key.starts_with(OTHER))
}

impl Collection {
    pub fn new(name: String) -> Self {
        let (done, must, may) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        Self { name, done, state: None, begun: None, must, may, others: 0, acknowledged: 0 }
    }

    pub fn completed(&self) -> u64 {
        self.done.len() as u64
    }

    /// Runs a job, or does something else; at times another job is tried while the first is unfinished.
    pub fn step(&mut self, world: &mut World, inputs: &mut Inputs, job: Job, other: Job) {
        match world.below(3) {
            // A job that was refused has left its rows.
            _ if self.begun.is_some() => self.others_add(world),
            0 if !self.done.is_empty() => self.again(world),
            _ => {
                if self.work(world, inputs, &job, other) {
                    self.done.push(job);
                }
            }
        }
        self.settle(world);
    }

    /// Runs a job until it comes to its end, while others store rows and change files, and another job
    /// is tried. Returns whether it came to its end.
    fn work(&mut self, world: &mut World, inputs: &mut Inputs, job: &Job, other: Job) -> bool {
        let mut other = Some(other);
        let mut expected = self.begin(inputs, job);
        let mut restart = false;
        for attempt in 0.. {
            let signal = if attempt < 3 { world.signal(5) } else { Signal::Nothing };
            let before = contents(world, job);
            let mut line = job.line(&self.name);
            if restart || attempt > 0 && world.chance(4) {
                line.push("--restart".into());
            }
            let ended = world.run(&line, vec![], signal);
            check_outputs(world, job, &before, &expected, ended.code() == 0);
            if ended.code() == 0 {
                self.state = self.begun.take().or(self.state.take());
                return true;
            }
            // Somebody has changed an output that was complete, which is said once the others are.
            let has_changed = ended.err.contains("was changed or removed") && attempt > 0;
            restart |= has_changed;
            if signal == Signal::Nothing && !has_changed {
                let is_right = may_refuse(world, job) || world.may_refuse(&self.name);
                world.check(is_right, || format!("failed: {}", ended.err));
                return false;
            }
            self.settle(world);
            if let Some(other) = other.take_if(|_| world.chance(4)) {
                if self.try_another(world, inputs, other) {
                    expected = self.begin(inputs, job);
                }
            } else {
                restart |= self.disturb(world, job, &expected);
            }
            self.settle(world);
        }
        false
    }

    /// The outputs of a job that begins now.
    fn begin(&mut self, inputs: &mut Inputs, job: &Job) -> Vec<Vec<u8>> {
        let folder = inputs.reference(self.state.as_deref());
        let expected = job.reference(&folder);
        self.begun = Some(folder);
        expected
    }

    /// Runs another job while one is unfinished: it is refused, unless the unfinished one has not
    /// stored anything yet, or all but its report was done when the signal came. Returns whether the
    /// unfinished one begins after it.
    fn try_another(&mut self, world: &mut World, inputs: &mut Inputs, job: Job) -> bool {
        let unfinished = self.begun.take();
        let mut expected = self.begin(inputs, &job);
        let (before, ended) = self.run_again(world, &job);
        let kept = world.content(&job.outputs[0].name);
        let is_later = ended.code() == 0 && !job.outputs[0].is_whole(kept.as_deref(), &expected[0]);
        if is_later {
            self.state.clone_from(&unfinished);
            expected = self.begin(inputs, &job);
        }
        check_outputs(world, &job, &before, &expected, ended.code() == 0);
        if ended.code() == 0 {
            self.state = self.begun.take();
            self.done.push(job);
            return !is_later;
        }
        self.begun = unfinished;
        let is_refused = ended.err.contains("resume it first");
        let is_right = is_refused || may_refuse(world, &job) || world.may_refuse(&self.name);
        world.check(is_right, || format!("failed beside an unfinished job: {}", ended.err));
        false
    }

    /// What happens between two runs of a job. Returns whether it has to start over.
    fn disturb(&mut self, world: &mut World, job: &Job, expected: &[Vec<u8>]) -> bool {
        match world.below(6) {
            0..2 => self.others_add(world),
            2 => {
                let output = world.below(job.outputs.len() as u64) as usize;
                world.write(&job.outputs[output].name, "of somebody else\n");
            }
            3 => return self.replace_a_part(world, job, expected),
            4 => return self.overwrite_a_part(world, job, expected),
            _ => {}
        }
        false
    }

    /// The part of an output that a job has left, if any.
    fn part(world: &mut World, job: &Job) -> Option<String> {
        let is_part = |name: &String| {
            let found = world.path(name).symlink_metadata();
            !world.foreign.has(name) && found.is_ok_and(|found| found.is_file() && found.len() > 0)
        };
        job.outputs.iter().map(|output| format!("{}.partial", output.name)).find(is_part)
    }

    /// Somebody replaces a part with a file of their own: the job leaves it alone.
    fn replace_a_part(&mut self, world: &mut World, job: &Job, expected: &[Vec<u8>]) -> bool {
        let Some(part) = Self::part(world, job) else { return false };
        fs::remove_file(world.path(&part)).unwrap();
        world.write(&part, "a file of somebody else\n");
        world.foreign.adopt("a file that replaces a part", &part);
        let (before, ended) = self.run_again(world, job);
        check_outputs(world, job, &before, expected, ended.code() == 0);
        world.check(ended.code() != 0, || "a foreign file was taken for a part".into());
        if world.foreign.has(&part) {
            world.foreign.remove(&part);
        }
        true
    }

    /// Somebody changes the output of a job: it is refused, or written again.
    fn overwrite_a_part(&mut self, world: &mut World, job: &Job, expected: &[Vec<u8>]) -> bool {
        let Some(part) = Self::part(world, job) else { return false };
        let file = fs::File::options().write(true).open(world.path(&part)).unwrap();
        file.write_all_at(b"#", 0).unwrap();
        let changed = world.content(&part);
        let (before, ended) = self.run_again(world, job);
        check_outputs(world, job, &before, expected, ended.code() == 0);
        let is_refused = ended.code() != 0 && world.content(&part) == changed;
        world.check(is_refused || ended.code() == 0, || format!("{part:?} has changed"));
        true
    }

    fn run_again(&self, world: &mut World, job: &Job) -> (Contents, Ended) {
        let before = contents(world, job);
        (before, world.run(&job.line(&self.name), vec![], Signal::Nothing))
    }

    /// A job that has come to its end says so, and changes nothing. A report is made again.
    fn again(&mut self, world: &mut World) {
        let at = world.below(self.done.len() as u64) as usize;
        let job = self.done[at].clone();
        let output = &job.outputs[0].name;
        let changed = world.chance(3).then(|| world.content(output).unwrap());
        if changed.is_some() {
            world.write(output, "of somebody else\n");
        }
        let (before, ended) = self.run_again(world, &job);
        for ((output, before), now) in job.outputs.iter().zip(&before).zip(contents(world, &job)) {
            let is_same = now == *before || output.is_whole(now.as_deref(), &[]);
            world.check(is_same, || format!("a job run again has changed {:?}", output.name));
        }
        let says_so = ended.code() == 0 && format!("{}{}", ended.out, ended.err).contains("already complete");
        let is_right = says_so || changed.is_some() || may_refuse(world, &job);
        world.check(is_right, || format!("run again, {}: {}", ended.code(), ended.err));
        if let Some(content) = changed {
            fs::write(world.path(output), content).unwrap();
        }
    }

    /// Others store rows, which are near nothing.
    fn others_add(&mut self, world: &mut World) {
        if !world.path(&self.name).exists() {
            return;
        }
        let numbers = self.others..self.others + (BATCH as u64) * (1 + world.below(4));
        self.others = numbers.end;
        let rows: Vec<String> = numbers.map(other).collect();
        let batch = BATCH.to_string();
        let mut line = words(&["add", "--acknowledge", "--batch", &batch, "--input-format", "tsv"]);
        line.extend(words(&["--columns", "fingerprint,key", &self.name, "-"]));
        let signal = world.signal(1);
        let ended = world.run(&line, rows.clone(), signal);
        let acknowledged = ended.acknowledged().unwrap_or(0) as usize;
        self.acknowledged += acknowledged as u64;
        let is_done = ended.code() == 0 && acknowledged == rows.len();
        world.check(is_done || signal != Signal::Nothing, || format!("not added: {}", ended.err));
        self.must.extend(rows[..acknowledged].iter().cloned());
        self.may.extend(rows[acknowledged..].iter().cloned());
    }

    /// Compares the database with the jobs that came to their end, and with the rows of others.
    pub fn settle(&mut self, world: &mut World) {
        if !world.path(&self.name).exists() {
            let nothing = self.must.is_empty() && self.done.is_empty();
            return world.check(nothing, || format!("{:?} is gone", self.name));
        }
        let found = match exported(&world.path(&self.name)) {
            Ok(found) => found,
            Err(error) => return world.fault(&format!("{:?}: {error}", self.name)),
        };
        let rows = |folder: &Option<PathBuf>| {
            folder.as_ref().map_or(BTreeSet::new(), |folder| exported(&folder.join("state")).unwrap())
        };
        let kept = rows(&self.state);
        let most = if self.begun.is_some() { rows(&self.begun) } else { kept.clone() };
        let (others, documents): (BTreeSet<_>, BTreeSet<_>) =
            found.into_iter().partition(|row| is_of_others(row));
        let others: BTreeSet<String> = others.iter().map(|row| without_id(row)).collect();
        let lacks = kept.difference(&documents).count();
        world.check(lacks == 0, || format!("{:?} lacks {lacks} documents of finished jobs", self.name));
        let more = documents.difference(&most).count();
        world.check(more == 0, || format!("{:?} has {more} documents that no job keeps", self.name));
        let lacks = self.must.difference(&others).count();
        world.check(lacks == 0, || format!("{:?} lacks {lacks} acknowledged rows of others", self.name));
        let more = others.difference(&self.must).filter(|row| !self.may.contains(*row)).count();
        world.check(more == 0, || format!("{:?} has {more} rows that nobody gave", self.name));
        self.must = others;
        self.may.clear();
    }
}

/// A line of a fingerprint and a key.
fn other(number: u64) -> String {
    let mut random = Random(number ^ 0x07_4e25);
    let digits: String = (0..4).map(|_| format!("{:016x}", random.next() | 1 << 63)).collect();
    format!("0x{digits}\t{OTHER}{number}")
}

/// An exported row as it was given.
fn without_id(row: &str) -> String {
    let columns: Vec<&str> = row.split('\t').collect();
    format!("{}\t{}", columns[0], columns[columns.len() - 1])
}
