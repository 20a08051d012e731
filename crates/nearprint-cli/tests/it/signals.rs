//! Signals that come together with the end of standard input, as when a group of processes is stopped.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use testkit::short_or_full;

use crate::cli::succeeds;

/// Starts a command, writes to its standard input, sends a signal and closes the input at once. Returns the exit
/// code.
fn stop_at_end(at: &Path, command: &str, input: &[u8], signal: i32) -> Option<i32> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_nearprint"))
        .args(command.split(' '))
        .current_dir(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than the pipe holds: once it is written, the command is reading, and listens to signals.
    stdin.write_all(input).unwrap();
    let id = i32::try_from(child.id()).unwrap();
    // SAFETY: It takes two numbers, and the child has not been waited for.
    assert_eq!(unsafe { libc::kill(id, signal) }, 0);
    drop(stdin);
    child.wait().unwrap().code()
}

/// Stops a command many times. `check` sees that nothing is there that the whole input would have made.
fn stop_often(command: &str, input: &[u8], prepare: impl Fn(&Path), check: impl Fn(&Path)) {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    prepare(at);
    for round in 0..short_or_full(15, 500) {
        let signal = if round % 2 == 0 { libc::SIGTERM } else { libc::SIGINT };
        assert_eq!(stop_at_end(at, command, input, signal), Some(128 + signal), "{command}, round {round}");
        check(at);
    }
}

fn numbers() -> Vec<u8> {
    (0..40_000).map(|at| format!("{}\n", at * 7)).collect::<String>().into_bytes()
}

fn documents() -> Vec<u8> {
    (0..5000)
        .map(|at| format!("{{\"text\":\"a text with the number {at} and some words\"}}\n"))
        .collect::<String>()
        .into_bytes()
}

#[test]
fn regression_a_build_that_is_stopped_at_the_end_of_its_input_makes_no_database() {
    stop_often("build db -", &numbers(), |_| {}, |at| assert!(!at.join("db").exists()));
}

#[test]
fn regression_rows_that_are_stopped_at_the_end_of_the_input_are_not_added() {
    let prepare = |at: &Path| drop(succeeds(at, "create db", b""));
    stop_often("add db --batch 100000", &numbers(), prepare, |at| {
        assert_eq!(succeeds(at, "export db", b""), "");
    });
}

#[test]
fn regression_a_dedup_that_is_stopped_at_the_end_of_its_input_completes_no_output() {
    for command in [
        "dedup - -o out.jsonl",
        "dedup - -o out.jsonl --db seen.np",
        "dedup - -o out.jsonl --keep last",
        "trim - -o out.jsonl --by line",
        "decontaminate - --against other.jsonl -o out.jsonl",
    ] {
        let prepare =
            |at: &Path| fs::write(at.join("other.jsonl"), "{\"text\":\"one two three\"}\n").unwrap();
        stop_often(command, &documents(), prepare, |at| assert!(!at.join("out.jsonl").exists(), "{command}"));
    }
}

#[test]
fn regression_lists_that_are_stopped_at_the_end_of_the_input_end_with_the_signal() {
    let command = "fingerprint - --input-format jsonl --rejects bad.jsonl";
    stop_often(command, &documents(), |_| {}, |at| assert!(!at.join("bad.jsonl").exists()));
}
