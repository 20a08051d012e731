//! System calls that fail, one after the other, at every call that a small run makes.
//!
//! strace makes the i-th call of a kind fail, for every i, until a run gets through without meeting
//! a failure. Whatever fails: an error or success and never a panic, everything acknowledged is
//! there when the database is opened again, and a failed sync ends all acknowledging.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::history::{History, State, check, check_within, fingerprint, recover};
use crate::machine::needs;
use crate::processes::{Ended, Running, adding, command, copy, create, nearprint};
use crate::worker::Writing;
use testkit::{Need, folder_in_memory, is_full, short_or_full, skip};

/// A call that fails, and how.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub call: &'static str,
    /// An error, a signal that ends the program before the call, or the microseconds that the call waits.
    error: &'static str,
    /// Whether all calls from the i-th on fail.
    for_good: bool,
    /// Fails at every so many calls only, except in long runs.
    stride: u64,
}

pub const fn once(call: &'static str, error: &'static str) -> Fault {
    Fault { call, error, for_good: false, stride: 1 }
}

pub const fn for_good(call: &'static str, error: &'static str) -> Fault {
    Fault { for_good: true, ..once(call, error) }
}

impl Fault {
    pub const fn at_some(self, stride: u64) -> Self {
        Self { stride, ..self }
    }

    /// Short runs skip calls that the full ones try. A prime, so that no kind of call is skipped by
    /// its rhythm.
    const fn stride_of(self, is_full: bool, is_long: bool) -> u64 {
        match (is_long, is_full) {
            (true, _) => 1,
            (_, true) => self.stride,
            _ => self.stride * SHORT_STRIDE,
        }
    }

    fn is_sync(self) -> bool {
        ["fsync", "fdatasync"].contains(&self.call)
    }
}

/// Of the calls that a full run lets fail, a short one takes every so many.
const SHORT_STRIDE: u64 = 5;

const SYNCS: [Fault; 2] = [once("fdatasync", "EIO"), once("fsync", "EIO")];
const OTHERS: [Fault; 9] = [
    once("pwrite64", "ENOSPC"),
    for_good("pwrite64", "ENOSPC").at_some(4),
    once("pwrite64", "EIO").at_some(4),
    once("renameat", "EIO"),
    once("unlinkat", "EIO").at_some(4),
    once("openat", "EACCES").at_some(4),
    for_good("openat", "EMFILE").at_some(4),
    once("flock", "ENOLCK"),
    once("getdents64", "EIO"),
];
const OF_COMMANDS: [Fault; 7] = [
    once("fdatasync", "EIO"),
    once("fsync", "EIO"),
    once("pwrite64", "ENOSPC").at_some(3),
    for_good("pwrite64", "ENOSPC").at_some(3),
    once("write", "ENOSPC"),
    once("renameat", "EIO"),
    for_good("openat", "EMFILE").at_some(4),
];
const OF_READERS: [Fault; 6] = [
    once("openat", "EACCES"),
    once("newfstatat", "EIO"),
    for_good("openat", "EMFILE"),
    once("pread64", "EIO"),
    once("statx", "EIO"),
    once("read", "EIO"),
];

/// Makes a call fail in other programs.
pub struct Strace {
    fault: Fault,
    when: u64,
    log: PathBuf,
    has_no_replace: bool,
}

impl Strace {
    pub fn new(fault: Fault, when: u64, log: PathBuf) -> Self {
        Self { fault, when, log, has_no_replace: true }
    }

    /// As on a file system that cannot rename without replacing.
    pub fn without_no_replace(self) -> Self {
        Self { has_no_replace: false, ..self }
    }

    pub fn start(&self, command: &Command) -> Running {
        let Fault { call, error, for_good, .. } = self.fault;
        let when = format!("{}{}", self.when, if for_good { "+" } else { "" });
        // With the filter, strace delivers no signals.
        let is_signal = error.starts_with("SIG");
        let (how, filter) = match is_signal {
            true => ("signal", &[][..]),
            false if error.starts_with(|c: char| c.is_ascii_digit()) => {
                ("delay_enter", &["--seccomp-bpf"][..])
            }
            false => ("error", &["--seccomp-bpf"][..]),
        };
        let mut strace = Command::new("strace");
        let further = if self.has_no_replace { "" } else { ",renameat2" };
        strace.args(["-f", "-qq", "-e", &format!("trace={call}{further}")]).args(filter);
        if !self.has_no_replace {
            strace.args(["-e", "inject=renameat2:error=EINVAL"]);
        }
        strace.args(["-e", &format!("inject={call}:{how}={error}:when={when}"), "-o"]).arg(&self.log);
        strace.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            strace.env(name, value.unwrap());
        }
        Running::start(&mut strace)
    }

    /// Whether a call has failed.
    pub fn has_hit(&self) -> bool {
        fs::read_to_string(&self.log).unwrap().contains("(INJECTED)")
    }

    pub fn place(&self) -> String {
        format!("{:?}, call {}", self.fault, self.when)
    }

    /// Checks that the program ended as it should whatever fails.
    fn check(&self, ended: &Ended) {
        assert!(!ended.err.contains("panicked"), "{}: {}", self.place(), ended.err);
        // The dynamic loader ends a program that it cannot load with 127. What cannot be read is no
        // damage.
        let codes: &[i32] = if self.has_hit() { &[0, 1, 127] } else { &[0] };
        assert!(codes.contains(&ended.code()), "{}: {} {}", self.place(), ended.code(), ended.err);
    }
}

/// Runs something in which the i-th call fails, for every i, on two threads, until `attempt` says
/// that none did.
pub fn at_every_call(fault: Fault, attempt: impl Fn(&Path, &Strace) -> bool + Sync) {
    let is_long = std::env::var_os("NEARPRINT_FAULT_ROUNDS").is_some();
    at_calls(fault, fault.stride_of(is_full(), is_long), attempt);
}

/// As [`at_every_call`], for every so many calls.
pub fn at_calls(fault: Fault, stride: u64, attempt: impl Fn(&Path, &Strace) -> bool + Sync) {
    let next = AtomicU64::new(1);
    let hit = AtomicU64::new(0);
    let work = || {
        loop {
            // Calls that are made to fail need no medium.
            let home = folder_in_memory();
            let when = next.fetch_add(stride, Ordering::Relaxed);
            if !attempt(home.path(), &Strace::new(fault, when, home.path().join("log"))) {
                return;
            }
            hit.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        work();
        other.join().unwrap();
    });
    let hit = hit.into_inner();
    println!("{} {}: {hit} runs", fault.call, fault.error);
    assert!(hit > 0, "{fault:?} never happened");
}

/// Runs a command. Returns its calls of some kinds that did not fail, in their order, with the paths of open files.
pub fn calls_of(command: &Command, calls: &str, log: &Path) -> Vec<String> {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y", "-e", &format!("trace={calls}"), "-o"]).arg(log);
    strace.arg(command.get_program()).args(command.get_args());
    Running::start(&mut strace).end().expect(0);
    let log = fs::read_to_string(log).unwrap();
    log.lines().filter(|line| line.ends_with("= 0")).map(String::from).collect()
}

pub fn is_possible(test: &str) -> bool {
    needs("strace").map_err(|reason| skip(Need::Strace, test, &reason)).is_ok()
}

/// A database, and what stands in it.
struct Template {
    path: PathBuf,
    state: State,
}

impl Template {
    fn copy(&self, home: &Path) -> (PathBuf, State) {
        (copy(&self.path, home.join("db")), self.state.clone())
    }
}

/// A writer that makes the same calls every time.
fn small(from: u64) -> Writing {
    Writing { memtable_rows: 150, background: false, ..Writing::endless(from) }
}

/// A database with some runs, and a log that its killed writer left.
fn mixed(home: &Path) -> Template {
    let path = home.join("template");
    create(&path);
    small(0).until(900).start(&path).end().expect(0);
    kill_after_acknowledgement(Writing { memtable_rows: 1 << 20, ..small(900) }.start(&path));
    let mut state = State::new(History::Mixed);
    check_within(&path, &mut state, 900, 10_000).unwrap();
    Template { path, state }
}

fn kill_after_acknowledgement(mut writer: Running) {
    assert!(writer.lines().any(|line| line.unwrap().starts_with("ACK")));
    writer.kill();
    writer.end();
}

/// One run of the writer process with a failing call; with merges in the background, the i-th of
/// each thread.
fn write(template: &Template, home: &Path, strace: &Strace, background: bool) -> bool {
    let (path, mut state) = template.copy(home);
    let from = state.done;
    let to = (from + 500..).find(|&i| History::Mixed.settles(i).is_some()).unwrap() + 1;
    let writing = Writing { tries: 3, background, ..small(from).until(to) };
    let ended = strace.start(&writing.command(&path)).end();
    strace.check(&ended);
    let acknowledged = ended.acknowledged().unwrap_or(from);
    let (opened, done) = (ended.out.contains("OPEN"), ended.out.contains("DONE"));
    check(&path, &mut state, acknowledged).unwrap_or_else(|why| panic!("{}: {why}", strace.place()));
    assert!(!done || state.done == to, "{}", strace.place());
    let hit = strace.has_hit();
    if hit && strace.fault.is_sync() {
        assert!(!done && is_last_word(&ended), "{}: {}", strace.place(), ended.out);
    }
    if hit && strace.fault.call == "pwrite64" && !strace.fault.for_good {
        // It is tried again with the same writer; opening and closing are for others to repeat.
        assert!(done || !opened || acknowledged == to, "{}: {}", strace.place(), ended.out);
    }
    recover(&path, &mut state);
    hit
}

/// Whether nothing is acknowledged after a failure.
fn is_last_word(ended: &Ended) -> bool {
    ended.out.lines().skip_while(|line| !line.starts_with("FAIL")).all(|line| !line.starts_with("ACK"))
}

#[test]
fn a_failed_sync_ends_all_acknowledging() {
    if !is_possible("a_failed_sync_ends_all_acknowledging") {
        return;
    }
    let home = folder_in_memory();
    let template = mixed(home.path());
    for (fault, background) in SYNCS.into_iter().flat_map(|fault| [(fault, false), (fault, true)]) {
        at_every_call(fault, |home, strace| write(&template, home, strace, background));
    }
}

#[test]
fn failing_calls_lose_nothing_acknowledged() {
    if !is_possible("failing_calls_lose_nothing_acknowledged") {
        return;
    }
    let home = folder_in_memory();
    let template = mixed(home.path());
    for fault in OTHERS {
        at_every_call(fault, |home, strace| write(&template, home, strace, false));
    }
}

const BATCH: u64 = 20;

/// A database of the command line: two runs, and a log that a killed command left.
fn of_commands(home: &Path) -> Template {
    let path = home.join("template");
    create(&path);
    for rows in [0..200, 200..260] {
        adding(&path, BATCH, rows).end().expect(0);
    }
    kill_after_acknowledgement(adding(&path, BATCH, 260..u64::MAX));
    let mut state = State::new(History::Rows { batch: BATCH });
    check_within(&path, &mut state, 260, 1 << 20).unwrap();
    Template { path, state }
}

/// `add` with a failing call.
fn add(template: &Template, home: &Path, strace: &Strace) -> bool {
    let (path, mut state) = template.copy(home);
    let from = state.done;
    let mut command = nearprint();
    command.args(["add", "--threads", "1", "--acknowledge", "--batch", &BATCH.to_string()]).arg(&path);
    let rows = (from..from + 4 * BATCH).map(|i| fingerprint(i).to_string());
    let ended = strace.start(&command).feed(rows).end();
    strace.check(&ended);
    let acknowledged = from + ended.acknowledged().unwrap_or(0);
    check(&path, &mut state, acknowledged).unwrap_or_else(|why| panic!("{}: {why}", strace.place()));
    if strace.has_hit() && strace.fault.is_sync() {
        assert_eq!(ended.code(), 1, "{}", strace.place());
        assert!(ended.err.contains(path.to_str().unwrap()), "{}", ended.err);
    }
    recover(&path, &mut state);
    strace.has_hit()
}

/// `compact` with a failing call.
fn compact(template: &Template, home: &Path, strace: &Strace) -> bool {
    let (path, mut state) = template.copy(home);
    let done = state.done;
    let mut command = nearprint();
    command.args(["compact", "--quiet", "--threads", "1"]).arg(&path);
    let ended = strace.start(&command).end();
    strace.check(&ended);
    check(&path, &mut state, done).unwrap_or_else(|why| panic!("{}: {why}", strace.place()));
    assert_eq!(state.done, done, "{}", strace.place());
    recover(&path, &mut state);
    strace.has_hit()
}

#[test]
fn commands_survive_failing_calls() {
    if !is_possible("commands_survive_failing_calls") {
        return;
    }
    let home = folder_in_memory();
    let template = of_commands(home.path());
    for fault in OF_COMMANDS {
        at_every_call(fault, |home, strace| add(&template, home, strace));
        if fault.call != "write" {
            at_every_call(fault, |home, strace| compact(&template, home, strace));
        }
    }
}

/// A reader that cannot read says so; it neither answers wrongly nor speaks of damage.
#[test]
fn readers_survive_failing_calls() {
    if !is_possible("readers_survive_failing_calls") {
        return;
    }
    let home = folder_in_memory();
    let template = of_commands(home.path());
    let query = fingerprint(3).to_string();
    let commands = [vec!["export"], vec!["query", "-k", "5", "-f", &query], vec!["verify"]];
    for arguments in commands {
        let mut command = nearprint();
        command.args(["--threads", "1"]).args(&arguments).arg(&template.path);
        let expected = Running::start(&mut command).end().expect(0).out;
        for fault in OF_READERS {
            at_every_call(fault, |_, strace| {
                let ended = strace.start(&command).end();
                strace.check(&ended);
                assert!(ended.code() != 0 || ended.out == expected, "{}: {}", strace.place(), ended.out);
                strace.has_hit()
            });
        }
    }
}

/// A process that is killed while it makes a folder leaves nothing that stops the next one, or that
/// the next one leaves.
#[test]
fn regression_a_kill_while_a_folder_is_made_blocks_nobody() {
    if !is_possible("regression_a_kill_while_a_folder_is_made_blocks_nobody") {
        return;
    }
    const CALLS: [&str; 9] = [
        "openat",
        "mkdirat",
        "flock",
        "pwrite64",
        "fdatasync",
        "renameat2",
        "fchmod",
        "renameat",
        "unlinkat",
    ];
    let text = || std::iter::once("{\"text\": \"one two three four\"}".to_owned());
    for call in CALLS {
        // Most files are opened elsewhere.
        let stride = if call == "openat" { short_or_full(11, 1) } else { 1 };
        at_calls(once(call, "SIGKILL"), stride, |home, strace| {
            let (temporary, target) = (home.join("T"), home.join("T/x.np"));
            fs::create_dir(&temporary).unwrap();
            let mut build = nearprint();
            build.args(["build", "--threads", "1"]).arg(&target);
            let killed = strace.start(&build).feed(std::iter::once("7".to_owned())).end();
            let next = Running::start(&mut build).feed(std::iter::once("7".to_owned())).end();
            let exists = next.err.contains("already exists");
            assert!(next.code() == 0 || exists, "{}: {}", strace.place(), next.err);
            command("verify", &target, &[], vec![]).expect(0);

            let mut dedup = nearprint();
            dedup.args(["-q", "dedup", "-", "--threads", "1", "-o"]).arg(home.join("o"));
            dedup.env("TMPDIR", &temporary);
            let job_killed = strace.start(&dedup).feed(text()).end();
            Running::start(&mut dedup).feed(text()).end().expect(0).says(&[]);
            let left = fs::read_dir(&temporary).unwrap().count();
            assert_eq!(left, 1, "{}: the database alone", strace.place());
            killed.code() != 0 || job_killed.code() != 0
        });
    }
}

/// A process that is killed while it makes, checks or removes an unfinished output leaves nothing that stops the
/// next one.
#[test]
fn regression_a_kill_while_an_output_is_checked_blocks_nobody() {
    if !is_possible("regression_a_kill_while_an_output_is_checked_blocks_nobody") {
        return;
    }
    for call in ["openat", "fsetxattr", "linkat", "fremovexattr", "unlink", "rename"] {
        // Most files are opened elsewhere.
        let stride = if call == "openat" { short_or_full(11, 1) } else { 1 };
        at_calls(once(call, "SIGKILL"), stride, |home, strace| {
            let mut dedup = nearprint();
            dedup.args(["-q", "dedup", "-", "--threads", "1", "-o"]).arg(home.join("o.jsonl"));
            dedup.arg("--duplicates").arg(home.join("gone.tsv")).arg("--db").arg(home.join("seen.np"));
            let text = || std::iter::once("{\"text\": \"one two three four\"}".to_owned());
            let killed = strace.start(&dedup).feed(text()).end();
            let next = Running::start(&mut dedup).feed(text()).end();
            assert_eq!(next.code(), 0, "{}: {}", strace.place(), next.err);
            assert_eq!(fs::read_to_string(home.join("o.jsonl")).unwrap().lines().count(), 1);
            killed.code() != 0
        });
    }
}

/// Where rows expire, the rows of the job were gone before the record of it: a job that is finished had no rows, and
/// was not run again.
#[test]
fn regression_a_killed_restart_forgot_the_rows_of_a_finished_job() {
    if !is_possible("regression_a_killed_restart_forgot_the_rows_of_a_finished_job") {
        return;
    }
    let texts = ["one two three four five six seven", "completely different words stand in this line today"];
    for call in ["pwrite64", "fdatasync", "renameat", "unlinkat"] {
        let stride = if call == "pwrite64" { short_or_full(5, 1) } else { 1 };
        at_calls(once(call, "SIGKILL"), stride, |home, strace| {
            let at = |name: &str| home.join(name);
            let dedup = |day: &str, options: &[&str]| {
                let mut dedup = nearprint();
                dedup.args(["-q", "dedup", "--threads", "1", "--key-field", "url"]).args(options);
                dedup.arg(at(day)).arg("-o").arg(at(&format!("of-{day}"))).arg("--db").arg(at("seen.np"));
                dedup
            };
            for (text, (day, options)) in
                texts.iter().zip([("a.jsonl", &["--expire-after", "30d"][..]), ("b.jsonl", &[])])
            {
                fs::write(at(day), format!("{{\"url\":\"x\",\"text\":\"{text}\"}}\n")).unwrap();
                Running::start(&mut dedup(day, options)).end().expect(0);
            }
            let killed = strace.start(&dedup("b.jsonl", &["--restart"])).end();
            let lines = |command: &str| {
                Running::start(nearprint().arg(command).arg(at("seen.np")))
                    .end()
                    .expect(0)
                    .out
                    .lines()
                    .count()
            };
            let (jobs, rows) = (lines("jobs"), lines("export"));
            assert!(jobs <= rows, "{}: {jobs} jobs with {rows} rows", strace.place());
            Running::start(&mut dedup("b.jsonl", &[])).end().expect(0);
            assert_eq!((lines("jobs"), lines("export")), (2, 2), "{}", strace.place());
            assert_eq!(fs::read_to_string(at("of-b.jsonl")).unwrap().lines().count(), 1);
            killed.code() != 0
        });
    }
}

/// Where a file system cannot rename without replacing, folders get their names all the same.
#[test]
fn folders_are_made_where_a_rename_can_replace() {
    if !is_possible("folders_are_made_where_a_rename_can_replace") {
        return;
    }
    at_calls(for_good("renameat2", "EINVAL"), 1, |home, strace| {
        let target = home.join("x.np");
        let mut build = nearprint();
        build.arg("build").arg(&target);
        strace.start(&build).feed(std::iter::once("7".to_owned())).end().expect(0);
        command("verify", &target, &[], vec![]).expect(0);
        fs::create_dir(home.join("y.np.building")).unwrap();
        let mut create = nearprint();
        create.arg("create").arg(home.join("y.np"));
        strace.start(&create).end().expect(1).says(&["an empty folder", "move it away"]);
        strace.has_hit()
    });
}
