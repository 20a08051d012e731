//! SIGKILL at random moments. The file system survives it, so this is about the order of writes and
//! about recovery; power cuts and failing syncs have tests of their own.

use std::path::Path;
use std::time::Duration;

use crate::common::{Random, short_or_full};
use crate::history::{History, State, check, recover};
use crate::machine::setting;
use crate::processes::{Running, adding, create, nearprint};
use crate::worker::Writing;

fn rounds(otherwise: u64) -> u64 {
    setting("NEARPRINT_FAULT_ROUNDS", otherwise)
}

/// Lets a process work for a random time, at times hardly any: recovery is to be met too.
fn wait(random: &mut Random) {
    let most_microseconds = if random.below(3) == 0 { 12_000 } else { 120_000 };
    std::thread::sleep(Duration::from_micros(random.below(most_microseconds)));
}

/// Checks a database whose writer was killed; now and then opens it for writing here.
fn check_killed(path: &Path, state: &mut State, acknowledged: u64, random: &mut Random) {
    check(path, state, acknowledged).unwrap();
    if random.below(4) == 0 {
        recover(path, state);
    }
}

#[test]
fn a_killed_writer_loses_nothing_acknowledged() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    create(&path);
    let mut random = Random(setting("NEARPRINT_FAULT_SEED", 1));
    let mut state = State::new(History::Mixed);
    let rounds = rounds(short_or_full(25, 110));
    for _ in 0..rounds {
        let mut writer = Writing::endless(state.done).start(&path);
        wait(&mut random);
        assert!(writer.is_running());
        writer.kill();
        let acknowledged = writer.end().acknowledged().unwrap_or(state.done);
        check_killed(&path, &mut state, acknowledged, &mut random);
    }
    recover(&path, &mut state);
    assert!(state.done > rounds * 50, "{} operations are not much of a test", state.done);
}

#[test]
fn killed_commands_lose_nothing_acknowledged() {
    const BATCH: u64 = 50;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    create(&path);
    let mut random = Random(setting("NEARPRINT_FAULT_SEED", 2));
    let mut state = State::new(History::Rows { batch: BATCH });
    for round in 0..rounds(short_or_full(12, 40)) {
        let from = state.done;
        let mut command = if round % 4 == 3 {
            Running::start(nearprint().arg("compact").arg(&path))
        } else {
            adding(&path, BATCH, from..u64::MAX)
        };
        wait(&mut random);
        command.kill();
        let acknowledged = from + command.end().acknowledged().unwrap_or(0);
        check_killed(&path, &mut state, acknowledged, &mut random);
    }
    recover(&path, &mut state);
}
