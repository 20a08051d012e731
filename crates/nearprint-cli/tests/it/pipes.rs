//! What one command prints is read by another one, without options.

use std::fs;
use std::path::Path;

use crate::cli::{fails, nearprint, succeeds};

/// A folder of texts, whose keys need escapes.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let text = |end: usize| (end..end + 60).map(|word| format!("word{word} ")).collect::<String>();
    let lines = [("a\tb", 0), ("https://b/", 2), ("7", 4), ("Ä \\ \"x\"", 1000)];
    let line =
        |(key, end): &(&str, usize)| format!("{}\n", serde_json::json!({ "url": key, "text": text(*end) }));
    fs::write(home.path().join("in.jsonl"), lines.iter().map(line).collect::<String>()).unwrap();
    home
}

const MAKE: &str = "fingerprint in.jsonl --key-field url";

fn stat(at: &Path, database: &str, name: &str) -> String {
    let stats = succeeds(at, &format!("stats {database}"), b"");
    let line = stats.lines().find_map(|line| line.strip_prefix(&format!("{name}\t")));
    line.unwrap_or_default().to_string()
}

/// The fingerprints and keys of a database, sorted.
fn rows(at: &Path, database: &str) -> Vec<(String, String)> {
    let rows = succeeds(at, &format!("export {database}"), b"");
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        (cells[0].to_string(), cells[2].to_string())
    };
    let mut rows: Vec<_> = rows.lines().map(row).collect();
    rows.sort_unstable();
    rows
}

fn expected(at: &Path, recipe: &str) -> Vec<(String, String)> {
    let printed = succeeds(at, &format!("{MAKE} {recipe}"), b"");
    let row = |line: &str| line.split_once('\t').map(|(print, key)| (print.to_string(), key.to_string()));
    let mut rows: Vec<_> = printed.lines().filter_map(row).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn what_fingerprint_prints_is_built_added_and_queried() {
    for recipe in ["--recipe simhash", "--recipe simhash␣width=128", "--recipe minhash"] {
        let home = home();
        let at = home.path();
        let created = recipe.replace("simhash␣width=128", "width=128");
        let expected = expected(at, recipe);
        assert_eq!(expected.len(), 4);
        for (number, options) in
            ["", "--format json", "--header", "--header --format json"].into_iter().enumerate()
        {
            let printed = succeeds(at, &format!("{MAKE} {recipe} {options}"), b"");
            let (pipe, file) = (format!("pipe{number}.np"), format!("file{number}.np"));
            succeeds(at, &format!("build {pipe} -"), printed.as_bytes());
            fs::write(at.join("prints"), &printed).unwrap();
            succeeds(at, &format!("build {file} prints"), b"");
            succeeds(at, &format!("create {number}.np --store keys {created}"), b"");
            succeeds(at, &format!("add {number}.np -"), printed.as_bytes());
            let ends = ["", ".tsv", ".jsonl"];
            let end = ends[if options.contains("json") { 2 } else { 1 }];
            fs::write(at.join(format!("prints{end}")), &printed).unwrap();
            for database in [&pipe, &file, &format!("{number}.np")] {
                assert_eq!(rows(at, database), expected, "{recipe} {options} {database}");
            }
            let found = succeeds(at, &format!("query {pipe} - -k 0 --header"), printed.as_bytes());
            let mut lines = found.lines();
            assert_eq!(lines.next(), Some("query\tdistance\tfingerprint\tid\tkey\tquery_key"));
            assert!(lines.clone().count() >= 4, "{found}");
            for line in lines {
                let cells: Vec<&str> = line.split('\t').collect();
                assert!(cells[0] == cells[2] && cells[1] == "0" && cells[4] == cells[5], "{line}");
            }
            if options.contains("--header") {
                assert!(stat(at, &pipe, "recipe").contains("shingle=3,"), "{recipe}");
                let layout = stat(at, &pipe, "layout");
                assert_eq!(layout.starts_with("bands"), recipe.contains("minhash"), "{layout}");
                succeeds(at, &format!("build named.np prints{end}"), b"");
                assert_eq!(rows(at, "named.np"), expected);
                fs::remove_dir_all(at.join("named.np")).unwrap();
            }
        }
    }
}

#[test]
fn a_database_is_built_of_what_export_prints() {
    let home = home();
    let at = home.path();
    succeeds(at, "dedup in.jsonl -o out.jsonl --db seen.np --key-field url", b"");
    for options in ["--header", "--header --format jsonl"] {
        let exported = succeeds(at, &format!("export seen.np {options}"), b"");
        succeeds(at, "build copy.np -", exported.as_bytes());
        assert_eq!(succeeds(at, "export copy.np", b""), succeeds(at, "export seen.np", b""));
        for name in ["width", "k", "layout", "recipe"] {
            assert_eq!(stat(at, "copy.np", name), stat(at, "seen.np", name), "{name}");
        }
        fs::remove_dir_all(at.join("copy.np")).unwrap();
    }
    fails(at, "export seen.np --header --format u256", b"", 2, &["--header"]);
}

#[test]
fn fingerprints_of_another_recipe_are_refused() {
    let home = home();
    let at = home.path();
    let printed = succeeds(at, &format!("{MAKE} --header"), b"");
    let other = succeeds(at, &format!("{MAKE} --header --shingle 4"), b"");
    succeeds(at, "build a.np -", printed.as_bytes());
    for line in ["add a.np -", "query a.np -", "build b.np - --recipe simhash"] {
        fails(at, line, other.as_bytes(), 2, &["another recipe", "shingle=4"]);
    }
    assert!(!at.join("b.np").exists());
    // Keys need a place, unless a header names them.
    succeeds(at, "create keyless.np", b"");
    let plain = succeeds(at, &format!("{MAKE} "), b"");
    fails(at, "add keyless.np -", plain.as_bytes(), 5, &["input:1", "--store keys"]);
    succeeds(at, "add keyless.np -", printed.as_bytes());
    // Numbers after fingerprints are ids.
    succeeds(at, "build ids.np -", b"5\t7\n6\t8\n");
    assert_eq!(succeeds(at, "export ids.np", b""), "5\t7\n6\t8\n");
    for (damaged, why) in [("# nearprint\twidth=65\n", "65"), ("# nearprint\tk=x\n", "no distance")] {
        fails(at, "build bad.np -", damaged.as_bytes(), 5, &["input:1", why]);
    }
}

#[test]
fn tables_have_names_where_they_are_wanted() {
    let home = home();
    let at = home.path();
    let pairs = "build p.np - --store keys";
    succeeds(at, pairs, b"1\ta\n3\tb\n");
    for (line, names, json) in [
        ("pairs p.np", "a\tb\tdistance", r#"{"a":"1","b":"3","distance":1}"#),
        ("clusters p.np", "cluster\tfingerprint\tid\tkey", r#"{"cluster":0,"fingerprint":"1""#),
        ("pairs p.np p.np --ids", "id_a\tid_b\tdistance\tkey_a\tkey_b", r#"{"id_a":""#),
        ("pairs p.np --ids", "id_a\tid_b\tdistance\tkey_a\tkey_b", r#"{"id_a":""#),
        ("query p.np -f 1", "query\tdistance\tfingerprint\tid\tkey", r#"{"query":"1","distance":0"#),
    ] {
        let plain = succeeds(at, line, b"");
        assert_eq!(succeeds(at, &format!("{line} --header"), b""), format!("{names}\n{plain}"));
        let cells = plain.lines().next().unwrap().split('\t').count();
        assert_eq!(names.split('\t').count(), cells, "{line}");
        let objects = succeeds(at, &format!("{line} --header --format json"), b"");
        assert!(objects.starts_with(json), "{objects}");
    }
    assert_eq!(succeeds(at, "pairs p.np --max-output 1 --header", b"").lines().count(), 2);
    succeeds(at, "dedup in.jsonl -o out.jsonl --db seen.np --key-field url --similarity 0.99", b"");
    for (line, names) in [
        ("pairs seen.np --similarity 0.5", "a\tb\tdistance\tsimilarity"),
        ("pairs seen.np --ids --similarity 0.5", "id_a\tid_b\tdistance\tkey_a\tkey_b\tsimilarity"),
        ("clusters seen.np --similarity 0.5", "cluster\tfingerprint\tid\tkey\tsimilarity"),
        ("query seen.np in.jsonl", "query\tdistance\tfingerprint\tid\tkey\tsimilarity"),
    ] {
        let outcome = nearprint(at, &format!("{line} --header"), b"");
        assert!(outcome.out.starts_with(&format!("{names}\n")), "{}", outcome.out);
        assert!(outcome.out.lines().all(|row| row.split('\t').count() == names.split('\t').count()));
        assert!(outcome.out.lines().count() > 1, "{line}");
    }
}

/// The first record is read before there is a database, and the pipe has it once.
#[test]
#[cfg(unix)]
fn a_named_pipe_goes_into_a_new_database() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    assert!(std::process::Command::new("mkfifo").arg(at.join("pipe")).status().unwrap().success());
    let lines: String = (0..300)
        .map(|number| format!("{{\"text\":\"record{number} of a pipe{number} that{number} ends\"}}\n"))
        .collect();
    let pipe = at.join("pipe");
    let written = lines.clone();
    let writer = std::thread::spawn(move || fs::write(pipe, written).unwrap());
    succeeds(at, "dedup pipe -o out.jsonl --db seen.np --input-format jsonl", b"");
    writer.join().unwrap();
    assert_eq!(fs::read_to_string(at.join("out.jsonl")).unwrap(), lines);
}

#[cfg(unix)]
#[test]
fn regression_queries_of_a_pipe_were_read_by_the_look_at_their_format() {
    let home = home();
    let at = home.path();
    succeeds(at, "create docs.np --recipe minhash --store features", b"");
    succeeds(at, "dedup in.jsonl --key-field url --db docs.np -o kept.jsonl", b"");
    let queries = fs::read(at.join("in.jsonl")).unwrap();
    let expected = succeeds(at, "query docs.np in.jsonl --key-field url", b"");
    assert_eq!(succeeds(at, "query docs.np - --key-field url", &queries), expected);
    testkit::files::make_pipe(&at.join("pipe"));
    fails(
        at,
        "query docs.np pipe --key-field url",
        b"",
        2,
        &["pipe: is no regular file, and inputs are looked at", "query DB - < pipe"],
    );
}

#[test]
fn regression_build_mixed_the_fingerprints_of_two_recipes() {
    let home = home();
    let at = home.path();
    for (name, recipe) in [("m.tsv", "minhash"), ("s.tsv", "simhash␣width=256")] {
        fs::write(at.join(name), succeeds(at, &format!("{MAKE} --recipe {recipe} --header"), b"")).unwrap();
    }
    let why = "fingerprints of another recipe";
    fails(at, "build both.np m.tsv s.tsv", b"", 2, &[why]);
    fails(at, "build both.np m.tsv s.tsv --recipe minhash --store keys", b"", 2, &[why]);
    fails(at, "build both.np m.tsv s.tsv --runs-only", b"", 2, &[why]);
    assert!(!at.join("both.np").exists());
    succeeds(at, "build twice.np m.tsv m.tsv --recipe minhash", b"");
}

/// The keys of queries were left out where another query came before.
#[test]
fn regression_keys_of_queries_are_printed_behind_a_query_without_one() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build p.np", b"1\n1024\n");
    fs::write(at.join("plain.txt"), "1\n").unwrap();
    fs::write(at.join("keyed.txt"), "fingerprint\tkey\n1024\tmine\n").unwrap();
    let found = succeeds(at, "query p.np -f 1 keyed.txt -k 0 --header", b"");
    let [names, rest @ ..] = &found.lines().collect::<Vec<_>>()[..] else { panic!("{found}") };
    assert_eq!(*names, "query\tdistance\tfingerprint\tid\tquery_key");
    assert_eq!(rest, ["1\t0\t1\t0\t", "1024\t0\t1024\t1\tmine"]);
    let swapped = succeeds(at, "query p.np keyed.txt plain.txt -k 0", b"");
    assert_eq!(swapped, "1024\t0\t1024\t1\tmine\n1\t0\t1\t0\t\n");
    fails(at, "query p.np plain.txt keyed.txt -k 0", b"", 2, &["has keys of queries", "name it first"]);
    fails(at, "query p.np -f 1 --limit 0", b"", 2, &["--limit"]);
    fails(at, "query p.np -f 1 --top 0", b"", 2, &["--top"]);
}
