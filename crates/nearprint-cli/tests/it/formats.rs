//! Files of fingerprints, for each width: every format, compressed or not, and misfits.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, FixedSizeBinaryArray, Float64Array, Int64Array,
    RecordBatch, StringArray, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::cli::{database, digits, digits_or_decimal, fails, run, succeeds, text};
use nearprint::{Fingerprint, Printed, Row};
use testkit::{Need, Shape, for_each_width, rows, skip};

for_each_width!(
    every_format_gives_the_same_rows,
    parquet_holds_strings_bytes_or_numbers,
    numpy_and_nearprint_use_the_same_bytes,
);

fn bytes_le<F: Fingerprint>(fingerprint: F) -> Vec<u8> {
    (0..F::BITS / 64).flat_map(|index| fingerprint.le_word(index).to_le_bytes()).collect()
}

fn bytes_be<F: Fingerprint>(fingerprint: F) -> Vec<u8> {
    bytes_le(fingerprint).into_iter().rev().collect()
}

/// A NumPy array as numpy.save writes it.
fn npy(kind: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let len = (text.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &len[..], text.as_bytes(), data].concat()
}

/// Each format's file of the same fingerprints, with ids where the format has such.
fn files<F: Fingerprint>(rows: &[Row<F>]) -> Vec<(String, Vec<u8>)> {
    let each = |line: &dyn Fn(&Row<F>) -> String| rows.iter().map(line).collect::<String>().into_bytes();
    let raw =
        |bytes: fn(F) -> Vec<u8>| rows.iter().flat_map(|row| bytes(row.fingerprint)).collect::<Vec<u8>>();
    let (count, words, bytes) = (rows.len(), F::BITS / 64, F::BITS / 8);
    let shape = if words == 1 { format!("({count},)") } else { format!("({count}, {words})") };
    vec![
        ("a.txt".into(), each(&|row| format!("{} {}\n", digits_or_decimal(row.fingerprint), row.id))),
        ("b.csv".into(), each(&|row| format!("{},{}\n", Printed(row.fingerprint), row.id))),
        (
            "c.tsv".into(),
            [b"id\tfingerprint\n", &each(&|row| format!("{}\t{}\n", row.id, Printed(row.fingerprint)))[..]]
                .concat(),
        ),
        (
            "d.jsonl".into(),
            each(&|row| format!("{{\"id\":{},\"fingerprint\":\"{}\"}}\n", row.id, Printed(row.fingerprint))),
        ),
        (format!("e.u{}", F::BITS), raw(bytes_le)),
        ("f.npy".into(), npy("<u8", "False", &shape, &raw(bytes_le))),
        ("g.npy".into(), npy("|u1", "False", &format!("({count}, {bytes})"), &raw(bytes_be))),
    ]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn every_format_gives_the_same_rows<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let width = F::BITS;
    // In order and numbered from 0, so that formats without ids come to the same.
    let mut rows: Vec<Row<F>> = rows(Shape::Uniform, 120, 4);
    rows.sort_unstable();
    rows.dedup_by_key(|row| row.fingerprint);
    rows.iter_mut().zip(0..).for_each(|(row, id)| row.id = id);
    let expected = text(&rows);
    for (name, content) in files(&rows) {
        let format = name.split_once('.').unwrap().1.to_string();
        fs::write(at.join(&name), &content).unwrap();
        fs::write(at.join(format!("{name}.gz")), gzip(&content)).unwrap();
        fs::write(at.join(format!("{name}.zst")), zstd::encode_all(&content[..], 1).unwrap()).unwrap();
        for file in [name.clone(), format!("{name}.gz"), format!("{name}.zst")] {
            succeeds(at, &format!("build {file}.np {file} --width {width}"), b"");
            assert_eq!(succeeds(at, &format!("export {file}.np"), b""), expected, "{file}");
        }
        let input_format = if format == "txt" { "text" } else { &format };
        succeeds(at, &format!("build {name}.piped --width {width} --input-format {input_format}"), &content);
        assert_eq!(
            succeeds(at, &format!("export {name}.piped"), b""),
            expected,
            "{name} from standard input"
        );
        let asked = succeeds(at, &format!("query {name}.np {name}.gz -k 0"), b"");
        assert_eq!(asked.lines().count(), rows.len(), "{name}.gz as queries");
    }

    let raw: Vec<u8> = rows.iter().flat_map(|row| bytes_le(row.fingerprint)).collect();
    succeeds(at, &format!("export a.txt.np --format u{width} -o out.raw"), b"");
    assert!(fs::read(at.join("out.raw")).unwrap() == raw);
    succeeds(at, "export a.txt.np --format npy -o out.npy", b"");
    let array = fs::read(at.join("out.npy")).unwrap();
    let count = rows.len();
    let shape = if width == 64 { format!("({count},)") } else { format!("({count}, {})", width / 64) };
    let header = format!("{{'descr': '<u8', 'fortran_order': False, 'shape': {shape}, }}");
    assert!(array[10..].starts_with(header.as_bytes()) && array[128..] == raw);
    let prefix = digits(rows[60].fingerprint)[..2].to_string();
    let within: String = rows
        .iter()
        .filter(|row| digits(row.fingerprint).starts_with(&prefix))
        .map(|row| text(&[*row]))
        .collect();
    assert_eq!(succeeds(at, &format!("export a.txt.np --range {prefix}"), b""), within);
    let other = if width == 64 { 128 } else { 64 };
    fails(at, &format!("export a.txt.np --format u{other}"), b"", 2, &[&format!("{width} bits")]);
}

/// Strings, bytes, and for 64 bits numbers; ids where there are some.
fn parquet_holds_strings_bytes_or_numbers<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows = database::<F>(at);
    let width = F::BITS;
    succeeds(at, "export db --format parquet -o out.parquet", b"");
    succeeds(at, &format!("build again out.parquet --width {width}"), b"");
    assert_eq!(succeeds(at, "export again", b""), text(&rows));
    let file = fs::File::open(at.join("out.parquet")).unwrap();
    let first =
        ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().next().unwrap().unwrap();
    if width == 64 {
        let numbers: &UInt64Array = first.column(0).as_any().downcast_ref().unwrap();
        assert_eq!(numbers.value(0), rows[0].fingerprint.le_word(0));
    } else {
        let strings: &StringArray = first.column(0).as_any().downcast_ref().unwrap();
        assert_eq!(strings.value(0), Printed(rows[0].fingerprint).to_string());
    }

    let some: Vec<Vec<u8>> = rows[..9].iter().map(|row| bytes_be(row.fingerprint)).collect();
    let expected: Vec<String> = rows[..9].iter().map(|row| Printed(row.fingerprint).to_string()).collect();
    let fixed: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter(some.iter()).unwrap());
    let binary: ArrayRef = Arc::new(BinaryArray::from_iter_values(some.iter()));
    let strings: ArrayRef = Arc::new(StringArray::from(expected.clone()));
    for (name, column) in [("fixed", fixed), ("binary", binary), ("strings", strings)] {
        write_parquet(at, &format!("{name}.parquet"), vec![("fingerprint", column)]);
        succeeds(at, &format!("build {name} {name}.parquet --width {width}"), b"");
        let exported = succeeds(at, &format!("export {name}"), b"");
        let found: Vec<&str> = exported.lines().map(|line| line.split_once('\t').unwrap().0).collect();
        assert_eq!(found, expected, "{name}");
    }
    let other = if width == 128 { 256 } else { 128 };
    let words = ["parquet:1", &format!("{} bytes", width / 8), &format!("take {}", other / 8)];
    for name in ["fixed", "binary"] {
        fails(at, &format!("build bad {name}.parquet --width {other}"), b"", 5, &words);
    }
    assert!(!at.join("bad").exists());
}

pub(super) fn write_parquet(at: &Path, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let file = fs::File::create(at.join(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn columns_of_parquet_are_found_by_name_and_checked() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let strings: ArrayRef = Arc::new(StringArray::from(vec!["0xff", "7", "9"]));
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(20), None, Some(5)]));
    write_parquet(at, "strings.parquet", vec![("h", strings), ("n", ids)]);
    succeeds(at, "build strings strings.parquet --fingerprint-field h --id-field n", b"");
    assert_eq!(succeeds(at, "export strings", b""), "7\t21\n9\t5\n255\t20\n");
    fails(at, "build bad strings.parquet", b"", 5, &["strings.parquet", "no column named \"fingerprint\""]);

    let one = |name: &str, column: ArrayRef| write_parquet(at, name, vec![("fingerprint", column)]);
    one("numbers.parquet", Arc::new(UInt64Array::from(vec![7])));
    fails(
        at,
        "build bad numbers.parquet --width 128",
        b"",
        5,
        &["numbers.parquet:1", "fingerprints of 128 bits are strings"],
    );
    one("signed.parquet", Arc::new(Int64Array::from(vec![1, -1])));
    fails(at, "build bad signed.parquet", b"", 5, &["signed.parquet:2"]);
    one("null.parquet", Arc::new(Int64Array::from(vec![None])));
    fails(at, "build bad null.parquet", b"", 5, &["null.parquet:1", "no fingerprint"]);
    fs::write(at.join("text.parquet"), "7\n").unwrap();
    fails(at, "build bad text.parquet", b"", 5, &["text.parquet", "not a Parquet file"]);
    fails(at, "build bad - --input-format parquet", b"7\n", 5, &["standard input", "has to be in a file"]);
    assert!(!at.join("bad").exists());
}

/// The same lines without their ids.
fn without_ids(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.split('\t').next().unwrap()).collect()
}

#[test]
fn numpy_arrays_are_written_and_read() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let expected = text(&database::<u64>(at));
    succeeds(at, "export db --format npy -o rows.npy", b"");
    let bytes = fs::read(at.join("rows.npy")).unwrap();
    assert!(bytes.starts_with(b"\x93NUMPY\x01\x00"));
    assert_eq!(bytes.len(), 128 + 8 * expected.lines().count());
    succeeds(at, "build again rows.npy", b"");
    succeeds(at, "build piped --input-format npy", &bytes);
    for db in ["again", "piped"] {
        let exported = succeeds(at, &format!("export {db}"), b"");
        assert_eq!(without_ids(&exported), without_ids(&expected), "{db}");
    }

    let cut = |len: usize| bytes[..len].to_vec();
    let signed = String::from_utf8_lossy(&bytes[10..128]).replace("<u8", "<i8");
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("empty", Vec::new(), "no NumPy array"),
        ("text", b"1234567890 1 2 3".to_vec(), "no NumPy array"),
        ("header", cut(60), "shape ()"),
        ("torn", cut(bytes.len() - 3), "5 bytes after"),
        ("short", cut(bytes.len() - 8), "the header promises"),
        ("signed", [&bytes[..10], signed.as_bytes(), &bytes[128..]].concat(), "'<i8' and shape ("),
    ];
    for (name, bytes, word) in cases {
        fs::write(at.join(format!("{name}.npy")), bytes).unwrap();
        fails(at, &format!("build bad {name}.npy"), b"", 5, &[name, word]);
    }
    assert!(!at.join("bad").exists());
}

/// Whether NumPy is there to compare with.
fn has_numpy(test: &str) -> bool {
    let probe = Command::new("python3").args(["-c", "import numpy"]).output();
    let has = probe.is_ok_and(|output| output.status.success());
    if !has {
        skip(Need::Numpy, test, "python3 cannot import numpy");
    }
    has
}

#[test]
fn numpy_reads_what_is_written_and_writes_what_is_read() {
    if !has_numpy("numpy_reads_what_is_written_and_writes_what_is_read") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
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

fn numpy_and_nearprint_use_the_same_bytes<F: Fingerprint>() {
    let width = F::BITS;
    if !has_numpy(&format!("numpy_and_nearprint_use_the_same_bytes of {width} bits")) {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows = database::<F>(at);
    let sorted: String = rows.iter().map(|row| format!("0x{}\n", digits(row.fingerprint))).collect();
    fs::write(at.join("hashes.txt"), &sorted).unwrap();
    succeeds(at, "export db --format npy -o words.npy", b"");
    let script = "\
import numpy as n, sys
width = int(sys.argv[1])
hashes = [line[2:] for line in open('hashes.txt').read().split()]
words = n.load('words.npy')
rows = words.reshape(len(hashes), width // 64)
assert [''.join(f'{word:016x}' for word in row[::-1]) for row in rows.tolist()] == hashes
rows = n.array([list(bytes.fromhex(h)) for h in hashes], n.uint8)
n.save('bytes.npy', rows)
bits = n.array([[int(bit) for bit in f'{int(h, 16):0{width}b}'] for h in hashes], n.uint8)
n.save('bits.npy', n.packbits(bits, axis=1))
n.save('columns.npy', n.asfortranarray(rows))
n.save('signed.npy', words.astype(n.int64))
";
    let outcome = run("python3", at, &["-c", script, &width.to_string()], b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    succeeds(at, &format!("build text hashes.txt --width {width}"), b"");
    let expected = succeeds(at, "export text", b"");
    for name in ["words", "bytes", "bits"] {
        succeeds(at, &format!("build {name} {name}.npy --width {width}"), b"");
        assert_eq!(succeeds(at, &format!("export {name}"), b""), expected, "{name}");
    }
    fails(at, &format!("build bad columns.npy --width {width}"), b"", 5, &["columns.npy", "Fortran order"]);
    fails(at, &format!("build bad signed.npy --width {width}"), b"", 5, &["signed.npy", "'<i8'"]);
}

#[test]
fn misfits_are_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let md5 = "d41d8cd98f00b204e9800998ecf8427e";
    let two = format!("{md5}\n{}\n", &md5[1..]);
    let odd = format!("{md5}\n0xabc\n");
    let letter = format!("{md5}\n{}g\n", &md5[1..]);
    let long = format!("{md5}\n0x{md5}00\n");
    let pdq = format!("{md5}{md5}\n{md5}\n");
    let cells = format!("{md5},1\n{},2\n", &md5[2..]);
    let header = format!("{},2\n", &md5[2..]);
    let number = format!("{{\"fingerprint\":\"{md5}\"}}\n{{\"fingerprint\":7}}\n");
    let large = "340282366920938463463374607431768211456\n";
    let narrow = npy("<u8", "False", "(2,)", &[0; 16]);
    let columns = npy("<u8", "True", "(2, 2)", &[0; 32]);
    let bytes = npy("|u1", "False", "(2, 8)", &[0; 16]);
    let cases: [(&str, u32, &[u8], &[&str]); 16] = [
        ("a.txt", 128, two.as_bytes(), &["a.txt:2", "31 hexadecimal digits, where 128 bits take 32"]),
        ("b.txt", 128, odd.as_bytes(), &["b.txt:2", "3 hexadecimal digits"]),
        ("c.txt", 128, letter.as_bytes(), &["c.txt:2", "not a fingerprint (32 hexadecimal digits)"]),
        ("d.txt", 128, long.as_bytes(), &["d.txt:2", "does not fit in 128 bits"]),
        ("e.txt", 128, large.as_bytes(), &["e.txt:1", "does not fit in 128 bits"]),
        (
            "f.txt",
            256,
            pdq.as_bytes(),
            &["f.txt:2", "32 hexadecimal digits, where 256 bits take 64; so many digits are 128 bits"],
        ),
        (
            "g.txt",
            64,
            md5.as_bytes(),
            &["g.txt:1", "not a fingerprint (decimal", "so many digits are 128 bits"],
        ),
        ("h.csv", 128, cells.as_bytes(), &["h.csv:2", "30 hexadecimal digits"]),
        ("i.csv", 128, header.as_bytes(), &["i.csv:1", "no column named", "30 hexadecimal digits"]),
        (
            "j.jsonl",
            128,
            number.as_bytes(),
            &["j.jsonl:2", "is a number; fingerprints of 128 bits are strings"],
        ),
        ("k.u64", 128, &[0; 16], &["k.u64: fingerprints of 64 bits, expected 128 bits"]),
        ("l.u128", 256, &[0; 32], &["l.u128: fingerprints of 128 bits, expected 256 bits"]),
        ("m.u256", 256, &[0; 40], &["m.u256:32", "8 bytes after the last 256-bit number"]),
        (
            "n.npy",
            128,
            &narrow,
            &["n.npy:10", "shape (2)", "uint64 of shape (n, 2) or uint8 of shape (n, 16)"],
        ),
        ("o.npy", 128, &columns, &["o.npy:10", "Fortran order"]),
        ("p.npy", 256, &bytes, &["p.npy:10", "shape (2, 8)", "uint8 of shape (n, 32)"]),
    ];
    for (name, width, content, words) in cases {
        fs::write(at.join(name), content).unwrap();
        fails(at, &format!("build bad {name} --width {width}"), b"", 5, words);
        fails(at, &format!("clusters {name} --width {width}"), b"", 5, words);
    }
    fs::write(at.join("q.txt.gz"), "7\n").unwrap();
    fails(at, "build bad q.txt.gz", b"", 5, &["q.txt.gz", "named as gzip"]);
    let torn = gzip(&b"7\n".repeat(9000));
    fs::write(at.join("r.txt.gz"), &torn[..torn.len() - 9]).unwrap();
    fails(at, "build bad r.txt.gz", b"", 5, &["r.txt.gz", "damaged gzip data"]);
    assert!(!at.join("bad").exists());
}

#[test]
fn columns_can_be_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let hash = |digit: char| digit.to_string().repeat(64);
    let frames = format!("{}\tchair.mp4:0\n{}\tchair.mp4:1\n", hash('e'), hash('1'));
    fs::write(at.join("frames.tsv.gz"), gzip(frames.as_bytes())).unwrap();
    succeeds(at, "build frames frames.tsv.gz --width 256 -k 31 --store keys --columns fingerprint,key", b"");
    let keys =
        |out: &str| out.lines().map(|line| line.rsplit_once('\t').unwrap().1.to_string()).collect::<Vec<_>>();
    assert_eq!(keys(&succeeds(at, "export frames", b"")), ["chair.mp4:1", "chair.mp4:0"]);
    let found = succeeds(at, &format!("query frames -f {} -k 31", hash('1')), b"");
    assert_eq!(keys(&found), ["chair.mp4:1"]);
    // As queries, with the same columns; keys are of no use there.
    let found = succeeds(at, "query frames frames.tsv.gz --columns fingerprint,key -k 0", b"");
    assert_eq!(keys(&found), ["chair.mp4:0", "chair.mp4:1"]);

    let cells = "a,5,7\nb,,8\n";
    succeeds(at, "build csv --store keys --input-format csv --columns key,id,fingerprint", cells.as_bytes());
    let exported = succeeds(at, "export csv", b"");
    assert_eq!(exported.lines().next(), Some("7\t5\ta"));
    assert_eq!(keys(&exported), ["a", "b"]);
    succeeds(at, "build ids --input-format csv --columns id,fingerprint", b"5,7\n6,8\n");
    assert_eq!(succeeds(at, "export ids", b""), "7\t5\n8\t6\n");

    // With --columns there is no header, and further columns are left out.
    fails(
        at,
        "build bad --input-format csv --columns fingerprint,id",
        b"fingerprint,id\n7,1\n",
        5,
        &["input:1"],
    );
    succeeds(at, "build few --input-format tsv --columns fingerprint", b"7\tx\ty\n");
    assert_eq!(succeeds(at, "export few", b""), "7\t0\n");
    fails(
        at,
        "build bad --input-format csv --columns fingerprint,key",
        b"7,a\n",
        5,
        &["input:1", "--store keys"],
    );
    for columns in ["key,id", "fingerprint,fingerprint", "fingerprint,id,id", "fingerprint,name"] {
        let line = format!("build bad --input-format csv --columns {columns}");
        fails(at, &line, b"7,1\n", 2, &["--columns"]);
    }
    fails(at, "build bad --columns fingerprint,id", b"7,1\n", 2, &["--columns", "CSV and TSV"]);
    assert!(!at.join("bad").exists());
}

#[test]
fn regression_floats_in_parquet_are_refused_and_dictionaries_are_read() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let numbers = || Arc::new(UInt64Array::from(vec![7, 8])) as ArrayRef;
    let floats = || Arc::new(Float64Array::from(vec![18_417_298_680_524_432_934f64, 3.0])) as ArrayRef;
    write_parquet(at, "prints.parquet", vec![("fingerprint", floats())]);
    write_parquet(at, "ids.parquet", vec![("fingerprint", numbers()), ("id", floats())]);
    write_parquet(at, "keys.parquet", vec![("fingerprint", numbers()), ("key", floats())]);
    for name in ["prints", "ids", "keys"] {
        let line = format!("build {name}.np {name}.parquet --store keys");
        fails(at, &line, b"", 5, &[&format!("{name}.parquet:1"), "floating-point"]);
    }
    let categories: DictionaryArray<Int8Type> =
        vec![Some("x"), Some("y"), None, Some("x")].into_iter().collect();
    let numbers = Arc::new(UInt64Array::from(vec![7, 8, 9, 10]));
    write_parquet(at, "categories.parquet", vec![("fingerprint", numbers), ("key", Arc::new(categories))]);
    succeeds(at, "build categories.np categories.parquet --store keys", b"");
    let keys: Vec<String> = succeeds(at, "export categories.np", b"")
        .lines()
        .map(|line| line.split('\t').nth(2).unwrap().to_string())
        .collect();
    assert_eq!(keys, ["x", "y", "", "x"]);
}

#[test]
fn lists_say_how_wide_they_are() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let texts = b"one two three four\none two three five\n";
    let fingerprint = "fingerprint --input-format lines --header";
    let wide = succeeds(at, &format!("{fingerprint} --recipe width=128"), texts);
    let minhash = succeeds(at, &format!("{fingerprint} --recipe minhash"), texts);
    for (command, num_lines) in [("pairs", 1), ("clusters", 2)] {
        let run = |options: &str, input: &str| {
            let found = succeeds(at, &format!("{command} - {options}"), input.as_bytes());
            assert_eq!(found.lines().count(), num_lines, "{command} {options}: {found}");
            found
        };
        let found = run("-k 128", &wide);
        let first = wide.lines().nth(2).unwrap().split('\t').next().unwrap();
        assert!(found.contains(first) && first.len() > 20, "{found}");
        // Without a header, the digits say it. The distance of a header is used.
        run("-k 3", &format!("0x{:032x}\n0x{:032x}\n", 1, 3));
        run("", "# nearprint\twidth=64\tk=1\nfingerprint\tid\n1\t7\n3\t8\n60\t9\n");
        fails(at, &format!("{command} - --width 64"), wide.as_bytes(), 5, &["64"]);
        fails(at, &format!("{command} -"), minhash.as_bytes(), 2, &["nearprint build"]);
    }
}
