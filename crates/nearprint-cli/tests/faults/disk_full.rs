//! Full disks: small file systems in memory, and a ballast file to free space with.

use std::fs;
use std::path::Path;

use crate::history::{History, State, check, nothing_is_left_over, recover};
use crate::machine::{Mount, run};
use crate::processes::{Ended, acknowledgement, adding, command, copy, create};
use crate::worker::Writing;
use testkit::{Need, Random, short_or_full, skip};

const BATCH: u64 = 500;

/// Adds rows until the disk is full; what was acknowledged is there.
fn fill(path: &Path, state: &mut State) {
    let from = state.done;
    let ended = adding(path, BATCH, from..from + 1_000_000).end().expect(1);
    let acknowledged = from + ended.acknowledged().unwrap_or(0);
    ended.says(&[path.to_str().unwrap(), "no space left", "hint: free some space", "nothing was lost"]);
    check(path, state, acknowledged).unwrap();
}

fn succeeds(ended: Ended) -> String {
    ended.expect(0).out
}

#[test]
fn a_full_disk_loses_nothing_and_takes_more_when_there_is_room() {
    // The sizes make the log, a flush, a merge, or the recovery of the log the first to find no
    // room. What is freed must hold what is recovered: a run takes 250 KiB and twice the room that
    // its rows had in the log.
    for kib in [3000, 4096, 6000, 9000, 12_000].into_iter().step_by(short_or_full(2, 1)) {
        let disk = match Mount::tmpfs(kib) {
            Ok(disk) => disk,
            Err(reason) => {
                return skip(
                    Need::Mounts,
                    "a_full_disk_loses_nothing_and_takes_more_when_there_is_room",
                    &reason,
                );
            }
        };
        let (path, ballast) = (disk.path().join("db"), disk.path().join("ballast"));
        create(&path);
        fs::write(&ballast, vec![0; (kib as usize * 3 / 4) << 10]).unwrap();
        let mut state = State::new(History::Rows { batch: BATCH });
        fill(&path, &mut state);
        fill(&path, &mut state);
        assert_eq!(succeeds(command("export", &path, &[], vec![])).lines().count() as u64, state.done);
        let before = state.done;
        fs::remove_file(&ballast).unwrap();
        let more = before + BATCH;
        adding(&path, BATCH, before..more).end().expect(0);
        check(&path, &mut state, more).unwrap();
        fill(&path, &mut state);
        assert!(state.done > more, "{kib} KiB: the room has been used");
        run(&format!("mount -o remount,size={}k {}", kib * 4, disk.path().display())).unwrap();
        recover(&path, &mut state);
    }
}

#[test]
fn compacting_on_a_nearly_full_disk_fails_cleanly() {
    let disk = match Mount::tmpfs(4096) {
        Ok(disk) => disk,
        Err(reason) => return skip(Need::Mounts, "compacting_on_a_nearly_full_disk_fails_cleanly", &reason),
    };
    let (path, ballast) = (disk.path().join("db"), disk.path().join("ballast"));
    create(&path);
    let mut state = State::new(History::Rows { batch: BATCH });
    for rows in [40_000, 5_000] {
        let to = state.done + rows;
        adding(&path, BATCH, state.done..to).end().expect(0);
        check(&path, &mut state, to).unwrap();
    }
    // Something to compact.
    let deleted = state.done..state.done + 1;
    succeeds(command("delete", &path, &[], deleted.map(|id| id.to_string()).collect()));
    let mut refused = 0;
    for kib in [2500, 2000, 1500, 1200, 1000, 800, 500, 200, 100] {
        fs::write(&ballast, vec![0; kib << 10]).unwrap_or_default();
        let ended = command("compact", &path, &[], vec![]);
        if ended.code() == 0 {
            break;
        }
        refused += 1;
        ended.expect(1).says(&[path.to_str().unwrap(), "no space left", "hint: free some space"]);
        let before = state.done;
        check(&path, &mut state, before).unwrap();
        fs::remove_file(&ballast).unwrap();
        succeeds(command("delete", &path, &[], vec![]));
        nothing_is_left_over(&path);
    }
    assert!(refused > 0, "there was room for a second copy from the start");
    recover(&path, &mut state);
}

/// A merge that found no room made `add` fail, though all rows were in.
#[test]
fn regression_a_merge_without_room_refuses_no_rows() {
    let disk = match Mount::tmpfs(4400) {
        Ok(disk) => disk,
        Err(reason) => return skip(Need::Mounts, "regression_a_merge_without_room_refuses_no_rows", &reason),
    };
    let path = disk.path().join("db");
    create(&path);
    let mut state = State::new(History::Rows { batch: BATCH });
    adding(&path, BATCH, 0..10_000).end().expect(0);
    adding(&path, BATCH, 10_000..20_000).end().expect(0);
    let spare = disk.path().join("spare.np");
    copy(&path, spare.clone());
    adding(&spare, BATCH, 20_000..30_000).end().expect(0);
    let stats = |path: &Path| command("stats", path, &[], vec![]).expect(0).out;
    assert!(stats(&spare).contains("runs\t1\n"), "a merge is due");
    fs::remove_dir_all(spare).unwrap();

    // Room for the log and one more run, not for a merge of three.
    fs::write(disk.path().join("ballast"), vec![0; 2100 << 10]).unwrap();
    adding(&path, BATCH, 20_000..30_000).end().expect(0);
    check(&path, &mut state, 30_000).unwrap();
    nothing_is_left_over(&path);
    assert!(stats(&path).contains("runs\t3\n"), "it found no room");
    // An explicit merge fails.
    command("compact", &path, &[], vec![]).expect(1).says(&["no space left"]);
}

/// The handle stays usable: the same writer continues once there is room, whatever step found none,
/// merges in the background included.
#[test]
fn a_writer_that_met_a_full_disk_goes_on() {
    let mut random = Random(7);
    for round in 0..6 {
        let disk = match Mount::tmpfs(6000) {
            Ok(disk) => disk,
            Err(reason) => return skip(Need::Mounts, "a_writer_that_met_a_full_disk_goes_on", &reason),
        };
        let (path, ballast) = (disk.path().join("db"), disk.path().join("ballast"));
        create(&path);
        fs::write(&ballast, vec![0; (5300 + random.below(500) as usize) << 10]).unwrap();
        let writing = Writing { background: round % 2 == 0, tries: 100, ..Writing::endless(0).until(12_000) };
        let mut writer = writing.start(&path);
        let (mut acknowledged, mut failures) = (0, Vec::new());
        for line in writer.lines() {
            let line = line.unwrap() + "\n";
            acknowledged = acknowledgement(&line).unwrap_or(acknowledged);
            if line.starts_with("FAIL") {
                assert!(line.contains("no space left"), "{line}");
                failures.push(line);
                let _ = fs::remove_file(&ballast);
            }
        }
        assert_eq!(writer.end().code(), 0, "{failures:?}");
        assert!(!failures.is_empty(), "the disk never was full");
        let mut state = State::new(History::Mixed);
        check_closed(&path, &mut state, acknowledged, writing.to);
    }
}

/// Checks a database whose writer has closed it after `to` operations.
fn check_closed(path: &Path, state: &mut State, acknowledged: u64, to: u64) {
    assert!(acknowledged <= to);
    while state.done < to {
        state.step();
    }
    check(path, state, to).unwrap();
    assert_eq!(state.done, to);
    nothing_is_left_over(path);
    recover(path, state);
}

/// Deletions find room on a full disk, and so does a merge of what is small. Each needs the reserve again, which
/// the writer that closes puts back where there is room.
#[test]
fn a_full_disk_is_freed_from_within() {
    let disk = match Mount::tmpfs(60_000) {
        Ok(disk) => disk,
        Err(reason) => return skip(Need::Mounts, "a_full_disk_is_freed_from_within", &reason),
    };
    let (path, reserve) = (disk.path().join("db"), disk.path().join("db/RESERVE"));
    let rows = |ids: std::ops::Range<u64>| {
        ids.map(|id| format!("{}\t{id}", id.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect::<Vec<_>>()
    };
    succeeds(command("build", &path, &[], rows(0..600_000)));
    assert_eq!(fs::metadata(&reserve).unwrap().len(), 1 << 20);
    for batch in [600_000..604_000, 604_000..612_000] {
        succeeds(command("add", &path, &["--merge-rate", "0"], rows(batch)));
    }
    let fill = || {
        let mut ballast =
            fs::File::options().append(true).create(true).open(disk.path().join("ballast")).unwrap();
        while std::io::Write::write_all(&mut ballast, &[0; 4096]).is_ok() {}
    };
    let count = || succeeds(command("export", &path, &[], vec![])).lines().count();
    fill();
    // Insertions leave the reserve alone.
    command("add", &path, &[], rows(700_000..700_010)).expect(1).says(&["no space left"]);
    assert!(reserve.exists());
    succeeds(command("delete", &path, &["--id", "600000..611999"], vec![]));
    assert_eq!(count(), 600_000);
    fill();
    // The large run has no room, and those that have nothing but deleted rows are gone.
    let before = fs::read_dir(&path).unwrap().count();
    command("compact", &path, &[], vec![]).expect(1).says(&["no space left"]);
    assert!(fs::read_dir(&path).unwrap().count() < before, "{before} files");
    assert_eq!(count(), 600_000);
    succeeds(command("verify", &path, &[], vec![]));
    fs::remove_file(disk.path().join("ballast")).unwrap();
    succeeds(command("compact", &path, &[], vec![]));
    assert_eq!(fs::metadata(&reserve).unwrap().len(), 1 << 20);
    assert_eq!(count(), 600_000);
    nothing_is_left_over(&path);
}
