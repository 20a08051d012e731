//! Programs that write the texts of files: `--pre` and `--pre-glob`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cli::{duplicates, nearprint, succeeds};

/// Skips the first line, as a reader of documents leaves out what is no text.
const READER: &str = "#!/bin/sh\nexec tail -n +2 \"$1\"\n";

fn program(at: &Path, name: &str, script: &str) {
    // A file that this process has open for writing cannot run, nor while a child of another test has it.
    let write = "printf %s \"$1\" > \"$0\" && chmod 700 \"$0\"";
    let written = Command::new("sh").args(["-c", write]).arg(at.join(name)).arg(script).status().unwrap();
    assert!(written.success());
}

fn words(start: usize, count: usize) -> String {
    (start..start + count).map(|word| format!("word{word} ")).collect()
}

/// The messages of a command that succeeds.
fn said(at: &Path, line: &str) -> String {
    let outcome = nearprint(at, line, b"");
    assert_eq!(outcome.code, 0, "{line}: {}", outcome.err);
    outcome.err
}

/// Two near documents, a copy, another one, and a note with the text of the first; and the reader.
fn folder() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    program(at, "reader", READER);
    fs::create_dir(at.join("docs")).unwrap();
    let near = format!("{}one more", words(0, 100));
    for (name, head, text) in [
        ("a.pdf", "%PDF-1.4\n", &near),
        ("b.pdf", "%PDF-1.5 other\n", &near),
        ("c.pdf", "%PDF-1.4\n", &near),
        ("d.pdf", "%PDF-1.4\n", &words(500, 100)),
        ("note.txt", "", &words(0, 100)),
    ] {
        fs::write(at.join("docs").join(name), format!("{head}{text}")).unwrap();
    }
    home
}

#[test]
fn texts_that_a_program_writes_are_near_and_copies_are_equal_bytes() {
    let home = folder();
    let at = home.path();
    let pre = "--pre ./reader --pre-glob *.pdf";
    let out = succeeds(at, &format!("scan docs {pre} --json --all"), b"");
    for (name, exact) in [("a.pdf", true), ("c.pdf", true), ("b.pdf", false), ("note.txt", false)] {
        let found = out.lines().any(|line| line.contains(name));
        assert!(found, "{name}: {out}");
        let group: serde_json::Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
        let files = group["files"].as_array().unwrap();
        let file = files.iter().find(|file| file["path"].as_str().unwrap().ends_with(name)).unwrap();
        assert_eq!(file["copy"].as_bool(), Some(exact), "{name}: {group}");
    }
    assert!(!out.contains("d.pdf"), "{out}");
    said(at, &format!("dedup docs {pre} -o kept --duplicates dup.tsv"));
    let lines = duplicates(at, "dup.tsv");
    let exact_of = |name: &str| {
        let line = lines.lines().find(|line| line.starts_with(&format!("docs/{name}\t"))).unwrap_or_default();
        line.split('\t').nth(5).map(str::to_string)
    };
    assert_eq!((exact_of("b.pdf").as_deref(), lines.lines().count()), (Some("false"), 3), "{lines}");
    let out = succeeds(at, &format!("compare docs/a.pdf docs/b.pdf {pre} --format json"), b"");
    assert!(out.contains("\"similarity\":1"), "{out}");
    for command in ["fingerprint docs/a.pdf docs/note.txt", "compare docs/a.pdf docs/note.txt --format csv"] {
        let out = succeeds(at, &format!("{command} {pre}"), b"");
        assert!(out.contains("a.pdf"), "{command}: {out}");
    }
    said(at, &format!("dedup docs {pre} -o kept2 --db seen.np"));
    let out = succeeds(at, &format!("query seen.np docs/b.pdf {pre}"), b"");
    assert!(out.contains(".pdf"), "{out}");
    fs::write(at.join("evaluation.jsonl"), format!("{{\"text\": \"{}\"}}\n", words(500, 100))).unwrap();
    let command = format!("decontaminate docs --against evaluation.jsonl -o clean {pre}");
    let said = said(at, &command);
    assert!(!fs::read_to_string(at.join("clean")).unwrap().contains("d.pdf"), "{said}");
}

#[test]
fn copies_are_linked_and_near_documents_moved() {
    let home = folder();
    let at = home.path();
    let said = said(at, "prune docs --hardlink");
    let is_linked = |name: &str| {
        use std::os::unix::fs::MetadataExt;
        at.join("docs").join(name).metadata().unwrap().nlink() > 1
    };
    assert_eq!(["a.pdf", "b.pdf", "c.pdf", "note.txt"].map(is_linked), [true, false, true, false], "{said}");
    succeeds(at, "undo nearprint-undo.tsv", b"");
    let moved = nearprint(at, "prune docs --pre ./reader --pre-glob *.pdf --move-to gone", b"");
    assert_eq!(moved.code, 0, "{}", moved.err);
    let left: Vec<bool> = ["a.pdf", "b.pdf", "c.pdf", "d.pdf", "note.txt"]
        .map(|name| at.join("docs").join(name).exists())
        .into();
    assert_eq!((left.iter().filter(|is_left| **is_left).count(), left[3]), (2, true), "{}", moved.err);
}

#[test]
fn files_without_a_text_are_left_out_counted_and_named() {
    let home = folder();
    let at = home.path();
    program(
        at,
        "odd",
        "#!/bin/sh\ncase $1 in *a.pdf) echo no such page >&2; exit 3;; *b.pdf) ;; *) exec tail -n +2 \"$1\";; esac\n",
    );
    let said = said(at, "dedup docs --pre ./odd --pre-glob *.pdf -o kept --verbose");
    for part in [
        "2 for which --pre wrote no text",
        "warning: docs/a.pdf: ./odd: exit status: 3: no such page",
        "warning: docs/b.pdf: ./odd: wrote no text",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    fs::remove_file(at.join("docs/note.txt")).unwrap();
    let outcome = nearprint(at, "dedup docs --pre false -o kept", b"");
    assert_eq!(outcome.code, 5, "{}", outcome.err);
    assert!(outcome.err.contains("for which --pre wrote no text"), "{}", outcome.err);
    for (command, why) in [("./missing", "No such file"), ("docs/a.pdf", "Permission denied")] {
        for run in ["dedup docs -o none", "scan docs", "compare docs/a.pdf docs/b.pdf", "fingerprint docs"] {
            let outcome = nearprint(at, &format!("{run} --pre {command}"), b"");
            assert!(outcome.code != 0 && outcome.err.contains(why), "{run}: {}", outcome.err);
            assert!(!at.join("none").exists());
        }
    }
}

/// Different mails with one attachment are near by its lines. A program that leaves it out tells them apart.
#[test]
fn mails_are_compared_by_what_a_program_writes_of_them() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    program(at, "body", "#!/bin/sh\nexec sed '/^Content-Transfer-Encoding: base64/,$d' \"$1\"\n");
    fs::create_dir(at.join("mails")).unwrap();
    let logo: String = (0..400)
        .map(|line| format!("{:0>72}\n", format!("{:x}", line * 0x9e37_79b9_7f4a_7c15_u128)))
        .collect();
    for mail in 0..10 {
        let body = words(1000 * mail, 60);
        let text =
            format!("Subject: {mail}\n\n{body}\n\n--x\nContent-Transfer-Encoding: base64\n\n{logo}--x--\n");
        fs::write(at.join(format!("mails/{mail}.eml")), text).unwrap();
    }
    let near = said(at, "scan mails");
    assert!(near.contains("9 duplicates (0 copies, 9 near) in 1 group"), "{near}");
    let apart = said(at, "scan mails --pre ./body --pre-glob *.eml");
    assert!(apart.contains("10 kept, 0 duplicates"), "{apart}");
}

#[test]
fn an_interrupt_kills_the_programs() {
    let home = folder();
    let at = home.path();
    program(at, "slow", "#!/bin/sh\necho $$ > pid.new\nmv pid.new pid\nsleep 1000\n");
    for run in
        ["dedup docs -o kept --pre ./slow", "scan docs --pre ./slow -j 1", "fingerprint docs --pre ./slow"]
    {
        let _ = fs::remove_file(at.join("pid"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_nearprint"))
            .args(run.split(' '))
            .current_dir(at)
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        while !at.join("pid").exists() {
            assert!(started.elapsed() < Duration::from_secs(30), "{run}");
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: It takes two numbers, and the child has not been waited for.
        assert_eq!(unsafe { libc::kill(i32::try_from(child.id()).unwrap(), libc::SIGINT) }, 0);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{run}");
        assert!(started.elapsed() < Duration::from_secs(35), "{run}");
        let pid: i32 = fs::read_to_string(at.join("pid")).unwrap().trim().parse().unwrap();
        let gone = (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            // SAFETY: It takes two numbers; signal 0 only asks whether the group has a process.
            unsafe { libc::kill(-pid, 0) != 0 }
        });
        assert!(gone, "{run}");
    }
}
