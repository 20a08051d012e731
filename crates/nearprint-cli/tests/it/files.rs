//! Shards of an export, and the files that the program writes about itself.

use std::fs;

use crate::cli::{database, fails, succeeds, text};

#[test]
fn shards_are_all_rows_once() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let expected = text(&database::<u64>(at));
    let shards: String = ["00-3f", "40", "41-C0", "c1-ff"]
        .iter()
        .map(|prefix| succeeds(at, &format!("export db --range {prefix}"), b""))
        .collect();
    assert_eq!(shards, expected);
    let wanted: String = expected
        .lines()
        .filter(|line| line.split('\t').next().unwrap().parse::<u64>().unwrap() >> 56 == 0x41)
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(succeeds(at, "export db --range 41", b""), wanted);
    let npy = succeeds(at, "export db --range 41 --format npy -o shard.npy", b"");
    assert_eq!(npy, "");
    let len = fs::read(at.join("shard.npy")).unwrap().len();
    assert_eq!(len, 128 + 8 * wanted.lines().count());
    for prefix in ["3f-00", "x", "3"] {
        fails(at, &format!("export db --range {prefix}"), b"", 2, &["leading bytes"]);
    }
}

#[test]
fn completions_and_manual_pages_name_the_commands() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = succeeds(at, &format!("completions {shell}"), b"");
        for word in ["nearprint", "clusters", "threads"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    fails(at, "completions basic", b"", 2, &["basic"]);
    let page = succeeds(at, "man", b"");
    assert!(page.contains(".TH nearprint 1") && page.contains("clusters"), "{page}");
    succeeds(at, "man --dir share/man1", b"");
    let query = fs::read_to_string(at.join("share/man1/nearprint-query.1")).unwrap();
    assert!(query.contains("fingerprint") && at.join("share/man1/nearprint.1").exists());
    let synopsis =
        query.split(".SH").find(|section| section.starts_with(" SYNOPSIS")).unwrap().replace("\\-", "-");
    for words in ["nearprint query", "[-k K]", "[-j|--threads N]", "[-s|--similarity S]", "DB|INPUT..."] {
        assert!(synopsis.contains(words), "{words}: {synopsis}");
    }
    fs::write(at.join("file"), "").unwrap();
    fails(at, "man --dir file/man1", b"", 1, &["create", "file/man1"]);
}
