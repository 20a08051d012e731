//! Records as other programs write them: their oddities, their shards, their columns, and what is said of bad ones.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::ListBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, LargeStringArray, ListArray, NullArray,
    RecordBatch, StringArray, StringViewArray, StructArray, UInt64Array,
};
use arrow_schema::{DataType, Field};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::cli::{duplicates, fails, nearprint, succeeds};
use crate::formats::write_parquet;

const QUESTION: &str =
    "A farmer has fifteen sheep and all but eight of them die in winter; how many are left in spring?";

fn write(at: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = at.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn read(at: &Path, name: &str) -> String {
    fs::read_to_string(at.join(name)).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn regression_what_python_writes_into_json_is_read() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let odd =
        format!(r#"{{"k":"\ud83d","text":"\ud83d {QUESTION} \udc00","n":[NaN,-Infinity],"o":"\udfff"}}"#);
    let other = r#"{"k":"b","text":"other words in it","n":Infinity,"o":""}"#;
    write(at, "l.jsonl", format!("{odd}\n{other}\n"));
    write(at, "a.json", format!("[{odd},\n {other}]"));
    let warned = |err: &str| err.contains("escapes of half a character");
    for (input, other_input) in [("l.jsonl", "a.json"), ("a.json", "l.jsonl")] {
        let line = format!("dedup {input} -o out.jsonl --key-field k --keep max:n --duplicates d.tsv");
        let done = nearprint(at, &line.replace(" --keep max:n", ""), b"");
        assert!(done.code == 0 && warned(&done.err), "{input}: {}", done.err);
        let out = read(at, "out.jsonl");
        assert_eq!(out, format!("{odd}\n{other}\n"), "{input}");
        let kept = nearprint(at, &format!("{line} --fields k,n"), b"");
        assert_eq!(kept.code, 5, "an array ranks nothing: {}", kept.err);
        succeeds(at, &format!("dedup {input} -o out.jsonl --fields k,n"), b"");
        let out = read(at, "out.jsonl");
        assert_eq!(
            out, "{\"k\":\"\\ud83d\",\"n\":[NaN,-Infinity]}\n{\"k\":\"b\",\"n\":Infinity}\n",
            "{input}"
        );
        let printed = nearprint(at, &format!("fingerprint {input} --key-field k"), b"");
        assert!(printed.out.contains("\t\u{fffd}\n") && warned(&printed.err), "{input}: {}", printed.err);
        let line = format!("decontaminate {input} --against {input} -o clean.jsonl");
        let cleaned = nearprint(at, &line, b"");
        assert!(cleaned.err.contains("2 records read: 1 kept, 1 left out"), "{input}: {}", cleaned.err);
        assert_eq!(cleaned.err.matches("escapes of half a character").count(), 2, "{input}: {}", cleaned.err);
        let against = nearprint(at, &format!("dedup {input} --against {other_input} -o new.jsonl"), b"");
        assert!(against.err.contains("2 records read: 0 kept"), "{input}: {}", against.err);
        let tuned = nearprint(at, &format!("tune {input} --key-field k"), b"");
        assert!(tuned.err.contains("nothing to learn from"), "{input}: {}", tuned.err);
    }
}

#[test]
fn regression_chosen_fields_of_a_record_with_an_invalid_byte_are_written() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "in.jsonl", b"{\"a\":\"\xff\",\"text\":\"one two\"}\n");
    succeeds(home.path(), "dedup in.jsonl -o out.jsonl --fields a", b"");
    assert_eq!(std::fs::read(home.path().join("out.jsonl")).unwrap(), b"{\"a\":\"\xff\"}\n");
}

#[test]
fn regression_errors_say_lines_and_keys_say_records() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let lines = "\n\n{\"text\":\"a b c d\"}\n{\"text\":\"a b c d\"}\n{bad\n";
    write(at, "a.jsonl", lines);
    write(at, "b.jsonl.gz", gzip(lines.as_bytes()));
    write(at, "c.csv", "id,text\n\n1,\"two\nlines\"\n\n2\n");
    write(at, "d.json", "[{\"text\":\"a b\"},{\"text\":7}]");
    write(at, "e.json", "{\n\"text\":\"a b\"\n}\n{\n\"text\":7\n}\n");
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a b"), None]));
    write_parquet(at, "f.parquet", vec![("text", texts)]);
    for (name, place) in [
        ("a.jsonl", "a.jsonl:5: "),
        ("b.jsonl.gz", "b.jsonl.gz:5: "),
        ("c.csv", "c.csv:6: "),
        ("d.json", "d.json: record 2: "),
        ("e.json", "e.json:4: "),
        ("f.parquet", "f.parquet: record 2: "),
    ] {
        fails(at, &format!("dedup {name} -o out"), b"", 5, &[place, "--rejects"]);
        fails(at, &format!("fingerprint {name}"), b"", 5, &[place, "--rejects"]);
        fails(at, &format!("decontaminate {name} --against a.jsonl -o out"), b"", 5, &["a.jsonl:5: "]);
    }
    succeeds(at, "dedup a.jsonl -o out.jsonl --rejects bad.jsonl --duplicates d.tsv", b"");
    assert!(duplicates(at, "d.tsv").starts_with("a.jsonl:2\ta.jsonl:1\t"));
    succeeds(at, "dedup f.parquet -o out.parquet --rejects bad.txt", b"");
    assert_eq!(read(at, "bad.txt"), "2\n");
}

/// They were empty lines.
#[test]
fn regression_rows_of_parquet_that_are_set_aside_are_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for name in ["f.parquet", "g.parquet"] {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a b c d"), Some("??"), Some("q"), None]));
        write_parquet(at, name, vec![("text", texts)]);
    }
    for more in ["", " --keep longest"] {
        succeeds(
            at,
            &format!("dedup f.parquet -o out.parquet --rejects bad.txt --min-features 2{more}"),
            b"",
        );
        assert_eq!(read(at, "bad.txt"), "2\n3\n4\n", "{more}");
        let line = "dedup f.parquet g.parquet -o out.jsonl --rejects bad.txt --min-features 2";
        succeeds(at, &format!("{line}{more}"), b"");
        let all = ["f", "g"].map(|name| [2, 3, 4].map(|row| format!("{name}.parquet:{row}\n")).concat());
        assert_eq!(read(at, "bad.txt"), all.concat(), "{more}");
    }
    succeeds(at, "fingerprint f.parquet --min-words 2 --rejects bad.txt", b"");
    assert_eq!(read(at, "bad.txt"), "2\n3\n4\n");
    succeeds(
        at,
        "decontaminate g.parquet f.parquet --against f.parquet -o out.parquet --rejects bad.txt",
        b"",
    );
    assert_eq!(read(at, "bad.txt"), "g.parquet:4\nf.parquet:4\n");
}

/// Such a record ended a run that reads its inputs twice, unless there were rejects.
#[test]
fn regression_records_to_skip_ended_a_run_with_two_passes() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let records = "{\"text\":\"a b c d\"}\n{\"text\":null}\n{\"text\":\"A b c d\"}\n{\"id\":1}\n";
    fs::write(at.join("in.jsonl"), records).unwrap();
    fs::write(at.join("new.jsonl"), "{\"text\":null}\n{\"text\":\"x y z\"}\n").unwrap();
    for more in
        ["", "--keep longest", "--group-size", "--keep longest --annotate", "--keep longest --rejects r"]
    {
        let outcome = nearprint(at, &format!("dedup in.jsonl -o out.jsonl --missing skip {more}"), b"");
        let counted = "4 records read: 1 kept, 1 duplicate";
        assert!(outcome.code == 0 && outcome.err.contains(counted), "{more}: {}", outcome.err);
        assert!(outcome.err.contains("2 of too few words or features, or without a text"), "{}", outcome.err);
    }
    succeeds(at, "dedup new.jsonl -o out.jsonl --missing skip --against in.jsonl", b"");
    assert_eq!(read(at, "out.jsonl"), "{\"text\":\"x y z\"}\n");
}

/// A record without a text was set aside, because it has no words.
#[test]
fn regression_missing_texts_that_are_to_be_kept_were_too_short() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let records = "{\"text\":null}\n{\"text\":\"one two three\"}\n{\"text\":\"\"}\n";
    fs::write(at.join("in.jsonl"), records).unwrap();
    for more in ["--min-features 1", "--min-words 2", "--min-words 2 --keep longest"] {
        let line = format!("dedup in.jsonl -o out.jsonl --missing keep --rejects bad.jsonl {more}");
        succeeds(at, &line, b"");
        assert_eq!(read(at, "out.jsonl"), "{\"text\":null}\n{\"text\":\"one two three\"}\n", "{more}");
        assert_eq!(read(at, "bad.jsonl"), "{\"text\":\"\"}\n", "{more}");
    }
}

#[test]
fn regression_empty_inputs_are_no_error() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("none")).unwrap();
    write(at, "lone.txt", QUESTION);
    for (name, content) in [("a.jsonl.gz", &b""[..]), ("b.csv", b""), ("c.tsv.zst", b""), ("d.parquet", b"")]
    {
        write(at, name, content);
    }
    write(at, "e.jsonl.gz", gzip(b""));
    write(at, "f.csv.gz", gzip(b"id,text\n"));
    write(at, "folder/a.jsonl.gz", gzip(b""));
    write(at, "folder/b.jsonl", "");
    for input in [
        "none",
        "lone.txt",
        "a.jsonl.gz",
        "b.csv",
        "c.tsv.zst",
        "d.parquet",
        "e.jsonl.gz",
        "f.csv.gz",
        "folder",
    ] {
        succeeds(at, &format!("dedup {input} -o out"), b"");
        succeeds(at, &format!("decontaminate {input} --against lone.txt -o out"), b"");
        succeeds(at, &format!("decontaminate lone.txt --against {input} -o out"), b"");
        succeeds(at, &format!("dedup lone.txt --against {input} -o out"), b"");
        succeeds(at, &format!("fingerprint {input}"), b"");
        if !input.ends_with(".csv.gz") {
            succeeds(at, &format!("scan {input}"), b"");
        }
    }
    // Whatever is asked for of the records that are not there.
    for options in [
        "-o new.jsonl --annotate --key-field id",
        "-o new.csv --keep max:n",
        "-o new.parquet --db seen.np",
        "-o new/",
        "-o new/ --shards 4 --db seen.np",
    ] {
        let done = nearprint(at, &format!("dedup none {options}"), b"");
        assert!(done.code == 0 && done.err.contains("0 records read: 0 kept"), "{options}: {}", done.err);
    }
}

#[test]
fn regression_rejects_take_files_that_cannot_be_read() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let line = |number: usize| format!("{{\"text\":\"{number} {QUESTION} {number}\"}}\n");
    let all: String = (0..2000).map(line).collect();
    let whole = gzip(all.as_bytes());
    write(at, "lines/a.jsonl.gz", &whole[..whole.len() / 2]);
    write(at, "lines/b.jsonl", "{\"text\":\"one two\"}\n");
    write(at, "tables/a.csv", "id,body\n1,one\n");
    write(at, "tables/b.csv", "id,text\n1,one two\n");
    write(at, "tables/c.csv", "id,text,more\n1,one two three,\n");
    let texts = || Arc::new(StringArray::from(vec!["one two"])) as ArrayRef;
    write(at, "rows/a.parquet", "PAR1 and no more");
    fs::create_dir_all(at.join("rows")).unwrap();
    write_parquet(&at.join("rows"), "b.parquet", vec![("text", texts())]);
    for (folder, bad) in [
        ("lines", "lines/a.jsonl.gz\n"),
        ("tables", "tables/a.csv\ntables/c.csv\n"),
        ("rows", "rows/a.parquet\n"),
    ] {
        fails(at, &format!("dedup {folder} -o out"), b"", 5, &["hint: `--"]);
        for keep in ["", "--keep longest", "--db seen.np"] {
            let line = format!("dedup {folder} -o {folder}.out --rejects bad.txt {keep} --min-words 0");
            let done = nearprint(at, &line, b"");
            assert_eq!(done.code, 0, "{line}: {}", done.err);
            assert!(read(at, "bad.txt").ends_with(bad), "{line}: {}", read(at, "bad.txt"));
            let first = bad.lines().next().unwrap();
            assert!(done.err.contains(&format!("warning: {first}")), "{line}: {}", done.err);
        }
        for command in [
            "fingerprint {} --rejects bad.txt",
            "decontaminate {} --against lines/b.jsonl -o clean --rejects bad.txt",
        ] {
            let line = command.replace("{}", folder);
            let done = nearprint(at, &line, b"");
            assert!(
                done.code == 0 && (done.err.contains(" rejected") || done.err.contains("bad records")),
                "{line}: {}",
                done.err
            );
            assert!(read(at, "bad.txt").ends_with(bad), "{line}");
        }
    }
    // Where nothing else is read, and where another option's records are bad, rejects do not help.
    for line in [
        "dedup lines/a.jsonl.gz -o out",
        "dedup tables/a.csv -o out",
        "dedup lines/b.jsonl --against tables/a.csv -o out",
        "decontaminate lines/b.jsonl --against lines/a.jsonl.gz -o out",
    ] {
        let done = nearprint(at, line, b"");
        assert!(done.code == 5 && !done.err.contains("--rejects"), "{line}: {}", done.err);
    }
}

#[test]
fn regression_archives_are_named_as_what_they_are() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let tar = [b"a.jsonl".to_vec(), vec![0; 250], b"ustar\x0000".to_vec(), vec![0; 248]].concat();
    let tar = [tar[..].to_vec(), vec![0; 512]].concat();
    let zip = [&b"PK\x03\x04\x14\0\0\0\0\0"[..], &[1, 0, 1, 2, 3]].concat();
    write(at, "x.tar", &tar);
    write(at, "x.tar.gz", gzip(&tar));
    write(at, "x.jsonl", &tar);
    write(at, "x.zip", &zip);
    write(at, "x.jsonl.zip", &zip);
    write(at, "a.jsonl", "{\"text\":\"one two\"}\n");
    for (name, program) in [
        ("x.tar", "`tar -xOf FILE | nearprint … -`"),
        ("x.tar.gz", "`tar -xOf FILE | nearprint … -`"),
        ("x.jsonl", "`tar -xOf FILE | nearprint … -`"),
        ("x.zip", "`unzip -p FILE | nearprint … -`"),
        ("x.jsonl.zip", "`unzip -p FILE | nearprint … -`"),
    ] {
        for command in [
            "dedup {} -o out",
            "fingerprint {}",
            "decontaminate {} --against a.jsonl -o out",
            "decontaminate a.jsonl --against {} -o out.jsonl",
            "dedup a.jsonl --against {} -o out.jsonl",
            "tune {}",
        ] {
            fails(at, &command.replace("{}", name), b"", 5, &[program]);
        }
        fails(at, &format!("compare {name} a.jsonl"), b"", 5, &[&program[1..program.find(" |").unwrap()]]);
    }
}

#[test]
fn regression_a_large_window_of_zstandard_is_named_with_the_program() {
    let home = tempfile::tempdir().unwrap();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(b"{\"text\":\"one two\"}\n").unwrap();
    write(home.path(), "a.jsonl.zst", encoder.finish().unwrap());
    fails(home.path(), "dedup a.jsonl.zst -o out.jsonl", b"", 5, &["`zstd -dc --long=31`"]);
}

#[cfg(unix)]
#[test]
fn regression_named_pipes_are_read_as_records() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let lines = format!("{{\"text\":\"{QUESTION}\"}}\n").repeat(2);
    for name in ["pipe.jsonl", "pipe"] {
        let path = at.join(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let bytes = lines.clone();
        // It waits for a reader, for ever if there is none.
        std::thread::spawn(move || fs::write(path, bytes));
        let done = nearprint(at, &format!("dedup {name} -o out.jsonl"), b"");
        assert!(done.code == 0 && done.err.contains("2 records read: 1 kept"), "{name}: {}", done.err);
    }
}

fn strings(texts: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

fn rows(at: &Path, name: &str) -> RecordBatch {
    let file = fs::File::open(at.join(name)).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let (schema, batches) = (reader.schema().clone(), reader.build().unwrap());
    let batches: Vec<RecordBatch> = batches.map(Result::unwrap).collect();
    match &batches[..] {
        [] => RecordBatch::new_empty(schema),
        [one] => one.clone(),
        _ => panic!("several batches"),
    }
}

fn texts_of(rows: &RecordBatch, column: &str) -> Vec<String> {
    let column = rows.column_by_name(column).unwrap();
    let text = |at: usize| match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(at).to_string(),
        DataType::LargeUtf8 => column.as_string::<i64>().value(at).to_string(),
        DataType::Utf8View => column.as_string_view().value(at).to_string(),
        DataType::Dictionary(..) => {
            let dictionary = column.as_dictionary::<Int32Type>();
            dictionary.values().as_string::<i64>().value(dictionary.keys().value(at) as usize).to_string()
        }
        other => panic!("{other}"),
    };
    (0..column.len()).map(text).collect()
}

#[test]
fn regression_columns_of_parquet_are_united_by_name() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let dictionary = |values: &[&str]| -> ArrayRef {
        let values: ArrayRef = Arc::new(LargeStringArray::from(values.to_vec()));
        Arc::new(DictionaryArray::<Int32Type>::new(
            Int32Array::from_iter_values(0..values.len() as i32),
            values,
        ))
    };
    let list = |items: &[i64]| -> ArrayRef {
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some(items.iter().copied().map(Some))]))
    };
    let empty_list = || -> ArrayRef {
        let mut builder = ListBuilder::new(arrow_array::builder::NullBuilder::new());
        builder.append(true);
        Arc::new(builder.finish())
    };
    write_parquet(
        at,
        "1.parquet",
        vec![
            ("id", Arc::new(Int32Array::from(vec![1]))),
            ("text", dictionary(&["a b c d e"])),
            ("list", empty_list()),
            ("note", Arc::new(NullArray::new(1))),
            ("view", Arc::new(StringViewArray::from(vec!["short"]))),
        ],
    );
    write_parquet(
        at,
        "2.parquet",
        vec![
            ("view", strings(&["a long string that is no part of a view"])),
            ("text", strings(&["f g h i j"])),
            ("id", Arc::new(Int64Array::from(vec![1_i64 << 40]))),
            ("more", strings(&["x"])),
            ("note", strings(&["y"])),
            ("list", list(&[7, 8])),
        ],
    );
    for (inputs, order) in [("1.parquet 2.parquet", [0, 1]), ("2.parquet 1.parquet", [1, 0])] {
        for options in ["", "--keep longest", "--annotate", "--db seen.np"] {
            succeeds(at, &format!("dedup {inputs} -o out.parquet --key-field id {options}"), b"");
            if options.starts_with("--db") {
                continue;
            }
            let out = rows(at, "out.parquet");
            let mut texts = texts_of(&out, "text");
            assert_eq!(texts.len(), 2, "{inputs} {options}");
            texts.swap(order[0], 0);
            texts.sort_unstable();
            assert_eq!(texts, ["a b c d e", "f g h i j"]);
            let at_first = order[0];
            let ids = out.column_by_name("id").unwrap().as_primitive::<Int64Type>();
            assert_eq!((ids.value(at_first), ids.value(order[1])), (1, 1 << 40), "{inputs}");
            assert_eq!(texts_of(&out, "view")[at_first], "short");
            let lists = out.column_by_name("list").unwrap().as_list::<i32>();
            assert_eq!(lists.value(order[1]).as_primitive::<Int64Type>().values(), &[7, 8]);
            assert!(lists.value(at_first).is_empty());
            for (name, value) in [("more", "x"), ("note", "y")] {
                let column = out.column_by_name(name).unwrap();
                assert!(column.is_null(at_first) && texts_of(&out, name)[order[1]] == value, "{name}");
            }
        }
    }
    succeeds(at, "dedup 1.parquet -o again.parquet", b"");
    assert_eq!(
        rows(at, "again.parquet"),
        rows(at, "1.parquet"),
        "dictionaries and nulls are written as they are"
    );
    // What cannot be one column is said before the work; what writes none reads both.
    write_parquet(at, "3.parquet", vec![("text", strings(&["k l m"])), ("id", strings(&["one"]))]);
    let refused = ["column \"id\" is Utf8 in 3.parquet and Int32", "no column of an output"];
    fails(at, "dedup 1.parquet 3.parquet -o no.parquet", b"", 2, &refused);
    assert!(!at.join("no.parquet").exists() && !at.join("no.parquet.partial").exists());
    let printed = succeeds(at, "fingerprint 1.parquet 3.parquet --key-field id", b"");
    assert!(printed.contains("\t1\n") && printed.contains("\tone\n"), "{printed}");
}

#[test]
fn regression_small_dictionaries_of_several_files_have_room_together() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for file in 0..3 {
        let names: Vec<String> = (0..100).map(|number| format!("{file}-{number}")).collect();
        let names: DictionaryArray<Int8Type> = names.iter().map(|name| Some(&**name)).collect();
        let text = |number: usize| {
            (0..6).map(|word| format!("w{} ", file * 1000 + number * 7 + word * 131)).collect()
        };
        let texts: Vec<String> = (0..100).map(text).collect();
        let texts: ArrayRef = Arc::new(StringArray::from(texts));
        write_parquet(at, &format!("{file}.parquet"), vec![("text", texts), ("name", Arc::new(names))]);
    }
    succeeds(at, "dedup 0.parquet 1.parquet 2.parquet -o out.parquet", b"");
    assert_eq!(rows(at, "out.parquet").num_rows(), 300);
}

#[test]
fn regression_fields_of_structs_and_null_columns_are_read() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let field = |name: &str| Arc::new(Field::new(name, DataType::Utf8, true));
    let inside = StructArray::from(vec![
        (field("url"), strings(&["u", "v", "w"])),
        (
            field("body"),
            strings(&["one two\n\nthree four five six seven", "x y", "three four five six seven"]),
        ),
    ]);
    let whole: ArrayRef = strings(&["1", "2", "3"]);
    write_parquet(
        at,
        "in.parquet",
        vec![
            ("meta", Arc::new(inside)),
            ("meta.id", whole),
            ("n", Arc::new(UInt64Array::from(vec![1, 2, 3]))),
            ("none", Arc::new(NullArray::new(3))),
        ],
    );
    let printed = succeeds(at, "fingerprint in.parquet --text-field meta.body --key-field meta.url", b"");
    let keys: Vec<&str> = printed.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(keys, ["u", "v", "w"]);
    let printed = succeeds(at, "fingerprint in.parquet --text-field meta.body --key-field meta.id", b"");
    assert!(printed.contains("\t3\n"), "a column with the whole name comes first: {printed}");
    succeeds(at, "build n.np in.parquet --fingerprint-field n --key-field meta.url --store keys", b"");
    assert!(succeeds(at, "export n.np", b"").ends_with("\tw\n"));
    fails(at, "fingerprint in.parquet --text-field meta.no", b"", 5, &["no column named \"meta.no\""]);
    fails(at, "fingerprint in.parquet --text-field none", b"", 5, &["is null, and not a string"]);
    succeeds(at, "dedup in.parquet -o out.parquet --text-field none --missing keep", b"");
    assert_eq!(rows(at, "out.parquet"), rows(at, "in.parquet"));
    succeeds(at, "trim in.parquet -o out.parquet --text-field meta.body", b"");
    let out = rows(at, "out.parquet");
    let bodies = out.column_by_name("meta").unwrap().as_struct().column_by_name("body").unwrap().clone();
    let bodies: Vec<Option<&str>> = bodies.as_string::<i32>().iter().collect();
    assert_eq!(bodies, [Some("one two\n\nthree four five six seven"), Some("x y")]);
}

#[test]
fn regression_records_with_keys_were_read_without_their_encoding() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let line = |key: u32, text: &str| format!("{{\"id\":{key},\"text\":\"{text}\"}}\n");
    let lines = line(1, "мама мыла раму и пол") + &line(2, "мама мыла раму и стол");
    fs::write(at.join("utf.jsonl"), &lines).unwrap();
    let byte = |c: char| if c.is_ascii() { c as u8 } else { (c as u32 - 0x430) as u8 + 0xe0 };
    fs::write(at.join("cyrillic.jsonl"), lines.chars().map(byte).collect::<Vec<u8>>()).unwrap();
    let compare = |options: &str| {
        let compared = nearprint(at, &format!("compare --key 1 --key 2 --key-field id {options}"), b"");
        (compared.code, compared.out, compared.err)
    };
    assert_eq!(compare("cyrillic.jsonl --encoding windows-1251"), compare("utf.jsonl"));
    let (code, _, why) = compare("utf.jsonl --format csv");
    assert!(code == 2 && why.contains("--key names records"), "{why}");
}
