//! The command lines on databases of 128 and 256 bits, from outside: every command against brute force, and widths that
//! do not go together.

use std::collections::BTreeSet;
use std::fs;

use crate::common::cli::{digits, fails, nearprint, succeeds, text, wide_database};
use crate::common::{Shape, clusters, matches, pairs, rows};
use nearprint::{Fingerprint, Printed, Row, U256, num_differing_bits};

fn set(lines: &str) -> BTreeSet<String> {
    lines.lines().map(str::to_string).collect()
}

fn everything_is_answered_as_by_brute_force<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows = wide_database::<F>(at);
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
