//! Signals: an exit code that names them, and a sound database, whenever they come.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::history::{History, State, check, fingerprint, recover};
use crate::processes::{Ended, Running, adding, copy, create, nearprint};
use testkit::Random;

const INTERRUPTED: i32 = 130;
/// Rows that keep a command busy for a while.
const ROWS: u64 = 60_000;
const ROUNDS: u64 = 10;

/// Runs a command once to its end, then interrupts it at random moments until then. `check` sees
/// how each ended, and whether it came to its end.
fn interrupt_at_random(prepare: impl Fn(), start: impl Fn() -> Running, mut check: impl FnMut(&Ended, bool)) {
    prepare();
    let started = Instant::now();
    let ended = start().end().expect(0);
    let whole = started.elapsed().as_micros() as u64;
    check(&ended, true);
    let mut random = Random(11);
    let mut interrupted = 0;
    for _ in 0..ROUNDS {
        prepare();
        let running = start();
        // Before it listens, a signal ends it in the ordinary way.
        std::thread::sleep(Duration::from_micros(random.below(whole * 3 / 4)));
        running.interrupt();
        let ended = running.end();
        assert!([0, INTERRUPTED, -1].contains(&ended.code()), "{}: {}", ended.code(), ended.err);
        interrupted += u64::from(ended.code() == INTERRUPTED);
        check(&ended, ended.code() == 0);
    }
    assert!(interrupted > 0, "the signal always came too late");
}

fn lines() -> impl Iterator<Item = String> + Send {
    (0..ROWS).map(|i| fingerprint(i).to_string())
}

/// A database of some runs, and where to put copies of it.
fn template(home: &Path) -> (PathBuf, State) {
    let path = home.join("template");
    create(&path);
    let mut state = State::new(History::Rows { batch: 1000 });
    for rows in [ROWS, ROWS / 8, ROWS / 64 / 1000 * 1000 + 1000] {
        let to = (state.done + rows).next_multiple_of(1000);
        adding(&path, 1000, state.done..to).end().expect(0);
        check(&path, &mut state, to).unwrap();
    }
    (path, state)
}

/// Replaces a database by a copy of it.
fn renew(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    copy(from, to.to_path_buf());
}

/// A program under `nohup` has to outlive its terminal.
#[test]
fn regression_an_ignored_hangup_stays_ignored() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    create(&path);
    let mut ignoring = Command::new("nohup");
    let mut writer = Running::start(ignoring.arg(nearprint().get_program()).arg("add").arg(&path).args([
        "--acknowledge",
        "--batch",
        "1",
    ]));
    let mut lines = writer.lines();
    for i in 1..3 {
        writer.say(&format!("{i}\n"));
        assert_eq!(lines.next().unwrap().unwrap(), format!("ACK {i}"));
        writer.signal("HUP");
    }
    writer.end().expect(0);
}

#[test]
fn an_interrupted_add_keeps_what_was_committed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    create(&path);
    let mut state = State::new(History::Rows { batch: 100 });
    let mut writer =
        Running::start(nearprint().arg("add").arg(&path).args(["--acknowledge", "--batch", "100"]));
    for i in 0..250 {
        writer.say(&format!("{}\n", fingerprint(i)));
    }
    let mut lines = writer.lines();
    assert_eq!(lines.nth(1).unwrap().unwrap(), "ACK 200");
    writer.interrupt();
    writer.end_by_itself().expect(INTERRUPTED).says(&["200 rows were committed and stay"]);
    check(&path, &mut state, 200).unwrap();
    assert_eq!(state.done, 200);
    recover(&path, &mut state);

    let from = std::cell::Cell::new(state.done);
    let start = || adding(&path, 100, from.get()..from.get() + 20_000);
    interrupt_at_random(
        || (),
        start,
        |ended, _| {
            check(&path, &mut state, from.get() + ended.acknowledged().unwrap_or(0)).unwrap();
            from.set(state.done);
        },
    );
    recover(&path, &mut state);
}

#[test]
fn an_interrupted_compact_changes_no_row() {
    let home = tempfile::tempdir().unwrap();
    let (template, mut state) = template(home.path());
    let path = home.path().join("db");
    let start = || Running::start(nearprint().arg("compact").arg(&path));
    let done = state.done;
    interrupt_at_random(
        || renew(&template, &path),
        start,
        |_, _| {
            check(&path, &mut state, done).unwrap();
            recover(&path, &mut state);
        },
    );
}

#[test]
fn an_interrupted_delete_deletes_whole_batches() {
    // What the command commits at once.
    const BATCH: usize = 50_000;
    let home = tempfile::tempdir().unwrap();
    let (template, state) = template(home.path());
    let path = home.path().join("db");
    let ids = || (0..ROWS).map(|id| id.to_string());
    let start = || Running::start(nearprint().arg("delete").arg(&path)).feed(ids());
    let all = state.done as usize;
    interrupt_at_random(
        || renew(&template, &path),
        start,
        |_, finished| {
            let export = Running::start(nearprint().arg("export").arg(&path)).end().expect(0);
            let left = export.out.lines().count();
            let expected: &[usize] =
                if finished { &[all - ROWS as usize] } else { &[all, all - BATCH, all - ROWS as usize] };
            assert!(expected.contains(&left), "{left} rows of {all} are left");
            Running::start(nearprint().arg("verify").arg(&path)).end().expect(0);
        },
    );
}

#[test]
fn an_interrupted_build_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let prepare = || {
        let _ = fs::remove_dir_all(&path);
        let _ = fs::remove_dir_all(home.path().join("db.building"));
    };
    let start = || Running::start(nearprint().arg("build").arg(&path)).feed(lines());
    interrupt_at_random(prepare, start, |ended, finished| {
        assert_eq!(path.exists(), finished, "{}", ended.err);
        // Only a process that was ended before it listened may leave its staging folder.
        assert!(ended.code() == -1 || !home.path().join("db.building").exists());
    });
}
