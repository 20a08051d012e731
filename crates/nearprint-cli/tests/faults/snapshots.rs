//! One command answers from one snapshot: strace counts how often it opens the manifest of a database.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::processes::{Running, nearprint};
use crate::syscalls::is_possible;

/// Opens of a manifest by a reader: of the handle, and of the snapshot.
const OPENS: usize = 2;
/// By a deduplication: of a reader for the recipe, of the handle, before the lock is taken and with it.
const OPENS_OF_DEDUP: usize = OPENS + 3;

const DOCUMENTS: &str = r#"{"key":"a","text":"one two three four five six seven eight nine ten"}
{"key":"b","text":"one two three four five six seven eight nine eleven"}
{"key":"c","text":"a text of its own, which nothing else in the list is near"}
"#;

fn command(home: &Path, line: &str) -> Command {
    let mut command = nearprint();
    command.current_dir(home).args(line.split(' '));
    command
}

/// How often a command opens the manifest of a database.
fn opens(home: &Path, line: &str, database: &str) -> usize {
    let log = home.join("log");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y", "-e", "trace=openat", "-o"]).arg(&log).current_dir(home);
    let command = command(home, line);
    strace.arg(command.get_program()).args(command.get_args());
    Running::start(&mut strace).end().expect(0);
    let folder = home.canonicalize().unwrap().join(database).display().to_string();
    let of_manifest =
        |line: &&str| line.contains("\"MANIFEST\"") && line.contains(&folder) && !line.contains(" = -1 ");
    fs::read_to_string(log).unwrap().lines().filter(of_manifest).count()
}

#[test]
fn regression_a_command_took_several_snapshots_of_a_database() {
    if !is_possible("one snapshot for each command") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("prints.txt"), "7\n15\n1023\n").unwrap();
    fs::write(at.join("documents.jsonl"), DOCUMENTS).unwrap();
    let dedup = "dedup documents.jsonl --key-field key --db kept.np -o kept.jsonl";
    for line in ["build a.np prints.txt", "build b.np prints.txt --first-id 9", dedup] {
        Running::start(&mut command(at, line)).end().expect(0);
    }
    let lines = [
        "query a.np -f 7",
        "query a.np --id 1",
        "query a.np b.np -f 7",
        "query kept.np documents.jsonl --key-field key",
        "query kept.np --key a",
        "stats a.np",
        "stats a.np --count",
        "pairs a.np",
        "pairs a.np --ids --max-output 100",
        "pairs kept.np --max-output 100",
        "clusters a.np",
        "clusters a.np --report a.html",
        "clusters kept.np --max-output 100",
        "export a.np",
        "export a.np --format npy -o a.npy",
        "pairs a.np b.np",
        "pairs kept.np kept.np",
        "explain a.np",
        "explain kept.np",
        "verify a.np",
        dedup,
    ];
    let mut repeated = Vec::new();
    for line in lines {
        for database in ["a.np", "b.np", "kept.np"].into_iter().filter(|name| line.contains(name)) {
            let each = if line.starts_with("dedup") { OPENS_OF_DEDUP } else { OPENS };
            let most = each * line.matches(database).count();
            let found = opens(at, line, database);
            if found > most {
                repeated.push(format!("{line}: {found} times"));
            }
        }
    }
    assert!(repeated.is_empty(), "{repeated:#?}");
}
