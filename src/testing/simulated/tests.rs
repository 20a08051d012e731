//! Tests of the simulated disk itself.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::*;
use crate::error::Error;
use crate::storage::names::{MANIFEST, MANIFEST_NEW};
use crate::storage::{Access, Storage, WriteFile};
use io::ErrorKind::{self, AlreadyExists, NotFound, StorageFull, UnexpectedEof};

const KEEP: fn(Doubt) -> bool = |_| true;
const LOSE: fn(Doubt) -> bool = |_| false;

/// A disk with one durable file, which is open.
fn disk(name: &str, content: &[u8]) -> (SimulatedDisk, Box<dyn WriteFile>) {
    let disk = SimulatedDisk::new();
    let mut file = disk.create(name).unwrap();
    file.write_all_at(content, 0).unwrap();
    file.sync().unwrap();
    disk.sync_folder().unwrap();
    (disk, file)
}

fn crashed(disk: &SimulatedDisk, mut fate: impl FnMut(Doubt) -> bool) -> SimulatedDisk {
    disk.crash(&mut fate)
}

/// Makes the next call fail.
fn fail(disk: &SimulatedDisk) {
    disk.fail_at(disk.calls(), ErrorKind::Other);
}

#[test]
fn content_is_in_doubt_until_synced() {
    let (disk, mut file) = disk("a", b"");
    file.write_all_at(&[1; 700], 0).unwrap();
    let inode = 0;
    let sectors = [0, 1].map(|index| Doubt::Sector { inode, index });
    assert_eq!(disk.doubts(), [Doubt::Length { inode }, sectors[0], sectors[1]]);
    assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), b"");
    assert_eq!(crashed(&disk, KEEP).file_bytes("a").unwrap(), [1; 700]);
    let zeros = crashed(&disk, |doubt| doubt == Doubt::Length { inode });
    assert_eq!(zeros.file_bytes("a").unwrap(), [0; 700]);
    let cut = crashed(&disk, |doubt| doubt != Doubt::Length { inode });
    assert_eq!(cut.file_bytes("a").unwrap(), b"", "sectors past the end");
    file.sync().unwrap();
    assert_eq!(disk.doubts(), []);
    assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), [1; 700]);
}

#[test]
fn sectors_tear_one_by_one() {
    let (disk, mut file) = disk("a", &[1; 1500]);
    file.write_all_at(&[2; 900], 600).unwrap();
    assert_eq!(disk.doubts(), [1, 2].map(|index| Doubt::Sector { inode: 0, index }));
    let torn = |kept| {
        let disk = crashed(&disk, |doubt| doubt == Doubt::Sector { inode: 0, index: kept });
        disk.file_bytes("a").unwrap()
    };
    assert_eq!(torn(1), [&[1; 600][..], &[2; 424], &[1; 476]].concat());
    assert_eq!(torn(2), [&[1; 1024][..], &[2; 476]].concat());
}

#[test]
fn a_synced_file_vanishes_with_its_name() {
    let disk = SimulatedDisk::new();
    let mut file = disk.create("a").unwrap();
    file.write_all_at(b"x", 0).unwrap();
    file.sync().unwrap();
    assert_eq!(disk.doubts(), [Doubt::FolderOperation { index: 0 }]);
    assert!(crashed(&disk, LOSE).names().is_empty());
    assert_eq!(crashed(&disk, KEEP).file_bytes("a").unwrap(), b"x");
    disk.remove("a").unwrap();
    let removed = crashed(&disk, |doubt| doubt == Doubt::FolderOperation { index: 1 });
    assert!(removed.names().is_empty(), "a removal without its creation");
}

#[test]
fn folder_operations_are_kept_or_lost_independently() {
    let (disk, _) = disk(MANIFEST, b"old");
    let mut file = disk.create(MANIFEST_NEW).unwrap();
    file.write_all_at(b"new", 0).unwrap();
    file.sync().unwrap();
    disk.rename(MANIFEST_NEW, MANIFEST).unwrap();
    for (kept, manifest, names) in [
        ([false, false], b"old", &[MANIFEST][..]),
        ([true, false], b"old", &[MANIFEST, MANIFEST_NEW]),
        ([false, true], b"new", &[MANIFEST]),
        ([true, true], b"new", &[MANIFEST]),
    ] {
        let mut fates = kept.into_iter();
        let crashed = crashed(&disk, |_| fates.next().unwrap());
        assert_eq!(crashed.file_bytes(MANIFEST).unwrap(), manifest, "{kept:?}");
        assert_eq!(crashed.names(), names, "{kept:?}");
    }
    disk.sync_folder().unwrap();
    let crashed = crashed(&disk, LOSE);
    assert_eq!((crashed.names(), crashed.file_bytes(MANIFEST)), (disk.names(), Some(b"new".to_vec())));
}

#[test]
fn data_of_a_failed_sync_is_lost_until_rewritten() {
    let (disk, mut file) = disk("a", b"old");
    file.write_all_at(b"newer", 0).unwrap();
    fail(&disk);
    file.sync().unwrap_err();
    file.sync().unwrap();
    assert_eq!(disk.file_bytes("a").unwrap(), b"newer", "what readers see");
    assert_eq!(disk.doubts(), []);
    assert_eq!(crashed(&disk, KEEP).file_bytes("a").unwrap(), b"old");
    file.write_all_at(b"newer", 0).unwrap();
    file.sync().unwrap();
    assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), b"newer");
}

#[test]
fn names_of_a_failed_folder_sync_stay_in_doubt() {
    let (disk, _) = disk("a", b"x");
    disk.rename("a", "b").unwrap();
    disk.create("c").unwrap();
    fail(&disk);
    disk.sync_folder().unwrap_err();
    assert_eq!(crashed(&disk, LOSE).names(), ["a"]);
    assert_eq!(crashed(&disk, KEEP).names(), ["b", "c"]);
    disk.sync_folder().unwrap();
    assert_eq!(crashed(&disk, LOSE).names(), ["b", "c"]);
}

#[test]
fn truncation_is_in_doubt_and_leaves_zeros() {
    let (disk, mut file) = disk("a", &[1; 1500]);
    file.truncate(600).unwrap();
    assert_eq!(disk.file_bytes("a").unwrap(), [1; 600]);
    assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), [1; 1500]);
    assert_eq!(crashed(&disk, KEEP).file_bytes("a").unwrap(), [1; 600]);
    let zeroed = crashed(&disk, |doubt| doubt != Doubt::Length { inode: 0 });
    let expected = [&[1; 600][..], &[0; 424], &[1; 476]].concat();
    assert_eq!(zeroed.file_bytes("a").unwrap(), expected, "the truncated sector");
    file.truncate(1500).unwrap();
    assert_eq!(disk.doubts(), [1, 2].map(|index| Doubt::Sector { inode: 0, index }));
    let grown = [&[1; 600][..], &[0; 900]].concat();
    assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), [1; 1500]);
    assert_eq!(crashed(&disk, KEEP).file_bytes("a").unwrap(), grown);
    file.sync().unwrap();
    assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), grown);
    file.write_all_at(&[2; 1500], 0).unwrap();
    file.truncate(0).unwrap();
    assert_eq!(disk.doubts(), [Doubt::Length { inode: 0 }], "no sector is left");
    file.sync().unwrap();
    file.write_all_at(b"", 1).unwrap();
    assert_eq!(disk.file_bytes("a").unwrap(), b"", "nothing was written");
    assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), b"");
}

#[test]
fn a_full_disk_rejects_calls_that_take_space_until_healed() {
    let (disk, mut file) = disk("a", b"");
    disk.fail_from(disk.calls() + 1, StorageFull);
    file.write_all_at(b"1", 0).unwrap();
    for _ in 0..2 {
        assert_eq!(file.write_all_at(b"23456", 1).unwrap_err().kind(), StorageFull);
        assert_eq!(disk.create("b").unwrap_err().kind(), StorageFull);
    }
    assert_eq!(disk.file_bytes("a").unwrap(), b"123", "half of the bytes");
    file.sync().unwrap();
    disk.rename("a", "b").unwrap();
    disk.heal();
    file.write_all_at(b"4", 3).unwrap();
    disk.create("a").unwrap();
}

#[test]
fn any_call_can_fail_once_without_effect() {
    let (disk, mut file) = disk("a", b"x");
    let input = disk.open("a").unwrap();
    let mut calls: Vec<Box<dyn FnMut() -> io::Result<()>>> = vec![
        Box::new(|| disk.create("b").map(drop)),
        Box::new(|| disk.map("a", Access::Random).map(drop)),
        Box::new(|| disk.open("a").map(drop)),
        Box::new(|| disk.rename("a", "c")),
        Box::new(|| disk.remove("c")),
        Box::new(|| disk.list().map(drop)),
        Box::new(|| match disk.lock() {
            Err(Error::Io { source, .. }) => Err(source),
            other => other.map(drop).map_err(|_| ErrorKind::InvalidData.into()),
        }),
        Box::new(|| file.truncate(0)),
        Box::new(|| input.len_bytes().map(drop)),
        Box::new(|| input.read_exact_at(&mut [], 0)),
    ];
    for call in &mut calls {
        let before = (disk.names(), disk.file_bytes("a"), disk.doubts());
        let number = disk.calls();
        disk.fail_at(number, ErrorKind::PermissionDenied);
        assert_eq!(call().unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert_eq!((disk.names(), disk.file_bytes("a"), disk.doubts()), before);
        call().unwrap();
        assert_eq!(disk.calls(), number + 2);
    }
}

#[test]
fn the_hook_sees_the_state_before_each_call() {
    let disk = SimulatedDisk::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, live) = (seen.clone(), disk.clone());
    disk.on_call(move |frozen, call| {
        live.list().unwrap();
        log.lock().unwrap().push((call, frozen.clone()));
    });
    let mut file = disk.create("a").unwrap();
    let _lock = disk.lock().unwrap();
    file.write_all_at(b"x", 0).unwrap();
    disk.sync_folder().unwrap();
    disk.remove("a").unwrap();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    // The hook's own calls have the numbers in between.
    let states = seen.iter().map(|(call, disk)| (*call, disk.file_bytes("a"), disk.doubts().len()));
    let (empty, written) = (Some(vec![]), Some(b"x".to_vec()));
    assert!(states.eq([
        (0, None, 0),
        (2, empty.clone(), 1),
        (4, empty, 1),
        (6, written.clone(), 3),
        (8, written, 2)
    ]));
    let frozen = &seen[4].1;
    assert_eq!(frozen.calls(), 0);
    frozen.lock().expect("the lock is still there");
    frozen.create("b").unwrap();
    assert!(disk.names().is_empty(), "a separate disk");
}

#[test]
fn an_open_file_outlives_its_name() {
    let (disk, mut file) = disk("a", b"old");
    let input = disk.open("a").unwrap();
    disk.remove("a").unwrap();
    disk.create("a").unwrap();
    file.write_all_at(b"new", 0).unwrap();
    let mut read = [0; 3];
    input.read_exact_at(&mut read, 0).unwrap();
    assert_eq!((&read, disk.file_bytes("a")), (b"new", Some(vec![])));
    assert_eq!(input.read_exact_at(&mut read, 1).unwrap_err().kind(), UnexpectedEof);
    disk.sync_folder().unwrap();
    assert_eq!(disk.doubts(), [], "it has no name after a power cut");
}

#[test]
fn names_are_checked_and_content_is_found() {
    let (disk, _) = disk("a", b"x");
    assert_eq!(disk.create("a").unwrap_err().kind(), AlreadyExists);
    assert_eq!(disk.open("b").unwrap_err().kind(), NotFound);
    assert_eq!(disk.map("b", Access::Random).unwrap_err().kind(), NotFound);
    assert_eq!(disk.rename("b", "a").unwrap_err().kind(), NotFound);
    assert_eq!(disk.remove("b").unwrap_err().kind(), NotFound);
    assert_eq!(disk.path("b"), Path::new("/simulated/b"));
    disk.set_file_bytes("a", b"flipped".to_vec());
    disk.set_file_bytes("b", b"placed".to_vec());
    assert_eq!(disk.list().unwrap(), ["a", "b"]);
    assert_eq!(&*disk.map("a", Access::Random).unwrap(), b"flipped");
    assert_eq!(disk.open("b").unwrap().len_bytes().unwrap(), 6);
    assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), b"flipped");
    assert_eq!(crashed(&disk, LOSE).file_bytes("b").unwrap(), b"placed");
}

#[test]
fn one_holds_the_lock_and_a_crash_frees_it() {
    let (disk, mut file) = disk("a", b"x");
    let lock = disk.lock().unwrap();
    assert!(matches!(disk.lock(), Err(Error::Locked { .. })));
    file.write_all_at(b"y", 0).unwrap();
    let crashed = crashed(&disk, KEEP);
    assert_eq!((crashed.calls(), crashed.doubts()), (0, vec![]));
    crashed.lock().unwrap();
    crashed.remove("a").unwrap();
    assert_eq!(disk.names(), ["a"], "a separate disk");
    drop(lock);
    disk.lock().unwrap();
}
