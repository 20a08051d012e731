//! The fields that `dedup` writes, from outside.

use std::fs::{self, File};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, StringArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::formats::write_parquet;
use crate::cli::{fails, nearprint, succeeds};

fn read(at: &std::path::Path, name: &str) -> String {
    fs::read_to_string(at.join(name)).unwrap()
}

const OPTIONS: &str = "--key-field id --recipe chinese --fields id,title --add key=old --add text=text";

#[test]
fn documents_are_written_as_the_usual_script_does() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let page =
        r#"{"_id":{"$oid":"5f1"},"title":"A \u003c B","text":"<p>One <b>TWO</b> three four</p>","n":1}"#;
    let again = page.replace("5f1", "5f2");
    fs::write(at.join("in.jsonl"), format!("{page}\r\n{again}\n")).unwrap();
    let line = "dedup in.jsonl -o out.jsonl --key-field _id.$oid --recipe clean=html,nfc,lower --fields title,none \
                --add key=old_id --add text=content --add fingerprint=fingerprint";
    succeeds(at, line, b"");
    let out = fs::read_to_string(at.join("out.jsonl")).unwrap();
    let written: serde_json::Value = serde_json::from_str(out.trim_end()).unwrap();
    assert!(
        out.starts_with("{\"title\":\"A \\u003c B\",\"fingerprint\":") && out.ends_with("}\r\n"),
        "{out}"
    );
    assert_eq!(written["old_id"], "5f1");
    assert_eq!(written["content"], "one two three four");
    assert_eq!(written.as_object().unwrap().len(), 4);
    // With a similarity of texts, texts are compared that are not in the output.
    succeeds(at, &format!("{line} --similarity edit:0.9").replace("out.jsonl", "compared.jsonl"), b"");
    assert_eq!(fs::read_to_string(at.join("compared.jsonl")).unwrap(), out);
    fails(at, "dedup in.jsonl -o x --input-format lines --fields a", b"", 2, &["fields"]);
}

#[test]
fn regression_json_had_a_field_twice_or_none_at_all() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let records = "{\"id\":1,\"text\":\"one two three\"}\n{\"text\":\"four five six\",\"old\":2}\n";
    fs::write(at.join("in.jsonl"), records).unwrap();
    fails(at, "dedup in.jsonl -o x.jsonl --add key=id", b"", 2, &["in.jsonl:1: has a field \"id\" already"]);
    fails(
        at,
        "dedup in.jsonl -o x.jsonl --add key=old",
        b"",
        2,
        &["in.jsonl:2: has a field \"old\" already"],
    );
    let last = "dedup in.jsonl -o x.jsonl --add key=a --add text=b --add fingerprint=old";
    fails(at, last, b"", 2, &["in.jsonl:2: has a field \"old\" already"]);
    fails(at, "dedup in.jsonl -o x.jsonl --fields id", b"", 2, &["in.jsonl:2: has none of the fields id"]);
    succeeds(at, "dedup in.jsonl -o annotated.jsonl --annotate", b"");
    fails(at, "dedup annotated.jsonl -o x.jsonl --annotate", b"", 2, &["annotated.jsonl:1: has a field"]);
    // A field that is left out may be added again.
    succeeds(at, "dedup in.jsonl -o out.jsonl --fields text --add key=id", b"");
    let out = fs::read_to_string(at.join("out.jsonl")).unwrap();
    assert!(out.starts_with("{\"text\":\"one two three\",\"id\":\""), "{out}");
}

#[test]
fn columns_are_chosen_and_added() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows = [("7", "<p>One <b>TWO</b> three</p>", "\"a, b\""), ("8", "other words here", "c")];
    let csv: String = rows.iter().map(|(id, text, title)| format!("{id},{text},{title}\n")).collect();
    fs::write(at.join("in.csv"), format!("\u{feff}id,text,title\n{csv}")).unwrap();
    // A column that is left out may be added again.
    succeeds(at, &format!("dedup in.csv -o out.csv {OPTIONS}"), b"");
    let expected = "id,title,old,text\n7,\"a, b\",7,one two three\n8,c,8,other words here\n";
    assert_eq!(fs::read_to_string(at.join("out.csv")).unwrap(), expected);
    fails(at, "dedup in.csv -o x --fields id,none", b"", 2, &["no column \"none\""]);
    fails(at, "dedup in.csv -o x --add text=title", b"", 2, &["column \"title\" already"]);
    fails(at, "dedup in.csv -o x --fields id --add text=a --add key=a", b"", 2, &["column \"a\" already"]);

    let column = |at: usize| {
        let cells = rows.map(|row| [row.0, row.1, row.2][at].trim_matches('"'));
        Arc::new(StringArray::from(cells.to_vec())) as ArrayRef
    };
    let numbers = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let columns = vec![("id", column(0)), ("n", numbers), ("text", column(1)), ("title", column(2))];
    write_parquet(at, "in.parquet", columns);
    succeeds(at, &format!("dedup in.parquet -o out.parquet {OPTIONS}"), b"");
    let file = File::open(at.join("out.parquet")).unwrap();
    let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let batch = reader.next().unwrap().unwrap();
    let names: Vec<_> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["id", "title", "old", "text"]);
    let cells: Vec<_> = batch.columns().iter().map(|column| column.as_string::<i32>().value(0)).collect();
    assert_eq!(cells, ["7", "a, b", "7", "one two three"]);
    assert_eq!(batch.num_rows(), 2);
}

#[test]
fn a_finished_run_with_chosen_fields_is_recognized() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let page = |n: u32| {
        let text: String = (0..60).map(|word| format!("w{} ", n * 100 + word)).collect();
        format!("{{\"id\":\"{n}\",\"text\":\"{text}\",\"more\":{n}}}\n")
    };
    fs::write(at.join("in.jsonl"), (0..80).map(page).collect::<String>()).unwrap();
    let line = "dedup in.jsonl -o out.jsonl --db seen.np --key-field id --fields id --add key=old";
    let expected: String = (0..80).map(|n| format!("{{\"id\":\"{n}\",\"old\":\"{n}\"}}\n")).collect();
    for again in ["80 records read: 80 kept", " UTC: 80 records read: 80 kept"] {
        let outcome = nearprint(at, line, b"");
        assert!(outcome.err.contains(again), "{}", outcome.err);
        assert_eq!(fs::read_to_string(at.join("out.jsonl")).unwrap(), expected);
    }
    // Other fields are another job. It would find all documents again, and empty the output.
    let other = line.replace("--fields id", "--fields more");
    let outcome = nearprint(at, &other, b"");
    assert!(outcome.err.contains("already complete since 2"), "{}", outcome.err);
    assert_eq!(fs::read_to_string(at.join("out.jsonl")).unwrap(), expected);
    fails(at, &other.replace("out.jsonl", "other.jsonl"), b"", 2, &["into out.jsonl: its 80 documents"]);
    assert!(!at.join("other.jsonl").exists());
}

/// The hint was to reject every document.
#[test]
fn regression_a_misspelt_field_is_answered_by_the_fields_there_are() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), "{\"id\":1,\"body\":\"x y z\"}\n{\"id\":2}\n").unwrap();
    fs::write(at.join("in.csv"), "id,body\n1,x\n").unwrap();
    write_parquet(at, "in.parquet", vec![("body", Arc::new(StringArray::from(vec!["x"])) as ArrayRef)]);
    for (input, there) in [
        ("in.jsonl", "in.jsonl:1: no field \"text\"; there are \"body\", \"id\""),
        ("in.csv", "in.csv:1: no column named \"text\"; there are \"id\", \"body\""),
        ("in.parquet", "in.parquet: no column named \"text\"; there are \"body\""),
    ] {
        let words = [there, "hint: `--text-field` and `--key-field` name the fields"];
        fails(at, &format!("dedup {input} -o out"), b"", 5, &words);
    }
    let later = "in.jsonl:2: no field \"body\"; there are \"id\"";
    fails(at, "dedup in.jsonl -o out --text-field body", b"", 5, &[later, "--rejects"]);
    assert!(!at.join("out").exists());
}

/// A misspelt name beside a right one was silent.
#[test]
fn regression_a_misspelt_chosen_field_is_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let records = "{\"id\":1,\"text\":\"one two three four\"}\n\
                   {\"id\":2,\"text\":\"five six seven eight\",\"rare\":{\"deep\":null}}\n";
    fs::write(at.join("in.jsonl"), records).unwrap();
    fs::write(at.join("none.jsonl"), "").unwrap();
    for (line, note) in [
        ("in.jsonl -o out.jsonl --fields id,titel,rare,deep", "fields: no written document has titel, deep"),
        ("in.jsonl -o out.csv --fields id,titel", "fields: no written document has titel"),
        ("in.jsonl -o shards/ --shards 2 --fields id,titel", "fields: no written document has titel"),
    ] {
        let outcome = nearprint(at, &format!("dedup {line}"), b"");
        assert!(outcome.code == 0 && outcome.err.contains(note), "{line}: {}", outcome.err);
    }
    for line in ["in.jsonl -o other.jsonl --fields id,rare", "none.jsonl -o none.out --fields id,titel"] {
        let outcome = nearprint(at, &format!("dedup {line}"), b"");
        assert!(outcome.code == 0 && !outcome.err.contains("no written document"), "{line}: {}", outcome.err);
    }
}

#[test]
fn documents_without_a_text_are_errors_kept_or_dropped() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let [first, missing, null, second] = [
        "{\"id\":1,\"text\":\"one two three four five\"}\n",
        "{\"id\":2}\n",
        "{\"id\":3,\"text\":null}\n",
        "{\"id\":4,\"text\":\"six seven eight nine ten\"}\n",
    ];
    fs::write(at.join("in.jsonl"), [first, missing, null, null, second].concat()).unwrap();
    let texts = StringArray::from(vec![Some("one two three four five"), None, Some("six seven eight nine")]);
    write_parquet(at, "in.parquet", vec![("text", Arc::new(texts) as ArrayRef)]);
    let line = "dedup in.jsonl -o out.jsonl --key-field id";
    for options in ["", "--missing error", "--keep longest"] {
        fails(at, &format!("{line} {options}"), b"", 5, &["in.jsonl:2: no field \"text\""]);
    }
    fails(at, "dedup in.parquet -o out.parquet", b"", 5, &["null, and not a string"]);
    for keep in ["first", "longest"] {
        let line = format!("{line} --keep {keep} --db {keep}.np");
        let kept = nearprint(at, &format!("{line} --missing keep"), b"");
        assert!(kept.err.contains("5 records read: 5 kept") && kept.err.contains("3 records without words"));
        assert_eq!(read(at, "out.jsonl"), [first, missing, null, null, second].concat());
        // Another job, though of the same inputs.
        let line = format!("{line} --missing skip --rejects rest.jsonl");
        fs::remove_dir_all(at.join(format!("{keep}.np"))).unwrap();
        let dropped = nearprint(at, &line, b"");
        assert_eq!(dropped.code, 0, "{}", dropped.err);
        for part in [
            "5 records read: 2 kept, 0 duplicates",
            "skipped: 3 of too few words or features, or without a text",
        ] {
            assert!(dropped.err.contains(part), "{part}: {}", dropped.err);
        }
        assert_eq!(read(at, "out.jsonl"), [first, second].concat());
        assert_eq!(read(at, "rest.jsonl"), [missing, null, null].concat());
    }
    succeeds(at, "trim in.jsonl -o units.jsonl --by line --missing keep", b"");
    assert_eq!(read(at, "units.jsonl"), [first, missing, null, null, second].concat());
    // Without rejects, too.
    let dropped = nearprint(at, "dedup in.parquet -o out.parquet --missing skip", b"");
    assert!(dropped.code == 0 && dropped.err.contains("3 records read: 2 kept"), "{}", dropped.err);
    let kept = nearprint(at, "dedup in.parquet -o out.parquet --missing keep", b"");
    assert!(kept.code == 0 && kept.err.contains("3 records read: 3 kept"), "{}", kept.err);
}

#[test]
fn a_delimiter_is_found_said_and_kept() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let words = "one two three four five six seven eight nine ten";
    let table = format!("id;text\n1;\"{words}, more\"\n2;other words\n3;\"{words}, more\"\n");
    fs::write(at.join("in.csv"), &table).unwrap();
    let found = nearprint(at, "dedup in.csv -o out.csv --key-field id --summary counts.json", b"");
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(found.err.contains("in.csv: fields separated by ;\n"), "{}", found.err);
    assert_eq!(
        read(at, "out.csv"),
        table.lines().take(3).map(|line| format!("{line}\n")).collect::<String>()
    );
    let counts: serde_json::Value = serde_json::from_str(&read(at, "counts.json")).unwrap();
    assert_eq!(counts["notes"], serde_json::json!(["in.csv: fields separated by ;"]));

    let bars = table.replace(';', "|");
    fs::write(at.join("evals.csv"), &bars).unwrap();
    for command in ["decontaminate", "dedup"] {
        let line = format!("{command} in.csv --against evals.csv -o clean.csv");
        succeeds(at, &line, b"");
        assert_eq!(read(at, "clean.csv").lines().count(), if command == "dedup" { 1 } else { 2 });
        fs::write(at.join("lines.jsonl"), "{\"text\":\"a\"}\n").unwrap();
        let line = format!("{command} lines.jsonl --against evals.csv -o lines --delimiter bar");
        succeeds(at, &line, b"");
    }
    succeeds(at, "create seen.np --recipe minhash", b"");
    for (line, input) in [
        ("fingerprint --input-format csv --delimiter pipe", bars.as_bytes()),
        ("tune in.csv --delimiter semicolon", b""),
        ("query seen.np in.csv --delimiter ;", b""),
        ("dedup - --input-format csv --delimiter | -o -", bars.as_bytes()),
    ] {
        succeeds(at, line, input);
        let (start, given) = line.split_once("--delimiter ").unwrap();
        let (_, end) = given.split_at(given.find(' ').unwrap_or(given.len()));
        fails(at, &format!("{start}--delimiter :{end}"), input, 5, &["no column named \"text\""]);
    }
    let found = nearprint(at, "query seen.np in.csv", b"");
    assert!(found.code == 0 && found.err.contains("in.csv: fields separated by ;\n"), "{}", found.err);
    for line in ["dedup lines.jsonl -o lines", "fingerprint lines.jsonl", "query seen.np lines.jsonl"] {
        fails(at, &format!("{line} --delimiter ;"), b"", 2, &["a delimiter is for CSV and TSV"]);
    }
    fails(at, "dedup in.csv -o out --delimiter t", b"", 2, &["write a tab as `tab`"]);
}

/// They were empty lines, which readers skip.
#[test]
fn regression_one_column_keeps_records_without_a_value() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.csv"), "text,id\nsome,\nother,\n").unwrap();
    for output in ["out.csv", "out.tsv"] {
        succeeds(at, &format!("dedup in.csv -o {output} --fields id"), b"");
        assert_eq!(read(at, output), "id\n\"\"\n\"\"\n");
    }
}
