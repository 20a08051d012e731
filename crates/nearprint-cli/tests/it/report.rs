//! Pages of `--report`, and what `compare` prints, from outside.

use std::fs;
use std::path::Path;

use crate::cli::{fails, nearprint, succeeds};

fn words(from: u32, to: u32) -> String {
    (from..to).map(|word| format!("word{word} ")).collect()
}

/// Two texts that differ in a few words, an exact copy, and another text.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let near = words(0, 200).replace("word100 ", "word100 <script>new</script> ");
    fs::create_dir(home.path().join("d")).unwrap();
    for (name, text) in [("a", words(0, 200)), ("b", near), ("c", words(0, 200)), ("z", words(900, 1100))] {
        fs::write(home.path().join("d").join(name), text).unwrap();
    }
    home
}

fn page(at: &Path, name: &str) -> String {
    let page = fs::read_to_string(at.join(name)).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    assert!(!page.contains("<script>new") && !page.contains("http-equiv=\"refresh\""));
    let partial = fs::read_dir(at)
        .unwrap()
        .find(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("partial"));
    assert!(partial.is_none(), "nothing is left behind");
    page
}

#[test]
fn a_scan_becomes_a_page() {
    let home = home();
    let at = home.path();
    // The page of an earlier run is replaced.
    for _ in 0..2 {
        succeeds(at, "scan d --report d/near.html", b"");
        let page = page(&at.join("d"), "near.html");
        for part in [
            "nearprint scan",
            "2 duplicates (0 copies, 2 near) in 1 group; 2.98 kB to save",
            "\\u003cscript>new",
            "recipe",
        ] {
            assert!(page.to_lowercase().contains(&part.to_lowercase()), "{part} is not in {page}");
        }
    }
    let nothing = succeeds(at, "scan d/z --report none.html", b"");
    assert_eq!(nothing, "");
    assert!(page(at, "none.html").contains("nearprint scan"));
}

#[test]
fn a_comparison_becomes_a_page() {
    let home = home();
    let at = home.path().join("d");
    let outcome = nearprint(&at, "compare a b --report page.html", b"");
    let page = page(&at, "page.html");
    assert_eq!(outcome.code, 0);
    assert!(page.contains("\\u003cscript>new"), "{page}");
    assert!(page.contains("similarity 0.9655; near-duplicates"), "{page}");
    let outcome = nearprint(&at, "compare 0 15 -k 3 --report bits.html", b"");
    assert_eq!(outcome.code, 6);
    assert!(fs::read_to_string(at.join("bits.html")).unwrap().contains("4 of 64 bits"));
}

#[test]
fn curves_become_a_page() {
    let home = tempfile::tempdir().unwrap();
    let text = |group: u32, copy: u32| words(group * 1000 + copy, group * 1000 + 150);
    let pages: String = (0..40)
        .map(|page| format!("{{\"site\":\"{}\",\"text\":\"{}\"}}\n", page / 2, text(page / 2, page % 2)))
        .collect();
    fs::write(home.path().join("pages.jsonl"), pages).unwrap();
    let line = "tune pages.jsonl --group-field site --try shingle=3 --report curves.html";
    let outcome = nearprint(home.path(), line, b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let page = page(home.path(), "curves.html");
    assert!(page.contains("<svg") && page.contains(" -k ") && page.contains("balance"), "{page}");
    assert!(outcome.err.contains("recommended: "), "{}", outcome.err);
}

#[test]
fn a_deduplication_becomes_a_page() {
    let home = home();
    let at = home.path();
    let lines: String = ["a", "b", "c", "z", "b", "b"]
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let text = fs::read_to_string(home.path().join("d").join(name)).unwrap();
            serde_json::json!({ "key": format!("{name}\t{at}"), "text": text }).to_string() + "\n"
        })
        .collect();
    fs::write(at.join("in.jsonl"), &lines).unwrap();
    let line = "dedup in.jsonl -o out.jsonl --key-field key --db seen.np --duplicates dup.tsv";
    let again = format!("{line} --report again.html");
    succeeds(at, &format!("{line} --report groups.html"), b"");
    let first = page(at, "groups.html");
    for part in ["nearprint dedup", "6 records", "4, 1 of them copies", "\\u003cscript>new", "in.jsonl"] {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    assert!(first.contains(r#""names":["a\t0"],"members":[5]"#), "{first}");
    // A job that is complete is reported again.
    let outcome = nearprint(at, &again, b"");
    assert!(outcome.err.contains("already complete"), "{}", outcome.err);
    assert_eq!(page(at, "again.html"), first);
    // regression: whatever stood there stayed, such as the page of the run before one that was killed.
    fs::write(at.join("again.html"), "of another run").unwrap();
    succeeds(at, &again, b"");
    assert_eq!(page(at, "again.html"), first);
    let compressed = line.replace("dup.tsv", "dup.tsv.gz").replace("seen.np", "other.np");
    succeeds(at, &format!("{compressed} --report compressed.html"), b"");
    assert_eq!(page(at, "compressed.html"), first);
    // Without the inputs, there are the names.
    let piped = "dedup - -o piped.jsonl --key-field key --duplicates piped.tsv --report piped.html";
    succeeds(at, piped, lines.as_bytes());
    let names = page(at, "piped.html");
    assert!(names.contains(r#""names":["a\t0"],"members":[5]"#) && !names.contains("u003cscript"), "{names}");
    for report in ["in.jsonl", "x", "y"] {
        let line = format!("dedup in.jsonl -o x --duplicates y --report {report}");
        fails(at, &line, b"", 2, &["--report", report]);
    }
    assert_eq!(fs::read_to_string(at.join("in.jsonl")).unwrap(), lines);
}

#[test]
fn a_deduplication_becomes_a_page_without_a_file_of_duplicates() {
    let home = home();
    let at = home.path();
    let text = fs::read_to_string(at.join("d/a")).unwrap();
    let line = |key: &str| serde_json::json!({ "key": key, "text": text }).to_string() + "\n";
    fs::write(at.join("in.jsonl"), ["a", "b", "c"].map(line).concat()).unwrap();
    let dedup = "dedup in.jsonl --key-field key --report";
    succeeds(at, &format!("{dedup} listed.html -o out.jsonl --duplicates dup.tsv"), b"");
    let listed = page(at, "listed.html");
    assert!(listed.contains(r#""names":["a"],"members":[3]"#) && listed.contains("word100"), "{listed}");
    let remembered = format!("{dedup} seen.html -o seen.jsonl --db seen.np");
    succeeds(at, &format!("{dedup} alone.html -o alone.jsonl"), b"");
    succeeds(at, &format!("{dedup} dry.html --dry-run"), b"");
    succeeds(at, &format!("{dedup} piped.html -o piped.jsonl --duplicates -"), b"");
    succeeds(at, &remembered, b"");
    for name in ["alone.html", "dry.html", "piped.html", "seen.html"] {
        assert_eq!(page(at, name), listed, "{name}");
    }
    // The list of a job that is complete is gone: its page stays, and no other one can be made.
    let again = nearprint(at, &remembered, b"");
    assert_eq!((again.code, page(at, "seen.html")), (0, listed), "{}", again.err);
    fs::remove_file(at.join("seen.html")).unwrap();
    fails(at, &remembered, b"", 2, &["--report", "complete since", "file of duplicates"]);
    assert!(!at.join("seen.html").exists());
    let trimmed = "trim in.jsonl --key-field key -o trimmed.jsonl --by line --report trimmed.html";
    succeeds(at, trimmed, b"");
    assert!(page(at, "trimmed.html").contains(r#""names":["a#1"],"members":[3]"#));
}

#[test]
fn regression_texts_with_equal_starts_are_no_copies() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let text = |end: &str| format!("{}{end}", words(0, 4000));
    let line = |end: &str| serde_json::json!({ "text": text(end) }).to_string() + "\n";
    fs::write(at.join("in.jsonl"), ["one", "two", "one"].map(line).concat()).unwrap();
    succeeds(at, "dedup in.jsonl -o out.jsonl --report page.html", b"");
    let page = page(at, "page.html");
    let near = format!(r#"["in.jsonl:2",{},0,0.9995,false]"#, text("two").len());
    let copy = format!(r#"["in.jsonl:3",{},0,1.0,true]"#, text("one").len());
    assert!(page.contains(&near) && page.contains(&copy), "{}", page.split("\"members\"").nth(2).unwrap());
}

#[test]
fn clusters_become_a_page() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("prints.txt"), "0\n1\n3\n0xff00000000000000\n0xff00000000000001\n0xabcdef\n").unwrap();
    let expected = succeeds(at, "clusters prints.txt -k 3", b"");
    assert_eq!(succeeds(at, "clusters prints.txt -k 3 --report list.html", b""), expected);
    let list = page(at, "list.html");
    succeeds(at, "build corpus.np prints.txt", b"");
    assert_eq!(succeeds(at, "clusters corpus.np -k 3 --report corpus.html", b""), expected);
    for page in [&list, &page(at, "corpus.html")] {
        for part in ["2 of 5 rows", r#""members":[3,2]"#, "id 0, 0", "at most 3 bits"] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }
    fails(at, "clusters corpus.np --report corpus.np/x.html", b"", 2, &["corpus.np"]);
}

#[test]
fn a_report_overwrites_no_input_and_needs_a_folder() {
    let home = home();
    let at = home.path().join("d");
    for line in ["compare a b --report b", "scan a b --report a"] {
        fails(&at, line, b"", 2, &["--report", "is also an input"]);
    }
    for line in ["compare a b --report none/x.html", "scan . --report none/x.html"] {
        fails(&at, line, b"", 1, &["none"]);
    }
    assert_eq!(fs::read_to_string(at.join("a")).unwrap(), words(0, 200));
}

#[test]
fn a_comparison_says_what_differs() {
    let home = home();
    let at = home.path().join("d");
    let outcome = nearprint(&at, "compare a b --words", b"");
    let (distance, text) = outcome.out.split_once('\n').unwrap();
    assert!(distance.parse::<u32>().is_ok_and(|distance| distance <= 36));
    assert_eq!(text.matches("{+").count(), 1, "{text}");
    assert!(text.contains("word100 {+<script>new</script> +}word101 "), "{text}");
    assert_eq!(outcome.err, "similarity 0.9655; near-duplicates: at least 0.7\n");
    let outcome = nearprint(&at, "compare a b -k 36", b"");
    assert!(outcome.err.contains("near-duplicates: at most 36 of 96 bits differ"), "{}", outcome.err);
    assert!(nearprint(&at, "compare a z", b"").err.contains("not near: less than 0.7"));
    assert!(nearprint(&at, "compare a b -k 1", b"").err.contains("not near: more than 1 of 96 bits differ"));
    let quiet = nearprint(&at, "-q compare a b", b"");
    assert_eq!((quiet.code, quiet.out, quiet.err), (0, String::new(), String::new()));
    assert_eq!(nearprint(&at, "-q compare a z", b"").code, 6);
    let json =
        |line: &str| serde_json::from_str::<serde_json::Value>(&nearprint(&at, line, b"").out).unwrap();
    let near = json("compare a b --format json");
    assert_eq!((&near["near"], &near["k"], &near["bits"]), (&true.into(), &12.into(), &96.into()));
    assert_eq!(near["distance"].to_string(), distance);
    assert!(near["similarity"].as_f64().unwrap() > 0.9);
    let prints = json("compare 0 15 -k 3 --format json");
    assert_eq!((&prints["near"], &prints["similarity"]), (&false.into(), &serde_json::Value::Null));
    fs::write(at.join("bell"), "\x1b[2J text \u{9b}").unwrap();
    let out = nearprint(&at, "compare bell bell --words", b"").out;
    assert!(out.ends_with("\\x1b[2J text \\x9b\n"), "{out}");
}
