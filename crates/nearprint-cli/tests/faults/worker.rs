//! Processes that use the library: this test binary, started again with a part to play.
//!
//! The command line has no option for a small memtable; these writers flush and merge all the
//! time.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nearprint::{Database, Error, Options, Result, Row, Schema, Writer};
use nearprint_text::dedup::{Decision, DedupOptions, Deduplicator};

use crate::history::{History, Operation, Settle, fingerprint};
use crate::processes::Running;
use crate::soak;

/// The variable that holds the part: words, then the database.
const PART: &str = "NEARPRINT_FAULT_PART";

/// The variable that holds the path of a database to build.
const BUILT: &str = "NEARPRINT_FAULT_BUILT";

/// What a writer process does.
#[derive(Clone, Copy, Debug)]
pub struct Writing {
    /// The first operation, and the one after the last.
    pub from: u64,
    pub to: u64,
    pub memtable_rows: usize,
    /// Whether it merges on a second thread; without one, every run makes the same system calls.
    pub background: bool,
    /// How often it tries a failed commit again.
    pub tries: u32,
}

impl Writing {
    /// Writes until it is killed.
    pub fn endless(from: u64) -> Self {
        Self { from, to: u64::MAX, memtable_rows: 300, background: true, tries: 0 }
    }

    /// Ends by itself, with a clean close.
    pub fn until(self, to: u64) -> Self {
        Self { to, ..self }
    }

    /// The command that starts it.
    pub fn command(self, path: &Path) -> Command {
        let Self { from, to, memtable_rows, background, tries } = self;
        myself(format!("write {from} {to} {memtable_rows} {background} {tries}"), path)
    }

    pub fn start(self, path: &Path) -> Running {
        Running::start(&mut self.command(path))
    }
}

/// Rows of each of the three parts of a process that forks.
pub const FORK_ROWS: u64 = 20;

/// A process that has a writer, a builder and a work folder, and forks. Its child ends as a program does.
pub struct Forking {
    /// The first of its rows.
    pub first: u64,
    /// The database that it builds.
    pub built: PathBuf,
}

impl Forking {
    /// It says `FORKED` after its child has ended, and waits for a line. Its temporary files are beside
    /// the database.
    pub fn start(&self, path: &Path) -> Running {
        let mut command = myself(format!("fork {}", self.first), path);
        command.env(BUILT, &self.built).env("TMPDIR", path.parent().unwrap());
        Running::start(&mut command)
    }
}

/// The command that starts a reader of the soak test.
pub fn reading(path: &Path, number: u64, milliseconds: u64) -> Command {
    myself(format!("read {number} {milliseconds}"), path)
}

fn myself(part: String, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker::plays_its_part", "--nocapture", "--test-threads=1"]);
    command.env(PART, format!("{part} {}", path.display()));
    command
}

/// Where a writer notes the last acknowledged operation, for readers.
pub fn noted(path: &Path) -> PathBuf {
    path.with_extension("acknowledged")
}

#[test]
fn plays_its_part() {
    let Ok(part) = std::env::var(PART) else { return };
    let words: Vec<&str> = part.split(' ').collect();
    // What the test harness has printed is on the line so far.
    say("\nREADY");
    match words[..] {
        ["write", from, to, memtable_rows, background, tries, path] => {
            let writing = Writing {
                from: from.parse().unwrap(),
                to: to.parse().unwrap(),
                memtable_rows: memtable_rows.parse().unwrap(),
                background: background.parse().unwrap(),
                tries: tries.parse().unwrap(),
            };
            if let Err(error) = write(writing, Path::new(path)) {
                say(&format!("FAIL {error}"));
                std::process::exit(1);
            }
            say("DONE");
        }
        ["read", number, milliseconds, path] => {
            let time = Duration::from_millis(milliseconds.parse().unwrap());
            soak::read(Path::new(path), number.parse().unwrap(), time);
        }
        ["fork", first, ..] => {
            let (path, first) = (part.splitn(3, ' ').nth(2).unwrap(), first.parse().unwrap());
            if let Err(error) = fork(Path::new(path), first) {
                say(&format!("FAIL {error}"));
                std::process::exit(1);
            }
        }
        _ => panic!("{part}: no such part"),
    }
}

/// Prints a line at once, past the test harness.
pub fn say(line: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
}

/// Applies operations and acknowledges each batch that is durable.
fn write(writing: Writing, path: &Path) -> Result<()> {
    let options = Options::new().memtable_rows(writing.memtable_rows);
    let options = if writing.background { options } else { options.background_merges(false).threads(1) };
    let mut writer = options.open::<u64>(path)?.writer()?;
    say("OPEN");
    let note = File::options().write(true).open(noted(path)).ok();
    for i in writing.from..writing.to {
        apply(&mut writer, History::Mixed.operation(i))?;
        let Some(settle) = History::Mixed.settles(i) else { continue };
        insist(&mut writer, settle, writing.tries)?;
        say(&format!("ACK {}", i + 1));
        if let Some(note) = &note {
            note.write_all_at(&(i + 1).to_le_bytes(), 0).unwrap();
        }
    }
    writer.close()
}

fn apply(writer: &mut Writer<u64>, operation: Operation) -> Result<()> {
    match operation {
        Operation::Insert(row) => writer.insert(row).map(drop),
        Operation::Delete(id) => writer.delete(id),
        Operation::Upsert(row) => writer.upsert(row).map(drop),
    }
}

/// Makes a batch durable, with the same writer where it can be tried again: that is what it
/// promises unless it is poisoned.
fn insist(writer: &mut Writer<u64>, settle: Settle, mut tries: u32) -> Result<()> {
    loop {
        let result = match settle {
            Settle::Commit => writer.commit(),
            Settle::Flush => writer.flush(),
            Settle::Compact => writer.compact(),
        };
        match result {
            Err(Error::Poisoned { path }) => return Err(Error::Poisoned { path }),
            Err(error) if tries > 0 => {
                say(&format!("FAIL {error}"));
                tries -= 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

/// The last operation that a writer has noted as acknowledged.
pub fn last_noted(path: &Path) -> u64 {
    fs::read(noted(path)).unwrap().try_into().map_or(0, u64::from_le_bytes)
}

/// Writes and builds before and after a fork whose child drops everything.
fn fork(path: &Path, first: u64) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let part = |part: u64| (0..FORK_ROWS).map(move |row| first + part * FORK_ROWS + row);
    let row = |id: u64| Row { fingerprint: fingerprint(id), id };
    let mut writer = Database::<u64>::open(path)?.writer()?;
    let mut builder = Database::<u64>::build(std::env::var_os(BUILT).unwrap(), &Schema::new())?;
    let mut kept = Deduplicator::temporary(DedupOptions::new("simhash".parse()?))?;
    kept.decide("a", "one text of some words")?;
    let insert = |writer: &mut Writer<u64>, rows: u64| -> Result<()> {
        part(rows).try_for_each(|id| writer.insert(row(id)).map(drop))?;
        writer.commit()
    };
    insert(&mut writer, 0)?;
    part(2).take(5).try_for_each(|id| builder.push(row(id)).map(drop))?;
    // SAFETY: the child uses no lock that another thread could hold: it only drops what this thread has.
    match unsafe { libc::fork() } {
        0 => {
            let is_used = insert(&mut writer, 1).is_ok();
            drop((writer, builder, kept));
            std::process::exit(i32::from(is_used));
        }
        child => {
            let mut status = -1;
            // SAFETY: `status` outlives the call.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert_eq!(status, 0, "the child used what its parent has");
        }
    }
    say("FORKED");
    std::io::stdin().read_line(&mut String::new())?;
    insert(&mut writer, 1)?;
    part(2).skip(5).try_for_each(|id| builder.push(row(id)).map(drop))?;
    builder.finish()?;
    assert_eq!(
        kept.decide("c", "one text of some words")?,
        Decision::Duplicate { of: "a".into(), distance: 0, similarity: 1.0, is_exact: false }
    );
    Ok(writer.close()?)
}
