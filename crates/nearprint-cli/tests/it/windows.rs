//! What is of Windows: devices, paths, ends of lines, databases in use, Ctrl-C and Ctrl-Break.

use std::fs;
use std::io::{Error, Read, Write};
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use testkit::{Need, skip};

use crate::cli::{fails, groups, nearprint, slashes, succeeds};

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
fn names_in_another_case_are_the_same_files() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("d")).unwrap();
    for name in ["a.txt", "b.txt"] {
        fs::write(at.join("d").join(name), "one two three four five\n").unwrap();
    }
    let scan = nearprint(at, "scan d D --min-words 1", b"");
    assert_eq!(
        (scan.code, slashes(&scan.out).as_str()),
        (0, "1\tkept\t\t24\td/a.txt\n1\tcopy\t1.0000\t24\td/b.txt\n"),
        "{}",
        scan.err
    );
    assert!(scan.err.contains("2 further names of files"), "{}", scan.err);
    let one = nearprint(at, r"scan d\a.txt D\A.TXT --min-words 1", b"");
    assert_eq!((one.code, one.out.as_str()), (0, ""), "{}", one.err);
}

#[test]
fn reserved_names_are_refused_or_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("d")).unwrap();
    for name in ["aux.txt", "b.txt", "c.txt"] {
        // A path in this form has no reserved names.
        fs::write(format!(r"\\?\{}\d\{name}", at.display()), "one two three four five\n").unwrap();
    }
    let scan = nearprint(at, "scan d --min-words 1", b"");
    assert_eq!(scan.code, 0, "{}", scan.err);
    // Windows 11 reserves names without an extension only.
    match scan.err.contains(r"cannot read d\aux.txt: a device") {
        true => assert_eq!(groups(&slashes(&scan.out)), ["kept d/b.txt, copy d/c.txt"]),
        false => assert_eq!(groups(&slashes(&scan.out)), ["kept d/aux.txt, copy d/b.txt, copy d/c.txt"]),
    }
    fs::write(at.join("in.jsonl"), PAGES).unwrap();
    let refused = |line: &str, name: &str| fails(at, line, b"1\n", 2, &[name, "reserves this name"]);
    for name in ["con", "aux", "PRN", "nul", "com1", "aux.np", r"d\Lpt1.np"] {
        refused(&format!("build {name}"), name);
    }
    for name in ["con", "aux.txt", r"d\PRN.jsonl", "nul.txt", "Com1.jsonl"] {
        refused(&format!("dedup in.jsonl -o {name}"), name);
        refused(&format!("dedup in.jsonl -o out.jsonl --duplicates {name} --db new.np"), name);
        refused(&format!("dedup in.jsonl --shards 2 -o {name}"), name);
        refused(&format!("prune d --move-to {name}"), name);
        refused(&format!("prune d --move-to gone --undo-list {name}"), name);
        refused(&format!("scan d --report {name}"), name);
        refused(&format!("man --dir {name}"), name);
    }
    let mut names: Vec<_> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["d", "in.jsonl"]);
    assert_eq!(fs::read_dir(at.join("d")).unwrap().count(), 3);
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
    writer.stdout.as_mut().unwrap().read_exact(&mut acknowledged).unwrap();
    fails(at, "add db", b"3\n", 4, &["locked by another writer", &format!("process {}", writer.id())]);
    assert!(fs::rename(at.join("db"), at.join("moved")).is_err());
    assert!(fs::remove_file(at.join(r"db\LOCK")).is_err());
    assert_eq!(nearprint(at, "query db -f 2 -k 0", b"").out, "2\t0\t2\t1\n");
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

/// `CREATE_NO_WINDOW`: a process gets a console of its own, which nobody sees.
const OWN_CONSOLE: u32 = 0x0800_0000;
/// `CREATE_NEW_PROCESS_GROUP`: a process leads a group, and ignores Ctrl-C.
const OWN_GROUP: u32 = 0x200;
const CTRL_C: u32 = 0;
const CTRL_BREAK: u32 = 1;
/// All processes of the console.
const EVERYBODY: u32 = 0;

#[link(name = "kernel32")]
unsafe extern "system" {
    // SAFETY: It receives numbers, and refuses those that mean nothing.
    safe fn GenerateConsoleCtrlEvent(event: u32, group: u32) -> i32;
    fn SetConsoleCtrlHandler(handler: *const (), add: i32) -> i32;
}

/// Runs a test of this module again, in a process with a console of its own: other tests, and whoever
/// runs them, are not interrupted. Returns whether this is that process.
fn has_own_console(test: &str) -> bool {
    const IS_THERE: &str = "NEARPRINT_TEST_HAS_CONSOLE";
    if std::env::var_os(IS_THERE).is_some() {
        return true;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", &format!("windows::{test}"), "--nocapture"]).env(IS_THERE, "1");
    let ended = again.creation_flags(OWN_CONSOLE).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&ended.stdout).contains("1 passed"));
    // What is skipped is reported, as `skip` does it: the harness shows no output of passing tests.
    std::io::stderr().write_all(said.as_bytes()).unwrap();
    false
}

/// An `add` that has made one row durable and waits for more, and a `build` that waits for rows.
fn start_waiting(at: &Path, flags: u32) -> [Child; 2] {
    let start = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearprint"));
        command.args(arguments).current_dir(at).creation_flags(flags);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    succeeds(at, "build db", b"1\n");
    let mut add = start(&["add", "db", "--batch", "1", "--acknowledge"]);
    add.stdin.as_mut().unwrap().write_all(b"2\n").unwrap();
    add.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let mut build = start(&["build", "new"]);
    // More than the pipe holds: once it is written, the build is reading.
    build.stdin.as_mut().unwrap().write_all(&b"1\n".repeat(100_000)).unwrap();
    [add, build]
}

/// Checks how they end, though their inputs stay open.
fn end_as_interrupted(at: &Path, running: [Child; 2]) {
    for (mut child, message) in running.into_iter().zip(["1 rows were committed and stay", "interrupted"]) {
        let stdin = child.stdin.take();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
        assert!(said.contains(message), "{said}");
        drop(stdin);
    }
    assert!(!at.join("new").exists() && !at.join("new.building").exists());
    assert_eq!(succeeds(at, "export db", b""), "1\t0\n2\t1\n");
}

#[test]
fn ctrl_c_ends_commands_and_keeps_what_was_committed() {
    if has_own_console("ctrl_c_ends_commands_and_keeps_what_was_committed") {
        let home = tempfile::tempdir().unwrap();
        let running = start_waiting(home.path(), 0);
        // SAFETY: No handler is given. The process then ignores Ctrl-C, and so do those that it starts.
        assert_ne!(unsafe { SetConsoleCtrlHandler(std::ptr::null(), 1) }, 0);
        assert_ne!(GenerateConsoleCtrlEvent(CTRL_C, EVERYBODY), 0, "{}", Error::last_os_error());
        end_as_interrupted(home.path(), running);
    }
}

#[test]
fn ctrl_break_ends_commands_and_keeps_what_was_committed() {
    let test = "ctrl_break_ends_commands_and_keeps_what_was_committed";
    if has_own_console(test) {
        let home = tempfile::tempdir().unwrap();
        let mut running = start_waiting(home.path(), OWN_GROUP);
        for group in [running[0].id(), running[1].id()] {
            if GenerateConsoleCtrlEvent(CTRL_BREAK, group) == 0 {
                // Wine 8 has this event for no process.
                let reason = Error::last_os_error();
                running.iter_mut().for_each(|child| child.kill().unwrap());
                return skip(Need::CtrlBreak, test, &reason.to_string());
            }
        }
        end_as_interrupted(home.path(), running);
    }
}
