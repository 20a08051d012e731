//! Power cuts: an ext4 of its own, shut down so that nothing more reaches its medium.
//!
//! Without this, a writer that never syncs would pass: what a killed process has written stays in
//! the page cache.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::history::{History, State, check_within, recover};
use crate::machine::{Mount, needs, setting};
use crate::processes::{Running, acknowledgement, create};
use crate::worker::Writing;
use testkit::{Need, Random, short_or_full, skip};

/// Batches that a writer may have made durable between what was heard and the cut.
const UNHEARD: u64 = 1000;

/// Lets a writer work for a while, cuts the power and restores it. Returns what was acknowledged
/// before the cut began: the kernel may report success to a sync that is under way just then.
fn cut(disk: &mut Mount, mut writer: Running, random: &mut Random) -> u64 {
    let switch = disk.switch().unwrap();
    let heard = Arc::new(AtomicU64::new(0));
    let (lines, latest) = (writer.lines(), heard.clone());
    let listener = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if let Some(number) = acknowledgement(&(line + "\n")) {
                latest.store(number, Ordering::SeqCst);
            }
        }
    });
    std::thread::sleep(Duration::from_millis(10 + random.below(150)));
    let acknowledged = heard.load(Ordering::SeqCst);
    switch.off().unwrap();
    writer.kill();
    writer.end();
    listener.join().unwrap();
    disk.unmount().unwrap();
    disk.mount().unwrap();
    acknowledged
}

fn machine() -> Result<Mount, String> {
    needs("python3")?;
    let mut disk = Mount::ext4()?;
    // A first cut shows whether the kernel can do it.
    disk.switch()?.off()?;
    disk.unmount()?;
    disk.mount()?;
    Ok(disk)
}

/// One writer after the other, each ended by a power cut.
fn rounds(
    disk: &mut Mount,
    path: &Path,
    count: u64,
    start: impl Fn(Writing) -> Running,
) -> Result<(), String> {
    let mut random = Random(setting("NEARPRINT_FAULT_SEED", 3));
    let mut state = State::new(History::Mixed);
    for round in 0..count {
        let writer = start(Writing::endless(state.done));
        let acknowledged = cut(disk, writer, &mut random);
        check_within(path, &mut state, acknowledged, UNHEARD)?;
        if round % 3 == 0 {
            recover(path, &mut state);
        }
    }
    Ok(())
}

#[test]
fn a_power_cut_loses_nothing_acknowledged() {
    let mut disk = match machine() {
        Ok(disk) => disk,
        Err(reason) => return skip(Need::Mounts, "a_power_cut_loses_nothing_acknowledged", &reason),
    };
    let path = disk.path().join("db");
    create(&path);
    let count = setting("NEARPRINT_FAULT_ROUNDS", short_or_full(5, 12)).min(1000);
    rounds(&mut disk, &path, count, |writing| writing.start(&path)).unwrap();
}

/// The test of the test: without its syncs, a writer is found out. That of the folder is not missed
/// here: on ext4 the sync of any file takes earlier renames along.
#[cfg(sabotage)]
#[test]
fn a_writer_that_does_not_sync_is_found_out() {
    for measure in ["wal-sync", "run-sync"] {
        let mut disk = match machine() {
            Ok(disk) => disk,
            Err(reason) => return skip(Need::Mounts, "a_writer_that_does_not_sync_is_found_out", &reason),
        };
        let path = disk.path().join("db");
        create(&path);
        let start =
            |writing: Writing| Running::start(writing.command(&path).env("NEARPRINT_SABOTAGE", measure));
        let found = rounds(&mut disk, &path, 20, start);
        assert!(found.is_err(), "20 power cuts without {measure} went unnoticed");
    }
}
