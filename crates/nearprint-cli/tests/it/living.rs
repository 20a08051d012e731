//! The command lines of a database that changes: `add`, `delete`, `compact`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::{fails, nearprint, succeeds};

fn export(at: &Path) -> String {
    export_of(at, "db")
}

#[test]
fn rows_are_added_acknowledged_deleted_and_compacted() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "create db", b"");
    let lines: String = (0..7).map(|i| format!("{}\n", i * 1000)).collect();
    assert_eq!(succeeds(at, "add db --batch 3 --acknowledge", lines.as_bytes()), "ACK 3\nACK 6\nACK 7\n");
    assert_eq!(succeeds(at, "add db --batch 10", b"42\t100\n43\n"), "", "no acknowledgements unasked");
    assert!(export(at).ends_with("5000\t5\n6000\t6\n"), "numbered on from nothing");
    assert!(export(at).contains("42\t100\n43\t101\n"), "numbered on from the largest");
    succeeds(at, "add db --upsert", b"77\t100\n");
    assert!(export(at).contains("77\t100\n") && !export(at).contains("42\t100"));
    succeeds(at, "add db", b"78,100\n");
    assert!(export(at).contains("77\t100\n78\t100\n"), "an id may have several");
    fs::write(at.join("ids"), "100\n\n").unwrap();
    assert_eq!(succeeds(at, "delete db ids", b""), "");
    succeeds(at, "delete db", b"0\n12345\n");
    let left = "43\t101\n1000\t1\n2000\t2\n3000\t3\n4000\t4\n5000\t5\n6000\t6\n";
    assert_eq!(export(at), left);
    assert!(!at.join("db/LOCK").metadata().unwrap().is_dir());
    succeeds(at, "compact db", b"");
    assert_eq!(export(at), left);
    let stats = succeeds(at, "stats db", b"");
    assert!(stats.contains("runs\t1\n") && stats.contains("rows\t7\n"), "{stats}");
    assert!(fs::read_dir(at.join("db")).unwrap().all(|file| {
        let name = file.unwrap().file_name().into_string().unwrap();
        !name.starts_with("wal-") && !name.ends_with(".dels") && !name.ends_with(".tmp")
    }));
}

#[test]
fn runs_are_merged_when_they_are_asked_to_be() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "create db", b"");
    (0..9).for_each(|i| drop(succeeds(at, "add db --merge-rate 0", format!("{i}\n").as_bytes())));
    assert!(succeeds(at, "stats db", b"").contains("runs\t9\n"));
    succeeds(at, "add db --merge-rate 20M", b"9\n");
    assert!(!succeeds(at, "stats db", b"").contains("runs\t10\n"));
    assert_eq!(export(at).lines().count(), 10);
}

#[test]
fn few_rows_stay_in_a_log() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "create db", b"");
    (0..9).for_each(|i| drop(succeeds(at, "add db --keep-log 4K", format!("{i}\n").as_bytes())));
    let stats = succeeds(at, "stats db", b"");
    assert!(stats.contains("log_frames\t2\n") && stats.contains("live_rows\t9\n"), "{stats}");
    assert_eq!(std::fs::read_dir(at.join("db")).unwrap().count(), 3, "LOCK, MANIFEST and the log");
    succeeds(at, "add db", b"9\n");
    assert!(succeeds(at, "stats db", b"").contains("log_frames\t0\n"));
    assert_eq!(export(at).lines().count(), 10);
}

#[test]
fn after_a_bad_line_earlier_batches_stay_and_are_counted() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "create db", b"");
    fails(at, "add db --batch 2", b"1\n2\n3\n4\n5\nx\n7\n", 5, &["standard input:6", "4 rows", "\"x\""]);
    assert_eq!(export(at).lines().count(), 4);
    fails(at, "add db", b"1 2 3\n", 5, &["standard input:1"]);
    fails(at, "delete db", b"1\n-1\n", 5, &["standard input:2", "not an id"]);
    assert_eq!(export(at).lines().count(), 4, "nothing of the batch was deleted");
    fails(at, "add db missing.txt", b"", 1, &["missing.txt"]);
    fails(at, "add nothing", b"1\n", 1, &["nothing: no database there"]);
    fails(at, "add db --batch 0", b"1\n", 2, &["--batch"]);
    assert!(!at.join("nothing").exists());
    succeeds(at, "verify db", b"");
}

/// A batch is durable, and acknowledged, as soon as its last line has come, and others see it.
#[test]
fn a_batch_is_seen_by_others_while_the_input_is_still_open() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "create db", b"");
    let mut adder = Command::new(env!("CARGO_BIN_EXE_nearprint"))
        .args(["add", "db", "--batch", "2", "--acknowledge"])
        .current_dir(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = adder.stdin.take().unwrap();
    let mut answers = BufReader::new(adder.stdout.take().unwrap()).lines();
    for batch in 1..=3 {
        input.write_all(format!("{batch}\n{batch}0\n").as_bytes()).unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), format!("ACK {}", batch * 2));
        assert_eq!(export(at).lines().count(), batch * 2);
        let pid = adder.id().to_string();
        for line in ["add db", "delete db", "compact db"] {
            fails(at, line, b"", 4, &["locked", &pid]);
        }
    }
    drop(input);
    assert!(adder.wait().unwrap().success());
    let outcome = nearprint(at, "add db", b"");
    assert_eq!((outcome.code, outcome.err.contains("added 0 rows")), (0, true));
}

#[test]
fn rows_expire_and_their_files_go() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "create month --expire-after 30d --partition day", b"");
    succeeds(at, "add month", b"1\n2\n");
    assert_eq!(succeeds(at, "query month -k 0", b"1\n"), "1\t0\t1\t0\n");
    let stats = succeeds(at, "stats month", b"");
    assert!(stats.contains("\nexpire_after\t2592000\npartition\t86400\n"), "{stats}");

    // A row is found for at most this long.
    succeeds(at, "build moment --expire-after 200ms", b"1\n2\n");
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(export_of(at, "moment"), "");
    assert_eq!(succeeds(at, "query moment -k 0", b"1\n"), "");
    succeeds(at, "compact moment", b"");
    let left = fs::read_dir(at.join("moment")).unwrap().map(|file| file.unwrap().file_name());
    let mut left: Vec<_> = left.collect();
    left.sort_unstable();
    assert_eq!(left, ["LOCK", "MANIFEST"]);

    for (arguments, why) in [
        ("create bad --expire-after 30", "expected a time, such as 30d"),
        ("create bad --expire-after 1d --partition 2d", "1 to 1,024 partitions"),
        ("create bad --expire-after 30d --partition 1m", "1 to 1,024 partitions"),
        ("create bad --partition day", "--expire-after"),
    ] {
        fails(at, arguments, b"", 2, &[why]);
    }
}

fn export_of(at: &Path, database: &str) -> String {
    succeeds(at, &format!("export {database}"), b"")
}

/// Waits until a command prints something.
fn until(at: &Path, line: &str, wanted: &str) {
    let is_there = |_: &u32| nearprint(at, line, b"").out.contains(wanted);
    assert!(
        (0..600).any(|nth| is_there(&nth) || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            false
        }),
        "{line} never prints {wanted:?}"
    );
}

#[test]
fn a_folder_follows_a_database() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "create db", b"");
    succeeds(at, "add db", b"1\n2\n");
    let follow = || {
        Command::new(env!("CARGO_BIN_EXE_nearprint"))
            .args(["--quiet", "backup", "db", "--follow", "second", "--every", "0.01"])
            .current_dir(at)
            .spawn()
            .unwrap()
    };
    let mut follower = follow();
    until(at, "stats second", "rows\t2\n");
    succeeds(at, "add db --keep-log 4K", b"3\n");
    until(at, "stats second", "rows\t3\n");
    follower.kill().unwrap();
    follower.wait().unwrap();
    succeeds(at, "compact db", b"");
    succeeds(at, "backup db --follow second --once", b"");
    assert_eq!(export_of(at, "second"), export(at));
    fails(at, "add second", b"4\n", 2, &["second: follows another database", "FOLLOWER"]);
    let mut follower = follow();
    until(at, "stats second", "locked\t1\n");
    fails(at, "backup db --follow second --once", b"", 4, &["locked"]);
    follower.kill().unwrap();
    follower.wait().unwrap();

    fs::remove_file(at.join("second/FOLLOWER")).unwrap();
    succeeds(at, "add second", b"4\n");
    fails(at, "backup db --follow second --once", b"", 1, &["second", "exists"]);
    fails(at, "backup db --follow db/inside --once", b"", 2, &["db/inside: lies in"]);
    assert!(export_of(at, "second").contains("4\t3\n"));
    succeeds(at, "verify second", b"");
}

/// Rows with an id keep it, and the others count on.
#[test]
fn rows_that_are_added_count_on_from_an_id() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build a.np -", b"5\n6\n");
    succeeds(at, "add a.np - --first-id 100", b"7\n8\t3\n9\n");
    let mut ids: Vec<u64> = succeeds(at, "export a.np", b"")
        .lines()
        .map(|line| line.split('\t').nth(1).unwrap().parse().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 3, 100, 101]);
}
