//! `decontaminate`, from outside.

use std::fs;
use std::path::Path;

use crate::cli::{fails, nearprint, succeeds};

const QUESTION: &str =
    "Which of these planets has the largest number of known moons as of this year, and why?";
const SHORT: &str = "Is it true that water boils at lower temperatures on mountains?";

fn prepare(at: &Path) -> [String; 4] {
    let evals = format!("id,question\nq1,\"{QUESTION}\"\nq2,{SHORT}\nq3,Too short?\n");
    fs::write(at.join("evals.csv"), evals).unwrap();
    let page = |id: &str, text: &str| serde_json::json!({ "id": id, "text": text }).to_string() + "\n";
    let pages = [
        page("a", &format!("A quiz.\n{}\nAnd more.", QUESTION.to_uppercase())),
        page("b", "Nothing to see. Too short? Water boils at lower temperatures on mountains, they say."),
        page("c", &format!("First, {}", SHORT.replace(' ', "\n"))),
        page("d", "In a text: these planets has the largest number of known moons as of this year. So on."),
    ];
    fs::write(at.join("in.jsonl"), pages.concat()).unwrap();
    pages
}

const LINE: &str = "decontaminate in.jsonl --against evals.csv --against-field question \
                    --against-key-field id --key-field id";

#[test]
fn documents_with_a_passage_are_left_out_and_listed() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let [_, b, _, _] = prepare(at);
    let outcome = nearprint(at, &format!("{LINE} -o out.jsonl --found found.tsv --summary counts.json"), b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let counts: serde_json::Value =
        serde_json::from_slice(&fs::read(at.join("counts.json")).unwrap()).unwrap();
    for (name, count) in [
        ("read", 4),
        ("left_out", 3),
        ("kept", 1),
        ("evaluation_texts", 3),
        ("evaluation_texts_found", 2),
        ("evaluation_texts_too_short", 1),
    ] {
        assert_eq!(counts[name], count, "{name}: {counts}");
    }
    fails(at, &format!("{LINE} -o x.jsonl --summary in.jsonl"), b"", 2, &["--summary in.jsonl"]);
    assert_eq!(fs::read_to_string(at.join("out.jsonl")).unwrap(), b);
    let found = fs::read_to_string(at.join("found.tsv")).unwrap();
    let (header, lines) = found.split_once('\n').unwrap();
    assert_eq!(header, "key\tevaluation\tshare\twords\tstart\tpassage");
    let rows: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows[0][..5], ["a", "q1", "1.0000", "17", "3"], "{found}");
    assert_eq!(rows[1][..5], ["c", "q2", "1.0000", "11", "2"], "{found}");
    assert_eq!(rows[2][..5], ["d", "q1", "0.2000", "13", "4"], "{found}");
    assert_eq!(rows[2][5], "these planets has the largest number of known moons as of this year");
    succeeds(at, &format!("{LINE} -o out.jsonl --found found.csv"), b"");
    let csv = fs::read_to_string(at.join("found.csv")).unwrap();
    assert_eq!(csv, found.replace('\t', ","), "no cell has a comma");
    assert!(
        outcome.err.contains("or a whole text of 8 or more")
            && outcome.err.contains("wrote out.jsonl (1 record)")
    );
    for part in [
        "4 records read: 1 kept, 3 left out, which contain 2 of 3 evaluation texts",
        "8 or more; 1 evaluation text too short",
    ] {
        assert!(outcome.err.contains(part), "{part}: {}", outcome.err);
    }
}

#[test]
fn a_share_can_be_required_and_documents_annotated() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let [a, b, c, d] = prepare(at);
    succeeds(at, &format!("{LINE} -o half.jsonl --min-share 0.5"), b"");
    assert_eq!(fs::read_to_string(at.join("half.jsonl")).unwrap(), [&*b, &*d].concat());
    succeeds(at, &format!("{LINE} -o all.jsonl --annotate"), b"");
    let annotated = |page: &str, fields: &str| page.replace("}\n", &format!(",{fields}}}\n"));
    let expected = [
        annotated(&a, "\"contaminated_by\":\"q1\",\"contaminated_share\":1.0"),
        annotated(&b, "\"contaminated_by\":null,\"contaminated_share\":null"),
        annotated(&c, "\"contaminated_by\":\"q2\",\"contaminated_share\":1.0"),
        annotated(&d, "\"contaminated_by\":\"q1\",\"contaminated_share\":0.2"),
    ];
    assert_eq!(fs::read_to_string(at.join("all.jsonl")).unwrap(), expected.concat());
    // With passages of 6 words, the end of the short question is one.
    let outcome = nearprint(at, &format!("{LINE} -o six.jsonl --ngram 6"), b"");
    assert!(outcome.err.contains("4 records read: 0 kept, 4 left out"), "{}", outcome.err);
}

#[test]
fn inputs_are_not_overwritten_and_bad_evaluation_texts_are_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    prepare(at);
    for output in ["in.jsonl", "evals.csv"] {
        fails(at, &format!("{LINE} -o {output}"), b"", 2, &["--output", "is also an input"]);
    }
    fails(at, &format!("{LINE} -o out.jsonl --found out.jsonl"), b"", 2, &["--output", "--found"]);
    fs::write(at.join("none.jsonl"), "").unwrap();
    let none = nearprint(at, &format!("{} -o none.out", LINE.replace("evals.csv", "none.jsonl")), b"");
    assert!(
        none.err.contains("warning: there is no evaluation text, so nothing is left out"),
        "{}",
        none.err
    );
    succeeds(at, &format!("{LINE} -o half.jsonl --min-share 50%"), b"");
    fails(at, &format!("{LINE} -o out.jsonl --ngram 0"), b"", 2, &["--ngram"]);
    fails(at, &format!("{LINE} -o out.jsonl --min-share 2"), b"", 2, &["--min-share"]);
    fs::write(at.join("evals.csv"), "id,question\nq1\n").unwrap();
    fails(at, &format!("{LINE} -o out.jsonl"), b"", 5, &["evals.csv:2", "1 cells"]);
    assert!(!at.join("out.jsonl").exists());
}
