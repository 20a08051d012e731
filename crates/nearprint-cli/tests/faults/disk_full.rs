//! Full disks: small file systems in memory, and a ballast file to free space with.

use std::fs;
use std::path::Path;

use crate::history::{History, State, check, fingerprint, nothing_is_left_over, recover, rows_of};
use crate::machine::{Mount, run};
use crate::processes::{Ended, acknowledgement, adding, command, copy, create};
use crate::worker::Writing;
use nearprint::{Database, KeyStorage, NewRow, Row, Schema, Snapshot, Writer};
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
    let reserved = fs::metadata(&reserve).unwrap().len();
    assert!(reserved > 2 << 20, "{reserved} bytes");
    for batch in [600_000..604_000, 604_000..612_000] {
        succeeds(command("add", &path, &["--merge-rate", "0"], rows(batch)));
    }
    let count = || succeeds(command("export", &path, &[], vec![])).lines().count();
    fill_up(&disk);
    // Insertions leave the reserve alone.
    command("add", &path, &[], rows(700_000..700_010)).expect(1).says(&["no space left"]);
    assert!(reserve.exists());
    succeeds(command("delete", &path, &["--id", "600000..611999"], vec![]));
    assert_eq!(count(), 600_000);
    fill_up(&disk);
    // The large run has no room, and those that have nothing but deleted rows are gone.
    let before = fs::read_dir(&path).unwrap().count();
    command("compact", &path, &[], vec![]).expect(1).says(&["no space left"]);
    assert!(fs::read_dir(&path).unwrap().count() < before, "{before} files");
    assert_eq!(count(), 600_000);
    succeeds(command("verify", &path, &[], vec![]));
    fs::remove_file(disk.path().join("ballast")).unwrap();
    succeeds(command("compact", &path, &[], vec![]));
    assert_eq!(fs::metadata(&reserve).unwrap().len(), reserved);
    assert_eq!(count(), 600_000);
    nothing_is_left_over(&path);
}

/// Fills a file system to its last page.
fn fill_up(disk: &Mount) {
    let ballast = disk.path().join("ballast");
    let mut ballast = fs::File::options().append(true).create(true).open(ballast).unwrap();
    for piece in [1 << 20, 4096] {
        while std::io::Write::write_all(&mut ballast, &vec![0; piece]).is_ok() {}
    }
}

fn count_of(snapshot: &Snapshot<u64>) -> u64 {
    rows_of(snapshot).unwrap().len() as u64
}

/// Deletions of 900,001 rows wrote more than the reserve holds. Whatever has to be deleted, each commit has room, also
/// if nothing is freed between them, and after it the merge that frees the rest.
#[test]
fn regression_any_number_of_rows_is_deleted_on_a_full_disk() {
    // In the runs of a writer that is open, rows beyond these are in its log.
    let rows = short_or_full(530_000, 1_030_000);
    let deletions = [1, 20_000, rows - 30_001];
    for reopens in [false, true] {
        let disk = match Mount::tmpfs(short_or_full(200_000, 400_000)) {
            Ok(disk) => disk,
            Err(reason) => {
                let name = "regression_any_number_of_rows_is_deleted_on_a_full_disk";
                return skip(Need::Mounts, name, &reason);
            }
        };
        let path = disk.path().join("db");
        let database = Database::<u64>::create(&path, &Schema::new()).unwrap();
        let mut writer = Some(database.writer().unwrap());
        let row = |id| Row { fingerprint: fingerprint(id), id };
        let grow = |writer: &mut Writer<u64>, ids: std::ops::Range<u64>| {
            ids.clone().try_for_each(|id| writer.insert(row(id)).map(drop))?;
            writer.commit()
        };
        let grown = writer.as_mut().unwrap();
        (0..rows / 10_000).for_each(|batch| grow(grown, batch * 10_000..(batch + 1) * 10_000).unwrap());
        fill_up(&disk);
        let mut inserted = rows;
        // The log may still have some pages.
        while grow(grown, inserted..inserted + 1000).is_ok() {
            inserted += 1000;
        }
        grown.discard().unwrap();
        let mut deleted = 0;
        for count in deletions {
            if reopens {
                drop(writer.take());
            }
            let writer = writer.get_or_insert_with(|| database.writer().unwrap());
            assert_eq!(writer.delete_ids(deleted..=deleted + count - 1).unwrap(), count);
            deleted += count;
            writer.commit().unwrap_or_else(|error| panic!("{count} rows, reopens {reopens}: {error}"));
            let stored = database.snapshot().unwrap();
            assert_eq!(count_of(&stored), inserted - deleted, "{count} rows, reopens {reopens}");
        }
        // What is left needs little, so the disk frees itself.
        let mut writer = writer.take().unwrap();
        writer.compact().unwrap();
        writer.close().unwrap();
        assert!(fs::metadata(path.join("RESERVE")).is_err(), "the database is small now");
        assert_eq!(count_of(&database.snapshot().unwrap()), inserted - deleted);
        assert!(database.verify().unwrap().damage.is_empty());
        nothing_is_left_over(&path);
    }
}

/// Each way to delete has room on a full disk: keys are hashes that take up to eight bytes each.
#[test]
fn regression_rows_are_deleted_on_a_full_disk_in_every_way() {
    const ROWS: u64 = 160_000;
    let home = tempfile::tempdir().unwrap();
    let built = home.path().join("db");
    let key = |id: u64| format!("https://example.org/{}/{id:08}", if id < 100 { "kept" } else { "gone" });
    let mut builder = Database::<u64>::build(&built, &Schema::new().keys(KeyStorage::Keys)).unwrap();
    for id in 0..ROWS {
        builder.push(NewRow::keyed(fingerprint(id), &key(id))).unwrap();
    }
    builder.finish().unwrap();
    let job = |path: &Path| {
        let mut writer = Database::<u64>::open(path).unwrap().writer().unwrap();
        assert_eq!(writer.delete_keys_between(std::slice::from_ref(&(100..ROWS))).unwrap(), ROWS - 100);
        writer.set_history(b"it is forgotten").unwrap();
        writer.commit().unwrap();
        writer.close().unwrap();
    };
    let delete = |path: &Path, arguments: &[&str], input: Vec<String>| {
        succeeds(command("delete", path, arguments, input));
    };
    type Way<'a> = (&'a str, &'a dyn Fn(&Path));
    let ways: [Way; 3] = [
        ("keys", &|path| delete(path, &["--keys", "-"], (100..ROWS).map(key).collect())),
        ("a prefix", &|path| delete(path, &["--key-prefix", "https://example.org/gone/"], vec![])),
        ("a job", &job),
    ];
    for (way, delete) in ways {
        let disk = match Mount::tmpfs(40_000) {
            Ok(disk) => disk,
            Err(reason) => {
                let name = "regression_rows_are_deleted_on_a_full_disk_in_every_way";
                return skip(Need::Mounts, name, &reason);
            }
        };
        let path = disk.path().join("db");
        run(&format!("cp -r {} {}", built.display(), path.display())).unwrap();
        assert!(path.join("RESERVE").exists());
        fill_up(&disk);
        delete(&path);
        let rows = || count_of(&Database::open(&path).unwrap().snapshot().unwrap());
        assert_eq!(rows(), 100, "{way}");
        succeeds(command("compact", &path, &[], vec![]));
        assert_eq!(rows(), 100, "{way}");
        succeeds(command("verify", &path, &[], vec![]));
    }
}
