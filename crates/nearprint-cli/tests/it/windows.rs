//! What is of Windows: devices, paths, ends of lines, and databases in use.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::cli::{fails, nearprint, succeeds};

const PAGES: &str = "{\"text\":\"one two three four five\"}\r\n{\"text\":\"one two three four five\"}\r\n";

#[test]
fn outputs_go_to_the_null_device_whatever_the_case() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), PAGES).unwrap();
    for name in ["NUL", "nul", r"\\.\NUL"] {
        succeeds(at, &format!("dedup in.jsonl -o {name} --duplicates {name}"), b"");
    }
    assert_eq!(fs::read_dir(at).unwrap().count(), 1);
}

#[test]
fn records_keep_their_carriage_returns() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), PAGES).unwrap();
    succeeds(at, "dedup in.jsonl -o out.jsonl", b"");
    let (first, _) = PAGES.split_at(PAGES.len() / 2);
    assert_eq!(fs::read_to_string(at.join("out.jsonl")).unwrap(), first);
    succeeds(at, "build db", b"1\t10\r\n2\t11\r\n");
    assert_eq!(succeeds(at, "export db", b""), "1\t10\n2\t11\n");
}

#[test]
fn paths_have_both_slashes_a_drive_or_the_long_form() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("sub")).unwrap();
    let absolute = at.join(r"sub\db").to_str().unwrap().to_string();
    succeeds(at, r"build sub\db", b"7\n");
    for path in [r"sub\db", "sub/db", r".\sub\..\sub\db", "SUB/DB", &absolute, &format!(r"\\?\{absolute}")] {
        assert_eq!(succeeds(at, &format!("export {path}"), b""), "7\t0\n", "{path}");
        fails(at, &format!("build {path}"), b"8\n", 1, &["exists"]);
    }
    let long: String = (0..9).map(|_| format!(r"\{}", "n".repeat(40))).collect();
    let long = format!("{}{long}", at.display());
    fs::create_dir_all(format!(r"\\?\{long}")).unwrap();
    succeeds(at, &format!(r"build {long}\db"), b"9\n");
    assert_eq!(succeeds(at, &format!(r"export {long}\db"), b""), "9\t0\n");
}

#[test]
fn a_database_in_use_has_a_writer_with_a_name_and_stays_where_it_is() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build db", b"1\n");
    let mut writer = Command::new(env!("CARGO_BIN_EXE_nearprint"))
        .args(["add", "db", "--batch", "1", "--acknowledge"])
        .current_dir(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = [0; 1];
    writer.stdin.as_mut().unwrap().write_all(b"2\n").unwrap();
    std::io::Read::read_exact(writer.stdout.as_mut().unwrap(), &mut acknowledged).unwrap();
    fails(at, "add db", b"3\n", 4, &["locked by another writer", &format!("process {}", writer.id())]);
    assert!(fs::rename(at.join("db"), at.join("moved")).is_err());
    assert!(fs::remove_file(at.join(r"db\LOCK")).is_err());
    assert_eq!(nearprint(at, "query db -f 2 -k 0", b"").out, "2\t0\t2\t0\n");
    writer.kill().unwrap();
    writer.wait().unwrap();
    succeeds(at, "add db", b"3\n");
    assert_eq!(succeeds(at, "export db", b"").lines().count(), 3);
    fs::rename(at.join("db"), at.join("moved")).unwrap();
}

#[test]
fn a_killed_build_is_removed_by_the_next_one() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let mut build = Command::new(env!("CARGO_BIN_EXE_nearprint"))
        .args(["build", "db"])
        .current_dir(at)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    build.stdin.as_mut().unwrap().write_all(&b"1\n".repeat(100_000)).unwrap();
    assert!(at.join(r"db.building\NEARPRINT-FOLDER").exists());
    fails(at, "build db", b"1\n", 4, &["locked", &format!("process {}", build.id())]);
    build.kill().unwrap();
    build.wait().unwrap();
    succeeds(at, "build db", b"1\n");
    let names: Vec<_> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["db"]);
}
