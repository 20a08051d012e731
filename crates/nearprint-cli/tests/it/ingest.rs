//! The commands that take runs in and copy databases, from outside.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::{fails, nearprint, succeeds};

/// A database with the row (5, 1) and two folders of runs.
fn three(at: &Path) {
    succeeds(at, "build db", b"5 1\n");
    succeeds(at, "build one --runs-only", b"6 2\n7 2\n");
    succeeds(at, "build two --runs-only --first-id 100", b"8\n9\n");
}

#[test]
fn runs_are_built_ingested_and_skipped() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    three(at);
    assert_eq!(succeeds(at, "export two", b""), "8\t100\n9\t101\n");
    assert!(succeeds(at, "verify two", b"").starts_with("sound: "));
    let outcome = nearprint(at, "ingest db one two one", b"");
    assert_eq!((outcome.code, &*outcome.out), (0, ""));
    assert!(outcome.err.contains("ingested 2 runs into db: 4 rows"), "{}", outcome.err);
    assert!(outcome.err.contains("1 runs skipped"), "{}", outcome.err);
    assert_eq!(succeeds(at, "export db", b""), "5\t1\n6\t2\n7\t2\n8\t100\n9\t101\n");
    let outcome = nearprint(at, "ingest db two -q", b"");
    assert_eq!((outcome.code, &*outcome.out, &*outcome.err), (0, "", ""));
    succeeds(at, "add db", b"10\n");
    assert_eq!(succeeds(at, "export db --id 102", b""), "10\t102\n");
    assert!(succeeds(at, "verify db", b"").starts_with("sound: "));
}

#[test]
fn runs_of_one_name_are_adopted_once() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "create db", b"");
    succeeds(at, "build one --runs-only --identity task-1", b"6 2\n");
    succeeds(at, "build other --runs-only --identity task-1", b"7 3\n");
    let outcome = nearprint(at, "ingest db one other", b"");
    assert!(
        outcome.err.contains("ingested 1 runs") && outcome.err.contains("1 runs skipped"),
        "{}",
        outcome.err
    );
    assert_eq!(succeeds(at, "export db", b""), "6\t2\n");
    fails(at, "build x --identity task-1", b"1 1\n", 2, &["--runs-only"]);
}

#[test]
fn what_cannot_be_ingested_is_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    three(at);
    fails(at, "ingest db", b"", 2, &["RUN_DIR"]);
    fails(at, "ingest db db", b"", 2, &["--runs-only"]);
    fails(at, "ingest one two", b"", 2, &["one", "runs to ingest"]);
    fails(at, "add one", b"", 2, &["one", "runs to ingest"]);
    fails(at, "ingest db nowhere", b"", 1, &["nowhere", "no database"]);
    fails(at, "ingest nowhere one", b"", 1, &["nowhere", "no database"]);
    succeeds(at, "build other --runs-only -k 5", b"1\n");
    fails(at, "ingest db one other", b"", 2, &["other", "k = 5", "k = 3", "hint: ", "--layout"]);
    succeeds(at, "build also --runs-only --first-id 101", b"1\n");
    let words = ["also", "two", "101 to 101", "100 to 101", "hint: ", "--first-id"];
    fails(at, "ingest db two also", b"", 2, &words);
    let file = at.join("one/00000001.rows");
    let mut bytes = fs::read(&file).unwrap();
    bytes[8192] ^= 1;
    fs::write(&file, bytes).unwrap();
    fails(at, "ingest db two one", b"", 3, &["00000001.rows", "ids", "8192"]);
    assert_eq!(succeeds(at, "export db", b""), "5\t1\n", "nothing was adopted");
}

#[test]
fn a_locked_database_is_read_and_copied_and_takes_no_runs() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    three(at);
    let mut add = Command::new(env!("CARGO_BIN_EXE_nearprint"))
        .args(["add", "db", "--batch", "1", "--acknowledge"])
        .current_dir(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = add.stdin.take().unwrap();
    let mut acknowledged = BufReader::new(add.stdout.take().unwrap());
    input.write_all(b"11 11\n").unwrap();
    let mut line = String::new();
    acknowledged.read_line(&mut line).unwrap();
    fails(at, "ingest db one", b"", 4, &["locked", &add.id().to_string()]);
    let outcome = nearprint(at, "backup db copy", b"");
    assert_eq!((outcome.code, &*outcome.out), (0, ""), "{}", outcome.err);
    assert!(outcome.err.contains("copied db to copy: 2 rows"), "{}", outcome.err);
    drop(input);
    assert!(add.wait().unwrap().success());
    assert_eq!(succeeds(at, "export copy", b""), "5\t1\n11\t11\n");
    assert!(succeeds(at, "verify copy", b"").starts_with("sound: "));
    succeeds(at, "ingest copy one", b"");
    succeeds(at, "compact copy", b"");
    assert_eq!(succeeds(at, "export db", b""), "5\t1\n11\t11\n");
}

#[test]
fn what_cannot_be_copied_is_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    three(at);
    fails(at, "backup db", b"", 2, &["DEST"]);
    fails(at, "backup db one", b"", 1, &["one", "already exists", "hint: "]);
    fails(at, "backup nowhere copy", b"", 1, &["nowhere", "no database"]);
    let file = at.join("db/00000001-t0.seg");
    let mut bytes = fs::read(&file).unwrap();
    bytes[8192 + 7] ^= 1;
    fs::write(&file, bytes).unwrap();
    fails(at, "backup db copy", b"", 3, &["00000001-t0.seg", "directory", "hint: "]);
    assert!(!at.join("copy").exists() && !at.join("copy.building").exists());
}

#[test]
fn regression_a_restarted_job_leaves_what_others_have_ingested() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for name in ["mine", "foreign"] {
        let text = |row: usize| {
            (0..40).map(|word| format!("{name}{} ", (row * 31 + word * 7) % 997)).collect::<String>()
        };
        let record = |row: usize| format!("{{\"url\": \"{name}{row}\", \"text\": \"{}\"}}\n", text(row));
        fs::write(at.join(format!("{name}.jsonl")), (0..30).map(record).collect::<String>()).unwrap();
    }
    let job = "dedup mine.jsonl -o kept.jsonl --db db --key-field url --recipe simhash -q";
    succeeds(at, job, b"");
    let prints = succeeds(at, "fingerprint foreign.jsonl --key-field url --recipe simhash --header", b"");
    succeeds(at, "build part - --runs-only --store hashes", prints.as_bytes());
    succeeds(at, "ingest db part -q", b"");
    let foreign = || succeeds(at, "export db", b"").matches("foreign").count();
    assert_eq!(foreign(), 30);
    succeeds(at, &format!("{job} --restart"), b"");
    assert_eq!(foreign(), 30);
}

#[test]
fn regression_a_restored_database_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build db", b"1\n2\n");
    succeeds(at, "backup db saved", b"");
    for number in ["30", "40"] {
        succeeds(at, "add db", format!("{number}\n").as_bytes());
    }
    succeeds(at, "backup db --follow second --once", b"");
    let followed = succeeds(at, "export second", b"");
    fs::remove_dir_all(at.join("db")).unwrap();
    fs::rename(at.join("saved"), at.join("db")).unwrap();
    for number in ["50", "60", "70"] {
        succeeds(at, "add db", format!("{number}\n").as_bytes());
        fails(
            at,
            "backup db --follow second --once",
            b"",
            1,
            &["second: ", "nearprint backup db --follow NEW"],
        );
    }
    assert_eq!(succeeds(at, "export second", b""), followed);
    succeeds(at, "verify second", b"");
    succeeds(at, "backup db --follow new --once", b"");
    assert_eq!(succeeds(at, "export new", b""), succeeds(at, "export db", b""));
}
