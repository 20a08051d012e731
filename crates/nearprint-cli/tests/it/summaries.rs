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
    fails(at, "undo gone", b"", 2, &["gone: a folder; its undo list is gone/nearprint-undo.tsv"]);
    fails(at, "undo gone/nearprint-undo.tsv --summary gone/nearprint-undo.tsv", b"", 2, &["--summary"]);
    fails(at, "add a.np --summary a.np/counts.json", b"", 2, &["a.np"]);
}

/// All commands count one folder alike: what was read is the sum of what became of it.
#[test]
fn one_folder_is_counted_alike_by_all_commands() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir_all(at.join("d/sub")).unwrap();
    let text = |from: u32| (from..from + 80).map(|word| format!("word{word} ")).collect::<String>();
    let files: [(&str, Vec<u8>); 9] = [
        ("a.txt", text(0).into()),
        ("sub/copy.txt", text(0).into()),
        ("b.txt", text(100).into()),
        ("sub/near.txt", (text(100) + "more").into()),
        ("c.txt", text(200).into()),
        ("1.bin", b"\0\x01".to_vec()),
        ("2.bin", b"\0\x01".to_vec()),
        ("d.pdf", b"%PDF-1.4 text".to_vec()),
        ("empty", Vec::new()),
    ];
    files.iter().for_each(|(name, content)| fs::write(at.join("d").join(name), content).unwrap());
    let counts = |line: &str| -> serde_json::Value {
        let line = format!("{line} --summary counts.json");
        let outcome = nearprint(at, &line, b"");
        assert_eq!(outcome.code, 0, "{line}: {}", outcome.err);
        let counts: serde_json::Value =
            serde_json::from_slice(&fs::read(at.join("counts.json")).unwrap()).unwrap();
        let number = |name: &str| counts[name].as_u64().unwrap_or_default();
        let parts = ["kept", "duplicates", "left_out", "skipped", "rejected"].map(number);
        assert_eq!((number("read"), parts.iter().sum::<u64>()), (9, 9), "{line}: {counts}");
        if counts["duplicates"].is_u64() && counts["copies"].is_u64() {
            assert_eq!(number("duplicates"), number("copies") + number("near"), "{line}: {counts}");
        }
        assert!(outcome.err.starts_with("9 ") && outcome.err.contains(" read: "), "{line}: {}", outcome.err);
        counts
    };
    let names = ["kept", "duplicates", "copies", "near", "groups", "skipped"];
    let of = |counts: serde_json::Value| names.map(|name| counts[name].as_u64().unwrap());
    // Copies of what is no text are found, too.
    assert_eq!(of(counts("scan d")), [4, 3, 2, 1, 3, 2]);
    assert_eq!(of(counts("prune d --move-to gone --dry-run")), [4, 3, 2, 1, 3, 2]);
    let records = [3, 2, 1, 1, 2, 4];
    assert_eq!(of(counts("dedup d -o kept.txt")), records);
    assert_eq!(of(counts("dedup d -o longest.txt --keep longest")), records);
    assert_eq!(of(counts("dedup d -o stored.txt --db seen.np")), records);
    assert_eq!(of(counts("dedup d --dry-run")), records);
    assert_eq!(counts("decontaminate d --against d/c.txt -o clean.txt")["left_out"], 1);
}

#[test]
fn regression_a_limit_below_that_of_the_database_was_silent() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for name in ["a", "b", "c", "d"] {
        fs::write(
            at.join(format!("{name}.jsonl")),
            format!("{{\"text\":\"a record of the file {name}\"}}\n"),
        )
        .unwrap();
    }
    let said = |line: &str| {
        let outcome = nearprint(at, line, b"");
        assert_eq!(outcome.code, 0, "{line}: {}", outcome.err);
        outcome.err
    };
    assert!(!said("dedup a.jsonl -o a.out --db seen.np -s 0.9").contains("missed"));
    let lower = said("dedup b.jsonl -o b.out --db seen.np -s 0.5");
    let why = "seen.np: made for a similarity of 0.9: 24% of the pairs at 0.5 are missed";
    assert!(lower.contains(why), "{lower}");
    for options in ["--db seen.np", "--db seen.np -s 0.85", "-s 0.3", "--db own.np -s 0.5"] {
        let said = said(&format!("dedup c.jsonl -o c.out {options} --restart"));
        assert!(!said.contains("missed"), "{options}: {said}");
    }
}
