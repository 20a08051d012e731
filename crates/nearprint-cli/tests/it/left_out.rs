//! What a database remembers of documents that `dedup` left out.

use std::fs;
use std::path::Path;

use crate::cli::{Outcome, fails, nearprint, succeeds};

/// Two days of records: some of each are near records of the first.
fn write_days(at: &Path) {
    let text = |number: usize| {
        let words = (0..60).map(|place| format!("w{}", (number * 7919 + place * place * 31) % 1009));
        words.collect::<Vec<_>>()
    };
    let near = |number: usize| {
        let mut words = text(number);
        words[30] = "changed".into();
        words
    };
    let line =
        |key: String, words: Vec<String>| format!("{{\"url\":\"{key}\",\"text\":\"{}\"}}\n", words.join(" "));
    let first = (0..20).map(|number| line(format!("u{number}"), text(number)));
    let again = (0..5).map(|number| line(format!("n{number}"), near(number)));
    fs::write(at.join("mon.jsonl"), first.chain(again).collect::<String>()).unwrap();
    let later = (10..13).map(|number| line(format!("t{number}"), near(number)));
    fs::write(at.join("tue.jsonl"), later.collect::<String>()).unwrap();
}

fn dedup(at: &Path, day: &str, more: &str) -> Outcome {
    nearprint(at, &format!("dedup {day}.jsonl -o {day}.out.jsonl --db seen.np --key-field url {more}"), b"")
}

#[test]
fn what_a_document_was_a_copy_of_is_asked() {
    for what in ["--remember", "--remember=keys"] {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        write_days(at);
        assert_eq!(dedup(at, "mon", what).code, 0);
        assert_eq!(dedup(at, "tue", "").code, 0);
        let asked =
            nearprint(at, "query seen.np --left-out n3 --left-out t11 --left-out u3 --left-out x", b"");
        assert_eq!(asked.code, 2, "{}", asked.err);
        let lines: Vec<Vec<&str>> = asked.out.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!((&lines[0][..2], &lines[1][..2]), (&["n3", "u3"][..], &["t11", "u11"][..]));
        // What was left out because of a kept one has a name where keys are remembered.
        let (listed, names) = match what {
            "--remember" => (&lines[..0], "; `dedup --remember=keys` remembers their keys"),
            _ => (&lines[..1], ""),
        };
        assert_eq!(&lines[2..], listed);
        assert_eq!((lines[0][3], lines[1][3]), ("1", "2"));
        assert!(lines[0][2].starts_with("0."), "{lines:?}");
        let said = format!(
            "u3: is kept; 1 document was left out because of it{names}\n4 keys: 2 left out, 1 kept\n"
        );
        assert!(asked.err.contains(&said), "{}", asked.err);
        assert!(asked.err.contains("--left-out x: no document with this key is remembered"), "{}", asked.err);
        let json = succeeds(at, "query seen.np --left-out n3 --json", b"");
        assert!(json.starts_with(r#"{"left_out":"n3","kept":"u3","similarity":0."#), "{json}");
        assert!(succeeds(at, "stats seen.np", b"").contains("\nleft_out_rows\t8\n"));
        // A copy answers, too.
        succeeds(at, "backup seen.np copy.np", b"");
        assert_eq!(succeeds(at, "query copy.np --left-out n3 --json", b""), json);
        succeeds(at, "backup seen.np --follow second.np --once", b"");
        assert_eq!(succeeds(at, "query second.np --left-out n3 --json", b""), json);
        // It is forgotten by its key, and by its job.
        let dry = nearprint(at, "delete seen.np --key n3 --key u9 -n", b"");
        assert_eq!(
            dry.err,
            "dry run: 1 row would be deleted from seen.np; would forget 1 document left out\n"
        );
        let lost = "1 document was left out because of these rows, and stays left out\n";
        for selected in ["--key u11 --key n0", "--key-prefix u11"] {
            let dry = nearprint(at, &format!("delete seen.np {selected} -n"), b"");
            assert!(dry.err.starts_with("dry run: 1 row would") && dry.err.ends_with(lost), "{}", dry.err);
            succeeds(at, &format!("backup seen.np copy{}.np", selected.len()), b"");
            let gone = nearprint(at, &format!("delete copy{}.np {selected}", selected.len()), b"");
            assert!(gone.err.starts_with("deleted 1 row from") && gone.err.ends_with(lost), "{}", gone.err);
        }
        let gone = nearprint(at, "delete seen.np --key n3 --key u9 --summary gone.json", b"");
        assert_eq!(gone.err, "deleted 1 row from seen.np; forgot 1 document left out\n");
        let counts = fs::read_to_string(at.join("gone.json")).unwrap();
        assert!(counts.contains("\"rows\":1") && counts.contains("\"left_out\":1"), "{counts}");
        fails(at, "query seen.np --left-out n3", b"", 2, &["no document with this key is remembered"]);
        let gone = nearprint(at, "delete seen.np --job 1 --summary gone.json", b"");
        assert!(gone.err.contains("later jobs left out 3 records because of these rows"), "{}", gone.err);
        let counts = fs::read_to_string(at.join("gone.json")).unwrap();
        assert!(counts.contains("\"left_out_later\":3"), "{counts}");
        fails(at, "query seen.np --left-out n4", b"", 2, &["--left-out n4"]);
        let asked = nearprint(at, "query seen.np --left-out t11 --json", b"");
        assert_eq!(asked.out, "", "the document that was kept is gone");
        assert!(
            asked.err.contains("t11: was left out, but the document that was kept has been deleted"),
            "{}",
            asked.err
        );
        if what == "--remember=keys" {
            assert_eq!(succeeds(at, "clusters seen.np", b""), "");
        }
        // Another one takes its place.
        assert_eq!(dedup(at, "tue", "--restart").code, 0);
        let asked = nearprint(at, "query seen.np --left-out t11", b"");
        assert!(asked.out.is_empty() && asked.err.contains("t11: is kept"), "{}{}", asked.out, asked.err);
    }
}

#[test]
fn groups_have_what_was_left_out_where_keys_are_remembered() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    write_days(at);
    assert_eq!(dedup(at, "mon", "--remember=keys").code, 0);
    let clusters = succeeds(at, "clusters seen.np", b"");
    let mut groups: Vec<Vec<&str>> = Vec::new();
    for line in clusters.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        assert_eq!(columns.len(), 5, "{line}");
        let group: usize = columns[0].parse().unwrap();
        groups.resize(group + 1, Vec::new());
        groups[group].push(columns[3]);
    }
    groups.sort_unstable();
    assert_eq!(groups, [0, 1, 2, 3, 4].map(|number| [format!("u{number}"), format!("n{number}")]));
    let json = succeeds(at, "clusters seen.np --json", b"");
    assert_eq!(json.matches(r#""fingerprint":null"#).count(), 5, "{json}");
    let pairs = nearprint(at, "pairs seen.np", b"");
    assert!(pairs.out.is_empty() && pairs.err.contains("documents that `dedup` kept"), "{}", pairs.err);

    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    write_days(at);
    assert_eq!(dedup(at, "mon", "").code, 0);
    for line in ["clusters seen.np", "pairs seen.np"] {
        let empty = nearprint(at, line, b"");
        assert_eq!((empty.code, &*empty.out), (0, ""), "{line}");
        assert!(empty.err.contains("`dedup --remember=keys`"), "{line}: {}", empty.err);
    }
    fails(at, "query seen.np --left-out n3", b"", 2, &["seen.np", "does not remember", "--remember"]);
    // What a database remembers is chosen when it is made.
    let other = dedup(at, "tue", "--remember");
    assert!(other.code == 2 && other.err.contains("only a new database"), "{}", other.err);
}

#[test]
fn a_job_that_starts_over_forgets_what_it_left_out() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    write_days(at);
    assert_eq!(dedup(at, "mon", "--remember=keys").code, 0);
    let before = succeeds(at, "clusters seen.np", b"");
    let again = dedup(at, "mon", "--restart --similarity 1");
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(succeeds(at, "clusters seen.np", b""), "");
    assert_eq!(dedup(at, "mon", "--restart").code, 0);
    assert_eq!(succeeds(at, "clusters seen.np", b""), before);
    fails(at, "dedup tue.jsonl -o x.jsonl --remember", b"", 2, &["--db"]);
    fails(at, "trim tue.jsonl -o x.jsonl --db t.np --remember", b"", 2, &["--remember"]);
}

#[test]
fn regression_a_job_that_is_taken_back_leaves_the_answers_of_others() {
    for what in ["--remember", "--remember=keys"] {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        write_days(at);
        assert_eq!(dedup(at, "mon", what).code, 0);
        assert_eq!(dedup(at, "tue", "").code, 0);
        let answer = succeeds(at, "query seen.np --left-out t11", b"");
        assert_eq!(answer.split('\t').nth(3), Some("2\n"));
        fs::copy(at.join("tue.jsonl"), at.join("again.jsonl")).unwrap();
        assert_eq!(dedup(at, "again", "").code, 0);
        let last = succeeds(at, "query seen.np --left-out t11", b"");
        assert_eq!(last, answer.replace("\t2\n", "\t3\n"), "the latest job answers");
        if what == "--remember=keys" {
            let clusters = succeeds(at, "clusters seen.np", b"");
            assert_eq!(clusters.matches("t11").count(), 1, "{clusters}");
        }
        let counted = |name: &str| {
            let stats = succeeds(at, "stats seen.np --count --format json", b"");
            serde_json::from_str::<serde_json::Value>(&stats).unwrap()[name].as_u64().unwrap()
        };
        assert_eq!(counted("left_out_rows"), 5 + 3 + 3);
        succeeds(at, "delete seen.np --job 3", b"");
        assert_eq!(succeeds(at, "query seen.np --left-out t11", b""), answer);
        assert_eq!(counted("left_out_rows"), 5 + 3);
        // Earlier jobs are not because of later ones.
        let dry = nearprint(at, "delete seen.np --job 2 --dry-run", b"");
        assert!(!dry.err.contains("later jobs"), "{}", dry.err);
        succeeds(at, "delete seen.np --key t11", b"");
        assert_eq!(counted("left_out_rows"), 5 + 2);
        // Whoever asks for the key is led there, and the name in a list of duplicates is known.
        fails(at, "query seen.np --key n3", b"", 2, &["no row has this key", "--left-out n3"]);
        let listed = succeeds(at, "query seen.np --left-out n3#24", b"");
        assert!(listed.starts_with("n3#24\tu3\t"), "{listed}");
    }
}

/// The text of a document that was left out is in no database, and the message did not say so.
#[test]
fn regression_comparing_a_document_that_was_left_out_names_its_input() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    write_days(at);
    assert_eq!(dedup(at, "mon", "--remember --store texts").code, 0);
    let words = ["is not stored, as it was left out", "nearprint compare INPUT seen.np --key n3 --key KEPT"];
    fails(at, "compare seen.np --key n3 --key u3", b"", 2, &words);
    fails(at, "compare seen.np --key x --key u3", b"", 2, &["no record with the key \"x\""]);
    let compared =
        nearprint(at, "compare mon.jsonl seen.np --key n3 --key u3 --key-field url --similarity 0.7", b"");
    assert_eq!(compared.code, 0, "{}", compared.err);
}
