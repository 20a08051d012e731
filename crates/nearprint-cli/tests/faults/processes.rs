//! Child processes: the command line, fed through a pipe, and its outputs.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use nearprint::{Database, LayoutChoice, Schema};
use testkit::ended_by_hangup;

use crate::history::fingerprint;
use crate::machine;

/// The layout whose tables each lead with 16 bits, which is what the queries of the checks rely on.
pub fn create(path: &Path) {
    let schema = Schema::new().layout(LayoutChoice::Rotations { tables: 4 });
    Database::<u64>::create(path, &schema).unwrap();
}

/// The command line.
pub fn nearprint() -> Command {
    Command::new(env!("CARGO_BIN_EXE_nearprint"))
}

/// A process that does not outlive its test.
pub struct Running {
    child: Child,
    feeder: Option<JoinHandle<()>>,
    errors: Option<JoinHandle<String>>,
}

/// How a process ended.
pub struct Ended {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
}

impl Running {
    /// Starts a command; standard input stays open until it is fed or closed.
    pub fn start(command: &mut Command) -> Self {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = ended_by_hangup(pipes).spawn().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        Self { child, feeder: None, errors: Some(errors) }
    }

    /// Feeds lines to standard input, beside everything else, and closes it. The process may end
    /// first.
    pub fn feed(mut self, lines: impl Iterator<Item = String> + Send + 'static) -> Self {
        let mut stdin = std::io::BufWriter::new(self.child.stdin.take().unwrap());
        self.feeder = Some(std::thread::spawn(move || {
            for line in lines {
                if writeln!(stdin, "{line}").is_err() {
                    // Its buffer cannot be written either.
                    drop(stdin.into_parts());
                    return;
                }
            }
        }));
        self
    }

    /// Writes to standard input and leaves it open.
    pub fn say(&mut self, text: &str) {
        assert!(self.offer(text));
    }

    /// Writes to standard input and leaves it open. `false` if the process has ended.
    pub fn offer(&mut self, text: &str) -> bool {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).is_ok()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// The lines that it prints, as they come.
    pub fn lines(&mut self) -> std::io::Lines<BufReader<ChildStdout>> {
        BufReader::new(self.child.stdout.take().unwrap()).lines()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// SIGINT. It may have ended just now.
    pub fn interrupt(&self) {
        self.signal("INT");
    }

    /// A signal by its name. The process may have ended just now.
    pub fn signal(&self, name: &str) {
        let _ = machine::run(&format!("kill -{name} {}", self.child.id()));
    }

    /// Waits for the end with standard input left open.
    pub fn end_by_itself(mut self) -> Ended {
        let stdin = self.child.stdin.take();
        self.child.wait().unwrap();
        drop(stdin);
        self.end()
    }

    /// Closes standard input, unless a feeder has it, and waits for the end.
    pub fn end(mut self) -> Ended {
        drop(self.child.stdin.take());
        let mut out = Vec::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_end(&mut out).unwrap();
        }
        let status = self.child.wait().unwrap();
        self.feeder.take().into_iter().for_each(|feeder| feeder.join().unwrap());
        let err = self.errors.take().unwrap().join().unwrap();
        Ended { status, out: String::from_utf8_lossy(&out).into_owned(), err }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The exit code; -1 after a signal.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// The last number acknowledged, if any. A line without an end does not count.
    pub fn acknowledged(&self) -> Option<u64> {
        self.out.split_inclusive('\n').filter_map(acknowledgement).next_back()
    }

    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "{}{}", self.out, self.err);
        self
    }

    /// Checks that the message contains all of the words.
    pub fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in {:?}", self.err);
        }
        self
    }
}

/// The number of an `ACK` line.
pub fn acknowledgement(line: &str) -> Option<u64> {
    line.strip_prefix("ACK ")?.strip_suffix('\n')?.parse().ok()
}

/// Runs a command of the command line on a database with some input.
pub fn command(name: &str, database: &Path, arguments: &[&str], input: Vec<String>) -> Ended {
    let mut command = nearprint();
    command.arg(name).arg(database).args(arguments);
    Running::start(&mut command).feed(input.into_iter()).end()
}

/// `nearprint add`, acknowledging batches, of the fingerprints from number `from` on, without ids.
pub fn adding(database: &Path, batch: u64, numbers: std::ops::Range<u64>) -> Running {
    let mut command = nearprint();
    command.args(["add", "--acknowledge", "--batch", &batch.to_string()]).arg(database);
    Running::start(&mut command).feed(numbers.map(|i| fingerprint(i).to_string()))
}

/// A copy of a database.
pub fn copy(from: &Path, to: PathBuf) -> PathBuf {
    std::fs::create_dir(&to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    to
}
