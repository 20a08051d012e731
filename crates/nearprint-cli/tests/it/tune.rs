//! The command `tune`.

#[path = "../../../nearprint-text/examples/labelled_pages/model.rs"]
mod model;
#[path = "../../../nearprint-text/examples/labelled_pages/pages.rs"]
mod pages;
#[path = "../../../nearprint-text/examples/labelled_pages/prose.rs"]
mod prose;

use std::fs;
use std::path::Path;

use crate::common::cli::{fails, nearprint, succeeds};

/// Two pages that say nearly the same, two that are equal, and one of its own.
const PAGES: &str = r#"{"url":"a","site":"x","text":"the quick brown fox jumps over the lazy dog and runs away from it"}
{"url":"b","site":"x","text":"the quick brown fox jumps over the lazy dog and walks away from it"}
{"url":"c","site":"y","text":"all pairs within a few bits are found exactly and at once"}
{"url":"d","site":"y","text":"all pairs within a few bits are found exactly and at once"}
{"url":"e","site":"","text":"nothing else says this, and nobody else would want to say it"}
"#;

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("pages.jsonl"), PAGES).unwrap();
    fs::write(home.path().join("same.tsv"), "b\ta\nc\td\na\tb\n").unwrap();
    home
}

fn rows(table: &str) -> Vec<Vec<f64>> {
    table.lines().map(|line| line.split('\t').map(|cell| cell.parse().unwrap()).collect()).collect()
}

#[test]
fn pairs_and_groups_give_the_same_table() {
    let home = home();
    let at = home.path();
    let by_group = succeeds(at, "tune pages.jsonl --group-field site --recipe simhash", b"");
    let by_pairs =
        succeeds(at, "tune --key-field url --pairs same.tsv --threads 1 --recipe simhash", PAGES.as_bytes());
    assert_eq!(by_group, by_pairs);
    let rows = rows(&by_group);
    assert_eq!(rows.len(), 5 * 17);
    let expected = (1..=5).flat_map(|shingle| (0..=16).map(move |k| [f64::from(shingle), f64::from(k)]));
    assert!(rows.iter().map(|row| [row[0], row[1]]).eq(expected));
    // At k = 0 the equal ones are found, which is right, and one of two.
    assert!(rows.iter().filter(|row| row[1] == 0.0).all(|row| row[2..] == [1.0, 0.5, 0.6667, 1.0, 1.0]));
    for pair in rows.windows(2).filter(|pair| pair[0][0] == pair[1][0]) {
        assert!(pair[0][5] <= pair[1][5] && pair[0][6] <= pair[1][6], "more bits find more: {pair:?}");
    }
}

#[test]
fn one_line_is_recommended() {
    let home = home();
    let at = home.path();
    let line = "tune pages.jsonl --group-field site --shingles 2,1 --goal recall:1";
    let outcome = nearprint(at, line, b"");
    assert!(outcome.err.contains("5 documents, 2 of their 10 pairs"), "{}", outcome.err);
    let best = rows(&outcome.out).into_iter().filter(|row| row[3] == 1.0 && row[2] == 1.0);
    let best = best.min_by_key(|row| (row[1] as u32, row[0] as u32)).unwrap();
    let words =
        format!("recommended: --shingle {} -k {} (precision 1.0000, recall 1.0000)", best[0], best[1]);
    assert!(outcome.err.contains(&words), "{words}: {}", outcome.err);

    let json = succeeds(at, &format!("{line} --format json --quiet"), b"");
    let rows: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let recommended: Vec<_> = rows.iter().filter(|row| row["recommended"] == true).collect();
    assert_eq!(recommended.len(), 1);
    assert_eq!(recommended[0]["k"], best[1] as u64);
    assert_eq!(recommended[0]["hits"], 2);

    let never = nearprint(at, "tune pages.jsonl --group-field site --confirm edit:0 --goal recall:1", b"");
    assert!(never.err.contains("nothing reaches the goal; nearest: --shingle 1 -k 0"), "{}", never.err);
}

#[test]
fn texts_confirm() {
    let home = home();
    let line = "tune pages.jsonl --group-field site --shingles 1 --confirm";
    let last = |measure: &str| rows(&succeeds(home.path(), &format!("{line} {measure}"), b"")).pop().unwrap();
    assert_eq!(last("jaccard:1")[5..], [1.0, 1.0]);
    assert_eq!(last("jaccard:0.4")[5..], [2.0, 2.0]);
}

#[test]
fn curves_are_drawn() {
    let home = home();
    succeeds(home.path(), "tune pages.jsonl --group-field site --shingles 1,3 --plot curves.svg", b"");
    let svg = fs::read_to_string(home.path().join("curves.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("shingle 3") && !svg.contains("shingle 2"), "{svg}");
    fails(home.path(), "tune pages.jsonl --group-field site --plot none/x.svg", b"", 1, &["none/x.svg"]);
}

#[test]
fn recipes_say_which_shingles_there_can_be() {
    let home = home();
    let at = home.path();
    let line = "tune pages.jsonl --group-field site --recipe chinese";
    assert_eq!(succeeds(at, line, b"").lines().count(), 17);
    fails(at, &format!("{line} --shingles 2"), b"", 2, &["shingle=1"]);
    fails(at, "tune pages.jsonl --group-field site --width 512", b"", 2, &["256"]);
    assert_eq!(
        succeeds(at, "tune pages.jsonl --group-field site --width 128 --shingles 3", b"").lines().count(),
        33
    );
}

#[test]
fn bad_labels_are_named() {
    let home = home();
    let at: &Path = home.path();
    let write = |name: &str, content: &str| fs::write(at.join(name), content).unwrap();
    for (pairs, words) in [
        ("a\tb\nc\tx\n", &["labels.tsv:2", "\"x\""][..]),
        ("a\tb\n\nc d\n", &["labels.tsv:3", "no tab"]),
        ("a\ta\n", &["labels.tsv:1", "twice"]),
        ("\n", &["labels.tsv", "nothing to learn from"]),
    ] {
        write("labels.tsv", pairs);
        fails(at, "tune pages.jsonl --key-field url --pairs labels.tsv", b"", 5, words);
    }
    write("twice.jsonl", &format!("{PAGES}{PAGES}"));
    let line = "tune twice.jsonl --key-field url --pairs same.tsv";
    fails(at, line, b"", 5, &["twice.jsonl:6", "\"a\"", "twice.jsonl:1"]);
    fails(at, "tune pages.jsonl --group-field url", b"", 5, &["\"url\"", "no two documents"]);
    fails(at, "tune pages.jsonl --group-field nonesuch", b"", 5, &["nonesuch", "no two documents"]);
    fails(at, "tune pages.jsonl --key-field url --pairs nonesuch", b"", 1, &["nonesuch"]);
    fails(at, "tune pages.jsonl", b"", 2, &["--pairs", "--group-field"]);
    fails(at, "tune pages.jsonl --group-field site --key-field url", b"", 2, &["--key-field"]);
    fails(at, "tune pages.jsonl --group-field site --goal best", b"", 2, &["balance"]);
}

#[test]
fn regression_documents_without_a_group_have_none() {
    let home = home();
    let at = home.path();
    let lines = ["", r#","g":null"#, r#","g":"""#, r#","g":"x""#, r#","g":"x""#];
    let lines: String = lines.map(|group| format!("{{\"text\":\"one two three\"{group}}}\n")).concat();
    let outcome = nearprint(at, "tune --group-field g", lines.as_bytes());
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    assert!(outcome.err.contains("5 documents, 1 of their 10 pairs"), "{}", outcome.err);
    fails(at, "tune --group-field g", b"{\"text\":\"a\",\"g\":[]}\n", 5, &["\"g\"", "array"]);
}

#[test]
fn simhashes_know_versions_of_a_page() {
    let topics = match prose::topics() {
        Ok(topics) => topics,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let home = tempfile::tempdir().unwrap();
    let pages = pages::all(&topics, &(12..=30), &mut model::Random::new(4)).into_iter();
    let lines = pages.map(|pages::Page { key, group, text }| {
        serde_json::json!({ "key": key, "group": group, "text": text }).to_string() + "\n"
    });
    fs::write(home.path().join("pages.jsonl"), lines.collect::<String>()).unwrap();
    let at_12 = |options: &str| {
        let line = format!("tune pages.jsonl --group-field group --shingles 3 --recipe simhash {options}");
        let row = rows(&succeeds(home.path(), &line, b"")).swap_remove(12);
        row[2].min(row[3])
    };
    assert!(at_12("") >= 0.85, "without looking at texts");
    assert!(at_12("--confirm jaccard:0.6") >= 0.9, "confirmed");
}
