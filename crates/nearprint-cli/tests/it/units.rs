//! `dedup --unit`, from outside.

use std::fs::{self, File};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, LargeStringArray, StringViewArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::formats::write_parquet;
use crate::common::cli::{fails, nearprint, succeeds};

const FOOTER: &str =
    "All rights reserved by the owner of this page and by nobody else in the whole wide world.";
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
    let line = "dedup in.jsonl -o out.jsonl --key-field key --unit paragraph --duplicates removed.tsv";
    let outcome = nearprint(at, &format!("{line} --report page.html"), b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    // Two words of a menu are too few to be compared.
    let rest = two.replace(&format!("\\n\\n{}", FOOTER.to_uppercase()), "");
    assert_eq!(fs::read_to_string(at.join("out.jsonl")).unwrap(), [&*one, &*rest, &*near].concat());
    let removed = "b#3\ta#3\t0\t1.0000\ta#3\nc#1\ta#2\t0\t1.0000\ta#2\nc#2\ta#3\t0\t1.0000\ta#3\n";
    assert_eq!(fs::read_to_string(at.join("removed.tsv")).unwrap(), removed);
    for part in [
        "4 documents, 3 kept, nothing left of 1",
        "8 paragraphs, 3 removed: 210 B of ",
        "exact copies: 3, near-duplicates: 0",
        "most repeated: 3 times \"ALL RIGHTS RESERVED BY THE OWNER OF THIS PAGE AND BY NOBODY",
    ] {
        assert!(outcome.err.contains(part), "{part}: {}", outcome.err);
    }
    let report = fs::read_to_string(at.join("page.html")).unwrap();
    for part in ["8 paragraphs", "3; 3 are exact copies; 210 B of ", "a#3", "by the owner of this page"] {
        assert!(report.contains(part), "{part}");
    }
    let whole = "dedup in.jsonl -o near.jsonl --key-field key --unit paragraph --similarity 0.5";
    succeeds(at, whole, b"");
    let near = fs::read_to_string(at.join("near.jsonl")).unwrap();
    assert!(near.contains("last article") && !near.contains(NEARLY), "{near}");
    // All of them, the menu included.
    let outcome = nearprint(at, "dedup in.jsonl --unit line --min-tokens 0 --dry-run", b"");
    assert!(outcome.err.contains("12 lines, 5 removed"), "{}", outcome.err);
}

#[test]
fn paragraphs_are_known_to_later_runs() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (name, body) in [("one", "What was there on the first day."), ("two", "What came on the next day.")] {
        let page = serde_json::json!({ "text": format!("{body}\n\n{FOOTER}\n") });
        fs::write(at.join(format!("{name}.jsonl")), format!("{page}\n")).unwrap();
        succeeds(at, &format!("dedup {name}.jsonl -o {name}.out --unit paragraph --db seen.np"), b"");
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
    for (column, options) in [(views, ""), (large, "--keep-fields text,n")] {
        write_parquet(at, "in.parquet", vec![("text", column), ("n", numbers.clone())]);
        succeeds(at, &format!("dedup in.parquet -o out.parquet --unit paragraph {options}"), b"");
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
fn units_exclude_what_is_for_whole_documents() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), "{\"text\":\"a\"}\n").unwrap();
    fs::write(at.join("in.txt"), "a\n").unwrap();
    for (options, parts) in [
        ("in.jsonl --unit word", &["paragraph or line"][..]),
        ("in.jsonl --unit line --annotate", &["--unit", "--annotate"]),
        ("in.jsonl --unit line --add-fingerprint f", &["--unit", "--add-fingerprint"]),
        ("in.jsonl --unit line --keep longest", &["keep", "whole documents"]),
        ("in.txt --unit line", &["plain text has no fields"]),
    ] {
        fails(at, &format!("dedup {options} -o out"), b"", 2, parts);
    }
    assert!(!at.join("out").exists());
}
