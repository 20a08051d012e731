//! Deduplication that is killed or interrupted, and goes on.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli::{fails, nearprint, succeeds};
use crate::dedup::{Document, documents, lines, read};
use nearprint::{Database, U256};
use testkit::short_or_full;

/// Starts a run that reads standard input and may be talked to.
fn start(at: &Path, line: &str) -> std::process::Child {
    Command::new(env!("CARGO_BIN_EXE_nearprint"))
        .args(line.split(' '))
        .current_dir(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Starts a run that reads standard input, gives it documents, and kills it once some are durable.
pub fn cut_off(at: &Path, line: &str, documents: &[Document]) {
    let mut child = start(at, line);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines(documents).as_bytes()).unwrap();
    stdin.flush().unwrap();
    let started = Instant::now();
    let settled = || {
        let files = fs::read_dir(at.join("seen.np")).into_iter().flatten();
        files.flatten().any(|file| {
            let name = file.file_name().into_string().unwrap();
            let is_run = name.ends_with(".rows");
            is_run || (name.starts_with("wal-") && file.metadata().is_ok_and(|file| file.len() > 64))
        })
    };
    while !settled() {
        assert!(started.elapsed() < Duration::from_secs(60), "no checkpoint came");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    drop(stdin);
}

#[test]
fn a_run_that_was_killed_goes_on_where_it_was() {
    a_killed_run_goes_on("--recipe width=64");
}

#[test]
fn a_run_with_256_bits_that_was_killed_goes_on_where_it_was() {
    a_killed_run_goes_on("--recipe width=256 --annotate");
}

#[test]
fn a_run_that_was_killed_remembers_what_was_left_out_as_a_whole_one() {
    a_killed_run_goes_on("--recipe width=64 --remember=keys");
}

fn a_killed_run_goes_on(options: &str) {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let documents = documents(26_000, 7);
    let all = lines(&documents);
    let line =
        format!("dedup - -o out.jsonl --duplicates out.tsv --key-field id -k 3 --db seen.np {options}");
    let line = line.as_str();
    succeeds(at, &line.replace("seen", "whole"), all.as_bytes());
    let (output, duplicates) = (read(at, "out.jsonl"), read(at, "out.tsv"));

    cut_off(at, line, &documents[..15_000]);
    let jobs = nearprint(at, "jobs seen.np", b"");
    assert_eq!((&*jobs.out, &*jobs.err), ("", "seen.np: a job is unfinished; its command resumes it\n"));
    fails(at, &line.replace("-k 3", "-k 4"), all.as_bytes(), 2, &["--restart", "stopped after record "]);
    let again = nearprint(at, line, all.as_bytes());
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(again.err.contains("an interrupted run processed"), "{}", again.err);
    assert!(!nearprint(at, "jobs seen.np", b"").err.contains("unfinished"));
    assert_eq!(read(at, "out.jsonl"), output);
    assert_eq!(read(at, "out.tsv"), duplicates);
    let rows = |name: &str| {
        let left_out =
            if options.contains("remember") { &format!("clusters {name}.np") } else { "--version" };
        [succeeds(at, &format!("export {name}.np"), b""), succeeds(at, left_out, b"")]
    };
    assert_eq!(rows("seen"), rows("whole"));
    // And nothing is unfinished any more.
    succeeds(at, "dedup - -o other.jsonl --db seen.np", b"");

    fs::remove_dir_all(at.join("seen.np")).unwrap();
    cut_off(at, line, &documents[..15_000]);
    succeeds(at, &format!("{line} --restart"), all.as_bytes());
    assert_eq!(read(at, "out.jsonl"), output);
    assert_eq!(read(at, "out.tsv"), duplicates);
    assert_eq!(rows("seen"), rows("whole"));
}

#[test]
fn a_restart_leaves_what_earlier_runs_have_kept() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let documents = documents(16_000, 8);
    // The same keys as below, with other texts: deleting by id alone would take these rows along.
    let mut earlier: String = (0..50).fold(String::new(), |mut all, index| {
        writeln!(all, r#"{{"id":"doc {index}","text":"an earlier version of number {index}{index} here"}}"#)
            .unwrap();
        all
    });
    earlier.push_str("{\"id\":\"other\",\"text\":\"nothing like the others at all\"}\n");
    succeeds(at, "dedup - -o earlier.jsonl --key-field id -k 3 --db seen.np", earlier.as_bytes());
    let before = succeeds(at, "export seen.np", b"");
    let line = "dedup - -o out.jsonl --key-field id -k 3 --db seen.np";
    // What is there counts as durable at once, so wait for the log of this run.
    let mut child = start(at, line);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines(&documents).as_bytes()).unwrap();
    let started = Instant::now();
    while succeeds(at, "export seen.np", b"").lines().count() == before.lines().count() {
        assert!(started.elapsed() < Duration::from_secs(60), "no checkpoint came");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    succeeds(at, "dedup - -o out.jsonl --db seen.np --restart", b"");
    assert_eq!(succeeds(at, "export seen.np", b""), before);
}

#[test]
fn a_run_with_a_folder_of_outputs_that_was_killed_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (day, seed) in (0..6).zip(20..) {
        fs::create_dir_all(at.join(format!("crawl/day={day}"))).unwrap();
        fs::write(at.join(format!("crawl/day={day}/x.jsonl")), lines(&documents(3000, seed))).unwrap();
    }
    let line = "dedup crawl -o NAME/ --key-field id --db NAME.np --recipe width=64 -k 3";
    succeeds(at, &line.replace("NAME", "whole"), b"");
    let content =
        |name: &str| (0..6).map(|day| read(at, &format!("{name}/day={day}/x.jsonl"))).collect::<Vec<_>>();
    fs::create_dir(at.join("cut")).unwrap();
    fs::write(at.join("cut/other.txt"), "mine").unwrap();
    let line = line.replace("NAME", "cut");
    for delay in [20, 100, 300, 500] {
        let mut child = start(at, &line);
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    succeeds(at, &line, b"");
    assert_eq!(content("cut"), content("whole"));
    assert_eq!(read(at, "cut/other.txt"), "mine");
    assert_eq!(fs::read_dir(at.join("cut")).unwrap().count(), 7);
    let again = nearprint(at, &line, b"");
    assert!(again.code == 0 && again.err.contains("already complete"), "{}", again.err);
    let other = line.replace("cut.np", "other.np");
    fails(at, &other, b"", 2, &["exists already", "another folder"]);
    succeeds(
        at,
        "dedup crawl -o parts --shards 2 --key-field id --report parts.html --duplicates gone.tsv",
        b"",
    );
    assert!(at.join("parts/part-00001-of-00002.jsonl").is_file());
    fails(at, "dedup crawl -o - --shards 2", b"", 2, &["standard output"]);
}

#[test]
fn regression_what_was_written_stays_when_a_run_is_killed_while_the_database_comes_to_rest() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), lines(&documents(12_000, 10))).unwrap();
    let line = "dedup in.jsonl -o out.jsonl --duplicates out.tsv --key-field id --db seen.np";
    succeeds(at, line, b"");
    let whole = (read(at, "out.jsonl"), read(at, "out.tsv"));
    let len = |name: &str| fs::metadata(at.join(name)).map_or(0, |file| file.len() as usize);
    let snapshot = || Database::<U256>::open(at.join("seen.np")).unwrap().snapshot();
    let rows = snapshot().unwrap().stats().rows;
    for delay in (0..12).step_by(short_or_full(3, 1)) {
        for name in ["out.jsonl", "out.tsv"] {
            fs::remove_file(at.join(name)).unwrap();
        }
        fs::remove_dir_all(at.join("seen.np")).unwrap();
        let mut child = start(at, line);
        while (len("out.jsonl"), len("out.tsv")) != (whole.0.len(), whole.1.len()) {
            assert!(child.try_wait().unwrap().is_none_or(|status| status.success()));
        }
        std::thread::sleep(Duration::from_millis(2 * delay));
        child.kill().unwrap();
        child.wait().unwrap();
        if snapshot().unwrap().checkpoint().is_none() && snapshot().unwrap().stats().rows > 0 {
            // What says that the run is finished comes after everything else: no log is needed any
            // more.
            for file in fs::read_dir(at.join("seen.np")).unwrap().map(Result::unwrap) {
                if file.file_name().to_str().unwrap().starts_with("wal-") {
                    fs::remove_file(file.path()).unwrap();
                }
            }
            assert_eq!(snapshot().unwrap().stats().rows, rows, "killed after {delay} times 2 ms");
        } else {
            succeeds(at, line, b"");
        }
        assert_eq!((read(at, "out.jsonl"), read(at, "out.tsv")), whole);
    }
}

#[test]
fn regression_a_run_goes_on_only_with_the_records_it_has_read() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let (monday, tuesday) = (documents(15_000, 11), documents(15_000, 12));
    let line = "dedup - -o out.jsonl --key-field id --db seen.np";
    cut_off(at, line, &monday);
    fails(at, line, lines(&tuesday).as_bytes(), 2, &["are not those", "--restart"]);
    fails(at, line, lines(&monday[..100]).as_bytes(), 2, &["are not those", "--restart"]);
    succeeds(at, line, lines(&monday).as_bytes());
}

#[test]
fn regression_a_killed_run_delivers_every_document_to_standard_output() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let documents = documents(30_000, 13);
    let line = "dedup - -o - --key-field id --db seen.np -k 0";
    let all = succeeds(at, &line.replace("seen.np", "whole.np"), lines(&documents).as_bytes());
    let mut child = start(at, line);
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let first = std::thread::spawn(move || {
        let mut first = vec![0; 1 << 20];
        std::io::Read::read_exact(&mut stdout, &mut first).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        std::io::Read::read_to_end(&mut stdout, &mut first).unwrap();
        first
    });
    let _ = stdin.write_all(lines(&documents).as_bytes());
    let first = String::from_utf8(first.join().unwrap()).unwrap();
    drop(stdin);
    let second = succeeds(at, line, lines(&documents).as_bytes());
    assert!(!first.is_empty() && !second.is_empty());
    // Each run continues in the order of the input. What the first one wrote last may come again.
    assert!(all.starts_with(&first) && all.ends_with(&second));
    assert!(first.len() + second.len() >= all.len());
}

#[test]
fn regression_a_reader_of_duplicates_may_leave() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), lines(&documents(20_000, 14))).unwrap();
    succeeds(at, "dedup in.jsonl -o whole.jsonl --key-field id", b"");
    let mut child = start(at, "dedup in.jsonl -o out.jsonl --key-field id --duplicates -");
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(read(at, "out.jsonl"), read(at, "whole.jsonl"));
}

#[test]
fn regression_a_dry_run_tells_what_the_real_one_will_come_to() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let all = documents(15_000, 15);
    fs::write(at.join("in.jsonl"), lines(&all)).unwrap();
    let kept = |more: &str| {
        let outcome = nearprint(at, &format!("dedup in.jsonl -o x --key-field id {more}"), b"");
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        outcome.err.split_once(" kept").unwrap().0.rsplit(' ').next().unwrap().to_string()
    };
    let expected = kept("");
    assert_eq!(kept("--dry-run --db seen.np"), expected, "a database that is not there yet");
    assert!(!at.join("seen.np").exists());
    cut_off(at, "dedup - -o out.jsonl --key-field id --db seen.np", &all);
    assert_eq!(kept("--dry-run --db seen.np"), expected, "one with an interrupted run");
}
