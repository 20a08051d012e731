//! The examples in the help of every command, as a shell runs them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};

use super::chosen;
use super::formats::write_parquet;
use super::pictures::scene;
use crate::cli::succeeds;

/// Programs of the examples that need not be there.
const PROGRAMS: [(&str, &str); 4] = [
    ("crawler", "cat today.txt"),
    ("mongoexport", "printf '{\"_id\":{\"$oid\":\"1\"},\"text\":\"one two three\"}\\n'"),
    ("mongoimport", "cat > imported.jsonl"),
    ("man", "cat > page"),
];

fn words(from: u32, to: u32) -> String {
    (from..to).map(|word| format!("word{word} ")).collect()
}

/// Everything that the examples read.
fn prepare(at: &Path) {
    write_fingerprints(at);
    write_documents(at);
    for folder in [
        ".local/share/man/man1",
        ".local/share/bash-completion/completions",
        ".zfunc",
        ".config/fish/completions",
        "backup",
        "Downloads",
    ] {
        fs::create_dir_all(at.join(folder)).unwrap();
    }
    for (name, script) in PROGRAMS {
        let path = at.join("bin").join(name);
        write(at, &format!("bin/{name}"), format!("#!/bin/sh\n{script}\n").as_bytes());
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for (seed, name) in (0..).zip(["photo.jpg", "new.jpg", "Photos/a.png", "photos/a.jpg", "photos/b.jpg"]) {
        fs::create_dir_all(at.join(name).parent().unwrap()).unwrap();
        scene(seed, 120, 80).save(at.join(name)).unwrap();
    }
    scene(0, 60, 40).save(at.join("smaller.png")).unwrap();
    for line in [
        "scan photos --db pictures.np",
        "build corpus.np prints.txt",
        "build monday.np prints.txt",
        "build tuesday.np prints.txt",
        "build pages.np prints.txt",
        "build spam.np prints.txt",
        "build monday.runs monday.u64 --runs-only --first-id 1000000",
        "build tuesday.runs tuesday.u64 --runs-only --first-id 2000000",
        "dedup pages.jsonl -o documents.jsonl --db documents.np --key-field url --remember=keys",
        "build keyed.np keyed.tsv --store keys --columns fingerprint,key",
    ] {
        succeeds(at, line, b"");
    }
}

fn write(at: &Path, name: &str, content: &[u8]) {
    let path = at.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn write_fingerprints(at: &Path) {
    let prints: String = (0..40u64).map(|n| format!("{}\t{n}\n", (n / 2) << 40 | n)).collect();
    for name in ["fingerprints.txt", "prints.txt", "today.txt", "more.txt", "new-prints.txt"] {
        write(at, name, prints.as_bytes());
    }
    write(at, "prints.txt.gz", &gzipped(prints.as_bytes()));
    write(at, "withdrawn.txt", b"3\n4\n");
    write(at, "changed.tsv", b"7\t1\n8\t2\n");
    write(at, "keyed.tsv", b"7\thttps://example.org/page\n");
    let raw: Vec<u8> = (0..64u64).flat_map(|n| (n * n).to_le_bytes()).collect();
    for name in ["prints.u64", "monday.u64", "tuesday.u64", "fingerprints.u128"] {
        write(at, name, &raw);
    }
    let pdq: String = (0..20).map(|n| format!("{n:064x}\timage-{n}.jpg\n")).collect();
    write(at, "pdq.tsv.gz", &gzipped(pdq.as_bytes()));
    write(at, "pdq-hashes.txt", (0..20).map(|n| format!("{n:064x}\n")).collect::<String>().as_bytes());
}

fn write_documents(at: &Path) {
    let (old, new) = (words(0, 200), words(0, 200).replace("word100 ", ""));
    let texts =
        [("a.txt", &old), ("b.txt", &new), ("c.txt", &words(9, 200)), ("old.txt", &old), ("new.txt", &new)];
    for (name, text) in texts {
        for folder in ["", "articles/", ".cargo/registry/src/"] {
            write(at, &format!("{folder}{name}"), text.as_bytes());
        }
    }
    for name in ["page.html", "page-1.html", "page-2.html"] {
        write(at, name, format!("<p>{old}</p>").as_bytes());
    }
    let page = |n: u32| {
        let text = words(n / 2 * 500 + n % 2, n / 2 * 500 + 120);
        let (url, group) = (format!("https://example.org/{n}"), format!("g{}", n / 2));
        serde_json::json!({ "url": url, "group": group, "text": text, "body": text }).to_string() + "\n"
    };
    let pages: String = (0..20).map(page).collect();
    for name in ["pages.jsonl", "today.jsonl", "corpus.jsonl"] {
        write(at, name, pages.as_bytes());
    }
    for name in ["pages.jsonl.gz", "crawl/monday/pages.jsonl.gz"] {
        write(at, name, &gzipped(pages.as_bytes()));
    }
    write(at, "evals.jsonl", pages.lines().next().unwrap().as_bytes());
    write(at, "qa.csv", b"question\nOne two three four five six seven eight?\n");
    write(at, "same.tsv", b"https://example.org/0\thttps://example.org/1\n");
    let column = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
    let columns = vec![("url", column("https://example.org/0")), ("text", column("one two three"))];
    write_parquet(at, "pages.parquet", columns);
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, bytes).unwrap();
    gzip.finish().unwrap()
}

/// The commands, and the examples of each.
fn examples(at: &Path) -> Vec<(String, Vec<String>)> {
    let help = succeeds(at, "--help", b"");
    let commands = help.split("\nOptions\n").next().unwrap();
    let names = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let names = names.map(|line| line.split_whitespace().next().unwrap()).chain(["completions", "man"]);
    let of = |name: &str| {
        let help = succeeds(at, &format!("{name} --help"), b"");
        let lines = help.replace("Example:\n", "Examples:\n");
        let lines = lines.split("Examples:\n").nth(1).unwrap_or_default().lines();
        lines.map(|line| line.trim().to_string()).filter(|line| !line.is_empty()).collect()
    };
    names.map(|name| (name.to_string(), of(name))).collect()
}

#[test]
fn the_examples_of_all_commands_run() {
    let home = tempfile::tempdir().unwrap();
    let template = home.path().join("template");
    fs::create_dir(&template).unwrap();
    prepare(&template);
    let all = examples(&template);
    assert!(all.len() >= 24, "{all:?}");
    let program = Path::new(env!("CARGO_BIN_EXE_nearprint"));
    let mut failed = Vec::new();
    for (at, (command, examples)) in all.iter().enumerate() {
        assert!(!examples.is_empty(), "{command} has no example");
        for (number, example) in examples.iter().enumerate() {
            let folder = home.path().join(format!("{at}-{number}"));
            let copied = Command::new("cp").arg("-r").arg(&template).arg(&folder).status().unwrap();
            assert!(copied.success());
            // What an example makes is not there before. Its folder for backups replaces the
            // system's.
            let made = [
                "build corpus.np",
                "build images.np",
                "create corpus.np",
                "build monday.runs",
                "build tuesday.runs",
            ];
            for line in made.iter().filter(|line| example.contains(**line)) {
                let _ = fs::remove_dir_all(folder.join(line.split(' ').nth(1).unwrap()));
            }
            // A list of files is of the files that are there now.
            if example.contains("--list") {
                let list = chosen::list(&folder, "articles", &[("b.txt", "a.txt")]);
                fs::write(folder.join("Downloads/nearprint-chosen.tsv"), list).unwrap();
            }
            let database = if example.contains("delete") && example.contains("--key") {
                "keyed.np"
            } else {
                "corpus.np"
            };
            let line = example.replace("/backup/", "backup/").replace("corpus.np", database);
            let path = format!(
                "{}:{}:/usr/bin:/bin",
                folder.join("bin").display(),
                program.parent().unwrap().display()
            );
            let done = Command::new("bash")
                .args(["-c", &format!("set -euo pipefail; {line}")])
                .current_dir(&folder)
                .env("PATH", path)
                .env("HOME", &folder)
                .output()
                .unwrap();
            let messages = String::from_utf8_lossy(&done.stderr);
            if !done.status.success() {
                failed.push(format!("{example}\n{messages}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
