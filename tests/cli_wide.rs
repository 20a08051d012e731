//! The command lines on fingerprints of 128 and 256 bits, from outside: every command, every file format, and what is
//! said about those that do not fit.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use common::cli::{fails, nearprint, succeeds, text};
use common::{Shape, clusters, matches, pairs, rows};
use nearprint::simhash::Recipe;
use nearprint::{Fingerprint, Printed, Row, U256, num_differing_bits};

/// All hexadecimal digits of a fingerprint, as hash functions print them.
fn digits<F: Fingerprint>(fingerprint: F) -> String {
    let nibbles = (0..F::BITS).step_by(4).map(|at| fingerprint.bits(at, 4));
    nibbles.fold(String::new(), |digits, nibble| format!("{digits}{nibble:x}"))
}

fn bytes_le<F: Fingerprint>(fingerprint: F) -> Vec<u8> {
    let mut bytes = Vec::new();
    fingerprint.write_le(&mut bytes);
    bytes
}

fn bytes_be<F: Fingerprint>(fingerprint: F) -> Vec<u8> {
    bytes_le(fingerprint).into_iter().rev().collect()
}

/// A database of rows near each other, as `db`, and its rows in order.
fn database<F: Fingerprint>(at: &Path) -> Vec<Row<F>> {
    let mut rows: Vec<Row<F>> = rows(Shape::Skewed, 700, u64::from(F::BITS));
    fs::write(at.join("rows.txt"), text(&rows)).unwrap();
    assert_eq!(succeeds(at, &format!("build db rows.txt --width {}", F::BITS), b""), "");
    rows.sort_unstable();
    rows
}

fn set(lines: &str) -> BTreeSet<String> {
    lines.lines().map(str::to_string).collect()
}

fn everything_is_answered_as_by_brute_force<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows = database::<F>(at);
    let width = F::BITS;
    assert_eq!(succeeds(at, "export db", b""), text(&rows));
    assert!(succeeds(at, "stats db", b"").contains(&format!("\nwidth\t{width}\n")));
    assert!(succeeds(at, "verify db", b"").starts_with("sound: "));
    assert!(succeeds(at, "explain db -k 6", b"").contains("a query at k = 6"));

    let query = rows[5].fingerprint ^ F::from_bits(5, width - 3, 3);
    let answer = |found: &[nearprint::Match<F>]| -> String {
        let line = |found: &nearprint::Match<F>| {
            format!("{}\t{}\t{}\t{}\n", Printed(query), found.distance, Printed(found.fingerprint), found.id)
        };
        found.iter().map(line).collect()
    };
    for k in [0, 2, 8, 31, width / 2] {
        let expected = answer(&matches(&rows, query, k));
        assert!(k < 2 || !expected.is_empty(), "near-duplicates are there");
        assert_eq!(succeeds(at, &format!("query db -f {} -k {k}", Printed(query)), b""), expected);
        assert_eq!(succeeds(at, &format!("query db -f {} -k {k}", digits(query)), b""), expected);
        let line = format!("{}\r\n", digits(query).to_uppercase());
        assert_eq!(succeeds(at, &format!("query db - -k {k}"), line.as_bytes()), expected);
    }
    let nearest = answer(&matches(&rows, query, width)[..9]);
    assert_eq!(succeeds(at, &format!("query db -f {} --top 9", Printed(query)), b""), nearest);
    let json = succeeds(at, &format!("query db -f {} -k 2 --format json --limit 1", Printed(query)), b"");
    assert!(json.starts_with(&format!("{{\"query\":\"{}\",\"distance\":", Printed(query))), "{json}");

    for k in [3, 20] {
        let line = |pair: &nearprint::Pair<F>| {
            format!("{}\t{}\t{}", Printed(pair.a), Printed(pair.b), pair.distance)
        };
        let expected: BTreeSet<String> = pairs(&rows, k).iter().map(line).collect();
        assert!(expected.len() > 10, "near-duplicates are there");
        assert_eq!(set(&succeeds(at, &format!("pairs db -k {k}"), b"")), expected);
        let listed = succeeds(at, &format!("pairs --input rows.txt --width {width} -k {k}"), b"");
        assert_eq!(set(&listed), expected);
        let of_rows = set(&succeeds(at, &format!("pairs db -k {k} --ids"), b""));
        let listed = succeeds(at, &format!("pairs --input rows.txt --width {width} -k {k} --ids"), b"");
        assert_eq!(set(&listed), of_rows);
        let grouped: String = (0..)
            .zip(clusters(&rows, k))
            .flat_map(|(number, cluster)| {
                let line = move |row: Row<F>| format!("{number}\t{}\t{}\n", Printed(row.fingerprint), row.id);
                cluster.into_iter().map(line).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(succeeds(at, &format!("clusters db -k {k}"), b""), grouped);
        let listed = succeeds(at, &format!("clusters --input rows.txt --width {width} -k {k}"), b"");
        assert_eq!(listed, grouped);
    }
}

#[test]
fn everything_is_answered_as_by_brute_force_at_128_bits() {
    everything_is_answered_as_by_brute_force::<u128>();
}

#[test]
fn everything_is_answered_as_by_brute_force_at_256_bits() {
    everything_is_answered_as_by_brute_force::<U256>();
}

fn rows_come_and_go<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let width = F::BITS;
    let rows: Vec<Row<F>> = rows(Shape::Uniform, 300, 9);
    let (first, more) = rows.split_at(200);
    succeeds(at, &format!("create db -k 8 --width {width}"), b"");
    let acknowledged = succeeds(at, "add db --batch 150 --acknowledge", text(first).as_bytes());
    assert_eq!(acknowledged, "ACK 150\nACK 200\n");
    succeeds(at, "delete db", b"0\n7\n199\n");
    let left: Vec<Row<F>> = first.iter().filter(|row| ![0, 7, 199].contains(&row.id)).copied().collect();
    let sorted = |mut rows: Vec<Row<F>>| {
        rows.sort_unstable();
        text(&rows)
    };
    assert_eq!(succeeds(at, "export db", b""), sorted(left.clone()));
    succeeds(at, &format!("build --runs-only shard --width {width} -k 8"), text(more).as_bytes());
    succeeds(at, "ingest db shard", b"");
    let all = [left, more.to_vec()].concat();
    succeeds(at, "compact db", b"");
    succeeds(at, "backup db copy", b"");
    succeeds(at, "repair copy saved", b"");
    for db in ["db", "copy", "saved"] {
        assert_eq!(succeeds(at, &format!("export {db}"), b""), sorted(all.clone()), "{db}");
        assert!(succeeds(at, &format!("verify {db}"), b"").starts_with("sound: "), "{db}");
    }
    // Without its manifest, a database tells its width by its files.
    fs::remove_file(at.join("copy/MANIFEST")).unwrap();
    succeeds(at, "repair copy found", b"");
    assert_eq!(succeeds(at, "export found", b""), sorted(all.clone()));

    let upserted = format!("{}\t150\n", digits(F::default()));
    succeeds(at, "add db --upsert", upserted.as_bytes());
    assert_eq!(succeeds(at, "export db --id 150", b""), format!("{}\t150\n", Printed(F::default())));

    let expected: BTreeSet<String> = more
        .iter()
        .flat_map(|b| first.iter().map(move |a| (a, b, num_differing_bits(a.fingerprint, b.fingerprint))))
        .filter(|(_, _, distance)| *distance <= 8)
        .map(|(a, b, distance)| format!("{}\t{}\t{distance}", Printed(a.fingerprint), Printed(b.fingerprint)))
        .collect();
    assert!(expected.len() > 5, "near-duplicates are there");
    succeeds(at, &format!("build first --width {width}"), text(first).as_bytes());
    succeeds(at, &format!("build more --width {width}"), text(more).as_bytes());
    assert_eq!(set(&succeeds(at, "cross first more -k 8", b"")), expected);
    let query = more[0].fingerprint;
    let both = succeeds(at, &format!("query first more -f {} -k 8", Printed(query)), b"");
    assert_eq!(both.lines().count(), matches(&rows, query, 8).len());
}

#[test]
fn rows_of_128_bits_come_and_go() {
    rows_come_and_go::<u128>();
}

#[test]
fn rows_of_256_bits_come_and_go() {
    rows_come_and_go::<U256>();
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

/// What a text may have without 0x.
fn digits_or_decimal<F: Fingerprint>(fingerprint: F) -> String {
    if F::BITS == 64 { Printed(fingerprint).to_string() } else { digits(fingerprint) }
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
    assert_eq!(succeeds(at, &format!("export a.txt.np --prefix {prefix}"), b""), within);
    let other = if width == 64 { 128 } else { 64 };
    fails(at, &format!("export a.txt.np --format u{other}"), b"", 2, &[&format!("{width} bits")]);
}

#[test]
fn every_format_gives_the_same_rows_of_64_bits() {
    every_format_gives_the_same_rows::<u64>();
}

#[test]
fn every_format_gives_the_same_rows_of_128_bits() {
    every_format_gives_the_same_rows::<u128>();
}

#[test]
fn every_format_gives_the_same_rows_of_256_bits() {
    every_format_gives_the_same_rows::<U256>();
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_strings_or_bytes() {
    use std::sync::Arc;

    use arrow_array::{
        Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, RecordBatch, StringArray, UInt64Array,
    };
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows = database::<U256>(at);
    let write = |name: &str, column: ArrayRef| {
        let batch = RecordBatch::try_from_iter_with_nullable([("fingerprint", column, true)]).unwrap();
        let file = fs::File::create(at.join(name)).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    };
    succeeds(at, "export db --format parquet -o out.parquet", b"");
    succeeds(at, "build again out.parquet --width 256", b"");
    assert_eq!(succeeds(at, "export again", b""), text(&rows));
    let file = fs::File::open(at.join("out.parquet")).unwrap();
    let first =
        ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().next().unwrap().unwrap();
    let strings: &StringArray = first.column(0).as_any().downcast_ref().unwrap();
    assert_eq!(strings.value(0), Printed(rows[0].fingerprint).to_string());

    let some: Vec<Vec<u8>> = rows[..9].iter().map(|row| bytes_be(row.fingerprint)).collect();
    let expected: Vec<String> = rows[..9].iter().map(|row| Printed(row.fingerprint).to_string()).collect();
    write("fixed.parquet", Arc::new(FixedSizeBinaryArray::try_from_iter(some.iter()).unwrap()));
    write("binary.parquet", Arc::new(BinaryArray::from_iter_values(some.iter())));
    for name in ["fixed", "binary"] {
        succeeds(at, &format!("build {name} {name}.parquet --width 256"), b"");
        let exported = succeeds(at, &format!("export {name}"), b"");
        let found: Vec<&str> = exported.lines().map(|line| line.split_once('\t').unwrap().0).collect();
        assert_eq!(found, expected, "{name}");
        fails(
            at,
            &format!("build bad {name}.parquet --width 128"),
            b"",
            5,
            &["parquet:1", "32 bytes", "take 16"],
        );
    }
    write("numbers.parquet", Arc::new(UInt64Array::from(vec![7])));
    fails(
        at,
        "build bad numbers.parquet --width 128",
        b"",
        5,
        &["numbers.parquet:1", "of 128 bits, strings"],
    );
    assert!(!at.join("bad").exists());
}

#[test]
fn what_does_not_fit_is_named() {
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
        ("j.jsonl", 128, number.as_bytes(), &["j.jsonl:2", "is a number; of 128 bits, strings"]),
        ("k.u64", 128, &[0; 16], &["k.u64: fingerprints of 64 bits, where those of 128 are wanted"]),
        ("l.u128", 256, &[0; 32], &["l.u128: fingerprints of 128 bits, where those of 256 are wanted"]),
        ("m.u256", 256, &[0; 40], &["m.u256:32", "8 bytes behind the last 256-bit number"]),
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
        fails(at, &format!("clusters --input {name} --width {width}"), b"", 5, words);
    }
    fs::write(at.join("q.txt.gz"), "7\n").unwrap();
    fails(at, "build bad q.txt.gz", b"", 5, &["q.txt.gz", "named as gzip"]);
    let torn = gzip(&b"7\n".repeat(9000));
    fs::write(at.join("r.txt.gz"), &torn[..torn.len() - 9]).unwrap();
    fails(at, "build bad r.txt.gz", b"", 5, &["r.txt.gz", "damaged gzip data"]);
    assert!(!at.join("bad").exists());
}

#[test]
fn the_base_can_be_told() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let ones = "1".repeat(32);
    let value: u128 = ones.parse().unwrap();
    let exported = |db: &str| succeeds(at, &format!("export {db}"), b"");
    succeeds(at, "build hex --width 128", ones.as_bytes());
    assert_eq!(exported("hex"), format!("0x{ones}\t0\n"));
    succeeds(at, "build decimal --width 128 --radix 10", ones.as_bytes());
    assert_eq!(exported("decimal"), format!("{}\t0\n", Printed(value)));
    succeeds(at, "build short --radix 16 --input-format csv", b"ff,1\n0x10,2\n");
    assert_eq!(exported("short"), "16\t2\n255\t1\n");
    assert_eq!(succeeds(at, "query short -f ff --radix 16 -k 0", b""), "255\t0\t255\t1\n");
    assert_eq!(succeeds(at, &format!("query hex -f {ones} -k 0"), b"").lines().count(), 1);
    assert_eq!(succeeds(at, &format!("query hex -f {ones} -k 0 --radix 10"), b""), "");
    fails(at, "query short -f ff", b"", 2, &["\"ff\"", "not a fingerprint"]);
    fails(at, "query short -f 0xff --radix 10", b"", 2, &["0xff"]);
    fails(at, "query hex -f abc", b"", 2, &["\"abc\"", "3 hexadecimal digits, where 128 bits take 32"]);
    fails(at, "query short -f 1 --radix 8", b"", 2, &["10, 16"]);
    succeeds(at, "create wide --width 256", b"");
    fails(at, "query wide -f 12 --radix 10", b"", 2, &["up to 128 bits"]);
    fails(at, "add wide --radix 10", b"12\n", 5, &["standard input:1", "up to 128 bits"]);
    fails(at, "build bad --radix 10", b"0x7\n", 5, &["standard input:1"]);
}

#[test]
fn columns_can_be_told() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let hash = |digit: char| digit.to_string().repeat(64);
    let frames = format!("{}\tchair.mp4:0\n{}\tchair.mp4:1\n", hash('e'), hash('1'));
    fs::write(at.join("frames.tsv.gz"), gzip(frames.as_bytes())).unwrap();
    succeeds(at, "build frames frames.tsv.gz --width 256 -k 31 --keys --columns fingerprint,key", b"");
    let keys =
        |out: &str| out.lines().map(|line| line.rsplit_once('\t').unwrap().1.to_string()).collect::<Vec<_>>();
    assert_eq!(keys(&succeeds(at, "export frames", b"")), ["chair.mp4:1", "chair.mp4:0"]);
    let found = succeeds(at, &format!("query frames -f {} -k 31", hash('1')), b"");
    assert_eq!(keys(&found), ["chair.mp4:1"]);
    // As queries, with the same columns; keys are of no use there.
    let found = succeeds(at, "query frames frames.tsv.gz --columns fingerprint,key -k 0", b"");
    assert_eq!(keys(&found), ["chair.mp4:0", "chair.mp4:1"]);

    let cells = "a,5,7\nb,,8\n";
    succeeds(at, "build csv --keys --input-format csv --columns key,id,fingerprint", cells.as_bytes());
    let exported = succeeds(at, "export csv", b"");
    assert_eq!(exported.lines().next(), Some("7\t5\ta"));
    assert_eq!(keys(&exported), ["a", "b"]);
    succeeds(at, "build ids --input-format csv --columns id,fingerprint", b"5,7\n6,8\n");
    assert_eq!(succeeds(at, "export ids", b""), "7\t5\n8\t6\n");

    // With --columns there is no header, and what follows the columns told is left out.
    fails(
        at,
        "build bad --input-format csv --columns fingerprint,id",
        b"fingerprint,id\n7,1\n",
        5,
        &["input:1"],
    );
    succeeds(at, "build few --input-format tsv --columns fingerprint", b"7\tx\ty\n");
    assert_eq!(succeeds(at, "export few", b""), "7\t0\n");
    fails(at, "build bad --input-format csv --columns fingerprint,key", b"7,a\n", 5, &["input:1", "--keys"]);
    for columns in ["key,id", "fingerprint,fingerprint", "fingerprint,id,id", "fingerprint,name"] {
        let line = format!("build bad --input-format csv --columns {columns}");
        fails(at, &line, b"7,1\n", 2, &["--columns"]);
    }
    fails(at, "build bad --columns fingerprint,id", b"7,1\n", 2, &["--columns", "CSV and TSV"]);
    assert!(!at.join("bad").exists());
}

#[test]
fn widths_that_contradict_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for width in [64, 128, 256] {
        succeeds(at, &format!("create d{width} --width {width}"), b"");
        assert!(succeeds(at, &format!("stats d{width}"), b"").contains(&format!("width\t{width}\n")));
        let explained = succeeds(at, &format!("explain -n 1000000 -k 6 --width {width}"), b"");
        assert!(explained.contains("a query at k = 6"), "{explained}");
        fails(at, &format!("query d{width} -f 0x00 -k {}", width + 1), b"", 2, &[]);
        fails(at, &format!("pairs d{width} -k {}", width + 1), b"", 2, &[]);
        assert_eq!(succeeds(at, &format!("query d{width} -f 0x00 -k {width}"), b""), "");
    }
    fails(at, "query d128 -f 0x00 -k 129", b"", 2, &["128 bits differ by at most 128"]);
    fails(at, "query d64 d128 -f 0", b"", 2, &["d128", "128 bits", "one width"]);
    fails(at, "cross d256 d64", b"", 2, &["d64", "64 bits", "hint:"]);
    fails(at, "create other --width 96", b"", 2, &["64, 128, 256"]);
    fails(at, "pairs d128 --width 128", b"", 2, &["--width"]);
    fails(at, "clusters d128 --width 128", b"", 2, &["--width"]);
    fails(at, "explain d128 --width 128", b"", 2, &["--width"]);
    fails(at, "explain d128 --layout rotations:4", b"", 2, &["--layout"]);
    for (recipe, width) in [("default", 128), ("width=128", 64), ("width=256", 128)] {
        let line = format!("create other --recipe {recipe} --width {width}");
        fails(at, &line, b"", 2, &[&format!("--width {width}"), "the recipe makes"]);
    }
    assert!(!at.join("other").exists());
    succeeds(at, "create of-recipe --recipe width=256", b"");
    assert!(succeeds(at, "stats of-recipe", b"").contains("width\t256\n"));
    succeeds(at, "create both --recipe width=128 --width 128", b"");
    assert!(succeeds(at, "stats both", b"").contains("width\t128\n"));
    succeeds(at, "build --runs-only shard --width 128", b"7\n");
    let outcome = nearprint(at, "ingest d64 shard", b"");
    assert!(outcome.code != 0 && outcome.err.contains("shard"), "{}", outcome.err);
    assert_eq!(succeeds(at, "export d64", b""), "");
}

#[test]
fn fingerprints_are_compared_by_the_digits_they_have() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let md5 = "d41d8cd98f00b204e9800998ecf8427e";
    let near = "d41d8cd98f00b204e9800998ecf8427c";
    let (wide, other) = (md5.repeat(2), md5.to_string() + near);
    for (a, b, distance) in [
        ("7", "4", 2),
        ("0xff", "15", 4),
        ("340282366920938463463374607431768211455", "0", 128),
        (md5, near, 1),
        (&wide, &other, 1),
        (&format!("0x{wide}"), &wide, 0),
    ] {
        let outcome = nearprint(at, &format!("compare {a} {b} -k 64"), b"");
        assert_eq!(
            (outcome.out, outcome.code),
            (format!("{distance}\n"), if distance <= 64 { 0 } else { 6 })
        );
    }
    fails(at, &format!("compare {md5} {wide}"), b"", 1, &["cannot open"]);
    fails(at, "compare 7 4 -k 65", b"", 2, &["64 bits differ by at most 64"]);
    let outcome = nearprint(at, &format!("compare {wide} {other} -k 256"), b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
}

#[test]
fn numpy_and_nearprint_mean_the_same_bytes() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let probe = std::process::Command::new("python3").args(["-c", "import numpy"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no python3 with numpy");
        return;
    }
    let rows = database::<U256>(at);
    let sorted: String = rows.iter().map(|row| digits(row.fingerprint) + "\n").collect();
    fs::write(at.join("hashes.txt"), &sorted).unwrap();
    succeeds(at, "export db --format npy -o words.npy", b"");
    let script = "\
import numpy as n
hashes = open('hashes.txt').read().split()
words = n.load('words.npy')
assert [''.join(f'{word:016x}' for word in row[::-1]) for row in words.tolist()] == hashes
rows = n.array([list(bytes.fromhex(h)) for h in hashes], n.uint8)
n.save('bytes.npy', rows)
bits = n.array([[int(bit) for bit in f'{int(h, 16):0256b}'] for h in hashes], n.uint8)
n.save('bits.npy', n.packbits(bits, axis=1))
n.save('columns.npy', n.asfortranarray(rows))
n.save('signed.npy', words.astype(n.int64))
";
    let outcome = common::cli::run("python3", at, &["-c", script], b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    succeeds(at, "build text hashes.txt --width 256", b"");
    let expected = succeeds(at, "export text", b"");
    for name in ["words", "bytes", "bits"] {
        succeeds(at, &format!("build {name} {name}.npy --width 256"), b"");
        assert_eq!(succeeds(at, &format!("export {name}"), b""), expected, "{name}");
    }
    fails(at, "build bad columns.npy --width 256", b"", 5, &["columns.npy", "Fortran order"]);
    fails(at, "build bad signed.npy --width 256", b"", 5, &["signed.npy", "'<i8'"]);
}

/// Lines of JSON of which every third has some words of the one before, and their texts.
fn documents(count: usize) -> (Vec<String>, String) {
    let mut random = common::Random(5);
    let mut texts: Vec<String> = Vec::new();
    for index in 0..count {
        let text = match texts.last() {
            Some(last) if index % 3 > 0 => format!("{last} w{}", random.below(5000)),
            _ => (0..60).map(|_| format!("w{} ", random.below(5000))).collect(),
        };
        texts.push(text);
    }
    let line = |(key, text): (usize, &String)| format!("{{\"id\":\"d{key}\",\"text\":\"{text}\"}}\n");
    let lines = texts.iter().enumerate().map(line).collect();
    (texts, lines)
}

fn documents_are_deduplicated<F: Fingerprint>(k: u32) {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let width = F::BITS;
    let (texts, lines) = documents(400);
    fs::write(at.join("in.jsonl"), &lines).unwrap();
    let mut fingerprinter = format!("width={width}").parse::<Recipe>().unwrap().fingerprinter::<F>().unwrap();
    let prints: Vec<F> = texts.iter().map(|text| fingerprinter.fingerprint(text).value).collect();
    let printed = succeeds(at, &format!("fingerprint in.jsonl --key-field id --width {width}"), b"");
    let expected: String =
        (0..).zip(&prints).map(|(key, print)| format!("{}\td{key}\n", Printed(*print))).collect();
    assert_eq!(printed, expected);

    // Those kept, greedily, in an order; duplicates name the nearest of them.
    let greedy = |order: &mut dyn Iterator<Item = usize>| {
        let (mut kept, mut of) = (Vec::<usize>::new(), vec![None; prints.len()]);
        for index in order {
            let distance = |other: &usize| num_differing_bits(prints[index], prints[*other]);
            let near = kept.iter().copied().filter(|other| distance(other) <= k);
            match near.min_by_key(|other| (distance(other), *other)) {
                Some(near) => of[index] = Some((near, distance(&near))),
                None => kept.push(index),
            }
        }
        let mut told = String::new();
        for (index, of) in of.iter().enumerate() {
            if let Some((near, distance)) = of {
                writeln!(told, "d{index}\td{near}\t{distance}").unwrap();
            }
        }
        told
    };
    let mut by_length: Vec<usize> = (0..prints.len()).collect();
    by_length.sort_by_key(|&index| (std::cmp::Reverse(texts[index].len()), index));
    for (keep, told) in
        [("first", greedy(&mut (0..prints.len()))), ("longest", greedy(&mut by_length.iter().copied()))]
    {
        assert!(told.lines().count() > 100, "near-duplicates are there");
        for db in ["", &format!("--db {keep}.np")] {
            let line =
                format!("dedup in.jsonl -o out.jsonl --duplicates dup.tsv --key-field id --keep {keep}");
            succeeds(at, &format!("{line} --width {width} -k {k} {db}"), b"");
            assert_eq!(fs::read_to_string(at.join("dup.tsv")).unwrap(), told, "{keep} {db}");
        }
    }
    // The database tells the width, and knows everything.
    assert!(succeeds(at, "stats first.np", b"").contains(&format!("width\t{width}\n")));
    let line = format!("dedup in.jsonl -o again.jsonl --key-field id --db first.np -k {k}");
    let outcome = nearprint(at, &line, b"");
    assert!(outcome.err.contains("400 documents, 0 kept"), "{}", outcome.err);
    for other in ["--width 64", "--recipe default", "--recipe cjk"] {
        fails(at, &format!("{line} {other}"), b"", 2, &["first.np", &format!("{width} bits")]);
    }
    fails(at, &format!("{line} --shingle 4 --width {width}"), b"", 2, &["another recipe"]);
    // Where a database has no recipe, its width is that of the recipe to be.
    succeeds(at, &format!("create bare.np --keys --width {width}"), b"");
    succeeds(at, &format!("dedup in.jsonl -o bare.jsonl --key-field id --db bare.np -k {k}"), b"");
    assert_eq!(succeeds(at, "export bare.np", b""), succeeds(at, "export first.np", b""));
}

#[test]
fn documents_are_deduplicated_by_128_bits() {
    documents_are_deduplicated::<u128>(10);
}

#[test]
fn documents_are_deduplicated_by_256_bits() {
    documents_are_deduplicated::<U256>(20);
}

#[test]
fn a_quarter_of_the_bits_is_tuned() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let (texts, _) = documents(90);
    let line = |(key, text): (usize, &String)| format!("{{\"group\":\"{}\",\"text\":\"{text}\"}}\n", key / 3);
    let lines: String = texts.iter().enumerate().map(line).collect();
    let table = succeeds(
        at,
        "tune --input-format jsonl --group-field group --width 256 --plot curves.svg",
        lines.as_bytes(),
    );
    assert!(fs::read_to_string(at.join("curves.svg")).unwrap().contains("<svg"));
    let recipe: Recipe = "width=256 shingle=2".parse().unwrap();
    let mut fingerprinter = recipe.fingerprinter::<U256>().unwrap();
    let prints: Vec<U256> = texts.iter().map(|text| fingerprinter.fingerprint(text).value).collect();
    let mut expected = String::new();
    for k in 0..=64 {
        let (mut found, mut hits) = (0, 0);
        for a in 0..prints.len() {
            for b in (0..a).filter(|b| num_differing_bits(prints[a], prints[*b]) <= k) {
                found += 1;
                hits += u32::from(a / 3 == b / 3);
            }
        }
        writeln!(expected, "2\t{k}\t{found}\t{hits}").unwrap();
    }
    let counts = table.lines().filter_map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
        ["2", k, _, _, _, found, hits] => Some(format!("2\t{k}\t{found}\t{hits}\n")),
        _ => None,
    });
    assert_eq!(counts.collect::<String>(), expected);
    assert_eq!(table.lines().count(), 5 * 65);
}

#[test]
fn texts_are_compared_by_wide_recipes() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let (texts, _) = documents(6);
    let names: Vec<String> = (0..6).map(|index| format!("t{index}.txt")).collect();
    names.iter().zip(&texts).for_each(|(name, text)| fs::write(at.join(name), text).unwrap());
    let mut fingerprinter = "width=256".parse::<Recipe>().unwrap().fingerprinter::<U256>().unwrap();
    let prints: Vec<U256> = texts.iter().map(|text| fingerprinter.fingerprint(text).value).collect();
    let distance = |a: usize, b: usize| num_differing_bits(prints[a], prints[b]);
    let table = succeeds(at, &format!("matrix {} --width 256", names.join(" ")), b"");
    let expected: String = (0..6)
        .map(|a| (0..6).fold(names[a].clone(), |row, b| format!("{row}\t{}", distance(a, b))) + "\n")
        .collect();
    assert_eq!(table.split_once('\n').unwrap().1, expected);
    let outcome = nearprint(at, "compare t0.txt t1.txt --width 256 -k 30", b"");
    assert_eq!(
        (outcome.out, outcome.code),
        (format!("{}\n", distance(0, 1)), if distance(0, 1) <= 30 { 0 } else { 6 })
    );

    let k = distance(0, 1).max(distance(1, 2)).max(distance(3, 4)).max(distance(4, 5));
    assert!(k < distance(0, 3), "two groups");
    let groups = succeeds(at, &format!("scan . --width 256 -k {k}"), b"");
    let expected = [[0, 1, 2], [3, 4, 5]].map(|group| {
        let mut members: Vec<(u32, usize)> = group.iter().map(|&at| (distance(group[0], at), at)).collect();
        members.sort_unstable();
        let lines: String =
            members.iter().map(|(distance, at)| format!("{distance}\t./{}\n", names[*at])).collect();
        format!("3 files\n{lines}\n")
    });
    assert_eq!(groups, expected.concat());
}
