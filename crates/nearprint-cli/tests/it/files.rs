//! Files of fingerprints beyond text: NumPy arrays, Parquet, shards; and what the program writes about
//! itself.

use std::fs;
use std::path::Path;

use crate::common::cli::{fails, run, succeeds, text};
use crate::common::{Shape, rows};
use nearprint::Row;

/// A database of 500 rows; what it exports.
fn database(at: &Path) -> String {
    let mut rows: Vec<Row<u64>> = rows(Shape::Equal, 500, 3);
    rows.sort_unstable();
    fs::write(at.join("rows.txt"), text(&rows)).unwrap();
    succeeds(at, "build db rows.txt", b"");
    text(&rows)
}

/// The same lines without their ids.
fn fingerprints(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.split('\t').next().unwrap()).collect()
}

#[test]
fn numpy_arrays_are_written_and_read() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let expected = database(at);
    succeeds(at, "export db --format npy -o rows.npy", b"");
    let bytes = fs::read(at.join("rows.npy")).unwrap();
    assert!(bytes.starts_with(b"\x93NUMPY\x01\x00"));
    assert_eq!(bytes.len(), 128 + 8 * expected.lines().count());
    succeeds(at, "build again rows.npy", b"");
    succeeds(at, "build piped --input-format npy", &bytes);
    for db in ["again", "piped"] {
        let exported = succeeds(at, &format!("export {db}"), b"");
        assert_eq!(fingerprints(&exported), fingerprints(&expected), "{db}");
    }

    let cut = |len: usize| bytes[..len].to_vec();
    let signed = String::from_utf8_lossy(&bytes[10..128]).replace("<u8", "<i8");
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("empty", Vec::new(), "no NumPy array"),
        ("text", b"1234567890 1 2 3".to_vec(), "no NumPy array"),
        ("header", cut(60), "shape ()"),
        ("torn", cut(bytes.len() - 3), "5 bytes behind"),
        ("short", cut(bytes.len() - 8), "the header promises"),
        ("signed", [&bytes[..10], signed.as_bytes(), &bytes[128..]].concat(), "'<i8' and shape ("),
    ];
    for (name, bytes, word) in cases {
        fs::write(at.join(format!("{name}.npy")), bytes).unwrap();
        fails(at, &format!("build bad {name}.npy"), b"", 5, &[name, word]);
    }
    assert!(!at.join("bad").exists());
}

#[test]
fn parquet_is_written_and_read() {
    use std::fs::File;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;

    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let expected = database(at);
    succeeds(at, "export db --format parquet -o rows.parquet", b"");
    succeeds(at, "build again rows.parquet", b"");
    assert_eq!(succeeds(at, "export again", b""), expected);

    let write = |name: &str, columns: Vec<(&str, ArrayRef)>| {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, column)| (name, column, true)),
        );
        let batch = batch.unwrap();
        let file = File::create(at.join(name)).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    };
    let strings: ArrayRef = Arc::new(StringArray::from(vec!["0xff", "7", "9"]));
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(20), None, Some(5)]));
    write("strings.parquet", vec![("h", strings), ("n", ids)]);
    succeeds(at, "build strings strings.parquet --fingerprint-field h --id-field n", b"");
    assert_eq!(succeeds(at, "export strings", b""), "7\t21\n9\t5\n255\t20\n");
    fails(at, "build bad strings.parquet", b"", 5, &["strings.parquet", "no column named \"fingerprint\""]);

    write("signed.parquet", vec![("fingerprint", Arc::new(Int64Array::from(vec![1, -1])))]);
    fails(at, "build bad signed.parquet", b"", 5, &["signed.parquet:2"]);
    write("null.parquet", vec![("fingerprint", Arc::new(Int64Array::from(vec![None])))]);
    fails(at, "build bad null.parquet", b"", 5, &["null.parquet:1", "no fingerprint"]);
    fs::write(at.join("text.parquet"), "7\n").unwrap();
    fails(at, "build bad text.parquet", b"", 5, &["text.parquet", "no Parquet file"]);
    fails(at, "build bad - --input-format parquet", b"7\n", 5, &["standard input", "has to be in a file"]);
}

#[test]
fn shards_are_all_rows_once() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let expected = database(at);
    let shards: String = ["00-3f", "40", "41-C0", "c1-ff"]
        .iter()
        .map(|prefix| succeeds(at, &format!("export db --prefix {prefix}"), b""))
        .collect();
    assert_eq!(shards, expected);
    let wanted: String = expected
        .lines()
        .filter(|line| fingerprints(line)[0].parse::<u64>().unwrap() >> 56 == 0x41)
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(succeeds(at, "export db --prefix 41", b""), wanted);
    let npy = succeeds(at, "export db --prefix 41 --format npy -o shard.npy", b"");
    assert_eq!(npy, "");
    let len = fs::read(at.join("shard.npy")).unwrap().len();
    assert_eq!(len, 128 + 8 * wanted.lines().count());
    for prefix in ["3f-00", "x", "3"] {
        fails(at, &format!("export db --prefix {prefix}"), b"", 2, &["leading bytes"]);
    }
}

#[test]
fn completions_and_manual_pages_name_the_commands() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = succeeds(at, &format!("completions {shell}"), b"");
        for word in ["nearprint", "clusters", "threads"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    fails(at, "completions basic", b"", 2, &["basic"]);
    let page = succeeds(at, "man", b"");
    assert!(page.contains(".TH nearprint 1") && page.contains("clusters"), "{page}");
    fs::create_dir(at.join("man1")).unwrap();
    succeeds(at, "man --dir man1", b"");
    let query = fs::read_to_string(at.join("man1/nearprint-query.1")).unwrap();
    assert!(query.contains("fingerprint") && at.join("man1/nearprint.1").exists());
    fails(at, "man --dir missing", b"", 1, &["missing"]);
}

/// NumPy itself reads what is written, and writes what is read, where it is installed.
#[test]
fn numpy_agrees() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let probe = std::process::Command::new("python3").args(["-c", "import numpy"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no python3 with numpy");
        return;
    }
    fs::write(at.join("rows.txt"), "7\n18446744073709551615\n").unwrap();
    succeeds(at, "build db rows.txt", b"");
    succeeds(at, "export db --format npy -o a.npy", b"");
    let script =
        "import numpy as n; a = n.load('a.npy'); print(a.dtype, a.tolist()); n.save('b.npy', a[::-1].copy())";
    let outcome = run("python3", at, &["-c", script], b"");
    assert_eq!(outcome.out, "uint64 [7, 18446744073709551615]\n", "{}", outcome.err);
    succeeds(at, "build again b.npy", b"");
    assert_eq!(succeeds(at, "export again", b""), "7\t1\n18446744073709551615\t0\n");
}
