//! One writer at a time, and none on a medium that cannot be written.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::history::{History, State, check, check_within, fingerprint, recover};
use crate::machine::{self, Mount};
use crate::processes::{Running, adding, command, create, nearprint};
use crate::worker::Writing;
use testkit::{Need, skip};

/// A writer that holds the lock and waits, after `rows` acknowledged rows.
fn waiting(path: &Path, rows: std::ops::Range<u64>) -> Running {
    let batch = (rows.end - rows.start).to_string();
    let mut command = nearprint();
    let mut writer = Running::start(command.arg("add").arg(path).args(["--acknowledge", "--batch", &batch]));
    rows.for_each(|i| writer.say(&format!("{}\n", fingerprint(i))));
    let first = writer.lines().next().unwrap().unwrap();
    assert_eq!(first, format!("ACK {batch}"));
    writer
}

#[test]
fn a_second_writer_is_refused_until_the_first_is_gone() {
    const BATCH: u64 = 20;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    create(&path);
    let mut state = State::new(History::Rows { batch: BATCH });
    for _ in 0..10 {
        let mut first = waiting(&path, state.done..state.done + BATCH);
        let holder = format!("locked by another writer, process {}", first.id());
        for name in ["add", "delete", "compact"] {
            command(name, &path, &[], vec!["1".into()]).expect(4).says(&[&holder, "hint:"]);
        }
        let acknowledged = state.done + BATCH;
        check(&path, &mut state, acknowledged).unwrap();
        first.kill();
        first.end();
        // The lock goes with the process, though LOCK still names it.
        adding(&path, BATCH, acknowledged..acknowledged + BATCH).end().expect(0);
        check(&path, &mut state, acknowledged + BATCH).unwrap();
    }
    recover(&path, &mut state);
}

#[test]
fn a_writer_waits_until_the_other_one_ends() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    create(&path);
    for name in ["add", "delete", "compact"] {
        let first = waiting(&path, 0..1);
        let started = Instant::now();
        command(name, &path, &["--wait", "0.3"], vec!["1".into()]).expect(4).says(&["hint: ", "--wait"]);
        assert!(started.elapsed().as_secs_f64() >= 0.3);
        let mut begin = nearprint();
        let second = Running::start(begin.arg(name).arg(&path).args(["--wait", "60"]))
            .feed(std::iter::once("1".into()));
        std::thread::sleep(Duration::from_millis(100));
        first.end().expect(0);
        second.end().expect(0);
    }
}

#[test]
fn a_signal_ends_a_wait() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    create(&path);
    let first = waiting(&path, 0..1);
    for (name, signal, code) in [("add", "INT", 130), ("compact", "TERM", 143), ("delete", "HUP", 129)] {
        let mut begin = nearprint();
        let second = Running::start(begin.arg(name).arg(&path).args(["--wait", "600"]));
        std::thread::sleep(Duration::from_millis(500));
        second.signal(signal);
        second.end().expect(code).says(&["interrupted"]);
    }
    first.end().expect(0);
}

/// Each either adds all of its rows or is refused.
#[test]
fn writers_that_start_together_never_work_together() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    create(&path);
    let mut added = 0;
    for round in 0..8u64 {
        let start = |i: u64| {
            let mut command = nearprint();
            command.arg("add").arg(&path);
            Running::start(&mut command).feed((0..30).map(move |row| (row * 1000 + i).to_string()))
        };
        let together: Vec<Running> = (0..6).map(|i| start(round * 6 + i)).collect();
        let codes: Vec<i32> = together.into_iter().map(|writer| writer.end().code()).collect();
        assert!(codes.contains(&0), "{codes:?}");
        assert!(codes.iter().all(|&code| code == 0 || code == 4), "{codes:?}");
        added += codes.iter().filter(|&&code| code == 0).count() * 30;
        assert_eq!(command("export", &path, &[], vec![]).expect(0).out.lines().count(), added);
        command("verify", &path, &[], vec![]).expect(0);
    }
}

/// A child that another thread has just started holds copies of all open files until it runs its
/// program.
#[test]
fn regression_a_closed_writer_leaves_no_lock_with_children() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    create(&path);
    let database = nearprint::Database::<u64>::open(&path).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                machine::run("true").unwrap();
            }
        });
        let outcome = (0..3000).try_for_each(|_| database.writer()?.close());
        stop.store(true, Ordering::Relaxed);
        outcome.unwrap();
    });
}

/// What cannot be written can be read, the log of a killed writer included.
#[test]
fn a_read_only_medium_answers_and_takes_nothing() {
    for kind in [Mount::ext4, || Mount::tmpfs(8192)] {
        let disk = match kind() {
            Ok(disk) => disk,
            Err(reason) => {
                return skip(Need::Mounts, "a_read_only_medium_answers_and_takes_nothing", &reason);
            }
        };
        let path = disk.path().join("db");
        create(&path);
        Writing::endless(0).until(2000).start(&path).end().expect(0);
        let mut killed = Writing::endless(2000).start(&path);
        let said = killed.lines().map(Result::unwrap).find(|line| line.starts_with("ACK")).unwrap();
        killed.kill();
        killed.end();
        disk.remount("ro").unwrap();

        let mut state = State::new(History::Mixed);
        let acknowledged = said.strip_prefix("ACK ").unwrap().parse().unwrap();
        check_within(&path, &mut state, acknowledged, 10_000).unwrap();
        let exported = command("export", &path, &[], vec![]).expect(0).out;
        assert_eq!(exported.lines().count(), state.rows().len());
        for name in ["verify", "stats", "pairs", "clusters"] {
            command(name, &path, &[], vec![]).expect(0);
        }
        command("query", &path, &["-k", "3"], vec!["1".into()]).expect(0);
        for name in ["add", "delete", "compact"] {
            let refused = command(name, &path, &[], vec!["1".into()]).expect(1);
            refused.says(&[path.to_str().unwrap(), "Read-only file system"]);
        }
        disk.remount("rw").unwrap();
        recover(&path, &mut state);
    }
}
