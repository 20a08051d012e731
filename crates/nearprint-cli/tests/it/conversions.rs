//! Outputs whose names denote another format than that of the inputs: every value comes out as it went in, by other
//! readers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, UInt32Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array,
    Float64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray, StructArray,
    Time64MicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::value::RawValue;

use super::formats::write_parquet;
use crate::cli::{fails, nearprint, succeeds};
use crate::dedup::{documents, lines, read};
use crate::dedup_killed::cut_off;

/// Strings that formats have to quote or escape.
const TEXTS: [&str; 12] = [
    "",
    " ",
    "plain",
    "a,b;c\td|e",
    "\"quoted\" \"\"",
    "line\nfeed\r\nand return\r",
    "\u{feff}mark",
    "naïve \u{1f600} \u{65e5}\u{672c}",
    "null",
    "\\n \\u0041",
    "\u{0}\u{1f}\u{7f}\u{2028}",
    "'=1+1",
];
/// Numbers whose digits readers like to change.
const NUMBERS: [&str; 14] = [
    "0",
    "-0",
    "-0.0",
    "1.50",
    "1e400",
    "-1.5E+10",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.1000000000000000055511151231257827",
    "123456789012345678901234567890.123456789",
    "1e-7",
];

/// Members of a record, as their JSON.
type Members = BTreeMap<&'static str, String>;

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Records with all values above, in many combinations; some lack members.
fn records(count: usize) -> Vec<Members> {
    let pick = |all: &[&str], at: usize| all[at % all.len()].to_string();
    let record = |at: usize| {
        let mut members = Members::from([
            ("id", at.to_string()),
            ("text", json(&format!("document {at} {}", TEXTS[at % TEXTS.len()]))),
            ("a string", json(&pick(&TEXTS, at / 3))),
            ("number", pick(&NUMBERS, at)),
            ("\"odd\", name", ["true", "false", "null"][at % 3].into()),
            ("float", ["0.25", "-1e300", "7", "null"][at % 4].into()),
            ("large", ["18446744073709551615", "0"][at % 2].into()),
            ("mixed", ["1", "\"1\"", "true", "null", "2.50"][at % 5].into()),
        ]);
        if at.is_multiple_of(7) {
            members.remove("a string");
            members.remove("float");
        }
        members
    };
    (0..count).map(record).collect()
}

fn jsonl(records: &[Members]) -> String {
    let line = |members: &Members| {
        let members: Vec<String> =
            members.iter().map(|(name, value)| format!("{}: {value}", json(name))).collect();
        format!("{{{}}}\n", members.join(", "))
    };
    records.iter().map(line).collect()
}

/// The content of a value in a cell: of a string itself, of null nothing.
fn content(value: Option<&String>) -> String {
    match value {
        None => String::new(),
        Some(value) if value == "null" => String::new(),
        Some(value) if value.starts_with('"') => serde_json::from_str(value).unwrap(),
        Some(value) => value.clone(),
    }
}

/// The records of a table, by the csv crate.
fn table(bytes: &[u8], delimiter: u8) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(bytes);
    let names = reader.headers().unwrap().clone();
    let row = |row: csv::Result<csv::StringRecord>| {
        names.iter().map(String::from).zip(row.unwrap().iter().map(String::from)).collect()
    };
    reader.records().map(row).collect()
}

fn rows(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let mut batches = reader.build().unwrap();
    let rows = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none(), "few rows are one batch");
    rows
}

/// Options with which every text is kept.
const ALL: &str = "--recipe exact --key-field id";

#[test]
fn json_lines_keep_every_value_in_tables_and_back() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let records = records(420);
    fs::write(at.join("in.jsonl"), jsonl(&records)).unwrap();
    for (name, delimiter) in [("out.csv", b','), ("out.tsv", b'\t'), ("out.csv.gz", b',')] {
        let out = nearprint(at, &format!("dedup in.jsonl -o {name} {ALL} --add key=key"), b"");
        assert_eq!(out.code, 0, "{}", out.err);
        assert!(out.err.contains("columns by the first 420 records: "), "{}", out.err);
        let mut bytes = fs::read(at.join(name)).unwrap();
        if name.ends_with(".gz") {
            let mut plain = Vec::new();
            flate2::read::MultiGzDecoder::new(&*bytes).read_to_end(&mut plain).unwrap();
            bytes = plain;
        }
        let table = table(&bytes, delimiter);
        assert_eq!(table.len(), records.len());
        for (row, members) in table.iter().zip(&records) {
            assert_eq!(row["key"], members["id"]);
            for name in records[1].keys() {
                assert_eq!(row[*name], content(members.get(name)), "{name}");
            }
        }
    }
    // Back again: strings with the same digits.
    succeeds(at, &format!("dedup out.csv -o back.jsonl {ALL}"), b"");
    for (line, members) in read(at, "back.jsonl").lines().zip(&records) {
        let back: BTreeMap<String, String> = serde_json::from_str(line).unwrap();
        for name in records[1].keys() {
            assert_eq!(back[*name], content(members.get(name)));
        }
    }
    succeeds(at, &format!("dedup back.jsonl -o again.csv {ALL}"), b"");
    let plain = succeeds(at, &format!("dedup in.jsonl -o plain.csv {ALL} --add key=key"), b"");
    assert_eq!((read(at, "again.csv"), plain), (read(at, "plain.csv"), String::new()));
}

#[test]
fn json_lines_keep_every_value_in_parquet_and_back() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let records = records(420);
    fs::write(at.join("in.jsonl"), jsonl(&records)).unwrap();
    succeeds(at, &format!("dedup in.jsonl -o out.parquet {ALL}"), b"");
    let rows = rows(&at.join("out.parquet"));
    let column = |name: &str| rows.column_by_name(name).unwrap().clone();
    assert_eq!(rows.num_rows(), records.len());
    for (row, members) in records.iter().enumerate() {
        let value = |name: &str| members.get(name).filter(|value| *value != "null");
        let strings = |name: &str| {
            let column = column(name);
            column.is_valid(row).then(|| column.as_string::<i32>().value(row).to_string())
        };
        assert_eq!(column("id").as_primitive::<Int64Type>().value(row), row as i64);
        for name in ["text", "a string", "number", "mixed"] {
            assert_eq!(strings(name), value(name).map(|value| content(Some(value))), "{name}");
        }
        let floats = column("float");
        let float = floats.is_valid(row).then(|| floats.as_primitive::<Float64Type>().value(row));
        assert_eq!(float, value("float").map(|value| value.parse().unwrap()));
        let large = column("large").as_primitive::<UInt64Type>().value(row);
        assert_eq!(Some(large.to_string()), value("large").cloned());
        let flags = column("\"odd\", name");
        let flag = flags.is_valid(row).then(|| flags.as_boolean().value(row).to_string());
        assert_eq!(flag, value("\"odd\", name").cloned());
    }
    succeeds(at, &format!("dedup out.parquet -o back.jsonl {ALL}"), b"");
    for (line, members) in read(at, "back.jsonl").lines().zip(&records) {
        let back: BTreeMap<String, &RawValue> = serde_json::from_str(line).unwrap();
        for name in ["id", "text", "a string", "large", "\"odd\", name"] {
            let expected = members.get(name).map_or("null", |value| value);
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(back[name].get()).unwrap(),
                serde_json::from_str::<serde_json::Value>(expected).unwrap()
            );
        }
        assert_eq!(
            serde_json::from_str::<Option<String>>(back["number"].get()).unwrap(),
            Some(content(members.get("number")))
        );
    }
}

/// A table with columns of many types, two rows each: a value, and null.
fn types(at: &Path) -> Vec<(&'static str, &'static str)> {
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("a\"b"), None]);
    lists.append_null();
    let mut maps = MapBuilder::new(None, StringBuilder::new(), UInt32Builder::new());
    maps.keys().append_value("k");
    maps.values().append_value(7);
    maps.append(true).unwrap();
    maps.append(false).unwrap();
    let object = StructArray::from(vec![(
        Arc::new(arrow_schema::Field::new("inner", arrow_schema::DataType::Float64, true)),
        Arc::new(Float64Array::from(vec![Some(1.5), None])) as ArrayRef,
    )]);
    let dictionary: DictionaryArray<Int32Type> = [Some("d"), None].into_iter().collect();
    let zone = TimestampMillisecondArray::from(vec![Some(1_700_000_000_123), None]).with_timezone("+02:00");
    let decimal = Decimal128Array::from(vec![Some(-12_340), None]).with_precision_and_scale(38, 3).unwrap();
    let columns: Vec<(&str, ArrayRef, &str)> = vec![
        ("text", Arc::new(StringArray::from(vec!["one", "two"])), "\"one\""),
        ("large", Arc::new(LargeStringArray::from(vec![Some("l"), None])), "\"l\""),
        ("view", Arc::new(StringViewArray::from(vec![Some("v"), None])), "\"v\""),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None])), "true"),
        ("unsigned", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None])), "18446744073709551615"),
        ("f32", Arc::new(Float32Array::from(vec![Some(0.1), None])), "0.1"),
        ("infinite", Arc::new(Float64Array::from(vec![Some(f64::INFINITY), None])), "null"),
        ("date", Arc::new(Date32Array::from(vec![Some(-1), None])), "\"1969-12-31\""),
        (
            "time",
            Arc::new(Time64MicrosecondArray::from(vec![Some(3_661_000_001), None])),
            "\"01:01:01.000001\"",
        ),
        (
            "stamp",
            Arc::new(TimestampNanosecondArray::from(vec![Some(1), None])),
            "\"1970-01-01T00:00:00.000000001\"",
        ),
        ("zone", Arc::new(zone), "\"2023-11-14T22:13:20.123Z\""),
        ("decimal", Arc::new(decimal), "-12.340"),
        ("dictionary", Arc::new(dictionary), "\"d\""),
        ("list", Arc::new(lists.finish()), "[\"a\\\"b\",null]"),
        ("map", Arc::new(maps.finish()), "{\"k\":7}"),
        ("object", Arc::new(object), "{\"inner\":1.5}"),
        ("binary", Arc::new(BinaryArray::from(vec![Some(&b"b"[..]), None])), ""),
    ];
    let names = columns.iter().map(|(name, _, expected)| (*name, *expected)).collect();
    let columns = columns.into_iter().map(|(name, column, _)| (name, column));
    write_parquet(at, "in.parquet", columns.collect());
    names
}

#[test]
fn parquet_keeps_every_value_in_other_formats() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let expected = types(at);
    let names: Vec<&str> = expected.iter().map(|(name, _)| *name).filter(|name| *name != "binary").collect();
    let fields = names.join(",");
    // Before the work, each column that cannot be written.
    for (line, why) in [
        ("-o out.jsonl", "column \"binary\" has bytes"),
        ("-o out.csv --nested json", "column \"binary\" has bytes"),
        ("-o out.csv --fields text,list", "column \"list\" has an array in each row; --nested json"),
        ("-o out.tsv --fields text,object", "column \"object\" has an object"),
        ("-o out.csv --fields text,none", "no column \"none\""),
    ] {
        fails(at, &format!("dedup in.parquet {line}"), b"", 2, &[why]);
    }
    succeeds(at, &format!("dedup in.parquet -o out.jsonl --fields {fields}"), b"");
    let out = read(at, "out.jsonl");
    let rows: Vec<BTreeMap<String, &RawValue>> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2);
    for (name, value) in expected.iter().filter(|(name, _)| *name != "binary") {
        assert_eq!(rows[0][*name].get(), *value, "{name}");
        let second = match *name {
            "text" => "\"two\"",
            "object" => "{\"inner\":null}",
            _ => "null",
        };
        assert_eq!(rows[1][*name].get(), second, "{name}");
    }
    succeeds(at, &format!("dedup in.parquet -o out.csv --nested json --fields {fields}"), b"");
    let table = table(&fs::read(at.join("out.csv")).unwrap(), b',');
    for (name, value) in expected.iter().filter(|(name, _)| *name != "binary") {
        assert_eq!(table[0][*name], content(Some(&value.to_string())), "{name}");
    }
}

#[test]
fn a_record_that_is_no_row_is_a_bad_one() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let start: String = (0..10_000)
        .map(|at| format!("{{\"id\": {at}, \"text\": \"number {at} of many\", \"n\": {}}}\n", at % 10))
        .collect();
    let later = [
        (
            r#"{"id": 1, "text": "later a", "n": 1, "more": 2}"#,
            "field \"more\" is no column: the first 10000 records",
        ),
        (r#"{"id": 2, "text": "later b", "n": [1]}"#, "field \"n\" is an array; --nested json"),
        (
            r#"{"id": 3, "text": "later c", "n": 1.5}"#,
            "field \"n\" is 1.5, but its column has 64-bit integers",
        ),
        (r#"{"id": 4.5, "text": "later d"}"#, "field \"id\" is 4.5"),
    ];
    let more = "{\"text\": \"and the last one\", \"n\": 3}\n";
    let flat = |line: &str| line.replace("[1]", "{\"a\": 1}");
    for (at_line, (bad, why)) in later.iter().enumerate() {
        fs::write(at.join("in.jsonl"), format!("{start}{bad}\n{more}")).unwrap();
        for output in ["out.csv", "out.parquet"] {
            if at_line >= 2 && output == "out.csv" {
                continue;
            }
            fails(at, &format!("dedup in.jsonl -o {output}"), b"", 5, &["in.jsonl:10001: ", why]);
            assert!(!at.join(output).exists());
        }
    }
    let all: String = later.iter().map(|(line, _)| format!("{}\n", flat(line))).collect();
    fs::write(at.join("in.jsonl"), format!("{start}{all}{more}")).unwrap();
    // Twice, as by rank; and without a file the counts are the same.
    for options in [
        "-o out.parquet",
        "-o out.parquet --keep last",
        "--dry-run -o out.parquet",
        "-o out.parquet --length 2",
    ] {
        let (command, counts) = match options.contains("length") {
            true => {
                ("trim", "10005 records read: 10001 kept, 0 of them shortened, 10001 unchanged; 4 rejected")
            }
            false => ("dedup", "10005 records read: 10001 kept"),
        };
        let line = format!("{command} in.jsonl {options} --rejects bad.jsonl --recipe exact");
        let out = nearprint(at, &line, b"");
        assert_eq!(out.code, 0, "{}", out.err);
        assert!(out.err.contains(counts), "{options}: {}", out.err);
        if !options.contains("dry") {
            assert_eq!(read(at, "bad.jsonl"), all);
            fs::remove_file(at.join("bad.jsonl")).unwrap();
        }
    }
    fs::write(at.join("evals.jsonl"), "{\"text\": \"a b c d e f g h i j k l m n\"}\n").unwrap();
    let line = "decontaminate in.jsonl --against evals.jsonl -o clean.parquet --rejects bad.jsonl --annotate";
    let out = nearprint(at, line, b"");
    assert!(out.code == 0 && out.err.contains(", 4 rejected\n"), "{}", out.err);
    assert_eq!(read(at, "bad.jsonl"), all);
    // Chosen columns have no others; a nested value is text if that is said.
    succeeds(at, "dedup in.jsonl -o chosen.csv --fields n,text,none --nested json --recipe exact", b"");
    let table = table(&fs::read(at.join("chosen.csv")).unwrap(), b',');
    assert_eq!(table.len(), 10_005);
    assert_eq!((&*table[10_001]["n"], &*table[10_001]["none"]), ("{\"a\": 1}", ""));
    assert!(read(at, "chosen.csv").starts_with("n,text,none\n"));
}

#[test]
fn a_name_decides_the_format_of_every_output() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let line = |id: u32, text: &str| format!("{{\"id\": {id}, \"text\": \"{text}\"}}\n");
    let words = "one two three four five six seven eight nine ten";
    let all = [line(1, words), line(2, words), line(3, "other words")].concat();
    fs::create_dir(at.join("in")).unwrap();
    fs::write(at.join("in/a.jsonl"), &all).unwrap();
    fs::write(at.join("in/b.jsonl.gz"), {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(line(4, "more words").as_bytes()).unwrap();
        encoder.finish().unwrap()
    })
    .unwrap();
    let annotated =
        "--key-field id --annotate --group-size --add key=old --add text=clean --add fingerprint=print";
    succeeds(at, &format!("dedup in/a.jsonl -o all.csv {annotated}"), b"");
    let table_of = |name: &str| table(&fs::read(at.join(name)).unwrap(), b',');
    let second = &table_of("all.csv")[1];
    let of = |name: &str| second[name].as_str();
    assert_eq!(
        (of("duplicate_of"), of("group"), of("group_size"), of("old"), of("copy")),
        ("1", "1", "2", "2", "true")
    );
    assert!(of("clean") == words && of("print").len() >= 16);
    fails(at, "dedup in/a.jsonl -o all.csv --add key=text", b"", 2, &["there is a column \"text\" already"]);

    // Folders: their names decide, or the inputs.
    succeeds(at, "dedup in -o parts.csv/", b"");
    assert_eq!(read(at, "parts.csv/a.csv"), format!("id,text\n1,{words}\n3,other words\n"));
    assert!(at.join("parts.csv/b.csv.gz").is_file());
    succeeds(at, "dedup in -o parts.parquet --shards 2", b"");
    assert_eq!(rows(&at.join("parts.parquet/part-00001-of-00002.parquet")).num_rows(), 1);
    succeeds(at, "dedup in -o parts/", b"");
    assert_eq!(read(at, "parts/a.jsonl"), [line(1, words), line(3, "other words")].concat());
    // No known ending, and standard output, have the format of the inputs.
    for output in ["kept", "kept.txt", "kept.out.gz"] {
        succeeds(at, &format!("dedup in/a.jsonl -o {output}"), b"");
    }
    assert_eq!(read(at, "kept"), read(at, "parts/a.jsonl"));
    assert_eq!(succeeds(at, "dedup in/a.jsonl -o -", b""), read(at, "kept"));
    for name in ["kept.jl", "kept.ldjson", "kept.json"] {
        succeeds(at, &format!("dedup all.csv -o {name} --fields id"), b"");
        assert_eq!(read(at, name), "{\"id\":\"1\"}\n{\"id\":\"3\"}\n");
    }
    // Texts of documents that lose something.
    fs::write(
        at.join("pages.csv"),
        "text;id\n\"menu of this page here\n\none two\";1\n\"menu of this page here\n\nthree four\";2\n",
    )
    .unwrap();
    succeeds(at, "trim pages.csv -o pages.jsonl", b"");
    let last = read(at, "pages.jsonl").lines().last().map(String::from);
    assert_eq!(last.as_deref(), Some("{\"text\":\"three four\",\"id\":\"2\"}"));
    succeeds(at, "trim pages.jsonl -o pages.tsv --key-field id", b"");
    assert_eq!(read(at, "pages.tsv").lines().last(), Some("three four\t2"));
    // Names that are data.
    let wide = |at: u32| {
        format!(
            "{{\"text\": \"a {at}\", {}}}\n",
            (0..101).map(|n| format!("\"n{at}-{n}\": 1")).collect::<Vec<_>>().join(", ")
        )
    };
    fs::write(at.join("wide.jsonl"), (0..100).map(wide).collect::<String>()).unwrap();
    fails(at, "dedup wide.jsonl -o wide.csv", b"", 2, &["10101 fields", "--fields"]);
    succeeds(at, "dedup wide.jsonl -o wide.csv --fields text", b"");
    // Names of columns that are there twice, and tables of no record.
    fs::write(at.join("twice.csv"), "text,a,a\n1,2,3\n").unwrap();
    fails(at, "dedup twice.csv -o twice.jsonl", b"", 2, &["two columns have the name \"a\""]);
    for (name, empty) in [("empty.jsonl", ""), ("empty.csv", "text,b\n")] {
        fs::write(at.join(name), empty).unwrap();
        for output in ["none.csv", "none.tsv", "none.jsonl", "none.parquet"] {
            succeeds(at, &format!("dedup {name} -o {output}"), b"");
            succeeds(at, &format!("dedup {output} -o rest"), b"");
        }
    }
}

#[test]
fn tables_in_other_encodings_are_converted_to_utf_8() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let text = "Съешь же ещё этих мягких французских булок, да выпей чаю";
    let table = format!("имя|text\n\"а|б\"|\"{text}\"\n");
    let bytes: Vec<u8> = table
        .chars()
        .map(|c| match c {
            'ё' => 0xb8,
            'А'..='я' => (u32::from(c) - 0x410 + 0xc0) as u8,
            c => c as u8,
        })
        .collect();
    fs::write(at.join("in.csv"), bytes).unwrap();
    for output in ["out.jsonl", "out.tsv", "out.parquet"] {
        succeeds(at, &format!("dedup in.csv -o {output} --encoding windows-1251"), b"");
    }
    assert_eq!(read(at, "out.jsonl"), format!("{{\"имя\":\"а|б\",\"text\":\"{text}\"}}\n"));
    assert_eq!(read(at, "out.tsv"), format!("имя\ttext\nа|б\t{text}\n"));
    assert_eq!(rows(&at.join("out.parquet")).column(1).as_string::<i32>().value(0), text);
}

#[test]
fn a_killed_run_with_an_output_in_another_format_goes_on() {
    let documents = documents(26_000, 9);
    let all = lines(&documents);
    for output in ["out.csv", "out.tsv.gz", "out.parquet"] {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        let line = format!(
            "dedup - -o {output} --nested json --key-field id -k 3 --recipe width=64 --annotate --db seen.np"
        );
        succeeds(at, &line.replace("seen", "whole"), all.as_bytes());
        let whole = fs::read(at.join(output)).unwrap();
        fs::remove_file(at.join(output)).unwrap();
        cut_off(at, &line, &documents[..15_000]);
        let again = nearprint(at, &line, all.as_bytes());
        assert_eq!(again.code, 0, "{}", again.err);
        assert!(again.err.contains("an interrupted run processed"), "{}", again.err);
        assert!(fs::read(at.join(output)).unwrap() == whole, "{output}");
        let again = nearprint(at, &line, all.as_bytes());
        assert!(again.code == 0 && again.err.contains("already complete"), "{}", again.err);
    }
}

#[test]
fn exported_rows_are_a_table_that_is_built_again() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows: String = (1..)
        .zip(TEXTS.iter().filter(|key| !key.is_empty()))
        .map(|(id, key)| format!("{{\"fingerprint\": \"{id}\", \"key\": {}}}\n", json(key)))
        .collect();
    succeeds(at, "build db - --store keys --input-format jsonl", rows.as_bytes());
    succeeds(at, "export db -o rows.csv", b"");
    let keys: BTreeSet<String> = table(&fs::read(at.join("rows.csv")).unwrap(), b',')
        .into_iter()
        .map(|mut row| row.remove("key").unwrap())
        .collect();
    assert_eq!(keys, TEXTS[1..].iter().map(|key| (*key).to_string()).collect());
    succeeds(at, "build copy rows.csv --store keys", b"");
    assert_eq!(succeeds(at, "export copy", b""), succeeds(at, "export db", b""));
    assert_eq!(succeeds(at, "export copy --format csv", b""), read(at, "rows.csv"));
    for name in ["rows.csv.gz", "rows.tsv.zst", "rows.jsonl.gz"] {
        succeeds(at, &format!("export db -o {name}"), b"");
        let head = fs::read(at.join(name)).unwrap();
        assert!(head.starts_with(&[0x1f, 0x8b]) || head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]), "{name}");
        succeeds(at, &format!("build {name}.np {name} --store keys"), b"");
        assert_eq!(succeeds(at, &format!("export {name}.np"), b""), succeeds(at, "export db", b""), "{name}");
    }
    fails(at, "export db -o rows.npy.gz", b"", 2, &["gzip"]);
}

#[test]
fn regression_texts_within_columns_of_parquet_stayed_whole_in_other_formats() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let footer = "All rights are reserved by the owner of these pages and by nobody else in the whole world.";
    let texts = [format!("{footer}\n\nOne."), format!("{footer}\n\nTwo."), "Three.".to_string()];
    let field = Arc::new(arrow_schema::Field::new("text", arrow_schema::DataType::Utf8, true));
    let strings = Arc::new(StringArray::from_iter_values(&texts)) as ArrayRef;
    let meta = Arc::new(StructArray::from(vec![(field, strings)])) as ArrayRef;
    write_parquet(at, "in.parquet", vec![("meta", meta)]);
    succeeds(at, "trim in.parquet -o out.jsonl --text-field meta.text", b"");
    succeeds(at, "trim in.parquet -o out.csv --text-field meta.text --nested json", b"");
    let lines = fs::read_to_string(at.join("out.jsonl")).unwrap();
    assert!(lines.ends_with("{\"meta\":{\"text\":\"Two.\"}}\n{\"meta\":{\"text\":\"Three.\"}}\n"), "{lines}");
    let table = fs::read_to_string(at.join("out.csv")).unwrap();
    assert!(
        table.ends_with("\"{\"\"text\"\":\"\"Two.\"\"}\"\n\"{\"\"text\"\":\"\"Three.\"\"}\"\n"),
        "{table}"
    );
}
