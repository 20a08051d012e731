//! A folder in which everything happens, the commands that run there, and a list of what went wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::foreign::Foreign;
use crate::common::Random;
use crate::processes::{Ended, Running, nearprint};

/// The exit code after SIGINT.
const INTERRUPTED: i32 = 130;
/// The beginning of names that leave little room for a suffix.
const LONG: &str = concat!(
    "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
    "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
    "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
);

/// What ends a command early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Nothing,
    Kill,
    Interrupt,
}

/// A command that runs.
pub struct Begun {
    running: Running,
    /// Where its command line is in the log.
    at: usize,
}

/// A folder of outputs, databases and temporary files.
pub struct World {
    home: tempfile::TempDir,
    pub foreign: Foreign,
    pub random: Random,
    /// How long a command takes that nothing ends early, by its name.
    takes: BTreeMap<String, Duration>,
    /// The names that were given to commands.
    names: BTreeSet<String>,
    /// The commands so far.
    log: Vec<String>,
    pub faults: Vec<String>,
    /// Commands that came to their end, and those that did not.
    pub finished: u64,
    pub ended_early: u64,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let home = tempfile::tempdir().unwrap();
        let (foreign, random) = (Foreign::new(home.path()), Random(seed));
        let (takes, log, faults) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut world = Self {
            home,
            foreign,
            random,
            takes,
            names: BTreeSet::new(),
            log,
            faults,
            finished: 0,
            ended_early: 0,
        };
        (0..12).for_each(|_| world.plant("never made"));
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.random.below(limit)
    }

    pub fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    /// Plants something foreign.
    pub fn plant(&mut self, near: &str) {
        self.foreign.plant(near, &mut self.random);
    }

    /// A new name for a file or a database: plain, or one that looks like a name of nearprint's own.
    /// At times something foreign stands where nearprint would put its own files.
    pub fn new_name(&mut self, extension: &str) -> String {
        let number = self.names.len();
        let name = match self.below(12) {
            0 => format!("nearprint-{number:06}"),
            1 => format!("nearprint-x{number}{extension}"),
            2 => format!("{number}{extension}.building"),
            3 => format!("a\nb {number}{extension}"),
            4 => format!("{LONG}-{number}{extension}"),
            _ => format!("{number}{extension}"),
        };
        self.names.insert(name.clone());
        if self.chance(6) {
            self.foreign.plant_beside(&name, &mut self.random);
        }
        name
    }

    /// Whether a command that makes this name may be refused.
    pub fn may_refuse(&self, name: &str) -> bool {
        name.len() > 240 || self.foreign.blocks(name)
    }

    /// Starts a command with lines as its standard input.
    pub fn start(&mut self, arguments: &[String], input: Vec<String>) -> Begun {
        let mut command = nearprint();
        command.args(arguments).current_dir(self.home.path()).env("TMPDIR", self.home.path());
        self.log.push(arguments.join(" ").replace(LONG, "y…").replace('\n', "\\n"));
        Begun { running: Running::start(&mut command).feed(input.into_iter()), at: self.log.len() - 1 }
    }

    /// Chooses whether something ends a command early. One in so many times nothing does.
    pub fn signal(&mut self, nothing_one_in: u64) -> Signal {
        match self.below(2 * nothing_one_in) {
            0..2 => Signal::Nothing,
            even if even % 2 == 0 => Signal::Kill,
            _ => Signal::Interrupt,
        }
    }

    /// Waits for the end of a command, after a signal at a random moment.
    pub fn finish(&mut self, begun: Begun, signal: Signal) -> Ended {
        let Begun { mut running, at } = begun;
        let command = self.log[at].split(' ').next().unwrap().to_owned();
        let started = Instant::now();
        if signal != Signal::Nothing {
            let most = self.takes.get(&command).copied().unwrap_or(Duration::from_millis(60));
            std::thread::sleep(Duration::from_micros(self.random.below(most.as_micros() as u64)));
        }
        match signal {
            Signal::Nothing => {}
            Signal::Kill => running.kill(),
            Signal::Interrupt => running.interrupt(),
        }
        let ended = running.end();
        if ended.code() == 0 {
            self.takes.insert(command, started.elapsed());
            self.finished += 1;
        } else if [-1, INTERRUPTED].contains(&ended.code()) {
            self.ended_early += 1;
        }
        self.log[at].push_str(&format!("  [{signal:?}, {}]", ended.code()));
        self.check_code(&ended, signal);
        self.look_at_foreign_things();
        ended
    }

    /// Runs a command to its end, or until a signal.
    pub fn run(&mut self, arguments: &[String], input: Vec<String>, signal: Signal) -> Ended {
        let running = self.start(arguments, input);
        self.finish(running, signal)
    }

    fn check_code(&mut self, ended: &Ended, signal: Signal) {
        let by_signal = [-1, INTERRUPTED].contains(&ended.code());
        if by_signal && signal == Signal::Nothing {
            self.fault(&format!("ended by itself: {}", ended.err));
        }
    }

    /// Notes everything foreign that is not as it was.
    fn look_at_foreign_things(&mut self) {
        for difference in self.foreign.differences() {
            self.fault(&difference);
        }
    }

    /// Notes what is wrong after the last command.
    pub fn fault(&mut self, what: &str) {
        let last = self.log.last().map_or("nothing", String::as_str);
        let what = what.replace(LONG, "y…");
        self.faults.push(format!("{what}\n    after command {}: {last}", self.log.len()));
    }

    /// Notes a fault unless a condition holds.
    pub fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.fault(&what());
        }
    }

    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path(name)).ok()
    }

    /// Somebody else writes a file.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// What is there, was not asked for, and is no part of what was.
    pub fn left_behind(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let is_part = |name: &String| {
            let whole =
                name.strip_suffix(".building").or_else(|| name.split_once(".partial").map(|parts| parts.0));
            whole.is_some_and(|whole| self.names.contains(whole))
        };
        names.filter(|name| !(self.names.contains(name) || self.foreign.has(name) || is_part(name))).collect()
    }

    /// The commands so far.
    pub fn history(&self) -> String {
        self.log.iter().enumerate().map(|(number, line)| format!("{:4} {line}\n", number + 1)).collect()
    }
}

/// The words of a command line.
pub fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|&word| word.to_owned()).collect()
}
