//! `--summary` of the commands that end with one.

use std::fs;

use crate::cli::{fails, nearprint, succeeds};

/// Every command that ends with a summary writes its counts for programs.
#[test]
fn summaries_are_written() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let counts = |line: &str, input: &[u8]| -> serde_json::Value {
        let outcome = nearprint(at, &format!("{line} --summary counts.json"), input);
        assert!(outcome.code == 0 || line.starts_with("undo"), "{line}: {}", outcome.err);
        let counts = fs::read(at.join("counts.json")).unwrap();
        fs::remove_file(at.join("counts.json")).unwrap();
        serde_json::from_slice(&counts).unwrap()
    };
    let built = counts("build a.np", b"1\t1\n1\t2\n5\t3\n");
    assert_eq!([&built["rows"], &built["fingerprints"]], [3, 2]);
    assert!(built["bytes"].as_u64() > Some(0) && built["seconds"].is_f64(), "{built}");
    assert_eq!(counts("add a.np", b"7\t4\n8\t5\n")["rows"], 2);
    assert_eq!(counts("delete a.np", b"4\n")["ids"], 1);
    assert_eq!(counts("delete a.np --id 5..9", b"")["rows"], 1);
    assert_eq!(counts("compact a.np", b"")["rows"], 3);
    assert_eq!(counts("backup a.np b.np", b"")["rows"], 3);
    let shared = counts("backup a.np c.np --base b.np", b"");
    assert!(shared["shared_bytes"].as_u64() <= shared["bytes"].as_u64(), "{shared}");
    assert_eq!(counts("backup a.np --follow d.np --once", b"")["rows"], 3);
    let repaired = counts("repair a.np e.np", b"");
    assert_eq!([&repaired["rows"], &repaired["lost_rows"]], [3, 0]);
    assert_eq!(repaired["complete"], true);
    succeeds(at, "build more.runs --runs-only --first-id 100", b"70\n80\n");
    let ingested = counts("ingest a.np more.runs", b"");
    assert_eq!([&ingested["runs"], &ingested["rows"], &ingested["skipped_runs"]], [1, 2, 0]);

    let text: String = (0..100).map(|word| format!("word{word} ")).collect();
    fs::create_dir(at.join("d")).unwrap();
    for name in ["d/a.txt", "d/b.txt"] {
        fs::write(at.join(name), &text).unwrap();
    }
    let acted = &counts("prune d --move-to gone", b"")["acted"];
    assert_eq!([&acted["files"], &acted["copies"], &acted["bytes"]], [1, 1, text.len()]);
    let undone = counts("undo gone/nearprint-undo.tsv", b"");
    assert_eq!([&undone["restored"], &undone["nothing_to_undo"], &undone["failed"]], [1, 0, 0]);
    fs::write(at.join("list.tsv"), crate::chosen::list(at, "d", &[("b.txt", "a.txt")])).unwrap();
    assert_eq!(counts("prune --list list.tsv --hardlink", b"")["files"], 1);

    let pages: String = (0..40)
        .map(|page| format!("{{\"text\":\"{}\"}}\n", text.replace("word1", &format!("w{}", page / 2))))
        .collect();
    fs::write(at.join("pages.jsonl"), pages).unwrap();
    let tuned = counts("tune pages.jsonl --try shingle=3", b"");
    assert_eq!(tuned["documents"], 40);
    assert!(tuned["options"].as_str().unwrap().contains("-k "), "{tuned}");

    fails(at, "add a.np list.txt --summary list.txt", b"", 1, &["list.txt"]);
    fails(at, "undo gone/nearprint-undo.tsv --summary gone/nearprint-undo.tsv", b"", 2, &["--summary"]);
    fails(at, "add a.np --summary a.np/counts.json", b"", 2, &["a.np"]);
}
