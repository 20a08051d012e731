//! What `dedup` reports of documents: annotations, the file of duplicates, the summary.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{ArrayRef, StringArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

use crate::cli::{duplicates, fails, nearprint, succeeds};
use crate::formats::write_parquet;

/// A page, a copy of it, a near-duplicate, and another page with its copy.
const PAGES: &str = r#"{"id":"a","text":"the quick brown fox jumps over the lazy dog and then runs away from it to the forest"}
{"id":"b","text":"The quick, brown fox jumps over the lazy dog; and then runs away from it to the forest!"}
{"id":"c","text":"the quick brown fox jumps over the lazy dog and then runs away from it to the river"}
{"id":"d","text":"nothing else says this and nobody else would want to say it here again"}
{"id":"e","text":"nothing else says this and nobody else would want to say it here again"}
"#;

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("in.jsonl"), PAGES).unwrap();
    home
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Of each document its id, duplicate_of, group and similarity.
fn annotations(lines: &str) -> Vec<[Value; 4]> {
    let fields = ["id", "duplicate_of", "group", "similarity"];
    let row = |line: &str| {
        let object: Value = serde_json::from_str(line).unwrap();
        fields.map(|field| object.get(field).unwrap().clone())
    };
    lines.lines().map(row).collect()
}

#[test]
fn all_documents_are_annotated() {
    let home = home();
    let at = home.path();
    succeeds(at, "dedup in.jsonl -o plain.jsonl --key-field id --duplicates plain.tsv", b"");
    for more in
        ["", "--db seen.np", "--similarity contained:0.5", "--keep longest", "--keep longest --db best.np"]
    {
        let line = format!("dedup in.jsonl -o out.jsonl --key-field id --annotate --duplicates d.tsv {more}");
        succeeds(at, &line, b"");
        let rows = annotations(&read(at, "out.jsonl"));
        let cell = |row: usize, column: usize| rows[row][column].clone();
        // The second one has the longest text.
        let kept = if more.starts_with("--keep") { "b" } else { "a" };
        let clusters: Vec<Value> = (0..5).map(|row| cell(row, 2)).collect();
        assert_eq!(clusters, [kept, kept, kept, "d", "d"], "{more}");
        for (row, [id, of, cluster, similarity]) in rows.iter().enumerate() {
            if id == cluster {
                assert!(of.is_null() && similarity.is_null(), "{more}");
            } else {
                let wanted = if row == 2 { 0.7..0.95 } else { 1.0..1.1 };
                assert!(of == cluster && wanted.contains(&similarity.as_f64().unwrap()), "{more}: {rows:?}");
            }
        }
        // The other bytes equal the input.
        for (line, original) in read(at, "out.jsonl").lines().zip(PAGES.lines()) {
            let original = &original[..original.len() - 1];
            assert!(line.starts_with(&format!("{original},\"duplicate_of\":")), "{line}");
        }
        let of_file = duplicates(at, "d.tsv");
        let of_file: Vec<&str> = of_file.lines().map(|line| line.split('\t').nth(4).unwrap()).collect();
        assert_eq!(of_file, [kept, kept, "d"]);
    }
    let line = "dedup in.jsonl -o out.jsonl --key-field id --annotate --add fingerprint=print";
    succeeds(at, line, b"");
    let first: Value = serde_json::from_str(read(at, "out.jsonl").lines().nth(1).unwrap()).unwrap();
    assert_eq!(first["print"].as_str().unwrap().len(), 66);
    assert_eq!(first["duplicate_of"], "a");
}

#[test]
fn clusters_have_sizes() {
    let home = home();
    let at = home.path();
    for more in ["", "--keep longest", "--similarity contained:0.5", "--store hashes"] {
        let line = format!("dedup in.jsonl -o out.jsonl --key-field id --group-size {more}");
        succeeds(at, &line, b"");
        let kept = read(at, "out.jsonl");
        let sizes =
            kept.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["group_size"].as_u64());
        assert_eq!(sizes.collect::<Vec<_>>(), [Some(3), Some(2)], "{more}");
        succeeds(at, &format!("{line} --annotate --duplicates d.tsv"), b"");
        let rows = annotations(&read(at, "out.jsonl"));
        for (line, [_, _, cluster, _]) in read(at, "out.jsonl").lines().zip(&rows) {
            let size = rows.iter().filter(|row| row[2] == *cluster).count();
            assert!(line.ends_with(&format!(",\"group_size\":{size}}}")), "{more}: {line}");
        }
        let file = read(at, "d.tsv");
        let last: Vec<&str> = file.lines().map(|line| line.split('\t').nth(6).unwrap()).collect();
        assert_eq!(last, ["group_size", "3", "3", "2"], "{more}");
    }
    // Without the option, the same documents are kept in one pass.
    succeeds(at, "dedup in.jsonl -o plain.jsonl --key-field id", b"");
    succeeds(at, "dedup - -o sizes.jsonl --key-field id --group-size --input-format jsonl", PAGES.as_bytes());
    let sizes = read(at, "sizes.jsonl");
    assert_eq!(
        sizes.replace(",\"group_size\":3", "").replace(",\"group_size\":2", ""),
        read(at, "plain.jsonl")
    );
    fails(at, "dedup in.jsonl -o x.jsonl --group-size --db seen.np", b"", 2, &["--group-size"]);
}

#[test]
fn tables_are_annotated() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let csv =
        "id,text\n\"x,1\",one two three four five\n2,One two three four five!\n3,something else entirely\n";
    fs::write(at.join("in.csv"), csv).unwrap();
    succeeds(at, "dedup in.csv -o out.csv --key-field id --annotate --group-size", b"");
    assert_eq!(
        read(at, "out.csv"),
        "id,text,duplicate_of,group,similarity,copy,group_size\n\"x,1\",one two three four five,,\"x,1\",,,2\n\
         2,One two three four five!,\"x,1\",\"x,1\",1,true,2\n3,something else entirely,,3,,,1\n"
    );
    fails(at, "dedup out.csv -o again.csv --annotate", b"", 2, &["a column \"duplicate_of\" already"]);
    let twice = "dedup in.csv -o x.csv --annotate --add fingerprint=group";
    fails(at, twice, b"", 2, &["a column \"group\" already"]);
    fs::write(at.join("one.txt"), "one").unwrap();
    fails(at, "dedup one.txt -o out --annotate", b"", 2, &["has no fields, so none can be added or changed"]);
}

#[test]
fn rows_of_parquet_are_annotated() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let ids: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    let texts = ["one two three four five", "One two three four five!", "something else entirely"];
    write_parquet(at, "in.parquet", vec![("id", ids), ("text", Arc::new(StringArray::from(texts.to_vec())))]);
    succeeds(at, "dedup in.parquet -o out.parquet --key-field id --annotate --group-size", b"");
    let file = fs::File::open(at.join("out.parquet")).unwrap();
    let mut batches = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let batch = batches.next().unwrap().unwrap();
    let text = |name: &str| -> Vec<Option<String>> {
        let column = batch.column_by_name(name).unwrap().as_string::<i32>();
        column.iter().map(|cell| cell.map(str::to_string)).collect()
    };
    let some = |cell: &str| Some(cell.to_string());
    assert_eq!(text("duplicate_of"), [None, some("x"), None]);
    assert_eq!(text("group"), [some("x"), some("x"), some("z")]);
    let similarity = batch.column_by_name("similarity").unwrap().as_primitive::<Float64Type>();
    assert_eq!(similarity.iter().collect::<Vec<_>>(), [None, Some(1.0), None]);
    let exact = batch.column_by_name("copy").unwrap().as_boolean();
    assert_eq!(exact.iter().collect::<Vec<_>>(), [None, Some(true), None]);
    let sizes = batch.column_by_name("group_size").unwrap().as_primitive::<UInt64Type>();
    assert_eq!(sizes.values(), &[2, 2, 1]);
    fails(at, "dedup out.parquet -o x.parquet --annotate", b"", 2, &["a column \"duplicate_of\" already"]);
}

#[test]
fn the_file_of_duplicates_has_a_header() {
    let home = home();
    let at = home.path();
    let line = "dedup in.jsonl -o out.jsonl --key-field id --duplicates d.tsv";
    succeeds(at, line, b"");
    let plain = read(at, "d.tsv");
    assert!(
        plain.starts_with(
            "key\tduplicate_of\tdistance\tsimilarity\tgroup\tcopy\nb\ta\t0\t1.0000\ta\ttrue\nc\ta\t"
        ) && plain.ends_with("e\td\t0\t1.0000\td\ttrue\n"),
        "{plain}"
    );
    succeeds(at, &format!("{line} --db seen.np"), b"");
    assert_eq!(read(at, "d.tsv"), plain);
}

#[test]
fn copies_and_near_duplicates_are_counted_apart_in_all_runs() {
    let home = home();
    let at = home.path();
    let summary = |line: &str| nearprint(at, line, b"").err;
    let words = "(2 copies, 1 near)";
    for more in [
        "",
        "--dry-run",
        "--db seen.np",
        "--keep longest",
        "--similarity contained:0.5",
        "--recipe simhash -k 20",
    ] {
        let err = summary(&format!("dedup in.jsonl -o out.jsonl --key-field id --verbose {more}"));
        assert!(err.contains(words), "{more}: {err}");
        assert!(err.contains("0.9 to 1.0: ") && err.contains("largest groups: 3 near "), "{more}: {err}");
    }
    // The database of an earlier run has hashes of its texts.
    fs::copy(at.join("in.jsonl"), at.join("copy.jsonl")).unwrap();
    let again = "dedup copy.jsonl -o again.jsonl --key-field id --db seen.np";
    for more in ["--dry-run", "--keep longest"] {
        let err = summary(&format!("{again} {more}"));
        assert!(err.contains("(4 copies, 1 near)"), "{more}: {err}");
    }
    fails(at, &format!("{again} --similarity contained:0.5"), b"", 2, &["keeps no texts"]);
    // One with texts compares them.
    succeeds(at, "create texts.np --store texts --recipe minhash --layout bands:10x16 --width 256", b"");
    let with_texts = "dedup in.jsonl -o x.jsonl --key-field id --db texts.np";
    assert!(summary(with_texts).contains(words));
    assert!(summary(&with_texts.replace("in.jsonl", "copy.jsonl")).contains("(4 copies, "));
    // One with keys alone does not know.
    succeeds(at, "create keys.np --store keys --recipe minhash --layout bands:10x16 --width 256", b"");
    let err = summary("dedup in.jsonl -o x.jsonl --key-field id --db keys.np");
    assert!(err.contains("3 duplicates") && !err.contains("copies"), "{err}");
}

#[test]
fn a_similarity_of_texts_says_what_it_changed() {
    let home = home();
    let line = "dedup in.jsonl -o out.jsonl --key-field id --similarity contained:0.99";
    for keep in ["first", "longest"] {
        let err = nearprint(home.path(), &format!("{line} --verbose --keep {keep}"), b"").err;
        assert!(err.contains("3 kept, 2 duplicates"), "{err}");
        assert!(err.contains("1 records were kept because their texts are not near"), "{err}");
        assert!(err.contains("by similarity: 0.9 to 1.0: 2\n"), "{err}");
    }
}

#[test]
fn keys_in_the_summary_cannot_write_on_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let long = format!("\"{}\"", "d".repeat(60_000));
    let pages = PAGES.replace("\"a\"", "\"\\u001b[31m\\nred\\u202e\"").replace("\"d\"", &long);
    fs::write(home.path().join("in.jsonl"), pages).unwrap();
    let err = nearprint(home.path(), "dedup in.jsonl -o out.jsonl --key-field id --verbose", b"").err;
    assert!(err.contains(r#"largest groups: 3 near "\u{1b}[31m\nred\u{202e}", 2 near "ddd"#), "{err}");
    assert!(!err.contains("together"), "kept documents of earlier runs are no part of these: {err}");
    assert!(err.len() < 1000, "long keys are cut");
}

/// Documents of 60 words, each followed by two that lack one of them.
fn versions() -> String {
    let text = |base: usize, gone: usize| -> String {
        (0..60).filter(|word| word % 60 != gone).map(|word| format!("w{base}x{word} ")).collect()
    };
    let line = |number: usize| {
        let (base, version) = (number / 3, number % 3);
        let text = text(base, if version == 0 { 60 } else { version * base % 60 });
        format!("{{\"id\":\"{number}\",\"text\":\"{text}\"}}\n")
    };
    (0..90).map(line).collect()
}

#[test]
fn regression_stored_texts_of_a_job_without_a_database_were_near_nothing() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), versions()).unwrap();
    for (number, limit) in ["", "-s 0.8", "-s 0.9"].into_iter().enumerate() {
        let mut first = None;
        for (place, options) in [
            "",
            "--store features",
            "--store texts",
            "--store texts -j 1",
            "--store texts --keep longest",
            "--store texts --group-size",
            "--store texts --db a.np",
            "--store features --db b.np",
            "--db c.np --remember",
        ]
        .into_iter()
        .enumerate()
        {
            let options = options.replace(".np", &format!("{number}.np"));
            let line = format!(
                "dedup in.jsonl -o o{place}.jsonl --duplicates d{place}.tsv --key-field id {limit} {options}"
            );
            let outcome = nearprint(at, line.trim(), b"");
            assert_eq!(outcome.code, 0, "{line}: {}", outcome.err);
            let duplicates = fs::read_to_string(at.join(format!("d{place}.tsv"))).unwrap();
            // --group-size adds a column.
            let columns = |line: &str| line.split('\t').take(6).map(String::from).collect::<Vec<_>>();
            let mut duplicates: Vec<Vec<String>> = duplicates.lines().map(columns).collect();
            duplicates.sort_unstable();
            assert!(duplicates.len() > 20, "{line}: {duplicates:?}");
            assert_eq!(*first.get_or_insert_with(|| duplicates.clone()), duplicates, "{line}");
        }
    }
}

#[test]
fn regression_edits_were_compared_only_where_shingles_are_alike() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let mut random = testkit::Random(11);
    let mut lines = String::new();
    for pair in 0..200 {
        let words: Vec<String> = (0..50).map(|_| format!("w{:05}", random.below(90_000))).collect();
        let mut changed = words.clone();
        // Five of fifty words: of 350 characters some 25.
        (0..5).for_each(|at| changed[10 * at + 4] = format!("v{:05}", random.below(90_000)));
        for (name, text) in [("a", words), ("b", changed)] {
            lines += &format!("{{\"id\":\"{name}{pair}\",\"text\":\"{}\"}}\n", text.join(" "));
        }
    }
    fs::write(at.join("in.jsonl"), lines).unwrap();
    for options in ["", "--db texts.np", "--keep longest"] {
        let line = format!("dedup in.jsonl -o out.jsonl --key-field id --similarity edit:0.9 {options}");
        let outcome = nearprint(at, line.trim(), b"");
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        let kept = read(at, "out.jsonl").lines().count();
        // Their shingles have a similarity of 0.52, and one pair in 23 shares no band of the recipe.
        assert!((200..=220).contains(&kept), "{line}: {kept} kept: {}", outcome.err);
    }
}
