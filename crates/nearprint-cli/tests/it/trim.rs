//! `trim`, from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, LargeStringArray, StringViewArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use super::formats::write_parquet;
use crate::cli::{fails, nearprint, succeeds};

const FOOTER: &str =
    "All rights reserved by the owner of this page and by nobody else in the whole wide world.";
/// The first line of the file of what was removed.
const HEADER: &str = "key\tnumber\tfirst_seen_in\tfirst_number\n";
const NEARLY: &str =
    "All rights reserved by the owner of this page and by nobody else in the whole wide world, 2027.";

#[test]
fn documents_lose_the_paragraphs_that_were_there_before() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let page = |key: &str, body: &str, footer: &str| {
        format!("{{\"key\": \"{key}\", \"text\": \"Home News\\n\\n{body}\\n\\n{footer}\"}}\n")
    };
    let one = page("a", "The first article has this text.", FOOTER);
    let two = page("b", "The second one is\\nabout something else.", &FOOTER.to_uppercase());
    let copy = page("c", "The first article has this text.", FOOTER).replace("Home News\\n\\n", "");
    let near = page("d", "And a last article in the end.", NEARLY);
    fs::write(at.join("in.jsonl"), [&*one, &*two, &*copy, &*near].concat()).unwrap();
    let line = "trim in.jsonl -o out.jsonl --key-field key --removed removed.tsv";
    let outcome = nearprint(at, &format!("{line} --report page.html"), b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    // Two words of a menu are too few to be compared.
    let rest = two.replace(&format!("\\n\\n{}", FOOTER.to_uppercase()), "");
    assert_eq!(fs::read_to_string(at.join("out.jsonl")).unwrap(), [&*one, &*rest, &*near].concat());
    let removed = format!("{HEADER}b\t3\ta\t3\nc\t1\ta\t2\nc\t2\ta\t3\n");
    assert_eq!(fs::read_to_string(at.join("removed.tsv")).unwrap(), removed);
    for part in [
        "4 records read: 3 kept, 1 of them shortened, 2 unchanged; 1 left out\n",
        "3 of 8 paragraphs removed, 39% of the text; recurring: the same words\n",
        "wrote out.jsonl (3 records), removed.tsv (3 lines)\n",
        "most frequent, there 3 times: \"ALL RIGHTS RESERVED BY THE OWNER OF THIS PAGE AND BY NOBODY",
    ] {
        assert!(outcome.err.contains(part), "{part}: {}", outcome.err);
    }
    let report = fs::read_to_string(at.join("page.html")).unwrap();
    for part in
        ["3 of 8 paragraphs removed, 39% of the text, 3 of them copies", "a#3", "by the owner of this page"]
    {
        assert!(report.contains(part), "{part}");
    }
    let whole = "trim in.jsonl -o near.jsonl --key-field key --similarity 0.5";
    succeeds(at, whole, b"");
    let near = fs::read_to_string(at.join("near.jsonl")).unwrap();
    assert!(near.contains("last article") && !near.contains(NEARLY), "{near}");
    // All of them, the menu included.
    let outcome = nearprint(at, "trim in.jsonl --by line --length 0 --dry-run", b"");
    assert!(
        outcome.err.contains("5 of 12 lines removed") && !outcome.err.contains("wrote"),
        "{}",
        outcome.err
    );
}

#[test]
fn passages_are_removed_wherever_they_begin() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let words: String = (0..40).map(|number| format!("word{number} ")).collect();
    let page = |key: &str, text: String| serde_json::json!({ "key": key, "text": text }).to_string() + "\n";
    let one = page("a", format!("First: {words}and so on."));
    let pages = [one.clone(), page("b", format!("Quoted: \u{201c}{words}\u{201d}, they say. Ä.\n"))];
    fs::write(at.join("in.jsonl"), pages.concat()).unwrap();
    let line = "trim in.jsonl -o out.jsonl --key-field key --by passage --removed removed.tsv";
    let outcome = nearprint(at, &format!("{line} --length 40 --summary counts.json --report r.html"), b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let rest = page("b", "Quoted: \u{201c}they say. Ä.\n".into());
    assert_eq!(fs::read_to_string(at.join("out.jsonl")).unwrap(), one + &rest);
    assert_eq!(fs::read_to_string(at.join("removed.tsv")).unwrap(), format!("{HEADER}b\t2\ta\t\n"));
    for part in ["1 passage removed, ", "recurring: the same words in a row"] {
        assert!(outcome.err.contains(part), "{part}: {}", outcome.err);
    }
    let counts = fs::read_to_string(at.join("counts.json")).unwrap();
    assert!(counts.contains(r#""removed":1"#), "{counts}");
    // Not by default, which is 50 words.
    succeeds(at, line, b"");
    assert_eq!(fs::read_to_string(at.join("out.jsonl")).unwrap(), pages.concat());
    for (more, why) in [
        ("--similarity 0.8", "--similarity: passages have the same words"),
        ("--recipe minhash", "--recipe: passages have the same words"),
        ("--from 3", "--from: passages are not counted"),
        ("--db seen.np --restart", "--restart: "),
        ("--length 1", "a passage needs 2 to 10000 words"),
        ("--length 10001", "a passage needs 2 to 10000 words"),
    ] {
        fails(at, &format!("{line} {more}"), b"", 2, &[why]);
    }
}

/// Those in capitals were another passage.
#[test]
fn regression_passages_with_the_same_words_recur_whatever_their_case() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let words: String = (0..60).map(|number| format!("word{number} ")).collect();
    let pages = ["aa ", "BB, ", "cc – ", "dd "].map(|first| {
        let words = if first == "BB, " { words.to_uppercase().replace(' ', ", ") } else { words.clone() };
        serde_json::json!({ "text": format!("{first}{words}") }).to_string() + "\n"
    });
    fs::write(at.join("in.jsonl"), pages.concat()).unwrap();
    let outcome = nearprint(at, "trim in.jsonl -o out.jsonl --by passage", b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    assert!(outcome.err.contains("4 times") && !outcome.err.contains("2 times"), "{}", outcome.err);
}

#[test]
fn paragraphs_are_known_to_later_runs() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (name, body) in [("one", "What was there on the first day."), ("two", "What came on the next day.")] {
        let page = serde_json::json!({ "text": format!("{body}\n\n{FOOTER}\n") });
        fs::write(at.join(format!("{name}.jsonl")), format!("{page}\n")).unwrap();
        succeeds(at, &format!("trim {name}.jsonl -o {name}.out --db seen.np"), b"");
    }
    assert_eq!(fs::read(at.join("one.out")).unwrap(), fs::read(at.join("one.jsonl")).unwrap());
    assert_eq!(
        fs::read_to_string(at.join("two.out")).unwrap(),
        "{\"text\":\"What came on the next day.\\n\"}\n"
    );
}

#[test]
fn texts_of_all_types_of_strings_are_changed_in_parquet() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let texts = [format!("{FOOTER}\n\nOne."), format!("{FOOTER}\n\nTwo."), "Three.".to_string()];
    let numbers = Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
    let views = Arc::new(StringViewArray::from_iter_values(&texts)) as ArrayRef;
    let large = Arc::new(LargeStringArray::from_iter_values(&texts)) as ArrayRef;
    for (column, options) in [(views, ""), (large, "--fields text,n")] {
        write_parquet(at, "in.parquet", vec![("text", column), ("n", numbers.clone())]);
        succeeds(at, &format!("trim in.parquet -o out.parquet {options}"), b"");
        let file = File::open(at.join("out.parquet")).unwrap();
        let batch = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().next();
        let batch = batch.unwrap().unwrap();
        let text = batch.column(0);
        let text = |row: usize| match text.as_string_opt::<i64>() {
            Some(strings) => strings.value(row).to_string(),
            None => text.as_string_view().value(row).to_string(),
        };
        assert_eq!([text(0), text(1), text(2)], [&*texts[0], "Two.", "Three."]);
        assert_eq!(batch.column(1).to_data(), numbers.to_data());
    }
}

#[test]
fn what_is_for_whole_records_is_no_option_of_trim() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), "{\"text\":\"a\"}\n").unwrap();
    fs::write(at.join("in.txt"), "a\n").unwrap();
    for (options, parts) in [
        ("in.jsonl --by word", &["paragraph, line, passage"][..]),
        ("in.jsonl --annotate", &["unexpected argument '--annotate'"]),
        ("in.jsonl --keep longest", &["unexpected argument '--keep'"]),
        ("in.jsonl --min-words 3", &["unexpected argument '--min-words'"]),
        ("in.jsonl --add fingerprint=f", &["--add fingerprint: is for whole documents"]),
        ("in.jsonl --keep-hollow", &["--min-left"]),
        ("in.jsonl --min-left 2", &["--min-left: 2: 0 to 1 is wanted"]),
        ("in.jsonl --from 1", &["--from: 1: at least 2 is wanted"]),
        ("in.txt --by line", &["plain text has no fields"]),
    ] {
        fails(at, &format!("trim {options} -o out"), b"", 2, parts);
    }
    for option in ["--by line", "--length 3", "--from 3", "--min-left 0.5", "--removed x"] {
        let name = option.split(' ').next().unwrap();
        fails(at, &format!("dedup in.jsonl -o out {option}"), b"", 2, &["unexpected argument", name]);
    }
    assert!(!at.join("out").exists());
}

#[test]
fn a_database_is_for_records_or_for_pieces_of_one_kind() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let page = |body: &str| json!({ "text": format!("{body}\n\n{FOOTER}") }).to_string() + "\n";
    fs::write(at.join("in.jsonl"), page("One article.") + &page("Another article.")).unwrap();
    fs::write(at.join("more.jsonl"), json!({ "text": FOOTER }).to_string() + "\n").unwrap();
    let commands = [
        ("dedup", "records", ""),
        ("trim", "paragraphs", ""),
        ("trim", "lines", "--by line"),
        ("trim", "passages", "--by passage --length 8"),
    ];
    for (command, pieces, options) in commands {
        succeeds(at, &format!("{command} in.jsonl -o {pieces} --db {pieces}.np {options}"), b"");
        let rows = succeeds(at, &format!("export {pieces}.np"), b"");
        for (other, _, options) in commands.into_iter().filter(|(_, other, _)| *other != pieces) {
            for input in ["in.jsonl", "more.jsonl"] {
                let line = format!("{other} {input} -o out --db {pieces}.np {options}");
                // Passages have a recipe of their own, which is refused before.
                let (why, ways) = match options.contains("passage") {
                    true => (format!("{pieces}.np: "), &["", "--dry-run"][..]),
                    false => (
                        format!("{pieces}.np: remembers {pieces}, which are compared only with {pieces}"),
                        &["", "--dry-run", "--restart"][..],
                    ),
                };
                for more in ways {
                    fails(at, &format!("{line} {more}"), b"", 2, &[&why]);
                }
                assert!(!at.join("out").exists());
            }
        }
        assert_eq!(succeeds(at, &format!("export {pieces}.np"), b""), rows);
        succeeds(at, &format!("{command} more.jsonl -o later --db {pieces}.np {options}"), b"");
    }
}

/// A run that is stopped is gone on with by its own command alone.
#[test]
fn an_unfinished_run_of_trim_is_not_gone_on_with_by_dedup() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let record =
        |number: u32| json!({ "text": format!("What is told in {number}.\n\n{FOOTER}") }).to_string() + "\n";
    let good: String = (0..12_000).map(record).collect();
    fs::write(at.join("in.jsonl"), format!("{good}no record\n")).unwrap();
    let commands = ["dedup in.jsonl -o out.jsonl --db", "trim in.jsonl -o out.jsonl --db"];
    for (own, other) in [(commands[0], commands[1]), (commands[1], commands[0])] {
        let db = format!("{}.np", own.split(' ').next().unwrap());
        fails(at, &format!("{own} {db}"), b"", 5, &["in.jsonl:12001"]);
        fails(
            at,
            &format!("{other} {db}"),
            b"",
            2,
            &["stopped after record", "hint: rerun its command to resume"],
        );
    }
}

/// What a rule for units does, document by document: the texts that are written, and hollow documents.
fn by_rule(documents: &[Vec<usize>], from: usize, min_left: f64, keeps: bool) -> (Vec<Vec<usize>>, usize) {
    let mut had: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let (mut written, mut num_hollow) = (Vec::new(), 0);
    for (number, units) in documents.iter().enumerate() {
        let is_often = |had: &BTreeMap<usize, BTreeSet<usize>>, unit: usize| {
            let others = had
                .get(&unit)
                .map_or(0, |in_documents| in_documents.iter().filter(|&&at| at != number).count());
            others + 1 >= from
        };
        // All units, and the line ends between them, have one length.
        let gone = units.iter().filter(|&&unit| is_often(&had, unit)).count();
        let len = 40 * units.len() - 1;
        let is_hollow = min_left > 0.0 && ((len - 39 * gone) as f64) < min_left * len as f64;
        if is_hollow {
            num_hollow += 1;
            if keeps {
                written.push(units.clone());
                let before = had.clone();
                for &unit in units.iter().filter(|&&unit| !is_often(&before, unit)) {
                    had.entry(unit).or_default().insert(number);
                }
            }
            continue;
        }
        let mut left = Vec::new();
        for &unit in units {
            let repeats_itself = from == 2 && had.get(&unit).is_some_and(|at| at.contains(&number));
            if !is_often(&had, unit) && !repeats_itself {
                left.push(unit);
                had.entry(unit).or_default().insert(number);
            }
        }
        written.extend((!left.is_empty()).then_some(left));
    }
    (written, num_hollow)
}

#[test]
fn units_go_from_their_nth_document_on_and_hollow_documents_go_whole() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    // Each 39 bytes long.
    let line = |unit: usize| format!("the sentence with the number {unit:03} again.");
    let text = |units: &[usize]| units.iter().map(|&unit| line(unit)).collect::<Vec<_>>().join("\n");
    assert_eq!(line(7).len(), 39);
    let mut dice = 7u64;
    let mut roll = |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    let documents: Vec<Vec<usize>> =
        (0..300).map(|_| (0..1 + roll(8)).map(|_| (roll(30) * roll(30) / 4) as usize).collect()).collect();
    let record = |units: &[usize]| json!({ "text": text(units) }).to_string() + "\n";
    fs::write(at.join("in.jsonl"), documents.iter().map(|units| record(units)).collect::<String>()).unwrap();
    for from in [2, 3, 5] {
        for (min_left, keeps) in [(0.0, false), (0.3, false), (0.6, true), (1.0, false)] {
            let (expected, num_hollow) = by_rule(&documents, from, min_left, keeps);
            let mut options = format!("--from {from} --min-left {min_left}");
            options += if keeps { " --keep-hollow" } else { "" };
            let line = format!("trim in.jsonl -o out.jsonl --by line --summary done.json {options}");
            succeeds(at, &line, b"");
            let written: Vec<String> = fs::read_to_string(at.join("out.jsonl"))
                .unwrap()
                .lines()
                .map(|line| {
                    serde_json::from_str::<Value>(line).unwrap()["text"].as_str().unwrap().to_string()
                })
                .collect();
            let expected: Vec<String> = expected.iter().map(|units| text(units)).collect();
            assert!(written == expected, "{options}: {} and {}", written.len(), expected.len());
            let done: Value =
                serde_json::from_str(&fs::read_to_string(at.join("done.json")).unwrap()).unwrap();
            assert_eq!(done["units"]["hollow"], json!(num_hollow), "{options}");
            let lost = done["units"]["by_share_left"].as_array().unwrap().iter().filter_map(Value::as_u64);
            let lost: u64 = lost.sum();
            assert!(done["units"]["shortened"] == lost && (lost > 0 || min_left == 1.0), "{options}");
        }
    }
    let similar = "trim in.jsonl -o out.jsonl --by line --similarity 0.8 --from 3";
    fails(at, similar, b"", 2, &["--from: numbers above 2 are for pieces of the same words"]);
}

#[test]
fn regression_times_are_those_that_are_there_and_punctuation_is_nothing() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let page = |number: usize| {
        format!("Home About Contact Login Imprint Privacy\\n\\nPage {number} has {number} own words.")
    };
    let mut lines: Vec<String> =
        (0..12).map(|number| format!("{{\"text\":\"{}\"}}\n", page(number))).collect();
    fs::write(at.join("in.jsonl"), lines.concat()).unwrap();
    for more in ["", "--from 3 --recipe exact", "--from 12 --recipe exact", "--by passage --length 6"] {
        let outcome = nearprint(at, &format!("trim in.jsonl -o out.jsonl {more}"), b"");
        assert!(
            outcome.err.contains("most frequent, there 12 times: \"Home About"),
            "{more}: {}",
            outcome.err
        );
    }
    // Of a copy, its punctuation would be left.
    lines.push(lines[3].clone());
    fs::write(at.join("in.jsonl"), lines.concat()).unwrap();
    let outcome = nearprint(at, "trim in.jsonl -o out.jsonl --by passage --length 4", b"");
    assert!(
        outcome.err.contains("13 records read: 12 kept") && outcome.err.contains("1 left out"),
        "{}",
        outcome.err
    );
}
